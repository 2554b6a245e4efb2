import { Injectable } from '@nestjs/common';
import type { Caller } from '../../platform/auth/caller.js';
import {
  type CallMessages,
  CallMessagesService,
  isWithinLimits,
  type CallMessage,
  tooManyMessages,
} from '../../tracing/calls/messages/call-messages.service.js';
import { ApiError } from '../../platform/errors.js';
import { hasOpaqueEscapes } from '../../platform/json/json-grammar.js';
import { groupBy } from '../../platform/query/grouping.js';
import { EventLoopTurn } from '../../platform/time/event-loop-turn.js';
import { AgentTurns } from '../../tracing/calls/agent-turns/agent-turns.service.js';
import { type AgentEvent, readAgentEvent } from './agent-events.js';
import { addDropped, DROPPED_LOGS } from './dropped-items.js';
import { type Evaluation, readEvaluation } from './evaluations.js';
import { EvaluationsService } from './evaluations.service.js';
import { readLogPart, type LogPart } from './log-messages.js';
import { projectFinder, ExportRefusals } from './otel.service.js';
import type { PartialSuccess } from './otlp.js';
import type { ReceivedLog } from './otlp-logs.js';
import { PART_CALLS, PART_CHARACTERS } from './span-part.js';

interface CallLogParts {
  projectId: string;
  id: string;
  records: number;
  said: CallMessage[];
  /** Number of values for each trace, time and member. It orders values with the same time. */
  places: Map<string, number>;
}

/** Sorts the records of a request into events of agents, evaluations and messages, and counts all others. */
class LogReadings {
  readonly events: AgentEvent[] = [];
  readonly evaluations: Evaluation[] = [];
  readonly spoken = new Map<string, CallLogParts>();
  dropped = 0;

  constructor(private readonly findProject: ReturnType<typeof projectFinder>) {}

  get isEmpty(): boolean {
    return this.spoken.size + this.events.length + this.evaluations.length === 0;
  }

  /** @throws Error when the record cannot be stored */
  add(received: ReceivedLog): void {
    const { origin } = received;
    const record = received.read();
    if (!record) {
      this.dropped++;
      return;
    }
    const findProject = () => this.findProject(origin);
    const event = readAgentEvent(record, origin, findProject);
    if (event) {
      this.events.push(event);
      for (const told of answerLogParts(event)) addLogPart(this.spoken, event.projectId, told);
      return;
    }
    const evaluation = readEvaluation(record, findProject);
    const told = evaluation ? null : readLogPart(record);
    if (evaluation) this.evaluations.push(evaluation);
    else if (told) addLogPart(this.spoken, findProject(), told);
    else this.dropped++;
  }
}

@Injectable()
export class LogsService {
  constructor(
    private readonly messages: CallMessagesService,
    private readonly turns: AgentTurns,
    private readonly evaluations: EvaluationsService,
  ) {}

  /**
   * Stores the messages of log records for the calls of their spans, even if these are not stored yet. Events of coding
   * agents become calls, and evaluations become feedback. Returns the number of other records. `project` is the project
   * that the request's header names.
   * @throws ApiError when nothing could be stored because the project is missing or the key does not reach it
   */
  async export(
    records: readonly ReceivedLog[],
    project: string | undefined,
    caller: Caller,
  ): Promise<PartialSuccess | null> {
    const turn = new EventLoopTurn();
    const findProject = projectFinder(project, caller);
    const refused = new ExportRefusals();
    const readings = new LogReadings(findProject);
    for (const received of records) {
      if (turn.isOver) await turn.next();
      try {
        readings.add(received);
      } catch (error) {
        refused.add(error as Error);
      }
    }
    if (readings.isEmpty && refused.first instanceof ApiError) throw refused.first;
    const { events, evaluations, spoken, dropped } = readings;
    await this.storeEvents(events, caller, refused);
    for (const error of await this.evaluations.store(evaluations, caller)) refused.add(error);
    await this.store([...spoken.values()], caller, refused);
    return addDropped(dropped, DROPPED_LOGS, refused.told);
  }

  /** Stores the calls of each session in parts, and finds the turns to which they belong. */
  private async storeEvents(
    events: readonly AgentEvent[],
    caller: Caller,
    refused: ExportRefusals,
  ): Promise<void> {
    const turn = new EventLoopTurn();
    const sessions = groupBy(events, ({ projectId, session }) => `${projectId}\n${session}`);
    for (const ofSession of sessions.values())
      for (let from = 0; from < ofSession.length; from += PART_CALLS) {
        if (turn.isOver) await turn.next();
        const part = ofSession.slice(from, from + PART_CALLS);
        const calls = part.flatMap(({ call }) => call ?? []);
        if (calls.length === 0) continue;
        const first = part.reduce((least, one) => (one.from < least.from ? one : least));
        for (const answer of await this.turns.store(first, calls, caller))
          if ('error' in answer) refused.add(new Error(answer.error.detail));
      }
  }

  private async store(all: CallLogParts[], caller: Caller, refused: ExportRefusals): Promise<void> {
    const turn = new EventLoopTurn();
    let part = new Map<CallMessages, CallLogParts>();
    let characters = 0;
    const storePart = async () => {
      for (const [messages, error] of await this.messages.store([...part.keys()], caller))
        refused.add(error, part.get(messages)!.records);
      part = new Map();
      characters = 0;
    };
    for (const one of all) {
      if (turn.isOver) await turn.next();
      if (!isWithinLimits(one.said)) {
        refused.add(tooManyMessages(), one.records);
        continue;
      }
      const messages = callMessages(one);
      const { length } = messages.said;
      if (part.size === PART_CALLS || (part.size > 0 && characters + length > PART_CHARACTERS))
        await storePart();
      part.set(messages, one);
      characters += length;
    }
    await storePart();
  }
}

const answerLogParts = ({ answers }: AgentEvent): LogPart[] =>
  answers.map(({ traceId, callId, at, value }) => ({
    traceId,
    spanId: callId,
    at,
    said: [{ side: 'output', member: 'messages', is_part: true, value }],
  }));

function addLogPart(spoken: Map<string, CallLogParts>, projectId: string, told: LogPart): void {
  const { traceId, spanId: id, at } = told;
  const key = `${projectId}\n${id}`;
  let one = spoken.get(key);
  if (!one) spoken.set(key, (one = { projectId, id, records: 0, said: [], places: new Map() }));
  one.records++;
  for (const said of told.said) {
    const moment = `${traceId} ${at} ${said.side} ${said.member}`;
    const place = one.places.get(moment) ?? 0;
    one.places.set(moment, place + 1);
    one.said.push({ trace_id: traceId, at, place, ...said });
  }
}

function callMessages({ projectId, id, said }: CallLogParts): CallMessages {
  const first = said.reduce((least, { at }) => (at < least ? at : least), said[0]!.at);
  const milliseconds = Number(first.slice(0, -6));
  return {
    projectId,
    id,
    at: milliseconds > 0 ? new Date(milliseconds).toISOString() : null,
    said: JSON.stringify(said),
    isOpaque: said.some(({ value }) => hasOpaqueEscapes(value)),
  };
}
