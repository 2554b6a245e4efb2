import { AsyncResource } from 'node:async_hooks';
import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { Injectable } from '@nestjs/common';
import type { Caller } from '../../platform/auth/caller.js';
import { readMediaType } from '../../platform/http/body.guard.js';
import type { Context } from '../../platform/http/context.js';
import {
  contentEncoding,
  inflaterBytes,
  readInflated,
  STREAMED_RATE,
} from '../../platform/http/inflated-body.js';
import { ApiError, invalidRequest, type Violation } from '../../platform/errors.js';
import { Database } from '../../platform/database/database.js';
import { STATEMENT_MS } from '../../platform/database/limits.js';
import { type StagedUpload, StagedUploads } from '../../platform/database/staged-uploads.js';
import { ByteBuffer } from '../byte-buffer.js';
import { sliceRange, type RangedStream, readRange } from '../byte-range.js';
import { type ManifestFileDto, MAX_PARTS } from '../manifest.dto.js';
import {
  chunkInsert,
  chunksQuery,
  type FileKey,
  type FilePart,
  partInsert,
  partsCount,
  partsDelete,
  partsDeleteBut,
  partsOfFile,
  partsQuery,
  type StoredPart,
} from './checkpoint-files.query.js';

export const MAX_PART_BYTES = 100 * 1024 * 1024;
const CHUNK_BYTES = 1024 * 1024;
/** A chunk that is filled, and the one that is stored. */
const PASSING_BYTES = 4 * CHUNK_BYTES;

/** The job that files belong to. */
type Owner = Omit<FileKey, 'file'>;

/** Files whose digests were compared, and the uploads that their bytes had then. */
export interface VerifiedFiles {
  files: ManifestFileDto[];
  uploads: Map<string, string>;
}

/**
 * The files of checkpoints, in parts of chunks. They belong to the job whose trainer sends them, and are named by their
 * digests until a manifest gives them names: so a part that comes again is harmless, and attempts cannot mix files. A part
 * is never replaced; parts that together have another digest than their name are dropped. Of a part, memory holds some chunks.
 */
@Injectable()
export class CheckpointFilesService {
  constructor(
    private readonly database: Database,
    private readonly uploads: StagedUploads,
  ) {}

  /** Takes the body of the request as a part. `assertHeld` runs in the transaction that keeps it. */
  async receive(
    context: Context,
    key: FileKey,
    { part, assertHeld }: { part: number; assertHeld: () => Promise<void> },
  ): Promise<{ size_bytes: number; sha256: string }> {
    const upload = this.uploads.begin();
    upload.projectId = key.projectId;
    try {
      const { sizeBytes, sha256 } = await this.stage(context, upload);
      await context.caller.assertValid();
      const isKept = await this.database.long(async () => {
        await assertHeld();
        await this.assertFew(key);
        const row = { part, uploadId: upload.id, sizeBytes };
        const [stored] = await this.database.query(partInsert(key, row));
        if (stored) await upload.keep(key.projectId);
        return stored !== undefined;
      }, STATEMENT_MS.bulk);
      if (!isKept) await upload.discard();
      return { size_bytes: sizeBytes, sha256 };
    } catch (error) {
      await upload.discard();
      throw error;
    }
  }

  private async stage(context: Context, upload: StagedUpload) {
    const { hold, caller } = context;
    if (readMediaType(context)[0] !== 'application/octet-stream')
      throw new ApiError(
        'unsupported_media_type',
        'the header Content-Type must be application/octet-stream',
      );
    await hold.set(PASSING_BYTES + inflaterBytes(contentEncoding(context)));
    const hash = createHash('sha256');
    const chunk = new ByteBuffer();
    let [sizeBytes, seq] = [0, 0];
    const store = async () => {
      const bytes = chunk.take();
      await caller.assertValid();
      await upload.store(async () => {
        await this.database.query(chunkInsert(upload.projectId, upload.id, seq++, bytes));
      });
    };
    let writing: Promise<void> | undefined;
    const take = AsyncResource.bind((piece: Buffer) => {
      sizeBytes += piece.length;
      hash.update(piece);
      const room = CHUNK_BYTES - chunk.length;
      chunk.append(piece.subarray(0, room));
      if (piece.length < room) return undefined;
      return (writing = store().then(() => chunk.append(piece.subarray(room))));
    });
    try {
      await readInflated(context, { limit: MAX_PART_BYTES, rate: STREAMED_RATE }, take);
    } catch (error) {
      await writing?.catch(() => {}); // a client that left does not wait for it
      throw error;
    }
    if (sizeBytes === 0) throw new ApiError('invalid_request', 'the body is empty');
    if (chunk.length > 0) await store();
    return { sizeBytes, sha256: hash.digest('hex') };
  }

  private async assertFew({ projectId, jobId }: Owner): Promise<void> {
    const [row] = await this.database.query(partsCount(projectId, jobId));
    if (row!.parts >= MAX_PARTS)
      throw new ApiError('too_large', `part: the files of a job have at most ${MAX_PARTS} parts`);
  }

  parts({ projectId, jobId }: Owner): Promise<FilePart[]> {
    return this.database.query(partsQuery(projectId, jobId));
  }

  /**
   * Reads the files of a manifest and compares their digests. The parts of one that differs are dropped, so that they can be
   * sent again. @throws ApiError `invalid_request` naming each file that is not whole, or differs
   */
  async verified(
    owner: Owner,
    { files, path }: { files: ManifestFileDto[]; path: string },
    caller: Caller,
  ): Promise<VerifiedFiles> {
    assertUniqueNames(files, path);
    const violations: Violation[] = [];
    const uploads = new Map<string, string>();
    for (const [i, { name, sha256: file, size_bytes }] of files.entries()) {
      if (uploads.has(file)) continue;
      const key = { ...owner, file };
      const parts = await this.database.query(partsOfFile(key));
      const bytes = parts.reduce((sum, part) => sum + part.size_bytes, 0);
      const missing = parts.findIndex(({ part }, at) => part !== at);
      const say = (message: string) => violations.push({ path: `${path}[${i}]`, message });
      if (missing >= 0) say(`${name}: its part ${missing} is missing`);
      else if (bytes !== size_bytes)
        say(`${name}: its parts have ${bytes} bytes, and size_bytes is ${size_bytes}`);
      else {
        const hash = createHash('sha256');
        const pieces = this.bytesOfParts(owner.projectId, parts, caller);
        for await (const piece of pieces) hash.update(piece);
        const digest = hash.digest('hex');
        if (digest !== file) {
          await this.dropFiles(owner, [file]);
          say(
            `${name}: its parts have the sha256 ${digest}, so they were dropped: send them again`,
          );
        }
      }
      uploads.set(file, uploadIds(parts));
    }
    if (violations.length > 0) throw invalidRequest(violations);
    return { files, uploads };
  }

  /** In the transaction that names the files. @throws ApiError `invalid_request` when a file was dropped meanwhile */
  async assertUnchanged(owner: Owner, { uploads }: VerifiedFiles): Promise<void> {
    for (const [file, before] of uploads) {
      const parts = await this.database.query(partsOfFile({ ...owner, file }));
      if (uploadIds(parts) !== before)
        throw new ApiError('invalid_request', `the file ${file} was changed meanwhile`);
    }
  }

  /** A file of a manifest, or the range of it that the request asks for: a slow reader holds no connection. */
  async read(
    owner: Owner,
    { sha256: file, size_bytes: bytes }: ManifestFileDto,
    context: Context,
  ): Promise<RangedStream> {
    const range = readRange(context, bytes);
    const parts = await this.database.query(partsOfFile({ ...owner, file }));
    let at = 0;
    let first = 0;
    while (first < parts.length && at + parts[first]!.size_bytes <= range.start)
      at += parts[first++]!.size_bytes;
    const skipped = Math.floor(Math.max(0, range.start - at) / CHUNK_BYTES);
    const pieces = this.bytesOfParts(owner.projectId, parts.slice(first), context.caller, skipped);
    const cut = sliceRange(pieces, range, at + skipped * CHUNK_BYTES);
    return { stream: Readable.from(cut, { objectMode: false }), range, bytes };
  }

  private bytesOfParts(
    projectId: string,
    parts: StoredPart[],
    caller: Caller,
    skipped = 0,
  ): AsyncGenerator<Buffer> {
    const { database } = this;
    const { key } = database; // chunks are asked for in the context of the connection
    return (async function* () {
      for (const [i, { upload_id, size_bytes }] of parts.entries()) {
        const end = Math.ceil(size_bytes / CHUNK_BYTES);
        for (let seq = i === 0 ? skipped : 0; seq < end;) {
          await caller.assertValid();
          const query = chunksQuery(projectId, upload_id, seq);
          const chunks = await database.runFor(key, () =>
            database.long(() => database.query(query)),
          );
          if (chunks.length === 0) throw new Error('the file was deleted while it was read');
          for (const { bytes } of chunks) yield bytes;
          seq += chunks.length;
        }
      }
    })();
  }

  /** Deletes files of a job. In the transaction of the caller, if it has one. */
  async dropFiles({ projectId, jobId }: Owner, files: string[]): Promise<void> {
    if (files.length === 0) return;
    await this.database.transaction(async () => {
      await this.abandon(
        projectId,
        await this.database.query(partsDelete(projectId, jobId, files)),
      );
    });
  }

  /** Deletes all files of jobs but those of a manifest. In the transaction of the caller. */
  async dropAllBut(
    projectId: string,
    jobs: string[],
    files: Pick<ManifestFileDto, 'sha256'>[] = [],
  ): Promise<void> {
    if (jobs.length === 0) return;
    const kept = files.map(({ sha256 }) => sha256);
    await this.abandon(projectId, await this.database.query(partsDeleteBut(projectId, jobs, kept)));
  }

  /** The rows are gone at once; the bytes, which may be many, go with the next sweep of uploads. */
  private async abandon(projectId: string, parts: { upload_id: string }[]): Promise<void> {
    const ids = parts.map(({ upload_id }) => upload_id);
    if (ids.length > 0) await this.uploads.abandon(projectId, ids);
  }
}

const uploadIds = (parts: StoredPart[]) => parts.map(({ upload_id }) => upload_id).join();

function assertUniqueNames(files: ManifestFileDto[], path: string): void {
  const names = new Set<string>();
  const violations: Violation[] = [];
  for (const [i, { name }] of files.entries()) {
    if (names.has(name)) violations.push({ path: `${path}[${i}].name`, message: 'comes twice' });
    names.add(name);
  }
  if (violations.length > 0) throw invalidRequest(violations);
}

/** The digest of a manifest: SHA-256 of what `sha256sum` prints of its files, in the order of their names. */
export function manifestSha256(files: ManifestFileDto[]): string {
  const lines = files
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .map(({ name, sha256 }) => `${sha256}  ${name}\n`);
  return createHash('sha256').update(lines.join('')).digest('hex');
}
