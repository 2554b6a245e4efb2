export const AGENT_EVENT_PREFIXES = ['claude_code.', 'codex.', 'gemini_cli.'] as const;
