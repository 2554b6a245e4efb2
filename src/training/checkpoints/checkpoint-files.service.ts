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
/** Memory of a part while it is received: the chunk that is filled, and the one that is stored. */
const PASSING_BYTES = 4 * CHUNK_BYTES;

type Owner = Omit<FileKey, 'file'>;

/** Files whose digests were verified, and the ids of the uploads that contained their bytes. */
export interface VerifiedFiles {
  files: ManifestFileDto[];
  uploads: Map<string, string>;
}

/**
 * Stores files of checkpoints, as parts that consist of chunks. Files belong to the job whose trainer sends them.
 * Their digests name them until a manifest does, so a part may be sent twice, and attempts cannot mix files. A part
 * is never replaced. Parts that together have another digest than their name are deleted. Memory holds a few chunks
 * of a part.
 */
@Injectable()
export class CheckpointFilesService {
  constructor(
    private readonly database: Database,
    private readonly uploads: StagedUploads,
  ) {}

  /** Stores the body of the request as a part. `assertHeld` runs in the transaction that stores it. */
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
      const isKept = await this.database.transaction({ long: 'bulk' }, async () => {
        await assertHeld();
        await this.assertFew(key);
        const row = { part, uploadId: upload.id, sizeBytes };
        const [stored] = await this.database.query(partInsert(key, row));
        if (stored) await upload.keep(key.projectId);
        return stored !== undefined;
      });
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
      await writing?.catch(() => {}); // a client that has left does not wait for this write
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
   * Reads the files of a manifest and compares their digests. Deletes the parts of a file that differs, so that the
   * trainer can send them again.
   * @throws ApiError `invalid_request` that names each file that is incomplete or differs
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

  /**
   * Checks that the verified files are unchanged, in the transaction that names them.
   * @throws ApiError `invalid_request` when a file was deleted or replaced meanwhile
   */
  async assertUnchanged(owner: Owner, { uploads }: VerifiedFiles): Promise<void> {
    for (const [file, before] of uploads) {
      const parts = await this.database.query(partsOfFile({ ...owner, file }));
      if (uploadIds(parts) !== before)
        throw new ApiError('invalid_request', `the file ${file} was changed meanwhile`);
    }
  }

  /** Reads a file of a manifest, or the requested range of it. A slow reader holds no connection. */
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
    const { owner } = database.scope; // chunks are read in the context of the connection
    return (async function* () {
      for (const [i, { upload_id, size_bytes }] of parts.entries()) {
        const end = Math.ceil(size_bytes / CHUNK_BYTES);
        for (let seq = i === 0 ? skipped : 0; seq < end;) {
          await caller.assertValid();
          const query = chunksQuery(projectId, upload_id, seq);
          const chunks = await database.query(query, { owner, long: 'read' });
          if (chunks.length === 0) throw new Error('the file was deleted while it was read');
          for (const { bytes } of chunks) yield bytes;
          seq += chunks.length;
        }
      }
    })();
  }

  /** Deletes files of a job. Joins the transaction of the caller, if any. */
  async dropFiles({ projectId, jobId }: Owner, files: string[]): Promise<void> {
    if (files.length === 0) return;
    await this.database.transaction(async () => {
      await this.abandon(
        projectId,
        await this.database.query(partsDelete(projectId, jobId, files)),
      );
    });
  }

  /** Deletes all files of jobs except those of a manifest, in the transaction of the caller. */
  async dropAllBut(
    projectId: string,
    jobs: string[],
    files: Pick<ManifestFileDto, 'sha256'>[] = [],
  ): Promise<void> {
    if (jobs.length === 0) return;
    const kept = files.map(({ sha256 }) => sha256);
    await this.abandon(projectId, await this.database.query(partsDeleteBut(projectId, jobs, kept)));
  }

  /** The rows are deleted already. The next sweep of uploads deletes their bytes, which may be many. */
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

/**
 * Returns the digest of a manifest: SHA-256 of the output of `sha256sum` for its files, in the order of their names.
 */
export function manifestSha256(files: ManifestFileDto[]): string {
  const lines = files
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .map(({ name, sha256 }) => `${sha256}  ${name}\n`);
  return createHash('sha256').update(lines.join('')).digest('hex');
}
