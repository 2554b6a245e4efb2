import { CODES, MAX_DEPTH, TooDeep } from './json-grammar.js';

/**
 * Receives the values that lie in at most `JsonScanner.watch` containers. Positions are offsets in the current chunk.
 * An end is exclusive, and is 0 when a number ended with the previous chunk.
 */
export interface ScanListener {
  valueStart(at: number, firstByte: number): void;
  /** `depth` is the number of containers around the value. */
  valueEnd(end: number, depth: number): void;
  /** `length` is the number of bytes of the key as it was spelled, with its quotes. */
  key(key: string, end: number, length: number): void;
}

/** Thrown when the bytes are not JSON. `at` counts from the start of the text. */
export class NotJson extends Error {
  constructor(readonly at: number) {
    super(`not JSON at byte ${at}`);
  }
}

/*
 * The grammar of RFC 8259 as a table from state × byte to the next step. A value below `STARTS` is the next state. With
 * `STARTS` set, a number or literal begins, in the state of the lower bits. From `ACTIONS` on, `act` decides.
 * json-grammar.ts has a grammar of its own: it cannot stop within a token, as a chunk of bytes may, and trusts text
 * that is checked here.
 */
const VALUE = 0;
const FIRST_ELEMENT = 1;
const FIRST_KEY = 2;
const KEY = 3;
const COLON = 4;
const AFTER = 5;
const STRING = 6;
const ESCAPE = 7;
const HEX = 8; // and 9, 10, 11
const MINUS = 12;
const ZERO = 13;
const INTEGER = 14;
const DOT = 15;
const FRACTION = 16;
const E = 17;
const E_SIGN = 18;
const EXPONENT = 19;
const LITERALS = 20; // t-rue, f-alse, n-ull: one state for each remaining letter
const STARTS = 64;
const ACTIONS = 128;
const OPEN_OBJECT = 128;
const OPEN_ARRAY = 129;
const OPEN_STRING = 130;
const OPEN_KEY = 131;
const CLOSE_OBJECT = 132;
const CLOSE_ARRAY = 133;
const CLOSE_STRING = 134;
const COMMA = 135;
const END_NUMBER = 136;
const END_LITERAL = 137;
const BROKEN = 255;

const TRANSITIONS = new Uint8Array(32 * 256).fill(BROKEN);

function addTransition(state: number, characters: string, next: number): void {
  for (const character of characters) TRANSITIONS[state * 256 + character.charCodeAt(0)] = next;
}

const SPACE = ' \t\n\r';
const DIGITS = '0123456789';
for (const state of [VALUE, FIRST_ELEMENT, FIRST_KEY, KEY, COLON, AFTER])
  addTransition(state, SPACE, state);
for (const state of [VALUE, FIRST_ELEMENT]) {
  addTransition(state, '{', OPEN_OBJECT);
  addTransition(state, '[', OPEN_ARRAY);
  addTransition(state, '"', OPEN_STRING);
  addTransition(state, '-', STARTS | MINUS);
  addTransition(state, '0', STARTS | ZERO);
  addTransition(state, '123456789', STARTS | INTEGER);
}
addTransition(FIRST_ELEMENT, ']', CLOSE_ARRAY);
addTransition(FIRST_KEY, '}', CLOSE_OBJECT);
addTransition(FIRST_KEY, '"', OPEN_KEY);
addTransition(KEY, '"', OPEN_KEY);
addTransition(COLON, ':', VALUE);
addTransition(AFTER, ',', COMMA);
addTransition(AFTER, ']', CLOSE_ARRAY);
addTransition(AFTER, '}', CLOSE_OBJECT);
TRANSITIONS.fill(STRING, STRING * 256 + 0x20, STRING * 256 + 256);
addTransition(STRING, '"', CLOSE_STRING);
addTransition(STRING, '\\', ESCAPE);
addTransition(ESCAPE, '"\\/bfnrt', STRING);
addTransition(ESCAPE, 'u', HEX);
for (let digit = 0; digit < 4; digit++)
  addTransition(HEX + digit, '0123456789abcdefABCDEF', digit === 3 ? STRING : HEX + digit + 1);
addTransition(MINUS, '0', ZERO);
addTransition(MINUS, '123456789', INTEGER);
addTransition(INTEGER, DIGITS, INTEGER);
for (const state of [ZERO, INTEGER]) addTransition(state, '.', DOT);
addTransition(DOT, DIGITS, FRACTION);
addTransition(FRACTION, DIGITS, FRACTION);
for (const state of [ZERO, INTEGER, FRACTION]) addTransition(state, 'eE', E);
addTransition(E, '+-', E_SIGN);
for (const state of [E, E_SIGN, EXPONENT]) addTransition(state, DIGITS, EXPONENT);
for (const state of [ZERO, INTEGER, FRACTION, EXPONENT])
  addTransition(state, `${SPACE},]}`, END_NUMBER);
let letterState = LITERALS;
for (const literal of ['true', 'false', 'null']) {
  for (const state of [VALUE, FIRST_ELEMENT])
    addTransition(state, literal[0]!, STARTS | letterState);
  for (let i = 1; i < literal.length; i++) {
    addTransition(
      letterState,
      literal[i]!,
      i === literal.length - 1 ? END_LITERAL : letterState + 1,
    );
    letterState++;
  }
}

const { QUOTE, BACKSLASH } = CODES;
const OBJECT = 1;
const ARRAY = 2;

/** A longer key is reported as empty, because no listener searches for one. */
const MAX_KEY_BYTES = 256;

/**
 * Checks chunk by chunk that bytes are one JSON value, and reports the positions of its outer values. It accepts what
 * `JSON.parse` accepts, to a depth of `MAX_DEPTH`, and assumes valid UTF-8. It keeps no text except one key.
 * `bench/training.mjs` measures its speed.
 */
export class JsonScanner {
  /**
   * Values in at most this many containers are reported. The listener changes it when it enters or leaves a container.
   */
  watch = 0;
  /** Approximate number of values so far: commas and containers. */
  values = 0;
  private state = VALUE;
  private depth = 0;
  private readonly containers = new Uint8Array(MAX_DEPTH + 1);
  /** Bytes of all previous chunks. */
  private before = 0;
  private isKey = false;
  /** Start of the key in this chunk, negative when it began in a previous chunk. */
  private keyStart = 0;
  private keyHead = '';

  constructor(private readonly listener: ScanListener) {}

  write(chunk: Uint8Array): void {
    let state = this.state;
    let i = 0;
    while (i < chunk.length) {
      if (state === STRING) {
        i = endOfPlain(chunk, i);
        if (i === chunk.length) break;
      }
      const next = TRANSITIONS[state * 256 + chunk[i]!]!;
      if (next < STARTS) state = next;
      else if (next < ACTIONS) {
        state = next & ~STARTS;
        if (this.depth <= this.watch) this.listener.valueStart(i, chunk[i]!);
      } else {
        state = this.act(next, chunk, i);
        if (next === END_NUMBER) continue; // the byte after the number is read again
      }
      i++;
    }
    this.state = state;
    if (this.isKey) this.keepKeyHead(chunk);
    this.before += chunk.length;
  }

  /** @throws NotJson when the value is not complete */
  end(): void {
    this.write(Uint8Array.of(0x20)); // ends a number that is the whole text
    if (this.depth > 0 || this.state !== AFTER) throw new NotJson(this.before - 1);
  }

  private act(action: number, chunk: Uint8Array, at: number): number {
    switch (action) {
      case OPEN_OBJECT:
        return this.open(OBJECT, at, chunk[at]!);
      case OPEN_ARRAY:
        return this.open(ARRAY, at, chunk[at]!);
      case OPEN_STRING:
        return this.openString(at);
      case OPEN_KEY:
        return this.openKey(at);
      case CLOSE_STRING:
        return this.isKey ? this.closeKey(chunk, at + 1) : this.endValue(at + 1);
      case COMMA:
        return this.nextState(this.containers[this.depth]!, at);
      case CLOSE_OBJECT:
        return this.close(OBJECT, at);
      case CLOSE_ARRAY:
        return this.close(ARRAY, at);
      case END_NUMBER:
        return this.endValue(at);
      case END_LITERAL:
        return this.endValue(at + 1);
    }
    throw new NotJson(this.before + at);
  }

  private open(container: number, at: number, byte: number): number {
    if (this.depth <= this.watch) this.listener.valueStart(at, byte);
    this.values++;
    if (++this.depth > MAX_DEPTH) throw new TooDeep();
    this.containers[this.depth] = container;
    return container === OBJECT ? FIRST_KEY : FIRST_ELEMENT;
  }

  private openString(at: number): number {
    if (this.depth <= this.watch) this.listener.valueStart(at, QUOTE);
    return STRING;
  }

  private openKey(at: number): number {
    this.isKey = true;
    this.keyStart = at;
    this.keyHead = '';
    return STRING;
  }

  private nextState(container: number, at: number): number {
    if (container === 0) throw new NotJson(this.before + at);
    this.values++;
    return container === ARRAY ? VALUE : KEY;
  }

  private close(container: number, at: number): number {
    if (this.containers[this.depth] !== container || this.depth === 0)
      throw new NotJson(this.before + at);
    this.depth--;
    return this.endValue(at + 1);
  }

  private endValue(end: number): number {
    if (this.depth <= this.watch) this.listener.valueEnd(end, this.depth);
    return AFTER;
  }

  private closeKey(chunk: Uint8Array, end: number): number {
    this.isKey = false;
    if (this.depth <= this.watch) {
      const length = end - this.keyStart;
      this.listener.key(length > MAX_KEY_BYTES ? '' : this.keyText(chunk, end), end, length);
    }
    return COLON;
  }

  private keyText(chunk: Uint8Array, end: number): string {
    const text = this.keyHead + latin1(chunk, this.keyStart, end);
    return text.includes('\\') ? JSON.parse(text) : text.slice(1, -1);
  }

  private keepKeyHead(chunk: Uint8Array): void {
    if (chunk.length - this.keyStart <= MAX_KEY_BYTES)
      this.keyHead += latin1(chunk, this.keyStart, chunk.length);
    this.keyStart -= chunk.length;
  }
}

/** Decodes bytes as Latin-1, which is enough because the names that listeners search for are ASCII. */
const latin1 = (chunk: Uint8Array, start: number, end: number) =>
  Buffer.from(chunk.buffer, chunk.byteOffset, end).toString('latin1', Math.max(start, 0));

/** Returns the position of the first quote, backslash or control character from `at` on, or the end of the chunk. */
function endOfPlain(chunk: Uint8Array, at: number): number {
  let i = at;
  while (i < chunk.length) {
    const c = chunk[i]!;
    if (c === QUOTE || c === BACKSLASH || c < 0x20) return i;
    i++;
  }
  return i;
}
