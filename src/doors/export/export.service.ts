import type { Readable } from 'node:stream';
import { Injectable } from '@nestjs/common';
import { addEventBefore, auditAction } from '../../platform/audit/add-event.js';
import type { Caller } from '../../platform/auth/caller.js';
import { Database } from '../../platform/database/database.js';
import { ApiError, invalidRequest } from '../../platform/errors.js';
import { CallsQueryDto } from '../../tracing/calls/calls.dto.js';
import { CallLists } from '../../tracing/calls/read/call-lists.service.js';
import { FeedbackQueryDto } from '../../tracing/feedback/feedback.dto.js';
import { FeedbackService } from '../../tracing/feedback/feedback.service.js';
import { TableQueryDto } from '../../tracing/objects/tables/tables.dto.js';
import { TablesService } from '../../tracing/objects/tables/tables.service.js';
import { callColumns, feedbackColumns, tableColumns } from './export-columns.js';
import type { ExportDto } from './export.dto.js';
import type { ParquetColumn } from './row-group.js';

const EXPORT = auditAction('project.export');

/** Fields of a request that only some kinds of rows have. */
const FIELDS = {
  calls: ['filter', 'query'],
  feedback: ['query'],
  table: ['digest'],
} as const satisfies Record<ExportDto['of'], (keyof ExportDto)[]>;

export interface ExportedRows {
  rows: Readable;
  columns: readonly ParquetColumn[];
}

/** The rows that an export reads. */
export type ExportRequest = Pick<
  ExportDto,
  'project_id' | 'of' | 'format' | 'filter' | 'query' | 'digest'
>;

/** The column that decides in which window a row is. */
const WINDOW_COLUMNS = { calls: 'started_at', feedback: 'created_at' } as const;

/** Returns the request for the rows of a window: from `start` on, and before `end`. */
export function inWindow(request: ExportRequest, start: string, end: string): ExportRequest {
  const { of, query } = request;
  if (of === 'table') return request;
  const column = { $getField: WINDOW_COLUMNS[of] };
  const isWithin = [{ $gte: [column, { $literal: start }] }, { $lt: [column, { $literal: end }] }];
  const own = query ? [(query as { $expr?: unknown }).$expr ?? query] : [];
  return { ...request, query: { $expr: { $and: [...isWithin, ...own] } } };
}

@Injectable()
export class ExportService {
  constructor(
    private readonly database: Database,
    private readonly calls: CallLists,
    private readonly feedback: FeedbackService,
    private readonly tables: TablesService,
  ) {}

  /**
   * Returns all rows that match, as batches of JSON texts, and the columns that they have in a Parquet file. For JSON
   * lines the columns of a table are not read.
   */
  async export(request: ExportDto, by: Caller): Promise<ExportedRows> {
    const { project_id: projectId, of, format, digest } = request;
    assertFields(request);
    if (of === 'table' && !digest)
      throw invalidRequest([{ path: 'digest', message: 'is required for an export of a table' }]);
    if (of === 'table') await this.assertTable(projectId, digest!); // an event keeps the digest for ever
    await addEventBefore(this.database, {
      action: EXPORT,
      by,
      target: digest ?? of,
      projectId,
      detail: { of, format },
    });
    return this.rows(request);
  }

  async rows(request: ExportRequest): Promise<ExportedRows> {
    const { project_id, of, filter, query } = request;
    if (of === 'table') return this.tableRows(request);
    if (of === 'feedback') {
      const feedback = Object.assign(new FeedbackQueryDto(), { project_id, query });
      return { rows: await this.feedback.stream(feedback), columns: feedbackColumns() };
    }
    const columns = callColumns();
    const calls = Object.assign(new CallsQueryDto(), {
      project_id,
      filter,
      query,
      columns: [...new Set(columns.map(({ from }) => from[0]!))],
      include_costs: true,
      include_feedback: true,
    });
    return { rows: await this.calls.stream(calls), columns };
  }

  private async assertTable(project_id: string, digest: string): Promise<void> {
    const { tables } = await this.tables.statsBatch({ project_id, digests: [digest] });
    if (tables.length === 0) throw new ApiError('not_found', `no table has the digest ${digest}`);
  }

  private async tableRows({ project_id, digest, format }: ExportRequest): Promise<ExportedRows> {
    const columns =
      format === 'jsonl' ? [] : tableColumns(await this.tables.members(project_id, digest!));
    const table = Object.assign(new TableQueryDto(), { project_id, digest });
    return { rows: await this.tables.stream(table), columns };
  }
}

/** @throws ApiError naming a field that is not for this kind of rows */
export function assertFields(request: Partial<ExportDto> & Pick<ExportDto, 'of'>): void {
  const { of } = request;
  for (const field of ['filter', 'query', 'digest'] as const)
    if (request[field] && !FIELDS[of].some((known) => known === field))
      throw invalidRequest([{ path: field, message: `is not for an export of ${of}` }]);
}
