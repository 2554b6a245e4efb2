import { Injectable } from '@nestjs/common';
import { CallsService } from '../calls/calls.service.js';
import { Database } from '../../platform/database/database.js';
import { ApiError } from '../../platform/errors.js';
import { EventLoopTurn } from '../../platform/time/event-loop-turn.js';
import { type DatasetAddDto, MAX_CALLS } from './datasets.dto.js';
import { callsById, callsMatching, feedbackQuery, type SourceCall } from './datasets.query.js';
import { RowColumns } from './row-columns.js';

/** Bytes of all rows of a request. */
const MAX_ROW_BYTES = 32 * 1024 * 1024;
/** Bytes of documents up to which calls are read together. At least one call is read. */
const READ_BYTES = 8 * 1024 * 1024;
/** The largest payload of feedback. */
const PAYLOAD_BYTES = 1024 * 1024;

/** A row built from a call, as JSON text. */
export interface DatasetRow extends SourceCall {
  text: string;
}

@Injectable()
export class CallRowsService {
  constructor(
    private readonly database: Database,
    private readonly calls: CallsService,
  ) {}

  /**
   * Builds rows from the calls that exist. `missing` counts the others.
   * @throws ApiError `invalid_request`, `too_large`
   */
  async make(body: DatasetAddDto): Promise<{ rows: DatasetRow[]; missing: number }> {
    const columns = RowColumns.read(body.columns);
    return this.database.transaction({ long: 'read' }, async () => {
      const { found, missing } = await this.find(body);
      return { rows: await this.rows(body.project_id, found, columns), missing };
    });
  }

  private async find(body: DatasetAddDto): Promise<{ found: SourceCall[]; missing: number }> {
    const { project_id, call_ids, filter = null, query = null, limit } = body;
    if (Boolean(call_ids) === Boolean(filter ?? query))
      throw new ApiError('invalid_request', 'either call_ids, or filter or query, is required');
    if (call_ids) {
      const ids = [...new Set(call_ids)];
      const calls = await this.database.query(callsById(project_id, ids));
      const known = new Map(calls.map((call) => [call.id, call]));
      const found = ids.flatMap((id) => known.get(id) ?? []);
      return { found, missing: ids.length - found.length };
    }
    const condition = await this.calls.pricedCondition({ project_id, filter, query });
    const most = limit ?? MAX_CALLS + 1;
    const found = await this.database.query(callsMatching(project_id, condition, most));
    if (found.length > MAX_CALLS)
      throw new ApiError(
        'too_large',
        `more than ${MAX_CALLS} calls match: ask for fewer, by the time of started_at, or with a limit`,
      );
    return { found, missing: 0 };
  }

  private async rows(
    projectId: string,
    calls: readonly SourceCall[],
    columns: RowColumns,
  ): Promise<DatasetRow[]> {
    const bytes = await this.calls.mostBytes(
      projectId,
      calls.map(({ id }) => id),
    );
    const rows: DatasetRow[] = [];
    const turn = new EventLoopTurn();
    let total = 0;
    const feedbackBytes = columns.feedback.size * PAYLOAD_BYTES;
    for (const group of cutGroups(calls, ({ id }) => (bytes.get(id) ?? 0) + feedbackBytes)) {
      const parts = await this.parts(projectId, group, columns);
      for (const call of group) {
        const found = parts.get(call.id);
        if (!found) continue; // the call was erased in the meantime
        const text = columns.row(found);
        total += Buffer.byteLength(text);
        if (total > MAX_ROW_BYTES)
          throw new ApiError(
            'too_large',
            `the rows have more than ${MAX_ROW_BYTES} bytes: add fewer calls at once`,
          );
        rows.push({ ...call, text });
        if (turn.isOver) await turn.next();
      }
    }
    return rows;
  }

  private async parts(projectId: string, group: readonly SourceCall[], columns: RowColumns) {
    const ids = group.map(({ id }) => id);
    const types = [...columns.feedback.values()];
    const payloads =
      types.length > 0 ? await this.database.query(feedbackQuery(projectId, ids, types)) : [];
    const stored = await this.calls.stored(projectId, ids);
    return new Map(
      stored.map(({ call, documents }) => {
        const texts = new Map<string, string | null | undefined>(Object.entries(documents));
        for (const { id, type, payload } of payloads)
          if (id === call.id)
            for (const [name, wanted] of columns.feedback)
              if (wanted === type) texts.set(name, payload);
        return [call.id, { texts, values: call }] as const;
      }),
    );
  }
}

function* cutGroups<T>(items: readonly T[], size: (item: T) => number): Generator<T[]> {
  let group: T[] = [];
  let bytes = 0;
  for (const item of items) {
    if (group.length > 0 && bytes + size(item) > READ_BYTES) {
      yield group;
      group = [];
      bytes = 0;
    }
    group.push(item);
    bytes += size(item);
  }
  if (group.length > 0) yield group;
}
