import {
  NameBudget,
  byCodePoint,
  type Columns,
  InvalidQuery,
  type Operand,
  quoteWord,
  type Sort,
  sortedOperands,
  storable,
  toNumber,
  wordsWithoutNumbers,
} from './columns.js';
import { castLiteral, isNumber, type Scalar } from './operands.js';
import { join, Parameter, sql, type Sql } from './sql.js';

/** Most bytes that all texts of one position may have. This fits the longest exception that can be stored. */
export const MAX_POSITION_BYTES = 4 * 1024 * 1024;

/** Position where a list continues: the values of the last row in sort order, as they were returned. */
export type ListPosition = readonly Scalar[];

export interface ListOrder<Name extends string = string> {
  columns: Columns<Name>;
  sorts: readonly Sort[];
  tieBreaker: NoInfer<Name>;
  /**
   * `<table> WHERE <condition>`, in which the tie-breaker finds one row. Needed for orders that may use a JSON path.
   */
  among?: Sql;
  /** True when an index has this order, even if its first key may be NULL. */
  isIndexed?: boolean;
}

/**
 * Returns the condition that a row comes after a position in an order, or null without a position. An index in that
 * order finds the first row. When all keys have one direction and are never NULL, it uses a row comparison, otherwise a
 * bound on the first key. The size of the condition is linear in the number of keys: docs/adr/0017-paging.md.
 * @throws InvalidQuery when the position does not fit the order
 */
export function isAfter<Name extends string>(
  after: ListPosition | null | undefined,
  order: ListOrder<Name>,
): Sql | null {
  if (!after) return null;
  const keys = readKeys(after, order);
  if (isOneWay(keys)) return rowsBehind(keys);
  const { key, at, isNotNull, symbol } = keys[0]!;
  return at && isNotNull
    ? sql`(${key} ${symbol}= ${at} AND ${behind(keys)})`
    : sql`(${behind(keys)})`;
}

/**
 * Returns conditions that together equal `isAfter`. They exclude each other, and each is a range of an index. Use them
 * in two cases:
 * - The keys of the index have different directions. `isAfter` would read all ties of the first key from their
 *   beginning.
 * - The first key of the index may be NULL. No bound expresses "less, or NULL".
 */
export function rangesAfter<Name extends string>(
  after: ListPosition | null | undefined,
  order: ListOrder<Name>,
): Sql[] {
  if (!after) return [sql`TRUE`];
  const keys = readKeys(after, order);
  if (isOneWay(keys)) return [rowsBehind(keys)];
  const [{ key, at, isNotNull, symbol }, ...rest] = keys as [KeysetKey, ...KeysetKey[]];
  if (!at || !(isNotNull || order.isIndexed)) return [behind(keys)];
  const values = [sql`${key} = ${at} AND ${behind(rest)}`, sql`${key} ${symbol} ${at}`];
  return isNotNull ? values : [...values, sql`${key} IS NULL`];
}

/** One key of the order. `at` is its value in the last row, or null for NULL. Later rows compare to it by `symbol`. */
interface KeysetKey {
  key: Sql;
  at: Sql | null;
  symbol: Sql;
  isNotNull: boolean;
}

const ABOVE = sql`>`;
const BELOW = sql`<`;

const isOneWay = (keys: KeysetKey[]) =>
  keys.every(({ isNotNull, symbol }) => isNotNull && symbol === keys[0]!.symbol);

const rowsBehind = (keys: KeysetKey[]) =>
  sql`(${join(keys.map(({ key }) => key))}) ${keys[0]!.symbol} (${join(
    keys.map(({ at }) => at!),
  )})`;

/** Returns the condition that a row comes after the keys. NULLs come last in both directions. */
function behind(keys: KeysetKey[]): Sql {
  const [{ key, at, symbol, isNotNull }, ...rest] = keys as [KeysetKey, ...KeysetKey[]];
  if (!at) return rest.length > 0 ? sql`(${key} IS NULL AND ${behind(rest)})` : sql`FALSE`;
  const isBeyond = isNotNull
    ? sql`${key} ${symbol} ${at}`
    : sql`(${key} ${symbol} ${at}) IS NOT FALSE`;
  return rest.length > 0 ? sql`(${isBeyond} OR (${key} = ${at} AND ${behind(rest)}))` : isBeyond;
}

function readKeys<Name extends string>(
  after: ListPosition,
  { columns, sorts, tieBreaker, among }: ListOrder<Name>,
): KeysetKey[] {
  const fields = sortedOperands(columns, sorts, tieBreaker);
  const names = fields.map(({ field }) => quoteWord(field)).join(', ');
  if (after.length !== fields.length)
    throw new InvalidQuery('after', `must have the ${fields.length} values of ${names}`);
  const texts = new NameBudget(MAX_POSITION_BYTES, 'bytes for all values');
  for (const [i, value] of after.entries())
    if (typeof value === 'string') texts.spend(Buffer.byteLength(value), `after[${i}]`);
  const values = fields.map(({ operand }, i) => keysetValue(operand, after[i]!, `after[${i}]`));
  const last = fields.findIndex(({ field }) => field === tieBreaker);
  const lastRow = among && sql`${among} AND ${fields[last]!.operand.sql} = ${values[last]}`;
  return fields.flatMap(({ operand, direction }, i) => {
    const symbol = direction === 'asc' ? ABOVE : BELOW;
    const isRounded = typeof after[i] === 'number';
    return keysAt(operand, values[i]!, isRounded ? lastRow : undefined).map((key) => ({
      ...key,
      symbol,
    }));
  });
}

type KeysetValue = string | boolean | null;

interface PositionKind {
  what: string;
  pgType: Sql;
  /** Returns undefined for values that no row can have returned. */
  read: (value: Scalar) => KeysetValue | undefined;
}

const KINDS: Record<Operand['type'] | 'integer', PositionKind> = {
  text: {
    what: 'a string without \\u0000',
    pgType: sql`text`,
    read: (value) => (typeof value === 'string' && storable(value) === value ? value : undefined),
  },
  time: {
    what: 'a date-time',
    pgType: sql`timestamptz`,
    read: (value) =>
      (typeof value === 'string' && !isNumber(value) && castLiteral(value, 'time')) || undefined,
  },
  bool: {
    what: 'true or false',
    pgType: sql`boolean`,
    read: (value) => (typeof value === 'boolean' ? value : undefined),
  },
  number: {
    what: 'a number, or its digits as a string',
    pgType: sql`numeric`,
    read: (value) =>
      isNumber(String(value)) && isDouble(String(value)) ? String(value) : undefined,
  },
  integer: {
    what: 'a whole number',
    pgType: sql`bigint`,
    read: (value) => (/^-?\d{1,18}$/.test(String(value)) ? String(value) : undefined),
  },
  json: { what: '', pgType: sql`text`, read: (value) => storable(String(value)) },
};

/** True when PostgreSQL can compare the number with a column of doubles. */
const isDouble = (text: string) =>
  Number.isFinite(Number(text)) && (Number(text) !== 0 || !/^[^eE]*[1-9]/.test(text));

const positionKind = ({ type, isInteger }: Operand) => KINDS[isInteger ? 'integer' : type];

function keysetValue(operand: Operand, value: Scalar, path: string): KeysetValue {
  if (value === null && !operand.isNotNull) return null;
  const { what, read } = positionKind(operand);
  const found = value === null ? undefined : read(value);
  if (found === undefined)
    throw new InvalidQuery(path, `must be ${what}${operand.isNotNull ? '' : ', or null'}`);
  return found;
}

/**
 * Returns the sort keys of one operand. A value inside JSON is sorted by a number and then by a text, so that a text
 * comes after all numbers. A number needs only the first key, because the second one is equal for all numbers.
 */
function keysAt(
  operand: Operand,
  value: KeysetValue,
  lastRow: Sql | undefined,
): Omit<KeysetKey, 'symbol'>[] {
  const { type, sql: column, isNotNull = false } = operand;
  const at = value === null ? null : sql`${new Parameter(value)}::${positionKind(operand).pgType}`;
  if (operand.isSum && at)
    return [{ key: column, at: exact(column, at, lastRow, SUM_ERROR), isNotNull }];
  if (type !== 'json' || !at)
    return [{ key: type === 'text' ? byCodePoint(column) : column, at, isNotNull }];
  const number = { key: toNumber(column), isNotNull };
  if (isNumber(value as string))
    return [
      {
        ...number,
        at: exact(number.key, sql`${new Parameter(value)}::numeric`, lastRow, DOUBLE_ERROR),
      },
    ];
  return [
    { ...number, at: null },
    { key: wordsWithoutNumbers(column), at: wordsWithoutNumbers(at), isNotNull },
  ];
}

/** Relative error of a number that a client has read: 2^-52 for a double, more for a sum of a thousand doubles. */
const DOUBLE_ERROR = sql`2.3e-16`;
const SUM_ERROR = sql`1e-12`;

/**
 * Replaces the number that a client has read by the stored one. A number inside JSON may have more digits than a
 * double, and most clients read doubles. The stored number of the last row is used if it differs by no more than the
 * error.
 */
const exact = (key: Sql, read: Sql, lastRow: Sql | undefined, error: Sql) =>
  lastRow
    ? sql`coalesce((SELECT ${key} FROM ${lastRow} AND abs(${key} - ${read}) <= abs(${read}) * ${error}), ${read})`
    : read;
