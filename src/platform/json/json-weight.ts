import { CODES, skipSpace, skipString } from './json-grammar.js';

/** Thrown when a text exceeds one of the limits below. */
export class JsonLimit extends Error {
  constructor(
    message: string,
    readonly isDepth = false,
  ) {
    super(message);
  }
}

/**
 * Limits of one JSON text. They are above what real bodies contain: a table of a million rows, 32 MiB of embeddings, a
 * vocabulary as one object. They limit how long `JSON.parse` blocks the event loop, which is mostly the cost of memory.
 * bench/json-weight.mjs measures a text at each limit.
 */
/** Most bytes of memory at the peak of `JSON.parse`, without the characters of strings. */
export const MAX_PARSED_BYTES = 160 * 1024 * 1024;
/** Most shapes. A shape is the sequence of keys up to one of them, and V8 keeps a description of each. */
export const MAX_SHAPES = 200_000;
/**
 * Most different short strings. V8 looks up each string of up to `SHORT_STRING` characters in its table of all names.
 */
export const MAX_SHORT_STRINGS = 500_000;
const SHORT_STRING = 10;
/** Length of a short string in the text when each of its characters is an escape. */
const SHORT_STRING_ESCAPED = 6 * SHORT_STRING;
/** Most containers inside each other. Free-form JSON has a lower limit of its own, `MAX_DEPTH`. */
export const MAX_BODY_DEPTH = 10_000;

/* Bytes of heap at the peak of `JSON.parse` on Node 20 and 24, rounded up, as measured by bench/json-weight.mjs. */
const CONTAINER_BYTES = 64;
const SLOT_BYTES = 8;
/** The parser keeps each value on two stacks outside the heap until its container is complete. */
const STACK_BYTES = 16;
const DOUBLE_BYTES = 16;
const STRING_BYTES = 24;
const SHAPE_BYTES = 256;
/** A numeric key turns its object into a dictionary. */
const INDEX_KEY_BYTES = 160;

/**
 * A text of up to this length is not counted, and its values are assumed to take `WORST_FACTOR` times its length.
 * Counting costs about as much as `JSON.parse`, and most bodies are short.
 */
const SHORT_TEXT = 64 * 1024;
const WORST_FACTOR = 32;

/** Hashes of recent shapes and short strings, indexed by their lower bits, so that repeats are rarely counted again. */
const SEEN = new Int32Array(8192);
/** Hash of the keys so far of each open container. */
const SHAPES = new Int32Array(MAX_BODY_DEPTH + 2);

const HASH_START = 0x811c9dc5;
const HASH_PRIME = 0x01000193;
/** Characters that are hashed before the end of a string is known. Longer than `SHORT_STRING` and most keys. */
const HASHED_RUN = 16;

const { BACKSLASH, CLOSE_BRACE, COLON, COMMA, MINUS, NINE, OPEN_BRACE, QUOTE, ZERO } = CODES;
const DOT = 0x2e;
const LETTER_E = 0x45;
/** Setting this bit converts a letter to lower case, and a bracket to a brace. */
const LOWER_CASE = 0x20;

/**
 * Estimates the bytes of memory for the values of a JSON text in one pass, without building them. `bytesPerCharacter`
 * adds the text itself. The estimate is high rather than low. For text that is not JSON the result is meaningless.
 * @throws JsonLimit when the text exceeds a limit above
 */
export function parsedBytes(text: string, bytesPerCharacter = 1): number {
  if (text.length <= SHORT_TEXT) return text.length * WORST_FACTOR;
  return valueBytes(text) + text.length * bytesPerCharacter;
}

/**
 * Counts what `parsedBytes` estimates, also for a short text. The characters of strings are not included.
 * @throws JsonLimit when the text exceeds a limit above
 */
export const valueBytes = (text: string): number => new WeightEstimate(text).bytes();

class WeightEstimate {
  private containers = 0;
  private scalars = 0;
  private doubles = 0;
  private strings = 0;
  private shortStrings = 0;
  private shapes = 0;
  private indexKeys = 0;
  private depth = 0;
  private isDouble = false;

  constructor(private readonly text: string) {}

  bytes(): number {
    SEEN.fill(0);
    const { text } = this;
    let i = 0;
    while (i < text.length) {
      const c = text.charCodeAt(i);
      if (c <= NINE && c >= ZERO) i++;
      else if (c === QUOTE) i = this.string(i);
      else {
        if (c === COMMA) this.comma();
        else if (c === DOT || c === MINUS || c === LETTER_E) this.isDouble = true;
        else if (c > LETTER_E) this.letterOrBracket(c | LOWER_CASE);
        i++;
      }
    }
    const bytes =
      this.containers * (CONTAINER_BYTES + SLOT_BYTES) +
      this.scalars * SLOT_BYTES +
      (this.doubles + 1) * DOUBLE_BYTES +
      this.strings * STRING_BYTES +
      this.shapes * SHAPE_BYTES +
      this.indexKeys * INDEX_KEY_BYTES;
    const peak = bytes + this.scalars * STACK_BYTES;
    if (peak > MAX_PARSED_BYTES) throw tooHeavy(peak);
    return bytes;
  }

  private comma(): void {
    this.scalars++;
    if (this.isDouble) this.doubles++;
    this.isDouble = false;
  }

  private letterOrBracket(c: number): void {
    if (c === (LETTER_E | LOWER_CASE)) this.isDouble = true;
    else if (c === OPEN_BRACE) {
      this.containers++;
      if (++this.depth > MAX_BODY_DEPTH) throw tooDeep();
      SHAPES[this.depth] = 0;
    } else if (c === CLOSE_BRACE && this.depth > 0) this.depth--;
  }

  /**
   * Reads a string, or a key with its colon, and returns its end. Most are short and plain, so they are hashed while
   * they are read.
   */
  private string(at: number): number {
    const { text } = this;
    const runEnd = at + 1 + HASHED_RUN;
    let i = at + 1;
    let hash = HASH_START;
    let c = text.charCodeAt(i);
    while (c !== QUOTE && c !== BACKSLASH && i < runEnd) {
      hash = Math.imul(hash ^ c, HASH_PRIME);
      c = text.charCodeAt(++i);
    }
    const isHashed = c === QUOTE;
    const end = isHashed ? i + 1 : skipString(text, i - 1);
    const next = text.charCodeAt(end) === COLON ? end : skipSpace(text, end);
    const isKey = text.charCodeAt(next) === COLON;
    if (isKey) this.key(at + 1, isHashed ? hash : hashRange(text, at + 1, end - 1));
    else if (isHashed) this.value(i - at - 1 <= SHORT_STRING, hash);
    else this.otherValue(at + 1, end - 1);
    return isKey ? next + 1 : end;
  }

  private otherValue(from: number, to: number): void {
    const isShort = this.isShort(from, to);
    this.value(isShort, isShort ? hashRange(this.text, from, to) : 0);
  }

  private value(isShort: boolean, hash: number): void {
    this.strings++;
    if (!isShort || !isNew(mixed(hash))) return;
    if (++this.shortStrings > MAX_SHORT_STRINGS)
      throw tooMany(MAX_SHORT_STRINGS, `different strings of up to ${SHORT_STRING} characters`);
  }

  private isShort(from: number, to: number): boolean {
    const length = to - from;
    if (length <= SHORT_STRING || length > SHORT_STRING_ESCAPED) return length <= SHORT_STRING;
    return this.text.slice(from, to).includes('\\');
  }

  private key(from: number, hash: number): void {
    const first = this.text.charCodeAt(from);
    if (first >= ZERO && first <= NINE) this.indexKeys++;
    const shape = mixed(Math.imul(SHAPES[this.depth]!, HASH_PRIME) ^ hash);
    SHAPES[this.depth] = shape;
    if (isNew(shape) && ++this.shapes > MAX_SHAPES)
      throw tooMany(MAX_SHAPES, 'different keys and orders of keys');
  }
}

export const MAX_PARSED_WEIGHT = 10;
/**
 * Parses a part of a body with `JSON.parse`.
 * @throws JsonLimit when its values would take far more memory than its text
 */
export function parseBounded(text: string, reviver?: Parameters<typeof JSON.parse>[1]): unknown {
  if (text.length > SHORT_TEXT && parsedBytes(text, 2) > MAX_PARSED_WEIGHT * text.length)
    throw new JsonLimit(
      `a part of the body takes over the limit of ${MAX_PARSED_WEIGHT} bytes of memory for each byte of its text`,
    );
  return JSON.parse(text, reviver);
}

function isNew(hash: number): boolean {
  const slot = hash & (SEEN.length - 1);
  if (SEEN[slot] === hash) return false;
  SEEN[slot] = hash;
  return true;
}

/** Hashes the characters of a string with FNV-1a. */
function hashRange(text: string, from: number, to: number): number {
  let hash = HASH_START;
  for (let i = from; i < to; i++) hash = Math.imul(hash ^ text.charCodeAt(i), HASH_PRIME);
  return hash;
}

/** Mixes the upper bits into the lower ones, which select the slot. Never returns 0, which means an empty slot. */
const mixed = (hash: number) => Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d) | 1;

const tooMany = (limit: number, what: string) =>
  new JsonLimit(`the body holds more than the limit of ${limit} ${what}`);

const tooHeavy = (bytes: number) =>
  new JsonLimit(
    `the objects, arrays and values of the body take about ${bytes} bytes of memory to parse, over the limit of ${MAX_PARSED_BYTES}`,
  );

const tooDeep = () =>
  new JsonLimit(`the body is nested deeper than ${MAX_BODY_DEPTH} levels`, true);
