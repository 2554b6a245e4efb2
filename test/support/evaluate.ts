/** The query language again, in memory and written apart from the compiler, for tests to compare the two. */

/** JSON that keeps the spelling of its numbers. */
export type Doc = null | boolean | string | { num: string } | Doc[] | { members: [string, Doc][] };

export interface Row {
  id: string;
  name: string | null;
  /** Decimal without exponent. */
  price: string | null;
  steps: number | null;
  is_good: boolean | null;
  /** Microseconds since 1970. */
  at: bigint | null;
  doc: Doc | undefined;
  /** Non-ASCII characters of `doc` are written as `\uXXXX`. */
  is_escaped: boolean;
}

type Value =
  | { type: 'text' | 'json'; is: string | null }
  | { type: 'number'; is: Decimal | null }
  | { type: 'bool'; is: boolean | null }
  | { type: 'time'; is: bigint | null };
type Type = Value['type'];
interface Decimal {
  digits: bigint;
  scale: number;
}
type Tree = Record<string, any>;

export const isOpaque = ({ doc, is_escaped }: Row) =>
  doc !== undefined && print(doc, is_escaped) !== print(doc, is_escaped, true);

/** JSON text of a document; `isSafe` puts \ufffd for what PostgreSQL cannot read. */
export function print(doc: Doc, isEscaped: boolean, isSafe = false): string {
  if (typeof doc === 'string') {
    const letters = Array.from(doc, (letter) => {
      if (isSafe && /\0|\p{Surrogate}/u.test(letter)) return String.raw`\ufffd`;
      if (!isEscaped || letter < '\x80') return JSON.stringify(letter).slice(1, -1);
      return letter
        .split('')
        .map((unit) => `\\u${unit.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}`)
        .join('');
    });
    return `"${letters.join('')}"`;
  }
  if (doc === null || typeof doc === 'boolean') return String(doc);
  if (Array.isArray(doc)) return `[${doc.map((d) => print(d, isEscaped, isSafe)).join(', ')}]`;
  if ('num' in doc) return doc.num;
  const members = doc.members.map(
    ([key, d]) => `${print(key, isEscaped, isSafe)}: ${print(d, isEscaped, isSafe)}`,
  );
  return `{${members.join(',')}}`;
}

/** Text as PostgreSQL can hold it. */
export const readable = (text: string) => text.replaceAll(/\0|\p{Surrogate}/gu, '\ufffd');

function walk(row: Row, path: string[]): string | null {
  let at: Doc | undefined = row.doc;
  for (const step of path) {
    if (Array.isArray(at)) at = /^\d+$/.test(step) ? at[Number(step)] : undefined;
    else if (at !== null && typeof at === 'object' && 'members' in at) {
      at = at.members.findLast(([key]) => readable(key) === readable(step))?.[1];
    } else at = undefined;
  }
  if (at === undefined || at === null) return null;
  return typeof at === 'string' ? readable(at) : print(at, row.is_escaped, isOpaque(row));
}

function field(row: Row, name: string): Value {
  if (name === 'id' || name === 'name') return { type: 'text', is: row[name] };
  if (name === 'price')
    return { type: 'number', is: row.price === null ? null : decimal(row.price) };
  if (name === 'steps')
    return { type: 'number', is: row.steps === null ? null : decimal(`${row.steps}`) };
  if (name === 'is_good') return { type: 'bool', is: row.is_good };
  if (name === 'at') return { type: 'time', is: row.at };
  if (name === 'doc.svc.status') return { type: 'text', is: row.is_good ? 'success' : 'running' };
  const named: Record<string, string[]> = {
    'doc.x\\.y': ['x.y'],
    'doc.[x.y]': ['x.y'],
    'of.[doc].a': ['a'],
  };
  return { type: 'json', is: walk(row, named[name] ?? name.split('.').slice(1)) };
}

const NUMBER = /^(?=.{1,400}$)-?\d+(\.\d+)?([eE][-+]?\d{1,3})?$/;
function decimal(text: string): Decimal | null {
  if (!NUMBER.test(text)) return null;
  const [mantissa, exponent] = text.toLowerCase().split('e');
  const [whole, fraction = ''] = mantissa!.split('.');
  const digits = BigInt(whole!.replace('-', '') + fraction) * (text.startsWith('-') ? -1n : 1n);
  const scale = fraction.length - Number(exponent ?? 0);
  return scale < 0 ? { digits: digits * 10n ** BigInt(-scale), scale: 0 } : { digits, scale };
}
const scaled = ({ digits, scale }: Decimal, to: number) => digits * 10n ** BigInt(to - scale);
function decimalText({ digits, scale }: Decimal): string {
  const text = String(digits < 0n ? -digits : digits).padStart(scale + 1, '0');
  const point = text.length - scale;
  return (digits < 0n ? '-' : '') + text.slice(0, point) + (scale ? `.${text.slice(point)}` : '');
}

const EPOCH_FIRST = -62_135_596_800n * 1_000_000n;
const EPOCH_END = 253_402_300_800n * 1_000_000n;
const INFINITY = 10n ** 30n;
/** Nearest microsecond, halves away from zero. */
function epochMicros({ digits, scale }: Decimal): bigint {
  const ten = 10n ** BigInt(Math.max(0, scale - 6));
  const micros =
    scale <= 6
      ? digits * 10n ** BigInt(6 - scale)
      : (digits * 2n + (digits < 0n ? -ten : ten)) / (ten * 2n);
  if (scaledLess({ digits, scale }, EPOCH_FIRST)) return -INFINITY;
  return scaledLess({ digits, scale }, EPOCH_END) ? micros : INFINITY;
}
const scaledLess = (value: Decimal, micros: bigint) =>
  value.digits * 1_000_000n < micros * 10n ** BigInt(value.scale);

const ISO =
  /^(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?(Z|([-+])(\d\d):?(\d\d)?)?)?$/;
function time(text: string): bigint | null {
  const found = ISO.exec(text);
  if (!found) {
    const seconds = decimal(text);
    return seconds && epochMicros(seconds);
  }
  const [year, month, day, hour, minute, second] = found
    .slice(1, 7)
    .map((part) => Number(part ?? 0));
  const date = new Date(0);
  date.setUTCFullYear(year!, month! - 1, day);
  const isDate = year! > 0 && date.getUTCMonth() === month! - 1 && date.getUTCDate() === day;
  const offset = Number(found[10] ?? 0) * 60 + Number(found[11] ?? 0);
  if (!isDate || hour! > 23 || minute! > 59 || second! > 59 || offset > 14 * 60 + 59) return null;
  const minutes =
    date.getTime() / 60_000 + hour! * 60 + minute! - (found[9] === '-' ? -offset : offset);
  const micros = Math.round(Number(`0.${found[7] ?? 0}`) * 1e6);
  return BigInt(minutes * 60 + second!) * 1_000_000n + BigInt(micros);
}
const timeText = (micros: bigint) => {
  const millis = micros / 1000n - (micros % 1000n < 0n ? 1n : 0n);
  return `${new Date(Number(millis)).toISOString().slice(0, -1)}${String(micros - millis * 1000n).padStart(3, '0')}Z`;
};

function cast(value: Value, type: Exclude<Type, 'json'>): Value {
  if (value.is === null || value.type === type) return { type, is: value.is } as Value;
  if (type === 'text') {
    if (value.type === 'number') return { type, is: decimalText(value.is) };
    return { type, is: value.type === 'time' ? timeText(value.is) : String(value.is) };
  }
  if (type === 'number') {
    if (value.type === 'bool') return { type, is: { digits: value.is ? 1n : 0n, scale: 0 } };
    if (value.type === 'time') return { type, is: { digits: value.is, scale: 6 } };
    return { type, is: decimal(value.is as string) };
  }
  if (type === 'bool') {
    const of = (one: boolean, zero: boolean) => ({ type, is: one ? true : zero ? false : null });
    if (value.type === 'time') return { type, is: null };
    if (value.type === 'number') {
      return of(compare(value, number('1')) === 0, compare(value, number('0')) === 0);
    }
    return of(value.is === 'true' || value.is === '1', value.is === 'false' || value.is === '0');
  }
  if (value.type === 'bool') return { type, is: null };
  return { type, is: value.type === 'number' ? epochMicros(value.is) : time(value.is as string) };
}
const number = (text: string): Value => ({ type: 'number', is: decimal(text) });

/** Negative, 0 or positive; null where there is no answer. */
function compare(a: Value, b: Value): number | null {
  const types = [a.type, b.type];
  if (types[0] === 'json' && types[1] === 'json') {
    const [x, y] = [
      cast({ ...a, type: 'text' } as Value, 'number'),
      cast({ ...b, type: 'text' } as Value, 'number'),
    ];
    if (x.is !== null && y.is !== null) return compare(x, y);
  }
  const type =
    (['time', 'number', 'bool', 'text'] as const).find((t) => types.includes(t)) ?? 'text';
  const [x, y] = [cast(a, type).is, cast(b, type).is];
  if (x === null || y === null) return null;
  if (typeof x === 'string') return Buffer.compare(Buffer.from(x), Buffer.from(y as string));
  if (typeof x === 'object') {
    const scale = Math.max(x.scale, (y as Decimal).scale);
    const difference = scaled(x, scale) - scaled(y as Decimal, scale);
    return difference < 0n ? -1 : difference > 0n ? 1 : 0;
  }
  return x < y ? -1 : x > y ? 1 : 0;
}

function literal(value: unknown): Value {
  if (typeof value === 'boolean') return { type: 'bool', is: value };
  if (typeof value === 'number') return number(String(value));
  return { type: 'text', is: typeof value === 'string' ? readable(value) : null };
}
/** A literal number read as text keeps JavaScript's spelling. */
const asText = (tree: Tree, row: Row) =>
  typeof tree['$literal'] === 'number'
    ? String(tree['$literal'])
    : (cast(value(tree, row), 'text').is as string | null);

function value(tree: Tree, row: Row): Value {
  const [operator, argument] = Object.entries(tree)[0]!;
  if (operator === '$literal') return literal(argument);
  if (operator === '$getField') return field(row, argument);
  if (operator !== '$convert') return { type: 'bool', is: condition(tree, row) };
  const input = value(argument.input, row);
  if (argument.to === 'exists') return { type: 'bool', is: input.is !== null };
  if (argument.to === 'string') return { type: 'text', is: asText(argument.input, row) };
  if (argument.to === 'bool') return cast(input, 'bool');
  const whole = cast(input, 'number') as { type: 'number'; is: Decimal | null };
  if (argument.to === 'double' || whole.is === null) return whole;
  return {
    type: 'number',
    is: { digits: whole.is.digits / 10n ** BigInt(whole.is.scale), scale: 0 },
  };
}

const not = (is: boolean | null) => (is === null ? null : !is);
const or = (answers: (boolean | null)[]) =>
  answers.includes(true) ? true : answers.includes(null) ? null : false;

function equal(a: Tree, b: Tree, row: Row): boolean | null {
  if (a['$literal'] === null) return value(b, row).is === null;
  if (b['$literal'] === null) return value(a, row).is === null;
  const sign = compare(value(a, row), value(b, row));
  return sign === null ? null : sign === 0;
}
const ORDER: Record<string, (sign: number) => boolean> = {
  $gt: (sign) => sign > 0,
  $gte: (sign) => sign >= 0,
  $lt: (sign) => sign < 0,
  $lte: (sign) => sign <= 0,
};

export function condition(tree: Tree, row: Row): boolean | null {
  const [operator, argument] = Object.entries(tree)[0]!;
  const conditions = () => argument.map((item: Tree) => condition(item, row));
  if (operator === '$and') return not(or(conditions().map(not)));
  if (operator === '$or') return or(conditions());
  if (operator === '$not') return not(condition(argument[0], row));
  if (operator === '$eq') return equal(argument[0], argument[1], row);
  if (operator === '$ne') return not(equal(argument[0], argument[1], row));
  if (operator === '$in') return or(argument[1].map((item: Tree) => equal(argument[0], item, row)));
  if (operator in ORDER) {
    const sign = compare(value(argument[0], row), value(argument[1], row));
    return sign === null ? null : ORDER[operator]!(sign);
  }
  if (operator === '$contains') return contains(argument, row);
  const { type, is } = value(tree, row);
  if (is === null) return false;
  if (type === 'number') return is.digits !== 0n;
  if (type === 'json') return !/^(false|-?0+(\.0+)?([eE][-+]?\d+)?)?$/.test(is);
  return type === 'time' || Boolean(is);
}

function contains({ input, substr, case_insensitive }: Tree, row: Row): boolean | null {
  const [text, part] = [asText(input, row), asText(substr, row)];
  if (text === null || part === null) return null;
  if (!case_insensitive) return text.includes(part);
  const isKnown = '$literal' in substr;
  const letters = Array.from(text);
  const wanted = Array.from(part);
  const isSame = (a: string, b: string) =>
    a === b || ascii(a) === ascii(b) || (isKnown && swapped(a, b));
  return letters.concat('').some((_, i) => {
    const slice = letters.slice(i, i + wanted.length);
    return slice.length === wanted.length && slice.every((a, j) => isSame(a, wanted[j]!));
  });
}
const ascii = (text: string) => text.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase());
const swapped = (a: string, b: string) =>
  b > '\x80' &&
  (a.toLowerCase() === b || a.toUpperCase() === b || a.toLowerCase() === b.toLowerCase());
