import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DuckDBConnection } from '@duckdb/node-api';
import { basic, linesOf, startApp, type TestApp } from '../support/app.js';
import { buildsOf } from '../support/builds.js';
import { anEnd, aStart } from '../support/factories.js';
import { record } from '../support/rollouts.js';
import { until } from '../support/until.js';

const project_id = 'acme/demo';
const folder = mkdtempSync(join(tmpdir(), 'skein-export-'));
let app: TestApp;
let duck: DuckDBConnection;
beforeAll(async () => {
  app = await startApp();
  duck = await DuckDBConnection.create();
});
afterAll(async () => {
  duck.closeSync();
  rmSync(folder, { recursive: true });
  await app.close();
});

const send = (body: object, key = app.key) =>
  fetch(`${app.url}/export`, {
    method: 'POST',
    headers: { authorization: basic(key), 'content-type': 'application/json' },
    body: JSON.stringify({ project_id, format: 'parquet', ...body }),
  });

/** Exports a file and runs a query on it, in which `FILE` stands for the file. */
async function ask(body: object, query: string): Promise<Record<string, unknown>[]> {
  const response = await send(body);
  expect([response.status, response.headers.get('content-type')]).toEqual([
    200,
    'application/vnd.apache.parquet',
  ]);
  // DuckDB keeps what it has read of a name
  const file = join(folder, `${randomUUID()}.parquet`);
  writeFileSync(file, Buffer.from(await response.arrayBuffer()));
  const reader = await duck.runAndReadAll(query.replaceAll('FILE', `'${file}'`));
  return reader.getRowObjectsJson();
}

describe('calls', () => {
  const inputs = '{"who":"你好", "said":"\\u4f60\\"\\n",  "n":1.10}';
  const id = '0199c2d5-0000-7000-8000-00000000000a';

  beforeAll(async () => {
    const start = {
      ...aStart({ project_id, id, trace_id: 'trace-1', started_at: '2026-01-31T12:00:00.123456Z' }),
      op_name: 'chat',
      display_name: 'Ask "it"',
      inputs: {},
    };
    const text = JSON.stringify({ start }).replace('"inputs":{}', `"inputs":${inputs}`);
    expect((await app.post('/call/start', text)).status).toBe(200);
    const usage = { 'gpt-4o': { requests: 1, prompt_tokens: 1000, completion_tokens: 100 } };
    const end = anEnd({ project_id, id, ended_at: '2026-01-31T12:00:01.623456Z' });
    const summary = { usage };
    expect((await app.post('/call/end', { end: { ...end, summary, output: 'yes' } })).status).toBe(
      200,
    );
    const feedback = {
      project_id,
      svc_ref: `svc:///acme/demo/call/${id}`,
      feedback_type: 'custom',
      payload: { good: true },
    };
    expect((await app.post('/feedback/create', feedback)).status).toBe(200);
  });

  it('have typed columns, their costs and scores, and their documents as they were sent', async () => {
    const [row, ...others] = await ask(
      { of: 'calls' },
      `SELECT *, typeof(started_at) AS type, epoch_us(started_at) AS micros FROM FILE`,
    );
    expect(others).toEqual([]);
    // gpt-4o: 2.50 and 10.00 dollars for a million tokens, so 1000 × 0.0000025 + 100 × 0.00001
    expect(row).toMatchObject({
      id,
      project_id,
      trace_id: 'trace-1',
      parent_id: null,
      op_name: 'chat',
      display_name: 'Ask "it"',
      source: 'production',
      type: 'TIMESTAMP WITH TIME ZONE',
      micros: '1769860800123456',
      status: 'success',
      latency_ms: 1500,
      input_tokens: '1000',
      output_tokens: '100',
      cost: 0.0035,
      exception: null,
      inputs,
      output: '"yes"',
    });
    expect(JSON.parse(row!['costs'] as string)).toHaveProperty('gpt-4o');
    expect(JSON.parse(row!['scores'] as string)).toMatchObject([{ payload: { good: true } }]);
  });

  it('are those that match the filter and the query', async () => {
    const other = aStart({ project_id, op_name: 'other' });
    await app.post('/call/start', { start: other });
    const counted = (body: object) =>
      ask({ of: 'calls', ...body }, 'SELECT count(*)::int AS rows FROM FILE');
    expect(await counted({})).toEqual([{ rows: 2 }]);
    expect(await counted({ filter: { op_names: ['other'] } })).toEqual([{ rows: 1 }]);
    const query = { $expr: { $eq: [{ $getField: 'op_name' }, { $literal: 'none' }] } };
    expect(await counted({ query })).toEqual([{ rows: 0 }]);
  });

  it('are the lines of a list as jsonl', async () => {
    const response = await send({ of: 'calls', format: 'jsonl', filter: { call_ids: [id] } });
    const [line, ...others] = (await response.text()).trimEnd().split('\n');
    expect(others).toEqual([]);
    expect(line).toContain(`"inputs":${inputs}`);
    expect(response.headers.get('content-disposition')).toBe('attachment; filename="calls.jsonl"');
  });

  it('of many row groups are the stored ones, each once', async () => {
    const project = 'acme/many';
    await app.query(
      `INSERT INTO calls (project_id, id, op_name, trace_id, started_at, inputs, has_unread_usage)
        SELECT $1, 'c' || i, 'op', 't' || i % 9, '2026-01-01'::timestamptz + make_interval(secs => i),
          json_build_object('text', (SELECT string_agg(md5(i || '/' || j), ' ') FROM generate_series(1, 40) j)), false
        FROM generate_series(1, 12000) i`,
      [project],
    );
    const rows = `SELECT count(*)::int AS rows, count(DISTINCT id)::int AS ids, sum(length(inputs))::bigint AS length,
      (SELECT count(DISTINCT row_group_id)::int FROM parquet_metadata(FILE)) > 1 AS has_groups FROM FILE`;
    const [stored] = await app.query(
      'SELECT sum(length(inputs::text)) AS length FROM calls WHERE project_id = $1',
      [project],
    );
    expect(await ask({ project_id: project, of: 'calls' }, rows)).toEqual([
      { rows: 12_000, ids: 12_000, length: stored.length, has_groups: true },
    ]);
  });
});

it('exports feedback with the columns of its JSON lines', async () => {
  const scores = { scorer_tags: ['güt'], scorer_ratings: { depth: 0.25 } };
  const feedback = {
    project_id: 'acme/scored',
    svc_ref: 'svc:///acme/scored/call/c1',
    feedback_type: 'custom',
    payload: { good: true },
    ...scores,
    span_agent_name: 'Ada',
  };
  expect((await app.post('/feedback/create', feedback)).status).toBe(200);
  const request = { project_id: 'acme/scored', of: 'feedback' };
  const line = JSON.parse(await (await send({ ...request, format: 'jsonl' })).text()) as object;
  const [row] = await ask(request, 'SELECT * FROM FILE');
  expect(Object.keys(row!)).toEqual(Object.keys(line));
  expect(line).toMatchObject(scores);
  expect(row).toMatchObject({
    svc_ref: 'svc:///acme/scored/call/c1',
    feedback_type: 'custom',
    payload: '{"good":true}',
    scorer_tags: '["güt"]',
    scorer_tag_reasons: '{}',
    scorer_ratings: '{"depth":0.25}',
    span_agent_name: 'Ada',
    span_status_code: 'UNSET',
  });
  const types = `SELECT typeof(created_at) AS type FROM FILE`;
  expect(await ask(request, types)).toEqual([{ type: 'TIMESTAMP WITH TIME ZONE' }]);
});

describe('the rows of a table', () => {
  const aTable = async (rows: string) => {
    const body = `{"table":{"project_id":"${project_id}","rows":${rows}}}`;
    return (await app.post('/table/create', body)).body.digest as string;
  };

  it('have a column for each member, of its type', async () => {
    const digest = await aTable(
      '[{"q":"a","n":1,"ok":true,"größe":"L","mixed":1},{"q":null,"n":2.5,"\\u0067rö\\u00dfe":"M","mixed":"x","deep":{"a":[1]}}]',
    );
    const columns = `SELECT column_name, column_type FROM (DESCRIBE SELECT * FROM FILE)`;
    expect(await ask({ of: 'table', digest }, columns)).toEqual([
      { column_name: 'q', column_type: 'VARCHAR' },
      { column_name: 'n', column_type: 'DOUBLE' },
      { column_name: 'ok', column_type: 'BOOLEAN' },
      { column_name: 'größe', column_type: 'VARCHAR' },
      { column_name: 'mixed', column_type: 'VARCHAR' },
      { column_name: 'deep', column_type: 'VARCHAR' },
    ]);
    expect(await ask({ of: 'table', digest }, 'SELECT * FROM FILE')).toEqual([
      { q: 'a', n: 1, ok: true, größe: 'L', mixed: '1', deep: null },
      { q: null, n: 2.5, ok: null, größe: 'M', mixed: '"x"', deep: '{"a":[1]}' },
    ]);
  });

  it('keep the digits of numbers that a double does not hold, as JSON texts', async () => {
    const column = async (...numbers: string[]) => {
      const rows = numbers.map((n) => `{"n":${n},"of":${numbers.length}}`);
      const exported = await ask(
        { of: 'table', digest: await aTable(`[${rows.join()}]`) },
        'SELECT n FROM FILE',
      );
      return exported.map(({ n }) => n);
    };
    const tooLong = [
      '9007199254740993',
      '12345678901234567890.00',
      '3.14159265358979323846',
      '1e400',
      '1e-400',
      '9'.repeat(500),
    ];
    for (const long of tooLong) expect(await column('1.0', long)).toEqual(['1.0', long]);
    const doubles = [
      '0.30000000000000004',
      '1764264878123456',
      '1E+300',
      '-1.50',
      '0e999',
      '5e-200',
    ];
    expect(await column(...doubles)).toEqual(doubles.map(Number));
  });

  it('are JSON texts if PostgreSQL cannot read them, or if they have no members', async () => {
    for (const row of ['{"a":"\\u0000"}', '{}'])
      expect(
        await ask({ of: 'table', digest: await aTable(`[${row}]`) }, 'SELECT * FROM FILE'),
      ).toEqual([{ val: row }]);
  });

  it('with few of 1,000 members each are exported', async () => {
    const rows = Array.from({ length: 50_000 }, (_, i) => ({ [`m${i % 1000}`]: i }));
    const digest = await aTable(JSON.stringify(rows));
    const sums = `SELECT count(*)::int AS rows, sum(m7)::bigint AS sum FROM FILE`;
    const sum = String(rows.reduce((all, { m7 }) => all + (m7 ?? 0), 0));
    expect(await ask({ of: 'table', digest }, sums)).toEqual([{ rows: 50_000, sum }]);
  });

  it('have statistics of columns whose texts are short', async () => {
    const row = { id: 'a', text: 'x'.repeat(9_000_000) };
    const { row_digests } = (
      await app.post('/table/create', { table: { project_id, rows: [row] } })
    ).body;
    const body = { project_id, row_digests: Array(20).fill(row_digests[0]) };
    const { digest } = (await app.post('/table/create_from_digests', body)).body;
    const statistics = `SELECT path_in_schema AS name, count(*)::int AS chunks, count(stats_max_value)::int AS kept
      FROM parquet_metadata(FILE) GROUP BY 1 ORDER BY 1`;
    expect(await ask({ of: 'table', digest }, statistics)).toEqual([
      { name: 'id', chunks: 20, kept: 20 },
      { name: 'text', chunks: 20, kept: 0 },
    ]);
    const rows = 'SELECT count(*)::int AS rows, min(length(text)) AS length FROM FILE';
    expect(await ask({ of: 'table', digest }, rows)).toEqual([{ rows: 20, length: '9000000' }]);
  });

  it('are refused with too many different members, and have no such limit as jsonl', async () => {
    const rows = Array.from({ length: 1001 }, (_, i) => ({ [`m${i}`]: 1 }));
    const digest = await aTable(JSON.stringify(rows));
    const response = await send({ of: 'table', digest });
    expect([response.status, ((await response.json()) as { detail: string }).detail]).toEqual([
      413,
      expect.stringContaining('more than 1000 different members'),
    ]);
    const lines = await (await send({ of: 'table', digest, format: 'jsonl' })).text();
    expect(lines.trimEnd().split('\n')).toHaveLength(rows.length);
  });
});

describe('threads', () => {
  const project_id = 'acme/talks';
  beforeAll(async () => {
    // thread t<n> has n turns, of 100, 200 and 300 ms
    for (let n = 1; n <= 3; n++)
      for (let turn = 1; turn <= n; turn++) {
        const id = `t${n}-${turn}`;
        const started = Date.UTC(2026, 0, n, 0, 0, turn);
        const started_at = new Date(started).toISOString();
        const ended_at = new Date(started + 100 * turn).toISOString();
        const call = { project_id, id, trace_id: id, turn_id: id, thread_id: `t${n}` };
        await app.post('/call/start', { start: aStart({ ...call, started_at }) });
        await app.post('/call/end', { end: anEnd({ project_id, id, ended_at }) });
      }
  });

  it('have a row each, with the statistics that the list answers', async () => {
    const rows = await ask({ project_id, of: 'threads' }, 'SELECT * FROM FILE ORDER BY thread_id');
    expect(rows).toEqual([
      thread(1, { p50: 100, p99: 100, end: '01.1' }),
      thread(2, { p50: 150, p99: 199, end: '02.2' }),
      thread(3, { p50: 200, p99: 298, end: '03.3' }),
    ]);
    const listed = await app.post('/threads/stream_query', { project_id });
    expect(rows).toHaveLength(linesOf(listed).length);
    const lines = await (await send({ project_id, of: 'threads', format: 'jsonl' })).text();
    expect(lines).toBe(listed.text);
  });

  it('are those of the filter, over the turns that it selects', async () => {
    const filter = { thread_ids: ['t2', 't3'], after_datetime: '2026-01-03T00:00:01.500Z' };
    expect(
      await ask({ project_id, of: 'threads', filter }, 'SELECT thread_id, turn_count FROM FILE'),
    ).toEqual([{ thread_id: 't3', turn_count: '2' }]);
  });

  const thread = (n: number, { p50, p99, end }: { p50: number; p99: number; end: string }) => ({
    thread_id: `t${n}`,
    turn_count: `${n}`,
    start_time: `2026-01-0${n} 00:00:01+00`,
    last_updated: `2026-01-0${n} 00:00:${end}+00`,
    first_turn_id: `t${n}-1`,
    last_turn_id: `t${n}-${n}`,
    p50_turn_duration_ms: p50,
    p99_turn_duration_ms: p99,
  });
});

it('exports the versions of objects, with their values as they were sent', async () => {
  const project = 'acme/objects';
  const publish = (object_id: string, val: string) =>
    app.post(
      '/obj/create',
      `{"obj":{"project_id":"${project}","object_id":"${object_id}","val":${val}}}`,
    );
  for (const val of ['{"n":1.0}', '{"n":2}']) await publish('first', val);
  await publish('second', '{"grün":["\\u00e4", 12345678901234567890]}');
  const query = `SELECT object_id, version_index, is_latest, val, typeof(created_at) AS type FROM FILE ORDER BY 1, 2`;
  const type = 'TIMESTAMP WITH TIME ZONE';
  const first = { object_id: 'first', type };
  const second = {
    object_id: 'second',
    version_index: '0',
    is_latest: '1',
    val: '{"grün":["\\u00e4", 12345678901234567890]}',
    type,
  };
  const request = { project_id: project, of: 'objects' };
  expect(await ask(request, query)).toEqual([
    { ...first, version_index: '0', is_latest: '0', val: '{"n":1.0}' },
    { ...first, version_index: '1', is_latest: '1', val: '{"n":2}' },
    second,
  ]);
  const filter = { latest_only: true, object_ids: ['second'] };
  expect(await ask({ ...request, filter }, query)).toEqual([second]);
  const { objs } = (await app.post('/objs/query', { project_id: project })).body;
  const lines = (await (await send({ ...request, format: 'jsonl' })).text()).trimEnd().split('\n');
  expect(lines.map((line) => JSON.parse(line))).toEqual(objs);
});

describe('the trajectories of a build', () => {
  const { aProject, build, exported } = buildsOf(() => app, 'trajectories');
  const project = aProject();
  let request: { project_id: string; of: string; build_id: string };
  let groups: any[];

  beforeAll(async () => {
    const asks = (text: string) => [
      { messages: [{ role: 'user', content: 'größe?\n"]}' }], content: text },
    ];
    await record(
      app,
      [
        { id: 'good', task: 'a', score: 1, asks: asks('L') },
        { id: 'bad', task: 'a', score: 0.25, asks: asks('],"metadata":{}') },
        { id: 'best', task: '你', score: 0.5, asks: asks('你好') },
        { id: 'worst', task: '你', score: 0, asks: asks('nichts') },
      ],
      project,
    );
    const { body, text, status } = await build(project);
    expect([status, text]).toEqual([200, expect.anything()]);
    request = { project_id: project, of: 'build', build_id: body.build_id };
    groups = (await exported(project, body.build_id, 'art')).rows;
  });

  it('have a row each, with its group, its reward and its messages', async () => {
    const rows = await ask(request, 'SELECT * FROM FILE ORDER BY group_index, trajectory_index');
    const wanted = groups.flatMap(({ trajectories, metadata }, group_index) =>
      trajectories.map((trajectory: any, i: number) => ({
        group_index: String(group_index),
        trajectory_index: String(i),
        ...metadata,
        reward: trajectory.reward,
        call_id: trajectory.metadata.call_id,
        unit_id: trajectory.metadata.unit_id,
      })),
    );
    expect(rows).toEqual(wanted.map((row) => expect.objectContaining(row)));
    const sums = `SELECT count(*)::int AS rows, sum(reward) AS reward, count(DISTINCT group_key)::int AS keys,
      bool_and(typeof(start_time) = 'TIMESTAMP WITH TIME ZONE') AS is_time FROM FILE`;
    expect(await ask(request, sums)).toEqual([{ rows: 4, reward: 1.75, keys: 2, is_time: true }]);
    const messages = rows.map((row) => JSON.parse(row['messages_and_choices'] as string));
    expect(messages).toEqual(
      groups.flatMap(({ trajectories }) =>
        trajectories.map((trajectory: any) => trajectory.messages_and_choices),
      ),
    );
    const { builds } = (await app.post('/builds/query', { project_id: project })).body;
    expect(builds[0].counts).toMatchObject({ groups: 2, trajectories: 4 });
  });

  it('are the members of the stored groups as jsonl, and name their version in Parquet', async () => {
    const lines = await (await send({ ...request, format: 'jsonl' })).text();
    expect(
      lines
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line)),
    ).toEqual(
      groups.flatMap(({ trajectories, metadata }, group_index) =>
        trajectories.map((trajectory: object, trajectory_index: number) => ({
          group_index,
          trajectory_index,
          ...metadata,
          ...trajectory,
        })),
      ),
    );
    const schema = `SELECT decode(value) AS value FROM parquet_kv_metadata(FILE) WHERE decode(key) = 'skein.schema'`;
    expect(await ask(request, schema)).toEqual([{ value: 'build/1' }]);
  });

  it('are refused when the build was erased or does not exist, without an event', async () => {
    const missing = await send({ ...request, build_id: randomUUID() });
    expect([missing.status, ((await missing.json()) as { detail: string }).detail]).toEqual([
      404,
      'there is no such build in the project',
    ]);
    await app.post('/calls/delete', { project_id: project, call_ids: ['good'] });
    await until(async () => (await send(request)).status === 409);
    const { events } = (await app.post('/audit/query', { project_id: project })).body;
    const targets = events.filter(({ action }: any) => action === 'project.export');
    expect(new Set(targets.map(({ target }: any) => target))).toEqual(new Set([request.build_id]));
  });
});

it('refuses a request that does not fit its kind, and names the field', async () => {
  const refusal = async (body: object) => {
    const response = await send(body);
    return [response.status, ((await response.json()) as { detail: string }).detail];
  };
  expect(await refusal({ of: 'feedback', filter: {} })).toEqual([
    400,
    'filter is not for an export of feedback',
  ]);
  expect(await refusal({ of: 'calls', digest: 'x' })).toEqual([
    400,
    'digest is not for an export of calls',
  ]);
  expect(await refusal({ of: 'table' })).toEqual([
    400,
    'digest is required for an export of a table',
  ]);
  for (const format of ['parquet', 'jsonl'])
    expect((await refusal({ of: 'table', digest: 'none', format }))[0]).toBe(404);
  expect(await refusal({ of: 'build' })).toEqual([
    400,
    'build_id is required for an export of a build',
  ]);
  expect(await refusal({ of: 'threads', query: {} })).toEqual([
    400,
    'query is not for an export of threads',
  ]);
  expect(await refusal({ of: 'threads', filter: { thread_ids: 'a' } })).toEqual([
    400,
    'filter.thread_ids must be an array',
  ]);
  expect(await refusal({ of: 'calls', filter: { op_names: [1] } })).toEqual([
    400,
    expect.stringContaining('filter.op_names[0] '),
  ]);
  expect((await refusal({ of: 'costs' }))[0]).toBe(400);
});

it('adds an event to the audit before it sends a row', async () => {
  const { events } = (await app.post('/audit/query', { project_id })).body;
  expect(events).toContainEqual(
    expect.objectContaining({
      action: 'project.export',
      detail: { of: 'calls', format: 'parquet' },
    }),
  );
});

it('adds one event a minute for equal exports, and none for a table that does not exist', async () => {
  const project = 'acme/counted';
  for (const format of ['parquet', 'jsonl', 'jsonl', 'jsonl'])
    await send({ project_id: project, of: 'feedback', format });
  await send({ project_id: project, of: 'table', digest: 'a text of the client' });
  const { events } = (await app.post('/audit/query', { project_id: project })).body;
  expect(events.map(({ target, detail }: any) => [target, detail.format]).toSorted()).toEqual([
    ['feedback', 'jsonl'],
    ['feedback', 'parquet'],
  ]);
});

it('ends its query when the client leaves', async () => {
  const sent = request(`${app.url}/export`, {
    method: 'POST',
    headers: { authorization: basic(app.key), 'content-type': 'application/json' },
  });
  sent.end(JSON.stringify({ project_id: 'acme/many', of: 'calls', format: 'parquet' }));
  const [response] = await once(sent, 'response');
  await once(response, 'readable');
  sent.on('error', () => {}).destroy();
  const running = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND state = 'active' AND query LIKE '%summary%' AND pid <> pg_backend_pid()`;
  await until(async () => (await app.query(running)).length === 0);
});
