import { promisify } from 'node:util';
import zlib from 'node:zlib';
import { ByteBuffer } from '../../byte-buffer.js';
import type { PackedChunk } from '../builds.query.js';
import type { Split } from '../groups/groups.js';

const gzip = promisify(zlib.gzip);
const gunzip = promisify(zlib.gunzip);
/** The fastest level. Bodies with trajectory groups are stored with it too. */
const LEVEL = { level: 1 };
const CHUNK_BYTES = 1024 * 1024;

/** Bytes handed to a reader at once. A reader that takes no piece for `STALLED_AFTER_MS` is cut. */
const PIECE_BYTES = 256 * 1024;

const LINE_FEED = 0x0a;
const COMMA = Buffer.from(',');

/** Packs lines into gzip chunks of about one MiB. A chunk holds lines of one side of the split only. */
export class Packer {
  seq = 0;
  private readonly text = new ByteBuffer();
  private split: Split = 'train';

  constructor(private readonly store: (chunk: PackedChunk) => Promise<void>) {}

  async add(line: readonly Buffer[], split: Split): Promise<void> {
    if (split !== this.split) await this.flush();
    this.split = split;
    for (const part of line)
      for (let at = 0; at < part.length; at += CHUNK_BYTES) {
        this.text.append(part.subarray(at, at + CHUNK_BYTES));
        if (this.text.length >= CHUNK_BYTES) await this.flush();
      }
  }

  async flush(): Promise<void> {
    if (this.text.length === 0) return;
    const text = await gzip(this.text.take(), LEVEL);
    await this.store({ seq: this.seq++, split: this.split, text });
  }
}

type Packed = AsyncIterable<Pick<PackedChunk, 'text'>>;

/** Unpacks chunks, and yields their bytes in pieces of at most `PIECE_BYTES`. */
export async function* unpackChunks(chunks: Packed): AsyncGenerator<Buffer> {
  for await (const { text } of chunks) {
    const bytes = await gunzip(text);
    for (let at = 0; at < bytes.length; at += PIECE_BYTES)
      yield bytes.subarray(at, at + PIECE_BYTES);
  }
}

/** Yields the lines of chunks without their line breaks. Holds one line in memory. */
export async function* cutLines(chunks: Packed): AsyncGenerator<Buffer> {
  const rest = new ByteBuffer();
  for await (const bytes of unpackChunks(chunks)) {
    let start = 0;
    for (let end = bytes.indexOf(LINE_FEED); end >= 0; end = bytes.indexOf(LINE_FEED, start)) {
      rest.append(bytes.subarray(start, end));
      yield rest.take();
      start = end + 1;
    }
    rest.append(bytes.subarray(start));
  }
}

/** Yields the lines of chunks as the elements of a JSON array, in pieces and without the brackets. */
export async function* toJsonArray(chunks: Packed): AsyncGenerator<Buffer> {
  let isBehindLine = false;
  for await (const bytes of unpackChunks(chunks)) {
    for (let start = 0; start < bytes.length;) {
      if (isBehindLine) yield COMMA;
      const found = bytes.indexOf(LINE_FEED, start);
      isBehindLine = found >= 0;
      const end = isBehindLine ? found : bytes.length;
      yield bytes.subarray(start, end);
      start = end + 1;
    }
  }
}

/** Puts each row on a line, and yields the lines in pieces of at most `PIECE_BYTES`. */
export async function* joinPieces(rows: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const piece = new ByteBuffer();
  for await (const row of rows) {
    for (let at = 0; at < row.length;) {
      const end = at + PIECE_BYTES - piece.length;
      piece.append(row.subarray(at, end));
      if (piece.length === PIECE_BYTES) yield piece.take();
      at = end;
    }
    piece.append(Uint8Array.of(LINE_FEED));
  }
  if (piece.length > 0) yield piece.take();
}
