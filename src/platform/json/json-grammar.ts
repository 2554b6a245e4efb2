/**
 * The grammar of JSON text: where white space, strings, scalars and containers end. The service finds slices with it, and the
 * console its index, so it imports nothing. Everything here trusts the grammar: hand it only text that `JSON.parse` accepted,
 * or check each step. On any other text the answers mean nothing; the functions still end. They take linear time and do not
 * recurse. Figures beside `JSON.parse`: `bench/json-text.mjs`.
 */

/** Containers inside containers, the outermost included. PostgreSQL's own parser recurses and could overflow its stack. */
export const MAX_DEPTH = 1000;

/** A depth from which no nesting reaches the limit: no string is so long. */
export const UNLIMITED = -(2 ** 30);

export class TooDeep extends Error {
  constructor() {
    super(`JSON is nested deeper than ${MAX_DEPTH} levels`);
    this.name = 'TooDeep';
  }
}

const TAB = 0x09;
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const SPACE = 0x20;
const QUOTE = 0x22;
const COMMA = 0x2c;
const MINUS = 0x2d;
const ZERO = 0x30;
const EIGHT = 0x38;
const NINE = 0x39;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_BRACKET = 0x5d;
const LETTER_C = 0x63;
const LETTER_D = 0x64;
const LETTER_U = 0x75;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/**
 * Codes of characters, for other files. Destructure them: an imported constant is looked up each time, which makes a loop
 * over characters a sixth slower than a constant of the module.
 */
export const CODES = {
  QUOTE,
  COMMA,
  MINUS,
  ZERO,
  NINE,
  COLON,
  OPEN_BRACKET,
  BACKSLASH,
  CLOSE_BRACKET,
  OPEN_BRACE,
  CLOSE_BRACE,
};

/** The distance between `[` and `{`, and between `]` and `}`; no other pair of characters legal outside strings has it. */
const BRACKET_TO_BRACE = 0x20;
/** The distance between `[` and `]`, and between `{` and `}`. */
const OPEN_TO_CLOSE = 2;

/** Setting this bit in the code of a letter makes it lower case. */
const LOWER_CASE = 0x20;

/** A number or a word, with `lastIndex` at its start. Where it fails, there is none. */
export const SCALAR = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;

/**
 * Up to here a loop over the characters of a string, or of what follows an escaped quote, is faster than the call of
 * `indexOf`. With 16, prose ran at 880 MB/s and JSON inside strings at 300; with 32, at 620 and 380.
 */
const SHORT_RUN = 16;

export const closingBracket = (open: number): number => open + OPEN_TO_CLOSE;

/** The first position from `at` on that holds no white space. Mostly it is `at`: the loop apart leaves room to inline this. */
export function skipSpace(text: string, at: number): number {
  return text.charCodeAt(at) > SPACE ? at : spaceEnd(text, at);
}

function spaceEnd(text: string, at: number): number {
  let i = at;
  while (i < text.length) {
    const c = text.charCodeAt(i);
    if (c !== SPACE && c !== LINE_FEED && c !== CARRIAGE_RETURN && c !== TAB) break;
    i++;
  }
  return i;
}

/** Where the string ends that begins at `at`; behind the end of the text when it is not closed. */
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
    if (i < 0) return text.length + 1;
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

/** Whether the `\u` at `at` spells a zero, or a surrogate whose other half is not the escape beside it. */
function isOpaqueEscape(text: string, at: number): boolean {
  const digit = text.charCodeAt(at + 2);
  if (digit !== ZERO && (digit | LOWER_CASE) !== LETTER_D) return false;
  if (digit === ZERO) return text.startsWith('000', at + 3) && !isEscaped(text, at);
  if (!isHalf(text, at) || isEscaped(text, at)) return false;
  if (!isLow(text, at)) return !(isHalf(text, at + 6) && isLow(text, at + 6));
  return !isHalf(text, at - 6) || isLow(text, at - 6) || isEscaped(text, at - 6);
}

/** Whether a `\uXXXX` at `at` is half of a surrogate pair, if its backslash is not escaped itself. */
const isHalf = (text: string, at: number): boolean =>
  text.charCodeAt(at) === BACKSLASH &&
  text.charCodeAt(at + 1) === LETTER_U &&
  (text.charCodeAt(at + 2) | LOWER_CASE) === LETTER_D &&
  text.charCodeAt(at + 3) >= EIGHT;

/** Whether the half at `at` is the second one. */
const isLow = (text: string, at: number): boolean =>
  (text.charCodeAt(at + 3) | LOWER_CASE) >= LETTER_C;

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

function skipContainer(text: string, start: number, depth: number): number {
  const most = MAX_DEPTH - depth;
  let open = 0;
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
      if (++open > most) throw new TooDeep();
    } else if (brace === CLOSE_BRACE && --open === 0) {
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

/**
 * Stands on the value at `at`, then on each member or element in it: `while (cursor.next()) cursor.skip()`. Whoever reads
 * such an item in another way moves `at` to its end. After the last one, `at` is the end of the whole.
 */
export class Cursor {
  /** Where the value begins. */
  at: number;
  /** Where its key begins and ends, with the quotation marks. */
  keyAt = 0;
  private keyEnd = 0;
  private isPlainKey = true;
  private readonly close: number;

  constructor(
    readonly text: string,
    at: number,
  ) {
    this.at = skipSpace(text, at);
    this.close = closingBracket(this.first);
  }

  /** The first character of the value. */
  get first(): number {
    return this.text.charCodeAt(this.at);
  }

  get isContainer(): boolean {
    return (this.first | BRACKET_TO_BRACE) === OPEN_BRACE;
  }

  /** A cursor for what is in the value, which is a container. */
  inside(): Cursor {
    return new Cursor(this.text, this.at);
  }

  next(): boolean {
    const { text, close } = this;
    let i = skipSpace(text, this.at);
    if (text.charCodeAt(i) !== close) i = skipSpace(text, i + 1); // behind the opening character, or a comma
    if (i >= text.length || text.charCodeAt(i) === close) {
      this.at = i + 1;
      return false;
    }
    if (close === CLOSE_BRACE) {
      this.keyAt = i;
      this.keyEnd = this.skipKey(i);
      i = skipSpace(text, skipSpace(text, this.keyEnd) + 1);
    }
    this.at = i;
    return true;
  }

  /** The name of this member, undefined for an element. */
  get key(): string | undefined {
    if (this.close !== CLOSE_BRACE) return undefined;
    return this.isPlainKey
      ? this.text.slice(this.keyAt + 1, this.keyEnd - 1)
      : JSON.parse(this.text.slice(this.keyAt, this.keyEnd));
  }

  /** Which of the names the key of this member spells. A string for each key of a body would cost more than the search. */
  keyIn(names: object): string | undefined {
    const length = this.keyEnd - this.keyAt - 2;
    for (const name in names)
      if (name.length === length && this.text.startsWith(name, this.keyAt + 1)) return name;
    if (this.isPlainKey) return undefined;
    const { key } = this;
    return Object.hasOwn(names, key!) ? key : undefined;
  }

  /** Keys are short: one loop finds where a key ends, and whether it has escapes. */
  private skipKey(at: number): number {
    const { text } = this;
    let i = at + 1;
    let c = text.charCodeAt(i);
    while (c !== QUOTE && c !== BACKSLASH && i < text.length) c = text.charCodeAt(++i);
    this.isPlainKey = c === QUOTE;
    return this.isPlainKey ? i + 1 : skipString(text, i - 1);
  }

  /** Moves behind the value, which lies inside `depth` containers. Answers where it ends. @throws TooDeep */
  skip(depth = 0): number {
    return (this.at = skipValue(this.text, this.at, depth));
  }
}
