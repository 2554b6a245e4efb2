import { randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename } from 'node:path';
import { Client } from 'pg';
import { Database } from '../../src/platform/database/database.js';
import { Schedule } from '../../src/platform/database/schedule.js';
import { CallsWriter } from '../../src/tracing/calls/ingest/calls.writer.js';
import { basic, startApp, type TestApp } from '../support/app.js';
import { unlessCluster } from '../support/database.js';
import { sendTo } from '../support/operation-rows.js';
import { OPERATIONS } from '../support/operations.js';
import { aStart } from '../support/factories.js';
import { plant } from '../support/planted.js';
import {
  lastKeysOf,
  listsOf,
  recordOwners,
  recordStatements,
  refusedByCitus,
  scansWithoutProject,
  type Statement,
} from '../support/statements.js';
import { until } from '../support/until.js';

const OWN = 'acme/demo';
const FOLDER = 'generated/statements';

let app: TestApp;
/** The statements that ran, keyed by text: those of each operation, then those of each background task. */
let statements: Map<string, Statement>;
/** The statements that ran without a slot, keyed by text, with the values of one run. */
const unslotted = new Map<string, unknown[]>();
/** The statements of each operation without an owner, which count in no key's share. */
const unowned = new Map<string, Set<string>>();
/** The statements of each operation that ran for a key. */
const owned = new Map<string, Set<string>>();

/** Runs each operation with a key of all projects and with a key of this project. No background task runs meanwhile. */
beforeAll(async () => {
  app = await startApp({ TRAINER_LEASE_SECONDS: '600' });
  const tasks = app.app.get(Schedule)['works'].map((work) => {
    const { run } = work;
    work.run = async () => {};
    return run;
  });
  // otherwise the plans of a test depend on whether the autovacuum has seen the rows
  await app.query(`
    DO $$ DECLARE name regclass; BEGIN
      FOR name IN SELECT oid FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace LOOP
        EXECUTE format('ALTER TABLE %s SET (autovacuum_enabled = off)', name);
      END LOOP;
    END $$`);
  const planted = await plant(app, OWN);
  await app.query('UPDATE calls SET has_unread_usage = true WHERE project_id = $1', [OWN]);
  // they hold nothing, so that deletions ask what they hold
  await app.query(
    `INSERT INTO legal_holds (project_id, name, trace_id, thread_id, user_name)
     VALUES ($1, 'trace', 'another', NULL, 'ada'), ($1, 'thread', NULL, 'another', 'ada')`,
    [OWN],
  );
  jest.spyOn(Math, 'random').mockReturnValue(0); // makes everything happen that depends on chance
  statements = recordStatements(app);
  const database = app.app.get(Database);
  const query = database.query.bind(database);
  jest.spyOn(database, 'query').mockImplementation((statement, options) => {
    const { text, values } = 'toQuery' in statement ? statement.toQuery() : statement;
    if (!options?.long && !database.scope.open?.hold) unslotted.set(text, values);
    return query(statement, options);
  });
  const secrets = [app.key, await app.aKey('admin', [OWN])];
  const pauses = app.app.get(CallsWriter)['pauses'];
  let asking = '';
  recordOwners(database, (owner, text) => {
    const asked = owner === '' ? unowned : owned;
    asked.set(asking, (asked.get(asking) ?? new Set()).add(text.trim()));
  });
  for (const [route, operation] of Object.entries(OPERATIONS))
    for (const secret of operation.isForAllScopes ? [app.key] : secrets) {
      const isBasic = operation.schemes[0] === 'basic';
      const authorization = isBasic ? basic(secret) : `Bearer ${secret}`;
      asking = '';
      // the calls of one key are copied, those of the other upserted
      pauses.set(OWN, { isOver: () => secret === app.key } as never);
      const sent = await operation.build(planted, app);
      asking = route;
      const response = await sendTo(app.url, route, sent, { authorization });
      expect([route, response.status < 300]).toEqual([route, true]);
      if (route === 'GET /events') await response.body!.cancel();
      else await response.arrayBuffer();
    }
  asking = '';
  // two marks of a slot that ends after the tests, which become one
  await app.query(
    `INSERT INTO call_slot_marks (project_id, slot, call_count, made_at)
     SELECT $1, date_bin('5 minutes', now() + interval '1 day', '2000-01-01'), 0, now() FROM generate_series(1, 2)`,
    [OWN],
  );
  await app.query(`UPDATE gateway_processes SET seen_at = now() - interval '1 minute'`);
  // on a busy machine the deletion of a project is answered before all rows are erased
  const areErased = async () =>
    (await app.query('SELECT FROM erasings WHERE ended_at IS NULL')).length === 0;
  await until(areErased);
  await app.post('/call/start', { start: aStart({ project_id: OWN, id: 'erased' }) });
  for (const run of tasks) await run();
  await app.post('/calls/purge', { project_id: OWN, call_ids: ['erased'] });
  await until(areErased);
  for (const run of tasks) await run(); // the call leaves the index of texts
});
afterAll(() => {
  jest.restoreAllMocks();
  return app.close();
});

it('the files in generated/statements list what runs', () => {
  const lists = listsOf(statements.values());
  if (process.env['WRITE_STATEMENTS']) {
    rmSync(FOLDER, { recursive: true, force: true });
    mkdirSync(FOLDER);
    for (const [feature, list] of Object.entries(lists))
      writeFileSync(`${FOLDER}/${feature}.sql`, list);
  }
  const stored = Object.fromEntries(
    readdirSync(FOLDER).map((file) => [
      basename(file, '.sql'),
      readFileSync(`${FOLDER}/${file}`, 'utf8'),
    ]),
  );
  const [before, now] = [stored, lists].map((texts) =>
    Object.entries(texts).flatMap(([feature, list]) =>
      list.split('\n').map((line) => `${feature}: ${line}`),
    ),
  );
  expect({
    repairedBy: 'npm run generate:statements',
    gone: before!.filter((line) => !now!.includes(line)),
    new: now!.filter((line) => !before!.includes(line)),
  }).toEqual({ repairedBy: 'npm run generate:statements', gone: [], new: [] });
  expect(stored).toEqual(lists);
});

/** Finds whose key it is. The answer is kept for two seconds, so any request of a key may ask. */
const KEY_LOOKUP = / FROM api_keys k WHERE k\.secret_hash = ANY \(\$1::bytea\[\]\)$/;
/** Statements without an owner that run during operations, and their purpose. */
const OF_NOBODY: [RegExp, string][] = [
  [KEY_LOOKUP, 'finds whose key it is'],
  [/^INSERT INTO "audit_events"/, 'tells of the first use of a key beside its request'],
  [/\bpg_notify\(/, 'tells other processes what has changed, for all requests of a moment'],
];
/** Operations that run no statement besides the look-up of the key. */
const ASK_NOTHING = [
  'GET /me',
  'GET /events',
  'POST /datasets/import/preview',
  'POST /otel/v1/metrics',
  'POST /v1/metrics',
  'GET /api/public/projects',
  'POST /graphql',
];

it('what an operation asks of the database has an owner, in whose share it counts', () => {
  const ownerless = [...unowned].flatMap(([route, texts]) =>
    Array.from(texts)
      .filter((text) => route && !OF_NOBODY.some(([known]) => known.test(text)))
      .map((text) => `${route}: ${text}`),
  );
  expect(ownerless).toEqual([]);
  const asked = Object.keys(OPERATIONS).map((route) => ({
    route,
    asks: [...(owned.get(route) ?? [])].filter((text) => !KEY_LOOKUP.test(text)),
  }));
  expect(asked.filter(({ route }) => ASK_NOTHING.includes(route))).toEqual(
    ASK_NOTHING.map((route) => ({ route, asks: [] })),
  );
  expect(asked.filter(({ asks }) => asks.length === 0).map(({ route }) => route)).toEqual(
    ASK_NOTHING,
  );
});

/**
 * The planner's cost that a statement may have. Counting a project of less than 10,000 rows and some others cost up to
 * 2,500.
 */
const MOST_COST = 5000;
/**
 * Tables with few rows: keys, people with their roles, indexes, training jobs with their parts, erasings of the last
 * day, and one policy per project. Quotas and the uses of a day have a row per scope.
 */
const SMALL =
  `api_keys users memberships call_indexes console_sessions erasings models training_jobs trajectory_batches checkpoints retention_policies served_checkpoints gateway_uses gateway_processes quotas project_uses`.split(
    ' ',
  );

unlessCluster('the planner of the coordinator sees no rows').it(
  'what runs without a slot reads few rows, however large the project',
  async () => {
    // The planner looks at the sizes of tables and indexes, and they depend on how many versions of rows were written.
    const tables = await app.query<{ name: string }>(
      `SELECT oid::regclass::text AS name FROM pg_class
       WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace`,
    );
    for (const { name } of tables) await app.query(`VACUUM FULL ${name}`);
    // For the planner every table has 100 million rows, and a project 1/200 of them. That is the default of a table
    // that was never analyzed. The planner estimates the size of a partial index that was never vacuumed.
    await app.query(
      `DELETE FROM pg_statistic s USING pg_class c WHERE c.oid = s.starelid
      AND c.relnamespace = 'public'::regnamespace AND c.relname <> ALL($1)`,
      [SMALL],
    );
    await app.query(
      `UPDATE pg_class SET reltuples = 1e8, relpages = greatest(pg_relation_size(oid) / 8192, 1)
     WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace AND relname <> ALL($1)`,
      [SMALL],
    );
    await app.query(
      `UPDATE pg_class SET reltuples = -1, relpages = 0
     WHERE relkind = 'i' AND relnamespace = 'public'::regnamespace`,
    );
    const long: string[] = [];
    for (const [text, values] of unslotted) {
      const [explained] = await app.query(`EXPLAIN (FORMAT JSON) ${text}`, values);
      const cost = explained['QUERY PLAN'][0].Plan['Total Cost'];
      if (cost > MOST_COST) long.push(`to be long work, at a cost of ${cost}: ${text}`);
    }
    expect(unslotted.size).toBeGreaterThan(50);
    expect(long).toEqual([]);
  },
);

/** Columns that may have many MiB, keyed by table. The test fills them with large texts. */
const LARGE: Record<string, string[]> = {
  calls: ['attributes', 'inputs', 'output', 'summary'],
  object_versions: ['val'],
  table_rows: ['val'],
};
const READS = 'SELECT sum(length(inputs::text)) FROM calls WHERE project_id = $1';
/** A tenth of the blocks that reading one of them takes. */
const MOST_BLOCKS = 20;
/** Statements that read a large document without a slot, and the reason why that is bounded. */
const BOUNDED: [RegExp, string][] = [
  [/^SELECT CASE WHEN v.size_bytes <= /, 'reads what the caller says that it can hold'],
  [
    /^\s*INSERT INTO calls/,
    'removes what a start or an end of as many bytes replaces, and reads none of it',
  ],
  [/c\.event_times::text\s+FROM calls c/, 'LangfuseService takes a slot for more than 2 MiB'],
];

unlessCluster('the coordinator does not see the blocks that its shards read').it(
  'what runs without a slot reads no document that may be large',
  async () => {
    const client = new Client(app.databaseUrl);
    await client.connect();
    await plant(app, OWN); // earlier operations have erased the project
    // half a MiB that cannot be compressed stands for a document of 30 MiB
    const text = `{"a":"${randomBytes(400_000).toString('base64')}"}`;
    for (const [table, columns] of Object.entries(LARGE))
      await client.query(
        `UPDATE ${table} SET ${columns.map((name) => `${name} = $1`).join()} WHERE project_id = $2`,
        [text, OWN],
      );
    await client.query('UPDATE object_versions SET size_bytes = 30000000 WHERE project_id = $1', [
      OWN,
    ]);
    const blocks = async () => {
      const { rows } = await client.query(
        `SELECT sum(pg_stat_get_xact_blocks_fetched(reltoastrelid))::int AS count FROM pg_class WHERE relname = ANY($1)`,
        [Object.keys(LARGE)],
      );
      return rows[0].count as number;
    };
    const reading: string[] = [];
    const all = new Map([
      ...unslotted,
      [READS, [OWN]], // checks that the test notices a read
    ]);
    for (const [text, values] of all) {
      await client.query('BEGIN');
      const before = await blocks();
      const isDone = await client.query(text, values).then(
        () => true,
        () => false, // it depends on an earlier statement of its transaction
      );
      if (isDone && (await blocks()) - before > MOST_BLOCKS) reading.push(text.trim());
      await client.query('ROLLBACK');
    }
    await client.end();
    expect(reading.filter((text) => !BOUNDED.some(([known]) => known.test(text)))).toEqual([READS]);
  },
);

/** Tables that may be queried without a project, and the reason why no project's data reaches another one. */
const OF_ALL: Record<string, string> = {
  models:
    'are found by their ids, or listed by the scopes of the key, and then judged by their project',
  training_jobs: 'the same; trainers find them by their lease, or by what they can train',
  training_data:
    'is found by its id, or listed by the scopes of the key, and then judged by its project',
  projects: 'are listed by the scopes of the key',
  audit_events: 'are listed by the scopes of the key',
  thread_marks: 'are looked for in all projects by the refresher',
  call_slot_marks: 'are looked for in all projects by the refresher',
  project_marks: 'are looked for in all projects by the refresher',
  call_text_marks: 'are looked for in all projects by the indexer',
  call_text_walks: 'are looked for in all projects by the indexer',
  trial_marks: 'are looked for in all projects by the refresher',
  retention_policies: 'are looked for in all projects by the sweeper',
  call_indexes: 'are looked for in all projects by the keeper',
  export_schedules: 'are looked for in all projects by the keeper',
  exported_files: 'are looked for in all projects by the keeper',
  orphan_walks: 'are looked for in all projects by the keeper',
  erasings: 'are looked for in all projects by those that continue them',
  gateway_processes: 'are looked for in all projects by the one that ends calls of lost ones',
  served_checkpoints:
    'are listed by the scopes of the key; a server is told that another project has its name for one',
};

/** Statements of sweepers, which select or delete rows by age only. */
const SWEEP =
  /^\s*(SELECT project_id, id|DELETE) FROM \w+ WHERE (\w+ IS NULL AND )?\w+ < now\(\) - interval '[^']+'(\s+(ORDER|LIMIT) .*)?$/s;

/** Calls without a start that are new, or a day old. A partial index contains only those. */
const AWAITED =
  /FROM calls c WHERE c\.op_name IS NULL AND c\.logged_at (IS NULL|< now\(\) - interval '1 day'\s+AND NOT EXISTS \([^()]+\)) ORDER/;

/** Calls whose usage was read by an older version. A partial index contains only those. */
const UNREAD = /FROM calls c WHERE \(c\.has_unread_usage/;

/** Orphans, for which a partial index exists, and the calls of the walks that look for orphans. */
const ORPHANS =
  /FROM calls c\s+WHERE c\.is_orphan AND|FROM orphan_walks w JOIN calls c ON c\.project_id = w\.project_id/;

/** Rows that belong to training jobs, joined by the project of the job. */
const WITH_JOBS =
  /FROM training_jobs j(\s+LEFT JOIN \w+ (\w) ON \2\.project_id = j\.project_id\b.*)+/;

unlessCluster('the planner of the coordinator shows no scans').it(
  'every statement on data of projects says of which',
  async () => {
    const scans = await scansWithoutProject(app, statements.values());
    expect(statements.size).toBeGreaterThan(200);
    const isKnown = (text: string) =>
      [SWEEP, AWAITED, UNREAD, ORPHANS, WITH_JOBS].some((known) => known.test(text));
    expect(scans.filter(([table, text]) => !(table in OF_ALL || isKnown(text)))).toEqual([]);
  },
);

/** Statements that write only to tables of the coordinator. */
const OF_COORDINATOR =
  /\b(api_keys|console_sessions|audit_events|users|memberships|retention_clock)\b/;

it('no statement has a form that a cluster refuses', async () => {
  const written = [...statements.values()].filter(({ text }) => !OF_COORDINATOR.test(text));
  expect(await refusedByCitus(app, written)).toEqual([]);
});

/** Last sort keys without a unique index, and the clause that makes rows differ in them. */
const WITHOUT_TIES: Record<string, string> = {
  bucket: 'GROUP BY',
  op_name: 'GROUP BY',
  agent_version: 'GROUP BY',
  value_type: 'GROUP BY',
  turn: 'GROUP BY',
  v0: 'GROUP BY',
  segment: 'DISTINCT ON',
  place: 'row_number()',
  1: 'DISTINCT',
  parent_id: 'DISTINCT',
  build_id: 'comes behind the job, of which a build has one',
};

/** Streams that need no ORDER BY. */
const IN_ORDER: [RegExp, why: string][] = [
  [/^\s*WITH RECURSIVE found AS/, 'takes one step after the other'],
  [/generate_series\(/, 'follows the series'],
  [/ AS usage\b/, 'is summed up by the service'],
  [
    /json_build_array\(json_build_array\(s\.id, s\.parent_id/,
    'is grouped and sorted by the service',
  ],
  [/json_build_object\('id', s\.id, 'output'/, 'is put into its rows by the service, by id'],
  [/ c\.id = \$\d+\b/, 'is one call'],
];

it('every list has a total order', async () => {
  const rows = await app.query<{ key: string }>(
    `SELECT DISTINCT a.attname AS key FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indexrelid AND a.attnum = i.indnkeyatts
     WHERE i.indisunique AND i.indrelid IN (SELECT oid FROM pg_class WHERE relnamespace = 'public'::regnamespace)`,
  );
  const unique = [...Object.keys(WITHOUT_TIES), ...rows.map(({ key }) => key)];
  const partial: string[] = [];
  for (const statement of statements.values()) {
    const { text, isStream } = statement;
    const keys = lastKeysOf(statement);
    if (isStream && keys.length === 0 && !IN_ORDER.some(([known]) => known.test(text)))
      partial.push(`has no ORDER BY: ${text}`);
    for (const key of keys)
      if (!unique.includes(key)) partial.push(`may have ties after ${key}: ${text}`);
  }
  expect(partial).toEqual([]);
});
