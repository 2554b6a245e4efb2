import * as fc from 'fast-check';
import { isAfter } from './keyset.js';
import {
  column,
  InvalidQuery,
  MAX_EXTRACTED_BYTES,
  orderBy,
  type Columns,
  type Sort,
} from './columns.js';
import { compile, MAX_NODES } from './expression.js';
import { sql } from './sql.js';

const columns: Columns = {
  id: column.text(sql`c.id`),
  price: column.number(sql`c.price`),
  started_at: column.time(sql`c.started_at`),
  inputs: column.json(sql`c.inputs`, sql`c.is_opaque`),
};
const compiled = ($expr: unknown) => compile({ $expr }, columns).toQuery();
const get = (name: string) => ({ $getField: name });
const is = (literal: unknown) => ({ $literal: literal });
const X = '(CASE WHEN c.is_opaque THEN skein_safe_json(c.inputs) ELSE c.inputs END #>> $1::text[])';

it.each<[unknown, string, unknown[]]>([
  [{ $and: [is('string')] }, '(TRUE)', []],
  [is(''), 'FALSE', []],
  [{ $eq: [get('id'), is("o'x")] }, '(c.id = $1::text)', ["o'x"]],
  [{ $gt: [get('id'), is('a\0\ud800')] }, '(c.id COLLATE "C" > $1::text)', ['a\ufffd\ufffd']],
  [{ $eq: [get('price'), is('abc')] }, '(c.price = $1::numeric)', [null]],
  [{ $eq: [get('price'), is(1e308)] }, '(c.price = $1::numeric)', ['1e+308']],
  [{ $ne: [get('price'), is(null)] }, '(NOT c.price IS NULL)', []],
  [
    { $gt: [get('started_at'), is(1_700_000_000.25)] },
    '(c.started_at > $1::timestamptz)',
    ['2023-11-14T22:13:20.250000Z'],
  ],
  [{ $lt: [get('started_at'), is(1e300)] }, '(c.started_at < $1::timestamptz)', ['infinity']],
  [
    { $lt: [get('started_at'), is('2024-02-29')] },
    '(c.started_at < $1::timestamptz)',
    ['2024-02-29T00:00Z'],
  ],
  [{ $lt: [get('started_at'), is('2023-02-29')] }, '(c.started_at < $1::timestamptz)', [null]],
  [{ $lt: [get('started_at'), is('0000-01-01')] }, '(c.started_at < $1::timestamptz)', [null]],
  [{ $gt: [get('inputs.a'), is(2)] }, `(skein_number(${X}) > $2::numeric)`, [['a'], '2']],
  [
    { $eq: [get('inputs.a'), is('2')] },
    `(hashtextextended(${X}, 0) = hashtextextended($2::text, 0) AND CASE ${X} = $2::text WHEN TRUE THEN TRUE WHEN FALSE THEN FALSE END)`,
    [['a'], '2'],
  ],
  [{ $in: [get('id'), ['x', 'y'].map(is)] }, '(c.id = ANY($1::text[]))', [['x', 'y']]],
  [{ $in: [get('id'), []] }, 'FALSE', []],
  [
    { $in: [is('x'), ['x', 1, null, 'y'].map(is)] },
    '($1::text = ANY($2::text[]) OR $3::numeric = ANY($4::numeric[]) OR ($1::text IS NULL))',
    ['x', ['x', 'y'], null, ['1']],
  ],
  [
    { $in: [is('1'), ['id', 'price', 'id', 'inputs', 'price'].map(get)] },
    `(($1::text = c.id) OR ($2::numeric = c.price) OR ($1::text = c.id) OR ($1::text = ${X.replace('$1', '$3')}) OR ($2::numeric = c.price))`,
    ['1', '1', []],
  ],
  [{ $in: [is(null), [get('id'), is(1)]] }, '((c.id IS NULL) OR ($1::boolean))', [false]],
  [
    { $contains: { input: get('id'), substr: is('É1'), case_insensitive: true } },
    '(strpos(translate(lower(c.id COLLATE "C"), $1::text, $2::text), $3::text) > 0)',
    ['É', 'é', 'é1'],
  ],
  [
    { $contains: { input: get('id'), substr: is('x'.repeat(65)) } },
    `(c.id COLLATE "C" ~ ('***=' || $1::text))`,
    ['x'.repeat(65)],
  ],
  [
    { $convert: { input: get('price'), to: 'exists' } },
    'COALESCE((c.price IS NOT NULL), FALSE)',
    [],
  ],
])('compiles %j', (expr, text, values) => expect(compiled(expr)).toEqual({ text, values }));

it('looks for what a field holds if that is no longer than a literal may be', () => {
  const { text, values } = compiled({
    $contains: { input: get('id'), substr: get('inputs.a'), case_insensitive: true },
  });
  expect(text).toMatch(
    /^\(SELECT lower\(c.id COLLATE "C"\) COLLATE "C" ~ \('\*\*\*=' \|\| wanted.value\) FROM \(SELECT lower\(.* COLLATE "C"\) AS value OFFSET 0\) "wanted"\s+WHERE octet_length\(wanted.value\) <= \$2::int\)$/,
  );
  expect(values).toEqual([['a'], 4096]);
});

const deep = (levels: number): unknown => (levels === 1 ? is(1) : { $not: [deep(levels - 1)] });
const wide = (nodes: number) => ({ $or: Array.from({ length: nodes - 1 }, () => is(1)) });

/** Returns letters of Cherokee, the longest run of letters with capitals. */
const letters = (count: number) =>
  String.fromCodePoint(...Array.from({ length: count }, (_, i) => 0xab70 + i));
const search = (substr: string, case_insensitive = false) => ({
  $contains: { input: get('id'), substr: is(substr), case_insensitive },
});

it('compiles trees up to the limits', () => {
  expect(compiled(is('x'.repeat(65_536))).text).toBe('TRUE');
  expect(
    compiled({ $in: [get('id'), Array(16).fill(is('x'.repeat(65_536)))] }).values,
  ).toHaveLength(1);
  expect(compiled(search('é'.repeat(2048), true)).values).toHaveLength(3);
  expect(compiled(search(letters(64), true)).values).toHaveLength(3);
  expect(compiled(deep(32)).text).toContain('TRUE');
  expect(compiled(wide(MAX_NODES)).text).toContain('TRUE');
});

it.each<[unknown, string]>([
  [undefined, 'query.$expr: must be an object with exactly one operator'],
  [[], 'query.$expr: must be an object with exactly one operator'],
  [{ $and: [is(1)], $or: [is(1)] }, 'query.$expr: must be an object with exactly one operator'],
  [{ $nope: 1 }, 'query.$expr: has an unknown operator "$nope"'],
  [{ constructor: [] }, 'query.$expr: has an unknown operator "constructor"'],
  [JSON.parse('{"__proto__":[]}'), 'query.$expr: has an unknown operator "__proto__"'],
  [{ ['x'.repeat(1e6)]: 1 }, `query.$expr: has an unknown operator "${'x'.repeat(64)}…"`],
  [{ $and: [] }, 'query.$expr.$and: must be an array of at least 1 item'],
  [{ $and: [{ $eq: [is(1)] }] }, 'query.$expr.$and[0].$eq: must be an array of exactly 2 items'],
  [{ $and: Array(3) }, 'query.$expr.$and[0]: must be an object with exactly one operator'],
  [
    { $eq: [get('__proto__'), is(1)] },
    'query.$expr.$eq[0].$getField: names an unknown field "__proto__"',
  ],
  [{ $eq: [get('id.x'), is(1)] }, 'query.$expr.$eq[0].$getField: names an unknown field "id.x"'],
  [is({}), 'query.$expr.$literal: must be a string, a finite number, a boolean or null'],
  [is(NaN), 'query.$expr.$literal: must be a string, a finite number, a boolean or null'],
  [
    { $contains: { input: is('a') } },
    'query.$expr.$contains.substr: must be an object with exactly one operator',
  ],
  [
    { $contains: { input: is('a'), substr: is('a'), case_insensitive: 'yes' } },
    'query.$expr.$contains.case_insensitive: must be one of true, false',
  ],
  [
    { $convert: { input: is(1), to: 'date' } },
    'query.$expr.$convert.to: must be one of double, int, string, bool, exists',
  ],
  [deep(33), `query.$expr${'.$not[0]'.repeat(32)}: must not be deeper than 32 levels`],
  [is('é'.repeat(32_769)), 'query.$expr.$literal: must not be longer than 65536 bytes'],
  [
    { $in: [get('id'), Array(17).fill(is('x'.repeat(65_536)))] },
    'query.$expr.$in[1][16].$literal: exceeds the limit of 1048576 bytes for all literals',
  ],
  [search('é'.repeat(2049)), 'query.$expr.$contains.substr: must not be longer than 4096 bytes'],
  [
    search('é'.repeat(2049), true),
    'query.$expr.$contains.substr: must not be longer than 4096 bytes',
  ],
  [
    search(letters(65), true),
    'query.$expr.$contains.substr: must not have more than 64 different letters beyond ASCII with capitals',
  ],
  [
    { $or: Array(33).fill(get(`inputs.${'a'.repeat(993)}`)) },
    'query.$expr.$or[32].$getField: exceeds the limit of 32768 bytes for all field names',
  ],
  [wide(1001), 'query.$expr.$or[999]: exceeds the limit of 1000 nodes'],
  [
    { $in: [get('id'), Array(1e6).fill(is(1))] },
    'query.$expr.$in[1]: exceeds the limit of 1000 nodes',
  ],
])('refuses %#', (expr, message) =>
  expect(() => compiled(expr)).toThrow(new InvalidQuery(...split(message))),
);
const split = (message: string): [string, string] => {
  const end = message.indexOf(': ');
  return [message.slice(0, end), message.slice(end + 2)];
};

it.each([undefined, null, 1, [], {}, Object.create({ $expr: is(1) })])(
  'refuses %j as a query',
  (query) => expect(() => compile(query, columns)).toThrow(InvalidQuery),
);

it('answers garbage with InvalidQuery or with SQL whose placeholders match its values', () => {
  const operators = [
    '$and',
    '$or',
    '$not',
    '$eq',
    '$gt',
    '$in',
    '$contains',
    '$convert',
    '$literal',
    '$getField',
    'input',
    'substr',
    'to',
    '__proto__',
    'toString',
  ];
  const { garbage } = fc.letrec((tie) => ({
    garbage: fc.oneof(
      { maxDepth: 6 },
      fc.constantFrom('id', 'inputs.a', 'double', null, true, 1),
      fc.anything({
        withNullPrototype: true,
        withBigInt: true,
        withMap: true,
        withSparseArray: true,
        withDate: true,
      }),
      fc.array(tie('garbage'), { maxLength: 3 }),
      fc
        .array(fc.tuple(fc.constantFrom(...operators), tie('garbage')), {
          minLength: 1,
          maxLength: 2,
        })
        .map((entries) => Object.fromEntries(entries)),
      fc
        .tuple(fc.constantFrom(...operators), tie('garbage'))
        .map(([operator, argument]) =>
          JSON.parse(
            JSON.stringify({ [operator]: argument }, (_, v) => (typeof v === 'bigint' ? 1 : v)),
          ),
        ),
    ),
  }));
  fc.assert(
    fc.property(garbage, (expr) => {
      try {
        const { text, values } = compiled(expr);
        expect([...new Set(text.match(/\$\d+/g))]).toEqual(values.map((_, i) => `$${i + 1}`));
      } catch (error) {
        if (!(error instanceof InvalidQuery)) throw error;
      }
    }),
    { numRuns: 500 },
  );
});

describe('what a request makes of its bytes', () => {
  /** Returns the size of the statement's text and bound values. */
  const made = (request: { query: unknown; sort_by: string[] }) => {
    const sorts = request.sort_by.map((field) => ({ field, direction: 'asc' as const }));
    const { text, values } =
      sql`SELECT 1 WHERE ${compile(request.query, columns)} ${orderBy(columns, sorts, 'id')}`.toQuery();
    return { bytes: Buffer.byteLength(text) + Buffer.byteLength(JSON.stringify(values)), values };
  };
  /** Returns the bytes of the statement beyond twenty per byte of the request. */
  const excess = (request: { query: unknown; sort_by: string[] }) =>
    made(request).bytes - 20 * Buffer.byteLength(JSON.stringify(request)) - 1000;
  const lengthOfRefusal = (error: unknown) => {
    if (!(error instanceof InvalidQuery)) throw error;
    return error.message.length - 1000;
  };

  const names = fc.oneof(
    fc.constantFrom('id', 'price', 'started_at', 'inputs', 'nope', 'inputs.a'),
    fc
      .array(fc.constantFrom('-1', ' 0', '[', ']', 'a', '\\.', '\ud800', '[a.b]', ''), {
        maxLength: 70,
      })
      .map((steps) => ['inputs', ...steps].join('.')),
    fc.string({ maxLength: 1100 }).map((rest) => `inputs.[${rest}`),
  );
  const texts = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 300 }),
    fc.constantFrom('ÉÈß', 'K', '9'.repeat(400), '1e999', 'x'.repeat(70_000), '\0'.repeat(5000)),
    fc.nat(5000).map((length) => 'éA'.repeat(length)),
  );
  const { tree } = fc.letrec<{ tree: object }>((tie) => {
    const list = (maxLength: number) => fc.array(tie('tree'), { maxLength, size: 'max' });
    return {
      tree: fc.oneof(
        { maxDepth: 7, depthSize: 'small' },
        fc.oneof(texts, fc.double(), fc.boolean(), fc.constant(null)).map(is),
        names.map(get),
        list(8).map(($or) => ({ $or })),
        list(1).map(($not) => ({ $not })),
        fc.tuple(tie('tree'), list(40)).map(($in) => ({ $in })),
        fc.tuple(tie('tree'), tie('tree')).map(($lt) => ({ $lt })),
        fc
          .record({ input: tie('tree'), substr: tie('tree'), case_insensitive: fc.boolean() })
          .map(($contains) => ({ $contains })),
        fc
          .record({
            input: tie('tree'),
            to: fc.constantFrom('double', 'int', 'string', 'bool', 'exists'),
          })
          .map(($convert) => ({ $convert })),
      ),
    };
  });

  it('is at most twenty times as much, whatever the request', () =>
    fc.assert(
      fc.property(tree, fc.array(names, { maxLength: 32 }), ($expr, sort_by) => {
        let bytes: number;
        try {
          bytes = excess({ query: { $expr }, sort_by });
        } catch (error) {
          bytes = lengthOfRefusal(error);
        }
        expect(bytes).toBeLessThanOrEqual(0);
      }),
      { numRuns: 200 },
    ));

  const long = is('x'.repeat(60_000));
  it.each<[string, object]>([
    ['a literal against many fields', { $in: [long, Array(400).fill(get('id'))] }],
    ['a literal against many literals', { $in: [long, Array(900).fill(is('y'))] }],
    ['a path of signed steps', { $or: Array(100).fill(get(`inputs${'.-1'.repeat(63)}`)) }],
    [
      'lists in lists',
      Array.from({ length: 30 }).reduce<object>(
        (inner) => ({ $in: [inner, ['1', 1, null].map(is)] }),
        get('inputs'),
      ),
    ],
    [
      'lists in the items of lists',
      Array.from({ length: 7 }).reduce<object>(
        (inner) => ({ $in: [get('inputs'), [inner, inner]] }),
        get('id'),
      ),
    ],
    [
      'conversions of conversions',
      Array.from({ length: 30 }).reduce<object>(
        (input, _, i) => ({ $convert: { input, to: ['string', 'int', 'bool', 'double'][i % 4] } }),
        get('started_at'),
      ),
    ],
  ])('is so for %s', (_, $expr) =>
    expect(excess({ query: { $expr }, sort_by: [] })).toBeLessThanOrEqual(0),
  );

  it('binds fewer parameters than a statement may have', () => {
    const short = get(`inputs${'.a.-1'.repeat(31)}`);
    const many = Array(Math.floor(32_768 / short.$getField.length)).fill(short);
    const sorts = Array.from({ length: 32 }, (): Sort => ({
      field: short.$getField,
      direction: 'asc',
    }));
    const after = isAfter([...sorts.map(() => 1), 'x'], { columns, sorts, tieBreaker: 'id' })!;
    const { values } =
      sql`SELECT 1 WHERE ${compile({ $expr: { $or: many } }, columns)} AND ${after} ${orderBy(columns, sorts, 'id')}`.toQuery();
    expect(values.length).toBeGreaterThan(100);
    expect(values.length).toBeLessThan(65_535);
  });
});

describe('of a query that names many values of documents', () => {
  const isOne = (i: number) => ({ $eq: [get(`inputs.a${i}`), is('x')] });
  const read = /skein_texts_at\(c\.inputs/g;

  it('takes those of one document out together, each once, and holds each to its share of a limit', () => {
    const same = {
      $contains: { input: get('inputs.a1'), substr: is('x'), case_insensitive: true },
    };
    const { text, values } = compiled({ $or: [isOne(1), isOne(2), isOne(1), same] });
    expect(text.match(read)).toHaveLength(1);
    expect(text).not.toContain('#>>');
    expect(values).toEqual(expect.arrayContaining(['[["a1"],["a2"]]', MAX_EXTRACTED_BYTES / 4]));
  });

  it('leaves up to three as indexes know them', () => {
    expect(compiled({ $or: [isOne(1), isOne(2), isOne(3)] }).text).not.toMatch(read);
    const { text, values } = compiled({
      $and: [isOne(1), { $eq: [get('id'), is('x')] }, isOne(2), isOne(3), isOne(4), isOne(5)],
    });
    expect(text.match(read)).toHaveLength(1);
    expect(values).toContain('[["a4"],["a5"]]');
    expect(text.split(' AND (SELECT ')[0]!.match(/hashtextextended\(\(CASE/g)).toHaveLength(3);
  });

  it('does the same for an order', () => {
    const by = (count: number) =>
      orderBy(
        columns,
        Array.from({ length: count }, (_, i) => ({
          field: `inputs.a${i}`,
          direction: 'asc' as const,
        })),
        'id',
      ).toQuery().text;
    const one = /skein_text_at\(c\.inputs/g;
    expect(by(3)).not.toMatch(one);
    expect(by(4).match(one)).toHaveLength(8);
  });
});
