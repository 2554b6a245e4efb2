/** Prefixes of the names of coding agents' events. */
export const AGENT_MARKS = ['claude_code.', 'codex.', 'gemini_cli.'] as const;
