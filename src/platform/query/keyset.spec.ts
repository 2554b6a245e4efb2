import { isAfter, type ListOrder, rangesAfter, type ListPosition } from './keyset.js';
import { column, type Sort } from './columns.js';
import { sql } from './sql.js';

const columns = {
  id: column.text(sql`c.id`, { isNotNull: true }),
  n: column.number(sql`c.n`, { isNotNull: true, isInteger: true }),
  price: column.number(sql`c.price`),
  at: column.time(sql`c.at`, { isNotNull: true }),
  is_good: column.bool(sql`c.is_good`),
  doc: column.json(sql`c.doc`, sql`c.is_opaque`),
};
type Sorts = [keyof typeof columns | `doc.${string}`, 'asc' | 'desc'][];
const order = (sorts: Sorts): ListOrder => ({
  columns,
  sorts: sorts.map(([field, direction]): Sort => ({ field, direction })),
  tieBreaker: 'id',
});
const afterText = (after: ListPosition, ...sorts: Sorts) =>
  isAfter(after, order(sorts))!.toQuery().text;

const NOON = '2026-01-01T12:00:00.000000Z';

describe('isAfter', () => {
  it('is nothing without a position', () => expect(isAfter(null, order([]))).toBeNull());

  it('compares rows where all keys have one direction and are never NULL', () => {
    expect(afterText(['x'])).toBe('(c.id COLLATE "C") > ($1::text)');
    expect(afterText([NOON, 'x'], ['at', 'asc'])).toBe(
      '(c.at, c.id COLLATE "C") > ($1::timestamptz, $2::text)',
    );
    expect(afterText([NOON, 'x'], ['at', 'desc'], ['id', 'desc'])).toBe(
      '(c.at, c.id COLLATE "C") < ($1::timestamptz, $2::text)',
    );
  });

  it('bounds the first key otherwise, and binds each value once', () =>
    expect(afterText([7, NOON, 'x'], ['n', 'desc'], ['at', 'asc'])).toBe(
      '(c.n <= $1::bigint AND (c.n < $1::bigint OR (c.n = $1::bigint AND ' +
        '(c.at > $2::timestamptz OR (c.at = $2::timestamptz AND c.id COLLATE "C" > $3::text)))))',
    ));

  it('has NULLs behind every value, and nothing but NULLs behind a NULL', () => {
    expect(afterText([1.5, 'x'], ['price', 'desc'])).toBe(
      '(((c.price < $1::numeric) IS NOT FALSE OR (c.price = $1::numeric AND c.id COLLATE "C" > $2::text)))',
    );
    expect(afterText([null, 'x'], ['price', 'desc'])).toBe(
      '((c.price IS NULL AND c.id COLLATE "C" > $1::text))',
    );
    expect(afterText(['x', null], ['id', 'asc'], ['is_good', 'asc'])).toMatch(/ AND FALSE\)\)\)$/);
  });

  it('takes a number inside JSON for a tie of all its spellings, and a text for one behind all numbers', () => {
    expect(afterText(['1.0', 'x'], ['doc.v', 'asc'])).not.toContain('IS NULL');
    expect(afterText(['a', 'x'], ['doc.v', 'asc'])).toMatch(
      /^\(\(skein_number\(.*\) IS NULL AND \(\(/,
    );
  });

  it('grows with the keys, not with their square', () => {
    const lengthFor = (keys: number) =>
      afterText([...Array(keys).fill(1), 'x'], ...Array(keys).fill(['doc.v', 'asc'])).length;
    expect(lengthFor(32) - lengthFor(16)).toBeLessThan(
      1.1 * (lengthFor(16) - lengthFor(1)) * (16 / 15),
    );
  });

  it.each([
    ['at', 'soon', 'after[0]: must be a date-time'],
    ['at', null, 'after[0]: must be a date-time'],
    ['n', 1.5, 'after[0]: must be a whole number'],
    ['n', '1e3', 'after[0]: must be a whole number'],
    ['price', 'x', 'after[0]: must be a number, or its digits as a string, or null'],
    ['is_good', 1, 'after[0]: must be true or false, or null'],
  ] as const)('refuses for %s: %j', (field, value, message) =>
    expect(() => afterText([value, 'x'], [field, 'asc'])).toThrow(message),
  );
});

describe('partsAfter', () => {
  const partTexts = (after: ListPosition | null, ...sorts: Sorts) =>
    rangesAfter(after, order(sorts)).map((part) => part.toQuery().text);

  it('are one condition where that begins at the position itself, or nothing is bounded', () => {
    expect(partTexts(null)).toEqual(['TRUE']);
    expect(partTexts([1, 'x'], ['n', 'asc'])).toEqual([afterText([1, 'x'], ['n', 'asc'])]);
    expect(partTexts([1, 'x'], ['price', 'asc'])).toHaveLength(1);
  });

  it('are the ties of the first key and what lies beyond them otherwise', () =>
    expect(partTexts([1, 'x'], ['n', 'desc'])).toEqual([
      'c.n = $1::bigint AND c.id COLLATE "C" > $2::text',
      'c.n < $1::bigint',
    ]));

  it('have one for NULLs where an index has them in this order', () =>
    expect(
      rangesAfter([1, 'x'], { ...order([['price', 'desc']]), isIndexed: true }).map(
        (part) => part.toQuery().text,
      ),
    ).toEqual([
      'c.price = $1::numeric AND c.id COLLATE "C" > $2::text',
      'c.price < $1::numeric',
      'c.price IS NULL',
    ]));
});
