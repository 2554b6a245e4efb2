import { finished } from 'node:stream/promises';
import { Parser } from 'csv-parse';
import { ApiError } from '../../platform/errors.js';
import { isStorable } from '../../platform/http/dto.js';
import { Utf8Check } from '../../platform/http/utf8-check.js';
import { memberTexts } from '../../platform/json/json-text.js';
import {
  checkedJson,
  type FileColumn,
  fieldJson,
  MAX_COLUMNS,
  memberJson,
  reason,
  RowFault,
  type RowMapping,
} from './row-mapping.js';

const MAX_NAME = 256;
const MAX_FAULTS = 100;
/** Rows of JSON lines whose members are listed as columns. */
const MAX_ROWS_NAMED = 1000;
const LINE_FEED = 0x0a;
const RETURN = 0x0d;

/** A faulty line of a file, as clients see it. */
export interface LineFault {
  path: string;
  message: string;
  line: number;
  field?: string;
}

/**
 * Reads the rows of a file while it arrives. Memory: the row that has not ended yet, and the rows that the caller has
 * not taken.
 */
export abstract class RowFile {
  /** JSON texts of rows that are not taken yet. */
  rows: string[] = [];
  numRows = 0;
  /** The first faults. `numFaults` counts all. */
  readonly faults: LineFault[] = [];
  numFaults = 0;
  /** True when the header is faulty: what follows is not read. */
  isBroken = false;
  private isCut = false;
  private readonly utf8 = new Utf8Check();

  constructor(
    protected readonly mapping: RowMapping,
    protected readonly maxRowBytes: number,
  ) {}

  /** Bytes of the row that has not ended yet. */
  abstract get heldBytes(): number;
  /** The columns that were found so far. */
  abstract get columns(): readonly FileColumn[];
  protected abstract read(chunk: Buffer): void;
  protected abstract readLast(): void | Promise<void>;

  /** @throws ApiError when the file cannot be read on */
  write(chunk: Buffer): void {
    this.checkUtf8(() => this.utf8.write(chunk));
    if (this.isBroken) return;
    this.read(chunk);
    if (this.heldBytes > this.maxRowBytes) throw this.rowTooLarge();
  }

  /** Reads the end. `isPart` says that more of the file exists: then the last row may be faulty without a word. */
  async end(isPart = false): Promise<void> {
    this.isCut = isPart;
    this.checkUtf8(() => !isPart && this.utf8.end());
    if (this.isBroken) return;
    await this.readLast();
    for (const name of this.mapping.unseen)
      this.add(new RowFault('is in the mapping, but not in the file', name), 1);
  }

  /** The line on which the row that has not ended yet begins. */
  protected abstract get line(): number;

  protected addRow(line: number, make: () => string): void {
    try {
      const text = make();
      if (text.length > this.maxRowBytes) throw new RowFault(this.limit);
      this.rows.push(text);
      this.numRows++;
    } catch (error) {
      this.add(error, line);
    }
  }

  protected add(error: unknown, line: number): void {
    if (this.isCut) return;
    this.numFaults++;
    if (this.faults.length === MAX_FAULTS) return;
    const message = reason(error);
    const field = error instanceof RowFault ? error.field && copyOf(error.field) : undefined;
    this.faults.push({
      path: `line ${line}${field === undefined ? '' : `.${field}`}`,
      message,
      line,
      ...(field !== undefined && { field }),
    });
  }

  protected rowTooLarge(): ApiError {
    return new ApiError('too_large', `the row on line ${this.line} ${this.limit}`);
  }

  private get limit(): string {
    return `is over the limit of ${this.maxRowBytes} bytes`;
  }

  private checkUtf8(check: () => unknown): void {
    try {
      check();
    } catch {
      throw new ApiError(
        'invalid_request',
        `the file is not UTF-8, from about line ${this.line} on`,
      );
    }
  }
}

/** Copies a name out of its line, which would stay in memory with it. */
const copyOf = (name: string) => Buffer.from(name.slice(0, MAX_NAME)).toString();

/** Reads JSON lines. A row without a mapping is the text of its line. */
export class JsonLinesFile extends RowFile {
  protected line = 1;
  private parts: Buffer[] = [];
  heldBytes = 0;
  /** Names of members of the first rows. */
  private readonly names = new Set<string>();

  get columns(): FileColumn[] {
    return Array.from(this.names, (name) => this.mapping.column(name));
  }

  protected read(chunk: Buffer): void {
    let start = 0;
    for (let at = chunk.indexOf(LINE_FEED); at >= 0; at = chunk.indexOf(LINE_FEED, start)) {
      this.hold(chunk.subarray(start, at));
      this.endLine();
      start = at + 1;
    }
    this.hold(chunk.subarray(start));
  }

  protected readLast(): void {
    this.endLine();
  }

  private hold(bytes: Buffer): void {
    this.heldBytes += bytes.length;
    if (this.heldBytes > this.maxRowBytes) throw this.rowTooLarge();
    if (bytes.length > 0) this.parts.push(bytes);
  }

  private endLine(): void {
    const bytes = this.parts.length === 1 ? this.parts[0]! : Buffer.concat(this.parts);
    this.parts = [];
    this.heldBytes = 0;
    const line = this.line++;
    const row = bytes.toString('utf8').trim(); // also without a byte order mark
    if (row !== '') this.addRow(line, () => this.row(row));
  }

  private row(text: string): string {
    checkedJson(text);
    if (!text.startsWith('{')) throw new RowFault('is not a JSON object');
    if (this.mapping.isEmpty && this.numRows > MAX_ROWS_NAMED) return text;
    const members = memberTexts(text);
    const names = [...members.keys()];
    for (const name of names)
      if (this.names.size < MAX_COLUMNS && name.length <= MAX_NAME) this.names.add(copyOf(name));
    if (this.mapping.isEmpty) return text;
    return this.mapping.row(names, [...members.values()], memberJson);
  }
}

/** Reads CSV as RFC 4180 describes it. The first record has the names of the columns. */
export class CsvFile extends RowFile {
  private readonly parser: Parser;
  private readonly lines = new LinePositions();
  private names: readonly string[] | undefined;
  private failure: unknown;
  private lastFault = 0;

  constructor(mapping: RowMapping, maxRowBytes: number, delimiter: string) {
    super(mapping, maxRowBytes);
    this.parser = new Parser({
      bom: true,
      delimiter,
      record_delimiter: ['\r\n', '\n'],
      skip_empty_lines: true,
      relax_column_count: true,
      // the fields after the last column that is allowed are not told apart, so that commas alone take no memory
      ignore_last_delimiters: MAX_COLUMNS + 1,
      skip_records_with_error: true,
      // a record is used at once; null keeps it from the parser's queue
      on_record: (record: string[], { bytes }) => {
        this.onRecord(record, this.lines.lineAt(bytes - 1));
        return null;
      },
      on_skip: (error) => this.onSkip(error as unknown as { code: string; bytes: number }),
    });
    this.parser.on('error', (error) => (this.failure ??= error));
  }

  get heldBytes(): number {
    return this.lines.heldBytes;
  }

  get columns(): FileColumn[] {
    return (this.names ?? []).map((name) => this.mapping.column(name));
  }

  protected get line(): number {
    return this.lines.nextLine;
  }

  protected read(chunk: Buffer): void {
    this.lines.add(chunk);
    this.parser.write(chunk);
    if (this.failure) throw this.failure;
    this.lines.skipBreaks();
  }

  protected async readLast(): Promise<void> {
    this.parser.end();
    await finished(this.parser.resume());
    if (this.failure) throw this.failure;
    if (!this.names) this.refuseHeader(new RowFault('has no names of columns'));
  }

  private onRecord(fields: string[], lastLine: number): void {
    if (this.isBroken || this.failure) return;
    const { names } = this;
    if (!names) return this.readHeader(fields);
    const line = lastLine - lineFeeds(fields);
    if (fields.length === names.length)
      this.addRow(line, () => this.mapping.row(names, fields, fieldJson));
    else {
      const most = fields.length > MAX_COLUMNS ? `more than ${MAX_COLUMNS}` : fields.length;
      this.add(new RowFault(`has ${most} fields, and the header has ${names.length}`), line);
    }
  }

  private readHeader(names: string[]): void {
    if (names.length > MAX_COLUMNS)
      return this.refuseHeader(new RowFault(`has more than ${MAX_COLUMNS} columns`));
    const seen = new Set<string>();
    for (const [i, name] of names.entries()) {
      if (name === '') this.refuseHeader(new RowFault(`has no name for column ${i + 1}`));
      else if (!isStorable(name) || name.length > MAX_NAME)
        this.refuseHeader(
          new RowFault(
            `must have a name of at most ${MAX_NAME} characters without \\u0000`,
            name.slice(0, MAX_NAME),
          ),
        );
      else if (seen.has(name)) this.refuseHeader(new RowFault('is the name of two columns', name));
      seen.add(name);
    }
    for (const name of this.mapping.unseen)
      if (!seen.has(name))
        this.refuseHeader(new RowFault('is in the mapping, but not in the header', name));
    if (this.isBroken) return;
    this.names = names;
    try {
      this.mapping.row(names, names, String);
    } catch (error) {
      this.refuseHeader(error);
    }
  }

  private refuseHeader(error: unknown): void {
    this.isBroken = true;
    this.add(error, 1);
  }

  private onSkip({ code, bytes }: { code: string; bytes: number }): undefined {
    const message = QUOTES[code];
    if (message === undefined) this.failure ??= new Error(`csv-parse reports ${code}`);
    else if (!this.names) this.refuseHeader(new RowFault(message));
    else {
      this.lines.lineAt(bytes);
      const { nextLine } = this.lines;
      // the parser reports each further quote of the field
      if (nextLine !== this.lastFault) this.add(new RowFault(message), nextLine);
      this.lastFault = nextLine;
    }
  }
}

/** Faults that the parser finds, keyed by its codes. */
const QUOTES: Record<string, string | undefined> = {
  CSV_INVALID_CLOSING_QUOTE: 'has a quote inside a quoted field that is not doubled',
  INVALID_OPENING_QUOTE: 'has a quote in a field that does not begin with one',
  CSV_QUOTE_NOT_CLOSED: 'has a quoted field without an end',
};

const lineFeeds = (fields: readonly string[]) =>
  fields.reduce((sum, field) => sum + (field.includes('\n') ? field.split('\n').length - 1 : 0), 0);

/**
 * Counts the lines of a file. It keeps the bytes from a position on, which only moves forward. The parser's own count
 * is not used: it counts a CRLF within quotes twice.
 */
class LinePositions {
  private parts: Buffer[] = [];
  private at = 0;
  private line = 1;
  heldBytes = 0;

  add(chunk: Buffer): void {
    this.parts.push(chunk);
    this.heldBytes += chunk.length;
  }

  /** Moves to a position in the file, and returns its line. */
  lineAt(position: number): number {
    while (this.at < position && this.parts.length > 0) this.pass(position - this.at);
    return this.line;
  }

  /** The line of the next byte that ends no line. */
  get nextLine(): number {
    this.skipBreaks();
    return this.line;
  }

  skipBreaks(): void {
    for (let [part] = this.parts; part; [part] = this.parts) {
      let length = 0;
      while (part[length] === LINE_FEED || part[length] === RETURN) length++;
      if (length === 0) return;
      this.pass(length);
    }
  }

  private pass(most: number): void {
    const part = this.parts[0]!;
    const length = Math.min(most, part.length);
    for (let i = part.indexOf(LINE_FEED); i >= 0 && i < length; i = part.indexOf(LINE_FEED, i + 1))
      this.line++;
    if (length === part.length) this.parts.shift();
    else this.parts[0] = part.subarray(length);
    this.at += length;
    this.heldBytes -= length;
  }
}
