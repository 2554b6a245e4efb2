import { send, startApp, type TestApp, basic } from '../support/app.js';
import { aStart } from '../support/factories.js';
import { previewOf } from '../support/preview.js';

/** Two apps in one process, each with its own database and settings. */
let one: TestApp;
let other: TestApp;
beforeAll(async () => {
  one = await startApp({
    MAX_BODY_BYTES: '2000',
    RATE_LIMIT_REQUESTS_PER_MINUTE: '100',
    TRAINER_HEARTBEAT_SECONDS: '7',
    DATABASE_POOL_SIZE: '4',
  });
  other = await startApp({ TRAINER_HEARTBEAT_SECONDS: '11' });
});
afterAll(() => Promise.all([one.close(), other.close()]));

const both = () => [one, other];

describe('apps of one process', () => {
  it('let in their own keys only, by each scheme, and know whose each request is', async () => {
    const schemes = { '/call/read': basic, '/v1/preview/models': (key: string) => `Bearer ${key}` };
    const asked = Array.from({ length: 20 }, () => both()).flat();
    for (const [path, authorizationOf] of Object.entries(schemes)) {
      const method = path === '/call/read' ? 'POST' : 'GET';
      const body = { project_id: 'acme/demo', id: 'x' };
      const statuses = await Promise.all(
        asked.map(async (app) => {
          const ask = async (key: string) =>
            (await send(app.url + path, body, { authorization: authorizationOf(key) }, method))
              .status;
          const stranger = app === one ? other.key : one.key;
          return [await ask(app.key), await ask(stranger)];
        }),
      );
      // after 20 failed attempts an address gets 429 for unknown keys
      for (const [own, stranger] of statuses) {
        expect(own).toBe(200);
        expect([401, 429]).toContain(stranger);
      }
    }
  });

  it('store what they are sent in their own databases', async () => {
    for (const app of both())
      expect((await app.post('/call/start', { start: aStart({ id: app.url }) })).status).toBe(200);
    for (const app of both())
      expect(await app.query('SELECT id FROM calls')).toEqual([{ id: app.url }]);
  });

  it('have limits of their own', async () => {
    const start = { start: aStart({ inputs: { text: 'x'.repeat(3000) } }) };
    const [small, large] = await Promise.all(both().map((app) => app.post('/call/start', start)));
    expect(small).toMatchObject({ status: 413, body: { code: 'too_large' } });
    expect(large!.status).toBe(200);
  });

  it('count the requests of a minute for themselves', async () => {
    const secrets = await Promise.all(both().map((app) => app.aKey('reader')));
    const body = { project_id: 'acme/demo', id: 'x' };
    const refused = async (app: TestApp, key: string) => {
      const answers = await Promise.all(
        Array.from({ length: 150 }, () => app.post('/call/read', body, { key })),
      );
      return answers.filter(({ status }) => status === 429).length;
    };
    expect(await refused(one, secrets[0]!)).toBeGreaterThan(0);
    expect(await refused(other, secrets[1]!)).toBe(0);
  });

  it('have settings of their own', async () => {
    const heartbeats: number[] = [];
    for (const app of both()) {
      const preview = previewOf(app);
      await preview.aJob(await preview.aModel());
      const claimed = await preview.claim();
      heartbeats.push(claimed.body.heartbeat_seconds);
    }
    expect(heartbeats).toEqual([7, 11]);
    expect(both().map(({ dataSource }) => (dataSource.options as any).poolSize)).toEqual([4, 10]);
  });

  it('speak a dialect each', async () => {
    const weave = await startApp({ WIRE_DIALECT: 'weave' });
    const dialects = [weave, one].map(async (app) => {
      const { body } = await app.post('/calls/query', { project_id: 'acme/demo' });
      const info: any = await (await fetch(`${app.url}/server_info`)).json();
      return [info.wire_dialect, body.calls.length > 0];
    });
    expect(await Promise.all(dialects)).toEqual([
      ['weave', false],
      ['svc', true],
    ]);
    await weave.close();
  });
});
