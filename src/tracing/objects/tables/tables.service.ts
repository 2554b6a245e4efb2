import { addAbortSignal, type Readable } from 'node:stream';
import { Injectable } from '@nestjs/common';
import type { Caller } from '../../../platform/auth/caller.js';
import { ApiError, invalidRequest } from '../../../platform/errors.js';
import { hasOpaqueEscapes } from '../../../platform/json/json-grammar.js';
import { valueAt } from '../../../platform/json/json-text.js';
import { mapYielding, EventLoopTurn } from '../../../platform/time/event-loop-turn.js';
import { Database } from '../../../platform/database/database.js';
import { ByteRows } from '../../../platform/database/row-stream.js';
import { assertExpected, objectDigest, tableDigest } from '../digests/digest.js';
import { isLarge, largeDigest } from '../digests/large-digest.js';
import {
  DIGEST_LENGTH,
  applyEdits,
  joinedDigests,
  OutOfRange,
  type TableEdit,
} from './row-digests.js';
import {
  MAX_ROWS,
  type TableCreatedDto,
  type TableDigestDto,
  type TableDto,
  type TableFromDigestsDto,
  type TableQueryDto,
  type TablesStatsDto,
  type TablesStatsQueryDto,
  type TableStatsDto,
  type TableStatsQueryDto,
  type TableUpdateDto,
  type TableUpdatedDto,
  type TableUpdateItemDto,
} from './tables.dto.js';
import {
  insertRowsQuery,
  insertTableQuery,
  type NewRow,
  rowDigestsQuery,
  matchingCount,
  tableRowsQuery,
  membersQuery,
  type TableMember,
  tableStatsQuery,
  unknownRowQuery,
} from './tables.query.js';
import { OBJECTS } from '../object-version.entity.js';

export type { NewRow, TableMember };

/** Inserts and pops in one `/table/update`. The request body limits appends. */
const MAX_EDITS = 10_000;

/** Rows of one INSERT, and bytes after which it has fewer. */
const ROWS_AT_ONCE = 1000;
const BYTES_AT_ONCE = 1024 * 1024;
/** Rows of one batch, since a row may be as large as a request body. */
const STREAMED_AT_ONCE = 64;

/** Most columns of a Parquet file of a table. */
const MAX_MEMBERS = 1000;

@Injectable()
export class TablesService {
  constructor(private readonly database: Database) {}

  /** `texts` are the rows as they were sent. */
  async create(
    table: TableDto,
    texts: readonly string[],
    caller: Caller,
  ): Promise<TableCreatedDto> {
    const rows = await newRows(texts, caller);
    const row_digests = rows.map(({ digest }) => digest);
    const digest = await this.store(table.project_id, joinedDigests(row_digests), rows, (digest) =>
      assertExpected('table.expected_digest', table.expected_digest, digest),
    );
    return { digest, row_digests };
  }

  /** `texts` are the updates as they were sent. */
  async update(
    body: TableUpdateDto,
    texts: readonly string[],
    caller: Caller,
  ): Promise<TableUpdatedDto> {
    const { project_id, base_digest, updates } = body;
    assertEdits(updates);
    const base = await this.rowDigests(project_id, base_digest);
    if (!base) throw new ApiError('not_found', `there is no table ${base_digest}`);
    const found = await mapYielding(texts, (text, i) => {
      const word = editKind(updates[i]!);
      return word === 'pop' ? [] : [valueAt(text, word, 'row')];
    });
    const rows = await newRows(found.flat(), caller);
    const { rows: rowDigests, touched } = apply(base, updates, rows);
    const digest = await this.store(project_id, rowDigests, rows);
    return { digest, updated_row_digests: touched };
  }

  async createFromDigests(body: TableFromDigestsDto): Promise<TableDigestDto> {
    const { project_id, row_digests, expected_digest } = body;
    const [unknown] = await this.database.query(unknownRowQuery(project_id, row_digests));
    if (unknown) throw new ApiError('not_found', `there is no row ${unknown.digest}`);
    const digest = await this.store(project_id, joinedDigests(row_digests), [], (digest) =>
      assertExpected('expected_digest', expected_digest, digest),
    );
    return { digest };
  }

  /** Returns the joined row digests of a table, or undefined when the table does not exist. */
  async rowDigests(projectId: string, digest: string): Promise<Buffer | undefined> {
    const [table] = await this.database.query(rowDigestsQuery(projectId, digest));
    return table?.row_digests;
  }

  stream(query: TableQueryDto): Promise<Readable> {
    const rows = new ByteRows();
    return this.database.stream(tableRowsQuery(query), { rows, maxBatch: STREAMED_AT_ONCE });
  }

  /**
   * Returns the members of the rows of a table, or none if PostgreSQL cannot read some row.
   * @throws ApiError `too_large` when there are more than `MAX_MEMBERS`
   */
  async members(projectId: string, digest: string): Promise<TableMember[]> {
    const query = membersQuery(projectId, digest, MAX_MEMBERS + 1);
    const [table] = await this.database.query(query, { long: 'read' });
    const members = table!.members ?? [];
    if (members.length > MAX_MEMBERS)
      throw new ApiError(
        'too_large',
        `the rows have more than ${MAX_MEMBERS} different members: export them as jsonl`,
      );
    return members;
  }

  /** A count of matching rows is a stream, because PostgreSQL stops a stream when the client leaves. */
  async stats(asked: TableStatsQueryDto, signal?: AbortSignal): Promise<TableStatsDto> {
    const { project_id, digest, query } = asked;
    if (query) {
      const rows = await this.database.stream(matchingCount(asked, query));
      if (signal) addAbortSignal(signal, rows);
      const [[count]] = (await rows.toArray()) as [[string]];
      return { count: Number(count) };
    }
    const [table] = await this.database.query(tableStatsQuery(project_id, [digest], false));
    return { count: table?.count ?? 0 };
  }

  async statsBatch(query: TablesStatsQueryDto): Promise<TablesStatsDto> {
    const withSize = query.include_storage_size === true;
    const { project_id, digests } = query;
    const tables = await this.database.query(tableStatsQuery(project_id, digests ?? [], withSize), {
      long: 'read',
    });
    return { tables };
  }

  /**
   * Stores a table with its new rows, all or nothing. Rows are inserted in the order of their digests, so that
   * concurrent tables with common rows wait for each other instead of deadlocking.
   */
  async store(
    projectId: string,
    rowDigests: Buffer,
    rows: readonly NewRow[],
    check: (digest: string) => void = () => {},
  ): Promise<string> {
    const count = rowDigests.length / DIGEST_LENGTH;
    if (count > MAX_ROWS)
      throw new ApiError('too_large', `the table has ${count} rows, over the limit of ${MAX_ROWS}`);
    const digest = tableDigest(rowDigests);
    check(digest);
    const firstOfEach = new Map(rows.toReversed().map((row) => [row.digest, row])).values();
    const distinct = [...firstOfEach].toSorted((a, b) => (a.digest < b.digest ? -1 : 1));
    await this.database.transaction({ long: 'read' }, async () => {
      for (const batch of cutBatches(distinct))
        await this.database.query(insertRowsQuery(projectId, batch));
      await this.database.query(insertTableQuery(projectId, digest, rowDigests));
      this.database.changes.note(projectId, OBJECTS);
    });
    return digest;
  }
}

/** Computes the digests of rows. */
export async function newRows(texts: readonly string[], { owner }: Caller): Promise<NewRow[]> {
  const rows: NewRow[] = [];
  const turn = new EventLoopTurn();
  for (const val of texts) {
    if (turn.isOver) await turn.next();
    const digest = isLarge(val) ? await largeDigest(val, owner) : objectDigest(val);
    rows.push({ digest, isOpaque: hasOpaqueEscapes(val), val });
  }
  return rows;
}

/** Cuts rows into batches for one INSERT each. */
export function* cutBatches(rows: readonly NewRow[]): Generator<NewRow[]> {
  let batch: NewRow[] = [];
  let bytes = 0;
  for (const row of rows) {
    batch.push(row);
    bytes += row.val.length;
    if (batch.length === ROWS_AT_ONCE || bytes > BYTES_AT_ONCE) {
      yield batch;
      batch = [];
      bytes = 0;
    }
  }
  if (batch.length > 0) yield batch;
}

const EDIT_KINDS = ['append', 'pop', 'insert'] as const;

const editKind = (item: TableUpdateItemDto) => EDIT_KINDS.find((word) => item[word])!;

function assertEdits(updates: readonly TableUpdateItemDto[]): void {
  const odd = updates.findIndex((item) => EDIT_KINDS.filter((word) => item[word]).length !== 1);
  if (odd >= 0)
    throw invalidRequest([
      { path: `updates[${odd}]`, message: 'must have exactly one of append, pop and insert' },
    ]);
  const edits = updates.filter((item) => !item.append).length;
  if (edits > MAX_EDITS)
    throw new ApiError(
      'too_large',
      `updates holds ${edits} inserts and pops, over the limit of ${MAX_EDITS}`,
    );
}

/** `rows` are those of the updates with a row, in their order. */
function apply(base: Buffer, updates: readonly TableUpdateItemDto[], rows: readonly NewRow[]) {
  let next = 0;
  const edits = updates.map(({ pop, insert }): TableEdit => {
    if (pop) return { pop: pop.index };
    const { digest } = rows[next++]!;
    return insert ? { insert: insert.index, digest } : { append: digest };
  });
  try {
    return applyEdits(base, edits);
  } catch (error) {
    if (!(error instanceof OutOfRange)) throw error;
    const { position, rows } = error;
    const path = `updates[${position}].${editKind(updates[position]!)}.index`;
    throw invalidRequest([{ path, message: `is outside the table, which has ${rows} rows then` }]);
  }
}
