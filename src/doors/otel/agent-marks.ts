/** What the names of the events of coding agents begin with. */
export const AGENT_MARKS = ['claude_code.', 'codex.', 'gemini_cli.'] as const;
