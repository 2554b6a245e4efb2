import type { ModelRequest } from '../../gateway-exchange.js';
import { openaiAdapter } from '../openai/openai.adapter.js';

/** Returns the members that request logprobs and token ids. */
export function tokenMembers({ api, body }: ModelRequest): Map<string, string> {
  const members = new Map([
    ['logprobs', api === 'completions' ? '1' : 'true'],
    ['return_token_ids', 'true'],
  ]);
  for (const name of members.keys()) if ((body[name] ?? null) !== null) members.delete(name);
  return members;
}

export const vllm = openaiAdapter(tokenMembers);
