import fc from 'fast-check';
import pg from 'pg';
import { column, InvalidQuery, jsonAt, orderBy, type Columns } from '../src/query/columns.js';
import { compile } from '../src/query/expression.js';
import { QUERY_FUNCTIONS } from '../src/query/functions.js';
import { identifier, join, sql, type Sql } from '../src/query/sql.js';
import { openTestDatabase } from './support/database.js';
import { condition, field, isOpaque, print, type Doc, type Row } from './support/evaluate.js';

const doc = column.json(sql`r.doc`, sql`r.is_opaque`);
const columns: Columns = {
  id: column.text(sql`r.id`, { isNotNull: true }),
  name: column.text(sql`r.name`),
  price: column.number(sql`r.price`),
  steps: column.number(sql`r.steps`),
  is_good: column.bool(sql`r.is_good`),
  at: column.time(sql`r.at`),
  doc,
  'doc.svc.status': column.text(sql`CASE WHEN r.is_good THEN 'success' ELSE 'running' END`),
  of: ([name, ...path]) => (name === 'doc' ? jsonAt(doc, path) : undefined),
};

let database: Awaited<ReturnType<typeof openTestDatabase>>;
let client: pg.Client;

beforeAll(async () => {
  database = await openTestDatabase();
  client = new pg.Client(database.url);
  await client.connect();
  for (const statement of QUERY_FUNCTIONS) await client.query(statement);
  await client.query(`
    CREATE TABLE query_rows (
      id text COLLATE "C" PRIMARY KEY, project_id text NOT NULL DEFAULT 'a/b', name text COLLATE "C", price numeric,
      steps integer, is_good boolean, at timestamptz, doc json, is_opaque boolean NOT NULL DEFAULT false)`);
});
afterAll(async () => {
  await client.end();
  await database.drop();
});

/** Values that meet: each may stand in a column, inside a document and in a query. */
const words = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...WORDS()) },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 6 }) },
  {
    weight: 1,
    arbitrary: fc.string({
      unit: fc.constantFrom('\\', 'u', '0000', 'd83d', '\ud83d', '\ude00', '\0', '"', 'a'),
    }),
  },
);
function WORDS() {
  return [
    ...[
      '',
      ' ',
      'a',
      'A',
      'b',
      'ab',
      'é',
      'É',
      'éÉ',
      'ß',
      'İ',
      '\u{1f600}',
      '\ufffd',
      '\ue000',
      "o'x",
      '%',
      '_',
      '$1',
      '\\',
    ],
    ...[
      'true',
      'false',
      'TRUE',
      'null',
      '0',
      '1',
      '-1',
      '10',
      '9',
      '1.0',
      '01',
      '1e1',
      ' 1',
      '+1',
      '0x1',
      '1_0',
    ],
    ...[
      'NaN',
      'Infinity',
      '-infinity',
      '1e400',
      '1e-400',
      '1e9999',
      '9'.repeat(201),
      '9'.repeat(5000),
      '9007199254740993',
    ],
    ...[
      '2024-02-29',
      '2023-02-29',
      '2024-03-01T10:00:00.5Z',
      '2024-03-01 12:00+02:00',
      '2024-03-01T10:00',
      '0000-01-01',
    ],
    ...[
      '2024-13-01',
      '2024-03-01T24:00:00Z',
      '1709287200',
      '1709287200.5',
      'infinity',
      'now',
      '20240301',
      '10000-01-01',
    ],
    ...[
      'a\0b',
      'a\ufffdb',
      '\ud800',
      '\udc00\ud800',
      '\ud83d\ud83d\ude00',
      '\\u0000',
      '\\\\ud800',
      '\u{1f600}\udc00',
    ],
  ];
}
const numbers = fc.oneof(
  fc.constantFrom(
    0,
    -0,
    1,
    -1,
    2,
    9,
    10,
    0.1,
    1.5,
    1e21,
    1e-7,
    1e308,
    5e-324,
    2 ** 53,
    1709287200,
    1709287200.5,
    1e13,
    -1e13,
  ),
  fc.integer({ min: -20, max: 20 }),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
);
const spelledNumbers = fc.oneof(
  numbers.map(String),
  fc.constantFrom(
    '1.0',
    '1.50',
    '-0',
    '0.0',
    '-0e5',
    '1E+2',
    '1e400',
    '-1e400',
    '1e-400',
    '12345678901234567890',
    '9'.repeat(300),
  ),
);
const keys = fc.oneof(
  fc.constantFrom('a', 'b', 'n', 'list', 'x.y', 'svc', '0', '__proto__', 'a\0'),
  words,
);
const { document } = fc.letrec<{ document: Doc }>((tie) => ({
  document: fc.oneof(
    { maxDepth: 3, depthSize: 'medium' },
    words,
    fc.constantFrom(null, true, false),
    spelledNumbers.map((num) => ({ num })),
    fc.array(tie('document'), { maxLength: 3 }),
    fc.array(fc.tuple(keys, tie('document')), { maxLength: 4 }).map((members) => ({ members })),
  ),
}));
const leaf: fc.Arbitrary<Doc> = fc.oneof(
  words,
  spelledNumbers.map((num) => ({ num })),
  fc.boolean(),
  document,
);
/** Mostly documents in which the paths below find something. */
const likely = fc.tuple(leaf, leaf, leaf, document).map(([a, b, n, more]): Doc => ({
  members: [
    ['a', a],
    ['b', { members: [['a', b]] }],
    ['list', [n, a, b]],
    ['x.y', b],
    ['n', n],
    ['a\0', a],
    ['more', more],
  ],
}));
const text = words.map((word) => word.replaceAll(/\0|\p{Surrogate}/gu, ''));
const nullable = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { freq: 5 });
const plainDecimals = fc
  .tuple(fc.integer({ min: -300, max: 300 }), fc.nat(3))
  .map(([n, d]) => (n / 10).toFixed(d));
const times = fc.oneof(
  fc.constantFrom(1709287200_000_000n, 1709287200_500_000n, 1709164800_000_000n, 0n, -1n),
  fc.bigInt(-2_000_000_000_000_000n, 4_000_000_000_000_000n),
);
const row = fc.record<Omit<Row, 'id'>>({
  name: nullable(text),
  price: nullable(plainDecimals),
  steps: nullable(fc.integer({ min: -2, max: 12 })),
  is_good: nullable(fc.boolean()),
  at: nullable(times),
  doc: fc.oneof(
    { weight: 5, arbitrary: likely },
    { weight: 2, arbitrary: document },
    { weight: 1, arbitrary: fc.constant(undefined) },
  ),
  is_escaped: fc.boolean(),
});
const rows = fc
  .array(row, { minLength: 1, maxLength: 25 })
  .map((some) => some.map((r, i): Row => ({ id: `${i}`, ...r })));

const FIELDS = [
  ...[
    'id',
    'name',
    'price',
    'steps',
    'is_good',
    'at',
    'doc',
    'doc.svc.status',
    'doc.a',
    'doc.b',
    'doc.b.a',
    'doc.n',
  ],
  ...[
    'doc.list',
    'doc.list.0',
    'doc.list.-1',
    'doc.list.7',
    'doc.x\\.y',
    'doc.[x.y]',
    'of.[doc].a',
    'doc.a\0',
    'doc.none.a',
  ],
];
const { operand, tree } = fc.letrec<{ operand: object; tree: object }>((tie) => {
  const some = fc.array(tie('tree'), { minLength: 1, maxLength: 3 });
  const one = (operator: string, argument: fc.Arbitrary<unknown>) =>
    argument.map((is) => ({ [operator]: is }));
  const simple = fc.oneof(
    one('$literal', fc.oneof(words, numbers, fc.boolean(), fc.constant(null))),
    one('$getField', fc.constantFrom(...FIELDS)),
  );
  const pairs = fc.constantFrom('$eq', '$ne', '$gt', '$gte', '$lt', '$lte');
  return {
    operand: fc.oneof(
      { maxDepth: 5, depthSize: 'medium' },
      { weight: 6, arbitrary: simple },
      {
        weight: 2,
        arbitrary: one(
          '$convert',
          fc.record({
            input: tie('operand'),
            to: fc.constantFrom('double', 'string', 'int', 'bool', 'exists'),
          }),
        ),
      },
      { weight: 1, arbitrary: tie('tree') },
    ),
    tree: fc.oneof(
      { maxDepth: 5, depthSize: 'medium' },
      { weight: 1, arbitrary: simple },
      {
        weight: 6,
        arbitrary: fc
          .tuple(pairs, tie('operand'), tie('operand'))
          .map(([operator, a, b]) => ({ [operator]: [a, b] })),
      },
      { weight: 1, arbitrary: one('$and', some) },
      { weight: 1, arbitrary: one('$or', some) },
      { weight: 1, arbitrary: one('$not', fc.tuple(tie('tree'))) },
      {
        weight: 2,
        arbitrary: one('$in', fc.tuple(tie('operand'), fc.array(tie('operand'), { maxLength: 5 }))),
      },
      {
        weight: 2,
        arbitrary: one(
          '$contains',
          fc.record({
            input: tie('operand'),
            substr: tie('operand'),
            case_insensitive: fc.constantFrom(true, false, null, undefined),
          }),
        ),
      },
      { weight: 1, arbitrary: tie('operand') },
    ),
  };
});

async function store(some: Row[]) {
  const records = some.map((r) => ({
    ...r,
    at: r.at === null ? null : String(r.at),
    doc: r.doc === undefined ? null : print(r.doc, r.is_escaped),
    is_opaque: isOpaque(r),
  }));
  await client.query('TRUNCATE query_rows');
  await client.query(
    `INSERT INTO query_rows (id, name, price, steps, is_good, at, doc, is_opaque)
     SELECT id, name, price, steps, is_good, 'epoch'::timestamptz + at::bigint * interval '1 microsecond', doc::json, is_opaque
     FROM json_to_recordset($1) AS x (id text, name text, price numeric, steps int, is_good bool, at text, doc text, is_opaque bool)`,
    [JSON.stringify(records)],
  );
}
async function run(statement: Sql): Promise<Record<string, unknown>[]> {
  return (await client.query(statement.toQuery())).rows;
}
const literal = (value: unknown) => ({ $literal: value });
const get = (name: string) => ({ $getField: name });

describe('the query language on PostgreSQL', () => {
  it('answers what the in-memory evaluator answers, whatever the rows hold', async () => {
    const property = async (some: Row[], trees: object[]) => {
      await store(some);
      const answers = trees.map(
        ($expr, i) => sql`${compile({ $expr }, columns)} AS ${identifier(`c${i}`)}`,
      );
      const found = await run(
        sql`SELECT ${join(answers, ', ')} FROM query_rows r ORDER BY length(id), id`,
      );
      const expected = some.map((r) =>
        Object.fromEntries(trees.map((t, i) => [`c${i}`, condition(t, r)])),
      );
      expect(found).toEqual(expected);
    };
    await fc.assert(
      fc.asyncProperty(rows, fc.array(tree, { minLength: 1, maxLength: 40 }), property),
      { numRuns: 150 },
    );
  });
});
