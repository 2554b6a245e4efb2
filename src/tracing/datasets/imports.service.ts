import { AsyncResource } from 'node:async_hooks';
import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type { Caller } from '../../platform/auth/caller.js';
import { answerOnce, idempotencyKey } from '../../platform/auth/idempotency/idempotency.js';
import { Database } from '../../platform/database/database.js';
import { type StagedUpload, StagedUploads } from '../../platform/database/staged-uploads.js';
import { ApiError, invalidRequest } from '../../platform/errors.js';
import { readMediaType } from '../../platform/http/body.guard.js';
import type { Context } from '../../platform/http/context.js';
import {
  contentEncoding,
  inflaterBytes,
  readInflated,
  STREAMED_RATE,
} from '../../platform/http/inflated-body.js';
import { MAX_PARSED_WEIGHT } from '../../platform/json/json-weight.js';
import { ObjectsService } from '../objects/objects.service.js';
import { MAX_ROWS } from '../objects/tables/tables.dto.js';
import { cutBatches, newRows } from '../objects/tables/tables.service.js';
import type {
  DatasetImportDto,
  DatasetImportedDto,
  DatasetImportPreviewDto,
} from './datasets.dto.js';
import { sourceInsertLock } from './datasets.query.js';
import { DatasetsService } from './datasets.service.js';
import {
  importedRowsInsert,
  importedTableInsert,
  importRowsDelete,
  importRowsInsert,
  replacedSources,
} from './imports.query.js';
import { CsvFile, JsonLinesFile, type RowFile } from './row-file.js';
import { RowMapping } from './row-mapping.js';

export const CSV = 'text/csv';
export const JSON_LINES = ['application/jsonl', 'application/x-ndjson'];

/** Rows of a file. */
const MAX_IMPORTED_ROWS = 1_000_000;
/** Inflated bytes of a file, and bytes of its rows as JSON: a short line of a CSV file may make a long row. */
const MAX_IMPORT_BYTES = 1024 * 1024 * 1024;
/** Rows of a preview, and their bytes. */
const SHOWN_ROWS = 20;
const SHOWN_BYTES = 1024 * 1024;

/** Memory of a file while it is read, besides its current row: chunks, and rows that are being stored. */
const PASSING_BYTES = 8 * 1024 * 1024;
/** Memory of an incomplete row per byte: its bytes, its text, and its parsed copy. */
const HELD_WEIGHT = 2 + MAX_PARSED_WEIGHT;
/** Rows that are stored together, and their bytes. */
const ROWS_AT_ONCE = 2000;
const BYTES_AT_ONCE = 1024 * 1024;

/** Makes versions of datasets from files of CSV and JSON lines. */
@Injectable()
export class ImportsService {
  constructor(
    private readonly database: Database,
    private readonly uploads: StagedUploads,
    private readonly objects: ObjectsService,
    private readonly datasets: DatasetsService,
  ) {}

  /**
   * Stores the rows of the body in a new version. Rows are staged while the body arrives, so a faulty or incomplete
   * file stores nothing.
   * @throws ApiError
   */
  async import(query: DatasetImportDto, context: Context): Promise<DatasetImportedDto> {
    const { project_id: projectId, object_id: objectId } = query;
    const file = this.open(query, context);
    const key = idempotencyKey(context);
    const upload = this.uploads.begin();
    upload.projectId = projectId;
    const staging = new RowStaging(this.database, upload, context.caller);
    let isPublished = false;
    let isKept = false;
    try {
      const sha256 = await this.read(file, context, async () => {
        if (file.isBroken) throw refusedFile(file);
        await staging.take(file);
      });
      await file.end();
      assertRows(file.numRows);
      await staging.take(file);
      if (file.numFaults > 0) throw refusedFile(file);
      if (file.numRows === 0) throw new ApiError('invalid_request', 'the file has no rows');
      await staging.end();
      const alone = <T>(work: () => Promise<T>) =>
        this.objects.alone(projectId, objectId, work, 'bulk');
      const work = async () => {
        const answer = await this.publish(query, file.numRows, upload, context);
        isPublished = true;
        return answer;
      };
      const hash = createHash('sha256').update(context.url).update(sha256).digest();
      const write = key !== undefined && { key, caller: context.caller, project: projectId, hash };
      const answer = await (write ? answerOnce(this.database, write, work, alone) : alone(work));
      isKept = isPublished;
      return answer;
    } finally {
      await staging.stop();
      if (!isKept) await upload.discard();
    }
  }

  /** Reads a file, or the first part of one, and stores nothing. */
  async preview(query: DatasetImportPreviewDto, context: Context): Promise<string> {
    const file = this.open(query, context);
    const shown: string[] = [];
    let bytes = 0;
    const show = async () => {
      for (const row of file.rows.splice(0)) {
        bytes += row.length;
        if (shown.length < SHOWN_ROWS && bytes <= SHOWN_BYTES) shown.push(row);
      }
    };
    await this.read(file, context, show);
    await file.end(query.partial === 'true');
    await show();
    const { columns, numRows, faults, numFaults } = file;
    const facts = { columns, num_rows: numRows, errors: faults, num_errors: numFaults };
    return `${JSON.stringify(facts).slice(0, -1)},"rows":[${shown.join(',')}]}`;
  }

  /** @throws ApiError `unsupported_media_type`, `invalid_request` */
  private open({ mapping, delimiter = ',' }: DatasetImportPreviewDto, context: Context): RowFile {
    const [type, charset] = readMediaType(context);
    const isCsv = type === CSV;
    if (!(isCsv || JSON_LINES.includes(type)) || charset !== 'utf-8')
      throw new ApiError(
        'unsupported_media_type',
        `the header Content-Type must be ${[CSV, ...JSON_LINES].join(' or ')}, in UTF-8`,
      );
    const { maxBytes } = context.bodies;
    if (!isCsv) return new JsonLinesFile(RowMapping.read(mapping, null), maxBytes);
    const separator = delimiter === 'tab' ? '\t' : delimiter;
    return new CsvFile(RowMapping.read(mapping, 'text'), maxBytes, separator);
  }

  /** Reads the body, calls `taken` after each chunk, and returns the digest of the body. */
  private async read(file: RowFile, context: Context, taken: () => Promise<void>): Promise<Buffer> {
    const { hold, caller } = context;
    const sha256 = createHash('sha256');
    const passing = PASSING_BYTES + inflaterBytes(contentEncoding(context));
    await hold.set(passing);
    let taking = Promise.resolve();
    const take = AsyncResource.bind(async (chunk: Buffer) => {
      await caller.assertValid();
      sha256.update(chunk);
      file.write(chunk);
      assertRows(file.numRows);
      await taken();
      await hold.set(passing + file.heldBytes * HELD_WEIGHT);
    });
    const reading = { limit: MAX_IMPORT_BYTES, rate: STREAMED_RATE };
    try {
      await readInflated(context, reading, (chunk) => (taking = take(chunk)));
    } catch (error) {
      await taking.catch(() => {}); // a client that has left does not wait for this chunk
      throw error;
    }
    return sha256.digest();
  }

  private async publish(
    { object_id: objectId, project_id: projectId, mode, description }: DatasetImportDto,
    fileRows: number,
    upload: StagedUpload,
    { caller }: Context,
  ): Promise<DatasetImportedDto> {
    await caller.assertValid();
    const isReplaced = mode === 'replace';
    const staged = { projectId, uploadId: upload.id };
    await upload.keep(projectId);
    await this.database.query(sourceInsertLock(projectId));
    const {
      members,
      table,
      num_rows: before,
    } = await this.datasets.latest(projectId, objectId, description);
    await this.database.query(importedRowsInsert(staged));
    const base = isReplaced ? null : table;
    const [made] = await this.database.query(importedTableInsert(staged, base));
    const { digest, rows } = made ?? { digest: table, rows: before };
    if (rows > MAX_ROWS)
      throw new ApiError(
        'too_large',
        `the dataset would have ${rows} rows, over the limit of ${MAX_ROWS}`,
      );
    if (isReplaced) await this.database.query(replacedSources(staged, objectId));
    await this.database.query(importRowsDelete(staged));
    const version = { projectId, objectId, members, table: digest, num_rows: rows };
    const published = await this.datasets.publishTable(version, caller);
    const added = isReplaced ? rows : rows - before;
    return { ...published, added, duplicates: fileRows - added };
  }
}

/** Stores the rows of a file while more of it arrives. */
class RowStaging {
  private texts: string[] = [];
  private bytes = 0;
  private allBytes = 0;
  private seq = 0;
  private storing: Promise<void> = Promise.resolve();

  constructor(
    private readonly database: Database,
    private readonly upload: StagedUpload,
    private readonly caller: Caller,
  ) {}

  /** Takes the rows of the file. After a fault they are dropped, since nothing will be stored. */
  async take(file: RowFile): Promise<void> {
    const rows = file.rows.splice(0);
    if (file.numFaults > 0) return;
    for (const text of rows) {
      this.texts.push(text);
      this.bytes += text.length;
      this.allBytes += text.length;
      if (this.texts.length >= ROWS_AT_ONCE || this.bytes >= BYTES_AT_ONCE) await this.storeNext();
    }
    if (this.allBytes > MAX_IMPORT_BYTES)
      throw new ApiError(
        'too_large',
        `the rows are over the limit of ${MAX_IMPORT_BYTES} bytes as JSON`,
      );
  }

  async end(): Promise<void> {
    await this.storeNext();
    await this.storing;
  }

  /** Waits until the current rows are stored, or have failed. */
  async stop(): Promise<void> {
    await this.storing.catch(() => {});
  }

  private async storeNext(): Promise<void> {
    const { texts } = this;
    this.texts = [];
    this.bytes = 0;
    await this.storing;
    this.storing = this.store(texts);
    this.storing.catch(() => {}); // the next rows or the end await it
  }

  private async store(texts: string[]): Promise<void> {
    const { upload, database } = this;
    const rows = await newRows(texts, this.caller);
    const staged = { projectId: upload.projectId, uploadId: upload.id };
    await upload.store(async () => {
      for (const batch of cutBatches(rows)) {
        await database.query(importRowsInsert(staged, this.seq, batch));
        this.seq += batch.length;
      }
    });
  }
}

function assertRows(rows: number): void {
  if (rows > MAX_IMPORTED_ROWS)
    throw new ApiError('too_large', `the file has more than ${MAX_IMPORTED_ROWS} rows`);
}

function refusedFile({ faults, numFaults }: RowFile): ApiError {
  const { details, message } = invalidRequest(faults);
  const more = numFaults > 1 ? `, and ${numFaults - 1} more` : '';
  return new ApiError('invalid_request', `${message}${more}`, {
    ...details,
    extra: { num_errors: numFaults },
  });
}
