import { createHash, type Hash } from 'node:crypto';
import { closeSync, mkdirSync, openSync, writeSync } from 'node:fs';
import { open, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Client } from '../pg/driver.js';
import { DamagedBackup, type Frame, FrameWriter, parseFrame, readFrames } from './backup-file.js';
import { decrypted, encrypted } from './encryption.js';
import { unzipped, zipped } from './gzip.js';
import type { ByteStream, BackupStorage } from './backup-storage.js';
import { baseName, readSystem } from './wal-archive.js';

const PIECE_BYTES = 256 * 1024;
/** Folders whose content PostgreSQL creates at its start. Only the empty folders are copied. */
const EMPTY =
  /^(pg_(wal|replslot|dynshmem|notify|serial|snapshots|stat_tmp|subtrans)|skein\.(archived|wal))\//;
/** Files of the running server or of one process, which are not copied. */
const LEFT_OUT =
  /^(postmaster\.(pid|opts)|skein\.lock|backup_(label|manifest)|tablespace_map|recovery\.signal)$|(^|\/)(pg_internal\.init|pgsql_tmp)/;
const CONTROL = 'global/pg_control';
const PATH = /^[\w-][\w.-]*(\/[\w-][\w.-]*)*$/;

/**
 * Copies the data folder of a running server into the backup storage. A restore replays the WAL since then to reach any
 * later state. The copy is inconsistent, because the server continues meanwhile; the WAL repairs it. The copy is stored
 * only once all WAL that it needs is stored.
 */
export async function baseBackup(
  client: Client,
  pgdata: string,
  {
    place,
    recipients,
    signal,
  }: { place: BackupStorage; recipients: readonly string[]; signal: AbortSignal },
): Promise<{ name: string; bytes: number }> {
  const at = new Date();
  const { rows } = await client.query<{ segment: string }>(
    `SELECT pg_walfile_name(pg_backup_start('skein', fast => true)) AS segment`,
  );
  const base = { at, system: readSystem(pgdata), segment: rows[0]!.segment };
  const name = baseName(base, recipients.length > 0);
  const end = async () => {
    const { rows: ended } = await client.query<{ labelfile: string }>(
      'SELECT labelfile FROM pg_backup_stop(wait_for_archive => true)',
    );
    return Buffer.from(ended[0]!.labelfile);
  };
  const files = zipped(folderFrames(pgdata, end));
  const bytes = await place.write(name, encrypted(files, recipients), signal);
  return { name, bytes };
}

/**
 * Yields the frames of a backup file (backup-file.ts), with files in place of tables. `F` names the next file or
 * folder.
 */
async function* folderFrames(pgdata: string, label: () => Promise<Buffer>): AsyncGenerator<Buffer> {
  const writer = new FrameWriter();
  yield writer.frame('H', { skein_base: 1, created_at: new Date().toISOString() });
  const entries = await readdir(pgdata, { recursive: true, withFileTypes: true });
  const paths = entries
    .map((entry) => ({
      path: join(entry.parentPath, entry.name)
        .slice(pgdata.length + 1)
        .replaceAll('\\', '/'),
      isFolder: entry.isDirectory(),
    }))
    .filter(({ path }) => !EMPTY.test(path) && !LEFT_OUT.test(path) && path !== CONTROL);
  for (const { path } of paths.filter(({ isFolder }) => isFolder).toSorted(byPath))
    yield writer.frame('F', { folder: path });
  // the control file comes last: it must not be older than the files copied before it
  const files = [...paths.filter(({ isFolder }) => !isFolder), { path: CONTROL }];
  for (const { path } of files) yield* fileFrames(writer, path, piecesIn(join(pgdata, path)));
  yield* fileFrames(writer, 'backup_label', [await label()]);
  yield writer.frame('M', { sha256: writer.sha256() });
}

const byPath = (one: { path: string }, other: { path: string }) => (one.path < other.path ? -1 : 1);

async function* fileFrames(
  writer: FrameWriter,
  file: string,
  pieces: AsyncIterable<Buffer> | Iterable<Buffer>,
): AsyncGenerator<Buffer> {
  const sum = createHash('sha256');
  yield writer.frame('F', { file });
  for await (const piece of pieces) {
    sum.update(piece);
    yield writer.frame('D', piece);
  }
  yield writer.frame('E', { file, sha256: sum.digest('hex') });
}

/** Reads a file. A table that is dropped meanwhile removes its file; the WAL drops the table again. */
async function* piecesIn(path: string): AsyncGenerator<Buffer> {
  const handle = await open(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (!handle) return;
  try {
    for (let left = (await handle.stat()).size; left > 0;) {
      const { buffer, bytesRead } = await handle.read(
        Buffer.allocUnsafe(Math.min(left, PIECE_BYTES)),
      );
      if (bytesRead === 0) return;
      left -= bytesRead;
      yield buffer.subarray(0, bytesRead);
    }
  } finally {
    await handle.close();
  }
}

/**
 * Writes a copied data folder into an empty folder.
 * @throws DamagedBackup
 */
export async function unpackBase(
  bytes: ByteStream,
  identity: string | undefined,
  target: string,
): Promise<void> {
  const base = new BaseReader(target);
  try {
    for await (const frame of readFrames(unzipped(decrypted(bytes, identity)))) base.take(frame);
    base.end();
  } finally {
    base.close();
  }
}

class BaseReader {
  private file: { name: string; descriptor: number; sum: Hash } | undefined;
  private last = '';

  constructor(private readonly target: string) {}

  take(frame: Frame & { sha256Before: () => string }): void {
    const isInFile = this.file !== undefined;
    const isInOrder =
      frame.kind === 'H' ? this.last === '' : isInFile === 'DE'.includes(frame.kind);
    if (!isInOrder || this.last === 'M') throw new DamagedBackup('its parts are not in order');
    this.last = frame.kind;
    if (frame.kind === 'D') return this.write(frame.content);
    const told = parseFrame(frame) as Record<string, unknown>;
    if (frame.kind === 'H' && told['skein_base'] !== 1)
      throw new DamagedBackup('it is not a copy of a data folder that this version can read');
    if (frame.kind === 'F') this.begin(told);
    if (frame.kind === 'E') this.finish(told);
    if (frame.kind === 'M' && told['sha256'] !== frame.sha256Before())
      throw new DamagedBackup('its checksum is wrong');
    return undefined;
  }

  end(): void {
    if (this.last !== 'M') throw new DamagedBackup('it ends early');
  }

  close(): void {
    if (this.file) closeSync(this.file.descriptor);
    this.file = undefined;
  }

  private begin({ folder, file: name }: Record<string, unknown>): void {
    const path = typeof folder === 'string' ? folder : name;
    if (typeof path !== 'string' || !PATH.test(path))
      throw new DamagedBackup('it has a file name that PostgreSQL does not use');
    if (path === folder) {
      mkdirSync(join(this.target, path), { recursive: true, mode: 0o700 });
      return;
    }
    const descriptor = openSync(join(this.target, path), 'wx', 0o600);
    this.file = { name: path, descriptor, sum: createHash('sha256') };
  }

  private write(content: Buffer): void {
    const { sum, descriptor } = this.file!;
    sum.update(content);
    for (let at = 0; at < content.length;) at += writeSync(descriptor, content, at);
  }

  private finish(told: Record<string, unknown>): void {
    const { name, sum } = this.file!;
    this.close();
    if (told['file'] !== name || told['sha256'] !== sum.digest('hex'))
      throw new DamagedBackup(`${name} is not the file that was copied`);
  }
}
