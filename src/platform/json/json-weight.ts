import { CODES, skipSpace, skipString } from './json-grammar.js';

/** A text holds more than a limit below, or is nested too deep. */
export class JsonLimit extends Error {
  constructor(
    message: string,
    readonly isDepth = false,
  ) {
    super(message);
  }
}

/**
 * Limits of one JSON text, above what real bodies hold: a table of a million rows, 32 MiB of embeddings, a vocabulary as
 * one object. They bound the time for which `JSON.parse` blocks the event loop, most of which goes into memory:
 * bench/json-weight.mjs prints what a text at each limit takes.
 */
/** Bytes of memory at the peak of `JSON.parse`, the characters of strings not included. */
export const MAX_PARSED_BYTES = 160 * 1024 * 1024;
/** A shape is the sequence of keys up to one of them: V8 keeps a description of each. */
export const MAX_SHAPES = 200_000;
/** V8 looks up each string of up to `SHORT_STRING` characters in the table of all names. */
export const MAX_SHORT_STRINGS = 500_000;
const SHORT_STRING = 10;
/** Its length in the text when each of its characters is written as an escape. */
const SHORT_STRING_ESCAPED = 6 * SHORT_STRING;
/** Containers inside containers. What is free-form has a lower limit of its own, `MAX_DEPTH`. */
export const MAX_BODY_DEPTH = 10_000;

/*
 * Bytes of heap at the peak of `JSON.parse`, on Node 20 and 24, rounded up: bench/json-weight.mjs prints them.
 */
const CONTAINER_BYTES = 64;
const SLOT_BYTES = 8;
/** The parser keeps each value on two stacks, outside the heap, until its container is complete. */
const STACK_BYTES = 16;
const DOUBLE_BYTES = 16;
const STRING_BYTES = 24;
const SHAPE_BYTES = 256;
/** A key that is a number makes a dictionary of its object. */
const INDEX_KEY_BYTES = 160;

/**
 * A text this short is not counted: its values take at most this factor of its length. Counting costs about as much
 * as `JSON.parse`, and most bodies are short.
 */
const SHORT_TEXT = 64 * 1024;
const WORST_FACTOR = 32;

/** Hashes of the shapes and short strings seen last, by their lower bits, so that repeats are counted once or seldom. */
const SEEN = new Int32Array(8192);
/** Hash of the keys of each open container so far. */
const SHAPES = new Int32Array(MAX_BODY_DEPTH + 2);

const HASH_START = 0x811c9dc5;
const HASH_PRIME = 0x01000193;
/** How many characters are hashed before the end of a string is known: more than `SHORT_STRING` and most keys have. */
const HASHED_RUN = 16;

const { BACKSLASH, CLOSE_BRACE, COLON, COMMA, MINUS, NINE, OPEN_BRACE, QUOTE, ZERO } = CODES;
const DOT = 0x2e;
const LETTER_E = 0x45;
/** Set in the code of a letter, makes it lower case; in that of a bracket, a brace. */
const LOWER_CASE = 0x20;

/**
 * The bytes of memory that the values of a JSON text take, text not included, estimated in one pass that builds nothing;
 * for text that is no JSON, any number. The estimate is high rather than low.
 * @throws JsonLimit when it holds more than a limit above, or is nested too deep.
 */
export function parsedBytes(text: string, bytesPerCharacter = 1): number {
  if (text.length <= SHORT_TEXT) return text.length * WORST_FACTOR;
  return new WeightEstimate(text).bytes() + text.length * bytesPerCharacter;
}

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

  /** A string, or a key with its colon. Answers where it ends. Most are short and plain: they are hashed as they are read. */
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

  /** A string that is long or holds escapes. */
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

/** Bytes of memory that each byte of a text may take when `parseBounded` parses it. */
export const MAX_PARSED_WEIGHT = 10;
/** `JSON.parse` for a part of a body. @throws JsonLimit when its values would take far more than its text */
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

/** FNV-1a over the characters of a string. */
function hashRange(text: string, from: number, to: number): number {
  let hash = HASH_START;
  for (let i = from; i < to; i++) hash = Math.imul(hash ^ text.charCodeAt(i), HASH_PRIME);
  return hash;
}

/** Mixes the upper bits into the lower ones, which choose the slot. Never 0, which means an empty slot. */
const mixed = (hash: number) => Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d) | 1;

const tooMany = (limit: number, what: string) =>
  new JsonLimit(`the body holds more than the limit of ${limit} ${what}`);

const tooHeavy = (bytes: number) =>
  new JsonLimit(
    `the objects, arrays and values of the body take about ${bytes} bytes of memory to parse, over the limit of ${MAX_PARSED_BYTES}`,
  );

const tooDeep = () =>
  new JsonLimit(`the body is nested deeper than ${MAX_BODY_DEPTH} levels`, true);
