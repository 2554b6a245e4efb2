import { spelledMembers } from '../../tracing/usage/usage-counts.js';

/**
 * Forms of an attribute's value:
 * - `json`: parsed if it is JSON.
 * - `text`: never parsed.
 * - `mime`: parsed unless the mime type attribute names another type.
 * - `list`: spelled out as several attributes (`<name>.0.role`).
 * - `open`: like `json`, but an object or list replaces the whole of `inputs` or `output`. Any other value is stored as
 *   one member.
 */
export type AttributeForm = 'json' | 'text' | 'mime' | 'list' | 'open';

/**
 * The value that an attribute sets. `inputs` and `output` remove it from the attributes and store it as a whole, or as
 * the member after the dot. Attributes of all other targets are read and stay. `usage` is an object of token counts;
 * `usage.…` is a single count.
 */
export type AttributeTarget =
  | 'inputs'
  | `inputs.${string}`
  | 'output'
  | `output.${string}`
  | 'usage'
  /** Metadata of Vercel's SDK, keyed by provider. Some counts are reported only here. */
  | 'usage_metadata'
  | `usage.${string}`
  | 'model'
  | 'provider'
  | 'response'
  | 'thread'
  /** An object, in JSON or as Python prints it. Its member names the thread when no other attribute does. */
  | 'metadata'
  /** Names the thread when no other attribute does, unless it is the id of the trace or of the request. */
  | 'chain'
  | 'turn'
  | 'display_name'
  | 'operation'
  /** A span above reports the same usage. */
  | 'repeated'
  | 'error'
  | 'error_level';

/**
 * A row of the table. If `beside` is set, the row counts only when the span has this attribute too. This is needed for
 * common names, such as `input`.
 */
type Convention = readonly [
  attribute: string,
  target: AttributeTarget,
  form?: AttributeForm,
  beside?: string,
];

/** Types of Mastra's spans. Each type has its own attribute names for inputs and output. */
const MASTRA =
  `agent_run agent_signal model_generation model_step model_inference model_chunk tool_call client_tool_call provider_tool_call mcp_tool_call
  mcp_server_request workflow_run workflow_step workflow_conditional workflow_conditional_eval workflow_loop workflow_parallel workflow_sleep
  workflow_wait_event mapping generic graph_action memory_operation processor_run scorer_run scorer_step classifier_evaluation skill_action
  skill_resolution workspace_action rag_action rag_embedding rag_ingestion rag_vector_operation`.split(
    /\s+/,
  );

const [LOGFIRE, CLAUDE_CODE, OF_FUNCTION] = ['logfire.span_type', 'span.type', 'mcp_data'];
const CODEX_TURN = 'codex.turn.token_usage.total_tokens';
/** Attribute of each message that the runtime of AutoGen 0.7 delivers (`autogen_core._telemetry`). */
const AUTOGEN = 'message_context';

/** Maps attributes of the known instrumentations. If two attributes have the same target, the earlier row wins. */
export const CONVENTIONS: readonly Convention[] = [
  // OpenTelemetry's conventions for generative AI; also in an event `gen_ai.client.inference.operation.details`
  ['gen_ai.input.messages', 'inputs.messages'],
  ['gen_ai.system_instructions', 'inputs.system_instructions'],
  ['gen_ai.tool.definitions', 'inputs.tools'],
  ['gen_ai.tool.call.arguments', 'inputs'],
  ['gen_ai.retrieval.query.text', 'inputs.query', 'text'],
  ['gen_ai.output.messages', 'output.messages'],
  ['gen_ai.tool.call.result', 'output'],
  ['gen_ai.retrieval.documents', 'output.documents'],
  // OpenLLMetry, and older versions of OpenTelemetry's conventions
  ['gen_ai.prompt', 'inputs.messages', 'list'],
  ['gen_ai.prompt', 'inputs.prompt', 'open'], // also LangSmith
  ['llm.request.functions', 'inputs.tools', 'list'],
  ['traceloop.entity.input', 'inputs'],
  ['gen_ai.completion', 'output.messages', 'list'],
  ['gen_ai.completion', 'output.completion', 'open'],
  ['traceloop.entity.output', 'output'],
  // Vercel
  ['ai.prompt.messages', 'inputs.messages'],
  ['ai.prompt.tools', 'inputs.tools'],
  ['ai.prompt', 'inputs'],
  ['ai.toolCall.args', 'inputs'],
  ['ai.value', 'inputs.value'],
  ['ai.values', 'inputs.values'],
  ['ai.response.text', 'output.text', 'text'],
  ['ai.response.object', 'output.object'],
  ['ai.response.toolCalls', 'output.tool_calls'],
  ['ai.response.reasoning', 'output.reasoning', 'text'],
  ['ai.response.files', 'output.files'],
  ['ai.toolCall.result', 'output'],
  ['ai.embedding', 'output.embedding'],
  ['ai.embeddings', 'output.embeddings'],
  // Langfuse
  ['langfuse.observation.input', 'inputs'],
  ['langfuse.observation.output', 'output'],
  ['langfuse.trace.input', 'inputs'],
  ['langfuse.trace.output', 'output'],
  // MLflow
  ['mlflow.spanInputs', 'inputs'],
  ['mlflow.spanOutputs', 'output'],
  ['mlflow.chat.tools', 'inputs.tools'],
  // Pydantic AI and Logfire
  ['pydantic_ai.all_messages', 'inputs.messages'],
  ['all_messages_events', 'inputs.messages'],
  ['tool_arguments', 'inputs'],
  ['request_data', 'inputs'],
  ['final_result', 'output'],
  ['tool_response', 'output'],
  ['response_data', 'output'],
  // Logfire, for the agents SDK of OpenAI
  ['raw_input', 'inputs.messages', 'json', LOGFIRE],
  ['response', 'output', 'json', LOGFIRE],
  ['input', 'inputs', 'json', OF_FUNCTION],
  ['output', 'output', 'json', OF_FUNCTION],
  // Mastra
  ...MASTRA.flatMap((type): Convention[] => [
    [`mastra.${type}.input`, 'inputs'],
    [`mastra.${type}.output`, 'output'],
  ]),
  // Claude Code; the output of a tool is in an event
  ['user_prompt', 'inputs.prompt', 'text', CLAUDE_CODE],
  ['full_command', 'inputs.command', 'text', CLAUDE_CODE],
  ['output', 'output', 'text', CLAUDE_CODE],
  // Google ADK 1 and 2 (`google.adk.telemetry.tracing`; from 2.13 on with ADK_TELEMETRY_SCHEMA_VERSION_OPT_IN=1)
  ['gcp.vertex.agent.llm_request', 'inputs'],
  ['gcp.vertex.agent.tool_call_args', 'inputs'],
  ['gcp.vertex.agent.data', 'inputs'],
  ['gcp.vertex.agent.llm_response', 'output'],
  ['gcp.vertex.agent.tool_response', 'output'],
  // AutoGen
  ['message', 'inputs', 'json', AUTOGEN],
  // promptfoo 0.123 (`src/tracing/genaiTracer.ts`)
  ['promptfoo.request.body', 'inputs'],
  ['promptfoo.response.body', 'output'],
  // LiveKit
  ['lk.pii.chat_ctx', 'inputs'],
  ['lk.chat_ctx', 'inputs'],
  ['lk.pii.user_input', 'inputs.user_input', 'text'],
  ['lk.user_input', 'inputs.user_input', 'text'],
  ['lk.pii.instructions', 'inputs.instructions', 'text'],
  ['lk.instructions', 'inputs.instructions', 'text'],
  ['lk.pii.input_text', 'inputs.text', 'text'],
  ['lk.input_text', 'inputs.text', 'text'],
  ['lk.pii.function_tool.arguments', 'inputs'],
  ['lk.function_tool.arguments', 'inputs'],
  ['lk.pii.response.text', 'output.text', 'text'],
  ['lk.response.text', 'output.text', 'text'],
  ['lk.pii.response.function_calls', 'output.tool_calls'],
  ['lk.response.function_calls', 'output.tool_calls'],
  ['lk.pii.function_tool.output', 'output'],
  ['lk.function_tool.output', 'output'],
  ['lk.pii.user_transcript', 'output.transcript', 'text'],
  ['lk.user_transcript', 'output.transcript', 'text'],
  // OpenInference
  ['llm.input_messages', 'inputs.messages', 'list'],
  ['llm.tools', 'inputs.tools', 'list'],
  ['embedding.embeddings', 'inputs.embeddings', 'list'],
  ['reranker.query', 'inputs.query', 'text'],
  ['reranker.input_documents', 'inputs.documents', 'list'],
  ['input.value', 'inputs', 'mime'],
  ['llm.output_messages', 'output.messages', 'list'],
  ['retrieval.documents', 'output.documents', 'list'],
  ['reranker.output_documents', 'output.documents', 'list'],
  ['output.value', 'output', 'mime'],

  ['gen_ai.response.model', 'model'],
  ['ai.response.model', 'model'],
  ['langfuse.observation.model.name', 'model'],
  ['llm.response.model_name', 'model'],
  ['gen_ai.request.model', 'model'],
  ['llm.model_name', 'model'],
  ['llm.request.model_name', 'model'],
  ['embedding.model_name', 'model'],
  ['reranker.model_name', 'model'],
  ['mlflow.llm.model', 'model'],
  ['ai.model.id', 'model'],
  ['model', 'model', 'json', CLAUDE_CODE],
  ['model', 'model', 'json', CODEX_TURN],

  ['gen_ai.provider.name', 'provider'],
  ['gen_ai.system', 'provider'],
  ['llm.provider', 'provider'],
  ['llm.system', 'provider'],
  ['mlflow.llm.provider', 'provider'],
  ['ai.model.provider', 'provider'],

  ['gen_ai.response.id', 'response'],
  ['ai.response.id', 'response'],

  // Prompt tokens include cached tokens, as the conventions of OpenTelemetry define them.
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
  ['gen_ai.usage.total.tokens', 'usage.total_tokens'],
  ['llm.usage.total_tokens', 'usage.total_tokens'],
  ['llm.token_count.total', 'usage.total_tokens'],
  ['ai.usage.totalTokens', 'usage.total_tokens'],
  ['gen_ai.usage.cache_read.input_tokens', 'usage.cache_read_input_tokens'],
  ['gen_ai.usage.cache_read_input_tokens', 'usage.cache_read_input_tokens'],
  ['gen_ai.usage.input_cached_tokens', 'usage.cache_read_input_tokens'],
  ['gen_ai.usage.details.cache_read_tokens', 'usage.cache_read_input_tokens'],
  ['gen_ai.usage.input_tokens.cached', 'usage.cache_read_input_tokens'], // Sentry
  ['gen_ai.usage.cached_input_tokens', 'usage.cache_read_input_tokens'], // Mastra, Strands before 1.0
  ['gen_ai.usage.cached_tokens', 'usage.cache_read_input_tokens'],
  ['gen_ai.usage.cache_read_tokens', 'usage.cache_read_input_tokens'],
  ['gen_ai.usage.prompt_tokens_details.cached_tokens', 'usage.cache_read_input_tokens'],
  ['gen_ai.usage.details.cache_read_input_tokens', 'usage.cache_read_input_tokens'], // Pydantic AI
  ['gen_ai.usage.details.cached_content_tokens', 'usage.cache_read_input_tokens'],
  ['gen_ai.usage.details.cached_tokens', 'usage.cache_read_input_tokens'],
  ['gen_ai.usage.details.prompt_cache_hit_tokens', 'usage.cache_read_input_tokens'],
  ['llm.token_count.prompt_details.cache_read', 'usage.cache_read_input_tokens'],
  ['ai.usage.cachedInputTokens', 'usage.cache_read_input_tokens'],
  ['ai.usage.inputTokenDetails.cacheReadTokens', 'usage.cache_read_input_tokens'],
  ['gen_ai.usage.cache_creation.input_tokens', 'usage.cache_creation_input_tokens'],
  ['gen_ai.usage.cache_creation_input_tokens', 'usage.cache_creation_input_tokens'],
  ['gen_ai.usage.cache_write.input_tokens', 'usage.cache_creation_input_tokens'],
  ['gen_ai.usage.details.cache_write_tokens', 'usage.cache_creation_input_tokens'],
  ['gen_ai.usage.input_tokens.cache_write', 'usage.cache_creation_input_tokens'], // Sentry
  ['gen_ai.usage.cache_creation_tokens', 'usage.cache_creation_input_tokens'],
  ['gen_ai.usage.cache_write_tokens', 'usage.cache_creation_input_tokens'],
  ['gen_ai.usage.details.cache_creation_input_tokens', 'usage.cache_creation_input_tokens'],
  // Strands repeats the counts of Bedrock, whose input tokens do not include cached tokens
  ['gen_ai.usage.cache_write_input_tokens', 'usage.cache_write_input_tokens'],
  ['llm.token_count.prompt_details.cache_write', 'usage.cache_creation_input_tokens'],
  ['ai.usage.inputTokenDetails.cacheWriteTokens', 'usage.cache_creation_input_tokens'],
  ['gen_ai.usage.reasoning.output_tokens', 'usage.reasoning_tokens'],
  ['gen_ai.usage.reasoning_tokens', 'usage.reasoning_tokens'],
  ['gen_ai.usage.reasoning_output_tokens', 'usage.reasoning_tokens'],
  ['gen_ai.usage.output_tokens.reasoning', 'usage.reasoning_tokens'], // Sentry
  ['gen_ai.usage.thoughts_tokens', 'usage.reasoning_tokens'],
  // Google ADK before 2.3, whose output tokens do not include these
  ['gen_ai.usage.experimental.reasoning_tokens', 'usage.thoughts_token_count'],
  ['gen_ai.usage.experimental.cached_tokens', 'usage.cache_read_input_tokens'],
  ['prompt_tokens_details.cached_tokens', 'usage.cache_read_input_tokens'], // weave
  ['gen_ai.usage.details.reasoning_tokens', 'usage.reasoning_tokens'],
  ['gen_ai.usage.details.thoughts_tokens', 'usage.reasoning_tokens'],
  ['llm.usage.reasoning_tokens', 'usage.reasoning_tokens'],
  ['llm.token_count.completion_details.reasoning', 'usage.reasoning_tokens'],
  ['ai.usage.reasoningTokens', 'usage.reasoning_tokens'],
  ['ai.usage.outputTokenDetails.reasoningTokens', 'usage.reasoning_tokens'],
  ['gen_ai.usage.audio.input_tokens', 'usage.audio_input_tokens'],
  ['gen_ai.usage.input_audio_tokens', 'usage.audio_input_tokens'],
  ['gen_ai.usage.details.input_audio_tokens', 'usage.audio_input_tokens'],
  ['gen_ai.usage.details.audio_prompt_tokens', 'usage.audio_input_tokens'],
  ['llm.token_count.prompt_details.audio', 'usage.audio_input_tokens'],
  ['gen_ai.usage.audio.output_tokens', 'usage.audio_output_tokens'],
  ['gen_ai.usage.output_audio_tokens', 'usage.audio_output_tokens'],
  ['gen_ai.usage.details.output_audio_tokens', 'usage.audio_output_tokens'],
  ['gen_ai.usage.details.audio_candidates_tokens', 'usage.audio_output_tokens'],
  ['llm.token_count.completion_details.audio', 'usage.audio_output_tokens'],
  ['gen_ai.usage.details.cache_audio_read_tokens', 'usage.cache_read_audio_tokens'],
  ['gen_ai.usage.details.audio_cache_tokens', 'usage.cache_read_audio_tokens'],
  ['gen_ai.usage.details.image_prompt_tokens', 'usage.image_input_tokens'],
  ['gen_ai.usage.details.video_prompt_tokens', 'usage.video_input_tokens'],
  ['gen_ai.usage.details.image_candidates_tokens', 'usage.image_output_tokens'],
  ['gen_ai.usage.details.tool_use_prompt_tokens', 'usage.tool_use_prompt_token_count'],
  ['gen_ai.usage.tool_use_prompt_tokens', 'usage.tool_use_prompt_token_count'],
  ['gen_ai.usage.details.citation_tokens', 'usage.citation_tokens'],
  ['cache_read_tokens', 'usage.cache_read_input_tokens', 'json', CLAUDE_CODE],
  ['cache_creation_tokens', 'usage.cache_creation_input_tokens', 'json', CLAUDE_CODE],
  ['output_tokens', 'usage.completion_tokens', 'json', CLAUDE_CODE],
  ['input_tokens', 'usage.input_tokens', 'json', CLAUDE_CODE], // without cached tokens
  // Codex 0.171: the turn has the model, and the sum of its answers
  ['codex.turn.token_usage.input_tokens', 'usage.prompt_tokens'],
  ['codex.turn.token_usage.output_tokens', 'usage.completion_tokens'],
  ['codex.turn.token_usage.cached_input_tokens', 'usage.cache_read_input_tokens'],
  ['codex.turn.token_usage.cache_write_input_tokens', 'usage.cache_creation_input_tokens'],
  ['codex.turn.token_usage.reasoning_output_tokens', 'usage.reasoning_tokens'],
  ['codex.usage.total_tokens', 'repeated'],
  ['gen_ai.usage.raw', 'usage'], // Logfire: the provider's usage
  ['langsmith.metadata.usage_metadata', 'usage'],
  ['metadata.usage_object', 'usage'], // LiteLLM
  ['langfuse.observation.usage_details', 'usage'],
  ['mlflow.chat.tokenUsage', 'usage'],
  ['ai.response.providerMetadata', 'usage_metadata'],

  ['wandb.thread_id', 'thread'],
  ['gen_ai.conversation.id', 'thread'],
  ['session.id', 'thread'],
  ['langfuse.session.id', 'thread'],
  ['traceloop.association.properties.session_id', 'thread'],
  ['mlflow.trace.session', 'thread'],
  ['ai.telemetry.metadata.threadId', 'thread'],
  ['ai.telemetry.metadata.sessionId', 'thread'],
  ['ai.settings.context.threadId', 'thread'],
  ['ai.settings.context.sessionId', 'thread'],
  ['langsmith.metadata.thread_id', 'thread'],
  ['langsmith.metadata.session_id', 'thread'],
  ['langsmith.metadata.conversation_id', 'thread'],
  ['mastra.metadata.threadId', 'thread'],
  ['mastra.metadata.sessionId', 'thread'],
  ['group_id', 'thread', 'json', 'agent_trace_id'],
  ['conversation.id', 'thread'], // Codex 0.4x to 0.6x, codex-rs/core/src/tasks/compact.rs and its log records
  ['gcp.vertex.agent.session_id', 'thread'], // Google ADK 1.x, google/adk/telemetry
  ['spring.ai.chat.client.conversation.id', 'thread'], // Spring AI 1.0, chat client observations
  ['lmnr.association.properties.session_id', 'thread'], // Laminar 0.7, lmnr-python
  ['traceloop.association.properties.thread_id', 'thread'], // OpenLLMetry: applications choose these names
  ['traceloop.association.properties.conversation_id', 'thread'],
  ['traceloop.association.properties.sessionId', 'thread'],
  ['traceloop.association.properties.session.id', 'thread'],
  ['traceloop.association.properties.chat_id', 'thread'],
  ['gen_ai.thread.id', 'thread'], // azure-ai-agents 1.1, azure/ai/agents/telemetry
  ['ai.telemetry.metadata.session_id', 'thread'],
  ['ai.telemetry.metadata.thread_id', 'thread'],
  ['ai.telemetry.metadata.conversation_id', 'thread'],
  ['ai.telemetry.metadata.conversationId', 'thread'], // Vercel's SDK: applications choose these names
  ['ai.telemetry.metadata.chatId', 'thread'],
  // LiteLLM 1.110, litellm/integrations: opentelemetry.py, otel/mappers, arize/_utils.py; requests use the first two
  ['litellm_session_id', 'thread'],
  ['litellm.session_id', 'thread'],
  ['litellm.metadata.session_id', 'thread'],
  ['metadata.litellm_session_id', 'thread'],
  ['metadata.session_id', 'thread'],
  ['metadata.thread_id', 'thread'],
  ['metadata.conversation_id', 'thread'],
  ['metadata.requester_metadata', 'metadata'],
  ['metadata', 'metadata'], // also OpenInference
  ['litellm_trace_id', 'chain'],
  ['litellm.trace_id', 'chain'],
  ['wandb.is_turn', 'turn'],
  ['wandb.display_name', 'display_name'],
  ['logfire.msg', 'display_name'],

  // The operation of a span. `isUsageSum` decides by it whether the usage is a sum of other spans.
  ['gen_ai.operation.name', 'operation'],
  ['ai.operationId', 'operation'],
  ['openinference.span.kind', 'operation'],
  ['traceloop.span.kind', 'operation'],
  ['langfuse.observation.type', 'operation'],
  ['langsmith.span.kind', 'operation'],
  ['mlflow.spanType', 'operation'],
  ['ag2.span.type', 'operation'],

  ['langfuse.observation.status_message', 'error'],
  ['langfuse.observation.level', 'error_level'],
];

/**
 * Attributes with these prefixes end with a name of the usage dialects. `details` repeats the provider's counts in
 * addition to the sums.
 */
const USAGE_PREFIXES = ['gen_ai.usage.', 'llm.usage.', 'llm.token_count.', 'ai.usage.'];
const USAGE_DETAILS = 'gen_ai.usage.details.';
/** Names that do not count tokens when they follow a prefix. */
const NON_TOKEN_NAMES = new Set(['input', 'output', 'total', 'requests']);

const known = new Set(CONVENTIONS.map(([attribute]) => attribute));

/** Attributes of usage that are not in `CONVENTIONS`: prefixes combined with the names of the usage dialects. */
export const USAGE_CONVENTIONS: readonly Convention[] = [
  ...USAGE_PREFIXES.flatMap((prefix) => spelledMembers().map((name) => [prefix, name] as const)),
  ...spelledMembers('details').map((name) => [USAGE_DETAILS, name] as const),
].flatMap(([prefix, name]): Convention[] =>
  known.has(`${prefix}${name}`) || NON_TOKEN_NAMES.has(name)
    ? []
    : [[`${prefix}${name}`, `usage.${name}`]],
);
