import { memberTexts, objectText } from '../json/json-text.js';
import type { RowBatcher } from './row-stream.js';

/**
 * One member of the JSON object that a row becomes. The member is read from the next values of the row.
 * - `text` and `time` are values of these types; `json` is already JSON.
 * - `extended` with `by: 'json'` reads an object and a JSON value, and adds the value as `member`. Null adds nothing.
 * - `extended` with a list reads an object, and adds an object of these pieces as `member`. It replaces an existing
 *   member of that name. Members of the replaced object that no piece names are kept, and come first.
 * - `computed` passes the next `values` values to a function, which returns JSON.
 */
export type RowPiece =
  | { name: string; kind: 'text' | 'time' | 'json' }
  | { name: string; kind: 'computed'; values: number; by: Computation }
  | { name: string; kind: 'extended'; member: string; by: 'json' | readonly RowPiece[] };

export type Computation = (values: (string | null)[]) => string;

/** Rows as JSON objects, one after the other. Each ends at one of `ends`, where one byte is free for a separator. */
export interface JsonRows {
  bytes: Buffer;
  ends: number[];
}

interface EncodedPiece {
  name: string;
  kind: RowPiece['kind'];
  /** `,"name":` and `,"name":null`. The first piece of a row has `{` instead of the comma. */
  key: Buffer;
  keyNull: Buffer;
  member: Buffer;
  memberName: Buffer;
  by: EncodedPiece[] | null;
  values: number;
  compute: Computation | null;
}

const SPACE = 0x20;
const QUOTE = 0x22;
const PLUS = 0x2b;
const COMMA = 0x2c;
const MINUS = 0x2d;
const POINT = 0x2e;
const COLON = 0x3a;
const OPEN_BRACE = 0x7b;
const BACKSLASH = 0x5c;
const CLOSE_BRACE = 0x7d;
const ZERO = 0x30;
const LETTER_T = 0x54;
const LETTER_Z = 0x5a;

const NULL = -1;
/**
 * Most bytes that one value may grow by: a time in its JSON form, the quotes of a text, the comma or brace of an
 * object.
 */
const GROWTH = 16;
/** Up to this length a loop over the bytes is faster than a call of `copy`. */
const SHORT = 32;
const NONE = Buffer.alloc(0);
const FIRST_SIZE = 64 * 1024;

/**
 * Writes rows as JSON objects without decoding them. JSON documents keep the bytes that were stored. The result equals
 * that of `row_to_json`, except that times have the format of the API.
 */
export class JsonRowWriter implements RowBatcher<JsonRows> {
  private readonly pieces: EncodedPiece[];
  /** Upper limit of the growth of a row, without the escapes in its texts. */
  private readonly growth: number;
  private out = NONE;
  /** Expected size of the next batch. Its buffer is allocated with the first row. */
  private size = FIRST_SIZE;
  private at = 0;
  private ends: number[] = [];
  /** The row being read, and the offset of its next value. */
  private row: Buffer = this.out;
  private next = 0;

  constructor(pieces: readonly RowPiece[]) {
    this.pieces = encodePieces(pieces);
    this.growth = printedGrowth(this.pieces);
  }

  add(bytes: Buffer, start: number, end: number): void {
    this.row = bytes;
    this.next = start + 2;
    this.reserve(end - start + this.growth);
    this.writeObject(this.pieces);
    this.ends.push(this.at++);
  }

  take(): JsonRows {
    const rows = { bytes: this.out.subarray(0, this.at), ends: this.ends };
    this.size = Math.max(FIRST_SIZE, this.at);
    this.out = NONE;
    this.at = 0;
    this.ends = [];
    return rows;
  }

  private writeObject(pieces: readonly EncodedPiece[]): void {
    for (const piece of pieces) {
      if (piece.compute) {
        this.writeComputed(piece.key, piece.values, piece.compute);
        continue;
      }
      const length = this.readLength();
      if (piece.kind === 'extended') this.writeExtended(piece, length);
      else if (length === NULL) this.put(piece.keyNull, 0, piece.keyNull.length);
      else {
        this.put(piece.key, 0, piece.key.length);
        const from = this.next;
        this.next += length;
        if (piece.kind === 'json') this.put(this.row, from, this.next);
        else if (piece.kind === 'text') this.writeText(from, this.next);
        else this.writeTime(from, this.next);
      }
    }
    this.out[this.at++] = CLOSE_BRACE;
  }

  /** Reads the length of the next value, and moves `next` to its first byte. */
  private readLength(): number {
    const length = this.row.readInt32BE(this.next);
    this.next += 4;
    return length;
  }

  private reserve(bytes: number): void {
    if (this.at + bytes <= this.out.length) return;
    const larger = Buffer.allocUnsafe(Math.max(this.size, 2 * this.out.length, this.at + bytes));
    this.out.copy(larger, 0, 0, this.at);
    this.out = larger;
  }

  private put(bytes: Buffer, from: number, to: number): void {
    if (to - from > SHORT) bytes.copy(this.out, this.at, from, to);
    else for (let i = from, at = this.at; i < to;) this.out[at++] = bytes[i++]!;
    this.at += to - from;
  }

  private writeText(from: number, to: number): void {
    const { row, out } = this;
    let at = this.at;
    out[at++] = QUOTE;
    for (let i = from; i < to; i++) {
      const byte = row[i]!;
      if (byte < SPACE || byte === QUOTE || byte === BACKSLASH) {
        this.writeEscaped(row.toString('utf8', from, to));
        return;
      }
      out[at++] = byte;
    }
    out[at++] = QUOTE;
    this.at = at;
  }

  private writeEscaped(text: string): void {
    this.writeMade(Buffer.from(JSON.stringify(text)));
  }

  /** Writes JSON that was computed here and does not stand in the row. */
  private writeMade(json: Buffer): void {
    this.reserve(json.length + this.row.length - this.next + this.growth); // the rest of the row keeps its room
    this.put(json, 0, json.length);
  }

  private writeComputed(key: Buffer, count: number, compute: Computation): void {
    this.put(key, 0, key.length);
    const values = Array.from({ length: count }, () => {
      const length = this.readLength();
      const from = this.next;
      this.next += Math.max(length, 0);
      return this.string(from, length);
    });
    this.writeMade(Buffer.from(compute(values)));
  }

  private string(from: number, length: number): string | null {
    return length === NULL ? null : this.row.toString('utf8', from, from + length);
  }

  /**
   * Writes PostgreSQL's UTC time `2026-01-31 12:00:00.5+00` as `"2026-01-31T12:00:00.500000Z"`.
   * @throws Error for any other format
   */
  private writeTime(from: number, to: number): void {
    const { out } = this;
    if (!isUtc(this.row, from, to))
      throw new Error(`not a time in UTC: ${this.row.toString('latin1', from, to)}`);
    out[this.at++] = QUOTE;
    const start = this.at;
    this.put(this.row, from, to - '+00'.length);
    out[start + '2026-01-31'.length] = LETTER_T;
    const whole = start + '2026-01-31T12:00:00'.length;
    if (this.at === whole) out[this.at++] = POINT;
    while (this.at < whole + '.500000'.length) out[this.at++] = ZERO;
    out[this.at++] = LETTER_Z;
    out[this.at++] = QUOTE;
  }

  private writeExtended(piece: EncodedPiece, length: number): void {
    const { key, keyNull, member, by } = piece;
    const from = this.next;
    const to = from + Math.max(length, 0);
    this.next = to;
    if (by) {
      this.put(key, 0, key.length);
      const own = this.ownMembers(piece, from, to);
      this.openObject(from, to, own?.others);
      this.put(member, 0, member.length);
      const start = this.at;
      if (own) this.writeMade(Buffer.from(own.members));
      const joint = this.at;
      this.writeObject(by);
      if (joint > start) this.out[joint] = COMMA; // in place of the brace
      this.out[this.at++] = CLOSE_BRACE;
      return;
    }
    const added = this.readLength();
    const addedFrom = this.next;
    this.next += Math.max(added, 0);
    if (added === NULL) {
      if (length === NULL) this.put(keyNull, 0, keyNull.length);
      else {
        this.put(key, 0, key.length);
        this.put(this.row, from, to);
      }
      return;
    }
    this.put(key, 0, key.length);
    this.openObject(from, to);
    this.put(member, 0, member.length);
    this.put(this.row, addedFrom, addedFrom + added);
    this.out[this.at++] = CLOSE_BRACE;
  }

  /**
   * Splits an object that already has the added member. `others` is the object without it. `members` are the members of
   * the added member that no piece replaces: an object without its closing brace, or an empty text. Returns null when
   * the object does not have the member. Few objects have it, and only these are decoded.
   */
  private ownMembers(
    { memberName, by }: EncodedPiece,
    from: number,
    to: number,
  ): { others: string; members: string } | null {
    if (to === from || !this.row.subarray(from, to).includes(memberName)) return null;
    const texts = memberTexts(this.row.toString('utf8', from, to));
    const name = JSON.parse(memberName.toString()) as string;
    const own = texts.get(name);
    texts.delete(name);
    const members = own?.startsWith('{') ? memberTexts(own) : new Map<string, string>();
    for (const piece of by!) members.delete(piece.name);
    return {
      others: objectText(texts),
      members: members.size > 0 ? objectText(members).slice(0, -1) : '',
    };
  }

  /**
   * Writes an object without its closing brace, and the comma for another member. An empty range counts as an empty
   * object.
   */
  private openObject(from: number, to: number, instead?: string): void {
    if (instead !== undefined) {
      this.writeMade(Buffer.from(instead === '{}' ? '{' : `${instead.slice(0, -1)},`));
      return;
    }
    let last = to - 2;
    while (last > from && this.row[last]! <= SPACE) last--;
    if (last <= from) this.out[this.at++] = OPEN_BRACE;
    else {
      this.put(this.row, from, to - 1);
      this.out[this.at++] = COMMA;
    }
  }
}

/** True for `2026-01-31 12:00:00+00`, with up to six decimals of a second. */
function isUtc(bytes: Buffer, from: number, to: number): boolean {
  const length = to - from;
  return (
    length >= 22 &&
    length <= 29 &&
    bytes[from + 4] === MINUS &&
    bytes[from + 10] === SPACE &&
    bytes[from + 13] === COLON &&
    bytes[from + 16] === COLON &&
    bytes[from + 19] === (length === 22 ? PLUS : POINT) &&
    bytes[to - 3] === PLUS &&
    bytes[to - 2] === ZERO &&
    bytes[to - 1] === ZERO
  );
}

const encodePieces = (pieces: readonly RowPiece[]): EncodedPiece[] =>
  pieces.map((piece, i) => {
    const key = `${i === 0 ? '{' : ','}${JSON.stringify(piece.name)}:`;
    const isExtended = piece.kind === 'extended';
    return {
      name: piece.name,
      kind: piece.kind,
      key: Buffer.from(key),
      keyNull: Buffer.from(`${key}null`),
      member: Buffer.from(isExtended ? `${JSON.stringify(piece.member)}:` : ''),
      memberName: Buffer.from(isExtended ? JSON.stringify(piece.member) : ''),
      by: isExtended && piece.by !== 'json' ? encodePieces(piece.by) : null,
      values: piece.kind === 'computed' ? piece.values : 0,
      compute: piece.kind === 'computed' ? piece.by : null,
    };
  });

const printedGrowth = (pieces: readonly EncodedPiece[]): number =>
  pieces.reduce(
    (sum, { keyNull, member, by }) =>
      sum + keyNull.length + member.length + GROWTH + (by ? printedGrowth(by) : 0),
    GROWTH,
  );
