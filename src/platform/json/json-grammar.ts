/**
 * The grammar of JSON text: the ends of white space, strings, scalars and containers. The service finds slices of text
 * with it, and the console builds its index, so it imports nothing. Every function trusts its input: pass only text
 * that `JSON.parse` accepted, or check each step. For any other text the results are meaningless, but the functions
 * still end. They take linear time and do not recurse. `bench/json-text.mjs` compares them with `JSON.parse`.
 */

/**
 * Most containers inside each other, including the outermost. PostgreSQL's own parser recurses and could overflow its
 * stack.
 */
export const MAX_DEPTH = 1000;

/** A start depth from which no nesting reaches the limit, because no string is long enough. */
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
 * Character codes for other files. Destructure them: an imported constant is looked up at each use, which makes a loop
 * over characters a sixth slower.
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

/**
 * Distance between `[` and `{`, and between `]` and `}`. No other pair of characters that are legal outside strings has
 * it.
 */
const BRACKET_TO_BRACE = 0x20;
/** Distance between `[` and `]`, and between `{` and `}`. */
const OPEN_TO_CLOSE = 2;

/** Setting this bit in the code of a letter converts it to lower case. */
const LOWER_CASE = 0x20;

/** Matches a number or a word. Set `lastIndex` to its start. */
export const SCALAR = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;

/**
 * Up to this length a loop over the characters of a string, or of the text after an escaped quote, is faster than
 * `indexOf`. With 16, prose ran at 880 MB/s and JSON inside strings at 300; with 32, at 620 and 380.
 */
const SHORT_RUN = 16;

export const closingBracket = (open: number): number => open + OPEN_TO_CLOSE;

/**
 * Returns the first position from `at` on without white space. Mostly it is `at`: the separate loop lets V8 inline this
 * function.
 */
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

/**
 * Returns the end of the string that begins at `at`. For an unclosed string it is greater than the length of the text.
 */
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

/**
 * True when an odd number of backslashes precedes `at`. Only strings contain backslashes, so the run ends at the
 * opening quote.
 */
function isEscaped(text: string, at: number): boolean {
  let i = at;
  while (text.charCodeAt(i - 1) === BACKSLASH) i--;
  return (at - i) % 2 === 1;
}

/**
 * True when the text contains `\u0000` or half of a surrogate pair as an escape. PostgreSQL stores this `json` value,
 * but its accessors (`->>`, `json_to_recordset`, …) fail on it, for the whole batch. The result is exact if the text
 * has no raw half surrogate, which text decoded from UTF-8 never has.
 */
export function hasOpaqueEscapes(text: string): boolean {
  for (let i = text.indexOf('\\u'); i >= 0; i = text.indexOf('\\u', i + 2)) {
    if (isOpaqueEscape(text, i)) return true;
  }
  return false;
}

/** True when the `\u` at `at` spells a zero, or a surrogate whose other half is not the adjacent escape. */
function isOpaqueEscape(text: string, at: number): boolean {
  const digit = text.charCodeAt(at + 2);
  if (digit !== ZERO && (digit | LOWER_CASE) !== LETTER_D) return false;
  if (digit === ZERO) return text.startsWith('000', at + 3) && !isEscaped(text, at);
  if (!isHalf(text, at) || isEscaped(text, at)) return false;
  if (!isLow(text, at)) return !(isHalf(text, at + 6) && isLow(text, at + 6));
  return !isHalf(text, at - 6) || isLow(text, at - 6) || isEscaped(text, at - 6);
}

/** True when the `\uXXXX` at `at` is half of a surrogate pair, if its backslash is not escaped itself. */
const isHalf = (text: string, at: number): boolean =>
  text.charCodeAt(at) === BACKSLASH &&
  text.charCodeAt(at + 1) === LETTER_U &&
  (text.charCodeAt(at + 2) | LOWER_CASE) === LETTER_D &&
  text.charCodeAt(at + 3) >= EIGHT;

/** True when the half at `at` is the second one. */
const isLow = (text: string, at: number): boolean =>
  (text.charCodeAt(at + 3) | LOWER_CASE) >= LETTER_C;

/**
 * Returns the end of the value at `at`, before which white space is allowed. `depth` is the number of containers around
 * the value, so `skipValue(text, 0)` checks the depth of a whole text.
 * @throws TooDeep when the value is nested deeper than `MAX_DEPTH`
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
  let i = start + 1; // advances even where no scalar begins, so that no loop over invalid text hangs
  while (i < text.length) {
    const c = text.charCodeAt(i);
    if (c <= SPACE || c === COMMA || (c | BRACKET_TO_BRACE) === CLOSE_BRACE) break;
    i++;
  }
  return i;
}

/**
 * Points at the value at `at`, then at each member or element in it: `while (cursor.next()) cursor.skip()`. Code that
 * reads an item in another way must set `at` to its end. After the last item, `at` is the end of the container.
 */
export class Cursor {
  at: number;
  /** Start and end of the key of the value, including the quotation marks. */
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

  get first(): number {
    return this.text.charCodeAt(this.at);
  }

  get isContainer(): boolean {
    return (this.first | BRACKET_TO_BRACE) === OPEN_BRACE;
  }

  /** Returns a cursor for the items of the value, which must be a container. */
  inside(): Cursor {
    return new Cursor(this.text, this.at);
  }

  next(): boolean {
    const { text, close } = this;
    let i = skipSpace(text, this.at);
    if (text.charCodeAt(i) !== close) i = skipSpace(text, i + 1); // skips the opening character or a comma
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

  /** Name of this member. Undefined for an element. */
  get key(): string | undefined {
    if (this.close !== CLOSE_BRACE) return undefined;
    return this.isPlainKey
      ? this.text.slice(this.keyAt + 1, this.keyEnd - 1)
      : JSON.parse(this.text.slice(this.keyAt, this.keyEnd));
  }

  /**
   * Returns the one of the names that equals the key of this member. It compares in the text, because a string for each
   * key of a body would cost more than the search.
   */
  keyIn(names: object): string | undefined {
    const length = this.keyEnd - this.keyAt - 2;
    for (const name in names)
      if (name.length === length && this.text.startsWith(name, this.keyAt + 1)) return name;
    if (this.isPlainKey) return undefined;
    const { key } = this;
    return Object.hasOwn(names, key!) ? key : undefined;
  }

  /** Returns the end of the key, and sets whether it has escapes, in one loop. Keys are short. */
  private skipKey(at: number): number {
    const { text } = this;
    let i = at + 1;
    let c = text.charCodeAt(i);
    while (c !== QUOTE && c !== BACKSLASH && i < text.length) c = text.charCodeAt(++i);
    this.isPlainKey = c === QUOTE;
    return this.isPlainKey ? i + 1 : skipString(text, i - 1);
  }

  /**
   * Moves to the end of the value, which lies inside `depth` containers, and returns that position.
   * @throws TooDeep when the value is nested deeper than `MAX_DEPTH`
   */
  skip(depth = 0): number {
    return (this.at = skipValue(this.text, this.at, depth));
  }
}
