import { AsyncResource } from 'node:async_hooks';
import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import zlib from 'node:zlib';
import { Inject, Injectable } from '@nestjs/common';
import { answerOnce, idempotencyKey } from '../../platform/auth/idempotency.js';
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
import { STATEMENT_MS } from '../../platform/database/limits.js';
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
/** The fastest level: bench/training.mjs prints what the others cost and save. */
const LEVEL = { level: 1 };

/** Bytes of documents, and rows, of one INSERT. */
const MAX_ROW_BYTES = 1024 * 1024;
const MAX_ROWS = 200;

/** Memory of a body while it passes, besides what its reader keeps. */
const PASSING_BYTES = 2 * 1024 * 1024;
/** A trajectory that is being received, with its text and parsed copy to come. */
const HELD_WEIGHT = 2 + MAX_PARSED_WEIGHT;

/** Reads a body as it comes. What it has ready is taken and stored. */
export interface BodyReader {
  /** What of the body waits for more of it. */
  readonly heldBytes: number;
  readonly rows: readonly unknown[];
  readonly rowBytes: number;
  readonly cutter: { readonly chunks: readonly unknown[] };
  /** Known when the body has ended. */
  readonly metrics: { readonly numGroups: number; readonly numTrajectories: number };
  write(chunk: Buffer): void;
  end(): void;
  take(): TakenRows;
}

type TakenRows = ReturnType<TrajectoryReader['take']>;

/** A body on its way in, or received and not yet kept. */
export interface TrajectoryUpload<R extends BodyReader = TrajectoryReader> {
  staged: StagedUpload;
  reader: R;
  bodyBytes: number;
  bodySha256: Buffer;
  payloadBytes: number;
  payloadSha256: Buffer;
  isKept: boolean;
}

/** The project of the model that the body is for, null as long as it has named none. */
export type FindProject<R = TrajectoryReader> = (reader: R) => Promise<string | null>;

/** Receives bodies with training data as staged uploads, which `keep` makes batches. */
@Injectable()
export class UploadsService {
  constructor(
    private readonly database: Database,
    private readonly uploads: StagedUploads,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /**
   * Receives the body of the request, then runs `use` in a transaction, under the request's idempotency key if it has
   * one. What `use` does not keep is discarded. `projectOf` is asked as the body comes, and answers the project once it
   * is known; it throws to refuse the body then and there.
   */
  receive<T>(
    context: Context,
    findProject: FindProject,
    use: (upload: TrajectoryUpload) => Promise<T>,
  ): Promise<T> {
    assertJson(context);
    return this.receiveBy(trajectoryReader(), context, findProject, use);
  }

  /** The same for a body that another reader reads. */
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
      const transaction = <R>(run: () => Promise<R>) => this.database.long(run, STATEMENT_MS.bulk);
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
      await writing.catch(() => {}); // a client that left does not wait for it
      await staging.stop();
      await staging.upload.discard();
      throw error;
    }
  }

  /**
   * Stages a body that the service makes itself, of a project's own model. The caller keeps or discards it. Null when
   * the body is empty.
   */
  stage(projectId: string, body: AsyncIterable<Buffer>): Promise<TrajectoryUpload | null> {
    return this.stageBy(trajectoryReader(), projectId, body);
  }

  /** The same for a body that another reader reads. */
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

  /** Forgets what batches hold; that they were there stays. In the transaction of the caller. */
  async forget(projectId: string, batches: string[]): Promise<void> {
    await this.database.query(chunksDelete(projectId, batches));
    await this.database.query(trajectoriesDelete(projectId, batches));
  }

  /** Makes the upload a batch, in the transaction of the caller. */
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

/** The staging of one body: while a part of it is stored, the next one is read. */
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

  /** Bytes of the body that are kept until the trajectory under way has ended. */
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

  /** Resolves when nothing is stored any more. */
  async stop(): Promise<void> {
    await this.storing.catch(() => {});
  }

  /** The project of the model, if it is known before the first part is stored. */
  private async choosePlace(): Promise<void> {
    const project = await this.findProject(this.reader);
    if (!this.upload.isBegun && project !== null) this.upload.projectId = project;
  }

  private async storeNext(): Promise<void> {
    await this.storing;
    this.storing = this.store(this.reader.take());
    this.storing.catch(() => {}); // it is awaited later, by the next part or the end
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

  /** A key came twice, and the last one counts. */
  private async repeal(groups: (number | null)[]): Promise<void> {
    const { projectId, id } = this.upload;
    if (groups.includes(null)) {
      await this.database.query(chunksDelete(projectId, [id]));
      await this.database.query(trajectoriesDelete(projectId, [id]));
    } else await this.database.query(groupsRepeal(projectId, id, groups.map(Number)));
  }
}

/** Of a body without groups: a payload is at least one chunk. */
const NO_PAYLOAD: PayloadChunk = { text: Buffer.alloc(0), groupsBefore: 0 };

const trajectoryReader = () => new TrajectoryReader(microseconds(new Date()));

/** Date-times in the form of the wire. */
const microseconds = (time: Date) => time.toISOString().replace('Z', '000Z');
