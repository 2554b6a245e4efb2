/**
 * How an attribute is read: `json` is parsed where it is JSON, `text` stays as it is, `mime` is parsed unless the attribute
 * beside it says that it is no JSON, `list` stands for attributes spelled one by one (`<name>.0.role`).
 */
export type Form = 'json' | 'text' | 'mime' | 'list';

/**
 * `inputs` and `output` take the attribute out of the attributes: as a whole, or as the member behind the point. `usage` and
 * its members are counts of tokens. All others are read and stay where they are.
 */
export type Target =
  | 'inputs'
  | `inputs.${string}`
  | 'output'
  | `output.${string}`
  | `usage.${string}`
  | 'model'
  | 'thread'
  | 'turn'
  | 'display_name';

/** What attributes of the known instrumentations become. Of two for one target the earlier one wins. */
export const CONVENTIONS: readonly (readonly [attribute: string, target: Target, form?: Form])[] = [
  ['gen_ai.input.messages', 'inputs.messages'],
  ['gen_ai.system_instructions', 'inputs.system_instructions'],
  ['gen_ai.tool.definitions', 'inputs.tools'],
  ['gen_ai.tool.call.arguments', 'inputs'],
  ['gen_ai.prompt', 'inputs.messages', 'list'], // OpenLLMetry
  ['gen_ai.prompt', 'inputs.prompt'],
  ['ai.prompt.messages', 'inputs.messages'], // Vercel
  ['ai.prompt.tools', 'inputs.tools'],
  ['ai.prompt', 'inputs'],
  ['ai.toolCall.args', 'inputs'],
  ['ai.value', 'inputs.value', 'text'],
  ['ai.values', 'inputs.values', 'text'],
  ['llm.input_messages', 'inputs.messages', 'list'], // OpenInference
  ['input.value', 'inputs', 'mime'],
  ['traceloop.entity.input', 'inputs'],

  ['gen_ai.output.messages', 'output.messages'],
  ['gen_ai.tool.call.result', 'output'],
  ['gen_ai.completion', 'output.messages', 'list'],
  ['gen_ai.completion', 'output.completion'],
  ['ai.response.text', 'output.text', 'text'],
  ['ai.response.object', 'output.object'],
  ['ai.response.toolCalls', 'output.tool_calls'],
  ['ai.response.reasoning', 'output.reasoning', 'text'],
  ['ai.toolCall.result', 'output'],
  ['ai.embedding', 'output.embedding'],
  ['ai.embeddings', 'output.embeddings'],
  ['llm.output_messages', 'output.messages', 'list'],
  ['output.value', 'output', 'mime'],
  ['traceloop.entity.output', 'output'],

  ['gen_ai.response.model', 'model'],
  ['ai.response.model', 'model'],
  ['gen_ai.request.model', 'model'],
  ['llm.model_name', 'model'],
  ['embedding.model_name', 'model'],
  ['ai.model.id', 'model'],

  // Prompt tokens are all that were read, cached ones among them, as the conventions define them.
  ['gen_ai.usage.input_tokens', 'usage.prompt_tokens'],
  ['gen_ai.usage.prompt_tokens', 'usage.prompt_tokens'],
  ['llm.token_count.prompt', 'usage.prompt_tokens'],
  ['ai.usage.inputTokens', 'usage.prompt_tokens'],
  ['ai.usage.promptTokens', 'usage.prompt_tokens'],
  ['ai.usage.tokens', 'usage.prompt_tokens'],
  ['gen_ai.usage.output_tokens', 'usage.completion_tokens'],
  ['gen_ai.usage.completion_tokens', 'usage.completion_tokens'],
  ['llm.token_count.completion', 'usage.completion_tokens'],
  ['ai.usage.outputTokens', 'usage.completion_tokens'],
  ['ai.usage.completionTokens', 'usage.completion_tokens'],
  ['gen_ai.usage.total_tokens', 'usage.total_tokens'],
  ['llm.usage.total_tokens', 'usage.total_tokens'],
  ['llm.token_count.total', 'usage.total_tokens'],
  ['ai.usage.totalTokens', 'usage.total_tokens'],
  ['gen_ai.usage.cache_read.input_tokens', 'usage.cache_read_input_tokens'],
  ['gen_ai.usage.cache_read_input_tokens', 'usage.cache_read_input_tokens'],
  ['llm.token_count.prompt_details.cache_read', 'usage.cache_read_input_tokens'],
  ['ai.usage.cachedInputTokens', 'usage.cache_read_input_tokens'],
  ['gen_ai.usage.cache_creation.input_tokens', 'usage.cache_creation_input_tokens'],
  ['gen_ai.usage.cache_creation_input_tokens', 'usage.cache_creation_input_tokens'],
  ['llm.token_count.prompt_details.cache_write', 'usage.cache_creation_input_tokens'],

  ['wandb.thread_id', 'thread'],
  ['gen_ai.conversation.id', 'thread'],
  ['session.id', 'thread'],
  ['ai.telemetry.metadata.threadId', 'thread'],
  ['ai.telemetry.metadata.sessionId', 'thread'],
  ['wandb.is_turn', 'turn'],
  ['wandb.display_name', 'display_name'],
];
