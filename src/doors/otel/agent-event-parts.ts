import { isObject } from '../../platform/json/json-object.js';
import { pricedName } from '../../tracing/pricing/builtin-prices.js';
import {
  eventCallId,
  readNumber,
  eventPlace,
  type ParsedAgentEvent,
  readText,
} from './parsed-agent-event.js';
import { type Attributes, parseContent } from './attributes.js';

export interface EventParts {
  id: string;
  display_name?: string | undefined;
  operation?: string;
  duration_ms?: number | undefined;
  exception?: string | null;
  inputs?: object;
  output?: unknown;
  usage?: object;
  responseId?: string | undefined;
  /** Attributes with OpenTelemetry names, added to those of the event. */
  more?: Record<string, unknown>;
  /** Names of attributes that became inputs or output. */
  taken?: readonly string[];
  answer?: string | undefined;
  isOpen?: boolean;
}

const modelParts = ({ agent, own }: ParsedAgentEvent) => ({
  operation: 'chat',
  duration_ms: readNumber(own.get('duration_ms')),
  more: { 'gen_ai.provider.name': agent.provider, 'gen_ai.request.model': own.get('model') },
});

const failure = (own: Attributes, ...names: string[]): string =>
  names.map((name) => readText(own.get(name))).find((text) => text !== undefined) ?? 'error';

function usageEntry(
  { own, agent }: ParsedAgentEvent,
  counts: Record<string, number | undefined>,
): object | undefined {
  const known = Object.entries(counts).filter(([, count]) => Number.isSafeInteger(count));
  if (known.length === 0) return undefined;
  const model = readText(own.get('model'));
  const name = model === undefined ? 'unknown' : pricedName(model, agent.provider);
  return { [name]: { requests: 1, ...Object.fromEntries(known) } };
}

const sum = (...counts: (number | undefined)[]) =>
  counts[0] === undefined
    ? undefined
    : counts.reduce<number>((all, count) => all + (count ?? 0), 0);

function promptCall(event: ParsedAgentEvent): EventParts {
  const text = event.own.get('prompt');
  return {
    id: event.turnId!,
    operation: 'invoke_agent',
    inputs: text === undefined || text === null ? {} : { prompt: text },
    taken: ['prompt', 'prompt_text'],
    isOpen: true,
  };
}

const claudeRequest = (event: ParsedAgentEvent): EventParts => {
  const count = (name: string) => readNumber(event.own.get(name));
  const [read, created] = [count('cache_read_tokens'), count('cache_creation_tokens')];
  const requestId = readText(event.own.get('request_id'));
  return {
    ...modelParts(event),
    id: eventCallId(event, ...(requestId === undefined ? eventPlace(event) : [requestId])),
    responseId: requestId,
    usage: usageEntry(event, {
      prompt_tokens: sum(count('input_tokens'), read, created),
      completion_tokens: count('output_tokens'),
      cache_read_input_tokens: read,
      cache_creation_input_tokens: created,
    }),
  };
};

const failedRequest = (event: ParsedAgentEvent): EventParts => ({
  ...modelParts(event),
  id: eventCallId(event, ...eventPlace(event), event.own.get('request_id') ?? null),
  exception: failure(event.own, 'error.message', 'error', 'error_type', 'error.type'),
});

/** Returns the inputs of a tool: its arguments if they are an object, else the value as the member `input`. */
function toolInputs(value: unknown): object {
  const { value: json } = parseContent(value);
  if (isObject(json)) return json;
  return json === undefined || json === null || json === '' ? {} : { input: json };
}

interface ToolNames {
  name: string;
  id?: string;
  inputs: readonly string[];
  output?: string;
}

const toolCall =
  ({ name, id, inputs, output }: ToolNames) =>
  (event: ParsedAgentEvent): EventParts => {
    const { own } = event;
    const tool = readText(own.get(name));
    const toolId = id === undefined ? undefined : readText(own.get(id));
    const asked = inputs.find((one) => readText(own.get(one)) !== undefined);
    const said = output === undefined ? undefined : readText(own.get(output));
    return {
      id: eventCallId(event, ...eventPlace(event), toolId ?? tool ?? null),
      operation: 'execute_tool',
      display_name: tool,
      duration_ms: readNumber(own.get('duration_ms')),
      inputs: asked === undefined ? {} : toolInputs(own.get(asked)),
      output: said ?? null,
      exception:
        String(own.get('success')) === 'false'
          ? failure(own, 'error.message', 'error', 'error_type', 'output')
          : null,
      more: { 'gen_ai.tool.name': tool, 'gen_ai.tool.call.id': toolId },
      taken: [...(asked === undefined ? [] : [asked]), ...(said === undefined ? [] : [output!])],
    };
  };

const REFUSED = /^(reject|denied|deny|abort)/;

/** Returns the call of a decision whether a tool may run. A decision has no duration. */
function decisionCall(event: ParsedAgentEvent): EventParts {
  const { own } = event;
  const decision = readText(own.get('decision')) ?? '';
  const tool = readText(own.get('tool_name'));
  const id = own.get('tool_use_id') ?? own.get('call_id') ?? null;
  return {
    id: eventCallId(event, ...eventPlace(event), id),
    display_name: tool,
    inputs: { tool_name: tool, decision, source: own.get('source') },
    exception: REFUSED.test(decision) ? `the tool may not run: ${decision}` : null,
  };
}

const codexAnswer = (event: ParsedAgentEvent): EventParts => {
  const count = (name: string) => readNumber(event.own.get(name));
  const error = readText(event.own.get('error.message'));
  return {
    ...modelParts(event),
    duration_ms: undefined, // the event reports the duration of one event of the stream
    id: eventCallId(event, ...eventPlace(event), event.own.get('event.kind') ?? null),
    exception: error ?? null,
    usage: usageEntry(event, {
      prompt_tokens: count('input_token_count'),
      completion_tokens: count('output_token_count'),
      cache_read_input_tokens: count('cached_token_count'),
      cache_creation_input_tokens: count('cache_write_token_count'),
      reasoning_tokens: count('reasoning_token_count'),
    }),
  };
};

/** Returns the call of an attempt to get an answer. Its duration is the time until the first byte. */
const requestCall = (event: ParsedAgentEvent): EventParts => {
  const { own } = event;
  const status = readNumber(own.get('http.response.status_code'));
  const isFailed =
    readText(own.get('error.message')) !== undefined || (status !== undefined && status >= 400);
  return {
    id: eventCallId(
      event,
      ...eventPlace(event),
      own.get('attempt') ?? null,
      own.get('model') ?? null,
    ),
    duration_ms: readNumber(own.get('duration_ms')),
    exception: isFailed ? failure(own, 'error.message') : null,
    inputs: own.has('request_text')
      ? { contents: parseContent(own.get('request_text')).value }
      : {},
    taken: ['request_text'],
  };
};

const geminiAnswer = (event: ParsedAgentEvent): EventParts => {
  const count = (name: string) => readNumber(event.own.get(name));
  const message = geminiMessage(event.own.get('response_text'));
  return {
    ...modelParts(event),
    id: eventCallId(
      event,
      ...eventPlace(event),
      event.own.get('model') ?? null,
      event.own.get('role') ?? null,
    ),
    output: message && { messages: [message] },
    taken: message ? ['response_text'] : [],
    answer: message?.content || undefined,
    usage: usageEntry(event, {
      // prompt tokens include cached ones, but not tool prompts; output tokens do not include thoughts
      prompt_tokens: sum(count('input_token_count'), count('tool_token_count')),
      completion_tokens: sum(count('output_token_count'), count('thoughts_token_count')),
      cache_read_input_tokens: count('cached_content_token_count'),
      reasoning_tokens: count('thoughts_token_count'),
    }),
  };
};

function geminiMessage(text: unknown): { role: string; content: string } | null {
  const { value } = parseContent(text);
  const chunks = Array.isArray(value) ? (value as unknown[]) : [];
  const parts = chunks.flatMap((chunk) => {
    const [candidate] = listOf(chunk, 'candidates');
    return isObject(candidate) ? listOf(candidate['content'], 'parts') : [];
  });
  if (parts.length === 0) return null;
  const texts = parts.flatMap((part) =>
    isObject(part) && part['thought'] !== true && typeof part['text'] === 'string'
      ? [part['text']]
      : [],
  );
  const calls = parts.flatMap((part) => (isObject(part) ? (part['functionCall'] ?? []) : []));
  return {
    role: 'assistant',
    content: texts.join(''),
    ...(calls.length > 0 && { tool_calls: calls.map((call) => ({ function: call })) }),
  };
}

const listOf = (value: unknown, name: string): unknown[] => {
  const list = isObject(value) ? value[name] : undefined;
  return Array.isArray(list) ? (list as unknown[]) : [];
};

const sessionCall = (event: ParsedAgentEvent): EventParts => ({
  id: eventCallId(event, ...eventPlace(event)),
});

/** Converters from events to calls. The keys are those of `AGENT_EVENTS`. */
export const EVENT_PARTS: Readonly<Record<string, (event: ParsedAgentEvent) => EventParts>> = {
  'claude_code.user_prompt': promptCall,
  'claude_code.api_request': claudeRequest,
  'claude_code.api_error': failedRequest,
  'claude_code.api_refusal': failedRequest,
  'claude_code.tool_decision': decisionCall,
  'claude_code.tool_result': toolCall({
    name: 'tool_name',
    id: 'tool_use_id',
    inputs: ['tool_input', 'tool_parameters'],
  }),
  'codex.conversation_starts': sessionCall,
  'codex.user_prompt': promptCall,
  'codex.api_request': requestCall,
  'codex.websocket_request': requestCall,
  'codex.sse_event': codexAnswer,
  'codex.tool_decision': decisionCall,
  'codex.tool_result': toolCall({
    name: 'tool_name',
    id: 'call_id',
    inputs: ['arguments'],
    output: 'output',
  }),
  'gemini_cli.user_prompt': promptCall,
  'gemini_cli.api_request': requestCall,
  'gemini_cli.api_response': geminiAnswer,
  'gemini_cli.api_error': failedRequest,
  'gemini_cli.tool_call': toolCall({ name: 'function_name', inputs: ['function_args'] }),
};
