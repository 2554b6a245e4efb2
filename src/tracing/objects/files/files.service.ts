import { createHash, type Hash } from 'node:crypto';
import { Readable } from 'node:stream';
import { Inject, Injectable } from '@nestjs/common';
import { v7 as uuidv7 } from 'uuid';
import type { Caller } from '../../../platform/auth/caller.js';
import type { Context } from '../../../platform/http/context.js';
import { isProjectId, PROJECT_ID_RULE } from '../../../platform/http/dto.js';
import { ApiError, invalidRequest } from '../../../platform/errors.js';
import { CONFIG, type Config } from '../../../platform/config/config.js';
import { Database } from '../../../platform/database/database.js';
import { type StagedUpload, StagedUploads } from '../../../platform/database/staged-uploads.js';
import { assertExpected, bytesDigest, digestName } from '../digests/digest.js';
import { type UploadForm, readFileForm } from './file-form.js';
import type { FileContentDto, FileCreatedDto } from './files.dto.js';
import {
  chunkQuery,
  fileQuery,
  insertChunkQuery,
  insertFileQuery,
  insertSmallFileQuery,
} from './files.query.js';
import { OBJECTS } from '../object-version.entity.js';

export const MAX_FILE_BYTES = 100 * 1024 * 1024;
/** Bytes of a multipart body: the file, a few fields, and the delimiters between them. */
const MAX_FORM_BYTES = MAX_FILE_BYTES + 1024 * 1024;
const CHUNK_BYTES = 256 * 1024;
/** Chunks that one transaction stores. */
const CHUNKS_AT_ONCE = 4;

/**
 * Stores files as chunks. Most files have one chunk and take one statement. A larger file is staged while it arrives,
 * because its digest, and maybe its project, are known only at the end. Memory holds `CHUNKS_AT_ONCE` chunks and one
 * more.
 */
@Injectable()
export class FilesService {
  /** Milliseconds without data, while the service reads, after which a client counts as disconnected. */
  stalledAfterMs: number;

  constructor(
    private readonly database: Database,
    private readonly uploads: StagedUploads,
    @Inject(CONFIG) { bodyTimeoutSeconds }: Config,
  ) {
    this.stalledAfterMs = bodyTimeoutSeconds * 1000;
  }

  create(context: Context): Promise<FileCreatedDto> {
    return readFileForm(context, (file, form) => this.store(file, form, context), {
      limit: MAX_FORM_BYTES,
      timeoutMs: this.stalledAfterMs,
    });
  }

  /**
   * Stores a text for another feature. It must fit into one chunk.
   * @throws ApiError `too_large`
   */
  async storeText(projectId: string, text: string, caller: Caller): Promise<FileCreatedDto> {
    const bytes = Buffer.from(text);
    if (bytes.length > CHUNK_BYTES)
      throw new ApiError('too_large', `the text is over the limit of ${CHUNK_BYTES} bytes`);
    await caller.assertValid();
    const digest = bytesDigest(bytes);
    await this.database.query(
      insertSmallFileQuery({ projectId, digest, uploadId: uuidv7() }, bytes),
    );
    this.database.changes.note(projectId, OBJECTS);
    return { digest };
  }

  textDigest(text: string): string {
    return bytesDigest(Buffer.from(text));
  }

  /** Returns the first chunk of a file as text, or null when the file does not exist. */
  async firstChunk({ project_id, digest }: FileContentDto): Promise<string | null> {
    const [file] = await this.database.query(fileQuery(project_id, digest));
    return file ? (file.bytes?.toString() ?? '') : null;
  }

  /**
   * Stores bytes of another feature while they arrive, and returns their digest. Their length and SHA-256 were
   * announced.
   * @throws ApiError `invalid_request` when the bytes differ from the announcement
   */
  storeAnnounced(
    projectId: string,
    bytes: Readable,
    announced: { sha256: string; sizeBytes: number },
  ): Promise<string> {
    return this.storeBytes(bytes, {
      projectId: () => projectId,
      assertValid: () => Promise.resolve(),
      finish: (sha256, sizeBytes) => {
        assertAnnounced(announced, { sha256: sha256.toString('base64'), sizeBytes });
        return Promise.resolve({ projectId, digest: digestName(sha256) });
      },
    });
  }

  private async store(file: Readable, form: UploadForm, context: Context): Promise<FileCreatedDto> {
    const { caller } = context;
    const projectId = () =>
      form.fields.has('project_id') ? formProject(form, context) : undefined;
    projectId(); // refuses the project before any byte is read
    const digest = await this.storeBytes(file, {
      projectId,
      assertValid: () => caller.assertValid(),
      finish: async (sha256) => {
        await form.isComplete;
        await caller.assertValid();
        return { projectId: formProject(form, context), digest: checkedDigest(sha256, form) };
      },
    });
    return { digest };
  }

  private async storeBytes(
    bytes: Readable,
    { projectId, assertValid, finish }: IncomingFile,
  ): Promise<string> {
    const hash = createHash('sha256');
    const chunks = cutChunks(bytes, hash);
    const first = await chunks.next();
    const second = await chunks.next();
    if (second.done) {
      const only = first.value ?? Buffer.alloc(0);
      const file = await finish(hash.digest(), only.length);
      await this.database.query(insertSmallFileQuery({ ...file, uploadId: uuidv7() }, only));
      this.database.changes.note(file.projectId, OBJECTS);
      return file.digest;
    }
    const upload = this.uploads.begin();
    upload.projectId = projectId() ?? upload.projectId;
    try {
      const head = [first.value as Buffer, second.value];
      const sizeBytes = await this.stage(upload, head, chunks, assertValid);
      const file = await finish(hash.digest(), sizeBytes);
      await this.keep(upload, { ...file, uploadId: upload.id }, sizeBytes);
      return file.digest;
    } catch (error) {
      await upload.discard();
      throw error;
    }
  }

  /** Stores the chunks of an upload. Returns how many bytes were staged. */
  private async stage(
    upload: StagedUpload,
    head: Buffer[],
    rest: AsyncIterable<Buffer>,
    assertValid: () => Promise<void>,
  ): Promise<number> {
    let sizeBytes = 0;
    let index = 0;
    let part = head;
    const store = async () => {
      await assertValid();
      await upload.store(async () => {
        for (const bytes of part) {
          await this.database.query(insertChunkQuery(upload.projectId, upload.id, index++, bytes));
          sizeBytes += bytes.length;
        }
      });
    };
    for await (const bytes of rest) {
      if (part.length === CHUNKS_AT_ONCE) {
        await store();
        part = [];
      }
      part.push(bytes);
    }
    await store();
    return sizeBytes;
  }

  /** Turns the upload into the file, unless the project has a file with these bytes. */
  private keep(
    upload: StagedUpload,
    file: { projectId: string; digest: string; uploadId: string },
    sizeBytes: number,
  ): Promise<void> {
    return this.database.transaction({ long: 'bulk' }, async () => {
      const [stored] = await this.database.query(insertFileQuery(file, sizeBytes));
      this.database.changes.note(file.projectId, OBJECTS);
      if (stored) await upload.keep(file.projectId);
      else await upload.discard();
    });
  }

  /**
   * Returns the bytes of a file and their length. Without `caller`, the calling code must have checked access. Each
   * chunk is read by its own query: no connection waits for a slow client, and stored chunks never change.
   */
  async content(
    { project_id, digest }: FileContentDto,
    caller?: Caller,
  ): Promise<{ bytes: Readable; length: number }> {
    const [file] = await this.database.query(fileQuery(project_id, digest));
    if (!file) throw new ApiError('not_found', `there is no file ${digest}`);
    const { database } = this;
    const { owner } = database.scope; // chunks are read in the context of the connection
    async function* chunks(first: Buffer | null) {
      if (first) yield first;
      for (let index = 1; index * CHUNK_BYTES < file!.size_bytes; index++) {
        await caller?.assertValid();
        const [chunk] = await database.query(chunkQuery(project_id, file!.upload_id, index), {
          owner,
          long: 'read',
        });
        yield chunk!.bytes;
      }
    }
    return {
      bytes: Readable.from(chunks(file.bytes), { objectMode: false, highWaterMark: CHUNK_BYTES }),
      length: file.size_bytes,
    };
  }
}

/** Arriving bytes, with what depends on their sender. */
interface IncomingFile {
  /** The project, if it is known already. */
  projectId: () => string | undefined;
  /** Refuses to accept more bytes when the sender's key is no longer valid. */
  assertValid: () => Promise<void>;
  /** Returns project and digest of the file after all bytes have arrived. */
  finish: (sha256: Buffer, sizeBytes: number) => Promise<{ projectId: string; digest: string }>;
}

interface FileFacts {
  sha256: string;
  sizeBytes: number;
}

/** @throws ApiError `invalid_request` */
function assertAnnounced(announced: FileFacts, received: FileFacts): void {
  if (received.sizeBytes !== announced.sizeBytes)
    throw invalidRequest([
      {
        path: 'contentLength',
        message: `is ${announced.sizeBytes}, but ${received.sizeBytes} bytes were sent`,
      },
    ]);
  if (received.sha256 !== announced.sha256)
    throw invalidRequest([
      {
        path: 'sha256Hash',
        message: `is ${announced.sha256}, but that of the bytes is ${received.sha256}`,
      },
    ]);
}

/**
 * Returns the project that the form names.
 * @throws ApiError `invalid_request`, `forbidden`
 */
function formProject({ fields }: UploadForm, context: Context): string {
  const projectId = fields.get('project_id');
  if (projectId === undefined)
    throw invalidRequest([{ path: 'project_id', message: 'is required' }]);
  if (!isProjectId(projectId))
    throw invalidRequest([{ path: 'project_id', message: PROJECT_ID_RULE }]);
  context.assertReaches(projectId);
  return projectId;
}

function checkedDigest(sha256: Buffer, { fields }: UploadForm): string {
  const digest = digestName(sha256);
  assertExpected('expected_digest', fields.get('expected_digest'), digest);
  return digest;
}

/**
 * Cuts pieces of any length into chunks. All but the last have `CHUNK_BYTES`.
 * @throws ApiError `too_large`
 */
async function* cutChunks(file: Readable, hash: Hash): AsyncGenerator<Buffer, undefined> {
  let chunk = Buffer.allocUnsafe(CHUNK_BYTES);
  let used = 0;
  let sizeBytes = 0;
  for await (let piece of file as AsyncIterable<Buffer>) {
    sizeBytes += piece.length;
    if (sizeBytes > MAX_FILE_BYTES)
      throw new ApiError('too_large', `file is over the limit of ${MAX_FILE_BYTES} bytes`);
    hash.update(piece);
    while (piece.length > 0) {
      const copied = piece.copy(chunk, used);
      used += copied;
      piece = piece.subarray(copied);
      if (used < CHUNK_BYTES) continue;
      yield chunk;
      chunk = Buffer.allocUnsafe(CHUNK_BYTES);
      used = 0;
    }
  }
  if (used > 0) yield chunk.subarray(0, used);
  return undefined;
}
