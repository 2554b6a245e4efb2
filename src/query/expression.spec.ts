import * as fc from 'fast-check';
import { column, InvalidQuery, type Columns } from './columns.js';
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
  [{ $eq: [get('inputs.a'), is('2')] }, `(${X} = $2::text)`, [['a'], '2']],
  [{ $in: [get('id'), ['x', 'y'].map(is)] }, '(c.id = ANY($1::text[]))', [['x', 'y']]],
  [{ $in: [get('id'), []] }, 'FALSE', []],
  [
    { $contains: { input: get('id'), substr: is('É1'), case_insensitive: true } },
    '(strpos(translate(lower(c.id COLLATE "C"), $1::text, $2::text), $3::text) > 0)',
    ['É', 'é', 'é1'],
  ],
  [
    { $convert: { input: get('price'), to: 'exists' } },
    'COALESCE((c.price IS NOT NULL), FALSE)',
    [],
  ],
])('compiles %j', (expr, text, values) => expect(compiled(expr)).toEqual({ text, values }));

const deep = (levels: number): unknown => (levels === 1 ? is(1) : { $not: [deep(levels - 1)] });
const wide = (nodes: number) => ({ $or: Array.from({ length: nodes - 1 }, () => is(1)) });

it('compiles trees up to the limits', () => {
  expect(compiled(deep(32)).text).toContain('TRUE');
  expect(compiled(wide(MAX_NODES)).text).toContain('TRUE');
});

it.each<[unknown, string]>([
  [undefined, 'query.$expr: expected an object with exactly one operator'],
  [[], 'query.$expr: expected an object with exactly one operator'],
  [{ $and: [is(1)], $or: [is(1)] }, 'query.$expr: expected an object with exactly one operator'],
  [{ $nope: 1 }, 'query.$expr: unknown operator "$nope"'],
  [{ constructor: [] }, 'query.$expr: unknown operator "constructor"'],
  [JSON.parse('{"__proto__":[]}'), 'query.$expr: unknown operator "__proto__"'],
  [{ ['x'.repeat(1e6)]: 1 }, `query.$expr: unknown operator "${'x'.repeat(64)}…"`],
  [{ $and: [] }, 'query.$expr.$and: expected an array, items: at least 1'],
  [{ $and: [{ $eq: [is(1)] }] }, 'query.$expr.$and[0].$eq: expected an array, items: exactly 2'],
  [{ $and: Array(3) }, 'query.$expr.$and[0]: expected an object with exactly one operator'],
  [{ $eq: [get('__proto__'), is(1)] }, 'query.$expr.$eq[0].$getField: unknown field "__proto__"'],
  [{ $eq: [get('id.x'), is(1)] }, 'query.$expr.$eq[0].$getField: unknown field "id.x"'],
  [is({}), 'query.$expr.$literal: expected a string, a finite number, a boolean or null'],
  [is(NaN), 'query.$expr.$literal: expected a string, a finite number, a boolean or null'],
  [
    { $contains: { input: is('a') } },
    'query.$expr.$contains.substr: expected an object with exactly one operator',
  ],
  [
    { $contains: { input: is('a'), substr: is('a'), case_insensitive: 'yes' } },
    'query.$expr.$contains.case_insensitive: expected one of true, false',
  ],
  [
    { $convert: { input: is(1), to: 'date' } },
    'query.$expr.$convert.to: expected one of double, int, string, bool, exists',
  ],
  [deep(33), `query.$expr${'.$not[0]'.repeat(32)}: deeper than 32 levels`],
  [wide(1001), 'query.$expr.$or[999]: more than 1000 nodes'],
  [{ $in: [get('id'), Array(1e6).fill(is(1))] }, 'query.$expr.$in[1]: more than 1000 nodes'],
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
        expect(text.match(/\$\d+/g) ?? []).toEqual(values.map((_, i) => `$${i + 1}`));
      } catch (error) {
        if (!(error instanceof InvalidQuery)) throw error;
      }
    }),
    { numRuns: 500 },
  );
});
