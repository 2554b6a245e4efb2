/**
 * Role of an event of a coding agent. A `prompt` begins a turn, an `answer` of a model has usage, and a `request` is an
 * attempt to get an answer. `other` is any other event below a turn. A `session` event is not below a turn.
 */
export type EventRole = 'prompt' | 'answer' | 'request' | 'other' | 'session';

/**
 * Roles of events, keyed by name: Claude Code 2.1.332 (code.claude.com/docs/en/monitoring-usage), Codex 0.171
 * (codex-rs/otel), Gemini CLI 0.61.
 */
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

/** Names of spans for turns, and of spans that report the usage of answers. These agents also send events. */
export const TURN_SPANS: readonly string[] = ['claude_code.interaction', 'session_task.turn'];
export const ANSWER_SPANS: readonly string[] = ['claude_code.llm_request'];
export const AGENT_SPANS: readonly string[] = [...TURN_SPANS, ...ANSWER_SPANS];
