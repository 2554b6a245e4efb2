import { compareCodePoints } from '../../../platform/json/code-point-order.js';
import { createHash } from 'node:crypto';
import { ApiError } from '../../../platform/errors.js';
import {
  CODES,
  Cursor,
  MAX_DEPTH,
  skipValue,
  TooDeep,
} from '../../../platform/json/json-grammar.js';

/*
 * The digests of objects, table rows, tables and files. Clients compute them too, so every byte matters. The digest of
 * an object is taken over the output of Python's `json.dumps(val, sort_keys=True)`.
 */

/** Arrays, objects and members of a value. Computing the digest takes up to about 200 bytes of memory for each. */
const MAX_NODES = 1_000_000;

class TooManyNodes extends Error {
  constructor() {
    super(`a value holds more than ${MAX_NODES} arrays, objects and members`);
    this.name = 'TooManyNodes';
  }
}

/**
 * Returns the digest of the value in `text`, which `JSON.parse` must have accepted.
 * @throws TooDeep, TooManyNodes
 */
export function objectDigest(text: string): string {
  const hash = createHash('sha256');
  new PythonJsonPrinter(text, (bytes) => hash.update(bytes)).print();
  return digestName(hash.digest());
}

export function bytesDigest(bytes: Uint8Array): string {
  return digestName(createHash('sha256').update(bytes).digest());
}

/**
 * Returns the digest of a table, computed from the joined digests of its rows. Unlike other digests, it is hexadecimal.
 */
export function tableDigest(rowDigests: Uint8Array): string {
  return createHash('sha256').update(rowDigests).digest('hex');
}

/** Returns a SHA-256 as the 43 characters of refs and requests: URL-safe base64 without `-`, `_` and `=`. */
export function digestName(sha256: Buffer): string {
  return sha256.toString('base64url').replaceAll('-', 'X').replaceAll('_', 'Y');
}

/** @throws ApiError `conflict` when a client expected another digest of the value that it sent */
export function assertExpected(field: string, expected: string | null | undefined, digest: string) {
  if (typeof expected === 'string' && expected !== digest)
    throw new ApiError('conflict', `${field} differs from the digest of what was sent, ${digest}`);
}

/**
 * Returns what Python 3 prints for `json.dumps(json.loads(text), sort_keys=True)`. `JSON.parse` must have accepted
 * `text`. The function works on the text, because a parsed copy has lost `1.0` and integers beyond 2^53.
 * Oddities of Python that it follows: `-0` prints `0`, a float that is too large prints `Infinity` (no valid JSON), and
 * DEL is escaped. One that it does not follow: Python refuses integers with more than 4300 digits.
 * @throws TooDeep
 */
export function pythonJson(text: string): string {
  let out = '';
  new PythonJsonPrinter(text, (bytes) => (out += bytes.toString('latin1'))).print();
  return out;
}

const { BACKSLASH, CLOSE_BRACE, CLOSE_BRACKET, COLON, COMMA, OPEN_BRACE, OPEN_BRACKET, QUOTE } =
  CODES;
const SLASH = 0x2f;
const LETTER_U = 0x75;
const DELETE = 0x7f;

const FLOAT = /\d[.eE]/;
const NOT_PLAIN = /[^ !#-[\]-~]/g;

/**
 * Up to this length, loops over characters are faster than `RegExp` and `Buffer` calls. Beyond it, those are three
 * times as fast.
 */
const SHORT_RUN = 16;

const HEX_DIGITS = Buffer.from('0123456789abcdef');

/** Collects output before it goes to the sink. Printing is synchronous and does not nest, so one buffer is enough. */
const outputBuffer = Buffer.alloc(64 * 1024);

/** A value in the text: a string or scalar as its position, an array as its elements, an object as its members. */
type JsonNode = number | JsonNode[] | ObjectNode;

interface ObjectNode {
  readonly members: ObjectMember[];
}

interface ObjectMember {
  readonly key: string;
  readonly keyAt: number;
  readonly value: JsonNode;
}

/**
 * Reads containers into nodes, sorts their members, then prints bytes. A single pass that concatenates strings was not
 * faster for short members. For Chinese text, where each character is an escape, it was fourteen times slower, at 3
 * MB/s. Figures: `bench/json-text.mjs`. `MAX_DEPTH` limits the recursion.
 */
class PythonJsonPrinter {
  private used = 0;
  private nodes = 0;

  constructor(
    private readonly text: string,
    private readonly sink: (bytes: Buffer) => void,
  ) {}

  print(): void {
    this.printNode(this.read(new Cursor(this.text, 0), 1));
    this.flush();
  }

  private read(cursor: Cursor, depth: number): JsonNode {
    const { at } = cursor;
    if (!cursor.isContainer) {
      cursor.skip();
      return at;
    }
    if (depth > MAX_DEPTH) throw new TooDeep();
    this.count();
    const items = cursor.inside();
    const isObject = cursor.first === OPEN_BRACE;
    const node = isObject ? this.readObject(items, depth + 1) : this.readArray(items, depth + 1);
    cursor.at = items.at;
    return node;
  }

  private count(): void {
    if (++this.nodes > MAX_NODES) throw new TooManyNodes();
  }

  private readArray(cursor: Cursor, depth: number): JsonNode[] {
    const elements: JsonNode[] = [];
    while (cursor.next()) elements.push(this.read(cursor, depth));
    return elements;
  }

  private readObject(cursor: Cursor, depth: number): ObjectNode {
    const members: ObjectMember[] = [];
    while (cursor.next()) {
      this.count();
      const { key, keyAt } = cursor;
      members.push({ key: key!, keyAt, value: this.read(cursor, depth) });
    }
    members.sort((a, b) => compareCodePoints(a.key, b.key));
    return { members };
  }

  private printNode(node: JsonNode): void {
    if (typeof node !== 'number') {
      if (Array.isArray(node)) this.printArray(node);
      else this.printObject(node);
    } else if (this.text.charCodeAt(node) === QUOTE) this.printString(node);
    else this.printScalar(node);
  }

  private printArray(elements: JsonNode[]): void {
    this.printByte(OPEN_BRACKET);
    for (let i = 0; i < elements.length; i++) {
      if (i > 0) this.printSeparator(COMMA);
      this.printNode(elements[i]!);
    }
    this.printByte(CLOSE_BRACKET);
  }

  /** The last of equal keys counts. The stable sort keeps it last. */
  private printObject({ members }: ObjectNode): void {
    this.printByte(OPEN_BRACE);
    let isFirst = true;
    for (let i = 0; i < members.length; i++) {
      const { key, keyAt, value } = members[i]!;
      if (members[i + 1]?.key === key) continue;
      if (!isFirst) this.printSeparator(COMMA);
      isFirst = false;
      this.printString(keyAt);
      this.printSeparator(COLON);
      this.printNode(value);
    }
    this.printByte(CLOSE_BRACE);
  }

  private printString(start: number): void {
    const { text } = this;
    this.printByte(QUOTE);
    let from = start + 1;
    for (;;) {
      const to = copyEnd(text, from);
      if (to > from) this.printAscii(text.slice(from, to));
      const c = text.charCodeAt(to);
      if (c === QUOTE) break;
      from = to + (c === BACKSLASH ? this.printEscape(to) : 1);
      if (c !== BACKSLASH) this.printUnicodeEscape(c);
    }
    this.printByte(QUOTE);
  }

  /** Prints the `\/` or `\uXXXX` at `at`. Returns its length. */
  private printEscape(at: number): number {
    if (this.text.charCodeAt(at + 1) === SLASH) {
      this.printByte(SLASH);
      return 2;
    }
    const unit = Number.parseInt(this.text.slice(at + 2, at + 6), 16);
    // Below DEL, Python prints as JSON.stringify does: short escapes, hex in lower case, or the character itself.
    if (unit < DELETE) this.printAscii(JSON.stringify(String.fromCharCode(unit)).slice(1, -1));
    else this.printUnicodeEscape(unit);
    return 6;
  }

  private printUnicodeEscape(unit: number): void {
    this.printByte(BACKSLASH);
    this.printByte(LETTER_U);
    for (let shift = 12; shift >= 0; shift -= 4) this.printByte(HEX_DIGITS[(unit >> shift) & 0xf]!);
  }

  private printScalar(at: number): void {
    const spelling = this.text.slice(at, skipValue(this.text, at));
    if (FLOAT.test(spelling)) this.printAscii(pythonFloat(Number(spelling)));
    else this.printAscii(spelling === '-0' ? '0' : spelling);
  }

  private printSeparator(separator: number): void {
    this.printByte(separator);
    this.printByte(0x20);
  }

  private printAscii(text: string): void {
    if (text.length > SHORT_RUN) {
      this.printLong(text);
      return;
    }
    for (let i = 0; i < text.length; i++) this.printByte(text.charCodeAt(i));
  }

  private printLong(text: string): void {
    for (let from = 0; from < text.length;) {
      if (this.used === outputBuffer.length) this.flush();
      const room = outputBuffer.length - this.used;
      const part = text.slice(from, from + room);
      this.used += outputBuffer.write(part, this.used, 'latin1');
      from += part.length;
    }
  }

  private printByte(byte: number): void {
    if (this.used === outputBuffer.length) this.flush();
    outputBuffer[this.used++] = byte;
  }

  private flush(): void {
    this.sink(outputBuffer.subarray(0, this.used));
    this.used = 0;
  }
}

/**
 * Returns the first position inside a string, from `at` on, of the closing quote or of a character that may be printed
 * differently.
 */
function copyEnd(text: string, at: number): number {
  let i = at;
  for (;;) {
    i = plainEnd(text, i);
    if (text.charCodeAt(i) !== BACKSLASH) return i;
    const letter = text.charCodeAt(i + 1);
    if (letter === LETTER_U || letter === SLASH) return i;
    i += 2;
  }
}

function plainEnd(text: string, at: number): number {
  const loopEnd = at + SHORT_RUN;
  for (let i = at; i < loopEnd; i++) {
    const c = text.charCodeAt(i);
    if (c === QUOTE || c === BACKSLASH || c >= DELETE) return i;
  }
  NOT_PLAIN.lastIndex = loopEnd;
  NOT_PLAIN.test(text);
  return NOT_PLAIN.lastIndex - 1;
}

/**
 * Prints a float as Python's `repr`. Both languages print the shortest digits that parse to the same number. Python
 * uses an exponent of at least two digits below 1e-4 and from 1e16 on, and `.0` after integers.
 */
function pythonFloat(value: number): string {
  if (!Number.isFinite(value)) return String(value);
  if (value === 0) return Object.is(value, -0) ? '-0.0' : '0.0';
  const size = Math.abs(value);
  if (size < 1e-4 || size >= 1e16) return value.toExponential().replace(/(?<=e[+-])(?=\d$)/, '0');
  return Number.isInteger(value) ? `${value}.0` : String(value);
}
