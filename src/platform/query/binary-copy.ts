/*
 * Rows in the binary format of `COPY` (https://www.postgresql.org/docs/current/sql-copy.html, "Binary Format"). After a
 * header follows each row: its number of values, then each value as its length and its bytes. Null has length -1.
 */
const HEADER = Buffer.from('PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0', 'latin1');
const NULL = -1;
const END = -1;

/** Type byte of a `CopyData` message. A message is a type byte, an int32 length that includes itself, and the body. */
const COPY_DATA = 'd'.charCodeAt(0);
const LENGTH = 4;

/** Most bytes of UTF-8 per UTF-16 code unit. */
const MOST_BYTES = 3;
/** Up to this length a loop over the characters is faster than a call of `write`. */
const SHORT = 32;
const ASCII = 0x80;

/** A `COPY` statement. `name` is its name in logs and traces. */
export interface CopyStatement {
  name: string;
  text: string;
  columns: number;
}

/** Builds `COPY table (columns) FROM STDIN`. Both names must come from our code and never from a client. */
export const copyInto = (table: string, columns: readonly string[]): CopyStatement => ({
  name: `${table}.copy`,
  text: `COPY ${table} (${columns.join(', ')}) FROM STDIN (FORMAT binary)`,
  columns: columns.length,
});

/**
 * Builds the rows of a `COPY` as one message in one buffer. For each row call `begin`, then add its values in the order
 * of the columns.
 */
export class CopyRows {
  count = 0;
  private bytes: Buffer;
  private at = 0;
  private rowAt = 0;

  /** `room` is the expected size of the rows in bytes. The buffer grows when they need more. */
  constructor(
    readonly statement: CopyStatement,
    room: number,
  ) {
    this.bytes = Buffer.allocUnsafe(1 + LENGTH + HEADER.length + room + 2);
    this.bytes[0] = COPY_DATA;
    this.at = 1 + LENGTH;
    this.at += HEADER.copy(this.bytes, this.at);
  }

  begin(): void {
    this.rowAt = this.at;
    this.ensure(2);
    this.at = this.bytes.writeInt16BE(this.statement.columns, this.at);
    this.count++;
  }

  undo(): void {
    this.at = this.rowAt;
    this.count--;
  }

  text(value: string | null | undefined): void {
    if (value === null || value === undefined) return this.null();
    if (this.at + LENGTH + MOST_BYTES * value.length > this.bytes.length)
      this.ensure(LENGTH + Buffer.byteLength(value));
    const from = this.at + LENGTH;
    const length = this.shortText(value, from) ?? this.bytes.write(value, from);
    this.bytes.writeInt32BE(length, this.at);
    this.at = from + length;
  }

  boolean(value: boolean): void {
    this.ensure(LENGTH + 1);
    this.at = this.bytes.writeInt32BE(1, this.at);
    this.bytes[this.at++] = value ? 1 : 0;
  }

  int32(value: number | null): void {
    if (value === null) return this.null();
    this.ensure(LENGTH + 4);
    this.at = this.bytes.writeInt32BE(4, this.at);
    this.at = this.bytes.writeInt32BE(value, this.at);
  }

  /** Adds a `timestamptz`: microseconds since the beginning of 2000, as `microsecondsOf` returns them. */
  timestamp(value: number | null): void {
    if (value === null) return this.null();
    this.ensure(LENGTH + 8);
    this.at = this.bytes.writeInt32BE(8, this.at);
    this.at = this.bytes.writeInt32BE(Math.floor(value / 2 ** 32), this.at);
    this.at = this.bytes.writeUInt32BE(value >>> 0, this.at);
  }

  /** Returns the message. No row can be added afterwards. */
  finish(): Buffer {
    this.ensure(2);
    this.at = this.bytes.writeInt16BE(END, this.at);
    this.bytes.writeInt32BE(this.at - 1, 1);
    return this.bytes.subarray(0, this.at);
  }

  private null(): void {
    this.ensure(LENGTH);
    this.at = this.bytes.writeInt32BE(NULL, this.at);
  }

  /** Writes a short ASCII text and returns its length. Returns undefined for any other text. */
  private shortText(value: string, from: number): number | undefined {
    const { bytes } = this;
    const { length } = value;
    if (length > SHORT) return undefined;
    for (let i = 0; i < length; i++) {
      const c = value.charCodeAt(i);
      if (c >= ASCII) return undefined;
      bytes[from + i] = c;
    }
    return length;
  }

  private ensure(more: number): void {
    if (this.at + more <= this.bytes.length) return;
    const bytes = Buffer.allocUnsafe(Math.max(2 * this.bytes.length, this.at + more));
    this.bytes.copy(bytes, 0, 0, this.at);
    this.bytes = bytes;
  }
}

const EPOCH_MS = Date.UTC(2000, 0, 1);
const MINUTE_MS = 60_000;
const MICROS = 1_000_000;
const DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/;
/** Index after the seconds, and the length of an offset such as `+01:00`. */
const FRACTION_AT = 19;
const OFFSET_LENGTH = 6;
/** Most hours of an offset that PostgreSQL accepts. */
const MAX_OFFSET = 15;
const [ZERO, MINUS, DOT, LETTER_Z] = [0x30, 0x2d, 0x2e, 0x5a];

/**
 * Returns the microseconds from the beginning of 2000 to an instant, rounded as PostgreSQL rounds. PostgreSQL must read
 * the text when this returns undefined. It does so for an unusual spelling, an invalid date, a year before 1900, and a
 * value beyond the exact range of a double.
 */
export function microsecondsOf(text: string): number | undefined {
  if (!INSTANT.test(text)) return undefined;
  const isUtc = text.charCodeAt(text.length - 1) === LETTER_Z;
  const end = text.length - (isUtc ? 1 : OFFSET_LENGTH);
  const ms = localMs(text) - (isUtc ? 0 : offsetMs(text, end));
  const hasFraction = text.charCodeAt(FRACTION_AT) === DOT;
  const fraction = hasFraction ? Number(text.slice(FRACTION_AT, end)) : 0;
  const micros = ms * 1000 + halfToEven(fraction * MICROS);
  return Number.isSafeInteger(micros) ? micros : undefined;
}

/** Returns milliseconds since the beginning of 2000, without offset and fraction. NaN for an invalid date or time. */
function localMs(text: string): number {
  const [year, month, day] = [100 * two(text, 0) + two(text, 2), two(text, 5), two(text, 8)];
  const [hour, minute, second] = [two(text, 11), two(text, 14), two(text, 17)];
  const isDay = year >= 1900 && day >= 1 && day <= daysIn(year, month);
  if (!isDay || hour > 23 || minute > 59 || second > 59) return NaN;
  return Date.UTC(year, month - 1, day, hour, minute, second) - EPOCH_MS;
}

/** Returns the offset in milliseconds. NaN for an offset that PostgreSQL does not accept. */
function offsetMs(text: string, at: number): number {
  const [hours, minutes] = [two(text, at + 1), two(text, at + 4)];
  if (hours > MAX_OFFSET || minutes > 59) return NaN;
  const offset = 60 * hours + minutes;
  return (text.charCodeAt(at) === MINUS ? -offset : offset) * MINUTE_MS;
}

const two = (text: string, at: number) =>
  10 * text.charCodeAt(at) + text.charCodeAt(at + 1) - 11 * ZERO;

function daysIn(year: number, month: number): number {
  const isLeap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  return month === 2 && isLeap ? 29 : (DAYS[month - 1] ?? 0);
}

/** Rounds half to even, as `rint` of C. */
function halfToEven(value: number): number {
  const rounded = Math.round(value);
  return rounded - value === 0.5 && rounded % 2 === 1 ? rounded - 1 : rounded;
}
