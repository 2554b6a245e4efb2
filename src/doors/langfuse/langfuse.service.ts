import { groupBy } from '../../platform/query/grouping.js';
import { Injectable } from '@nestjs/common';
import { v7 as uuidv7 } from 'uuid';
import type { Caller } from '../../platform/auth/caller.js';
import { CallsService, type StoredCall } from '../../tracing/calls/calls.service.js';
import { isDateTime, isId } from '../../platform/http/dto.js';
import { ApiError, ERRORS, toApiError } from '../../platform/errors.js';
import { isObject } from '../../platform/json/json-object.js';
import { TooDeep } from '../../platform/json/json-grammar.js';
import { elementTexts, textsIn } from '../../platform/json/json-text.js';
import { EventLoopTurn } from '../../platform/time/event-loop-turn.js';
import { lock, projectLock } from '../../platform/database/advisory-locks.js';
import { Database } from '../../platform/database/database.js';
import { FeedbackService } from '../../tracing/feedback/feedback.service.js';
import type { EventRefusedDto, IngestionAnswerDto } from './langfuse.dto.js';
import { EventTimes } from './event-times.js';
import {
  DATE_TIME_RULE,
  type IngestionEvent,
  InvalidEvent,
  isObservation,
  isTrace,
  Observation,
} from './observation.js';
import {
  rootTimesQuery,
  type TraceRoot,
  traceRootsQuery,
  type TraceTimes,
  traceTimesQuery,
} from './root-times.query.js';
import { Score } from './score.js';

/** Lock for the calls of a project while events of Langfuse change them. */
const EVENTS = projectLock(0x6c66);

/** Maximum number of scores in a request. Each score takes one or two statements. */
export const MAX_SCORES = 1000;

/** Maximum size of the stored documents that are changed at once. They are read and written again. */
const MAX_PART_BYTES = 16 * 1024 * 1024;

/** Parts above this size take long to read and write again. They run as long work. */
const SHORT_BYTES = 2 * 1024 * 1024;

interface BatchEvent {
  place: number;
  event: IngestionEvent;
}

/** Events keyed by the id of their call, and the maximum size of the stored documents of these calls. */
interface CallEvents {
  events: Map<unknown, BatchEvent[]>;
  bytes: number;
}

@Injectable()
export class LangfuseService {
  constructor(
    private readonly database: Database,
    private readonly calls: CallsService,
    private readonly feedback: FeedbackService,
  ) {}

  /**
   * Stores a batch of events; `text` is the body as it was sent. Events change what earlier ones stored, also those of
   * other requests. So requests of one project run one after the other.
   */
  async ingest(
    batch: unknown[],
    text: string,
    projectId: string,
    caller: Caller,
  ): Promise<IngestionAnswerDto> {
    const found = textsIn(text, { batch: [{ body: true }] })!.batch!;
    const outcomes = new IngestionOutcomes(batch);
    const observed: BatchEvent[] = [];
    const scores: BatchEvent[] = [];
    for (const [place, item] of batch.entries()) {
      try {
        const event = readEvent(item, found[place]);
        if (event.type === 'score-create') scores.push({ place, event });
        else if (isTrace(event) || isObservation(event)) observed.push({ place, event });
        else if (event.type !== 'sdk-log') throw new InvalidEvent('type is not known');
      } catch (error) {
        outcomes.refuse(place, error);
      }
    }
    for (const part of await this.readParts(observed, projectId)) {
      await caller.assertValid();
      const long = part.bytes > SHORT_BYTES ? 'read' : undefined;
      await this.database.transaction({ lock: lock(EVENTS, projectId), long }, () =>
        this.store(part, projectId, caller, outcomes),
      );
    }
    for (const { place, event } of scores) {
      await caller.assertValid();
      try {
        await this.score(event.text, projectId, caller, event.timestamp);
      } catch (error) {
        outcomes.refuse(place, error);
      }
    }
    return outcomes.answer();
  }

  /** Groups events by the id of their call, in parts whose stored calls fit into memory. */
  private async readParts(
    observed: readonly BatchEvent[],
    projectId: string,
  ): Promise<CallEvents[]> {
    const byId = groupBy(observed, ({ event }) => event.body['id']);
    const bytes = await this.calls.mostBytes(projectId, [...byId.keys()].filter(isId));
    const parts: CallEvents[] = [];
    for (const [id, events] of byId) {
      const size = bytes.get(id as string) ?? 0;
      let part = parts.at(-1);
      if (!part || part.bytes + size > MAX_PART_BYTES)
        parts.push((part = { events: new Map(), bytes: 0 }));
      part.bytes += size;
      part.events.set(id, events);
    }
    return parts;
  }

  private async store(
    { events: byId }: CallEvents,
    projectId: string,
    caller: Caller,
    outcomes: IngestionOutcomes,
  ): Promise<void> {
    const turn = new EventLoopTurn();
    const stored = await this.calls.stored(projectId, [...byId.keys()].filter(isId));
    const known = new Map<unknown, StoredCall>(stored.map((one) => [one.call.id, one]));
    const changed: { observation: Observation; places: number[] }[] = [];
    for (const [id, events] of byId) {
      const observation = new Observation(projectId, known.get(id));
      const places: number[] = [];
      for (const { place, event } of events) {
        if (turn.isOver) await turn.next();
        try {
          observation.apply(event);
          places.push(place);
        } catch (error) {
          outcomes.refuse(place, error);
        }
      }
      if (places.length > 0) changed.push({ observation, places });
    }
    const answers = await this.calls.storeCalls(
      changed.map(({ observation }) => observation.stored),
      caller,
    );
    const kept: Observation[] = [];
    for (const [i, { observation, places }] of changed.entries()) {
      const answer = answers[i]!;
      if ('error' in answer)
        for (const place of places)
          outcomes.refuse(place, new ApiError('invalid_request', answer.error.detail));
      else kept.push(observation);
    }
    await this.setRootTimes(projectId, kept);
  }

  /**
   * Sets the times of a trace's root to those of its first and last observation. Usually the changed observations are
   * enough. When a root or one of its observations moved, all observations of the trace are read.
   */
  private async setRootTimes(projectId: string, changed: readonly Observation[]): Promise<void> {
    if (changed.length === 0) return;
    const moved = new Map<string, boolean>();
    for (const { traces } of changed)
      for (const { id, isMoved } of traces) moved.set(id, isMoved || (moved.get(id) ?? false));
    const known: TraceRoot[] = [];
    const unknown: TraceRoot[] = [];
    for (const root of await this.database.query(traceRootsQuery(projectId, [...moved.keys()]))) {
      const { isObserved, hasOwnTimes } = new EventTimes(root.event_times);
      if (!hasOwnTimes) (isObserved && !moved.get(root.id)! ? known : unknown).push(root);
    }
    const ids = known.length > 0 ? changed.map(({ id }) => id) : [];
    const ofChanged = await this.timesByTrace(projectId, { ids });
    const ofAll = await this.timesByTrace(projectId, { traceIds: unknown.map(({ id }) => id) });
    const set = [
      ...known.flatMap((root) => stretchRoot(root, ofChanged.get(root.id))),
      ...unknown.flatMap((root) => replaceRootTimes(root, ofAll.get(root.id))),
    ];
    if (set.length > 0) await this.database.query(rootTimesQuery(projectId, set));
  }

  private async timesByTrace(
    projectId: string,
    calls: { traceIds: readonly string[] } | { ids: readonly string[] },
  ): Promise<Map<string, TraceTimes>> {
    if (Object.values(calls)[0]!.length === 0) return new Map();
    const times = await this.database.query(traceTimesQuery(projectId, calls));
    return new Map(times.map((one) => [one.trace_id, one]));
  }

  /** Stores the valid scores of a list, and returns the error messages of the others. */
  async scoreAll(text: string, projectId: string, caller: Caller): Promise<string[]> {
    const scores = elementTexts(text);
    if (scores.length > MAX_SCORES)
      throw new ApiError(
        'too_large',
        `the body holds ${scores.length} scores, over the limit of ${MAX_SCORES}`,
      );
    const messages: string[] = [];
    for (const score of scores) {
      await caller.assertValid();
      try {
        await this.score(score, projectId, caller);
      } catch (error) {
        messages.push(new EventRefusal(error).message);
      }
    }
    return messages;
  }

  /**
   * Stores a score as feedback and returns its id. The name of the score is the feedback type; its other members are
   * the payload. `text` is the score as it was sent, `timestamp` that of its event.
   */
  async score(
    text: string,
    projectId: string,
    caller: Caller,
    timestamp?: string,
  ): Promise<string> {
    const score = new Score(projectId, text, timestamp);
    const { traceId } = score;
    const root = traceId === undefined ? undefined : await this.calls.findRoot(projectId, traceId);
    const id = score.body['id'] ?? uuidv7();
    const feedback = score.feedback(id, root);
    await this.feedback.putMerged(feedback, caller, (stored) => score.merged(feedback, stored));
    return id as string;
  }
}

/** Returns the root with longer times, or nothing when it already covers these observations. */
function stretchRoot(root: TraceRoot, times: TraceTimes | undefined): TraceRoot[] {
  if (!times) return [];
  const { started_at, ended_at } = root;
  const first = times.first < started_at ? times.first : started_at;
  const last = ended_at !== null && ended_at > times.last ? ended_at : times.last;
  return first === started_at && last === ended_at
    ? []
    : [{ ...root, started_at: first, ended_at: last }];
}

function replaceRootTimes(root: TraceRoot, times: TraceTimes | undefined): TraceRoot[] {
  if (!times) return [];
  const own = new EventTimes(root.event_times);
  own.isObserved = true;
  return [{ ...root, started_at: times.first, ended_at: times.last, event_times: own.text }];
}

/** @throws InvalidEvent, TooDeep */
function readEvent(item: unknown, found: { body?: string } | TooDeep | undefined): IngestionEvent {
  if (found instanceof TooDeep) throw found;
  if (!isObject(item) || !isObject(item['body'])) throw new InvalidEvent('body must be an object');
  const { type, timestamp, body } = item;
  if (typeof type !== 'string') throw new InvalidEvent('type must be a string');
  const at = timestamp ?? new Date().toISOString();
  if (!isDateTime(at)) throw new InvalidEvent(`timestamp ${DATE_TIME_RULE}`);
  return { type, timestamp: at, body, text: found!.body! };
}

/**
 * The reason why one item is refused.
 * @throws the error itself when it concerns the whole request
 */
class EventRefusal {
  readonly status: number;
  readonly message: string;
  readonly code: string;

  constructor(error: unknown) {
    const isOurs = error instanceof InvalidEvent;
    const { code, message } = isOurs
      ? new ApiError('invalid_request', error.message)
      : toApiError(error);
    this.status = ERRORS[code].status;
    if (this.status >= 500) throw error;
    [this.code, this.message] = [code, message];
  }
}

class IngestionOutcomes {
  private readonly errors = new Map<number, EventRefusedDto>();

  constructor(private readonly batch: readonly unknown[]) {}

  refuse(place: number, error: unknown): void {
    const { status, message, code } = new EventRefusal(error);
    this.errors.set(place, { id: this.eventId(place), status, message, error: code });
  }

  answer(): IngestionAnswerDto {
    const good = this.batch.flatMap((_, place) =>
      this.errors.has(place) ? [] : [{ id: this.eventId(place), status: 201 }],
    );
    return { successes: good, errors: [...this.errors.values()] };
  }

  private eventId(place: number): string {
    const item = this.batch[place];
    return isObject(item) && typeof item['id'] === 'string' ? item['id'] : '';
  }
}
