import { Transform, type TransformCallback } from 'node:stream';
import { ByteWriter, ParquetWriter } from 'hyparquet-writer';
import { type JsonBatch, toLines } from '../../platform/http/json-rows.js';
import { threadFile, WorkerThread } from '../../platform/process/worker-thread.js';
import {
  type EncodedRowGroup,
  type ParquetColumn,
  type RowGroupQuestion,
  schemaOf,
} from './row-group.js';

export const PARQUET = 'application/vnd.apache.parquet';

/** A row group has at least this many bytes of JSON lines, unless it is the last. */
const GROUP_BYTES = 8 * 1024 * 1024;
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
  private readonly sink = new ByteWriter();
  private readonly file: ParquetWriter;
  private lines: Buffer[] = [];
  private held = 0;

  constructor(private readonly options: FrameOptions) {
    super({ writableObjectMode: true });
    this.file = new ParquetWriter({
      writer: this.sink,
      schema: schemaOf(options.columns),
      kvMetadata: [{ key: 'skein.schema', value: options.schema }],
      createdBy: 'skein',
    });
    this.drain();
  }

  override _transform(batch: JsonBatch | Buffer, _: string, done: TransformCallback): void {
    const lines = Buffer.isBuffer(batch) ? batch : toLines(batch);
    this.lines.push(lines);
    this.held += lines.length;
    if (this.held < GROUP_BYTES) done();
    else this.writeGroup().then(() => done(), done);
  }

  override _flush(done: TransformCallback): void {
    this.writeGroup().then(() => {
      void this.file.finish();
      this.drain();
      done();
    }, done);
  }

  private async writeGroup(): Promise<void> {
    if (this.held === 0) return;
    const lines = this.lines.length === 1 ? this.lines[0]! : Buffer.concat(this.lines);
    [this.lines, this.held] = [[], 0];
    const { columns, owner } = this.options;
    const question = { columns, lines, offset: this.sink.offset };
    const { bytes, group } = await thread.run(question, owner, lines.length);
    this.file.row_groups.push(group);
    this.file.num_rows += group.num_rows;
    this.sink.offset += bytes.length;
    this.push(bytes);
  }

  /** Sends what the library has written itself: the first bytes and the footer. */
  private drain(): void {
    this.push(this.sink.getBytes().slice());
    this.sink.index = 0;
  }
}
