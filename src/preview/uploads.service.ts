import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import zlib from 'node:zlib';
import { Injectable, Logger } from '@nestjs/common';
import type { Request } from 'express';
import { v7 as uuidv7 } from 'uuid';
import type { Caller } from '../auth/caller.js';
import { answeredOnce, idempotencyKey } from '../auth/idempotency.js';
import { unavailable } from '../common/errors.js';
import { config } from '../config.js';
import { Database } from '../database/database.js';
import type { BodyChunk } from './body-chunks.js';
import { bodyOf } from './request-body.js';
import { TrajectoryReader, type TrajectoryRow } from './trajectory-reader.js';
import {
  type Batch,
  batchInsert,
  chunkInsert,
  chunksDelete,
  chunksMove,
  groupsRepeal,
  payloadRepeal,
  staleUploads,
  trajectoriesDelete,
  trajectoriesInsert,
  trajectoriesMove,
  uploadEnd,
  uploadInsert,
  uploadTouch,
} from './uploads.query.js';

const gzip = promisify(zlib.gzip);
/** The fastest level: bench/training.mjs prints what the others cost and save. */
const LEVEL = { level: 1 };

/** Bytes of documents, and rows, of one INSERT. */
const MAX_ROW_BYTES = 1024 * 1024;
const MAX_ROWS = 200;

/** A body on its way in, or received and not yet kept. */
export interface Upload {
  id: string;
  /** Where it is staged: the project of its model, or '' while the model is not known. */
  projectId: string;
  reader: TrajectoryReader;
  bodyBytes: number;
  bodySha256: Buffer;
  payloadBytes: number;
  payloadSha256: Buffer;
  isKept: boolean;
}

/** The project of the model that the body is for, null as long as it has named none. */
export type ProjectOf = (reader: TrajectoryReader) => Promise<string | null>;

/** What of a reader is ready to be stored. */
interface Part {
  chunks: BodyChunk[];
  rows: TrajectoryRow[];
  repealed: (number | null)[];
}

/**
 * Receives bodies with trajectory groups into the database while they come, in short statements, so that a slow client
 * holds no connection. What is staged shows nowhere until `keep`, in the transaction of the caller, makes it a batch;
 * after an error `discard` removes it, and after the death of the process, the watchdog does.
 */
@Injectable()
export class UploadsService {
  private readonly logger = new Logger(UploadsService.name);

  constructor(private readonly database: Database) {}

  /**
   * Receives the body of the request, then runs `use` in a transaction, under the request's idempotency key if it has
   * one. What `use` does not keep is discarded. `projectOf` is asked as the body comes, and answers the project once it
   * is known; it throws to refuse the body then and there.
   */
  async receive<T>(
    request: Request,
    caller: Caller,
    projectOf: ProjectOf,
    use: (upload: Upload) => Promise<T>,
  ): Promise<T> {
    const key = idempotencyKey(request);
    const upload = await this.read(request, projectOf);
    let isCommitted = false;
    try {
      const work = () => use(upload);
      const answer = key
        ? await answeredOnce(
            this.database,
            {
              key,
              caller,
              project: (await projectOf(upload.reader)) ?? '',
              hash: createHash('sha256').update(request.path).update(upload.bodySha256).digest(),
            },
            work,
          )
        : await this.database.transaction(work);
      isCommitted = true;
      return answer;
    } finally {
      if (!isCommitted || !upload.isKept) await this.discard(upload);
    }
  }

  private async read(request: Request, projectOf: ProjectOf): Promise<Upload> {
    const staging = new Staging(this.database, projectOf);
    try {
      for await (const chunk of bodyOf(request, config.maxTrainingBodyBytes))
        await staging.write(chunk);
      return await staging.end();
    } catch (error) {
      await staging.stop();
      await this.discard(staging);
      throw error;
    }
  }

  /** Makes the upload a batch, in the transaction of the caller. */
  async keep(
    upload: Upload,
    batch: Pick<Batch, 'projectId' | 'modelId' | 'split' | 'jobId' | 'step'>,
  ): Promise<void> {
    const { id, projectId: staged, reader } = upload;
    const ended = await this.database.query(uploadEnd(staged, id));
    if (ended.length === 0) throw unavailable('receiving the body took too long');
    if (staged !== batch.projectId) {
      await this.database.query(chunksMove(staged, batch.projectId, id));
      await this.database.query(trajectoriesMove(staged, batch.projectId, id));
    }
    const { bodyBytes, bodySha256, payloadBytes, payloadSha256 } = upload;
    const { numGroups, numTrajectories } = reader.metrics;
    await this.database.query(
      batchInsert({
        ...batch,
        id,
        numGroups,
        numTrajectories,
        bodyBytes,
        bodySha256,
        payloadBytes,
        payloadSha256,
      }),
    );
    upload.isKept = true;
  }

  /** Removes what is staged still; a batch stays. Left to the watchdog when the database is away. */
  async discard({ projectId, id }: Pick<Upload, 'projectId' | 'id'>): Promise<void> {
    try {
      await this.database.transaction(async () => {
        const staged = await this.database.query(uploadEnd(projectId, id));
        if (staged.length === 0) return;
        await this.database.query(chunksDelete(projectId, [id]));
        await this.database.query(trajectoriesDelete(projectId, [id]));
      });
    } catch (error) {
      this.logger.warn(`an upload stays staged: ${(error as Error).message}`);
    }
  }

  /** Removes uploads that processes left behind when they died. */
  async removeStale(): Promise<void> {
    const stale = await this.database.query<{ project_id: string; id: string }>(staleUploads());
    for (const { project_id: projectId, id } of stale) await this.discard({ projectId, id });
  }
}

/** The staging of one body: while a part of it is stored, the next one is read. */
class Staging {
  readonly id = uuidv7();
  projectId = '';
  private readonly reader = new TrajectoryReader(microseconds(new Date()));
  private readonly bodyHash = createHash('sha256');
  private payloadHash = createHash('sha256');
  private bodyBytes = 0;
  private payloadBytes = 0;
  private seq = 0;
  private isBegun = false;
  private hasPayload = false;
  private storing: Promise<void> = Promise.resolve();

  constructor(
    private readonly database: Database,
    private readonly projectOf: ProjectOf,
  ) {}

  async write(chunk: Buffer): Promise<void> {
    this.bodyBytes += chunk.length;
    this.bodyHash.update(chunk);
    this.reader.write(chunk);
    await this.choosePlace();
    const { cutter, rows, rowBytes } = this.reader;
    if (cutter.chunks.length > 0 || rowBytes >= MAX_ROW_BYTES || rows.length >= MAX_ROWS)
      await this.storeNext();
  }

  async end(): Promise<Upload> {
    this.reader.end();
    await this.choosePlace();
    await this.storeNext();
    await this.storing;
    if (!this.hasPayload)
      await this.storeChunk({ text: Buffer.alloc(0), edits: Buffer.alloc(0), isPayload: true });
    const { id, projectId, reader, bodyBytes, payloadBytes } = this;
    return {
      id,
      projectId,
      reader,
      bodyBytes,
      payloadBytes,
      bodySha256: this.bodyHash.digest(),
      payloadSha256: this.payloadHash.digest(),
      isKept: false,
    };
  }

  /** Resolves when nothing is stored any more. */
  async stop(): Promise<void> {
    await this.storing.catch(() => {});
  }

  /** The project of the model, if it is known before the first part is stored. */
  private async choosePlace(): Promise<void> {
    const project = await this.projectOf(this.reader);
    if (!this.isBegun && project !== null) this.projectId = project;
  }

  private async storeNext(): Promise<void> {
    await this.storing;
    this.storing = this.store(this.reader.take());
    this.storing.catch(() => {}); // it is awaited later, by the next part or the end
  }

  private async store({ chunks, rows, repealed }: Part): Promise<void> {
    await this.begin();
    if (repealed.length > 0) await this.repeal(repealed);
    for (const chunk of chunks) await this.storeChunk(chunk);
    for (let i = 0; i < rows.length; i += MAX_ROWS)
      await this.database.query(
        trajectoriesInsert(this.projectId, this.id, rows.slice(i, i + MAX_ROWS)),
      );
  }

  private async begin(): Promise<void> {
    if (this.isBegun) {
      const touched = await this.database.query(uploadTouch(this.projectId, this.id));
      if (touched.length === 0) throw unavailable('receiving the body took too long');
    } else {
      this.isBegun = true;
      await this.database.query(uploadInsert(this.projectId, this.id));
    }
  }

  private async storeChunk({ text, edits, isPayload }: BodyChunk): Promise<void> {
    const packed = await gzip(text, LEVEL);
    if (isPayload) {
      this.hasPayload = true;
      this.payloadBytes += packed.length;
      this.payloadHash.update(packed);
    }
    await this.database.query(
      chunkInsert(this.projectId, this.id, {
        seq: this.seq++,
        isPayload,
        text: packed,
        edits: edits.length > 0 ? await gzip(edits, LEVEL) : null,
      }),
    );
  }

  /** A key came twice, and the last one counts. */
  private async repeal(groups: (number | null)[]): Promise<void> {
    if (groups.includes(null)) {
      this.hasPayload = false;
      this.payloadBytes = 0;
      this.payloadHash = createHash('sha256');
      await this.database.query(payloadRepeal(this.projectId, this.id));
      await this.database.query(trajectoriesDelete(this.projectId, [this.id]));
    } else await this.database.query(groupsRepeal(this.projectId, this.id, groups.map(Number)));
  }
}

/** Date-times in the form of the wire. */
const microseconds = (time: Date) => time.toISOString().replace('Z', '000Z');
