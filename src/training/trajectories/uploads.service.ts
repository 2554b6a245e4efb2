import { AsyncResource } from 'node:async_hooks';
import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import zlib from 'node:zlib';
import { Inject, Injectable } from '@nestjs/common';
import { answerOnce, idempotencyKey } from '../../platform/auth/idempotency/idempotency.js';
import type { Context } from '../../platform/http/context.js';
import { assertJson } from '../../platform/http/body.guard.js';
import {
  contentEncoding,
  inflaterBytes,
  readInflated,
  STREAMED_RATE,
} from '../../platform/http/inflated-body.js';
import { MAX_PARSED_WEIGHT } from '../../platform/json/json-weight.js';
import { CONFIG, type Config } from '../../platform/config/config.js';
import { Database } from '../../platform/database/database.js';
import { type StagedUpload, StagedUploads } from '../../platform/database/staged-uploads.js';
import type { PayloadChunk } from '../payload-cutter.js';
import { TrajectoryReader } from './trajectory-reader.js';
import {
  chunkInsert,
  chunksDelete,
  groupsRepeal,
  trajectoriesDelete,
  trajectoriesInsert,
} from './uploads.query.js';
import { TrajectoryBatch } from './trajectory-batch.entity.js';

const gzip = promisify(zlib.gzip);
/** The fastest level. bench/training.mjs prints what the other levels cost and save. */
const LEVEL = { level: 1 };

/** Largest bytes of documents and largest number of rows of one INSERT. */
const MAX_ROW_BYTES = 1024 * 1024;
const MAX_ROWS = 200;

/** Memory of a body while it is received, besides the memory of its reader. */
const PASSING_BYTES = 2 * 1024 * 1024;
/** Memory of an incomplete trajectory per byte: its bytes, its text, and its parsed copy. */
const HELD_WEIGHT = 2 + MAX_PARSED_WEIGHT;

/** Reads a body while it arrives. The caller takes what is complete, and stores it. */
export interface BodyReader {
  /** Bytes that wait for more of the body. */
  readonly heldBytes: number;
  readonly rows: readonly unknown[];
  readonly rowBytes: number;
  readonly cutter: { readonly chunks: readonly unknown[] };
  /** Complete when the body has ended. */
  readonly metrics: { readonly numGroups: number; readonly numTrajectories: number };
  write(chunk: Buffer): void;
  end(): void;
  take(): TakenRows;
}

type TakenRows = ReturnType<TrajectoryReader['take']>;

/** A body that is being received, or was received and is not kept yet. */
export interface TrajectoryUpload<R extends BodyReader = TrajectoryReader> {
  staged: StagedUpload;
  reader: R;
  bodyBytes: number;
  bodySha256: Buffer;
  payloadBytes: number;
  payloadSha256: Buffer;
  isKept: boolean;
}

/** Returns the project of the model that the body names; null while the body has named none. */
export type FindProject<R = TrajectoryReader> = (reader: R) => Promise<string | null>;

/** Receives bodies with training data as staged uploads. `keep` turns an upload into a batch. */
@Injectable()
export class UploadsService {
  constructor(
    private readonly database: Database,
    private readonly uploads: StagedUploads,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /**
   * Receives the body of the request. Then runs `use` in a transaction, under the request's idempotency key if it has
   * one. Discards the upload if `use` does not keep it. Calls `findProject` while the body arrives, until it returns
   * the project. It throws to refuse the body at once.
   */
  receive<T>(
    context: Context,
    findProject: FindProject,
    use: (upload: TrajectoryUpload) => Promise<T>,
  ): Promise<T> {
    assertJson(context);
    return this.receiveBy(trajectoryReader(), context, findProject, use);
  }

  /** Receives a body as `receive` does, with the given reader. */
  async receiveBy<T, R extends BodyReader>(
    reader: R,
    context: Context,
    findProject: FindProject<R>,
    use: (upload: TrajectoryUpload<R>) => Promise<T>,
  ): Promise<T> {
    const { caller, url } = context;
    const key = idempotencyKey(context);
    const upload = await this.read(reader, context, findProject);
    let isKept = false;
    try {
      const work = () => caller.assertValid().then(() => use(upload));
      const transaction = <R>(run: () => Promise<R>) =>
        this.database.transaction({ long: 'bulk' }, run);
      const keyed = async (name: string) => {
        const project = (await findProject(upload.reader)) ?? '';
        const hash = createHash('sha256').update(url).update(upload.bodySha256).digest();
        const write = { key: name, caller, project, hash };
        return answerOnce(this.database, write, work, transaction);
      };
      const answer = await (key ? keyed(key) : transaction(work));
      isKept = upload.isKept;
      return answer;
    } finally {
      if (!isKept) await upload.staged.discard();
    }
  }

  private async read<R extends BodyReader>(
    reader: R,
    context: Context,
    findProject: FindProject<R>,
  ): Promise<TrajectoryUpload<R>> {
    const staging = this.staging(reader, findProject);
    let writing = Promise.resolve();
    try {
      const { hold, caller } = context;
      const passing = PASSING_BYTES + inflaterBytes(contentEncoding(context));
      await hold.set(passing);
      const takeChunk = AsyncResource.bind(async (chunk: Buffer) => {
        await caller.assertValid();
        await staging.write(chunk);
        await hold.set(passing + staging.heldBytes * HELD_WEIGHT);
      });
      const reading = { limit: this.config.maxTrainingBodyBytes, rate: STREAMED_RATE };
      await readInflated(context, reading, (chunk) => (writing = takeChunk(chunk)));
      return await staging.end();
    } catch (error) {
      await writing.catch(() => {}); // a client that has left does not wait for this write
      await staging.stop();
      await staging.upload.discard();
      throw error;
    }
  }

  /**
   * Stages a body that the service has made for a model of the project. The caller keeps or discards the upload.
   * Returns null when the body is empty.
   */
  stage(projectId: string, body: AsyncIterable<Buffer>): Promise<TrajectoryUpload | null> {
    return this.stageBy(trajectoryReader(), projectId, body);
  }

  /** Stages a body as `stage` does, with the given reader. */
  async stageBy<R extends BodyReader>(
    reader: R,
    projectId: string,
    body: AsyncIterable<Buffer>,
  ): Promise<TrajectoryUpload<R> | null> {
    const staging = this.staging(reader, async () => projectId);
    let isEmpty = true;
    try {
      for await (const chunk of body) {
        isEmpty = false;
        await staging.write(chunk);
      }
      return isEmpty ? null : await staging.end();
    } catch (error) {
      await staging.stop();
      await staging.upload.discard();
      throw error;
    }
  }

  private staging<R extends BodyReader>(reader: R, findProject: FindProject<R>): UploadStaging<R> {
    return new UploadStaging(this.database, this.uploads.begin(), reader, findProject);
  }

  /** Deletes the contents of batches, but not their rows. Runs in the transaction of the caller. */
  async forget(projectId: string, batches: string[]): Promise<void> {
    await this.database.query(chunksDelete(projectId, batches));
    await this.database.query(trajectoriesDelete(projectId, batches));
  }

  /** Turns the upload into a batch, in the transaction of the caller. */
  async keep(
    upload: TrajectoryUpload<BodyReader>,
    batch: Pick<TrajectoryBatch, 'projectId' | 'modelId' | 'split' | 'jobId' | 'step'>,
  ): Promise<void> {
    const { staged, reader } = upload;
    await staged.keep(batch.projectId);
    const { bodyBytes, bodySha256, payloadBytes, payloadSha256 } = upload;
    const { numGroups, numTrajectories } = reader.metrics;
    await this.database.repository(TrajectoryBatch).insert({
      ...batch,
      id: staged.id,
      numGroups,
      numTrajectories,
      bodyBytes: String(bodyBytes),
      bodySha256,
      payloadBytes: String(payloadBytes),
      payloadSha256,
    });
    upload.isKept = true;
  }
}

/** Stages one body: stores a part of it while the next part is read. */
class UploadStaging<R extends BodyReader> {
  private readonly bodyHash = createHash('sha256');
  private payloadHash = createHash('sha256');
  private bodyBytes = 0;
  private payloadBytes = 0;
  private seq = 0;
  private storing: Promise<void> = Promise.resolve();

  constructor(
    private readonly database: Database,
    readonly upload: StagedUpload,
    private readonly reader: R,
    private readonly findProject: FindProject<R>,
  ) {}

  get heldBytes(): number {
    return this.reader.heldBytes;
  }

  async write(chunk: Buffer): Promise<void> {
    this.bodyBytes += chunk.length;
    this.bodyHash.update(chunk);
    this.reader.write(chunk);
    await this.choosePlace();
    const { cutter, rows, rowBytes } = this.reader;
    if (cutter.chunks.length > 0 || rowBytes >= MAX_ROW_BYTES || rows.length >= MAX_ROWS)
      await this.storeNext();
  }

  async end(): Promise<TrajectoryUpload<R>> {
    this.reader.end();
    await this.choosePlace();
    await this.storeNext();
    await this.storing;
    if (this.payloadBytes === 0) await this.store({ chunks: [NO_PAYLOAD], rows: [], repealed: [] });
    const { upload, reader, bodyBytes, payloadBytes } = this;
    return {
      staged: upload,
      reader,
      bodyBytes,
      payloadBytes,
      bodySha256: this.bodyHash.digest(),
      payloadSha256: this.payloadHash.digest(),
      isKept: false,
    };
  }

  /** Waits until the current part is stored, or has failed. */
  async stop(): Promise<void> {
    await this.storing.catch(() => {});
  }

  /** Sets the project of the upload, if it is known before the first part is stored. */
  private async choosePlace(): Promise<void> {
    const project = await this.findProject(this.reader);
    if (!this.upload.isBegun && project !== null) this.upload.projectId = project;
  }

  private async storeNext(): Promise<void> {
    await this.storing;
    this.storing = this.store(this.reader.take());
    this.storing.catch(() => {}); // the next part or the end awaits it
  }

  private async store({ chunks, rows, repealed }: TakenRows): Promise<void> {
    const { upload, database } = this;
    if (repealed.includes(null)) this.forgetPayload();
    const packed: PayloadChunk[] = [];
    for (const { text, groupsBefore } of chunks)
      packed.push({ text: await this.pack(text), groupsBefore });
    await upload.store(async () => {
      const { projectId, id } = upload;
      if (repealed.length > 0) await this.repeal(repealed);
      for (const chunk of packed)
        await database.query(chunkInsert(projectId, id, this.seq++, chunk));
      for (let i = 0; i < rows.length; i += MAX_ROWS)
        await database.query(trajectoriesInsert(projectId, id, rows.slice(i, i + MAX_ROWS)));
    });
  }

  private async pack(text: Buffer): Promise<Buffer> {
    const packed = await gzip(text, LEVEL);
    this.payloadBytes += packed.length;
    this.payloadHash.update(packed);
    return packed;
  }

  private forgetPayload(): void {
    this.payloadBytes = 0;
    this.payloadHash = createHash('sha256');
  }

  private async repeal(groups: (number | null)[]): Promise<void> {
    const { projectId, id } = this.upload;
    if (groups.includes(null)) {
      await this.database.query(chunksDelete(projectId, [id]));
      await this.database.query(trajectoriesDelete(projectId, [id]));
    } else await this.database.query(groupsRepeal(projectId, id, groups.map(Number)));
  }
}

/** The payload of a body without groups: a payload has at least one chunk. */
const NO_PAYLOAD: PayloadChunk = { text: Buffer.alloc(0), groupsBefore: 0 };

const trajectoryReader = () => new TrajectoryReader(microseconds(new Date()));

/** Prints a time with six decimal digits, as answers do. */
const microseconds = (time: Date) => time.toISOString().replace('Z', '000Z');
