/** The type of a field in answers. `texts` is a list of texts. */
type FieldType = 'text' | 'int' | 'float' | 'texts';

export interface SpanField {
  type: FieldType;
  /** Attributes that may contain the value. The first existing one is used. */
  attributes: readonly string[];
}

/** Returns the names in both namespaces. Weave's own attributes precede those of OpenTelemetry, and win. */
const both = (...keys: string[]) => [
  ...keys.map((key) => `weave.${key}`),
  ...keys.map((key) => `gen_ai.${key}`),
];

const field = (type: FieldType, ...attributes: string[]): SpanField => ({ type, attributes });

/** Fields that a span shows of its attributes. Their names are those of the columns that weave's clients expect. */
export const SPAN_FIELDS: Readonly<Record<string, SpanField>> = {
  provider_name: field('text', ...both('provider.name', 'system'), 'llm.provider', 'llm.system'),
  agent_id: field('text', ...both('agent.id')),
  agent_description: field('text', ...both('agent.description')),
  request_model: field('text', ...both('request.model'), 'llm.model_name', 'ai.model.id'),
  request_temperature: field('float', ...both('request.temperature')),
  request_max_tokens: field('int', ...both('request.max_tokens')),
  request_top_p: field('float', ...both('request.top_p')),
  request_frequency_penalty: field('float', ...both('request.frequency_penalty')),
  request_presence_penalty: field('float', ...both('request.presence_penalty')),
  request_seed: field('int', ...both('request.seed')),
  request_stop_sequences: field('texts', ...both('request.stop_sequences')),
  request_choice_count: field('int', ...both('request.choice.count')),
  response_model: field('text', ...both('response.model'), 'ai.response.model'),
  response_id: field('text', ...both('response.id'), 'ai.response.id'),
  finish_reasons: field('texts', ...both('response.finish_reasons')),
  reasoning_tokens: field(
    'int',
    ...both('usage.reasoning_tokens', 'usage.reasoning.output_tokens'),
    'llm.token_count.completion_details.reasoning',
  ),
  conversation_name: field('text', ...both('conversation.name')),
  tool_name: field('text', ...both('tool.name'), 'tool.name', 'ai.toolCall.name'),
  tool_type: field('text', ...both('tool.type')),
  tool_call_id: field('text', ...both('tool.call.id'), 'ai.toolCall.id'),
  tool_description: field('text', ...both('tool.description'), 'tool.description'),
  output_type: field('text', ...both('output.type')),
  error_type: field('text', 'error.type'),
  server_address: field('text', 'server.address'),
  server_port: field('int', 'server.port'),
  reasoning_content: field('text', 'weave.reasoning_content'),
  compaction_summary: field('text', 'weave.compaction.summary'),
  compaction_items_before: field('int', 'weave.compaction.items_before'),
  compaction_items_after: field('int', 'weave.compaction.items_after'),
  content_refs: field('texts', 'weave.content_refs'),
  artifact_refs: field('texts', 'weave.artifact_refs'),
  object_refs: field('texts', 'weave.object_refs'),
  eval_run_id: field('text', 'weave.eval.run_id'),
  eval_predict_and_score_call_id: field('text', 'weave.eval.predict_and_score_call_id'),
  eval_evaluation_name: field('text', 'weave.eval.evaluation_name'),
  eval_kind: field('text', 'weave.eval.kind'),
  eval_row_digest: field('text', 'weave.eval.row_digest'),
  eval_example_id: field('text', 'weave.eval.example_id'),
  eval_trial_index: field('int', 'weave.eval.trial_index'),
  parent_call_trace_id: field('text', 'weave.parent_call.trace_id'),
};

/** Attributes that columns of calls or the fields above show. They are not custom attributes. */
export const KNOWN_ATTRIBUTES: readonly string[] = [
  'resource',
  'scope',
  'weave.parent_call.id',
  'llm.token_count.prompt',
  'llm.token_count.completion',
  'llm.token_count.total',
  ...both(
    'operation.name',
    'agent.name',
    'agent.version',
    'conversation.id',
    'usage.input_tokens',
    'usage.output_tokens',
    'usage.total_tokens',
    'usage.cache_creation.input_tokens',
    'usage.cache_read.input_tokens',
    'usage.cache_creation_input_tokens',
    'usage.cache_read_input_tokens',
    'usage.cache_write.input_tokens',
  ),
  ...Object.values(SPAN_FIELDS).flatMap(({ attributes }) => attributes),
];

/** Types of custom attributes, with one map each. Lists and objects are JSON texts. */
export const CUSTOM_TYPES = {
  custom_attrs_string: 'string',
  custom_attrs_int: 'int',
  custom_attrs_float: 'float',
  custom_attrs_bool: 'bool',
} as const;
export type CustomSource = keyof typeof CUSTOM_TYPES;
export const CUSTOM_SOURCES = Object.keys(CUSTOM_TYPES) as CustomSource[];

export const LLM_OPERATIONS: readonly string[] = ['chat', 'generate_content', 'text_completion'];
export const INVOKE_AGENT = 'invoke_agent';
export const EXECUTE_TOOL = 'execute_tool';

/** The conversation id of spans that name no conversation. */
export const NO_CONVERSATION = '__NO_CONVERSATION__';
