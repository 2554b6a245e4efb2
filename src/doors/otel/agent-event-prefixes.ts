/** Prefixes of the event names that coding agents use. */
export const AGENT_EVENT_PREFIXES = ['claude_code.', 'codex.', 'gemini_cli.'] as const;
