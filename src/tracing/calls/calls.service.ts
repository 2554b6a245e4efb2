import { Inject, Injectable } from '@nestjs/common';
import { v7 as uuidv7 } from 'uuid';
import { addEvent, deletionAction } from '../../platform/audit/add-event.js';
import { assertNotHeld } from '../../platform/audit/legal-holds.js';
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
import { CallConditions } from './read/call-conditions.service.js';
import {
  callRow,
  type CallRows,
  callsStatsQuery,
  deleteQuery,
  isVisibleFamily,
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
import { callsOfHold } from '../held-parts.query.js';
import { storableResponseId } from '../conventions/response-id.js';
import type { AgentColumns } from '../conventions/agent-columns.js';
import { repairTexts, repairParent } from './ingest/text-repair.js';
import { Turns } from './ingest/turns.service.js';
import { CALLS } from './call.entity.js';
import type { CallSource } from '../conventions/call-source.js';
import { DerivedDataRegistry } from './erasing/derived-data.service.js';

const CALLS_DELETE = deletionAction('calls.delete');

export type ItemAnswer = CallStartedDto | Record<string, never> | RefusedItem;

@Injectable()
export class CallsService {
  @Inject(Turns) private readonly turns!: Turns;
  private readonly largeReads = new ConnectionSlots(LARGE_AT_ONCE);

  constructor(
    private readonly database: Database,
    private readonly writer: CallsWriter,
    private readonly made: DerivedDataRegistry,
    private readonly conditions: CallConditions,
  ) {}

  /**
   * Records the start of a call. `text` is the request body as it was sent. With `movesTurn`, the call is a turn if it
   * is on top of its trace: `settleTurns`.
   */
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

  async end(end: CallEndDto, text: string, { owner }: Pick<Caller, 'owner'>): Promise<void> {
    await this.writer.store(endWrite(end, textsIn(text, { end: END_SHAPE })?.end), owner);
  }

  /**
   * Ends a stored call.
   * @throws ApiError `not_found`
   */
  async endStarted(end: CallEndDto, text: string, caller: Caller): Promise<void> {
    const { project_id, id } = end;
    const filter = { call_ids: [id] };
    const counted = callsStatsQuery({ project_id, filter });
    const [row] = await this.database.query(counted, { owner: caller.owner });
    if (row!.count === 0)
      throw new ApiError('not_found', 'no call with this id has started in the project');
    await this.end(end, text, caller);
  }

  /**
   * Stores the valid items of a batch, and answers each item in its place. Several writes of one call are merged before
   * they are stored, so the last start of a call in the batch wins. `text` is the request body as it was sent.
   * Empties the batch: while the rows wait, each garbage collection would copy the parsed values.
   */
  async upsertBatch(batch: unknown[], text: string, caller: Caller): Promise<ItemAnswer[]> {
    assertBatchSize(batch);
    const found = textsIn(text, { batch: [ITEM_SHAPE] })!.batch!;
    const items = await mapYielding(batch, (item, i) => checkedItem(item, found[i], caller));
    batch.length = 0;
    return this.storeItems(items, caller);
  }

  /**
   * Stores the valid calls of one project. Each must have ended.
   * @throws ApiError that lists the refused calls
   */
  async complete(batch: unknown[], text: string, projectId: string, caller: Caller): Promise<void> {
    assertBatchSize(batch);
    const found = textsIn(text, { batch: [CALL_SHAPE] })!.batch!;
    const items = await mapYielding(batch, (call, i) =>
      checkedCall(call, found[i], caller, projectId),
    );
    assertNoneRefused(batch, await this.storeItems(items, caller));
  }

  /**
   * Stores the valid calls, and answers each in its place. A call without `ended_at` still runs, but may have an
   * output.
   */
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

  /** Reads started calls in the form that `storeCalls` takes. */
  async stored(projectId: string, ids: readonly string[]): Promise<StoredCall[]> {
    if (ids.length === 0) return [];
    const rows = await this.database.query(storedQuery(projectId, ids));
    return rows.map(({ attributes, inputs, output, summary, otel_dump, event_times, ...call }) => {
      if (call['ended_at'] === null) delete call['ended_at'];
      const documents = { attributes, inputs, output, summary, otel_dump };
      return { call, documents, eventTimes: event_times ?? null };
    });
  }

  /**
   * Returns an upper bound for the bytes of each call's documents, keyed by call id. Reads no document. With it,
   * callers read few calls at a time.
   */
  async mostBytes(projectId: string, ids: readonly string[]): Promise<Map<string, number>> {
    if (ids.length === 0) return new Map();
    const rows = await this.database.query(mostBytesQuery(projectId, ids));
    return new Map(rows.map(({ id, bytes }) => [id, bytes]));
  }

  /**
   * Returns the id of the root of a trace, if it is stored. Observations made from Langfuse events are below a root
   * whose id is the trace id.
   */
  async findRoot(projectId: string, traceId: string): Promise<string | undefined> {
    const [root] = await this.database.query(rootQuery(projectId, traceId));
    return root?.is_below ? traceId : root?.id;
  }

  async findByResponse(projectId: string, responseId: string): Promise<string | undefined> {
    const [call] = await this.database.query(responseQuery(projectId, responseId));
    return call?.id;
  }

  /** Sets which calls of the traces are turns. Call it after spans of the traces are stored. See `turnChanges`. */
  async settleTurns(projectId: string, traceIds: readonly string[], owner?: string): Promise<void> {
    await this.turns.settleNamed(projectId, traceIds, owner);
  }

  /** Stores items. Empties the list, as `upsertBatch` does. */
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
   * Looks up the traces that starts without a trace may inherit. SDKs always send a trace, and then nothing is read. A
   * root without children in the batch is not looked up: the write itself finds out whether it is stored.
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
      const rows = await this.database.query(tracesQuery(projectId, [...ids]), { owner });
      for (const { id, trace_id } of rows) stored.set(callKey(projectId, id), trace_id);
    }
    return traceFinder(good, stored);
  }

  /**
   * Returns the call as JSON, or null. A large call, or a call with costs, is read on a connection that may be held for
   * long, once memory for the answer is reserved.
   */
  async read(request: CallReadDto, context: Context): Promise<Buffer | null> {
    const small = request.include_costs ? null : callRow(request, SMALL_BYTES);
    const found = small && (await this.database.query(small.query, { rows: rowWriter(small) }));
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
   * Returns the condition on the call `c` for the filter and the query of another feature. Refuses unknown members of
   * the filter, and the field for the cost of the call.
   * @throws ApiError, InvalidQuery
   */
  condition({ project_id, filter, query }: FilteredCalls, path?: string): Sql {
    const place = path === undefined ? 'filter' : `${path}.filter`;
    if (filter) assertValid(CallsFilterDto, filter, place, { isStrict: true });
    return isMatch({ project_id, filter, query });
  }

  /**
   * Returns the same condition as `condition`, but the query may name the cost of the call. Run the statement at once,
   * because prices may change.
   * @throws ApiError, InvalidQuery
   */
  pricedCondition({ project_id, filter, query }: FilteredCalls): Promise<Sql> {
    if (filter) assertValid(CallsFilterDto, filter, 'filter', { isStrict: true });
    const matched = { project_id, filter, query };
    return this.conditions.compiled(matched, (ahead) => isMatch(matched, ahead));
  }

  /**
   * Returns SQL for the value of a field of the call `c`, as text.
   * @throws InvalidQuery
   */
  field(projectId: string, name: string, path: string): Sql {
    return fieldText(projectId, name, path);
  }

  async update({ project_id, call_id, display_name }: CallUpdateDto): Promise<void> {
    // The update may wait for a lock on the call. Batched writes of many calls must not wait behind it.
    await this.database.query(updateQuery(project_id, call_id, display_name || null), {
      long: 'write',
    });
    this.database.changes.note(project_id, CALLS);
  }

  async delete({ project_id, call_ids }: CallsDeleteDto, by: Caller): Promise<CallsDeletedDto> {
    const deleted = await this.database.transaction({ long: 'bulk' }, async () => {
      const isDeleted = isVisibleFamily(project_id, call_ids);
      await assertNotHeld(this.database, project_id, callsOfHold(project_id, isDeleted));
      const { num_deleted, named } = await this.made.forgetWith(project_id, async (whatIsMade) => {
        const [row] = await this.database.query(deleteQuery(project_id, call_ids, whatIsMade));
        return row!;
      });
      this.database.changes.note(project_id, CALLS);
      const detail = { call_ids: named, num_deleted };
      if (num_deleted > 0)
        await addEvent(this.database, { action: CALLS_DELETE, by, projectId: project_id, detail });
      return { num_deleted };
    });
    if (deleted.num_deleted > 0) await this.turns.settleOf(project_id, call_ids);
    return deleted;
  }
}

/** Maximum bytes of a small call's documents, without compression. Every connection may read a small call. */
export const SMALL_BYTES = 1024 * 1024;
/**
 * Maximum memory that is reserved before a larger call is read. The real size is unknown until then, since a compressed
 * document may have any size.
 */
const ROOM_BYTES = 4 * 1024 * 1024;
/**
 * Maximum number of larger calls that a process reads at once. They keep the process busy, so with more of them one
 * entity would slow down all others.
 */
export const LARGE_AT_ONCE = 3;

const rowWriter = ({ pieces }: CallRows) => new JsonRowWriter(pieces);
const firstRow = ({ bytes, ends }: JsonRows) => bytes.subarray(0, ends[0]);

interface FilteredCalls {
  project_id: string;
  filter: object | null;
  query: object | null;
}

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

/**
 * A call from another feature. Its documents are JSON no deeper than `MAX_DEPTH`. Its summary has no `status_counts`.
 */
export interface WholeCall {
  call: object;
  documents: DocumentTexts;
  /** The provider's id of the response whose usage the summary reports. If absent, it is read from the output. */
  responseId?: string | null;
  /** Columns read from the attributes of a span. If undefined, they are read from the parsed attributes of the call. */
  agent?: AgentColumns | null;
  /** The source that a span states itself. If undefined, it is read from the attributes. */
  source?: CallSource | null;
  /** Times of the events from which the members of the call come, as JSON. Only the door of the events reads it. */
  eventTimes?: string;
  /** If true, the position of the call in its trace decides whether it is a turn: `settleTurns`. */
  movesTurn?: boolean | undefined;
}

/** A stored call. Missing values are null. Values of the end are absent while the call runs. */
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

/** Validates a complete call. If `projectId` is set, the call must have ended and must belong to that project. */
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

/** Makes the end of a call that still runs. Its documents hold an output or a summary. */
const openEnd = ({ project_id, id }: CallStartDto) => ({ project_id, id }) as CallEndDto;

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

/** Returns the trace of a start that names none. */
type TraceFinder = (start: CallStartDto) => string;

/**
 * Returns a finder of traces. It uses the first known trace: of the start itself, of its stored row, of its end in the
 * batch, or of its parent, stored or in the batch. Else it makes a new trace.
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
      made.set(start, fresh); // finds this trace again if the parents form a circle
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
