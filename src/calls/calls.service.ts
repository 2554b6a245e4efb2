import type { Readable } from 'node:stream';
import { Injectable } from '@nestjs/common';
import { v7 as uuidv7 } from 'uuid';
import type { Caller } from '../auth/caller.js';
import { ApiError, invalidRequest, toApiError } from '../common/errors.js';
import { elementTexts, valueAt } from '../common/json-text.js';
import { validate } from '../common/validation.js';
import { WIRE } from '../common/wire.js';
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
import {
  callQuery,
  callsQuery,
  callsStatsQuery,
  deleteQuery,
  tracesQuery,
  updateQuery,
} from './calls.query.js';
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
   * stored, so the last start of a call in the batch is the one that stays. `text` is the body as it was sent.
   */
  async upsertBatch(batch: unknown[], text: string, caller: Caller): Promise<ItemAnswer[]> {
    if (batch.length > MAX_BATCH)
      throw new ApiError(
        'too_large',
        `batch holds ${batch.length} items, over the limit of ${MAX_BATCH}`,
      );
    const texts = elementTexts(text, 'batch');
    const items = batch.map((item, i) => checkedItem(item, texts[i]!, caller));
    const writes = writesOf(items, caller, await this.tracesOf(items));
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

  /** Looks up what starts without a trace may inherit; SDKs always send one, and then nothing is read. */
  private async tracesOf(items: (Item | Refusal)[]): Promise<Traces> {
    const good = items.filter((item) => 'mode' in item);
    const wanted = new Map<string, Set<string>>();
    for (const { mode, body } of good) {
      if (mode !== 'start' || body.trace_id) continue;
      const ids = wanted.get(body.project_id) ?? new Set();
      for (const id of [body.id, body.parent_id]) if (id) ids.add(id);
      wanted.set(body.project_id, ids);
    }
    const stored = new Map<string, string>();
    for (const [projectId, ids] of wanted)
      for (const { id, trace_id } of await this.database.query<{ id: string; trace_id: string }>(
        tracesQuery(projectId, [...ids]),
      ))
        stored.set(callKey(projectId, id), trace_id);
    return tracesBy(good, stored);
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
function writesOf(items: (Item | Refusal)[], caller: Caller, traces: Traces): (CallWrite | null)[] {
  return items.map((item) => {
    if ('error' in item) return null;
    if (item.mode === 'end') return endWrite(item.body, item.text);
    return startWrite(item.body, item.text, caller, traces(item.body));
  });
}

/** The trace of a start that names none. */
type Traces = (start: CallStartDto) => string;

/**
 * Traces by what is known: the start itself, the row it repeats, an end of it in the batch, its parent, stored or in
 * the batch; else a new one.
 */
function tracesBy(items: Item[], stored: Map<string, string>): Traces {
  const starts = new Map<string, CallStartDto>();
  const known = new Map(stored);
  for (const { mode, body } of items) {
    const key = callKey(body.project_id, body.id ?? '');
    if (mode === 'start' && body.id) starts.set(key, body);
    if (mode === 'end' && body.trace_id && !known.has(key)) known.set(key, body.trace_id);
  }
  const made = new Map<CallStartDto, string>();
  const traceOf = (start: CallStartDto): string => {
    const own =
      start.trace_id ?? known.get(callKey(start.project_id, start.id ?? '')) ?? made.get(start);
    if (own) return own;
    made.set(start, uuidv7()); // stays, should the parents go round in a circle
    const parentKey = start.parent_id ? callKey(start.project_id, start.parent_id) : '';
    const parent = starts.get(parentKey);
    const inherited = parent ? traceOf(parent) : known.get(parentKey);
    if (inherited) made.set(start, inherited);
    return made.get(start)!;
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
    [WIRE.runStep]: start[WIRE.runStep],
    skein_user: caller.userName,
    skein_trace: traceId,
  });
  return { projectId: start.project_id, id, start: row };
}

function endWrite(end: CallEndDto, text: string): CallWrite {
  const row = rowText(text, END_FIELDS, END_DOCUMENTS, {
    id: end.id,
    [WIRE.runStepEnd]: end[WIRE.runStepEnd],
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
