import { byCodePoint, storable, toNumber, wireTime, type Operand } from './columns.js';
import { DATE_TIME, EPOCH, NUMBER, NUMBER_LENGTH } from './literal-patterns.js';
import { Parameter, sql, type Sql } from './sql.js';

/**
 * A JSON scalar written in the query. Numbers are JavaScript numbers. A number with more digits than a double is sent
 * as text in a `$convert`.
 */
export interface Literal {
  readonly literal: Scalar;
}
export type Scalar = string | number | boolean | null;
export type Value = Operand | Literal;
type Type = Operand['type'];
export type OperandTarget = Exclude<Type, 'json'>;

const PG_TYPES: Record<OperandTarget, Sql> = {
  text: sql`text`,
  number: sql`numeric`,
  bool: sql`boolean`,
  time: sql`timestamptz`,
};

export const isLiteral = (value: Value): value is Literal => 'literal' in value;

/**
 * Returns the type in which two values are compared: the first of time, number, bool and text that either has. JSON
 * takes the type of the other side. So text is compared with a number as a number, and a number with a time as seconds
 * since 1970.
 */
export function commonType(a: Type, b: OperandTarget): OperandTarget;
export function commonType(a: Type, b: Type): Type;
export function commonType(a: Type, b: Type): Type {
  return RANK.find((type) => type === a || type === b) ?? 'json';
}
const RANK: readonly OperandTarget[] = ['time', 'number', 'bool', 'text'];

export function literalType({ literal }: Literal): OperandTarget {
  if (typeof literal === 'number') return 'number';
  return typeof literal === 'boolean' ? 'bool' : 'text';
}
export const valueType = (value: Value) => (isLiteral(value) ? literalType(value) : value.type);

/**
 * Casts the value to `target`, or to NULL if that is impossible. It never fails. Literals are cast here, in JavaScript.
 */
export function cast(value: Value, target: OperandTarget): Sql {
  if (isLiteral(value)) return boundValue(castLiteral(value.literal, target), target);
  return CASTS[target][value.type](value.sql);
}

const boundValue = (value: string | boolean | null, type: OperandTarget) =>
  sql`${new Parameter(value)}::${PG_TYPES[type]}`;
/** Binds all literals of an `= ANY` as one parameter. */
export const boundArray = (literals: readonly Scalar[], type: OperandTarget) =>
  sql`${literals.map((literal) => castLiteral(literal, type))}::${PG_TYPES[type]}[]`;

const same = (value: Sql) => value;
const textToBool = (value: Sql) =>
  sql`(CASE ${value} WHEN 'true' THEN TRUE WHEN '1' THEN TRUE WHEN 'false' THEN FALSE WHEN '0' THEN FALSE END)`;
const toTime = (value: Sql) => sql`skein_time(${value})`;
const toText = (value: Sql) => sql`${value}::text`;

/** Casts as CASTS[target][type]. Each uses its input once, because reading it may mean parsing a large JSON text. */
const CASTS: Record<OperandTarget, Record<Type, (value: Sql) => Sql>> = {
  text: { text: same, json: same, number: toText, bool: toText, time: wireTime },
  number: {
    text: toNumber,
    json: toNumber,
    number: same,
    bool: (value) => sql`${value}::integer::numeric`,
    time: (value) => sql`extract(epoch FROM ${value})`,
  },
  bool: {
    text: textToBool,
    json: textToBool,
    number: (value) => sql`(CASE ${value} WHEN 1 THEN TRUE WHEN 0 THEN FALSE END)`,
    bool: same,
    time: () => sql`NULL::boolean`,
  },
  time: {
    text: toTime,
    json: toTime,
    number: (value) => toTime(sql`${value}::numeric`),
    bool: () => sql`NULL::timestamptz`,
    time: same,
  },
};

/** Casts a literal as `CASTS` does, and returns the value to bind. */
export function castLiteral(literal: Scalar, target: OperandTarget): string | boolean | null {
  if (literal === null) return null;
  if (target === 'text') return storable(String(literal));
  if (target === 'bool') return BOOLS.get(String(literal)) ?? null;
  if (target === 'time') return typeof literal === 'boolean' ? null : dateTime(String(literal));
  if (typeof literal === 'boolean') return literal ? '1' : '0';
  return isNumber(String(literal)) ? String(literal) : null;
}
const BOOLS = new Map([
  ['true', true],
  ['1', true],
  ['false', false],
  ['0', false],
]);
const NUMBERS = new RegExp(NUMBER);
export const isNumber = (text: string) => text.length <= NUMBER_LENGTH && NUMBERS.test(text);
const isDateTime = new RegExp(DATE_TIME);

/** Returns a date-time with its offset, which PostgreSQL reads independently of its settings. */
function dateTime(text: string): string | null {
  if (isDateTime.test(text)) {
    if (text.length === 10) return `${text}T00:00Z`;
    return /[-+Z]/.test(text.slice(10)) ? text : `${text}Z`;
  }
  return isNumber(text) ? fromEpoch(Number(text)) : null;
}

function fromEpoch(seconds: number): string {
  if (seconds < EPOCH.first) return '-infinity';
  if (seconds >= EPOCH.end) return 'infinity';
  const whole = Math.floor(seconds);
  const micros = Math.round((seconds - whole) * 1e6);
  const start = new Date(whole * 1000).toISOString().slice(0, 19);
  return micros === 1e6 ? fromEpoch(whole + 1) : `${start}.${String(micros).padStart(6, '0')}Z`;
}

/**
 * Converts the value to a condition that is never NULL. False, 0, "", null and a missing value are false; all others
 * are true.
 */
export function truth(value: Value): Sql {
  if (isLiteral(value)) return value.literal ? sql`TRUE` : sql`FALSE`;
  return TRUTHS[value.type](value.sql);
}
const TRUTHS: Record<Type, (value: Sql) => Sql> = {
  text: (value) => sql`COALESCE(${value} <> '', FALSE)`,
  json: (value) =>
    sql`COALESCE(${value} !~ '^(?:false|-?0+(?:[.]0+)?(?:[eE][-+]?[0-9]+)?)?$', FALSE)`,
  number: (value) => sql`COALESCE(${value} <> 0, FALSE)`,
  bool: (value) => sql`COALESCE(${value}, FALSE)`,
  time: (value) => sql`(${value} IS NOT NULL)`,
};

export type Comparison = '$eq' | '$ne' | '$gt' | '$gte' | '$lt' | '$lte';
const SYMBOLS: Record<Comparison, Sql> = {
  $eq: sql`=`,
  $ne: sql`<>`,
  $gt: sql`>`,
  $gte: sql`>=`,
  $lt: sql`<`,
  $lte: sql`<=`,
};

/** Returns the condition that can replace a comparison with a literal, or undefined when the column declares none. */
export const caseFold = (value: Value, other: Value): Sql | undefined =>
  !isLiteral(value) && isLiteral(other) && typeof other.literal === 'string'
    ? value.cases?.get(other.literal)
    : undefined;

/** When one side is a null literal, returns the condition that the other side is missing. */
function compareMissing(a: Value, b: Value): Sql | undefined {
  if (!isNull(a) && !isNull(b)) return undefined;
  const other = isNull(a) ? b : a;
  return isLiteral(other) ? sql`${other.literal === null}::boolean` : sql`${other.sql} IS NULL`;
}

/** Compiles a comparison. A null literal becomes IS NULL, because an index serves it but not `IS NOT DISTINCT FROM`. */
export function compare(comparison: Comparison, a: Value, b: Value): Sql {
  const isEquality = comparison === '$eq' || comparison === '$ne';
  const known = isEquality ? (compareMissing(a, b) ?? caseFold(a, b) ?? caseFold(b, a)) : undefined;
  if (known) return comparison === '$eq' ? sql`(${known})` : sql`(NOT ${known})`;
  const type = commonType(valueType(a), valueType(b));
  const symbol = SYMBOLS[comparison];
  if (type === 'json')
    return sql`(skein_compare(${cast(a, 'text')}, ${cast(b, 'text')}) ${symbol} 0)`;
  if (type === 'text') return compareTexts(comparison, a, b);
  return sql`(${cast(a, type)} ${symbol} ${cast(b, type)})`;
}

function compareTexts(comparison: Comparison, a: Value, b: Value): Sql {
  const [left, right] = [cast(a, 'text'), cast(b, 'text')];
  if (comparison === '$eq') return byKey(a, b) ?? byKey(b, a) ?? sql`(${left} = ${right})`;
  return comparison === '$ne'
    ? sql`(${left} <> ${right})`
    : sql`(${byCodePoint(left)} ${SYMBOLS[comparison]} ${right})`;
}

const byKey = (value: Value, text: Value): Sql | undefined =>
  valueType(value) === 'json' && isLiteral(text)
    ? equalText(cast(value, 'text'), cast(text, 'text'))
    : undefined;

/** Returns the key of a text in an index of kind `text`: eight bytes, however long the text is. */
export const textKey = (text: Sql) => sql`hashtextextended(${text}, 0)`;

/**
 * Compares the keys and then the texts. `CASE` does not change the result. It makes PostgreSQL expect that the
 * comparison mostly holds, because the key has already reduced the rows.
 */
const equalText = (value: Sql, text: Sql) =>
  sql`(${textKey(value)} = ${textKey(text)} AND ${expectTrue(sql`${value} = ${text}`)})`;
export const anyText = (value: Sql, texts: Sql) =>
  sql`(${textKey(value)} = ANY(ARRAY(SELECT ${textKey(sql`t.text`)} FROM unnest(${texts}) t (text))) AND ${expectTrue(sql`${value} = ANY(${texts})`)})`;
const expectTrue = (condition: Sql) =>
  sql`CASE ${condition} WHEN TRUE THEN TRUE WHEN FALSE THEN FALSE END`;
export const isNull = (value: Value) => isLiteral(value) && value.literal === null;
