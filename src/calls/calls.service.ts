import type { Readable } from 'node:stream';
import { Injectable } from '@nestjs/common';
import { v7 as uuidv7 } from 'uuid';
import type { Caller } from '../auth/caller.js';
import { ApiError, invalidRequest, toApiError } from '../common/errors.js';
import { valueAt } from '../common/json-text.js';
import { validate } from '../common/validation.js';
import { CostsService } from '../costs/costs.service.js';
import { Database } from '../database/database.js';
import {
  CallEndDto,
  type CallReadDto,
  type CallsDeleteDto,
  type CallsDeletedDto,
  type CallsQueryDto,
  CallStartDto,
  type CallStartedDto,
  type CallsStatsAnswerDto,
  type CallsStatsDto,
  type CallUpdateDto,
  MAX_BATCH,
} from './calls.dto.js';
import { callQuery, callsQuery, callsStatsQuery, deleteQuery, updateQuery } from './calls.query.js';
import {
  END_DOCUMENTS,
  END_FIELDS,
  rowText,
  START_DOCUMENTS,
  START_FIELDS,
} from './calls.upsert.js';
import { callKey, CallsWriter, type CallWrite, keyOf, mergedByCall } from './calls.writer.js';

/** The answer to one item of a batch. */
type ItemAnswer = CallStartedDto | Record<string, never> | Refusal;

@Injectable()
export class CallsService {
  constructor(
    private readonly database: Database,
    private readonly writer: CallsWriter,
    private readonly costs: CostsService,
  ) {}

  /** `text` is the start as it was sent. */
  async start(start: CallStartDto, text: string, caller: Caller): Promise<CallStartedDto> {
    const write = startWrite(start, text, caller);
    await this.writer.store(write);
    return { id: write.id, trace_id: write.traceId! };
  }

  async end(end: CallEndDto, text: string): Promise<void> {
    await this.writer.store(endWrite(end, text));
  }

  /**
   * Stores what is good of a batch, and answers each item in its place. Parts of one call are merged before they are
   * stored, so the last start of a call in the batch is the one that stays. `texts` are the items as they were sent.
   */
  async upsertBatch(batch: unknown[], texts: string[], caller: Caller): Promise<ItemAnswer[]> {
    if (batch.length > MAX_BATCH)
      throw new ApiError(
        'too_large',
        `batch holds ${batch.length} items, over the limit of ${MAX_BATCH}`,
      );
    const items = batch.map((item, i) => checkedItem(item, texts[i]!, caller));
    const writes = writesOf(items, caller);
    const merged = new Map(
      mergedByCall(writes.filter((write) => write !== null)).map((write) => [keyOf(write), write]),
    );
    const outcomes = await this.writer.storeAll([...merged.values()]);
    const refused = new Map([...merged.keys()].map((key, i) => [key, outcomes[i]]));
    return items.map((item, i) => {
      const write = writes[i];
      if ('error' in item || !write) return item as ItemAnswer;
      const error = refused.get(keyOf(write));
      if (error) return refusal(error);
      return item.mode === 'start'
        ? { id: write.id, trace_id: merged.get(keyOf(write))!.traceId! }
        : {};
    });
  }

  /** The call as JSON text, or null. */
  async read(query: CallReadDto): Promise<string | null> {
    const [row] = await this.database.query<{ json: string }>(callQuery(query));
    if (!row) return null;
    return query.include_costs ? this.costs.priced(row.json) : row.json;
  }

  async stream(query: CallsQueryDto): Promise<Readable> {
    const calls = await this.database.stream(callsQuery(query));
    return query.include_costs ? this.costs.pricedAll(calls) : calls;
  }

  async stats(query: CallsStatsDto): Promise<CallsStatsAnswerDto> {
    const [row] = await this.database.query<{ count: number }>(callsStatsQuery(query));
    const limit = query.limit ?? Infinity;
    return { count: Math.min(row!.count, limit), has_more: row!.count > limit };
  }

  async update({ project_id, call_id, display_name }: CallUpdateDto): Promise<void> {
    await this.database.query(updateQuery(project_id, call_id, display_name ?? null));
  }

  async delete({ project_id, call_ids }: CallsDeleteDto): Promise<CallsDeletedDto> {
    const [row] = await this.database.query<CallsDeletedDto>(deleteQuery(project_id, call_ids));
    return row!;
  }
}

/** One item of a batch that may be stored. `text` is its start or end as it was sent. */
type Item =
  | { mode: 'start'; body: CallStartDto; text: string }
  | { mode: 'end'; body: CallEndDto; text: string };

interface Refusal {
  error: { code: string; detail: string };
}

const refusal = (error: unknown): Refusal => {
  const { code, message } = toApiError(error);
  return { error: { code, detail: message } };
};

/** Judges one item of a batch by itself. */
function checkedItem(item: unknown, text: string, caller: Caller): Item | Refusal {
  try {
    const { mode, req } = (item ?? {}) as { mode?: unknown; req?: Record<string, unknown> | null };
    if (mode !== 'start' && mode !== 'end')
      throw invalidRequest([{ path: 'mode', message: 'must be "start" or "end"' }]);
    const body = req?.[mode];
    const { violations } = validate(
      mode === 'start' ? CallStartDto : CallEndDto,
      body,
      `req.${mode}`,
    );
    if (violations.length > 0) throw invalidRequest(violations);
    caller.assertReaches((body as CallEndDto).project_id);
    return { mode, body, text: valueAt(text, 'req', mode) } as Item;
  } catch (error) {
    return refusal(error);
  }
}

/** The write of each item, null for a refused one. */
function writesOf(items: (Item | Refusal)[], caller: Caller): (CallWrite | null)[] {
  const traces = tracesOf(items);
  return items.map((item) => {
    if ('error' in item) return null;
    if (item.mode === 'end') return endWrite(item.body, item.text);
    return startWrite(item.body, item.text, caller, traces(item.body));
  });
}

/**
 * The trace of a start that names none: that of its parent, if the parent starts in the same batch. A parent that is
 * stored already is looked up by the statement itself.
 */
function tracesOf(items: (Item | Refusal)[]): (start: CallStartDto) => string {
  const starts = new Map<string, CallStartDto>();
  for (const item of items)
    if ('mode' in item && item.mode === 'start' && item.body.id)
      starts.set(callKey(item.body.project_id, item.body.id), item.body);
  const known = new Map<CallStartDto, string>();
  const traceOf = (start: CallStartDto): string => {
    if (start.trace_id) return start.trace_id;
    if (!known.has(start)) {
      known.set(start, uuidv7()); // stays, should the parents go round in a circle
      const parent = start.parent_id && starts.get(callKey(start.project_id, start.parent_id));
      if (parent) known.set(start, traceOf(parent));
    }
    return known.get(start)!;
  };
  return traceOf;
}

function startWrite(
  start: CallStartDto,
  text: string,
  caller: Caller,
  traceId = uuidv7(),
): CallWrite {
  const id = start.id ?? uuidv7();
  const row = rowText(text, START_FIELDS, START_DOCUMENTS, {
    id,
    skein_user: caller.userName,
    skein_trace: traceId,
  });
  return { projectId: start.project_id, id, start: row };
}

function endWrite(end: CallEndDto, text: string): CallWrite {
  const row = rowText(text, END_FIELDS, END_DOCUMENTS, {
    id: end.id,
    skein_failed: hasDescendantError(end.summary),
  });
  return { projectId: end.project_id, id: end.id, end: row };
}

/** `summary.status_counts.error > 0`. */
function hasDescendantError(summary: CallEndDto['summary']): boolean {
  const { status_counts: counts } = (summary ?? {}) as {
    status_counts?: { error?: unknown } | null;
  };
  return typeof counts?.error === 'number' && counts.error > 0;
}
