import type { Readable } from 'node:stream';
import { Inject, Injectable } from '@nestjs/common';
import { addEventBefore, auditAction } from '../../platform/audit/add-event.js';
import type { Caller } from '../../platform/auth/caller.js';
import { Database } from '../../platform/database/database.js';
import { ApiError, invalidRequest } from '../../platform/errors.js';
import { assertValid } from '../../platform/http/validation.js';
import { CallsQueryDto } from '../../tracing/calls/calls.dto.js';
import { CallLists } from '../../tracing/calls/read/call-lists.service.js';
import { FeedbackQueryDto } from '../../tracing/feedback/feedback.dto.js';
import { FeedbackService } from '../../tracing/feedback/feedback.service.js';
import { ObjectsQueryDto } from '../../tracing/objects/objects.dto.js';
import { ObjectsService } from '../../tracing/objects/objects.service.js';
import { TableQueryDto } from '../../tracing/objects/tables/tables.dto.js';
import { TablesService } from '../../tracing/objects/tables/tables.service.js';
import { ThreadsQueryDto } from '../../tracing/threads/threads.dto.js';
import { ThreadsService } from '../../tracing/threads/threads.service.js';
import { BuildOutputsService } from '../../training/builds/exports/build-outputs.service.js';
import { callColumns, exported, type ExportedKind, tableColumns } from './export-columns.js';
import type { ExportDto } from './export.dto.js';
import type { ParquetColumn } from './row-group.js';

const EXPORT = auditAction('project.export');

export interface ExportedRows {
  rows: Readable;
  columns: readonly ParquetColumn[];
}

/** The rows that an export reads. */
export type ExportRequest = Pick<
  ExportDto,
  'project_id' | 'of' | 'format' | 'filter' | 'query' | 'digest' | 'build_id'
>;

/** Returns the request for the rows of a window: from `start` on, and before `end`. */
export function inWindow(request: ExportRequest, start: string, end: string): ExportRequest {
  const { of, query } = request;
  const { window } = exported(of);
  if (!window) return request;
  const column = { $getField: window };
  const isWithin = [{ $gte: [column, { $literal: start }] }, { $lt: [column, { $literal: end }] }];
  const own = query ? [(query as { $expr?: unknown }).$expr ?? query] : [];
  return { ...request, query: { $expr: { $and: [...isWithin, ...own] } } };
}

@Injectable()
export class ExportService {
  @Inject() private readonly database!: Database;
  @Inject() private readonly calls!: CallLists;
  @Inject() private readonly feedback!: FeedbackService;
  @Inject() private readonly threads!: ThreadsService;
  @Inject() private readonly objects!: ObjectsService;
  @Inject() private readonly tables!: TablesService;
  @Inject() private readonly builds!: BuildOutputsService;

  /**
   * Returns all rows that match, as batches of JSON texts, and the columns that they have in a Parquet file. For JSON
   * lines the columns of a table are not read.
   */
  async export(request: ExportDto, by: Caller): Promise<ExportedRows> {
    const { project_id: projectId, of, format, digest, build_id } = request;
    assertFields(request);
    const { needs } = exported(of);
    if (needs && !request[needs])
      throw invalidRequest([{ path: needs, message: `is required for an export of a ${of}` }]);
    // an event keeps its target for ever, so there must be one
    if (of === 'table') await this.assertTable(projectId, digest!);
    if (of === 'build') await this.builds.find(projectId, build_id!);
    await addEventBefore(this.database, {
      action: EXPORT,
      by,
      target: digest ?? build_id ?? of,
      projectId,
      detail: { of, format },
    });
    return this.rows(request);
  }

  async rows(request: ExportRequest): Promise<ExportedRows> {
    const { project_id, of, format, digest } = request;
    const members =
      of === 'table' && format === 'parquet' ? await this.tables.members(project_id, digest!) : [];
    const columns = exported(of).columns?.() ?? tableColumns(members);
    return { rows: await this.readers[of](request), columns };
  }

  private readonly readers: Record<ExportedKind, (request: ExportRequest) => Promise<Readable>> = {
    calls: ({ project_id, filter, query }) => {
      const columns = [...new Set(callColumns().map(({ from }) => from[0]!))];
      const added = { include_costs: true, include_feedback: true };
      const calls = { project_id, filter, query, columns, ...added };
      return this.calls.stream(Object.assign(new CallsQueryDto(), calls));
    },
    feedback: ({ project_id, query }) =>
      this.feedback.stream(Object.assign(new FeedbackQueryDto(), { project_id, query })),
    threads: ({ project_id, filter }) =>
      this.threads.stream(Object.assign(new ThreadsQueryDto(), { project_id, filter })),
    objects: ({ project_id, filter }) =>
      this.objects.stream(Object.assign(new ObjectsQueryDto(), { project_id, filter })),
    table: ({ project_id, digest }) =>
      this.tables.stream(Object.assign(new TableQueryDto(), { project_id, digest })),
    build: ({ project_id, build_id }) => this.builds.trajectories(project_id, build_id!),
  };

  private async assertTable(project_id: string, digest: string): Promise<void> {
    const { tables } = await this.tables.statsBatch({ project_id, digests: [digest] });
    if (tables.length === 0) throw new ApiError('not_found', `no table has the digest ${digest}`);
  }
}

/** @throws ApiError naming a field that is not for this kind of rows, or breaks a rule */
export function assertFields(request: Partial<ExportDto> & Pick<ExportDto, 'of'>): void {
  const { of, filter } = request;
  const { fields, filter: rules } = exported(of);
  for (const field of ['filter', 'query', 'digest', 'build_id'] as const)
    if (request[field] && !fields.includes(field))
      throw invalidRequest([{ path: field, message: `is not for an export of ${of}` }]);
  if (filter && rules) assertValid(rules, filter, 'filter');
}
