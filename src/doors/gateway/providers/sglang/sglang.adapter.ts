import { openaiAdapter } from '../openai/openai.adapter.js';
import { tokenMembers } from '../vllm/vllm.adapter.js';

/** SGLang takes the members of vLLM, but refuses token ids in streams of chat completions. */
export const sglang = openaiAdapter((request) => {
  const members = tokenMembers(request);
  if (request.api === 'chat/completions' && request.body['stream'] === true)
    members.delete('return_token_ids');
  return members;
});
