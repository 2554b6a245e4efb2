import { Inject, Injectable } from '@nestjs/common';
import { addEvent, auditAction } from '../../platform/audit/add-event.js';
import type { Caller } from '../../platform/auth/caller.js';
import { CONFIG, type Config } from '../../platform/config/config.js';
import { lock } from '../../platform/database/advisory-locks.js';
import { Database } from '../../platform/database/database.js';
import { ApiError, invalidRequest } from '../../platform/errors.js';
import { DatasetsService } from '../../tracing/datasets/datasets.service.js';
import { ExportSchedule } from './export-schedule.entity.js';
import type {
  ExportScheduleAnswerDto,
  ExportScheduleDeleteDto,
  ExportScheduleDto,
  ExportSchedulesAnswerDto,
} from './export-schedules.dto.js';
import {
  filesTotal,
  manifestBegin,
  pendingCount,
  SETTING,
  type StoredSchedule,
} from './export-schedules.query.js';
import { assertFields, ExportService, inWindow } from './export.service.js';
import { ExportsKeeper } from './exports.keeper.js';

const SCHEDULE_SET = auditAction('export_schedules.set');
const SCHEDULE_DELETE = auditAction('export_schedules.delete');

const MAX_SCHEDULES = 20;
/** Most bytes of the filter and the query of a schedule. All schedules of a project are listed at once. */
const MAX_REQUEST_BYTES = 65_536;
/** A window without rows. It is read to check a query. */
const NO_ROWS = ['0001-01-01T00:00:00Z', '0001-01-01T00:00:00Z'] as const;
const REPLACED = ['kind', 'format', 'every', 'request', 'failures', 'last_error', 'retry_at'];

@Injectable()
export class ExportSchedulesService {
  @Inject(CONFIG) private readonly config!: Config;

  constructor(
    private readonly database: Database,
    private readonly exports: ExportService,
    private readonly datasets: DatasetsService,
    private readonly keeper: ExportsKeeper,
  ) {}

  async set(body: ExportScheduleDto, by: Caller): Promise<ExportScheduleAnswerDto> {
    this.assertTarget();
    assertFits(body);
    await this.assertReadable(body);
    const { project_id: projectId, name, of, format, every = null } = body;
    const { filter = null, query = null, object_id = null } = body;
    const request = { filter, query, object_id };
    if (Buffer.byteLength(JSON.stringify(request)) > MAX_REQUEST_BYTES)
      throw new ApiError(
        'too_large',
        `filter and query of a schedule have at most ${MAX_REQUEST_BYTES} bytes together`,
      );
    const asSet = { kind: of, format, every, request };
    const row = { projectId, name, ...asSet, failures: 0, lastError: null, retryAt: () => 'now()' };
    await this.database.transaction({ lock: lock(SETTING, projectId) }, async () => {
      const schedules = this.database.repository(ExportSchedule);
      const isKnown = await schedules.existsBy({ projectId, name });
      if (!isKnown && (await schedules.countBy({ projectId })) >= MAX_SCHEDULES)
        throw new ApiError(
          'too_large',
          `a project has at most ${MAX_SCHEDULES} exports by schedule`,
        );
      const insert = schedules.createQueryBuilder().insert();
      await insert.values(row).orUpdate(REPLACED, ['project_id', 'name']).execute();
      await this.database.query(manifestBegin(projectId, name));
      const detail = { of, format, every };
      await addEvent(this.database, { action: SCHEDULE_SET, by, projectId, target: name, detail });
    });
    this.keeper.look();
    const { schedules } = await this.query(projectId);
    return schedules.find((schedule) => schedule.name === name)!;
  }

  async delete(
    { project_id: projectId, name }: ExportScheduleDeleteDto,
    by: Caller,
  ): Promise<ExportSchedulesAnswerDto> {
    this.assertTarget();
    await this.database.transaction(async () => {
      const schedules = this.database.repository(ExportSchedule);
      if (!(await schedules.delete({ projectId, name })).affected)
        throw new ApiError('not_found', 'the project has no export by schedule of this name');
      await addEvent(this.database, { action: SCHEDULE_DELETE, by, projectId, target: name });
    });
    this.keeper.look();
    return this.query(projectId);
  }

  async query(projectId: string): Promise<ExportSchedulesAnswerDto> {
    this.assertTarget();
    const stored = await this.database
      .repository(ExportSchedule)
      .find({ where: { projectId }, order: { name: 'ASC' } });
    const schedules: ExportScheduleAnswerDto[] = [];
    for (const row of stored) schedules.push(await this.answer(row));
    return { schedules };
  }

  private async answer(row: ExportSchedule): Promise<ExportScheduleAnswerDto> {
    const { projectId, name, kind, format, every, createdAt, failures, lastError, retryAt } = row;
    const request = row.request as StoredSchedule['request'];
    const schedule = {
      project_id: projectId,
      name,
      kind,
      format,
      every,
      request,
    } as StoredSchedule;
    const [total] = await this.database.query(filesTotal(projectId, name));
    const files = await this.keeper.wantedFiles(schedule).catch(() => null); // `last_error` tells why
    const [pending] = files
      ? await this.database.query(pendingCount(schedule, files), { long: 'read' })
      : [{ waiting: 0, behind_seconds: 0 }];
    const { filter = null, query = null, object_id = null } = request;
    const asSet = { name, of: kind, format, every, filter, query, object_id };
    return {
      ...asSet,
      created_at: createdAt,
      ...total!,
      ...pending!,
      failures,
      last_error: lastError,
      retry_at: failures > 0 ? retryAt : null,
    };
  }

  private assertTarget(): void {
    if (this.config.exportUrl === undefined)
      throw new ApiError(
        'not_found',
        'this service has no target for exports by schedule: its operator sets EXPORT_URL',
      );
  }

  /** Reads no rows, so that a query that the database refuses is refused now. */
  private async assertReadable(body: ExportScheduleDto): Promise<void> {
    const { project_id, object_id } = body;
    if (body.of === 'table') {
      if (!(await this.datasets.latestTable(project_id, object_id!)))
        throw new ApiError('not_found', `there is no dataset ${object_id!}`);
      return;
    }
    const { rows } = await this.exports.rows(inWindow(body, ...NO_ROWS));
    for await (const _ of rows);
  }
}

/** @throws ApiError naming a field that is not for this kind of rows, or is missing */
function assertFits(body: ExportScheduleDto): void {
  const { of, every, object_id } = body;
  assertFields(body);
  const isTable = of === 'table';
  const wrong = (path: string, message: string) => invalidRequest([{ path, message }]);
  if (isTable && every)
    throw wrong(
      'every',
      'is not for an export of a table, which has no windows: each change is written',
    );
  if (!isTable && !every) throw wrong('every', `is required for an export of ${of}`);
  if (isTable && !object_id) throw wrong('object_id', 'is required for an export of a table');
  if (!isTable && object_id) throw wrong('object_id', `is not for an export of ${of}`);
}
