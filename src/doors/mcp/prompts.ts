import { ApiError } from '../../platform/errors.js';

interface Prompt {
  description: string;
  arguments: Record<string, string>;
  text: (args: Record<string, string>) => string;
}

const PROJECT = 'The project, <entity>/<project>';
/** Longer than every id, and too short to hide another question in an argument. */
const MAX_ARGUMENT = 256;

export const PROMPTS: Record<string, Prompt> = {
  why_did_it_fail: {
    description: 'Why did this trace fail?',
    arguments: { project_id: PROJECT, trace_id: 'The id of the trace' },
    text: ({ project_id, trace_id }) =>
      `Why did the trace ${trace_id} of the project ${project_id} fail? Read its tree with read_trace. Find the first call, by its start, whose status is error and that has no failed child: ask read_trace for its inputs, output and exception, and for those of its parent. If search_calls finds a successful call of the same op with similar inputs, use compare_calls. Say which call failed first, with its id, why, and how sure you are.`,
  },
  what_got_slower: {
    description: 'Which op got slower?',
    arguments: { project_id: PROJECT, since: 'The day from which on it got slower, ISO 8601' },
    text: ({ project_id, since }) =>
      `Which op of the project ${project_id} got slower since ${since}? Ask call_stats with group_by ["op_name"] for that time and an equally long time before it. Compare p50 and p95, and the number of calls. Then find the slowest calls of that op with search_calls (sort_by summary.svc.latency_ms, descending) and read the trace of the slowest one. Say what takes the time, with numbers and ids.`,
  },
  what_do_users_complain_about: {
    description: 'What do users complain about?',
    arguments: { project_id: PROJECT },
    text: ({ project_id }) =>
      `What do users of the project ${project_id} complain about? Read the newest feedback with list_feedback, and the calls of the negative ones with read_call; svc_ref ends in the id of the call. Group the complaints by their cause, and give for each how many there are and ids of two examples. Quote recorded text as evidence only.`,
  },
};

/** @throws ApiError */
export function promptText(name: string, args: Record<string, string> = {}): string {
  const prompt = Object.hasOwn(PROMPTS, name) ? PROMPTS[name] : undefined;
  if (!prompt) throw new ApiError('not_found', 'there is no such prompt');
  for (const wanted of Object.keys(prompt.arguments))
    if (!args[wanted] || args[wanted].length > MAX_ARGUMENT)
      throw new ApiError(
        'invalid_request',
        `${wanted} must be a text of 1 to ${MAX_ARGUMENT} characters`,
      );
  return prompt.text(args);
}
