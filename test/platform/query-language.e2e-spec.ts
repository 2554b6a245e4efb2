import * as fc from 'fast-check';
import { Client } from 'pg';
import { isAfter } from '../../src/platform/query/keyset.js';
import { column, jsonAt, orderBy, select, type Columns } from '../../src/platform/query/columns.js';
import { compile } from '../../src/platform/query/expression.js';
import {
  DATE_TIME,
  EPOCH,
  NUMBER,
  NUMBER_LENGTH,
} from '../../src/platform/query/literal-patterns.js';
import { allOf, identifier, join, sql, type Sql } from '../../src/platform/query/sql.js';
import { openTestDatabase } from '../support/database.js';
import { condition, isOpaque, print, readable, type Doc, type Row } from '../support/evaluate.js';

const doc = column.json(sql`r.doc`, sql`r.is_opaque`);
const columns: Columns = {
  id: column.text(sql`r.id`, { isNotNull: true }),
  name: column.text(sql`r.name`),
  price: column.number(sql`r.price`),
  steps: column.number(sql`r.steps`),
  is_good: column.bool(sql`r.is_good`),
  at: column.time(sql`r.at`),
  doc,
  'doc.svc.status': column.text(sql`CASE WHEN r.is_good THEN 'success' ELSE 'running' END`, {
    cases: new Map([
      ['success', sql`(r.is_good IS TRUE)`],
      ['running', sql`(r.is_good IS NOT TRUE)`],
    ]),
  }),
  of: ([name, ...path]) => (name === 'doc' ? jsonAt(doc, path) : undefined),
};

let database: Awaited<ReturnType<typeof openTestDatabase>>;
let client: Client;

beforeAll(async () => {
  database = await openTestDatabase();
  client = new Client(database.url);
  await client.connect();
  await client.query(`
    CREATE TABLE query_rows (
      id text COLLATE "C" PRIMARY KEY, project_id text NOT NULL DEFAULT 'a/b', name text COLLATE "C", price numeric,
      steps integer, is_good boolean, at timestamptz, doc json, is_opaque boolean NOT NULL DEFAULT false)`);
});
afterAll(async () => {
  await client.end();
  await database.drop();
});

it('reads numbers and times by the same patterns in PostgreSQL and here', async () => {
  const { rows } = await client.query(
    `SELECT string_agg(prosrc, '') AS source FROM pg_proc WHERE proname IN ('skein_number', 'skein_time')`,
  );
  for (const text of [
    NUMBER,
    `<= ${NUMBER_LENGTH} `,
    DATE_TIME,
    ...Object.values(EPOCH).map(String),
  ])
    expect(rows[0].source).toContain(text);
});

describe('several paths into one document', () => {
  const steps = fc.constantFrom('a', 'b', '0', '1', '-1', ' 1', '\ufffd');
  const HALF = String.raw`\ud800`;
  /** The text of a document, with characters that PostgreSQL must replace by U+FFFD. */
  const { json } = fc.letrec<{ json: string }>((tie) => ({
    json: fc.oneof(
      { maxDepth: 4, withCrossShrink: true },
      fc.constantFrom('null', '1.0', '"x"', 'true', String.raw`"\u0000"`, '{}'),
      fc.array(tie('json'), { maxLength: 3 }).map((items) => `[${items.join()}]`),
      fc
        .uniqueArray(fc.tuple(fc.oneof(steps, fc.constant(HALF)), tie('json')), {
          maxLength: 5,
          selector: ([name]) => (name === HALF ? '\ufffd' : name),
        })
        .map((members) => `{${members.map(([name, value]) => `"${name}":${value}`).join()}}`),
    ),
  }));
  const paths = fc.array(fc.array(steps, { maxLength: 4 }), { minLength: 1, maxLength: 12 });

  it('find what each of them finds', async () => {
    let found = 0;
    await fc.assert(
      fc.asyncProperty(json, paths, async (document, all) => {
        const { rows } = await client.query(
          `SELECT skein_texts_at($1, true, $2, 1000) AS together,
             ARRAY(SELECT skein_text_at($1, true, ARRAY(SELECT json_array_elements_text(p)), 1000)
               FROM json_array_elements($2) WITH ORDINALITY t (p, place) ORDER BY place) AS alone`,
          [document, JSON.stringify(all)],
        );
        expect(rows[0].together).toEqual(rows[0].alone);
        found += rows[0].alone.filter((text: string | null) => text !== null).length;
      }),
      { numRuns: 300 },
    );
    expect(found).toBeGreaterThan(300);
  });

  it('find the last of members of one name', async () => {
    const { rows } = await client.query(
      `SELECT skein_texts_at('{"a":1,"b":2,"a":3}', false, '[["a"],["b"]]', 9) AS found`,
    );
    expect(rows[0].found).toEqual(['3', '2']);
  });

  it('hold each value to the limit', async () => {
    const texts = `SELECT skein_texts_at('{"a":"xx","b":{"c":"xxx","d":1}}', false, '[["a"],["b","c"],["b","d"]]', `;
    const { rows } = await client.query(`${texts} 3) AS found`);
    expect(rows[0].found).toEqual(['xx', 'xxx', '1']);
    await expect(client.query(`${texts} 2)`)).rejects.toMatchObject({ code: 'SK413' });
  });
});

/** Values that occur in columns, inside documents and in queries, so that they often match. */
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
    'NaN',
    'Infinity',
    '-infinity',
    '1e400',
    '1e-400',
    '1e9999',
    '9'.repeat(400),
    '9'.repeat(401),
    '9'.repeat(4000),
    '9007199254740993',
    '2024-02-29',
    '2023-02-29',
    '2024-03-01T10:00:00.5Z',
    '2024-03-01 12:00+02:00',
    '2024-03-01T10:00',
    '0000-01-01',
    '2024-13-01',
    '2024-03-01T24:00:00Z',
    '1709287200',
    '1709287200.5',
    'infinity',
    'now',
    '20240301',
    '10000-01-01',
    'a\0b',
    'a\ufffdb',
    '\ud800',
    '\udc00\ud800',
    '\ud83d\ud83d\ude00',
    '\\u0000',
    '\\\\ud800',
    '\u{1f600}\udc00',
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
  fc.constantFrom('a', 'b', 'n', 'list', 'x.y', 'svc', '0', '-1', '+1', '__proto__', 'a\0'),
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
/** Documents in which the paths below mostly lead to a value. */
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
const plainText = words.map((word) => word.replaceAll(/\0|\p{Surrogate}/gu, ''));
const nullable = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { freq: 5 });
const plainDecimals = fc
  .tuple(fc.integer({ min: -300, max: 300 }), fc.nat(3))
  .map(([n, d]) => (n / 10).toFixed(d));
const times = fc.oneof(
  fc.constantFrom(1709287200_000_000n, 1709287200_500_000n, 1709164800_000_000n, 0n, -1n),
  fc.bigInt(-2_000_000_000_000_000n, 4_000_000_000_000_000n),
);
const row = fc.record<Omit<Row, 'id'>>({
  name: nullable(plainText),
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
  'doc.list',
  'doc.list.0',
  'doc.list.-1',
  'doc.list.7',
  'doc.x\\.y',
  'doc.[x.y]',
  'of.[doc].a',
  'doc.a\0',
  'doc.none.a',
  'doc.-1',
  'doc.list. 0',
  'doc.more.+1.0',
  'doc.more.0',
  'doc.more.a',
];
const one = (operator: string, argument: fc.Arbitrary<unknown>) =>
  argument.map((is) => ({ [operator]: is }));
const { tree } = fc.letrec<{ operand: object; tree: object }>((tie) => {
  const some = fc.array(tie('tree'), { minLength: 1, maxLength: 3 });
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
const run = async (statement: Sql): Promise<Record<string, unknown>[]> =>
  (await client.query(statement.toQuery())).rows;
const ids = async (where: Sql, order = sql`ORDER BY r.id`) =>
  (await run(sql`SELECT r.id FROM query_rows r WHERE ${where} ${order}`)).map(({ id }) => id);
const matches = ($expr: unknown) => ids(compile({ $expr }, columns));

const blank: Row = {
  id: '',
  name: null,
  price: null,
  steps: null,
  is_good: null,
  at: null,
  doc: undefined,
  is_escaped: false,
};
const literal = (value: unknown) => ({ $literal: value });
const get = (name: string) => ({ $getField: name });

const holds = async (operator: string, value: unknown) =>
  (await matches({ [operator]: [get('at'), literal(value)] })).length === 1;
const sorted = async (direction: 'asc' | 'desc') =>
  (await ids(sql`TRUE`, orderBy(columns, [{ field: 'doc', direction }], 'id'))).join('');
const plan = async (where: Sql, order = sql``) =>
  (await run(sql`EXPLAIN SELECT 1 FROM query_rows r WHERE ${where} ${order}`))
    .map((line) => line['QUERY PLAN'])
    .join('\n');
const planOf = ($expr: unknown) => plan(compile({ $expr }, columns));

describe('the query language on PostgreSQL', () => {
  it('answers what the in-memory evaluator answers, whatever the rows hold', async () => {
    await fc.assert(
      fc.asyncProperty(
        rows,
        fc.array(tree, { minLength: 1, maxLength: 40 }),
        async (some, trees) => {
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
        },
      ),
      { numRuns: 150 },
    );
  });

  it('finds the same in a value that is extracted beside many others as in one that is read alone', async () => {
    const say = fc.record({
      input: fc.constantFrom('doc', 'doc.a', 'doc.list', 'doc.list.0', 'doc.-1', 'doc.n').map(get),
      substr: fc.oneof(
        words.map(literal),
        fc.constantFrom('doc', 'doc.list', 'doc.a', 'doc.n').map(get),
      ),
      case_insensitive: fc.boolean(),
    });
    const others = [1, 2, 3, 4].map((i) => ({ $eq: [get(`doc.none.${i}`), literal('x')] }));
    await fc.assert(
      fc.asyncProperty(
        rows,
        fc.array(say, { minLength: 1, maxLength: 40 }),
        async (some, contained) => {
          await store(some);
          const found = (beside: object[]) =>
            run(
              sql`SELECT ${join(
                contained.map(
                  ($contains, i) =>
                    sql`${compile({ $expr: { $or: [{ $contains }, ...beside] } }, columns)} IS TRUE AS ${identifier(`c${i}`)}`,
                ),
              )} FROM query_rows r ORDER BY length(id), id`,
            );
          expect(await found(others)).toEqual(await found([]));
        },
      ),
      { numRuns: 150 },
    );
  });

  it('searches a list without its escapes, also beside many other values', async () => {
    const list = { members: [['list', ['\\', { members: [] }]]] } as Doc;
    const spelled = { members: [['list', String.raw`["\\", 1]`]] } as Doc;
    await store([
      { ...blank, id: '1', doc: list },
      { ...blank, id: '2', doc: spelled },
    ]);
    const isIn = (substr: object) => ({ $contains: { input: get('doc.list'), substr } });
    const others = [1, 2, 3].map((i) => ({ $eq: [get(`doc.none.${i}`), literal('x')] }));
    for (const beside of [[], others]) {
      expect(await matches({ $or: [isIn(get('doc.list')), ...beside] })).toEqual(['2']);
      expect(await matches({ $or: [isIn(literal(String.raw`"\\"`)), ...beside] })).toEqual(['2']);
      expect(await matches({ $or: [isIn(literal(String.raw`"\"`)), ...beside] })).toEqual([
        '1',
        '2',
      ]);
    }
  });

  it('never answers rows of another project, whatever is true', async () => {
    await store(['1', '2', '3'].map((id) => ({ ...blank, id })));
    await client.query(`UPDATE query_rows SET project_id = 'c/d' WHERE id = '2'`);
    await fc.assert(
      fc.asyncProperty(tree, async (some: object) => {
        const always = compile({ $expr: { $or: [some, literal('x'), { $not: [some] }] } }, columns);
        const scoped = allOf(sql`r.project_id = ${'a/b'}`, always);
        expect(await ids(scoped)).toEqual(['1', '3']);
      }),
      { numRuns: 300 },
    );
  });

  it('reads JSON that PostgreSQL refuses, and changes no other', async () => {
    const unit = fc.constantFrom(
      '\\\\',
      '\\"',
      '\\n',
      '\\u0000',
      '\\u0001',
      'u0000',
      '\\ud83d',
      '\\uDE00',
      '\\uD9ff',
      '\\udFFF',
      'ud83d',
      '\\ufffd',
      '😀',
      'p',
      '0041',
    );
    const texts = fc.array(unit, { maxLength: 12 }).map((units) => `"${units.join('')}"`);
    await fc.assert(
      fc.asyncProperty(fc.array(texts, { minLength: 1, maxLength: 50 }), async (some: string[]) => {
        const values = sql`unnest(${some}::text[]) WITH ORDINALITY AS t (text, n)`;
        const found = await run(
          sql`SELECT skein_safe_json(text::json) #>> '{}' AS value, skein_safe_json(text::json)::text AS text FROM ${values} ORDER BY n`,
        );
        const expected = some.map((text) => {
          const value = readable(JSON.parse(text));
          return { value, text: value === JSON.parse(text) ? text : expect.any(String) };
        });
        expect(found).toEqual(expected);
      }),
    );
  });

  it('compares times with ISO strings and with seconds since 1970, whatever the session is set to', async () => {
    await store([{ ...blank, id: '1', at: 1_700_000_000_500_000n }]);
    await client.query(`SET TimeZone = 'Asia/Tokyo'; SET DateStyle = 'German'`);
    expect(await holds('$gt', 1_700_000_000)).toBe(true);
    expect(await holds('$gt', 1_700_000_001)).toBe(false);
    expect(await holds('$eq', 1_700_000_000.5)).toBe(true);
    expect(await holds('$eq', '2023-11-14T22:13:20.5')).toBe(true);
    expect(await holds('$eq', '2023-11-15 00:13:20.500000+02:00')).toBe(true);
    expect(await holds('$gt', '2023-11-14')).toBe(true);
    expect(await holds('$lt', 1_700_000_000_000)).toBe(true);
    expect(await holds('$gt', -1e300)).toBe(true);
    expect(await holds('$ne', 'soon')).toBe(false);
    expect(await run(sql`SELECT ${select(columns, ['at'])} FROM query_rows r`)).toEqual([
      { at: '2023-11-14T22:13:20.500000Z' },
    ]);
    await client.query('RESET TimeZone; RESET DateStyle');
  });

  it('sorts values inside JSON: numbers by size, then text by code point, the missing last', async () => {
    const docs = ['10', '9', '"b"', '"B"', '"9.5"', 'null', '"\u{1f600}"', '"\ue000"'];
    await store(
      docs.map((text, i) => ({
        ...blank,
        id: `${i}`,
        doc: JSON.parse(text, (_, v) => (typeof v === 'number' ? { num: `${v}` } : v)),
      })),
    );
    expect(await sorted('asc')).toBe('14032765');
    expect(await sorted('desc')).toBe('04167235');
  });

  it('uses an index on a column for equality, lists, ranges and both directions of sorting', async () => {
    await client.query(
      'CREATE INDEX ON query_rows (name); SET enable_seqscan = off; SET enable_bitmapscan = off',
    );
    const required = { name: column.text(sql`r.name`, { isNotNull: true }) };
    const byName = (direction: 'asc' | 'desc') =>
      plan(sql`TRUE`, orderBy(required, [{ field: 'name', direction }], 'name'));
    expect(await planOf({ $eq: [get('name'), literal('x')] })).toContain('Index Cond: (name = ');
    expect(await planOf({ $in: [get('name'), [literal('x'), literal('y')]] })).toContain(
      'Index Cond: (name = ANY',
    );
    expect(await planOf({ $gt: [get('name'), literal('x')] })).toContain('Index Cond: (name > ');
    expect(await planOf({ $eq: [get('name'), literal(null)] })).toContain(
      'Index Cond: (name IS NULL)',
    );
    expect(await byName('asc')).not.toContain('Sort');
    expect(await byName('desc')).toContain('Scan Backward');
    await client.query('RESET enable_seqscan; RESET enable_bitmapscan');
  });

  it('runs the largest trees, and strings that text cannot hold', async () => {
    await store([{ ...blank, id: '1', doc: 'a\0'.repeat(1000) }]);
    let nested: unknown = get('is_good');
    for (let i = 0; i < 30; i += 1) nested = { $in: [nested, ['1', 1, false, null].map(literal)] };
    const wide = { $or: Array.from({ length: 499 }, () => ({ $not: [literal(0)] })) };
    expect(await matches(wide)).toEqual(['1']);
    await expect(matches(nested)).resolves.toBeDefined();
    expect(await matches({ $eq: [get('doc'), literal('a\0'.repeat(1000))] })).toEqual(['1']);
    for (const case_insensitive of [true, false]) {
      const big = {
        input: get('doc'),
        substr: literal('é\ud800\0'.repeat(500)),
        case_insensitive,
      };
      expect(await matches({ $contains: big })).toEqual([]);
    }
  });

  it('looks for what a field holds up to 4096 bytes; beyond, nobody knows whether it is there', async () => {
    const held = (length: number) => ({ members: [['a', 'é'.repeat(length)]] }) as Doc;
    await store([
      { ...blank, id: '1', doc: held(2048) },
      { ...blank, id: '2', doc: held(2049) },
    ]);
    for (const case_insensitive of [true, false]) {
      const itself = {
        $contains: { input: get('doc'), substr: get('doc.a'), case_insensitive },
      };
      expect(await matches(itself)).toEqual(['1']);
      expect(await matches({ $not: [itself] })).toEqual([]);
    }
  });

  it('finds long texts as they stand, whatever they hold', async () => {
    const cjk = String.fromCodePoint(...Array.from({ length: 1365 }, (_, i) => 0x4e00 + 7 * i));
    const long = [
      cjk,
      'aB'.repeat(2048),
      `${'^a.*(b|c)[d]{2}\\d\\n$'.repeat(20)}\n***=\t(?i)`,
      `${'é'.repeat(40)}\u{1f600}${'x'.repeat(64)}`,
    ];
    await store(
      long.map((text, i) => ({ ...blank, id: `${i}`, doc: `${text.slice(9)}\n${text}é` })),
    );
    for (const [i, text] of long.entries()) {
      const find = (substr: string, case_insensitive: boolean) =>
        matches({ $contains: { input: get('doc'), substr: literal(substr), case_insensitive } });
      expect(await find(text, false)).toEqual([`${i}`]);
      expect(await find(text.toUpperCase(), true)).toEqual([`${i}`]);
      expect(await find(`${text.slice(9)}!`, true)).toEqual([]);
    }
  });

  it('runs what binds the most parameters', async () => {
    await store([{ ...blank, id: '1', doc: 'x' }]);
    const path = `doc${'.a.-1'.repeat(31)}`;
    const many = Array.from({ length: Math.floor(32_768 / path.length) }, () => get(path));
    const sorts = Array.from({ length: 32 }, () => ({ field: path, direction: 'asc' as const }));
    expect(
      await ids(
        compile({ $expr: { $not: [{ $or: many }] } }, columns),
        orderBy(columns, sorts, 'id'),
      ),
    ).toEqual(['1']);
    const order = { columns, sorts, tieBreaker: 'id', among: sql`query_rows r WHERE TRUE` };
    const all = allOf(
      compile({ $expr: { $not: [{ $or: many }] } }, columns),
      isAfter([...sorts.map(() => 1), ''], order),
    );
    expect(await ids(all, orderBy(columns, sorts, 'id'))).toEqual(['1']);
  });

  it.each([`"; DROP TABLE query_rows; --`, `'`, '$1', 'a"b', 'é', '__proto__'])(
    'keeps %j a name',
    async (name) => {
      const own = Object.fromEntries([[name, column.text(sql`'x'`)]]);
      expect(await run(sql`SELECT ${select(own, [name])}`)).toEqual([
        Object.fromEntries([[name, 'x']]),
      ]);
    },
  );
});
