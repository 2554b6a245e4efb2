import type { Readable } from 'node:stream';
import { Injectable } from '@nestjs/common';
import { v7 as uuidv7 } from 'uuid';
import type { Caller } from '../auth/caller.js';
import { ApiError, invalidRequest, toApiError } from '../common/errors.js';
import { elementTexts, valueAt } from '../common/json-text.js';
import { type Dto, validate } from '../common/validation.js';
import { WIRE } from '../common/wire.js';
import { CostsService } from '../costs/costs.service.js';
import { Database } from '../database/database.js';
import {
  CallEndDto,
  type CallReadDto,
  type CallsCompleteAnswerDto,
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
  picked,
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

  /** The end of a call that is there. @throws ApiError `not_found` */
  async endStarted(end: CallEndDto, text: string): Promise<void> {
    const { project_id, id } = end;
    const { count } = await this.stats({ project_id, filter: { call_ids: [id] } });
    if (count === 0)
      throw new ApiError('not_found', 'no call with this id has started in the project');
    await this.end(end, text);
  }

  /**
   * Stores what is good of a batch, and answers each item in its place. Parts of one call are merged before they are
   * stored, so the last start of a call in the batch is the one that stays. `text` is the body as it was sent.
   */
  async upsertBatch(batch: unknown[], text: string, caller: Caller): Promise<ItemAnswer[]> {
    assertBatchSize(batch);
    const texts = elementTexts(text, 'batch');
    return this.storeItems(
      batch.map((item, i) => checkedItem(item, texts[i]!, caller)),
      caller,
    );
  }

  /** Stores what is good of calls of one project that have ended. */
  async complete(
    batch: unknown[],
    text: string,
    projectId: string,
    caller: Caller,
  ): Promise<CallsCompleteAnswerDto> {
    assertBatchSize(batch);
    const texts = elementTexts(text, 'batch');
    const items = batch.map((call, i) => checkedCall(call, texts[i]!, caller, projectId));
    const answers = await this.storeItems(items, caller);
    const errors = answers.flatMap((answer, i) =>
      'error' in answer ? [{ index: i, ...answer.error }] : [],
    );
    return errors.length > 0 ? { errors } : {};
  }

  /** Stores what is good of whole calls, which run when they have no `ended_at`, and answers each in its place. */
  storeCalls(calls: unknown[], texts: string[], caller: Caller): Promise<ItemAnswer[]> {
    return this.storeItems(
      calls.map((call, i) => checkedCall(call, texts[i]!, caller)),
      caller,
    );
  }

  private async storeItems(items: (Item | Refusal)[], caller: Caller): Promise<ItemAnswer[]> {
    const writes = writesOf(items, caller, await this.tracesOf(items));
    const merged = new Map(
      mergedByCall(writes.filter((write) => write !== null)).map((write) => [keyOf(write), write]),
    );
    const outcomes = await this.writer.storeAll([...merged.values()]);
    const refused = new Map([...merged.keys()].map((key, i) => [key, outcomes[i]]));
    return items.map((item, i): ItemAnswer => {
      const write = writes[i];
      if ('error' in item || !write) return item as Refusal;
      const error = refused.get(keyOf(write));
      if (error) return refusal(error);
      if (!item.start) return {};
      return { id: write.id, trace_id: merged.get(keyOf(write))!.traceId! };
    });
  }

  /** Looks up what starts without a trace may inherit; SDKs always send one, and then nothing is read. */
  private async tracesOf(items: (Item | Refusal)[]): Promise<Traces> {
    const good = items.filter((item) => 'text' in item);
    const wanted = new Map<string, Set<string>>();
    for (const { start } of good) {
      if (!start || start.trace_id) continue;
      const ids = wanted.get(start.project_id) ?? new Set();
      for (const id of [start.id, start.parent_id]) if (id) ids.add(id);
      wanted.set(start.project_id, ids);
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

/** One item of a batch that may be stored: a start, an end, or both in one text. */
interface Item {
  start?: CallStartDto;
  end?: CallEndDto;
  /** As it was sent. */
  text: string;
}

interface Refusal {
  error: { code: string; detail: string };
}

const refusal = (error: unknown): Refusal => {
  const { code, message } = toApiError(error);
  return { error: { code, detail: message } };
};

function assertBatchSize({ length }: unknown[]): void {
  if (length > MAX_BATCH)
    throw new ApiError('too_large', `batch holds ${length} items, over the limit of ${MAX_BATCH}`);
}

/** Judges one item of a batch by itself. */
function checkedItem(item: unknown, text: string, caller: Caller): Item | Refusal {
  try {
    const { mode, req } = (item ?? {}) as { mode?: unknown; req?: Record<string, unknown> | null };
    if (mode !== 'start' && mode !== 'end')
      throw invalidRequest([{ path: 'mode', message: 'must be "start" or "end"' }]);
    const body = req?.[mode];
    assertValid(mode === 'start' ? CallStartDto : CallEndDto, body, `req.${mode}`);
    caller.assertReaches((body as CallEndDto).project_id);
    const part = mode === 'start' ? { start: body as CallStartDto } : { end: body as CallEndDto };
    return { ...part, text: valueAt(text, 'req', mode) };
  } catch (error) {
    return refusal(error);
  }
}

/** Judges a whole call by itself. In a request about one project it must have ended, and there. */
function checkedCall(
  call: unknown,
  text: string,
  caller: Caller,
  projectId?: string,
): Item | Refusal {
  try {
    assertValid(CallStartDto, call);
    const start = call as CallStartDto;
    const hasEnded = projectId !== undefined || Object.hasOwn(start, 'ended_at');
    if (hasEnded) assertValid(CallEndDto, call);
    caller.assertReaches(start.project_id);
    if (projectId !== undefined && start.project_id !== projectId)
      throw invalidRequest([{ path: 'project_id', message: 'must be the project of the path' }]);
    return { start, ...(hasEnded && { end: call as CallEndDto }), text };
  } catch (error) {
    return refusal(error);
  }
}

function assertValid(dto: Dto, body: unknown, path = ''): void {
  const { violations } = validate(dto, body, path);
  if (violations.length > 0) throw invalidRequest(violations);
}

/** The write of each item, null for a refused one. */
function writesOf(items: (Item | Refusal)[], caller: Caller, traces: Traces): (CallWrite | null)[] {
  return items.map((item) => {
    if ('error' in item) return null;
    const { start, end, text } = item;
    if (!start) return endWrite(end!, text);
    if (!end) return startWrite(start, text, caller, traces(start));
    // each half takes its own members, so that none travels twice
    const first = picked(text, [...START_FIELDS, ...START_DOCUMENTS]);
    const last = picked(text, [...END_FIELDS, ...END_DOCUMENTS]);
    return { ...startWrite(start, first, caller, traces(start)), end: endWrite(end, last).end };
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
  for (const { start, end } of items) {
    if (start?.id) starts.set(callKey(start.project_id, start.id), start);
    const key = end && callKey(end.project_id, end.id);
    if (key && end.trace_id && !known.has(key)) known.set(key, end.trace_id);
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
