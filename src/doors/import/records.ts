import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { pipeline } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { CODES } from '../../platform/json/json-grammar.js';

/** Maximum size of a record, which is parsed in one go. */
const MAX_RECORD_BYTES = 128 * 1024 * 1024;

/** A JSON object of a file, with the line on which it begins. */
export interface FileRecord {
  text: string;
  line: number;
}

const { QUOTE, COMMA, BACKSLASH, OPEN_BRACKET, CLOSE_BRACKET, OPEN_BRACE, CLOSE_BRACE } = CODES;
const LINE_FEED = 0x0a;
const SPACE = 0x20;
const BYTE_ORDER_MARK = new Set([0xef, 0xbb, 0xbf]);

/**
 * Yields the JSON objects of a file one after the other: JSONL, one document over many lines, or the elements of one
 * list. Only one object is in memory. A file whose name ends in `.gz` is decompressed. `onRead` receives the number of
 * bytes that were read.
 * @throws Error, whose message begins with the file and the line
 */
export async function* readRecords(
  file: string,
  onRead: (bytes: number) => void = () => {},
): AsyncGenerator<FileRecord> {
  const source = createReadStream(file);
  source.on('data', (chunk) => onRead(chunk.length));
  const bytes = file.endsWith('.gz') ? pipeline(source, createGunzip(), () => {}) : source;
  const splitter = new Splitter(file);
  for await (const chunk of bytes) yield* splitter.write(chunk as Buffer);
  splitter.end();
}

export const fileSize = async (file: string): Promise<number> => (await stat(file)).size;

/**
 * Splits a file into records without checking their JSON. `JsonScanner` checks one JSON text, but a file may hold many;
 * each record is parsed later.
 */
class Splitter {
  private line = 1;
  /** Start of the current object, its nesting depth, and its bytes so far. */
  private begin = { line: 0, depth: 0, bytes: 0 };
  private parts: Buffer[] = [];
  private isInString = false;
  private isEscaped = false;
  /** True when the file is one list; undefined before anything has been read. */
  private isList: boolean | undefined;

  constructor(private readonly file: string) {}

  *write(chunk: Buffer): Generator<FileRecord> {
    let start = 0;
    for (let i = 0; i < chunk.length; i++) {
      const byte = chunk[i]!;
      if (byte === LINE_FEED) this.line++;
      if (this.begin.depth === 0) {
        if (this.begins(byte)) start = i;
      } else if (this.ends(byte)) {
        this.hold(chunk.subarray(start, i + 1));
        yield { text: Buffer.concat(this.parts).toString('utf8'), line: this.begin.line };
        [this.parts, this.begin.bytes] = [[], 0];
      }
    }
    if (this.begin.depth > 0) this.hold(chunk.subarray(start));
  }

  end(): void {
    if (this.begin.depth > 0) throw this.wrong(this.begin.line, 'the file ends within this record');
  }

  private begins(byte: number): boolean {
    if (byte <= SPACE || byte === COMMA || BYTE_ORDER_MARK.has(byte)) return false;
    if (byte === OPEN_BRACKET && this.isList === undefined) {
      this.isList = true;
      return false;
    }
    if (byte === CLOSE_BRACKET && this.isList) return false;
    if (byte !== OPEN_BRACE) throw this.wrong(this.line, 'must be a JSON object');
    this.isList ??= false;
    this.begin = { line: this.line, depth: 1, bytes: 0 };
    return true;
  }

  private ends(byte: number): boolean {
    if (this.isInString) {
      if (this.isEscaped) this.isEscaped = false;
      else if (byte === BACKSLASH) this.isEscaped = true;
      else if (byte === QUOTE) this.isInString = false;
    } else if (byte === QUOTE) this.isInString = true;
    else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) this.begin.depth++;
    else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) return --this.begin.depth === 0;
    return false;
  }

  private hold(part: Buffer): void {
    this.begin.bytes += part.length;
    if (this.begin.bytes > MAX_RECORD_BYTES)
      throw this.wrong(
        this.begin.line,
        `the record is over the limit of ${MAX_RECORD_BYTES} bytes`,
      );
    this.parts.push(part);
  }

  private wrong(line: number, what: string): Error {
    return new Error(`${this.file}:${line}: ${what}`);
  }
}
