import { once } from 'node:events';
import { type ClientRequest, request } from 'node:http';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { ApiKey } from '../../src/platform/auth/keys/api-key.entity.js';
import { unlessCluster } from '../support/database.js';
import { basic, startApp, type TestApp } from '../support/app.js';
import { aStart } from '../support/factories.js';
import { refreshed } from '../support/refreshed.js';
import { until } from '../support/until.js';
import { Database } from '../../src/platform/database/database.js';
import { SESSION } from '../../src/platform/database/limits.js';
import { openTestDatabase } from '../support/database.js';
import pg from 'pg';
import { startServer } from '../support/server.js';

const POOL = 4;
/** One of four connections is reserved for short statements. One key holds at most two of the others. */
const MAY_HOLD = 2;
const MIB = 1024 * 1024;

describe('the connections of a process', () => {
  let app: TestApp;
  let counts: () => { held: number; waiting: number };
  const opened: ClientRequest[] = [];
  beforeAll(async () => {
    app = await startApp({
      DATABASE_POOL_SIZE: String(POOL),
      READ_TIMEOUT_SECONDS: '1',
      MAX_BODY_BYTES: '65536',
    });
    counts = () => app.app.get(Database).longCounts;
    await app.query(
      `INSERT INTO calls (project_id, id, op_name, trace_id, started_at, inputs)
       SELECT 'acme/big', 'c' || n, 'op', 't', timestamptz '2026-01-01' + n * interval '1 ms',
         json_build_object('text', repeat('x', 10000)) FROM generate_series(1, 5000) n`,
    );
  });
  afterEach(async () => {
    for (const sent of opened.splice(0)) sent.destroy();
    await until(() => counts().held === 0 && counts().waiting === 0);
  });
  afterAll(() => app.close());

  const send = (path: string, key: string, type: string): ClientRequest => {
    const headers = { authorization: basic(key), 'content-type': type };
    const sent = request(app.url + path, { method: 'POST', headers });
    sent.on('error', () => {});
    opened.push(sent);
    return sent;
  };
  /** Requests a stream of 50 MB and does not read it. */
  const unread = (key: string) => {
    const sent = send('/calls/stream_query', key, 'application/json');
    sent.end(JSON.stringify({ project_id: 'acme/big' }));
    return sent;
  };
  /** Begins an upload that never ends. */
  const trickling = (key: string) => {
    const sent = send('/file/create', key, 'multipart/form-data; boundary=b');
    sent.write(
      `--b\r\ncontent-disposition: form-data; name="project_id"\r\n\r\nacme/trickle\r\n` +
        `--b\r\ncontent-disposition: form-data; name="file"; filename="blob"\r\n\r\n`,
    );
    sent.write(Buffer.alloc(2 * MIB, 'x'));
    return sent;
  };
  const uploads = async (): Promise<number> =>
    (await app.query('SELECT count(*)::int AS n FROM uploads'))[0].n;

  const feedback = () => ({
    project_id: 'acme/other',
    svc_ref: 'svc:///acme/other/call/c',
    feedback_type: 'custom',
    payload: {},
  });

  it('are there for another key while one has unread streams and trickling uploads', async () => {
    const greedy = await app.aKey('writer', ['*'], 'greedy');
    const key = await app.aKey('writer', ['*'], 'other');
    for (let i = 0; i < 3 * POOL; i++) trickling(greedy);
    await until(async () => (await uploads()) === 3 * POOL);
    await refreshed(app, 'texts'); // a task of the service would wait for a connection too
    for (let i = 0; i < 6; i++) unread(greedy);
    await until(() => counts().held === MAY_HOLD && counts().waiting === 6 - MAY_HOLD);

    const statusOf = async (path: string, body: object) =>
      (await app.post(path, body, { key })).status;
    expect(await statusOf('/call/start', { start: aStart() })).toBe(200);
    expect(await statusOf('/feedback/create', feedback())).toBe(200);
    const project_id = 'acme/other';
    expect(await statusOf('/calls/query_stats', { project_id })).toBe(200);
    expect(await statusOf('/calls/query', { project_id })).toBe(200);
    expect(await statusOf('/feedback/query', { project_id })).toBe(200);
    expect(
      await statusOf('/feedback/purge', { project_id, query: { $expr: { $literal: true } } }),
    ).toBe(200);

    for (const sent of opened.splice(0)) sent.destroy();
    await until(async () => (await uploads()) === 0);
  });

  it('are held by the read of a large call, however small it is stored', async () => {
    await app.query(
      `INSERT INTO calls (project_id, id, op_name, trace_id, started_at, inputs)
       VALUES ('acme/packed', 'c', 'op', 't', now(), json_build_object('text', repeat('x', 4000000)))`,
    );
    const holders = Array.from({ length: MAY_HOLD }, () => unread(app.key));
    await until(() => counts().held === MAY_HOLD);
    const read = app.post('/call/read', { project_id: 'acme/packed', id: 'c' });
    await until(() => counts().waiting === 1);
    for (const sent of holders) sent.destroy();
    const { body, headers } = await read;
    expect(body.call.inputs.text).toBe('x'.repeat(4_000_000));
    expect(headers.get('content-type')).toBe('application/json; charset=utf-8');
  });

  it('are there for another key while the writes of one wait for locks', async () => {
    const greedy = await app.aKey('writer', ['*'], 'waiting');
    const key = await app.aKey('writer', ['*'], 'other');
    await app.post('/call/start', { start: aStart({ id: 'locked' }) }, { key });
    const other = app.dataSource.createQueryRunner();
    await other.startTransaction();
    await other.query(
      `SELECT 1 FROM calls WHERE project_id = 'acme/demo' AND id = 'locked' FOR UPDATE`,
    );
    await other.query('LOCK TABLE object_versions IN ACCESS EXCLUSIVE MODE');
    const project_id = 'acme/demo';
    const writes = Array.from({ length: 2 * POOL }, (_, i) => [
      app.post(
        '/call/update',
        { project_id, call_id: 'locked', display_name: 'x' },
        { key: greedy },
      ),
      app.post(
        '/obj/create',
        { obj: { project_id, object_id: 'o', val: { i } } },
        { key: greedy, headers: { 'idempotency-key': `k${i}` } },
      ),
    ]).flat();
    await until(() => counts().held === MAY_HOLD);
    expect((await app.post('/call/start', { start: aStart() }, { key })).status).toBe(200);
    expect((await app.post('/feedback/create', feedback(), { key })).status).toBe(200);
    await other.rollbackTransaction();
    await other.release();
    for (const { status } of await Promise.all(writes)) expect([200, 503]).toContain(status);
  });

  it('are waited for in the name of the key whose starts look up their traces', async () => {
    const key = await app.aKey('writer', ['acme/*']);
    const batch = [{ mode: 'start', req: { start: aStart({ parent_id: 'p' }) } }];
    expect((await app.post('/call/upsert_batch', { batch }, { key })).status).toBe(200);
    const database = app.app.get(Database);
    let free = () => {};
    const freed = new Promise<void>((resolve) => (free = resolve));
    const held = Array.from({ length: POOL }, () => database.transaction(() => freed));
    await until(() => database.pool.idleCount === 0 && database.pool.totalCount === POOL);
    const sent = app.post('/call/upsert_batch', { batch }, { key });
    const { line } = database['connections'] as unknown as { line: { owners: string[] } };
    await until(() => line.owners.some((owner) => owner.startsWith('acme/')));
    free();
    await Promise.all(held);
    expect((await sent).status).toBe(200);
  });

  it('are shared by key among starts under an Idempotency-Key too', async () => {
    const keys = [await app.aKey('writer'), await app.aKey('writer')];
    const other = app.dataSource.createQueryRunner();
    await other.startTransaction();
    await other.query('LOCK TABLE idempotency_keys IN ACCESS EXCLUSIVE MODE');
    const starts = keys.flatMap((key) =>
      ['a', 'b', 'c'].map((name) =>
        app.post(
          '/call/start',
          { start: aStart({ id: undefined }) },
          { key, headers: { 'idempotency-key': name } },
        ),
      ),
    );
    await until(() => counts().held === MAY_HOLD + 1);
    await other.rollbackTransaction();
    await other.release();
    for (const { status } of await Promise.all(starts)) expect([200, 503]).toContain(status);
  });

  it('are refused with 503 to a key that wants more than its share', async () => {
    const sent = Array.from({ length: MAY_HOLD + 1 }, () => unread(app.key));
    const answers = await Promise.all(sent.map(async (one) => (await once(one, 'response'))[0]));
    const statuses = answers.map(({ statusCode }) => statusCode);
    expect(statuses.toSorted()).toEqual([200, 200, 503]);
    expect(answers.find(({ statusCode }) => statusCode === 503).headers['retry-after']).toBe('1');
  });

  it('are taken from the slowest reader for a key that has none', async () => {
    const [one, other, third] = [await app.aKey(), await app.aKey(), await app.aKey()];
    const holders = [unread(one), unread(one), unread(other)];
    await Promise.all(holders.map((sent) => once(sent, 'response')));
    // On a busy machine the request may get 503, and then tries again.
    await until(async () => (await once(unread(third), 'response'))[0].statusCode === 200);
    expect(counts().held).toBe(3);
  });

  it('are given back by a statement that takes too long, and the answer says so', async () => {
    const other = app.dataSource.createQueryRunner();
    await other.startTransaction();
    await other.query('LOCK TABLE calls IN ACCESS EXCLUSIVE MODE');
    const filter = { trace_roots_only: true };
    const answer = await app.post('/calls/query_stats', { project_id: 'acme/big', filter });
    expect(answer).toMatchObject({ status: 503, body: { code: 'unavailable' } });
    expect(answer.body.detail).toBe('a statement of the database took longer than its limit');
    expect(answer.headers.get('retry-after')).toBe('1');
    const stream = await app.post('/calls/query', { project_id: 'acme/big' });
    expect(stream).toMatchObject({ status: 503, body: { code: 'unavailable' } });
    expect(stream.body.detail).toBe('a batch of the stream took longer than its limit');
    await other.rollbackTransaction();
    await other.release();
  });

  it('end with what the driver cannot read, such as a value that no string can hold, and the process goes on', async () => {
    const client = await app.app.get(Database)['connections'].connect('');
    const { stream } = (client as unknown as { connection: { stream: Socket } }).connection;
    const pending = client.query('SELECT pg_sleep(60)');
    stream.emit('data', undefined); // a real value that causes this takes 1.2 GB
    await expect(pending).rejects.toThrow(TypeError);
    client.release(true);
    expect((await app.post('/call/start', { start: aStart() })).status).toBe(200);
  });

  it('carry what repositories do in a transaction, which is undone with it', async () => {
    const { Database } = await import('../../src/platform/database/database.js');
    const database = app.app.get(Database);
    const found = () => database.repository(ApiKey).countBy({ userName: 'undone' });
    await app.aKey('reader', ['*'], 'undone');
    const undone = database.transaction(async () => {
      await database.repository(ApiKey).delete({ userName: 'undone' });
      throw new Error(`${await found()} are left`);
    });
    await expect(undone).rejects.toThrow('0 are left');
    expect(await found()).toBe(1);
  });

  it('are lent fairly to what repositories do outside of one, too', async () => {
    const database = app.app.get(Database);
    let free!: () => void;
    const isOver = new Promise<void>((resolve) => (free = resolve));
    const held = Array.from({ length: POOL }, () =>
      database.transaction({ owner: 'a/0' }, () => isOver),
    );
    await until(() => database.pool.totalCount - database.pool.idleCount === POOL);
    const served: string[] = [];
    const ask = (owner: string) =>
      database.scope.run({ owner: () => owner }, async () => {
        await database.repository(ApiKey).countBy({ userName: 'nobody' });
        served.push(owner);
      });
    const all = [...Array.from({ length: 40 }, (_, i) => ask(`a/${i}`)), ask('b/1')];
    await until(() => database.waitingCount >= all.length).finally(free);
    await Promise.all([...held, ...all]);
    expect(served.indexOf('b/1')).toBeLessThan(2 * POOL);
  });

  it('carry no row over its limit, which is answered with 413', async () => {
    await app.query(
      `INSERT INTO calls (project_id, id, op_name, trace_id, started_at, inputs)
       VALUES ('acme/wide', 'c', 'op', 't', now(), json_build_object('text', repeat('x', $1)))`,
      [65 * MIB],
    );
    const answer = await app.post('/calls/query', { project_id: 'acme/wide' });
    expect(answer).toMatchObject({ status: 413, body: { code: 'too_large' } });
    expect(answer.body.detail).toContain(String(64 * MIB + 2 * 65_536));
    await app.query(`DELETE FROM calls WHERE project_id = 'acme/wide'`);
  });
});

describe('a start that waits for a lock', () => {
  unlessCluster('who waits for a lock is seen on its node').it(
    'does not keep back what comes behind it for its project',
    async () => {
      const app = await startApp();
      const project_id = 'acme/held';
      const start = (id: string) => app.post('/call/start', { start: aStart({ project_id, id }) });
      await start('locked');
      const other = app.dataSource.createQueryRunner();
      await other.startTransaction();
      await other.query(`SELECT 1 FROM calls WHERE project_id = $1 FOR UPDATE`, [project_id]);
      const held = start('locked');
      const waiting = () =>
        app.query(
          `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
        );
      await until(async () => (await waiting()).length === 1);
      const free = start('free');
      const first = await Promise.race([free, sleep(3000)]);
      const stillWaiting = await waiting();
      await other.rollbackTransaction();
      await other.release();
      const answers = await Promise.all([held, free]);
      await app.close();
      expect(first).toMatchObject({ status: 200 });
      expect(stillWaiting).toHaveLength(1);
      expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    },
  );
});

describe('a write that waits for a lock for too long', () => {
  unlessCluster('lock_timeout does not reach nodes').it(
    'is refused alone, not with the writes it shares a statement with',
    async () => {
      SESSION['lock_timeout'] = '100ms';
      const app = await startApp();
      const project_id = 'acme/locks';
      await app.post('/call/start', { start: aStart({ project_id, id: 'locked' }) });
      const other = app.dataSource.createQueryRunner();
      await other.startTransaction();
      await other.query(`SELECT 1 FROM calls WHERE project_id = $1 FOR UPDATE`, [project_id]);
      const batch = ['a', 'b', 'locked', 'y', 'z'].map((id) => ({
        mode: 'start',
        req: { start: aStart({ project_id, id, op_name: 'new' }) },
      }));
      const answer = await app.post('/call/upsert_batch', { batch });
      expect(answer).toMatchObject({ status: 503, body: { code: 'unavailable' } });
      expect(answer.body.detail).toBe('a statement of the database took longer than its limit');
      const { calls } = (
        await app.post('/calls/query', {
          project_id,
          query: { $expr: { $eq: [{ $getField: 'op_name' }, { $literal: 'new' }] } },
        })
      ).body;
      expect(calls.map(({ id }: { id: string }) => id).toSorted()).toEqual(['a', 'b', 'y', 'z']);
      await other.rollbackTransaction();
      await other.release();
      await app.close();
    },
  );
});

describe('sessions on a database with settings of its own', () => {
  it('answer times and numbers as on any other', async () => {
    const database = await openTestDatabase();
    const client = new pg.Client(database.url);
    await client.connect();
    const name = new URL(database.url).pathname.slice(1);
    for (const setting of [
      `timezone = 'Asia/Kolkata'`,
      `datestyle = 'SQL, DMY'`,
      'extra_float_digits = -3',
      'synchronous_commit = off',
    ])
      await client.query(`ALTER DATABASE ${name} SET ${setting}`);
    await client.end();
    const server = await startServer({ DATABASE_URL: database.url });
    const project_id = 'acme/zone';
    await server.post('/call/start', {
      start: aStart({ project_id, id: 'c', started_at: '2026-01-31T12:00:00.5' }),
    });
    await server.post('/call/end', {
      end: { project_id, id: 'c', ended_at: '2026-01-31T17:30:01.123457+05:30' },
    });
    const { calls } = (await server.post('/calls/query', { project_id })).body;
    const { call } = (await server.post('/call/read', { project_id, id: 'c' })).body;
    expect(calls).toEqual([call]);
    expect(call).toMatchObject({
      started_at: '2026-01-31T12:00:00.500000Z',
      ended_at: '2026-01-31T12:00:01.123457Z',
      summary: { svc: { latency_ms: 623.457 } },
    });
    const warnings = server
      .output()
      .split('\n')
      .filter((line) => line.includes('may lose writes'));
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toContain('synchronous_commit');
    await server.stop();
    await database.drop();
  });
});
