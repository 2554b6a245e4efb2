import { readdirSync, readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { embeddedPostgresUrl } from '../../src/platform/postgres/embedded-postgres.js';
import { basic, send } from '../support/app.js';
import { byWork } from '../support/background.js';
import { openTestDatabase } from '../support/database.js';
import { previewOf } from '../support/preview.js';
import { aFolder, type Server, startServer } from '../support/server.js';
import { until } from '../support/until.js';

/*
 * Tests work that a service does without a request. Each test waits until the schedule of a started process has done
 * it.
 */

const DAY_MS = 86_400_000;
const daysAgo = (days: number) => new Date(Date.now() - days * DAY_MS).toISOString();

interface Home {
  env: Record<string, string>;
  /** The data folder of the embedded server. */
  pgdata?: string;
  url: () => Promise<string>;
  remove: () => Promise<void>;
}

async function embedded(): Promise<Home> {
  const folder = aFolder();
  const DATA_DIR = join(folder.path, 'data');
  return {
    env: { DATA_DIR, WORKERS: '2' }, // the workers read the free space of the disk from the primary
    pgdata: join(DATA_DIR, 'pgdata'),
    url: async () => (await embeddedPostgresUrl(DATA_DIR))!,
    remove: async () => folder.remove(),
  };
}

async function external(): Promise<Home> {
  const { url, drop } = await openTestDatabase();
  return { env: { DATABASE_URL: url }, url: async () => url, remove: drop };
}

/** Makes the configurable tasks run each second. The others have fixed intervals of up to an hour. */
const SHORT = {
  RETENTION_INTERVAL_SECONDS: '1',
  TRAINER_HEARTBEAT_SECONDS: '1',
  TRAINER_LEASE_SECONDS: '1',
};
const LAST_SUCCESS = 'skein_background_last_success_timestamp_seconds';

/** Reads the names of tasks from the source code. */
function tasksOfCode(): string[] {
  const files = readdirSync('src', { recursive: true, encoding: 'utf8' });
  const texts = files
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.spec.ts'))
    .map((file) => readFileSync(join('src', file), 'utf8'));
  const found = texts.flatMap((text) => [
    ...text.matchAll(/schedule\.(?:every\(\s*[^(),]+,|showOther\()\s*(?:'([^']+)'|([\w.]+))/g),
  ]);
  const given = found.filter(([, name]) => !name).map(([, , expression]) => expression);
  expect(given).toEqual(['marked.what']); // the base class of the refreshers passes its own name
  const refreshers = texts.filter((text) => text.includes('extends MarksRefresher'));
  const marked = texts.flatMap((text) => [
    ...text.matchAll(/: MarkedStatistics = \{[^}]+what: '([^']+)'/g),
  ]);
  expect(marked).toHaveLength(refreshers.length);
  return [...found, ...marked].flatMap(([, name]) => name ?? []);
}

/** Reads the names of tasks from docs/operate.md. */
function tasksOfDocs(): string[] {
  const [, section] = readFileSync('docs/operate.md', 'utf8').split('\n## Background tasks\n');
  const rows = section!.split('\n## ')[0]!.matchAll(/^\| `([^`]+)`/gm);
  return [...rows].map(([, name]) => name!);
}

describe.each([
  ['two workers, embedded PostgreSQL', embedded],
  ['one process, external PostgreSQL', external],
])('a started service: %s', (_, homeOf) => {
  let home: Home;
  let server: Server;
  let client: pg.Client;
  beforeAll(async () => {
    home = await homeOf();
    server = await startServer({ ...home.env, ...SHORT });
    client = new pg.Client(await home.url());
    await client.connect();
    await leave();
  });
  afterAll(async () => {
    await client.end();
    await server.stop();
    await home.remove();
  });

  async function done(path: string, body: unknown): Promise<any> {
    const answer = await server.post(path, body);
    expect([answer.status, answer.text]).toEqual([200, expect.anything()]);
    return answer.body;
  }
  /** Stores leftovers of clients and processes, and an idempotency key that is still valid. */
  async function leave(): Promise<void> {
    await keyed('old');
    await client.query(`
      UPDATE idempotency_keys SET created_at = now() - interval '25 hours';
      INSERT INTO uploads VALUES ('acme/left', gen_random_uuid(), now() - interval '2 hours');
      INSERT INTO console_sessions (token_hash, api_key_id, is_code, expires_at)
        SELECT 'x', id, FALSE, now() - interval '1 minute' FROM api_keys LIMIT 1`);
    await keyed('fresh');
    expect(await left()).toEqual(['a session', 'an upload', 'fresh', 'old']);
  }
  async function keyed(key: string): Promise<void> {
    const start = { project_id: 'acme/left', op_name: 'work', started_at: daysAgo(0) };
    const headers = { authorization: basic(server.key), 'idempotency-key': key };
    expect((await send(`${server.url}/call/start`, { start }, headers)).status).toBe(200);
  }
  async function left(): Promise<string[]> {
    const { rows } = await client.query<{ key: string }>(`
      SELECT key FROM idempotency_keys UNION ALL SELECT 'an upload' FROM uploads
      UNION ALL SELECT 'a session' FROM console_sessions`);
    return rows.map(({ key }) => key).toSorted();
  }
  const aCall = (project: string, days: number) =>
    done(`/v2/acme/${project}/calls/complete`, {
      batch: [
        {
          project_id: `acme/${project}`,
          id: `d${days}`,
          op_name: 'chat',
          started_at: daysAgo(days),
          ended_at: daysAgo(days),
          inputs: { question: 'old?' },
          output: 'yes',
        },
      ],
    });
  const callsIn = async (project: string): Promise<{ id: string; inputs: object }[]> =>
    (await done('/calls/query', { project_id: `acme/${project}` })).calls;

  it('erases calls that their project no longer keeps', async () => {
    for (const days of [40, 20]) await aCall('calls', days);
    await done('/retention/set', { project_id: 'acme/calls', calls_days: 30 });
    await until(async () => (await callsIn('calls')).length < 2);
    expect((await callsIn('calls')).map(({ id }) => id)).toEqual(['d20']);
  });

  it('erases payloads that their project no longer keeps', async () => {
    for (const days of [10, 5]) await aCall('payloads', days);
    await done('/retention/set', { project_id: 'acme/payloads', payload_days: 7 });
    const inputs = async () => (await callsIn('payloads')).map((call) => call.inputs);
    await until(async () => JSON.stringify((await inputs())[0]) === '{}');
    expect(await inputs()).toEqual([{}, { question: 'old?' }]);
  });

  it('forgets log records whose span has not come in a day', async () => {
    const ids = ['a000000000000001', 'a000000000000002'];
    const logRecords = ids.map((spanId) => ({
      timeUnixNano: '1767225600000000000',
      traceId: '0af7651916cd43dd8448eb211c80319c',
      spanId,
      eventName: 'gen_ai.user.message',
      body: { kvlistValue: { values: [{ key: 'content', value: { stringValue: 'hi' } }] } },
    }));
    const { status, text } = await send(
      `${server.url}/otel/v1/logs`,
      { resourceLogs: [{ scopeLogs: [{ logRecords }] }] },
      { authorization: basic(server.key), project_id: 'acme/logs' },
    );
    expect([status, text]).toEqual([200, '{}']);
    const waiting = async () =>
      (await client.query(`SELECT id FROM calls WHERE project_id = 'acme/logs' ORDER BY id`)).rows;
    expect(await waiting()).toHaveLength(2);
    // makes one of them a day old
    await client.query(
      `UPDATE calls SET logged_at = now() - interval '25 hours' WHERE project_id = 'acme/logs' AND id = $1`,
      [ids[0]],
    );
    await until(async () => (await waiting()).length < 2);
    expect(await waiting()).toEqual([{ id: ids[1] }]);
  });

  it('gives a job back to the queue when its trainer is lost', async () => {
    const preview = previewOf(server);
    const job = await preview.aJob(await preview.aModel());
    expect((await preview.claim()).body).toMatchObject({ job_id: job, attempt: 1 });
    await until(async () => (await preview.job(job)).status === 'queued');
    expect((await preview.claim()).body).toMatchObject({ job_id: job, attempt: 2 });
  });

  it('goes on watching the disk of PostgreSQL when that has failed', async () => {
    const watched = async () => (await byWork(server.url, LAST_SUCCESS)).get('disk of PostgreSQL');
    const { pgdata } = home;
    if (!pgdata) return expect(await watched()).toBeUndefined();
    const before = (await watched())!;
    renameSync(pgdata, `${pgdata}.away`); // PostgreSQL works in the folder, so it does not need the path
    await until(() => server.output().includes('cannot watch the room on the disk'));
    renameSync(`${pgdata}.away`, pgdata);
    const back = Date.now() / 1000;
    expect(before).toBeLessThan(back);
    await until(async () => (await watched())! > back);
  });

  it('sweeps what was left behind, and succeeds with every background task soon after the start', async () => {
    const code = tasksOfCode().filter((task) => home.pgdata || task !== 'disk of PostgreSQL');
    expect(tasksOfDocs().toSorted()).toEqual(tasksOfCode().toSorted());
    for (const metric of [LAST_SUCCESS, 'skein_background_interval_seconds'])
      expect([...(await byWork(server.url, metric)).keys()].toSorted()).toEqual(code.toSorted());
    let waiting: string[] = [];
    const deadline = Date.now() + 90_000;
    await until(async () => {
      const done = await byWork(server.url, 'skein_background_runs_total');
      waiting = code.filter((task) => !done.has(task) && task !== 'disk of PostgreSQL');
      return waiting.length === 0 || Date.now() > deadline;
    });
    expect(waiting).toEqual([]);
    expect(await left()).toEqual(['fresh']);
  });
});
