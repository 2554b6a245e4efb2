import { spawnSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { DuckDBConnection } from '@duckdb/node-api';
import { startApp, type TestApp } from '../support/app.js';
import { openTestDatabase } from '../support/database.js';
import { anEnd, aStart } from '../support/factories.js';
import { refuse, startS3 } from '../support/s3-server.js';
import { aFolder, type Server, startServer } from '../support/server.js';
import { until } from '../support/until.js';

interface Manifest {
  schema_version: number;
  columns: { name: string; type: string }[];
  files: { path: string; rows: number; bytes: number; sha256: string }[];
}

let duck: DuckDBConnection;
beforeAll(async () => {
  duck = await DuckDBConnection.create();
});
afterAll(() => duck.closeSync());

const rowsOf = async (query: string) => (await duck.runAndReadAll(query)).getRowObjectsJson();

const filesIn = (folder: string) =>
  existsSync(folder)
    ? readdirSync(folder, { recursive: true, encoding: 'utf8' })
        .filter((name) => /\.(parquet|jsonl)$/.test(name))
        .toSorted()
    : [];

const manifestIn = (folder: string) =>
  JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8')) as Manifest;

/** Checks that the manifest lists exactly the files, as they are. */
function expectListed(folder: string): void {
  const { files } = manifestIn(folder);
  expect(files.map(({ path }) => path)).toEqual(filesIn(folder));
  for (const { path, bytes, sha256 } of files) {
    const content = readFileSync(join(folder, path));
    expect([content.length, createHash('sha256').update(content).digest('hex')]).toEqual([
      bytes,
      sha256,
    ]);
  }
}

const day = (hour: number, second = 0) =>
  new Date(Date.UTC(2026, 0, 30, hour, 0, second)).toISOString();

describe('an export by schedule to a folder', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp({ EXPORT_INTERVAL_SECONDS: '1' });
  });
  afterAll(() => app.close());

  const done = async (path: string, body: object) => {
    const answer = await app.post(path, body);
    expect([answer.status, answer.text]).toEqual([200, expect.anything()]);
    return answer.body;
  };
  const set = (body: object) => done('/export/schedules/set', { format: 'parquet', ...body });
  const folderOf = (project: string, name: string) => join(app.exported, project, name);
  const only = async (project_id: string) =>
    (await done('/export/schedules/query', { project_id })).schedules[0];
  /** Waits until all files show their rows. */
  const settled = (project_id: string) =>
    until(async () => {
      const marks = await app.query(
        `SELECT FROM call_slot_marks WHERE project_id = $1 AND slot < now() - interval '5 minutes' LIMIT 1`,
        [project_id],
      );
      const { waiting, failures } = await only(project_id);
      return waiting + failures + marks.length === 0;
    });
  const aCall = (project_id: string, id: string, started_at: string, more: object = {}) =>
    done('/call/start', { start: aStart({ project_id, id, trace_id: 't', started_at, ...more }) });
  const idsIn = async (folder: string) =>
    (
      await rowsOf(
        `SELECT id FROM read_parquet('${folder}/**/*.parquet', hive_partitioning = true) ORDER BY id`,
      )
    ).map(({ id }) => id);

  it('has each call once, in the file of its hour, and counts as the statistics do', async () => {
    const project_id = 'acme/hours';
    for (let i = 0; i < 100; i++) await aCall(project_id, `c${i}`, day(i % 30, i));
    await aCall(project_id, 'now', new Date().toISOString());
    const answer = await set({ project_id, name: 'all', of: 'calls', every: 'hour' });
    expect(answer).toMatchObject({ name: 'all', every: 'hour', last_error: null });
    await settled(project_id);
    const folder = folderOf(project_id, 'all');
    expectListed(folder);
    expect(filesIn(folder)).toHaveLength(30);
    const counted = await rowsOf(
      `SELECT day::text AS day, count(*)::int AS calls, count(DISTINCT id)::int AS ids, bool_and(strftime(started_at AT TIME ZONE 'UTC', '%H') = regexp_extract(filename, 'hour-(\\d\\d)', 1)) AS is_right
        FROM read_parquet('${folder}/**/*.parquet', hive_partitioning = true, filename = true) GROUP BY 1 ORDER BY 1`,
    );
    const { count } = await done('/calls/query_stats', {
      project_id,
      query: {
        $expr: { $lt: [{ $getField: 'started_at' }, { $literal: '2026-02-01T00:00:00Z' }] },
      },
    });
    expect(count).toBe(100);
    expect(counted).toEqual([
      { day: '2026-01-30', calls: 82, ids: 82, is_right: true },
      { day: '2026-01-31', calls: 18, ids: 18, is_right: true },
    ]);
    expect(await only(project_id)).toMatchObject({
      ...{ files: 30, rows: 100, waiting: 0, behind_seconds: 0, failures: 0, last_error: null },
      last_window_end: '2026-01-31T06:00:00.000000Z',
    });
  });

  it('writes a window again after late calls, ends, prices, scores and erasing', async () => {
    const project_id = 'acme/late';
    const folder = folderOf(project_id, 'late');
    const ask = (columns: string) =>
      rowsOf(`SELECT id, ${columns} FROM '${folder}/day=2026-01-30/day.parquet' ORDER BY id`);
    await aCall(project_id, 'a', day(1));
    await set({ project_id, name: 'late', of: 'calls', every: 'day' });
    await settled(project_id);
    expect(await ask('status')).toEqual([{ id: 'a', status: 'running' }]);

    await aCall(project_id, 'b', day(2));
    const usage = { mine: { requests: 1, prompt_tokens: 10, completion_tokens: 0 } };
    const end = anEnd({ project_id, id: 'a', ended_at: day(1, 5) });
    await done('/call/end', { end: { ...end, summary: { usage } } });
    await settled(project_id);
    expect(await ask('status, cost')).toEqual([
      { id: 'a', status: 'success', cost: null },
      { id: 'b', status: 'running', cost: null },
    ]);

    const price = { prompt_token_cost: 2, completion_token_cost: 0, effective_date: day(0) };
    await done('/cost/create', { project_id, costs: { mine: price } });
    await settled(project_id);
    expect(await ask('cost')).toEqual([
      { id: 'a', cost: 20 },
      { id: 'b', cost: null },
    ]);

    await done('/feedback/create', {
      ...{ project_id, svc_ref: `svc:///${project_id}/call/b`, feedback_type: 'custom' },
      payload: { good: true },
    });
    const isScored = async () => /good/.test(JSON.stringify(await ask('scores')));
    await until(isScored);
    await done('/feedback/purge', {
      project_id,
      query: { $expr: { $eq: [{ $getField: 'feedback_type' }, { $literal: 'custom' }] } },
    });
    await until(async () => !(await isScored()));

    await done('/calls/purge', { project_id, call_ids: ['a'] });
    await settled(project_id);
    expect(await ask('status')).toEqual([{ id: 'b', status: 'running' }]);
    await done('/calls/purge', { project_id, call_ids: ['b'] });
    await until(() => filesIn(folder).length === 0);
    await settled(project_id);
    expectListed(folder);
  });

  it('has feedback, and the latest version of a dataset', async () => {
    const project_id = 'acme/others';
    const feedback = {
      project_id,
      svc_ref: `svc:///${project_id}/call/x`,
      feedback_type: 'custom',
    };
    await done('/feedback/create', { ...feedback, id: 'f', payload: { n: 1 } });
    await aCall(project_id, 'y', day(1));
    const ofCall = { ...feedback, svc_ref: `svc:///${project_id}/call/y` };
    await done('/feedback/create', { ...ofCall, id: 'g', payload: { n: 2 } });
    await app.query(
      `UPDATE feedback SET created_at = '2026-01-30T05:00:00Z' WHERE project_id = $1`,
      [project_id],
    );
    await set({ project_id, name: 'feedback', of: 'feedback', format: 'jsonl', every: 'hour' });
    const folder = folderOf(project_id, 'feedback');
    await until(() => filesIn(folder).length === 1);
    const file = join(folder, 'day=2026-01-30/hour-05.jsonl');
    const [line, ...others] = readFileSync(file, 'utf8').trimEnd().split('\n');
    expect(others).toHaveLength(1);
    expect(JSON.parse(line!)).toMatchObject({ id: 'f', payload: { n: 1 } });
    await done('/calls/delete', { project_id, call_ids: ['y'] });
    await until(() => readFileSync(file, 'utf8').trimEnd() === line);

    const publish = async (rows: object[]) => {
      const { digest } = await done('/table/create', { table: { project_id, rows } });
      const val = {
        _type: 'Dataset',
        _class_name: 'Dataset',
        rows: `svc:///${project_id}/table/${digest}`,
      };
      await done('/obj/create', { obj: { project_id, object_id: 'questions', val } });
    };
    await publish([{ q: 'a' }]);
    await set({ project_id, name: 'questions', of: 'table', object_id: 'questions' });
    const table = join(folderOf(project_id, 'questions'), 'rows.parquet');
    await until(() => existsSync(table));
    await publish([{ q: 'a' }, { q: 'b' }]);
    await until(async () => (await rowsOf(`SELECT q FROM '${table}'`)).length === 2);
  });

  it('exports the calls that its query matches, and writes all anew with other settings', async () => {
    const project_id = 'acme/changed';
    await aCall(project_id, 'a', day(1), { op_name: 'one' });
    await aCall(project_id, 'b', day(2), { op_name: 'two' });
    const schedule = { project_id, name: 'changed', of: 'calls', every: 'hour' };
    await set({ ...schedule, filter: { op_names: ['one'] } });
    await settled(project_id);
    const folder = folderOf(project_id, 'changed');
    expect(filesIn(folder)).toEqual(['day=2026-01-30/hour-01.parquet']);
    await set({ ...schedule, every: 'day' });
    await settled(project_id);
    expect(filesIn(folder)).toEqual(['day=2026-01-30/day.parquet']);
    expect(await idsIn(folder)).toEqual(['a', 'b']);
    expectListed(folder);
  });

  it('removes its files when the schedule or the project is deleted', async () => {
    for (const project_id of ['acme/gone', 'acme/erased']) {
      await aCall(project_id, 'a', day(1));
      await set({ project_id, name: 'all', of: 'calls', every: 'day' });
      await settled(project_id);
    }
    const draft = join(folderOf('acme/gone', 'all'), 'day=2026-01-30/day.parquet.partial-1');
    writeFileSync(draft, 'left by a killed process');
    await done('/export/schedules/delete', { project_id: 'acme/gone', name: 'all' });
    await done('/project/delete', { project_id: 'acme/erased' });
    for (const project_id of ['acme/gone', 'acme/erased']) {
      const folder = folderOf(project_id, 'all');
      await until(() => !existsSync(folder)); // no empty folders of days either
    }
    await until(
      async () =>
        (
          await app.query(
            `SELECT FROM exported_files WHERE project_id IN ('acme/gone', 'acme/erased')`,
          )
        ).length === 0,
    );
    const { events } = await done('/audit/query', { project_id: 'acme/gone' });
    const named = events.map(({ action, target }: any) => [action, target]);
    expect(named).toEqual(
      expect.arrayContaining([
        ['export_schedules.delete', 'all'],
        ['export_schedules.set', 'all'],
      ]),
    );
  });

  it('refuses what does not fit, and names the field', async () => {
    const project_id = 'acme/refused';
    const refusal = async (body: object, path = 'set') => {
      const { status, body: problem } = await app.post(`/export/schedules/${path}`, {
        ...{ project_id, name: 'x', of: 'calls', format: 'jsonl', every: 'day' },
        ...body,
      });
      return [status, problem.detail];
    };
    for (const name of ['', '..', '../x', 'a/b', 'A', 'x'.repeat(65)])
      expect(await refusal({ name })).toEqual([
        400,
        expect.stringMatching(/^name must be 1 to 64 of a-z/),
      ]);
    expect(await refusal({ every: null })).toEqual([
      400,
      'every is required for an export of calls',
    ]);
    expect(await refusal({ every: 'week' })).toEqual([400, expect.stringContaining('every')]);
    expect(await refusal({ object_id: 'd' })).toEqual([
      400,
      'object_id is not for an export of calls',
    ]);
    expect(await refusal({ of: 'feedback', filter: {} })).toEqual([
      400,
      'filter is not for an export of feedback',
    ]);
    for (const kind of ['threads', 'objects', 'build'])
      expect(await refusal({ of: kind })).toEqual([
        400,
        'of must be calls, feedback or table: threads, objects and builds have no windows by day',
      ]);
    expect(await refusal({ of: 'table', object_id: 'd' })).toEqual([
      400,
      'every is not for an export of a table, which has no windows: each change is written',
    ]);
    expect(await refusal({ of: 'table', every: null })).toEqual([
      400,
      'object_id is required for an export of a table',
    ]);
    expect(await refusal({ of: 'table', every: null, object_id: 'none' })).toEqual([
      404,
      'there is no dataset none',
    ]);
    expect(
      await refusal({ query: { $expr: { $eq: [{ $getField: 'none' }, { $literal: 1 }] } } }),
    ).toEqual([400, expect.stringContaining('none')]);
    const thread_ids = Array.from({ length: 80 }, (_, i) => `${i}`.padEnd(1000, 'x'));
    expect(await refusal({ filter: { thread_ids } })).toEqual([
      413,
      'filter and query of a schedule have at most 65536 bytes together',
    ]);
    expect(await refusal({ name: 'none' }, 'delete')).toEqual([404, expect.any(String)]);
    for (let i = 0; i < 20; i++)
      await set({ project_id, name: `s${i}`, of: 'calls', every: 'day' });
    expect(await refusal({ name: 's20' })).toEqual([
      413,
      'a project has at most 20 exports by schedule',
    ]);
    expect(await refusal({ name: 's19' })).toEqual([200, undefined]);
  });
});

it('is refused without a target, and the setting is named', async () => {
  const app = await startApp({ EXPORT_URL: '' });
  const { status, body } = await app.post('/export/schedules/query', { project_id: 'acme/demo' });
  expect([status, body.detail]).toEqual([404, expect.stringContaining('EXPORT_URL')]);
  await app.close();
});

/** Stores calls of five days, of some KiB each. */
const manyCalls = (calls: number) => `
  INSERT INTO calls (project_id, id, op_name, trace_id, started_at, attributes, inputs, has_unread_usage)
  SELECT 'acme/many', 'c' || i, 'op', 't' || i % 99, '2026-01-01'::timestamptz + make_interval(secs => i % 432000), '{}',
    json_build_object('text', (SELECT string_agg(md5(i || '/' || j), ' ') FROM generate_series(1, 40) j)), false
  FROM generate_series(1, ${calls}) i`;

const smallDisk = aFolder();
const isMounted =
  process.platform === 'linux' &&
  process.getuid?.() === 0 &&
  spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=256k,mode=755', 'tmpfs', smallDisk.path])
    .status === 0;
if (!isMounted) console.log('no test of a full disk: mount(8) is not permitted here');
const onSmallDisk = isMounted ? it : it.skip;
afterAll(() => {
  if (isMounted) spawnSync('umount', [smallDisk.path]);
  smallDisk.remove();
});

describe('the writer', () => {
  it('leaves no gap and no double when it is killed again and again, and when windows change meanwhile', async () => {
    const database = await openTestDatabase();
    const target = aFolder();
    const folder = join(target.path, 'acme/many/all');
    const env = {
      DATABASE_URL: database.url,
      EXPORT_URL: pathToFileURL(target.path).href,
      EXPORT_INTERVAL_SECONDS: '1',
    };
    const start = async () => startServer(env);
    let server: Server = await start();
    const { default: pg } = await import('pg');
    const client = new pg.Client(database.url);
    await client.connect();
    await client.query(manyCalls(40_000));
    const key = server.key;
    const schedule = {
      project_id: 'acme/many',
      name: 'all',
      of: 'calls',
      format: 'parquet',
      every: 'hour',
    };
    expect((await server.post('/export/schedules/set', schedule)).status).toBe(200);
    let seen = 0;
    for (let kills = 0; kills < 4; kills++) {
      const before = filesIn(folder).length;
      await until(() => filesIn(folder).length > before + 2 || filesIn(folder).length === 120);
      await server.stop('SIGKILL');
      for (const { path } of existsSync(join(folder, 'manifest.json'))
        ? manifestIn(folder).files
        : []) {
        expect(existsSync(join(folder, path))).toBe(true);
        seen++;
      }
      await client.query(`DELETE FROM calls WHERE id = 'c${kills + 1}'`);
      server = await startServer({ ...env, BOOTSTRAP_API_KEY: key });
    }
    expect(seen).toBeGreaterThan(0);
    const isSettled = async () => {
      const { rows } = await client.query(`SELECT FROM call_slot_marks LIMIT 1`);
      const { body } = await server.post('/export/schedules/query', { project_id: 'acme/many' });
      return rows.length === 0 && body.schedules[0].waiting === 0;
    };
    await until(isSettled);
    const glob = `read_parquet('${folder}/**/*.parquet', hive_partitioning = true)`;
    expect(
      await rowsOf(`SELECT count(*)::int AS calls, count(DISTINCT id)::int AS ids FROM ${glob}`),
    ).toEqual([{ calls: 39_996, ids: 39_996 }]);
    const all = readdirSync(folder, { recursive: true, encoding: 'utf8' });
    expect(all.filter((name) => name.includes('partial'))).toEqual([]);
    expectListed(folder);
    await server.stop();
    await client.end();
    await database.drop();
    target.remove();
  });

  it('tries again with a target that refuses, and says so in plain words', async () => {
    const target = aFolder();
    const blocked = join(target.path, 'exports');
    writeFileSync(blocked, 'a file in the place of the folder');
    const app = await startApp({
      EXPORT_URL: pathToFileURL(join(blocked, 'deep')).href,
      EXPORT_INTERVAL_SECONDS: '1',
    });
    const project_id = 'acme/demo';
    const post = async (path: string, body: object) =>
      (await app.post(path, { project_id, ...body })).body;
    await app.post('/call/start', { start: aStart({ project_id, started_at: day(1) }) });
    await post('/export/schedules/set', {
      name: 'all',
      of: 'calls',
      format: 'jsonl',
      every: 'day',
    });
    const schedule = async () => (await post('/export/schedules/query', {})).schedules[0];
    await until(async () => (await schedule()).failures > 1);
    expect(await schedule()).toMatchObject({
      ...{
        files: 0,
        waiting: 1,
        last_error: 'the target refuses to store files',
        last_window_end: null,
      },
      retry_at: expect.any(String),
    });
    expect((await schedule()).behind_seconds).toBeGreaterThan(86_400);
    const metrics = await (await fetch(`${app.url}/metrics`)).text();
    expect(metrics).toMatch(/^skein_exports_total\{outcome="failed"\} [1-9]/m);
    rmSync(blocked);
    await until(async () => (await schedule()).files === 1);
    expect(await schedule()).toMatchObject({ failures: 0, last_error: null, retry_at: null });
    await app.close();
    target.remove();
  });

  onSmallDisk(
    'leaves nothing half-written on a full disk, and goes on when there is room',
    async () => {
      const app = await startApp({
        EXPORT_URL: pathToFileURL(smallDisk.path).href,
        EXPORT_INTERVAL_SECONDS: '1',
      });
      const [project_id, neighbour] = ['acme/large', 'acme/neighbour'];
      const start = async (project: string, hour: number, kib: number) => {
        const inputs = { text: randomBytes(kib * 512).toString('hex') };
        const call = aStart({ project_id: project, started_at: day(hour), inputs });
        expect((await app.post('/call/start', { start: call })).status).toBe(200);
      };
      await start(project_id, 1, 1);
      await start(project_id, 2, 2048);
      await start(neighbour, 1, 1);
      const scheduleOf = async (project: string) =>
        (await app.post('/export/schedules/query', { project_id: project })).body.schedules[0];
      for (const project of [project_id, neighbour]) {
        const schedule = { name: 'all', of: 'calls', format: 'jsonl', every: 'hour' };
        await app.post('/export/schedules/set', { project_id: project, ...schedule });
      }
      await until(async () => (await scheduleOf(project_id)).last_error === 'the target is full');
      await until(async () => (await scheduleOf(neighbour)).files === 1);
      const folder = join(smallDisk.path, project_id, 'all');
      expectListed(folder);
      expect(readdirSync(join(folder, 'day=2026-01-30'))).toEqual(['hour-01.jsonl']);
      spawnSync('mount', ['-o', 'remount,size=64m', smallDisk.path]);
      await until(async () => (await scheduleOf(project_id)).files === 2);
      expectListed(folder);
      await app.close();
    },
  );

  it('gives entities turns, however many schedules one of them has', async () => {
    const s3 = await startS3();
    const app = await startApp({
      ...{ EXPORT_URL: 's3://bucket', EXPORT_INTERVAL_SECONDS: '1', AWS_ENDPOINT_URL_S3: s3.url },
      ...{ AWS_ACCESS_KEY_ID: 'id', AWS_SECRET_ACCESS_KEY: 'secret-of-the-bucket' },
    });
    const written = new Set<string>();
    s3.fail = ({ method, url }, response) => {
      const [, name] = /acme\/demo\/(s\d+)\//.exec(url!) ?? [];
      if (!name || method !== 'PUT') return false;
      written.add(name);
      setTimeout(() => response.end(), 1000); // a slow target
      return true;
    };
    const set = async (project_id: string, name: string) => {
      const schedule = { project_id, name, of: 'calls', format: 'jsonl', every: 'hour' };
      expect((await app.post('/export/schedules/set', schedule)).status).toBe(200);
    };
    for (const project_id of ['acme/demo', 'other/demo'])
      for (const hour of [1, 2])
        await app.post('/call/start', { start: aStart({ project_id, started_at: day(hour) }) });
    for (let i = 0; i < 20; i++) await set('acme/demo', `s${i}`);
    await set('other/demo', 'all');
    await until(() => s3.objects.size > 0);
    expect(written.size).toBeLessThan(20);
    await until(() => written.size === 20); // the next turn begins where the first one ended
    await app.close();
    s3.stop();
  });

  it('writes to S3, where nothing is listed that a refused or cut request has not stored', async () => {
    const s3 = await startS3();
    const app = await startApp({
      ...{
        EXPORT_URL: 's3://bucket/lake',
        EXPORT_INTERVAL_SECONDS: '1',
        AWS_ENDPOINT_URL_S3: s3.url,
      },
      ...{ AWS_ACCESS_KEY_ID: 'id', AWS_SECRET_ACCESS_KEY: 'secret-of-the-bucket' },
    });
    const project_id = 'acme/demo';
    const post = async (path: string, body: object) =>
      (await app.post(path, { project_id, ...body })).body;
    for (const hour of [1, 2, 3])
      await app.post('/call/start', { start: aStart({ project_id, started_at: day(hour) }) });
    let refused = 0;
    s3.fail = (request, response) => {
      if (request.method !== 'PUT' || !request.url!.includes('hour-02')) return false;
      refused++;
      refuse(response, 403, 'AccessDenied');
      return true;
    };
    await post('/export/schedules/set', {
      name: 'all',
      of: 'calls',
      format: 'parquet',
      every: 'hour',
    });
    const schedule = async () => (await post('/export/schedules/query', {})).schedules[0];
    await until(async () => (await schedule()).failures > 0);
    expect(refused).toBeGreaterThan(0);
    expect((await schedule()).last_error).toBe('the target refuses to store files');
    const keys = () => [...s3.objects.keys()].toSorted();
    const listed = () =>
      (
        JSON.parse(s3.objects.get('lake/acme/demo/all/manifest.json')!.toString()) as Manifest
      ).files.map(({ path }) => `lake/acme/demo/all/${path}`);
    expect(listed()).toEqual(['lake/acme/demo/all/day=2026-01-30/hour-01.parquet']);
    s3.fail = (request) => {
      const isCut = request.method === 'PUT';
      if (isCut) request.socket.destroy();
      return isCut;
    };
    await until(async () => (await schedule()).last_error === 'the target cannot be reached');
    expect(listed()).toEqual(['lake/acme/demo/all/day=2026-01-30/hour-01.parquet']);
    s3.fail = () => false;
    await until(async () => (await schedule()).files === 3);
    expect([...listed(), 'lake/acme/demo/all/manifest.json']).toEqual(keys());
    await post('/export/schedules/delete', { name: 'all' });
    await until(() => keys().length === 0);
    await app.close();
    s3.stop();
  });
});
