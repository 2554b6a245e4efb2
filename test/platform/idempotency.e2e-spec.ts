import { readFileSync } from 'node:fs';
import { unlessCluster } from '../support/database.js';
import { basic, startApp, type TestApp } from '../support/app.js';
import { aStart } from '../support/factories.js';
import { type Sent, sendTo } from '../support/operation-rows.js';
import { OPERATIONS } from '../support/operations.js';
import { plant, type Planted } from '../support/planted.js';
import { until } from '../support/until.js';
import { aUser } from './people.operations.js';

const project_id = 'acme/demo';

/** Operations that may change something. */
const WRITES = Object.entries(OPERATIONS).filter(
  ([route, { role }]) => !route.startsWith('GET ') && role !== 'reader',
);

describe('Idempotency-Key', () => {
  let app: TestApp;
  let planted: Planted;
  beforeAll(async () => {
    app = await startApp();
    planted = await plant(app, project_id);
  });
  afterAll(() => app.close());

  const cost = (price: number) => ({
    project_id,
    costs: { m: { prompt_token_cost: price, completion_token_cost: 1 } },
  });
  const anObject = async (object_id: string, val: unknown) =>
    (await app.post('/obj/create', { obj: { project_id, object_id, val } })).body;

  /**
   * A digest of all stored rows, once nothing is being erased. Statistics and files of exports, which background tasks
   * refresh, are left out.
   */
  async function everything(): Promise<string> {
    await until(
      async () => (await app.query('SELECT FROM erasings WHERE ended_at IS NULL')).length === 0,
    );
    const tables = await app.query<{ name: string }>(
      `SELECT relname AS name FROM pg_class
        WHERE relkind IN ('r', 'p') AND relnamespace = 'public'::regnamespace AND relname !~ '^(thread|call_slot|call_text|project|kept_trials|trial_marks|retention_clock|exported_files)'
        ORDER BY relname`,
    );
    const digests = await Promise.all(
      tables.map(({ name }) =>
        app.query(`SELECT md5(string_agg(t::text, '|' ORDER BY t::text)) AS md5 FROM "${name}" t`),
      ),
    );
    return JSON.stringify(digests);
  }

  it.each(WRITES)(
    'is taken by %s, or that is harmless to repeat, as described',
    (route, operation) => {
      const { paths } = JSON.parse(readFileSync('generated/openapi.json', 'utf8'));
      const [method, path] = route.split(' ') as [string, string];
      const described = paths[path.replaceAll(/[:*](\w+)/g, '{$1}')][method.toLowerCase()];
      const isTaken = (described.parameters ?? []).some(
        ({ name }: { name: string }) => name === 'Idempotency-Key',
      );
      expect(isTaken ? 'takes a key' : 'harmless').toBe(
        operation.harmless ? 'harmless' : 'takes a key',
      );
    },
  );

  it.each(WRITES.filter(([, { harmless }]) => !harmless))(
    '%s is done once, and answered as the first time',
    async (route, operation) => {
      const sent = await operation.build(planted, app);
      const [scheme] = operation.schemes;
      const ask = async (request: Sent) => {
        const response = await sendTo(app.url, route, request, {
          authorization: scheme === 'basic' ? basic(app.key) : `Bearer ${app.key}`,
          'idempotency-key': `k ${route}`,
        });
        const type = response.headers.get('content-type');
        // erasing in the background may have ended before the second answer
        const text = (await response.text()).replace(/"is_done":.*/s, '…');
        return { status: response.status, type, text };
      };

      const before = await everything();
      const first = await ask(sent);
      expect([first.status, first.text]).toEqual([200, first.text]);
      const after = await everything();
      expect(after).not.toBe(before);

      expect(await ask(sent)).toEqual(first);
      expect(await everything()).toBe(after);

      if (!sent.body) return;
      const other = {
        ...sent,
        body: Buffer.isBuffer(sent.body)
          ? Buffer.concat([sent.body, Buffer.from('\n'), sent.body])
          : { ...sent.body, another: 'a member that nobody reads' },
      };
      if ((await ask(other)).status !== 409)
        throw new Error(
          `it is done again: give it @Idempotent(), or its row a reason in 'harmless'`,
        );
      expect(await everything()).toBe(after);
    },
  );

  it('keeps no secret of a new key that the database could tell', async () => {
    const headers = { 'idempotency-key': 'sealed' };
    const body = { user: 'a', role: 'reader', scopes: ['acme/demo'] };
    const { secret } = (await app.post('/keys/create', body, { headers })).body;
    const rows = await app.query('SELECT k::text AS row FROM idempotency_keys k');
    expect(rows.map(({ row }) => row).join()).not.toContain(secret.slice(8));
  });

  it('keeps each answer with the project that it is about, and erases it with that project', async () => {
    const gone = 'acme/gone';
    const start = { ...aStart({ project_id: gone }), id: undefined };
    const requests: [path: string, body: object][] = [
      [`/weave/v2/${gone}/call/start`, { start }],
      ['/keys/create', { user: 'gone', role: 'reader', scopes: [gone] }],
      ['/members/set', { scope: gone, role: 'reader', user_id: await aUser(app, 'gone') }],
    ];
    for (const [path, body] of requests) {
      const { status } = await app.post(path, body, {
        headers: { 'idempotency-key': `of ${path}` },
      });
      expect([path, status]).toEqual([path, 200]);
    }
    const kept = () =>
      app.query("SELECT project_id FROM idempotency_keys WHERE key LIKE 'of %' ORDER BY key");
    expect(await kept()).toEqual(requests.map(() => ({ project_id: gone })));
    expect((await app.post('/project/delete', { project_id: gone })).body.is_done).toBe(true);
    expect(await kept()).toEqual([]);
  });

  it('keeps a late publish from moving `latest` back', async () => {
    const publish = (val: string, key: string) =>
      app.post(
        '/obj/create',
        { obj: { project_id, object_id: 'moving', val } },
        { headers: { 'idempotency-key': key } },
      );
    const first = await publish('a', 'p1');
    await publish('b', 'p2');
    expect((await publish('a', 'p1')).body).toEqual(first.body);
    const latest = { project_id, object_id: 'moving', digest: 'latest' };
    expect((await app.post('/obj/read', latest)).body.obj.val).toBe('b');
  });

  it('keeps a late delete from deleting what was published again', async () => {
    const { digest } = await anObject('phoenix', 'x');
    const remove = () =>
      app.post(
        '/obj/delete',
        { project_id, object_id: 'phoenix', digests: [digest] },
        { headers: { 'idempotency-key': 'd1' } },
      );
    expect((await remove()).body).toEqual({ num_deleted: 1 });
    await anObject('phoenix', 'x');
    expect((await remove()).body).toEqual({ num_deleted: 1 });
    expect((await app.post('/obj/read', { project_id, object_id: 'phoenix', digest })).status).toBe(
      200,
    );
  });

  it('makes one write of 500 requests, 200 at a time', async () => {
    const body = { ...cost(1), project_id: 'acme/crowd' };
    const headers = { 'idempotency-key': 'crowd' };
    const left = Array.from({ length: 500 }).values();
    const answers: string[] = [];
    await Promise.all(
      Array.from({ length: 200 }, async () => {
        for (const _ of left) {
          const { status, text } = await app.post('/cost/create', body, { headers });
          answers.push(`${status} ${text}`);
        }
      }),
    );
    expect(answers).toHaveLength(500);
    expect(new Set(answers).size).toBe(1);
    expect(answers[0]).toMatch(/^200 /);
    expect(await app.query(`SELECT 1 FROM costs WHERE project_id = 'acme/crowd'`)).toHaveLength(1);
  });

  unlessCluster('the wait is seen on a node').it(
    'holds up nobody else while its write is under way in another process',
    async () => {
      const headers = { 'idempotency-key': 'elsewhere' };
      const create = (price: number) => app.post('/cost/create', cost(price), { headers });
      const [{ id }] = await app.query('SELECT id FROM api_keys ORDER BY id LIMIT 1');
      const elsewhere = app.dataSource.createQueryRunner();
      await elsewhere.startTransaction();
      await elsewhere.query(
        `INSERT INTO idempotency_keys (project_id, api_key_id, key, body_hash) VALUES ($1, $2, 'elsewhere', '')`,
        [project_id, id],
      );
      const waiting = Array.from({ length: 30 }, () => create(1));
      await until(async () => {
        const locked = await app.query(
          `SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`,
        );
        return locked.length === 1;
      });
      expect((await create(2)).status).toBe(409);
      // all waiting requests together hold one of the ten connections of the pool
      const others = Array.from({ length: 8 }, () => app.post('/call/start', { start: aStart() }));
      for (const { status } of await Promise.all(others)) expect(status).toBe(200);
      for (const { status, headers: answered } of await Promise.all(waiting))
        expect([status, answered.get('retry-after')]).toEqual([503, '1']);
      await elsewhere.rollbackTransaction();
      await elsewhere.release();
      expect((await create(1)).status).toBe(200);
    },
  );

  it('is not x-weave-retry-id, which clients leave in their default headers', async () => {
    const headers = { 'x-weave-retry-id': 'always the same' };
    const ids = [];
    for (const op_name of ['a', 'b', 'b'])
      ids.push(
        (await app.post('/call/start', { start: aStart({ op_name }) }, { headers })).body.id,
      );
    expect(new Set(ids).size).toBe(3);
  });

  it('keeps no readable answer of an erased project, also to requests that name several or none', async () => {
    const { marker } = planted;
    const batch = ['acme/first', project_id].map((project) => ({
      mode: 'start',
      req: { start: { ...aStart({ project_id: project, trace_id: marker }), id: undefined } },
    }));
    const send = () =>
      app.post('/call/upsert_batch', { batch }, { headers: { 'idempotency-key': 'several' } });
    const first = await send();
    expect(first.body.res[1].trace_id).toBe(marker);
    expect((await send()).body).toEqual(first.body);
    const headers = { 'idempotency-key': 'at last' };
    await until(
      async () => (await app.post('/project/delete', { project_id }, { headers })).body.is_done,
    );
    expect(
      await app.query(
        `SELECT key, response FROM idempotency_keys
         WHERE strpos(response::text, $1) > 0 OR strpos(response::text, $2) > 0`,
        [marker, project_id],
      ),
    ).toEqual([]);
  });
});
