/**
 * Finds values inside JSON text without building them: free-form JSON is stored and answered as it was sent, so what
 * travels is a span of the text. Everything here trusts the grammar, so hand it only text that `JSON.parse` accepted.
 * On any other text the answers mean nothing; the functions still end. They take linear time and do not recurse.
 * Figures beside `JSON.parse`: `bench/json-text.mjs`.
 */

/** Where a value lies: `text.slice(start, end)` is the value, without the white space around it. */
export type Span = readonly [start: number, end: number];

/** Containers inside containers, the outermost included. PostgreSQL's own parser recurses and could overflow its stack. */
export const MAX_DEPTH = 1000;

export class TooDeep extends Error {
  constructor() {
    super(`JSON is nested deeper than ${MAX_DEPTH} levels`);
    this.name = 'TooDeep';
  }
}

const SPACE = 0x20;
const QUOTE = 0x22;
const COMMA = 0x2c;
const ZERO = 0x30;
const BACKSLASH = 0x5c;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const LETTER_D = 0x64;
const LETTER_U = 0x75;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** The distance between `[` and `{`, and between `]` and `}`; no other pair of characters legal outside strings has it. */
const BRACKET_TO_BRACE = 0x20;

/** Setting this bit in the code of a letter makes it lower case. */
const LOWER_CASE = 0x20;

/**
 * Up to here a loop over the characters of a string, or of what follows an escaped quote, is faster than the call of
 * `indexOf`. With 16, prose ran at 880 MB/s and JSON inside strings at 300; with 32, at 620 and 380.
 */
const SHORT_RUN = 16;

/** The first position from `at` on that holds no white space. */
export function skipSpace(text: string, at: number): number {
  let i = at;
  while (i < text.length && text.charCodeAt(i) <= SPACE) i++;
  return i;
}

/**
 * The end of the value at `at` (white space before it is allowed). Throws `TooDeep` when the value, lying inside
 * `depth` containers, goes deeper than `MAX_DEPTH`; `skipValue(text, 0)` therefore checks a whole text.
 */
export function skipValue(text: string, at: number, depth = 0): number {
  const start = skipSpace(text, at);
  const first = text.charCodeAt(start);
  if (first === QUOTE) return skipString(text, start);
  if ((first | BRACKET_TO_BRACE) === OPEN_BRACE) return skipContainer(text, start, depth);
  return skipScalar(text, start);
}

/**
 * The members of the object at `at`, keys decoded. Of a repeated key the last value wins, at the place of the first,
 * as in `JSON.parse`.
 */
export function memberSpans(text: string, at: number, depth = 1): Map<string, Span> {
  const spans = new Map<string, Span>();
  let i = skipSpace(text, skipSpace(text, at) + 1);
  while (i < text.length && text.charCodeAt(i) !== CLOSE_BRACE) {
    const keyEnd = skipString(text, i);
    const start = skipSpace(text, skipSpace(text, keyEnd) + 1);
    const end = skipValue(text, start, depth);
    spans.set(decoded(text.slice(i + 1, keyEnd - 1)), [start, end]);
    i = afterComma(text, end);
  }
  return spans;
}

/** The texts of the members of an object, by name. */
export const memberTexts = (object: string): Map<string, string> =>
  new Map([...memberSpans(object, 0)].map(([name, span]) => [name, object.slice(...span)]));

/** The text of the object that has these members. */
export const objectText = (members: Iterable<[name: string, text: string]>): string =>
  `{${Array.from(members, ([name, text]) => `${JSON.stringify(name)}:${text}`).join(',')}}`;

/** The elements of the array at `at`. */
export function elementSpans(text: string, at: number, depth = 1): Span[] {
  const spans: Span[] = [];
  let i = skipSpace(text, skipSpace(text, at) + 1);
  while (i < text.length && text.charCodeAt(i) !== CLOSE_BRACKET) {
    const end = skipValue(text, i, depth);
    spans.push([i, end]);
    i = afterComma(text, end);
  }
  return spans;
}

/** The text of the value at a path of members in an object's text. The path must exist. */
export function valueAt(text: string, ...names: string[]): string {
  return names.reduce((value, name) => value.slice(...memberSpans(value, 0).get(name)!), text);
}

/** Values to find: `true` is the value itself; else these members of it, or `[shape]` in each of its elements. */
export type Shape = true | readonly [Shape] | { readonly [member: string]: Shape };

/** The texts that a shape finds; undefined where a value is missing or is another kind of container. */
export type Texts<S extends Shape> = S extends true
  ? string
  : S extends readonly [infer E extends Shape]
    ? (Texts<E> | TooDeep | undefined)[]
    : S extends { readonly [member: string]: Shape }
      ? { [K in keyof S]?: Texts<S[K]> }
      : never;

/**
 * The texts of the values that the shape names, in one pass. The depth of an element counts from itself, and one that
 * is too deep is a `TooDeep` in its place, so that it can be refused by itself. @throws TooDeep outside elements
 */
export function textsIn<const S extends Shape>(text: string, shape: S): Texts<S> | undefined {
  return new Finder(text).find(shape, 0) as Texts<S> | undefined;
}

class Finder {
  private at = 0;

  constructor(private readonly text: string) {}

  /** Collects what the shape finds in the value at `at`, and moves `at` behind it. */
  find(shape: Shape, depth: number): unknown {
    this.at = skipSpace(this.text, this.at);
    const first = this.text.charCodeAt(this.at);
    if (isList(shape) && first === OPEN_BRACKET) return this.elements(shape[0]);
    if (isMembers(shape) && first === OPEN_BRACE) return this.members(shape, depth + 1);
    const start = this.at;
    this.at = skipValue(this.text, start, depth);
    return shape === true ? this.text.slice(start, this.at) : undefined;
  }

  private members(shape: Record<string, Shape>, depth: number): Record<string, unknown> {
    const { text } = this;
    const found: Record<string, unknown> = {};
    this.at = skipSpace(text, this.at + 1);
    while (this.at < text.length && text.charCodeAt(this.at) !== CLOSE_BRACE) {
      const keyEnd = skipString(text, this.at);
      const name = nameAt(text, this.at + 1, keyEnd - 1, shape);
      this.at = skipSpace(text, keyEnd) + 1;
      if (name === undefined) this.at = skipValue(text, this.at, depth);
      else found[name] = this.find(shape[name]!, depth);
      this.at = afterComma(text, this.at);
    }
    this.at++;
    return found;
  }

  private elements(shape: Shape): unknown[] {
    const { text } = this;
    const found: unknown[] = [];
    this.at = skipSpace(text, this.at + 1);
    while (this.at < text.length && text.charCodeAt(this.at) !== CLOSE_BRACKET) {
      const start = this.at;
      try {
        found.push(this.find(shape, 0));
      } catch (error) {
        found.push(error);
        this.at = skipValue(text, start, UNLIMITED);
      }
      this.at = afterComma(text, this.at);
    }
    this.at++;
    return found;
  }
}

/** The name of the shape that a key spells; a string for each key of a body would cost more than the search. */
function nameAt(
  text: string,
  from: number,
  to: number,
  shape: Record<string, Shape>,
): string | undefined {
  for (const name in shape)
    if (name.length === to - from && text.startsWith(name, from)) return name;
  for (let i = from; i < to; i++) {
    if (text.charCodeAt(i) !== BACKSLASH) continue;
    const key = decoded(text.slice(from, to));
    return Object.hasOwn(shape, key) ? key : undefined;
  }
  return undefined;
}

const isList = (shape: Shape): shape is readonly [Shape] => Array.isArray(shape);
const isMembers = (shape: Shape): shape is Record<string, Shape> =>
  shape !== true && !isList(shape);

/** A depth from which no nesting reaches the limit. */
const UNLIMITED = -Number.MAX_SAFE_INTEGER;

/**
 * The texts of the elements of an array, which is a member of an object's text. Their depth is not checked, so that
 * an element that is too deep can be refused by itself.
 */
export function elementTexts(text: string, name: string): string[] {
  const [start] = memberSpans(text, 0, UNLIMITED).get(name)!;
  return elementSpans(text, start, UNLIMITED).map((span) => text.slice(...span));
}

/** The string that is spelled `"${body}"`. */
export function decoded(body: string): string {
  return body.includes('\\') ? JSON.parse(`"${body}"`) : body;
}

/**
 * Whether the text spells `\u0000` or half of a surrogate pair as an escape. PostgreSQL stores such a `json` value,
 * but its accessors (`->>`, `json_to_recordset`, …) fail on it, for the whole batch. Exact, given that the text holds no
 * half surrogate of its own, which text decoded from UTF-8 never does.
 */
export function hasOpaqueEscapes(text: string): boolean {
  for (let i = text.indexOf('\\u'); i >= 0; i = text.indexOf('\\u', i + 2)) {
    if (isOpaqueEscape(text, i)) return true;
  }
  return false;
}

export function skipString(text: string, at: number): number {
  let i = at + 1;
  for (;;) {
    const loopEnd = Math.min(i + SHORT_RUN, text.length);
    while (i < loopEnd) {
      const c = text.charCodeAt(i);
      if (c === QUOTE) return i + 1;
      i += c === BACKSLASH ? 2 : 1;
    }
    i = text.indexOf('"', i);
    if (i < 0) return text.length;
    if (!isEscaped(text, i)) return i + 1;
    i++;
  }
}

/** Whether an odd number of backslashes precedes `at`. Only strings hold backslashes, so the run ends at the opening quote. */
function isEscaped(text: string, at: number): boolean {
  let i = at;
  while (text.charCodeAt(i - 1) === BACKSLASH) i--;
  return (at - i) % 2 === 1;
}

function skipContainer(text: string, start: number, depth: number): number {
  let open = depth;
  let i = start;
  while (i < text.length) {
    const c = text.charCodeAt(i);
    if (c === QUOTE) {
      i = skipString(text, i);
      continue;
    }
    i++;
    const brace = c | BRACKET_TO_BRACE;
    if (brace === OPEN_BRACE) {
      if (++open > MAX_DEPTH) throw new TooDeep();
    } else if (brace === CLOSE_BRACE && --open === depth) {
      return i;
    }
  }
  return i;
}

function skipScalar(text: string, start: number): number {
  let i = start + 1; // a step even where there is no scalar, so that no loop over broken text stands still
  while (i < text.length) {
    const c = text.charCodeAt(i);
    if (c <= SPACE || c === COMMA || (c | BRACKET_TO_BRACE) === CLOSE_BRACE) break;
    i++;
  }
  return i;
}

/** The start of the next member or element after a value that ends at `end`, or the closing character. */
export function afterComma(text: string, end: number): number {
  const i = skipSpace(text, end);
  return text.charCodeAt(i) === COMMA ? skipSpace(text, i + 1) : i;
}

/** Whether the `\u` at `at` spells a zero, or a surrogate whose other half is not the escape beside it. */
function isOpaqueEscape(text: string, at: number): boolean {
  const digit = text.charCodeAt(at + 2);
  if (digit !== ZERO && (digit | LOWER_CASE) !== LETTER_D) return false;
  const unit = escapedUnit(text, at);
  if (isHigh(unit)) return !isLow(escapedUnit(text, at + 6));
  if (isLow(unit)) return !isHigh(escapedUnit(text, at - 6));
  return unit === 0;
}

const isHigh = (unit: number): boolean => unit >= 0xd800 && unit < 0xdc00;
const isLow = (unit: number): boolean => unit >= 0xdc00 && unit < 0xe000;

/** The code unit that a `\uXXXX` at `at` stands for, NaN where there is none. */
function escapedUnit(text: string, at: number): number {
  const isUnit =
    text.charCodeAt(at) === BACKSLASH &&
    text.charCodeAt(at + 1) === LETTER_U &&
    !isEscaped(text, at);
  return isUnit ? Number.parseInt(text.slice(at + 2, at + 6), 16) : NaN;
}
