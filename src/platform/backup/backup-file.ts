import { createHash, type Hash } from 'node:crypto';

/*
 * A backup file is one gzip stream of frames. A frame is a byte with its kind, the length of its content as an unsigned
 * 32-bit integer (big-endian), and the content:
 *
 * - H: the header, JSON; once, first.
 * - D: rows of the current table, in the text format of PostgreSQL's COPY; any number.
 * - E: the end of that table, JSON: its name, its number of rows, and the SHA-256 of its content.
 * - M: the manifest, JSON; once, last. It contains the SHA-256 of everything before it.
 *
 * The tables follow each other in the order of the header. The sums detect cut, changed or reordered content. They
 * detect damage, not forgery: an attacker who can change the file can also compute new sums.
 */

/** Number of the format, which a reader checks first. */
export const FORMAT = 1;

export interface BackupHeader {
  skein_backup: number;
  /** Name of the newest migration that the database had run. */
  schema: string;
  created_at: string;
  /** `server_version` of the PostgreSQL that was backed up. */
  postgres: string;
  tables: TableHeader[];
}

/** Returns true when no table has a row. A used service has a key, and one that recorded calls has a project. */
export const isEmptyBackup = ({ tables }: BackupHeader): boolean =>
  tables.every(({ rows }) => rows === 0);

export interface TableHeader {
  name: string;
  columns: string[];
  rows: number;
  /** Size of the table on disk, for the progress. */
  bytes: number;
}

export interface TableEnd {
  name: string;
  rows: number;
  sha256: string;
}

export interface BackupManifest {
  tables: TableEnd[];
  sha256: string;
}

/** The file is no backup, or differs from the one that was written. */
export class DamagedBackup extends Error {
  constructor(why: string) {
    super(`the file is damaged or is not a backup of Skein: ${why}`);
  }
}

export type FrameKind = 'H' | 'F' | 'D' | 'E' | 'M';

export interface Frame {
  kind: FrameKind;
  content: Buffer;
}

const KINDS: readonly string[] = ['H', 'F', 'D', 'E', 'M'];
const HEAD_BYTES = 5;
/** Largest content of a frame. Rows come in pieces of about 64 KiB, and the header is far smaller than this. */
const MAX_FRAME_BYTES = 1024 * 1024;

export class FrameWriter {
  private readonly sum = createHash('sha256');

  frame(kind: FrameKind, content: Buffer | object): Buffer {
    const bytes = Buffer.isBuffer(content) ? content : Buffer.from(JSON.stringify(content));
    const frame = Buffer.allocUnsafe(HEAD_BYTES + bytes.length);
    frame.writeUInt8(kind.charCodeAt(0), 0);
    frame.writeUInt32BE(bytes.length, 1);
    bytes.copy(frame, HEAD_BYTES);
    this.sum.update(frame);
    return frame;
  }

  sha256(): string {
    return this.sum.copy().digest('hex');
  }
}

/**
 * Yields the frames of inflated bytes, in pieces of any size. Each frame has the sum over the frames before it.
 * @throws DamagedBackup when the bytes are no frames or end within one.
 */
export async function* readFrames(
  pieces: AsyncIterable<Buffer>,
): AsyncGenerator<Frame & { sha256Before: () => string }> {
  const sum = createHash('sha256');
  let left: Buffer = Buffer.alloc(0);
  for await (const piece of pieces) {
    left = left.length > 0 ? Buffer.concat([left, piece]) : piece;
    for (;;) {
      const frame = firstFrame(left);
      if (!frame) break;
      const before = sum.copy();
      const bytes = HEAD_BYTES + frame.content.length;
      sum.update(left.subarray(0, bytes));
      left = left.subarray(bytes);
      yield { ...frame, sha256Before: () => hexDigest(before) };
    }
  }
  if (left.length > 0) throw new DamagedBackup('it ends early');
}

function firstFrame(bytes: Buffer): Frame | undefined {
  if (bytes.length < HEAD_BYTES) return undefined;
  const kind = String.fromCharCode(bytes[0]!);
  const length = bytes.readUInt32BE(1);
  if (!KINDS.includes(kind) || length > MAX_FRAME_BYTES)
    throw new DamagedBackup('it holds data that is not part of a backup');
  if (bytes.length < HEAD_BYTES + length) return undefined;
  return { kind: kind as FrameKind, content: bytes.subarray(HEAD_BYTES, HEAD_BYTES + length) };
}

const hexDigest = (hash: Hash) => hash.digest('hex');

/**
 * Parses the content of a JSON frame.
 * @throws DamagedBackup
 */
export function parseFrame({ content }: Frame): unknown {
  try {
    return JSON.parse(content.toString());
  } catch {
    throw new DamagedBackup('it holds JSON that cannot be read');
  }
}
