import {
  AGENT_EVENTS,
  ANSWER_SPANS,
  type EventRole,
  TURN_SPANS,
} from '../../conventions/agent-events.js';
import type { StartedCall } from '../call.entity.js';

export const EVENT_COLUMNS = [
  'id',
  'op_name',
  'trace_id',
  'parent_id',
  'turn_id',
  'linked_call_id',
  'is_orphan',
] as const;

/** Codex reports when an answer was complete, but not when it was requested. */
const IS_UNTIMED = /^codex\./;

/** A call made from an event, with the columns that decide its turn. Times are microseconds since 1970. */
export interface EventCall extends Pick<StartedCall, (typeof EVENT_COLUMNS)[number]> {
  started_us: string;
  ended_us: string | null;
  counts: boolean;
}

/** A span of the agent itself, or the call in which the agent ran. */
export interface AgentSpan {
  id: string;
  op_name: string;
  trace_id: string;
  counts: boolean;
}

export interface SettledCall {
  id: string;
  trace_id: string;
  parent_id: string | null;
  turn_id: string | null;
  started_us: string;
  ended_us: string | null;
  /** False if spans of the agent report the usage. */
  counts: boolean;
}

interface PromptTurn {
  prompt: EventCall;
  calls: EventCall[];
}

const roleOf = ({ op_name }: EventCall): EventRole => AGENT_EVENTS[op_name]!;
const startOf = ({ started_us }: EventCall) => Number(started_us);
/** Time at which the agent reported the event. */
const eventTime = ({ started_us, ended_us }: EventCall) => Number(ended_us ?? started_us);

/**
 * Returns the calls of a session whose columns must change. It depends only on stored rows, so the order in which
 * events and spans arrive makes no difference. `calls` are sorted by start and begin with a prompt, unless no prompt is
 * stored.
 *
 * An event that names its prompt has `turn_id` and stays below that prompt. Any other event belongs to the last prompt
 * before it. A turn ends when its last event ends. It is below the agent's own span of the turn if that span is stored,
 * else below the call in which the agent ran. If spans of the agent report usage, the usage of the events is dropped.
 * Parents are stored in the trace, so no call is an orphan.
 */
export function settledCalls(
  calls: readonly EventCall[],
  spans: readonly AgentSpan[],
): SettledCall[] {
  const turns = turnsOf(calls);
  const settled = [...turns.values()].flatMap((turn) => settledTurn(turn, spans));
  const known = new Map(calls.map((call) => [call.id, call]));
  return settled.filter((call) => {
    const before = known.get(call.id)!;
    const names = Object.keys(call) as (keyof SettledCall)[];
    return before.is_orphan || names.some((name) => call[name] !== before[name]);
  });
}

function turnsOf(calls: readonly EventCall[]): Map<string, PromptTurn> {
  const prompts = calls.filter((call) => roleOf(call) === 'prompt');
  const turns = new Map(
    prompts.map((prompt): [string, PromptTurn] => [prompt.id, { prompt, calls: [] }]),
  );
  const others = calls
    .filter((call) => !['prompt', 'session'].includes(roleOf(call)))
    .toSorted((a, b) => eventTime(a) - eventTime(b) || (a.id < b.id ? -1 : 1));
  let place = -1;
  for (const call of others) {
    while (place + 1 < prompts.length && startOf(prompts[place + 1]!) <= eventTime(call)) place++;
    const prompt = call.turn_id ?? prompts[place]?.id;
    if (prompt !== undefined) turns.get(prompt)?.calls.push(call);
  }
  return turns;
}

function settledTurn({ prompt, calls }: PromptTurn, spans: readonly AgentSpan[]): SettledCall[] {
  const own = spans.filter(({ trace_id }) => trace_id === prompt.trace_id);
  const turnSpan =
    own.find(({ id, op_name }) => id === prompt.linked_call_id && TURN_SPANS.includes(op_name)) ??
    own.find(({ op_name }) => op_name === 'session_task.turn');
  const caller = turnSpan ?? own.find(({ id }) => id === prompt.linked_call_id);
  const isTold = own.some(({ op_name, counts }) => counts && ANSWER_SPANS.includes(op_name));
  const parents = requestParents(calls);
  const starts = answerStarts(calls, parents);
  const ended = calls.reduce((last, call) => Math.max(last, eventTime(call)), 0);
  return [
    {
      ...picked(prompt),
      parent_id: caller?.id ?? null,
      turn_id: turnSpan ? null : prompt.id,
      ended_us: ended > 0 ? String(Math.max(ended, startOf(prompt))) : prompt.ended_us,
    },
    ...calls.map((call) => ({
      ...picked(call),
      trace_id: prompt.trace_id,
      parent_id: parents.get(call.id) ?? prompt.id,
      started_us: starts.get(call.id) ?? call.started_us,
      counts: call.counts && !(isTold && roleOf(call) === 'answer'),
    })),
  ];
}

const picked = ({ id, trace_id, parent_id, turn_id, started_us, ended_us, counts }: EventCall) => ({
  id,
  trace_id,
  parent_id,
  turn_id,
  started_us,
  ended_us,
  counts,
});

/**
 * Returns the answer of each request, keyed by the request's id: for Codex the next answer, else the answer with the
 * nearest start.
 */
function requestParents(calls: readonly EventCall[]): Map<string, string> {
  const answers = calls.filter((call) => roleOf(call) === 'answer');
  const byStart = answers.toSorted((a, b) => startOf(a) - startOf(b));
  const parents = new Map<string, string>();
  let next = 0;
  for (const request of calls.filter((call) => roleOf(call) === 'request')) {
    if (IS_UNTIMED.test(request.op_name)) {
      while (next < answers.length && eventTime(answers[next]!) < eventTime(request)) next++;
      if (answers[next]) parents.set(request.id, answers[next]!.id);
    } else {
      const nearest = nearestStart(byStart, startOf(request));
      if (nearest) parents.set(request.id, nearest.id);
    }
  }
  return parents;
}

/** Maximum distance, in microseconds, between the starts of a request and of its answer. */
const NEAR_US = 1_000_000;

/** Returns the answer with the nearest start. `answers` must be sorted by start. */
function nearestStart(answers: readonly EventCall[], start: number): EventCall | undefined {
  let [low, high] = [0, answers.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (startOf(answers[middle]!) < start) low = middle + 1;
    else high = middle;
  }
  const distance = (answer: EventCall | undefined) =>
    answer ? Math.abs(startOf(answer) - start) : NEAR_US;
  const [before, after] = [answers[low - 1], answers[low]];
  const nearest = distance(before) < distance(after) ? before : after;
  return distance(nearest) < NEAR_US ? nearest : undefined;
}

/** Returns starts of answers that do not report them: the start of the first request for the answer. */
function answerStarts(
  calls: readonly EventCall[],
  parents: ReadonlyMap<string, string>,
): Map<string, string> {
  const starts = new Map<string, string>();
  for (const call of calls) {
    const answer = IS_UNTIMED.test(call.op_name) ? parents.get(call.id) : undefined;
    const known = answer === undefined ? undefined : starts.get(answer);
    if (answer !== undefined && (known === undefined || startOf(call) < Number(known)))
      starts.set(answer, call.started_us);
  }
  return starts;
}
