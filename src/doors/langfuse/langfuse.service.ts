import { groupedBy } from '../../platform/query/grouped-by.js';
import { Injectable } from '@nestjs/common';
import { v7 as uuidv7 } from 'uuid';
import type { Caller } from '../../platform/auth/caller.js';
import { CallsService, type StoredCall } from '../../tracing/calls/calls.service.js';
import { isId } from '../../platform/http/dto.js';
import { ApiError, ERRORS, invalidRequest, toApiError } from '../../platform/errors.js';
import { isObject } from '../../platform/json/is-object.js';
import { TooDeep } from '../../platform/json/json-grammar.js';
import { elementSpans, memberTexts, objectText, textsIn } from '../../platform/json/json-text.js';
import { Turn } from '../../platform/time/turn.js';
import { WIRE } from '../../platform/http/wire.js';
import { lock, projectLock } from '../../platform/database/advisory-locks.js';
import { Database } from '../../platform/database/database.js';
import { FeedbackService } from '../../tracing/feedback/feedback.service.js';
import type { EventRefusedDto, IngestionAnswerDto } from './langfuse.dto.js';
import { type Event, InvalidEvent, isObservation, isTrace, Observation } from './observation.js';

/** Calls that events of Langfuse change, while these are read and written again. */
const EVENTS = projectLock(0x6c66);

/** Each is a statement or two. */
export const MAX_SCORES = 1000;

/** Documents of stored calls that events change, which are read, and written again. */
const MAX_PART_BYTES = 16 * 1024 * 1024;

/** To read and write again what is larger takes so long that it needs a slot. */
const SHORT_BYTES = 2 * 1024 * 1024;

interface Placed {
  place: number;
  event: Event;
}

/** Events by what they say is the id of their call, and at most how large the stored documents of these are. */
interface Part {
  events: Map<unknown, Placed[]>;
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
   * Events change what earlier ones made, also those of other requests, so the requests of a project take turns. `text` is the
   * body as it was sent.
   */
  async ingest(
    batch: unknown[],
    text: string,
    projectId: string,
    caller: Caller,
  ): Promise<IngestionAnswerDto> {
    const found = textsIn(text, { batch: [{ body: true }] })!.batch!;
    const outcomes = new Outcomes(batch);
    const observed: Placed[] = [];
    const scores: Placed[] = [];
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
      const isShort = part.bytes <= SHORT_BYTES;
      await this.database.alone(
        lock(EVENTS, projectId),
        () => this.store(part, projectId, caller, outcomes),
        isShort ? 'short' : 'long',
      );
    }
    for (const { place, event } of scores) {
      await caller.assertValid();
      try {
        await this.score(event.text, projectId, caller);
      } catch (error) {
        outcomes.refuse(place, error);
      }
    }
    return outcomes.answer();
  }

  /** Events by the id of their call, in parts whose stored calls can be held in memory. */
  private async readParts(observed: readonly Placed[], projectId: string): Promise<Part[]> {
    const byId = groupedBy(observed, ({ event }) => event.body['id']);
    const bytes = await this.calls.mostBytes(projectId, [...byId.keys()].filter(isId));
    const parts: Part[] = [];
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
    { events: byId }: Part,
    projectId: string,
    caller: Caller,
    outcomes: Outcomes,
  ): Promise<void> {
    const turn = new Turn();
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
    for (const [i, { places }] of changed.entries()) {
      const answer = answers[i]!;
      if ('error' in answer)
        for (const place of places)
          outcomes.refuse(place, new ApiError('invalid_request', answer.error.detail));
    }
  }

  /** Stores what is good of a list of scores, and says what is wrong with the others. */
  async scoreAll(text: string, projectId: string, caller: Caller): Promise<string[]> {
    const spans = elementSpans(text, 0);
    if (spans.length > MAX_SCORES)
      throw new ApiError(
        'too_large',
        `the body holds ${spans.length} scores, over the limit of ${MAX_SCORES}`,
      );
    const messages: string[] = [];
    for (const span of spans) {
      await caller.assertValid();
      try {
        await this.score(text.slice(...span), projectId, caller);
      } catch (error) {
        messages.push(new Refusal(error).message);
      }
    }
    return messages;
  }

  /** Stores a score about a call as feedback of its name; what it says is the payload. `text` is its body. Answers its id. */
  async score(text: string, projectId: string, caller: Caller): Promise<string> {
    const body: unknown = JSON.parse(text);
    if (!isObject(body)) throw new InvalidEvent('a score must be an object');
    const { traceId } = body;
    const root = typeof traceId === 'string' && (await this.calls.findRoot(projectId, traceId));
    const of = body['observationId'] ?? (root || traceId);
    if (typeof of !== 'string')
      throw invalidRequest([{ path: 'traceId', message: 'must name the trace of the score' }]);
    const id = body['id'] ?? uuidv7();
    const payload = objectText(
      [...memberTexts(text)].filter(
        ([name]) => !['id', 'name', 'traceId', 'observationId'].includes(name),
      ),
    );
    const fields = {
      project_id: projectId,
      [WIRE.ref]: `${WIRE.scheme}:///${projectId}/call/${of}`,
      feedback_type: body['name'],
      id,
      feedback_id: id,
    };
    const feedback = `${JSON.stringify(fields).slice(0, -1)},"payload":${payload}}`;
    await this.feedback.put(feedback, caller);
    return id as string;
  }
}

/** @throws InvalidEvent */
function readEvent(item: unknown, found: { body?: string } | TooDeep | undefined): Event {
  if (found instanceof TooDeep) throw found;
  if (!isObject(item) || !isObject(item['body'])) throw new InvalidEvent('body must be an object');
  const { type, timestamp, body } = item;
  if (typeof type !== 'string') throw new InvalidEvent('type must be a string');
  const at = typeof timestamp === 'string' ? timestamp : new Date().toISOString();
  return { type, timestamp: at, body, text: found!.body! };
}

/** Why one item is refused. @throws the error itself when it is of the whole request */
class Refusal {
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

/** The answer to each event of a request. */
class Outcomes {
  private readonly errors = new Map<number, EventRefusedDto>();

  constructor(private readonly batch: readonly unknown[]) {}

  refuse(place: number, error: unknown): void {
    const { status, message, code } = new Refusal(error);
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
