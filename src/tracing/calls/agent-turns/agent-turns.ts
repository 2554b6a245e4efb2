/**
 * What an event of a coding agent is: a prompt begins a turn, an answer of a model has usage, a request is an attempt to get
 * one, and `other` is anything else below a turn. A session's event is below none.
 */
type EventRole = 'prompt' | 'answer' | 'request' | 'other' | 'session';

/** Events by name: Claude Code 2.1.332 (code.claude.com/docs/en/monitoring-usage), Codex 0.171 (codex-rs/otel), Gemini CLI 0.61. */
export const AGENT_EVENTS: Readonly<Record<string, EventRole>> = {
  'claude_code.user_prompt': 'prompt',
  'claude_code.api_request': 'answer',
  'claude_code.api_error': 'other',
  'claude_code.api_refusal': 'other',
  'claude_code.tool_decision': 'other',
  'claude_code.tool_result': 'other',
  'codex.conversation_starts': 'session',
  'codex.user_prompt': 'prompt',
  'codex.api_request': 'request',
  'codex.websocket_request': 'request',
  'codex.sse_event': 'answer',
  'codex.tool_decision': 'other',
  'codex.tool_result': 'other',
  'gemini_cli.user_prompt': 'prompt',
  'gemini_cli.api_request': 'request',
  'gemini_cli.api_response': 'answer',
  'gemini_cli.api_error': 'other',
  'gemini_cli.tool_call': 'other',
};

export const PROMPTS: readonly string[] = Object.keys(AGENT_EVENTS).filter(
  (name) => AGENT_EVENTS[name] === 'prompt',
);

/** Spans that are turns of the agents of which there are events too, and those that tell the usage of their answers. */
const TURN_SPANS: readonly string[] = ['claude_code.interaction', 'session_task.turn'];
const ANSWER_SPANS: readonly string[] = ['claude_code.llm_request'];
export const AGENT_SPANS: readonly string[] = [...TURN_SPANS, ...ANSWER_SPANS];

/** Codex tells when an answer was complete, and not when it was asked for. */
const IS_UNTIMED = /^codex\./;

/** A call that was made of an event, as its turn is found by it. Times are microseconds since 1970. */
export interface EventCall {
  id: string;
  op_name: string;
  trace_id: string;
  parent_id: string | null;
  turn_id: string | null;
  linked_call_id: string | null;
  is_orphan: boolean;
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

/** What a call of an event becomes. */
export interface SettledCall {
  id: string;
  trace_id: string;
  parent_id: string | null;
  turn_id: string | null;
  started_us: string;
  ended_us: string | null;
  /** False when spans of the agent tell the usage. */
  counts: boolean;
}

interface PromptTurn {
  prompt: EventCall;
  calls: EventCall[];
}

const roleOf = ({ op_name }: EventCall): EventRole => AGENT_EVENTS[op_name]!;
const startOf = ({ started_us }: EventCall) => Number(started_us);
/** When the event was told. */
const eventTime = ({ started_us, ended_us }: EventCall) => Number(ended_us ?? started_us);

/**
 * The calls of a session that are to change: a pure function of what is stored, so the order in which events and spans arrive makes
 * no difference. `calls` are sorted by their starts and begin with a prompt, unless none is stored.
 *
 * An event that names its prompt has `turn_id` and stays below it; any other belongs to the last prompt before it. A turn ends
 * when the last of its events does. It is below the span of the agent's turn, if there is one, or below the call in which the agent
 * ran. Where spans of the agent tell usage, the events do not. Parents are stored in the trace, so none of the calls is an orphan.
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

/** The answer that each request was for, by the id of the request: the next one, or the one that began nearest to it. */
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

/** Answers that begin so much earlier or later than a request are for another one, in microseconds. */
const NEAR_US = 1_000_000;

/** `answers` are sorted by their starts. */
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

/** Starts of answers that do not tell them: those of their first requests. */
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
