import { Transform, type TransformCallback } from 'node:stream';
import { type JsonBatch, ONE_BATCH, rowCount, toLines } from '../../platform/http/json-rows.js';
import { threadFile, WorkerThread } from '../../platform/process/worker-thread.js';
import { ApiError } from '../../platform/errors.js';
import {
  type EncodedRowGroup,
  footerOf,
  MAGIC,
  type ParquetColumn,
  type RowGroupQuestion,
} from './row-group.js';

export const PARQUET = 'application/vnd.apache.parquet';

/** A row group has at least this many bytes of JSON lines, unless it is the last. */
const GROUP_BYTES = 8 * 1024 * 1024;
/** Rows of a table may have few of its columns, so a row group also ends at this many values, with nulls. */
const GROUP_VALUES = 4_000_000;
/** Enough for 80 GiB of calls. The parts of all row groups are in memory up to the end of the file. */
const MAX_FOOTER_BYTES = 32 * 1024 * 1024;
/** Enough for a row of 64 MiB, with its columns and its compressed form. */
const MEMORY_MB = 512;
const MAX_WAITING = { count: 100, weight: 256 * 1024 * 1024 };

const thread = new WorkerThread<RowGroupQuestion, EncodedRowGroup>(
  threadFile('row-group.thread.js', import.meta.url),
  { memoryMb: MEMORY_MB, maxWaiting: MAX_WAITING },
);

interface FrameOptions {
  columns: readonly ParquetColumn[];
  /** Name and version of the columns, which the file tells as `skein.schema`. */
  schema: string;
  /** Key that pays for the time of the thread. */
  owner: string;
}

/** Turns batches of JSON rows into a Parquet file. A thread encodes its row groups. */
export class ParquetFrame extends Transform {
  private offset = MAGIC.length;
  private readonly groups: Uint8Array[] = [];
  private footerBytes = 0;
  private rows = 0;
  private lines: Buffer[] = [];
  private held = { bytes: 0, rows: 0 };

  constructor(private readonly options: FrameOptions) {
    super(ONE_BATCH);
    this.push(MAGIC);
  }

  override _transform(batch: JsonBatch | Buffer, _: string, done: TransformCallback): void {
    const lines = Buffer.isBuffer(batch) ? batch : toLines(batch);
    this.lines.push(lines);
    this.held.bytes += lines.length;
    if (!Buffer.isBuffer(batch)) this.held.rows += rowCount(batch); // lines are of calls, with few columns
    const values = this.held.rows * this.options.columns.length;
    if (this.held.bytes < GROUP_BYTES && values < GROUP_VALUES) done();
    else this.writeGroup().then(() => done(), done);
  }

  override _flush(done: TransformCallback): void {
    const finish = () => {
      const { columns, schema } = this.options;
      const metadata = [{ key: 'skein.schema', value: schema }];
      this.push(footerOf({ columns, groups: this.groups, rows: this.rows, metadata }));
    };
    this.writeGroup()
      .then(finish)
      .then(() => done(), done);
  }

  private async writeGroup(): Promise<void> {
    if (this.held.bytes === 0) return;
    const lines = this.lines.length === 1 ? this.lines[0]! : Buffer.concat(this.lines);
    [this.lines, this.held] = [[], { bytes: 0, rows: 0 }];
    const { columns, owner } = this.options;
    const question = { columns, lines, offset: this.offset };
    const { bytes, rows, footer } = await thread.run(question, owner, lines.length, own(lines));
    this.groups.push(footer);
    this.footerBytes += footer.length;
    if (this.footerBytes > MAX_FOOTER_BYTES)
      throw new ApiError('too_large', `the footer has more than ${MAX_FOOTER_BYTES} bytes`);
    this.rows += rows;
    this.offset += bytes.length;
    this.push(bytes);
  }
}

/** Returns the memory of bytes that share it with no others, so that a large row is not copied. */
const own = ({ buffer, byteLength }: Buffer): ArrayBuffer[] =>
  buffer instanceof ArrayBuffer && buffer.byteLength === byteLength ? [buffer] : [];
