import pg from 'pg';
import { DataSource, type MigrationInterface, type QueryRunner } from 'typeorm';
import { dataSourceOptions } from '../../ormconfig.js';
import { distribute } from '../../src/platform/database/distribute.js';
import { UNLIMITED_SESSION } from '../../src/platform/database/limits.js';
import { changingSchema, migrate, migrateTables } from '../../src/platform/database/migrate.js';
import { type Answer, startApp, type TestApp } from '../support/app.js';
import { openTestDatabase, testServers, unlessCluster } from '../support/database.js';
import { aStart } from '../support/factories.js';
import { recordStatements, type Statement } from '../support/statements.js';
import { until } from '../support/until.js';

unlessCluster('it is one').it(
  'a database without Citus is not distributed, and why is said',
  async () => {
    const database = await openTestDatabase();
    const dataSource = await new DataSource(
      dataSourceOptions(database.url, UNLIMITED_SESSION),
    ).initialize();
    await expect(changingSchema(dataSource, distribute)).rejects.toThrow(
      'this database has no Citus: run CREATE EXTENSION citus in it on every node',
    );
    await dataSource.destroy();
    await database.drop();
  },
);

const onCluster = process.env['TEST_CITUS_URL'] ? describe : describe.skip;

onCluster('on a cluster, which TEST_CITUS_URL names', () => {
  let app: TestApp;
  let statements: Map<string, Statement>;
  const PROJECT = 'acme/spread';

  beforeAll(async () => {
    app = await startApp();
    statements = recordStatements(app);
  });
  afterAll(() => app.close());

  const post = async (path: string, body: object): Promise<Answer> => {
    const answer = await app.post(path, { project_id: PROJECT, ...body });
    expect(answer.status).toBe(200);
    return answer;
  };

  const HOT: [name: string, ask: () => Promise<unknown>][] = [
    [
      'a start',
      () =>
        post('/call/start', {
          start: aStart({ project_id: PROJECT, id: 'a', turn_id: 'a', thread_id: 't' }),
        }),
    ],
    [
      'a batch',
      () =>
        post('/call/upsert_batch', {
          batch: [
            { mode: 'start', req: { start: aStart({ project_id: PROJECT, trace_id: 'x' }) } },
          ],
        }),
    ],
    [
      'an end',
      () =>
        post('/call/end', {
          end: {
            project_id: PROJECT,
            id: 'a',
            ended_at: '2026-01-31T12:00:01Z',
            summary: { usage: { m: { prompt_tokens: 1 } } },
          },
        }),
    ],
    ['a call', () => post('/call/read', { id: 'a', include_costs: true })],
    [
      'a page of calls',
      () =>
        post('/calls/stream_query', {
          limit: 50,
          include_costs: true,
          include_feedback: true,
          include_total_storage_size: true,
        }),
    ],
    [
      'a search',
      () =>
        post('/calls/stream_query', {
          limit: 50,
          query: { $expr: { $eq: [{ $getField: 'feedback.[*].payload.a' }, { $literal: 'x' }] } },
          sort_by: [{ field: 'feedback.[*].payload.b', direction: 'asc' }],
        }),
    ],
    ['a count', () => post('/calls/query_stats', { limit: 10 })],
    [
      'statistics of calls',
      () =>
        post('/calls/stats', {
          start: '2026-01-31T00:00:00Z',
          end: '2026-02-01T00:00:00Z',
          granularity: 3600,
          call_metrics: [{ metric: 'call_count' }],
          usage_metrics: [{ metric: 'input_tokens' }],
        }),
    ],
    ['threads', () => post('/threads/stream_query', { limit: 50 })],
    ['feedback', () => post('/feedback/query', {})],
    ['objects', () => post('/objs/query', { include_tags_and_aliases: true })],
    ['deletion', () => post('/calls/delete', { call_ids: ['a'] })],
  ];

  it.each(HOT)(
    'what %s asks of the tables of its project is one task on one shard',
    async (_, ask) => {
      statements.clear();
      await ask();
      const asked = [...statements.values()].filter(({ text }) =>
        /\b(calls|projects|threads|feedback|object_versions)\b/.test(text),
      );
      expect(asked.length).toBeGreaterThan(0);
      for (const { text, values } of asked) {
        const lines = await app.query<{ 'QUERY PLAN': string }>(...explaining(text, values));
        const plan = lines.map((line) => line['QUERY PLAN']).join('\n');
        const tasks = [...plan.matchAll(/Task Count: (\d+)/g)].map(([, count]) => Number(count));
        expect([text, tasks.every((count) => count === 1)]).toEqual([text, true]);
        expect(plan).toMatch(/Citus Adaptive|Citus INSERT/);
      }
    },
  );

  it('a database with rows is distributed with them, may be distributed again, and is migrated as before', async () => {
    const database = await openTestDatabase({ isEmpty: true });
    const dataSource = await new DataSource(
      dataSourceOptions(database.url, UNLIMITED_SESSION),
    ).initialize();
    await expect(changingSchema(dataSource, distribute)).rejects.toThrow('has no Citus');
    await joinNodes(database.url);
    await migrate(dataSource);
    await dataSource.query(
      `INSERT INTO calls (project_id, id, turn_id, thread_id, op_name, started_at, inputs)
       SELECT 'acme/p' || n % 7, n::text, n::text, 't', 'op', now(), '{"a": 1.0}' FROM generate_series(1, 1000) n`,
    );
    const contents = () =>
      dataSource.query(
        `SELECT (SELECT count(*) FROM calls) AS calls, (SELECT count(*) FROM thread_marks) AS marks,
           (SELECT sum(call_count) FROM call_slot_marks) AS marked, (SELECT min(inputs::text) FROM calls) AS inputs`,
      );
    const before = await contents();
    const tables = await changingSchema(dataSource, distribute);
    expect(tables).toContain('calls');
    expect(tables).not.toContain('audit_events');
    expect(await contents()).toEqual(before);
    expect(await changingSchema(dataSource, distribute)).toEqual([]);
    const service = await new DataSource(dataSourceOptions(database.url)).initialize();
    await expect(changingSchema(dataSource, distribute)).rejects.toThrow('a service runs on this');
    await service.destroy();

    const { options } = dataSource;
    const newer = new DataSource({
      ...options,
      migrations: [...(options.migrations as (new () => MigrationInterface)[]), Later1999999999999],
    });
    expect(await migrate(newer)).toContain('Later1999999999999');
    expect(
      await dataSource.query(
        `SELECT FROM pg_dist_partition WHERE logicalrelid = 'later'::regclass AND partmethod = 'h'`,
      ),
    ).toHaveLength(1);
    await dataSource.destroy();
    await database.drop();
  });

  it('a cluster that an older version has set up is brought up to date, with its rows', async () => {
    const database = await openTestDatabase({ isEmpty: true });
    await joinNodes(database.url);
    const options = dataSourceOptions(database.url, UNLIMITED_SESSION);
    const [baseline] = options.migrations as (new () => MigrationInterface)[];
    const older = await new DataSource({ ...options, migrations: [baseline!] }).initialize();
    await migrateTables(older);
    await changingSchema(older, distribute);
    await older.query(
      `INSERT INTO calls (project_id, id, turn_id, thread_id, op_name, started_at, inputs)
       SELECT 'acme/p' || n % 7, n::text, n::text, 't', 'op', now(), '{"a": 1.0}' FROM generate_series(1, 100) n`,
    );
    await older.destroy();
    const newer = await new DataSource(options).initialize();
    const done = await migrate(newer);
    expect(done.length).toBeGreaterThan((options.migrations as unknown[]).length - 1);
    const tables = await newer.query<{ name: string }[]>(
      `SELECT logicalrelid::text AS name FROM pg_dist_partition WHERE partmethod = 'h'`,
    );
    expect(tables.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['calls', 'model_aliases', 'annotation_queues']),
    );
    expect(await newer.query('SELECT count(*)::int AS calls FROM calls')).toEqual([{ calls: 100 }]);
    await newer.destroy();
    await database.drop();
  });

  it('of a node that is away the projects are answered 503, and the others go on', async () => {
    const [one] = await app.query<{ node: string }>(
      `SELECT nodename || ':' || nodeport AS node FROM pg_dist_node WHERE groupid = 1`,
    );
    const { node } = one!;
    const projects = Array.from({ length: 20 }, (_, n) => `acme/n${n}`);
    const write = (project_id: string) =>
      app.post('/call/start', { start: aStart({ project_id }) });
    const statuses = async () => {
      const answers = await Promise.all(projects.map(write));
      for (const { status, body } of answers)
        if (status !== 200) expect(body.code).toBe('unavailable');
      return new Set(answers.map(({ status }) => status));
    };
    const ready = async () => (await app.bearer('/ready', undefined, { method: 'GET' })).body;
    expect(await statuses()).toEqual(new Set([200]));
    expect((await ready()).unreachable_nodes).toEqual([]);
    await app.query(`UPDATE pg_dist_node SET nodeport = 1 WHERE groupid = 1`);
    await until(async () => (await statuses()).has(503));
    expect(await statuses()).toEqual(new Set([200, 503]));
    expect(await ready()).toMatchObject({
      database: 'reachable',
      unreachable_nodes: [node.replace(/\d+$/, '1')],
    });
    await app.query(`UPDATE pg_dist_node SET nodeport = $1 WHERE groupid = 1`, [
      Number(node.split(':')[1]),
    ]);
    await until(async () => (await statuses()).size === 1);
  });
});

/** Writes the values into the text if possible, because a plan of a single shard needs them. */
function explaining(text: string, values: unknown[]): [text: string, values?: unknown[]] {
  if (values.some((value) => Buffer.isBuffer(value))) return [`EXPLAIN ${text}`, values];
  const literal = (value: unknown): string => {
    if (Array.isArray(value)) return `ARRAY[${value.map(literal).join()}]`;
    return value === null ? 'NULL' : pg.escapeLiteral(`${value as string | number | boolean}`);
  };
  return [`EXPLAIN ${text.replace(/[$](\d+)/g, (_, n) => literal(values[n - 1]))}`];
}

class Later1999999999999 implements MigrationInterface {
  name = 'Later1999999999999';
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(
      'CREATE TABLE later (project_id text COLLATE "C", id text, PRIMARY KEY (project_id, id))',
    );
  }
  async down(): Promise<void> {}
}

/** Makes the database of all nodes a cluster. */
async function joinNodes(url: string): Promise<void> {
  const { pathname } = new URL(url);
  const nodes = testServers().map((server) => String(Object.assign(new URL(server), { pathname })));
  for (const [i, node] of nodes.entries()) {
    const dataSource = await new DataSource({
      type: 'postgres',
      url: node,
      installExtensions: false,
    }).initialize();
    await dataSource.query('CREATE EXTENSION citus');
    const { hostname, port } = new URL(node);
    if (i === 0)
      await dataSource.query('SELECT citus_set_coordinator_host($1, $2::int)', [hostname, port]);
    await dataSource.destroy();
    if (i === 0) continue;
    const coordinator = await new DataSource({
      type: 'postgres',
      url: nodes[0]!,
      installExtensions: false,
    }).initialize();
    await coordinator.query('SELECT citus_add_node($1, $2::int)', [hostname, port]);
    await coordinator.destroy();
  }
}
