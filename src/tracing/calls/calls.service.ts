import { Inject, Injectable } from '@nestjs/common';
import { v7 as uuidv7 } from 'uuid';
import { addEvent, auditAction } from '../../platform/audit/add-event.js';
import type { Caller } from '../../platform/auth/caller.js';
import {
  ApiError,
  assertNoneRefused,
  invalidRequest,
  type RefusedItem,
  refusedItem,
} from '../../platform/errors.js';
import { TooDeep } from '../../platform/json/json-grammar.js';
import { type Texts, textsIn } from '../../platform/json/json-text.js';
import { mapYielding } from '../../platform/time/event-loop-turn.js';
import type { Context } from '../../platform/http/context.js';
import { assertValid } from '../../platform/http/validation.js';
import { Database } from '../../platform/database/database.js';
import { type JsonRows, JsonRowWriter } from '../../platform/database/json-row-writer.js';
import { STATEMENT_MS } from '../../platform/database/limits.js';
import { ConnectionSlots } from '../../platform/database/connection-slots.js';
import type { Sql } from '../../platform/query/sql.js';
import {
  CallEndDto,
  type CallReadDto,
  type CallsDeleteDto,
  type CallsDeletedDto,
  CallsFilterDto,
  CallStartDto,
  type CallStartedDto,
  type CallUpdateDto,
  MAX_BATCH,
} from './calls.dto.js';
import { CallPrices } from './read/call-prices.service.js';
import {
  callRow,
  type CallRows,
  callsStatsQuery,
  deleteQuery,
  fieldText,
  isMatch,
  tracesQuery,
  responseQuery,
  rootQuery,
  mostBytesQuery,
  storedQuery,
  updateQuery,
} from './read/calls.query.js';
import {
  callKey,
  CallsWriter,
  mergeWrites,
  writeKey,
  mergedByCall,
} from './ingest/calls.writer.js';
import type { CallWrite } from './ingest/calls.upsert.js';
import {
  CALL_SHAPE,
  type DocumentTexts,
  END_SHAPE,
  endWrite,
  START_SHAPE,
  startWrite,
} from './ingest/call-write.js';
import { storableResponseId } from './ingest/response-id.js';
import type { AgentColumns } from './ingest/calls.upsert.js';
import { repairTexts, repairParent } from './ingest/text-repair.js';
import { Turns } from './ingest/turns.service.js';
import { CALLS } from './call.entity.js';
import type { CallSource } from './source/call-source.js';
import { DerivedDataRegistry } from './erasing/derived-data.service.js';

/** For the doors, which take the same requests. */
export { CallReadDto } from './calls.dto.js';

const CALLS_DELETE = auditAction('calls.delete');

/** The answer to one item of a batch. */
export type ItemAnswer = CallStartedDto | Record<string, never> | RefusedItem;

@Injectable()
export class CallsService {
  @Inject(Turns) private readonly turns!: Turns;
  private readonly largeReads = new ConnectionSlots(LARGE_AT_ONCE);

  constructor(
    private readonly database: Database,
    private readonly writer: CallsWriter,
    private readonly made: DerivedDataRegistry,
    private readonly prices: CallPrices,
  ) {}

  /** `text` is the body as it was sent. A call that `movesTurn` is a turn where it stands on top of its trace: `settleTurns`. */
  async start(
    start: CallStartDto,
    text: string,
    caller: Caller,
    movesTurn = false,
  ): Promise<CallStartedDto> {
    repairParent(start);
    const documents = textsIn(text, { start: START_SHAPE })?.start;
    const write = startWrite(start, documents, caller, { movesTurn });
    await this.writer.store(write, caller.owner);
    return { id: write.id, trace_id: write.traceId! };
  }

  /** `text` is the body as it was sent. */
  async end(end: CallEndDto, text: string, { owner }: Pick<Caller, 'owner'>): Promise<void> {
    await this.writer.store(endWrite(end, textsIn(text, { end: END_SHAPE })?.end), owner);
  }

  /** Ends a call that is stored. @throws ApiError `not_found` */
  async endStarted(end: CallEndDto, text: string, caller: Caller): Promise<void> {
    const { project_id, id } = end;
    const filter = { call_ids: [id] };
    const counted = callsStatsQuery({ project_id, filter });
    const [row] = await this.database.query(counted, caller.owner);
    if (row!.count === 0)
      throw new ApiError('not_found', 'no call with this id has started in the project');
    await this.end(end, text, caller);
  }

  /**
   * Stores what is good of a batch, and answers each item in its place. Parts of one call are merged before they are
   * stored, so the last start of a call in the batch is the one that stays. `text` is the body as it was sent. Empties the
   * batch: what was parsed would be copied by each collection of garbage as long as the rows wait.
   */
  async upsertBatch(batch: unknown[], text: string, caller: Caller): Promise<ItemAnswer[]> {
    assertBatchSize(batch);
    const found = textsIn(text, { batch: [ITEM_SHAPE] })!.batch!;
    const items = await mapYielding(batch, (item, i) => checkedItem(item, found[i], caller));
    batch.length = 0;
    return this.storeItems(items, caller);
  }

  /** Stores what is good of calls of one project that have ended. @throws ApiError of those that were refused */
  async complete(batch: unknown[], text: string, projectId: string, caller: Caller): Promise<void> {
    assertBatchSize(batch);
    const found = textsIn(text, { batch: [CALL_SHAPE] })!.batch!;
    const items = await mapYielding(batch, (call, i) =>
      checkedCall(call, found[i], caller, projectId),
    );
    assertNoneRefused(batch, await this.storeItems(items, caller));
  }

  /** Stores what is good of whole calls and answers each in its place. Those without `ended_at` run, and may have an output. */
  async storeCalls(calls: readonly WholeCall[], caller: Caller): Promise<ItemAnswer[]> {
    const items = await mapYielding(
      calls,
      ({ call, documents, responseId, agent, source, eventTimes, movesTurn }) => {
        const item = checkedCall(call, documents, caller);
        if ('error' in item) return item;
        if (item.start && !item.end && (documents.output ?? documents.summary))
          item.end = openEnd(item.start);
        const id = responseId && storableResponseId(responseId);
        return { ...item, responseId: id, agent, source, eventTimes, movesTurn };
      },
    );
    return this.storeItems(items, caller);
  }

  /** Started calls as `storeCalls` takes them. */
  async stored(projectId: string, ids: readonly string[]): Promise<StoredCall[]> {
    if (ids.length === 0) return [];
    const rows = await this.database.query(storedQuery(projectId, ids));
    return rows.map(({ attributes, inputs, output, summary, otel_dump, event_times, ...call }) => {
      if (call['ended_at'] === null) delete call['ended_at'];
      const documents = { attributes, inputs, output, summary, otel_dump };
      return { call, documents, eventTimes: event_times ?? null };
    });
  }

  /** At most how many bytes the documents of stored calls have, by id: callers read few at a time. Reads no document. */
  async mostBytes(projectId: string, ids: readonly string[]): Promise<Map<string, number>> {
    if (ids.length === 0) return new Map();
    const rows = await this.database.query(mostBytesQuery(projectId, ids));
    return new Map(rows.map(({ id, bytes }) => [id, bytes]));
  }

  /** The id of the root of a trace, if it is stored. Observations of events are below a root that has the id of the trace. */
  async findRoot(projectId: string, traceId: string): Promise<string | undefined> {
    const [root] = await this.database.query(rootQuery(projectId, traceId));
    return root?.is_below ? traceId : root?.id;
  }

  /** The id of the first call that tells of a response of a provider, if one is stored. */
  async findByResponse(projectId: string, responseId: string): Promise<string | undefined> {
    const [call] = await this.database.query(responseQuery(projectId, responseId));
    return call?.id;
  }

  /** Settles which calls of the traces are turns, once spans of them are stored: `turnChanges`. */
  async settleTurns(projectId: string, traceIds: readonly string[], owner?: string): Promise<void> {
    await this.turns.settleNamed(projectId, traceIds, owner);
  }

  /** Empties the items, as `upsertBatch` does the batch. */
  private async storeItems(
    items: (BatchItem | RefusedItem)[],
    caller: Caller,
  ): Promise<ItemAnswer[]> {
    const writes = await this.toWrites(items, caller);
    const known = items.map((item) => ('error' in item ? item : item.start !== undefined));
    items.length = 0;
    const merged = mergedByCall(writes.filter((write) => write !== null));
    const refused = await this.writer.storeAll([...merged.values()], caller.owner);
    return known.map((item, i): ItemAnswer => {
      if (typeof item === 'object') return item;
      const write = merged.get(writeKey(writes[i]!))!;
      const error = refused.get(write);
      if (error) return refusedItem(error);
      return item ? { id: write.id, trace_id: write.traceId! } : {};
    });
  }

  private async toWrites(
    items: (BatchItem | RefusedItem)[],
    caller: Caller,
  ): Promise<(CallWrite | null)[]> {
    const traces = await this.findTraces(items, caller.owner);
    return mapYielding(items, (item) => toWrite(item, caller, traces));
  }

  /**
   * Looks up what starts without a trace may inherit; SDKs always send one, and then nothing is read. A root below which the batch
   * has nothing passes its trace on to none: whether it is stored already shows when it is written.
   */
  private async findTraces(
    items: (BatchItem | RefusedItem)[],
    owner: string,
  ): Promise<TraceFinder> {
    const good = items.filter((item) => 'documents' in item);
    const starts = good.flatMap(({ start }) => (start && !start.trace_id ? [start] : []));
    if (starts.length === 0) return ({ trace_id }) => trace_id!;
    const parents = new Set(
      starts.map(({ project_id, parent_id }) => parent_id && callKey(project_id, parent_id)),
    );
    const wanted = new Map<string, Set<string>>();
    for (const { project_id, id, parent_id } of starts) {
      if (!parent_id && !(id && parents.has(callKey(project_id, id)))) continue;
      const ids = wanted.get(project_id) ?? new Set();
      for (const one of [id, parent_id]) if (one) ids.add(one);
      wanted.set(project_id, ids);
    }
    const stored = new Map<string, string>();
    for (const [projectId, ids] of wanted) {
      const rows = await this.database.query(tracesQuery(projectId, [...ids]), owner);
      for (const { id, trace_id } of rows) stored.set(callKey(projectId, id), trace_id);
    }
    return traceFinder(good, stored);
  }

  /**
   * The call as JSON, or null. A large one, or one that is priced, is read on a connection that may be held for long, when there
   * is room for it in memory.
   */
  async read(request: CallReadDto, context: Context): Promise<Buffer | null> {
    const small = request.include_costs ? null : callRow(request, SMALL_BYTES);
    const found = small && (await this.database.rows(small.query, rowWriter(small)));
    if (found && found.ends.length > 0) return firstRow(found);
    const bytes = (await this.mostBytes(request.project_id, [request.id])).get(request.id);
    if (bytes === undefined) return null;
    await context.reserveAnswer(Math.min(bytes, ROOM_BYTES));
    const any = callRow(request, null);
    const options = { rows: rowWriter(any), firstBatch: 2 };
    const read = async () => {
      const batches = await this.database.stream(any.query, options);
      const [batch] = (await batches.toArray()) as JsonRows[];
      return batch ? firstRow(batch) : null;
    };
    return bytes <= SMALL_BYTES ? read() : this.largeReads.with(context.caller.owner, read);
  }

  /**
   * The condition of another feature's filter and query on the call `c`. Unknown members of the filter are refused, and so is the
   * cost of the call. @throws ApiError, InvalidQuery
   */
  condition({ project_id, filter, query }: FilteredCalls, path?: string): Sql {
    const place = path === undefined ? 'filter' : `${path}.filter`;
    if (filter) assertValid(CallsFilterDto, filter, place, { isStrict: true });
    return isMatch({ project_id, filter, query });
  }

  /** The same, for a statement that follows at once: it may name the cost of the call. @throws ApiError, InvalidQuery */
  pricedCondition({ project_id, filter, query }: FilteredCalls): Promise<Sql> {
    if (filter) assertValid(CallsFilterDto, filter, 'filter', { isStrict: true });
    const matched = { project_id, filter, query };
    return this.prices.compiled(matched, (prices) => isMatch(matched, prices));
  }

  /** The value of a field of the call `c`, as text. @throws InvalidQuery */
  field(projectId: string, name: string, path: string): Sql {
    return fieldText(projectId, name, path);
  }

  async update({ project_id, call_id, display_name }: CallUpdateDto): Promise<void> {
    // It may wait for a lock on the call, and writes of many calls must not wait for it.
    await this.database.long(
      () => this.database.query(updateQuery(project_id, call_id, display_name || null)),
      STATEMENT_MS.write,
    );
    this.database.note(project_id, CALLS);
  }

  async delete({ project_id, call_ids }: CallsDeleteDto, by: Caller): Promise<CallsDeletedDto> {
    const deleted = await this.database.long(async () => {
      const { num_deleted } = await this.made.forgetWith(project_id, async (whatIsMade) => {
        const [row] = await this.database.query(deleteQuery(project_id, call_ids, whatIsMade));
        return row!;
      });
      this.database.note(project_id, CALLS);
      const detail = { call_ids, num_deleted };
      if (num_deleted > 0)
        await addEvent(this.database, { action: CALLS_DELETE, by, projectId: project_id, detail });
      return { num_deleted };
    }, STATEMENT_MS.bulk);
    if (deleted.num_deleted > 0) await this.turns.settleOf(project_id, call_ids);
    return deleted;
  }
}

/** For doors, which hand over what a span says. */
export { agentOf, PLAIN_SPAN } from './ingest/agent-columns.js';
export { AGENT_EVENTS, AGENT_SPANS } from './agent-turns/agent-turns.js';
export { isEmptyId } from './ingest/text-repair.js';
export { idOfSum, idOfTwin, MADE_ID_PREFIX, responseIdOf } from './ingest/response-id.js';
export { ownSource } from './source/call-source.js';
export { productionFilter } from './source/production-filter.js';
export type { AgentColumns, CallSource };

/** Documents of a call that every connection may read: at most so many bytes, however well they are compressed. */
export const SMALL_BYTES = 1024 * 1024;
/** Room that a larger one needs before it is read: nobody knows its size sooner, since a compressed one may have any. */
const ROOM_BYTES = 4 * 1024 * 1024;
/** Larger ones that a process reads at once. They keep it busy, so an entity with more would slow down the others' as many times. */
export const LARGE_AT_ONCE = 3;

const rowWriter = ({ pieces }: CallRows) => new JsonRowWriter(pieces);
const firstRow = ({ bytes, ends }: JsonRows) => bytes.subarray(0, ends[0]);

interface FilteredCalls {
  project_id: string;
  filter: object | null;
  query: object | null;
}

/** One item of a batch that may be stored: a start, an end, or both. */
interface BatchItem {
  start?: CallStartDto;
  end?: CallEndDto;
  documents: DocumentTexts | undefined;
  responseId?: string | null;
  agent?: AgentColumns | null | undefined;
  source?: CallSource | null | undefined;
  eventTimes?: string | undefined;
  movesTurn?: boolean | undefined;
}

/** A call of another feature. Its documents are JSON no deeper than `MAX_DEPTH`, and no summary with `status_counts`. */
export interface WholeCall {
  call: object;
  documents: DocumentTexts;
  /** The provider's id of the response whose usage the summary tells; absent where the output may hold it. */
  responseId?: string | null;
  /** Columns of a span's attributes. Undefined: they are read from the parsed attributes, if the call has them. */
  agent?: AgentColumns | null;
  /** The source that a span says itself. Undefined: it is read from the attributes. */
  source?: CallSource | null;
  /** When the events were made that gave the call its members, as JSON that only their door reads. */
  eventTimes?: string;
  /** Whether it is a turn follows from where it stands among its trace: `settleTurns`. */
  movesTurn?: boolean | undefined;
}

/** A stored call. Missing values are null; those of the end are absent while the call runs. */
export interface StoredCall {
  call: { id: string } & Record<string, string | null | undefined>;
  documents: Partial<Record<keyof typeof CALL_SHAPE, string | null>>;
  eventTimes: string | null;
}

const ITEM_SHAPE = { req: { start: START_SHAPE, end: END_SHAPE } } as const;

function assertBatchSize({ length }: unknown[]): void {
  if (length > MAX_BATCH)
    throw new ApiError('too_large', `batch holds ${length} items, over the limit of ${MAX_BATCH}`);
}

/** Judges one item of a batch by itself. */
function checkedItem(
  item: unknown,
  found: Texts<typeof ITEM_SHAPE> | TooDeep | undefined,
  caller: Caller,
): BatchItem | RefusedItem {
  try {
    const { mode, req } = (item ?? {}) as { mode?: unknown; req?: Record<string, unknown> | null };
    if (mode !== 'start' && mode !== 'end')
      throw invalidRequest([{ path: 'mode', message: 'must be "start" or "end"' }]);
    const body = req?.[mode];
    repairTexts(body);
    assertValid(mode === 'start' ? CallStartDto : CallEndDto, body, `req.${mode}`);
    caller.assertReaches((body as CallEndDto).project_id);
    if (found instanceof TooDeep) throw found;
    const documents = found?.req?.[mode];
    return mode === 'start'
      ? { start: body as CallStartDto, documents }
      : { end: body as CallEndDto, documents };
  } catch (error) {
    return refusedItem(error);
  }
}

/** Judges a whole call by itself. In a request about one project it must have ended, and there. */
function checkedCall(
  call: unknown,
  found: DocumentTexts | TooDeep | undefined,
  caller: Caller,
  projectId?: string,
): BatchItem | RefusedItem {
  try {
    repairTexts(call);
    assertValid(CallStartDto, call);
    const start = call as CallStartDto;
    const hasEnded = projectId !== undefined || Object.hasOwn(start, 'ended_at');
    if (hasEnded) assertValid(CallEndDto, call);
    caller.assertReaches(start.project_id);
    if (projectId !== undefined && start.project_id !== projectId)
      throw invalidRequest([{ path: 'project_id', message: 'must be the project of the path' }]);
    if (found instanceof TooDeep) throw found;
    if (!hasEnded) return { start, documents: found };
    return { start, end: call as CallEndDto, documents: found };
  } catch (error) {
    return refusedItem(error);
  }
}

/** What is known of the end of a call that runs: its output or its summary, which are in its documents. */
const openEnd = ({ project_id, id }: CallStartDto) => ({ project_id, id }) as CallEndDto;

/** The write of an item, null for a refused one. */
function toWrite(
  item: BatchItem | RefusedItem,
  caller: Caller,
  traces: TraceFinder,
): CallWrite | null {
  if ('error' in item) return null;
  const { start, end, documents, responseId, ...extras } = item;
  if (!start) return endWrite(end!, documents);
  const first = startWrite(start, documents, caller, { ...extras, newTrace: traces });
  return end ? mergeWrites(first, endWrite(end, documents, responseId)) : first;
}

/** The trace of a start that names none. */
type TraceFinder = (start: CallStartDto) => string;

/**
 * Traces by what is known: the start itself, the row it repeats, an end of it in the batch, its parent, stored or in
 * the batch; else a new one.
 */
function traceFinder(items: BatchItem[], stored: Map<string, string>): TraceFinder {
  const starts = new Map<string, CallStartDto>();
  const known = new Map(stored);
  for (const { start, end } of items) {
    if (start?.id) starts.set(callKey(start.project_id, start.id), start);
    const key = end && callKey(end.project_id, end.id);
    if (key && end.trace_id && !known.has(key)) known.set(key, end.trace_id);
  }
  const made = new Map<CallStartDto, string>();
  return (asked) => {
    const fresh = uuidv7();
    const climbed: CallStartDto[] = [];
    let trace: string | undefined;
    for (let start = asked; !trace;) {
      const key = callKey(start.project_id, start.id ?? '');
      trace = start.trace_id ?? known.get(key) ?? made.get(start);
      if (trace) break;
      made.set(start, fresh); // found again, should the parents go round in a circle
      climbed.push(start);
      const parentKey = start.parent_id ? callKey(start.project_id, start.parent_id) : '';
      const parent = starts.get(parentKey);
      if (parent) start = parent;
      else trace = known.get(parentKey) ?? fresh;
    }
    for (const start of climbed) made.set(start, trace);
    return trace;
  };
}
