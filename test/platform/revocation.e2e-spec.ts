import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { gzipSync } from 'node:zlib';
import { KeysService } from '../../src/platform/auth/keys/keys.service.js';
import { Database } from '../../src/platform/database/database.js';
import { unlessCluster } from '../support/database.js';
import { basic, startApp, type TestApp } from '../support/app.js';
import { aStart } from '../support/factories.js';
import { aTrajectory, groupsOf, previewOf, type Preview } from '../support/preview.js';
import { until } from '../support/until.js';

describe('a key that is revoked', () => {
  let app: TestApp;
  let preview: Preview;
  beforeAll(async () => {
    app = await startApp();
    preview = previewOf(app);
  });
  afterAll(() => app.close());

  /** Creates a key, with a function that revokes it. */
  async function aKey(role: 'reader' | 'writer' | 'trainer') {
    const { body } = await app.post('/keys/create', { user: 'a', role, scopes: ['*'] });
    return {
      id: body.id as string,
      key: body.secret as string,
      revoke: async () =>
        expect((await app.post('/keys/revoke', { id: body.id })).status).toBe(200),
    };
  }

  /** Begins a request of which the server has read the head. */
  async function begun(
    path: string,
    authorization: string,
    first: string | Buffer,
    headers: Record<string, string> = {},
  ): Promise<{ sent: ClientRequest; answer: ReturnType<typeof answerOf> }> {
    const sent = request(app.url + path, {
      method: 'POST',
      headers: { authorization, 'content-type': 'application/json', ...headers },
    });
    sent.on('error', () => {});
    const answer = answerOf(sent);
    const arrived = once(app.app.getHttpServer(), 'request');
    sent.write(first);
    await arrived;
    return { sent, answer };
  }

  async function answerOf(sent: ClientRequest): Promise<{ status: number; text: string }> {
    const [answer] = (await once(sent, 'response')) as [IncomingMessage];
    let text = '';
    for await (const chunk of answer) text += String(chunk);
    return { status: answer.statusCode!, text };
  }

  it('gets no job that it waits for', async () => {
    const { key, revoke } = await aKey('trainer');
    const waiting = preview.claim({ wait_s: 30 }, { key });
    await until(
      async () =>
        (await app.query(`SELECT 1 FROM pg_stat_activity WHERE query LIKE 'LISTEN skein%'`))
          .length > 0,
    );
    await revoke();
    const job = await preview.aJob(await preview.aModel());
    const answer = await waiting;
    expect(answer).toMatchObject({ status: 401, body: { code: 'unauthenticated' } });
    expect(answer.headers.get('www-authenticate')).toBe('Bearer realm="skein"');
    expect(await app.query('SELECT status FROM training_jobs WHERE id = $1', [job])).toEqual([
      { status: 'queued' },
    ]);
  });

  it('gets no further batch of a stream', async () => {
    const project_id = 'acme/stream';
    const inputs = { text: 'x'.repeat(1024 * 1024) };
    for (let i = 0; i < 3; i++) {
      const batch = Array.from({ length: 16 }, (_, n) => ({
        mode: 'start',
        req: { start: aStart({ project_id, id: `c${i}-${n}`, inputs }) },
      }));
      expect((await app.post('/call/upsert_batch', { batch })).status).toBe(200);
    }
    const { key, revoke } = await aKey('reader');
    const response = await fetch(`${app.url}/calls/stream_query`, {
      method: 'POST',
      headers: { authorization: basic(key), 'content-type': 'application/json' },
      body: JSON.stringify({ project_id }),
    });
    const reader = response.body!.getReader();
    await reader.read();
    await revoke();
    const rest = async () => {
      for (;;) if ((await reader.read()).done) return 'complete';
    };
    await expect(rest()).rejects.toThrow();
  });

  it('gets no further piece of a file', async () => {
    const form = new FormData();
    form.set('project_id', 'acme/demo');
    form.set('file', new Blob([Buffer.alloc(48 * 1024 * 1024, 'y')]));
    const { digest } = (await (
      await fetch(`${app.url}/file/create`, {
        method: 'POST',
        headers: { authorization: basic(app.key) },
        body: form,
      })
    ).json()) as { digest: string };
    const { key, revoke } = await aKey('reader');
    const response = await fetch(`${app.url}/file/content`, {
      method: 'POST',
      headers: { authorization: basic(key), 'content-type': 'application/json' },
      body: JSON.stringify({ project_id: 'acme/demo', digest }),
    });
    const reader = response.body!.getReader();
    await reader.read();
    await revoke();
    const rest = async () => {
      for (;;) if ((await reader.read()).done) return 'complete';
    };
    await expect(rest()).rejects.toThrow();
  });

  it('stores nothing of a body that was on its way', async () => {
    const { key, revoke } = await aKey('writer');
    const body = JSON.stringify({ start: aStart({ id: 'late', project_id: 'acme/late' }) });
    const { sent, answer } = await begun('/call/start', basic(key), body.slice(0, 20));
    await revoke();
    sent.end(body.slice(20));
    expect((await answer).status).toBe(401);
    expect((await app.post('/call/read', { project_id: 'acme/late', id: 'late' })).body.call).toBe(
      null,
    );
  });

  it.each([100, 600_000])('stores no file of %i bytes that was on its way', async (bytes) => {
    const { key, revoke } = await aKey('writer');
    const head =
      '--b\r\ncontent-disposition: form-data; name="project_id"\r\n\r\nacme/late\r\n' +
      `--b\r\ncontent-disposition: form-data; name="file"; filename="f"\r\n\r\n${'z'.repeat(bytes)}`;
    const { sent, answer } = await begun('/file/create', basic(key), head, {
      'content-type': 'multipart/form-data; boundary=b',
    });
    await revoke();
    sent.end('zz\r\n--b--\r\n');
    expect((await answer).status).toBe(401);
    expect(
      await app.query(`SELECT 1 FROM files WHERE project_id = 'acme/late' UNION ALL
                       SELECT 1 FROM file_chunks WHERE project_id IN ('', 'acme/late')`),
    ).toEqual([]);
  });

  it('queues no training job whose body was on its way', async () => {
    const { key, revoke } = await aKey('writer');
    const model_id = await preview.aModel();
    const body = JSON.stringify({ model_id, trajectory_groups: groupsOf([aTrajectory()]) });
    const { sent, answer } = await begun(
      '/v1/preview/training-jobs',
      `Bearer ${key}`,
      body.slice(0, 60),
    );
    await revoke();
    sent.end(body.slice(60));
    expect((await answer).status).toBe(401);
    expect(await app.query('SELECT 1 FROM training_jobs WHERE model_id = $1', [model_id])).toEqual(
      [],
    );
  });

  it('takes no spans that were on their way', async () => {
    const { key, revoke } = await aKey('writer');
    const body = gzipSync('{"resourceSpans":[]}');
    const { sent, answer } = await begun('/otel/v1/traces', basic(key), body.subarray(0, 5), {
      'content-encoding': 'gzip',
    });
    await revoke();
    sent.end(body.subarray(5));
    expect((await answer).status).toBe(401);
  });

  unlessCluster('the wait is seen on a node').describe('after a wait', () => {
    it.each([
      ['/obj/create', { obj: { project_id: 'acme/lock', object_id: 'o', val: {} } }],
      ['/obj/delete', { project_id: 'acme/lock', object_id: 'o' }],
      ['/call/update', { project_id: 'acme/lock', call_id: 'c', display_name: 'x' }],
    ])('does nothing that had to wait for a lock: %s', async (path, body) => {
      const { id, key, revoke } = await aKey('writer');
      const runner = app.dataSource.createQueryRunner();
      await runner.startTransaction();
      await runner.query(
        `INSERT INTO idempotency_keys (project_id, api_key_id, key, body_hash) VALUES ('acme/lock', $1, 'k', '')`,
        [id],
      );
      const waiting = app.post(path, body, { key, headers: { 'idempotency-key': 'k' } });
      await until(
        async () =>
          (
            await app.query(
              `SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`,
            )
          ).length > 0,
      );
      await revoke();
      await runner.rollbackTransaction();
      await runner.release();
      expect((await waiting).status).toBe(401);
      expect(
        await app.query(`SELECT 1 FROM idempotency_keys WHERE project_id = 'acme/lock'`),
      ).toEqual([]);
    });
  });

  it('disturbs no look-up that is under way, whoever asks beside it', async () => {
    const keys = app.app.get(KeysService);
    const from = { address: '10.0.0.9', challenge: '' };
    const { key } = await aKey('writer');
    const caller = (await keys.verify(key, from))!;
    const verified = { userName: 'a', role: 'writer' };
    // a transaction runs its statements in the order of the calls
    const together = (first: () => Promise<unknown>) =>
      app.app
        .get(Database)
        .transaction(async () => (await Promise.all([first(), keys.verify(key, from)]))[1]);
    const forget = () => keys.revoke(randomUUID(), { keyId: null, userName: 'test' });
    await forget();
    expect(await together(() => caller.assertValid())).toMatchObject(verified);
    await forget();
    expect(await together(forget)).toMatchObject(verified);
  });
});
