/** A second implementation of the query language, in memory and independent of the compiler. Tests compare the two. */

/** JSON that keeps the spelling of its numbers. */
export type Doc = null | boolean | string | { num: string } | Doc[] | { members: [string, Doc][] };

export interface Row {
  id: string;
  name: string | null;
  /** A decimal without exponent. */
  price: string | null;
  steps: number | null;
  is_good: boolean | null;
  /** Microseconds since 1970. */
  at: bigint | null;
  doc: Doc | undefined;
  /** Non-ASCII characters of `doc` are written as `\uXXXX`. */
  is_escaped: boolean;
}

type Type = 'text' | 'json' | 'number' | 'bool' | 'time';
/** `is` is a string, a Decimal, a boolean, or the microseconds of a time; null stands for NULL. */
interface Value {
  type: Type;
  is: any;
}
interface Decimal {
  digits: bigint;
  scale: number;
}
type Tree = Record<string, any>;

export const isOpaque = ({ doc, is_escaped }: Row) =>
  doc !== undefined && print(doc, is_escaped) !== print(doc, is_escaped, true);

/** The JSON text of a document. With `isSafe`, \ufffd replaces characters that PostgreSQL cannot read. */
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

/** Replaces characters that PostgreSQL cannot store. */
export const readable = (text: string) => text.replaceAll(/\0|\p{Surrogate}/gu, '\ufffd');

function docAt(row: Row, path: string[]): Doc | undefined {
  let at: Doc | undefined = row.doc;
  for (const step of path) {
    if (Array.isArray(at)) at = /^\d+$/.test(step) ? at[Number(step)] : undefined;
    else if (at !== null && typeof at === 'object' && 'members' in at) {
      at = at.members.findLast(([key]) => readable(key) === readable(step))?.[1];
    } else at = undefined;
  }
  return at;
}

function walk(row: Row, path: string[]): string | null {
  const at = docAt(row, path);
  if (at === undefined || at === null) return null;
  return typeof at === 'string' ? readable(at) : print(at, row.is_escaped, isOpaque(row));
}

const NAMED: Record<string, string[]> = {
  'doc.x\\.y': ['x.y'],
  'doc.[x.y]': ['x.y'],
  'of.[doc].a': ['a'],
};
const pathOf = (name: string) => NAMED[name] ?? name.split('.').slice(1);

function field(row: Row, name: string): Value {
  if (name === 'id' || name === 'name') return { type: 'text', is: row[name] };
  if (name === 'price')
    return { type: 'number', is: row.price === null ? null : decimal(row.price) };
  if (name === 'steps')
    return { type: 'number', is: row.steps === null ? null : decimal(`${row.steps}`) };
  if (name === 'is_good') return { type: 'bool', is: row.is_good };
  if (name === 'at') return { type: 'time', is: row.at };
  if (name === 'doc.svc.status') return { type: 'text', is: row.is_good ? 'success' : 'running' };
  return { type: 'json', is: walk(row, pathOf(name)) };
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
/** Rounds to the nearest microsecond, halves away from zero. */
function epochMicros({ digits, scale }: Decimal): bigint {
  const ten = 10n ** BigInt(Math.max(0, scale - 6));
  const micros =
    scale <= 6
      ? digits * 10n ** BigInt(6 - scale)
      : (digits * 2n + (digits < 0n ? -ten : ten)) / (ten * 2n);
  if (scaledLess({ digits, scale }, EPOCH_FIRST)) return -INFINITY;
  return scaledLess({ digits, scale }, EPOCH_END) ? micros : INFINITY;
}
const scaledLess = ({ digits, scale }: Decimal, micros: bigint) =>
  digits * 1_000_000n < micros * 10n ** BigInt(scale);

const ISO =
  /^(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?(Z|([-+])(\d\d):?(\d\d)?)?)?$/;
function time(text: string): bigint | null {
  const found = ISO.exec(text);
  if (!found) {
    const seconds = decimal(text);
    return seconds && epochMicros(seconds);
  }
  const part = (i: number) => Number(found[i] ?? 0);
  const date = new Date(0);
  date.setUTCFullYear(part(1), part(2) - 1, part(3));
  const isDate = part(1) > 0 && date.toISOString().startsWith(text.slice(0, 10));
  const offset = part(10) * 60 + part(11);
  if (!isDate || part(4) > 23 || Math.max(part(5), part(6), part(11)) > 59 || part(10) > 14)
    return null;
  const minutes =
    date.getTime() / 60_000 + part(4) * 60 + part(5) - (found[9] === '-' ? -offset : offset);
  const micros = Math.round(Number(`0.${found[7] ?? 0}`) * 1e6);
  return BigInt(minutes * 60 + part(6)) * 1_000_000n + BigInt(micros);
}
const timeText = (micros: bigint) => {
  const millis = micros / 1000n - (micros % 1000n < 0n ? 1n : 0n);
  return `${new Date(Number(millis)).toISOString().slice(0, -1)}${String(micros - millis * 1000n).padStart(3, '0')}Z`;
};

function cast({ type, is }: Value, target: Type): Value {
  if (is === null || type === target) return { type: target, is };
  return { type: target, is: CASTS[target](is, type === 'json' ? 'text' : type) };
}
const one: Decimal = { digits: 1n, scale: 0 };
const zero: Decimal = { digits: 0n, scale: 0 };
const CASTS: Record<Type, (is: any, type: Type) => unknown> = {
  json: (is) => is,
  text: (is, type) => {
    if (type === 'number') return decimalText(is);
    return type === 'time' ? timeText(is) : String(is);
  },
  number: (is, type) => {
    if (type === 'bool') return is ? one : zero;
    return type === 'time' ? { digits: is, scale: 6 } : decimal(is);
  },
  bool: (is, type) => {
    if (type === 'time') return null;
    if (type === 'text')
      return is === 'true' || is === '1' || (is === 'false' || is === '0' ? false : null);
    return difference(is, one) === 0n || (difference(is, zero) === 0n ? false : null);
  },
  time: (is, type) => {
    if (type === 'bool') return null;
    return type === 'number' ? epochMicros(is) : time(is);
  },
};

function difference(a: Decimal, b: Decimal): bigint {
  const scale = Math.max(a.scale, b.scale);
  return scaled(a, scale) - scaled(b, scale);
}

/** Negative, 0 or positive; null when the values cannot be compared. */
function compare(a: Value, b: Value): number | null {
  if (a.type === 'json' && b.type === 'json') {
    const isNumeric = [a, b].every((side) => cast(side, 'number').is !== null);
    return compareAs(isNumeric ? 'number' : 'text', a, b);
  }
  const types = ['time', 'number', 'bool', 'text'] as const;
  return compareAs(
    types.find((type) => type === a.type || type === b.type)!,
    a,
    b,
  );
}
function compareAs(type: Type, a: Value, b: Value): number | null {
  const [x, y] = [cast(a, type).is, cast(b, type).is];
  if (x === null || y === null) return null;
  if (type === 'text') return Buffer.compare(Buffer.from(x), Buffer.from(y));
  if (type === 'number') return Number(difference(x, y) > 0n) - Number(difference(x, y) < 0n);
  return Number(x > y) - Number(x < y);
}

function constant(literal: unknown): Value {
  if (typeof literal === 'boolean') return { type: 'bool', is: literal };
  if (typeof literal === 'number') return { type: 'number', is: decimal(String(literal)) };
  return { type: 'text', is: typeof literal === 'string' ? readable(literal) : null };
}
/** The text of a value. A literal number keeps JavaScript's spelling. */
function asText(tree: Tree, row: Row): string | null {
  const literal: unknown = tree['$literal'];
  return typeof literal === 'number' ? String(literal) : cast(value(tree, row), 'text').is;
}

function value(tree: Tree, row: Row): Value {
  const [operator, argument] = Object.entries(tree)[0]!;
  if (operator === '$literal') return constant(argument);
  if (operator === '$getField') return field(row, argument);
  if (operator !== '$convert') return { type: 'bool', is: condition(tree, row) };
  const input = value(argument.input, row);
  if (argument.to === 'exists') return { type: 'bool', is: input.is !== null };
  if (argument.to === 'string') return { type: 'text', is: asText(argument.input, row) };
  if (argument.to === 'bool') return cast(input, 'bool');
  const whole = cast(input, 'number');
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

const CONDITIONS: Record<string, (argument: any, row: Row) => boolean | null> = {
  $and: (items, row) => not(or(items.map((item: Tree) => not(condition(item, row))))),
  $or: (items, row) => or(items.map((item: Tree) => condition(item, row))),
  $not: ([item], row) => not(condition(item, row)),
  $eq: ([a, b], row) => equal(a, b, row),
  $ne: ([a, b], row) => not(equal(a, b, row)),
  $in: ([a, items], row) => or(items.map((item: Tree) => equal(a, item, row))),
  $contains: contains,
};

export function condition(tree: Tree, row: Row): boolean | null {
  const [operator, argument] = Object.entries(tree)[0]!;
  if (operator in CONDITIONS) return CONDITIONS[operator]!(argument, row);
  if (operator in ORDER) {
    const sign = compare(value(argument[0], row), value(argument[1], row));
    return sign === null ? null : ORDER[operator]!(sign);
  }
  const { type, is } = value(tree, row);
  if (is === null) return false;
  if (type === 'number') return is.digits !== 0n;
  if (type === 'json') return !/^(false|-?0+(\.0+)?([eE][-+]?\d+)?)?$/.test(is);
  return type === 'time' || Boolean(is);
}

const MAX_SUBSTR = 4096;
function contains({ input, substr, case_insensitive }: Tree, row: Row): boolean | null {
  const [text, part] = [asText(input, row), asText(substr, row)];
  if (text === null || part === null || Buffer.byteLength(part) > MAX_SUBSTR) return null;
  const isKnown = '$literal' in substr;
  const isJson = '$getField' in input && field(row, input['$getField']).type === 'json';
  const texts = isJson ? saidBy(text, isDocument(row, input['$getField'])) : [text];
  return texts.some((said) => isIn(said, part, Boolean(case_insensitive), isKnown));
}

function isIn(text: string, part: string, isFolded: boolean, isKnown: boolean): boolean {
  if (!isFolded) return text.includes(part);
  const letters = Array.from(text);
  const wanted = Array.from(part);
  const isSame = (a: string, b: string) =>
    a === b || ascii(a) === ascii(b) || (isKnown && swapped(a, b));
  return letters.concat('').some((_, i) => {
    const slice = letters.slice(i, i + wanted.length);
    return slice.length === wanted.length && slice.every((a, j) => isSame(a, wanted[j]!));
  });
}

const isDocument = (row: Row, name: string) => {
  const found = docAt(row, pathOf(name));
  return typeof found === 'object' && found !== null && !('num' in found);
};

/** The texts that a search sees: a document without its escapes, and in the same way each string in it that is JSON. */
function saidBy(text: string, isDocument: boolean): string[] {
  const own = isDocument ? decoded(text) : text;
  if (!text.includes('\\')) return [own];
  const looksLikeJson = /^\s*(\{[^]*\}|\[[^]*\]|"[^]*")\s*$/.test(text) && text.includes('"');
  if (!isDocument) return looksLikeJson ? [own, ...saidBy(text, true)] : [own];
  const strings = text.match(/"(?:[^"\\]|\\[^])*"/g) ?? [];
  return [
    own,
    ...strings
      .map((string) => decoded(string.slice(1, -1)))
      .filter((string) => /^\s*[[{"]/.test(string) && string.includes('\\'))
      .flatMap((string) => saidBy(string, false)),
  ];
}

const decoded = (text: string) =>
  readable(
    text.replaceAll(/\\(["\\/bfnrt]|u[\da-fA-F]{4})/g, (escape) => JSON.parse(`"${escape}"`)),
  );
const ascii = (text: string) => text.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase());
const swapped = (a: string, b: string) =>
  b > '\x80' &&
  (a.toLowerCase() === b || a.toUpperCase() === b || a.toLowerCase() === b.toLowerCase());
