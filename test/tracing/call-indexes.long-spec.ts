import { randomBytes } from 'node:crypto';
import * as fc from 'fast-check';
import { callRows } from '../../src/tracing/calls/read/call-lists.query.js';
import { startApp, type TestApp } from '../support/app.js';
import { aStart } from '../support/factories.js';
import { until } from '../support/until.js';
import { CallIndexesKeeper } from '../../src/tracing/calls/indexes/call-indexes.keeper.js';

const PROJECT = 'acme/indexed';

let app: TestApp;
beforeAll(async () => {
  app = await startApp();
});
afterEach(() => dropAll());
afterAll(() => app.close());

const create = (field: string, more: object = {}, options = {}) =>
  app.post('/index/create', { project_id: PROJECT, field, ...more }, options);
const drop = (field: string, more: object = {}) =>
  app.post('/index/delete', { project_id: PROJECT, field, ...more });
const list = async (project_id = PROJECT): Promise<any[]> =>
  (await app.post('/index/list', { project_id })).body.indexes;
const stateOf = async (field: string, kind = 'text') =>
  (await list()).find((index) => index.field === field && index.kind === kind);
const ready = (field: string, kind?: string) =>
  until(async () => (await stateOf(field, kind))?.status === 'ready');
/** The field indexes in PostgreSQL, and whether they are valid. */
const there = (): Promise<{ name: string; is_valid: boolean }[]> =>
  app.query(`SELECT c.relname AS name, x.indisvalid AS is_valid FROM pg_index x JOIN pg_class c ON c.oid = x.indexrelid
    WHERE c.relname LIKE 'calls\\_field\\_%' ORDER BY 1`);
const keeper = () => app.app.get(CallIndexesKeeper);
const dropAll = async () => {
  for (const { field, kind } of await list())
    expect((await drop(field, { kind })).status).toBe(200);
  await until(async () => (await there()).length === 0);
};

const store = async (documents: string[], from = 0) => {
  const items = documents.map(
    (inputs, i) =>
      `{"mode":"start","req":{"start":{"project_id":"${PROJECT}","id":"c${from + i}","op_name":"op","started_at":"2026-01-01T00:00:00Z","inputs":${inputs}}}}`,
  );
  const { body } = await app.post('/call/upsert_batch', `{"batch":[${items.join()}]}`);
  expect(body.res.filter(({ error }: any) => error)).toEqual([]);
};

const compare = (operator: string, field: string, literal: unknown) => ({
  $expr: { [operator]: [{ $getField: field }, literal] },
});
const literal = (value: unknown) => ({ $literal: value });

/** The result and the plan of a query, on a connection that prefers indexes. */
async function found(
  query: object,
  project_id = PROJECT,
): Promise<{ ids: string[]; plan: string }> {
  const { text, values } = callRows({ project_id, query }).query.toQuery();
  const runner = app.dataSource.createQueryRunner();
  try {
    await runner.startTransaction();
    await runner.query('SET LOCAL enable_seqscan = off');
    const rows: { id: string }[] = await runner.query(text, values);
    const plan: { 'QUERY PLAN': string }[] = await runner.query(`EXPLAIN ${text}`, values);
    return {
      ids: rows.map(({ id }) => id),
      plan: plan.map((line) => line['QUERY PLAN']).join('\n'),
    };
  } finally {
    await runner.rollbackTransaction();
    await runner.release();
  }
}

/**
 * Values as JSON text: numbers in many spellings, texts that PostgreSQL cannot store, and one too long for a B-tree.
 */
const LONG = `"${randomBytes(6000).toString('base64')}"`;
const VALUES = [
  ...['1', '1.0', '1e0', '"1"', '"1.0"', '-0', '0', '12345678901234567890', '12345678901234567891'],
  ...['0.1', '1e400', '"1e400"', `1${'0'.repeat(399)}`, `1${'0'.repeat(400)}`, '-7', '7'],
  ...['null', 'true', 'false', '"true"', '""', '"a"', '"A"', '"ä"', '" a"', '"null"', '"NaN"'],
  ...['"\\u0000"', '"\\ud800"', '"a\\u0000b"', '"\\ufffd"', '{"a":1}', '[1, 2]', '[]', LONG],
];
const aDocument = fc
  .tuple(fc.constantFrom(...VALUES), fc.constantFrom(...VALUES), fc.integer({ min: 0, max: 3 }))
  .map(([v, w, shape]) => {
    if (shape === 0) return `{"v":${v},"d":{"w":[${w}]}}`;
    if (shape === 1) return `{"d":{"w":${w}},"v":${v}}`;
    return shape === 2 ? `{"d":[${v}]}` : `{"v":${v},"v":${w}}`;
  });
const LITERALS = [
  ...[1, 0, -0, 7, -7, 0.1, 12345678901234567000, true, false, null],
  ...[
    '1',
    '1.0',
    '1e400',
    'a',
    'A',
    'ä',
    ' a',
    '',
    'true',
    'null',
    'NaN',
    '\0',
    'a\0b',
    '\ufffd',
    '12345678901234567890',
  ],
  ...['{"a":1}', '[1, 2]', JSON.parse(LONG), '7'],
];
const FIELDS = ['inputs.v', 'inputs.d.w.0', 'inputs.d'];
const OPERATORS = ['$eq', '$ne', '$gt', '$gte', '$lt', '$lte'];
const QUERIES = FIELDS.flatMap((field) => [
  ...OPERATORS.flatMap((operator) =>
    LITERALS.map((value) => compare(operator, field, literal(value))),
  ),
  compare('$in', field, LITERALS.map(literal)),
  compare('$in', field, [literal(1), literal('a'), literal(7)]),
  compare('$in', field, [literal('a'), literal('A')]),
  { $expr: { $convert: { input: { $getField: field }, to: 'exists' } } },
  {
    $expr: {
      $and: [compare('$gte', field, literal(0)), compare('$lt', field, literal(8))].map(
        (q: any) => q.$expr,
      ),
    },
  },
]);

describe('an index on a field', () => {
  it('changes no answer, whatever the calls hold, and takes every call', async () => {
    const documents = [
      ...VALUES.map((v) => `{"v":${v},"d":{"w":[${v}]}}`),
      ...fc.sample(aDocument, { numRuns: 100, seed: 20_261_122 }),
    ];
    await store(documents);
    let used = 0;
    const answers = async () => {
      const all: string[][] = [];
      used = 0;
      for (const query of QUERIES) {
        const { ids, plan } = await found(query);
        all.push(ids);
        if (plan.includes('calls_field_')) used++;
      }
      return all;
    };
    const before = await answers();
    expect(new Set(before.map(String)).size).toBeGreaterThan(20);
    for (const kind of ['text', 'number']) {
      expect((await create('inputs.v', { kind })).body.index).toMatchObject({ kind, error: null });
      expect((await create('inputs.d.w.0', { kind })).status).toBe(200);
    }
    for (const { field, kind } of await list()) await ready(field, kind);
    expect(await answers()).toEqual(before);
    expect(used).toBeGreaterThan(40);
    // stored again by repeated starts, some with changes
    await store(documents);
    expect(await answers()).toEqual(before);
    const more = fc.sample(aDocument, { numRuns: 60, seed: 7 });
    await store(more, 50);
    const after = await answers();
    await dropAll();
    expect(await answers()).toEqual(after);
  });

  it.each([
    ['text', 'inputs.model', 'inputs.model', 'm7'],
    ['number', 'inputs.n', 'inputs.n', 7],
    ['text', String.raw`inputs.a\.b`, 'inputs.[a.b]', 'x'],
    ['text', `inputs.it's "%d" $1`, `inputs.it's "%d" $1`, 'x'],
    ['text', 'inputs.-1', 'inputs.-1', 'x'],
    ['text', 'inputs.a\ufffd', 'inputs.a\ufffd', 'x'],
    ['text', 'attributes.env', 'attributes.env', 'x'],
    ['text', 'output.score', 'output.score', 'x'],
    ['text', 'summary.usage', 'summary.usage', 'x'],
  ])('of %s on %s is used for %s = %j', async (kind, field, asked, value) => {
    await app.query(
      `INSERT INTO calls (project_id, id, op_name, trace_id, started_at, attributes, inputs)
       SELECT $1, 'many' || n, 'op', 't', now(), '{}', '{}' FROM generate_series(1, 2000) n ON CONFLICT DO NOTHING`,
      [PROJECT],
    );
    await app.query('ANALYZE calls'); // with few rows the planner may choose any index
    expect((await create(field, { kind })).status).toBe(200);
    await ready(field, kind);
    const { plan } = await found(compare('$eq', asked, literal(value)));
    expect(plan).toMatch(/Index Scan (on|using) calls_field_/);
  });

  it('of parts of texts changes no answer, and is used for parts of three letters and more', async () => {
    const project_id = 'acme/parts';
    const parts = [
      'abc',
      'b',
      '',
      '100%',
      'a_c',
      'a\\b',
      'Ünï',
      'ÜNÏ',
      'a"b',
      '{"',
      'z\u0000',
      '\ufffd',
      'abcdefgh'.repeat(12),
    ];
    const texts = [
      ...[
        'abc',
        'xabcx',
        'ABC',
        'a_c',
        'axc',
        '100%',
        '1000',
        'a\\b',
        'Ünïcode',
        'a"b',
        '',
        'z\u0000z',
        'z\ud800',
      ],
      'abcdefgh'.repeat(20),
      'word '.repeat(2000),
    ];
    const documents = [
      ...texts.map((text) => JSON.stringify({ text })),
      ...['{"text":null}', '{"text":12.50}', '{"text":{"a":[true]}}', '{}'],
    ];
    const items = documents.map(
      (inputs, i) =>
        `{"mode":"start","req":{"start":{"project_id":"${project_id}","id":"c${i}","op_name":"op","started_at":"2026-01-01T00:00:00Z","inputs":${inputs}}}}`,
    );
    await app.post('/call/upsert_batch', `{"batch":[${items.join()}]}`);
    const queries = ['inputs.text', 'inputs'].flatMap((field) =>
      parts.flatMap((part) =>
        [false, true].map((case_insensitive) => ({
          $expr: {
            $contains: { input: { $getField: field }, substr: literal(part), case_insensitive },
          },
        })),
      ),
    );
    const answers = async () => {
      const all: string[][] = [];
      for (const query of queries) all.push((await found(query, project_id)).ids);
      return all;
    };
    const before = await answers();
    expect(new Set(before.map(String)).size).toBeGreaterThan(10);
    for (const field of ['inputs.text', 'inputs'])
      await app.post('/index/create', { project_id, field, kind: 'substring' });
    await until(async () => (await list(project_id)).every(({ status }) => status !== 'building'));
    expect((await list(project_id)).map(({ error }) => error)).toEqual([null, null]);
    expect(await answers()).toEqual(before);
    for (const { field, kind } of await list(project_id))
      await app.post('/index/delete', { project_id, field, kind });
  });

  it('of parts of texts is used where there are many calls', async () => {
    const project_id = 'acme/parts-of-many';
    await app.query(
      `INSERT INTO calls (project_id, id, op_name, trace_id, started_at, inputs)
       SELECT $1, 'c' || n, 'op', 't', now(), json_build_object('text', md5(n::text)) FROM generate_series(1, 20000) n`,
      [project_id],
    );
    await app.post('/index/create', { project_id, field: 'inputs', kind: 'substring' });
    await until(async () => (await list(project_id))[0].status === 'ready');
    const contains = { input: { $getField: 'inputs' }, substr: literal('nothing') };
    const { plan } = await found({ $expr: { $contains: contains } }, project_id);
    await app.post('/index/delete', { project_id, field: 'inputs', kind: 'substring' });
    expect(plan).toContain('Bitmap Index Scan on calls_field_');
  });

  it('serves lists of values, and ranges with two ends', async () => {
    const project_id = 'acme/many';
    await app.query(
      `INSERT INTO calls (project_id, id, op_name, trace_id, started_at, inputs)
       SELECT $1, 'c' || n, 'op', 't', now(), format('{"model":"m%s","n":%s}', n, n)::json FROM generate_series(1, 10000) n`,
      [project_id],
    );
    for (const [field, kind] of [
      ['inputs.model', 'text'],
      ['inputs.n', 'number'],
    ])
      await app.post('/index/create', { project_id, field, kind });
    await until(async () => (await list(project_id)).every(({ status }) => status === 'ready'));
    const inList = compare('$in', 'inputs.model', [literal('m7'), literal('m8'), literal('no')]);
    const isBetween = {
      $and: [
        compare('$gt', 'inputs.n', literal(8)).$expr,
        compare('$lte', 'inputs.n', literal(10)).$expr,
      ],
    };
    for (const [query, ids] of [
      [inList, ['c7', 'c8']],
      [{ $expr: isBetween }, ['c10', 'c9']],
    ] as const) {
      const { plan, ...answer } = await found(query, project_id);
      expect(answer.ids).toEqual(ids);
      expect(plan).toMatch(/Index (Only )?Scan (on|using) calls_field_/);
    }
    for (const { field, kind } of await list(project_id))
      await app.post('/index/delete', { project_id, field, kind });
  });

  it('is the same one, however its path is spelled, and one more for another kind or project', async () => {
    await create('inputs.a.b');
    await create('inputs.[a].b');
    await create('inputs.a.b', { kind: 'number' });
    await app.post('/index/create', { project_id: 'acme/other', field: 'inputs.a.b' });
    expect((await list()).map(({ field, kind }) => [field, kind])).toEqual([
      ['inputs.a.b', 'text'],
      ['inputs.a.b', 'number'],
    ]);
    await until(async () => (await there()).length === 3);
    expect((await list())[0]).toMatchObject({ created_at: expect.stringMatching(/Z$/) });
    expect(
      (await app.post('/index/delete', { project_id: 'acme/other', field: 'inputs.[a].b' })).status,
    ).toBe(200);
  });

  it('that fails says why, is not left half made, and can be tried again', async () => {
    // a row with a wrong opaque flag, which the service itself never stores
    await app.query(
      `INSERT INTO calls (project_id, id, op_name, trace_id, started_at, inputs) VALUES ($1, 'odd', 'op', 't', now(), '{"x":"\\u0000"}')`,
      [PROJECT],
    );
    await create('inputs.x');
    await until(async () => (await stateOf('inputs.x')).status === 'failed');
    expect((await stateOf('inputs.x')).error).toBe('PostgreSQL refused it with the state 22P05');
    expect(await there()).toEqual([]);
    await app.query(`DELETE FROM calls WHERE project_id = $1 AND id = 'odd'`, [PROJECT]);
    expect((await create('inputs.x')).body.index).toMatchObject({
      status: 'building',
      error: null,
    });
    await ready('inputs.x');
    expect((await stateOf('inputs.x')).size_bytes).toBeGreaterThan(0);
  });

  it('that a killed process left half made is made anew, and one that nobody wants goes', async () => {
    await create('inputs.y');
    await ready('inputs.y');
    const { name } = (await there())[0]!;
    await app.query(`UPDATE pg_index SET indisvalid = false WHERE indexrelid = $1::regclass`, [
      name,
    ]);
    await app.query(`CREATE INDEX calls_field_left ON calls (id) WHERE project_id = 'gone'`);
    expect(await stateOf('inputs.y')).toMatchObject({ status: 'building' });
    keeper().look();
    await ready('inputs.y');
    await until(async () => (await there()).length === 1);
    expect(await there()).toEqual([{ name, is_valid: true }]);
  });

  it('goes with its project', async () => {
    const project_id = 'acme/erased';
    await app.post('/call/start', { start: aStart({ project_id }) });
    await app.post('/index/create', { project_id, field: 'inputs.z' });
    await until(async () => (await there()).length === 1);
    expect((await app.post('/project/delete', { project_id })).status).toBe(200);
    await until(async () => (await list(project_id)).length === 0);
    keeper().look();
    await until(async () => (await there()).length === 0);
  });

  it('is one of five of a project', async () => {
    for (const n of [1, 2, 3, 4, 5]) expect((await create(`inputs.n${n}`)).status).toBe(200);
    expect(await create('inputs.n6')).toMatchObject({
      status: 413,
      body: { code: 'too_large', detail: 'a project may have 5 indexes on fields' },
    });
    expect((await create('inputs.n5')).status).toBe(200);
  });

  it('is one of as many of an entity as are left for others', async () => {
    const [{ count }] = await app.query(`SELECT count(*)::int FROM call_indexes`);
    await app.query(
      `INSERT INTO call_indexes (project_id, name, field, kind, error)
        SELECT 'many/' || n, 'x' || n, 'inputs.x', 'text', 'not to be made' FROM generate_series(1, $1) n`,
      [Math.ceil((100 - count) / 2)],
    );
    const of = (project_id: string) => app.post('/index/create', { project_id, field: 'inputs.x' });
    expect(await of('many/one')).toMatchObject({ status: 413, body: { code: 'too_large' } });
    expect((await of('few/one')).status).toBe(200);
    await app.query(
      `DELETE FROM call_indexes WHERE project_id LIKE 'many/%' OR project_id = 'few/one'`,
    );
    keeper().look();
  });

  it.each([
    ['inputs', 'must be a path'],
    ['op_name', 'names an unknown field'],
    ['feedback.[svc.note.1].payload.x', 'names an unknown field'],
    ['summary.svc.latency_ms', 'names what is derived'],
    [`inputs.${'a.'.repeat(64)}`, 'must not have more than 64 steps'],
    ['', 'must be a string'],
  ])('is refused for %j', async (field, message) => {
    const { status, body } = await create(field);
    expect([status, body.errors[0].path]).toEqual([400, 'field']);
    expect(body.errors[0].message).toContain(message);
  });

  it('that is not there cannot be deleted', async () => {
    expect((await drop('inputs.nothing')).status).toBe(404);
  });

  it('is told to the audit', async () => {
    await create('inputs.told');
    await drop('inputs.told');
    const { body } = await app.post('/audit/query', {
      filter: { project_ids: [PROJECT], actions: ['index.create', 'index.delete'] },
      limit: 2,
    });
    expect(body.events.map(({ action, target }: any) => [action, target]).toSorted()).toEqual([
      ['index.create', 'inputs.told'],
      ['index.delete', 'inputs.told'],
    ]);
  });
});
