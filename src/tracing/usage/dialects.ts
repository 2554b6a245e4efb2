/**
 * Counts that an entry of usage may contain. `cache_write` are tokens stored in a cache, `…_5m` and `…_1h` those stored
 * for that time. `tool_use` are tokens that the provider's own tools added to the prompt.
 */
export type CountName =
  | 'prompt'
  | 'completion'
  | 'total'
  | 'cache_read'
  | 'cache_write'
  | 'cache_write_5m'
  | 'cache_write_1h'
  | 'reasoning'
  | 'citation'
  | 'tool_use'
  | 'audio_input'
  | 'image_input'
  | 'video_input'
  | 'audio_output'
  | 'image_output'
  | 'video_output'
  | 'audio_cache_read'
  | 'image_cache_read'
  | 'requests';

/**
 * The names that a client or provider uses for usage. A dot leads into an object, `[AUDIO]` into Google's list of
 * counts by modality, `[1h]` into Bedrock's list by cache lifetime. `apart` lists counts that are not part of the
 * prompt or the completion when no total decides it; other counts are part of them.
 */
export interface Dialect {
  source: string;
  link: string;
  names: Readonly<Partial<Record<CountName, string | readonly string[]>>>;
  apart?: readonly CountName[];
}

/**
 * The table of providers' usage. docs/clients/usage.md repeats it for users, and a test compares the two. When several
 * names of one count occur, the earlier row wins.
 */
export const DIALECTS: readonly Dialect[] = [
  {
    source: 'OpenAI chat completions (openai 7.57), LiteLLM 1.110, Mistral, Groq, xAI',
    link: 'https://platform.openai.com/docs/api-reference/chat/object',
    names: {
      prompt: 'prompt_tokens',
      completion: 'completion_tokens',
      total: 'total_tokens',
      cache_read: 'prompt_tokens_details.cached_tokens',
      cache_write: [
        'prompt_tokens_details.cache_write_tokens',
        'prompt_tokens_details.cache_creation_tokens',
      ],
      cache_write_5m:
        'prompt_tokens_details.cache_creation_token_details.ephemeral_5m_input_tokens',
      cache_write_1h:
        'prompt_tokens_details.cache_creation_token_details.ephemeral_1h_input_tokens',
      reasoning: 'completion_tokens_details.reasoning_tokens',
      audio_input: 'prompt_tokens_details.audio_tokens',
      image_input: 'prompt_tokens_details.image_tokens',
      audio_output: 'completion_tokens_details.audio_tokens',
      image_output: 'completion_tokens_details.image_tokens',
    },
  },
  {
    source: 'OpenAI responses and images (openai 7.57)',
    link: 'https://platform.openai.com/docs/api-reference/responses/object',
    names: {
      prompt: 'input_tokens',
      completion: 'output_tokens',
      total: 'total_tokens',
      cache_read: 'input_tokens_details.cached_tokens',
      cache_write: 'input_tokens_details.cache_write_tokens',
      reasoning: 'output_tokens_details.reasoning_tokens',
      audio_input: 'input_tokens_details.audio_tokens',
      image_input: 'input_tokens_details.image_tokens',
      audio_output: 'output_tokens_details.audio_tokens',
      image_output: 'output_tokens_details.image_tokens',
    },
  },
  {
    source: 'OpenAI realtime and transcriptions (openai 7.57)',
    link: 'https://platform.openai.com/docs/api-reference/realtime-server-events/response/done',
    names: {
      prompt: 'input_tokens',
      completion: 'output_tokens',
      total: 'total_tokens',
      cache_read: 'input_token_details.cached_tokens',
      audio_input: 'input_token_details.audio_tokens',
      image_input: 'input_token_details.image_tokens',
      audio_output: 'output_token_details.audio_tokens',
      audio_cache_read: 'input_token_details.cached_tokens_details.audio_tokens',
      image_cache_read: 'input_token_details.cached_tokens_details.image_tokens',
    },
  },
  {
    source: 'Anthropic (@anthropic-ai/sdk 1.14), weave for JavaScript and for Python',
    link: 'https://docs.anthropic.com/en/api/messages',
    names: {
      prompt: 'input_tokens',
      completion: 'output_tokens',
      cache_read: 'cache_read_input_tokens',
      cache_write: 'cache_creation_input_tokens',
      cache_write_5m: 'cache_creation.ephemeral_5m_input_tokens',
      cache_write_1h: 'cache_creation.ephemeral_1h_input_tokens',
      reasoning: 'output_tokens_details.thinking_tokens',
    },
    apart: ['cache_read', 'cache_write'],
  },
  {
    source: 'Google (google-genai for Python)',
    link: 'https://ai.google.dev/api/generate-content#UsageMetadata',
    names: {
      prompt: 'prompt_token_count',
      completion: ['candidates_token_count', 'response_token_count'],
      total: 'total_token_count',
      cache_read: 'cached_content_token_count',
      reasoning: ['thoughts_token_count', 'thoughts_tokens'],
      tool_use: 'tool_use_prompt_token_count',
      audio_input: ['prompt_tokens_details[AUDIO]'],
      image_input: ['prompt_tokens_details[IMAGE]'],
      video_input: ['prompt_tokens_details[VIDEO]'],
      audio_output: ['candidates_tokens_details[AUDIO]', 'response_tokens_details[AUDIO]'],
      image_output: ['candidates_tokens_details[IMAGE]', 'response_tokens_details[IMAGE]'],
      video_output: ['candidates_tokens_details[VIDEO]', 'response_tokens_details[VIDEO]'],
      audio_cache_read: 'cache_tokens_details[AUDIO]',
      image_cache_read: 'cache_tokens_details[IMAGE]',
    },
    apart: ['reasoning', 'tool_use'],
  },
  {
    source: 'Google (@google/genai 3.3, and its REST API)',
    link: 'https://ai.google.dev/api/generate-content#UsageMetadata',
    names: {
      prompt: 'promptTokenCount',
      completion: ['candidatesTokenCount', 'responseTokenCount'],
      total: 'totalTokenCount',
      cache_read: 'cachedContentTokenCount',
      reasoning: 'thoughtsTokenCount',
      tool_use: 'toolUsePromptTokenCount',
      audio_input: 'promptTokensDetails[AUDIO]',
      image_input: 'promptTokensDetails[IMAGE]',
      video_input: 'promptTokensDetails[VIDEO]',
      audio_output: ['candidatesTokensDetails[AUDIO]', 'responseTokensDetails[AUDIO]'],
      image_output: ['candidatesTokensDetails[IMAGE]', 'responseTokensDetails[IMAGE]'],
      video_output: ['candidatesTokensDetails[VIDEO]', 'responseTokensDetails[VIDEO]'],
      audio_cache_read: 'cacheTokensDetails[AUDIO]',
      image_cache_read: 'cacheTokensDetails[IMAGE]',
    },
    apart: ['reasoning', 'tool_use'],
  },
  {
    source: 'Bedrock Converse (@aws-sdk/client-bedrock-runtime 3.1164), Strands 1.62',
    link: 'https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_TokenUsage.html',
    names: {
      prompt: 'inputTokens',
      completion: 'outputTokens',
      total: 'totalTokens',
      cache_read: ['cacheReadInputTokens', 'cacheReadInputTokenCount'],
      cache_write: [
        'cacheWriteInputTokens',
        'cacheWriteInputTokenCount',
        'cache_write_input_tokens',
      ],
      cache_write_5m: 'cacheDetails[5m]',
      cache_write_1h: 'cacheDetails[1h]',
    },
    apart: ['cache_read', 'cache_write'],
  },
  {
    source: 'Cohere, as it is billed (cohere-ai 8.1)',
    link: 'https://docs.cohere.com/reference/chat',
    names: {
      prompt: ['billed_units.input_tokens', 'billedUnits.inputTokens'],
      completion: ['billed_units.output_tokens', 'billedUnits.outputTokens'],
    },
  },
  {
    source: 'DeepSeek',
    link: 'https://api-docs.deepseek.com/api/create-chat-completion',
    names: {
      prompt: 'prompt_tokens',
      completion: 'completion_tokens',
      total: 'total_tokens',
      cache_read: 'prompt_cache_hit_tokens',
    },
  },
  {
    source: 'Moonshot and others that speak like OpenAI',
    link: 'https://platform.moonshot.ai/docs/api/chat',
    names: {
      prompt: 'prompt_tokens',
      completion: 'completion_tokens',
      total: 'total_tokens',
      cache_read: 'cached_tokens',
    },
  },
  {
    source: 'Perplexity',
    link: 'https://docs.perplexity.ai/getting-started/pricing',
    names: {
      prompt: 'prompt_tokens',
      completion: 'completion_tokens',
      total: 'total_tokens',
      reasoning: 'reasoning_tokens',
      citation: 'citation_tokens',
    },
  },
  {
    source: 'xAI (xai-sdk 1.21)',
    link: 'https://docs.x.ai/docs/api-reference',
    names: {
      prompt: 'prompt_tokens',
      completion: 'completion_tokens',
      total: 'total_tokens',
      cache_read: 'cached_prompt_text_tokens',
      reasoning: 'reasoning_tokens',
      image_input: 'prompt_image_tokens',
    },
  },
  {
    source: 'Vercel AI SDK (ai 7.0; names of 4 to 6 too)',
    link: 'https://ai-sdk.dev/docs/reference/ai-sdk-core/generate-text',
    names: {
      prompt: ['inputTokens', 'promptTokens'],
      completion: ['outputTokens', 'completionTokens'],
      total: 'totalTokens',
      cache_read: [
        'cachedInputTokens',
        'inputTokenDetails.cacheReadTokens',
        'cachedPromptTokens',
        'promptCacheHitTokens',
      ],
      cache_write: 'inputTokenDetails.cacheWriteTokens',
      reasoning: ['reasoningTokens', 'outputTokenDetails.reasoningTokens'],
    },
  },
  {
    source: 'Providers of the Vercel AI SDK (@ai-sdk/provider 3, `LanguageModelV3Usage`)',
    link: 'https://ai-sdk.dev/providers/community-providers/custom-providers',
    names: {
      prompt: 'inputTokens.total',
      completion: 'outputTokens.total',
      cache_read: 'inputTokens.cacheRead',
      cache_write: ['inputTokens.cacheWrite', 'cacheCreationInputTokens'],
      reasoning: 'outputTokens.reasoning',
    },
  },
  {
    source: 'Ollama, as it answers itself (ollama 0.6)',
    link: 'https://docs.ollama.com/api/usage',
    names: { prompt: 'prompt_eval_count', completion: 'eval_count' },
  },
  {
    source:
      'OpenAI for JavaScript in camelCase (@openai/agents, @openrouter/sdk, @mistralai/mistralai 2.7)',
    link: 'https://openrouter.ai/docs/sdks/typescript',
    names: {
      prompt: ['promptTokens', 'inputTokens'],
      completion: ['completionTokens', 'outputTokens'],
      total: 'totalTokens',
      cache_read: ['promptTokensDetails.cachedTokens', 'inputTokensDetails.cachedTokens'],
      reasoning: ['completionTokensDetails.reasoningTokens', 'outputTokensDetails.reasoningTokens'],
      audio_input: 'promptTokensDetails.audioTokens',
      audio_output: 'completionTokensDetails.audioTokens',
    },
  },
  {
    source: 'LangChain (langchain-core 1.8, @langchain/core 1.4)',
    link: 'https://reference.langchain.com/python/langchain_core/messages/#langchain_core.messages.ai.UsageMetadata',
    names: {
      prompt: 'input_tokens',
      completion: 'output_tokens',
      total: 'total_tokens',
      cache_read: 'input_token_details.cache_read',
      cache_write: 'input_token_details.cache_creation',
      cache_write_5m: 'input_token_details.ephemeral_5m_input_tokens',
      cache_write_1h: 'input_token_details.ephemeral_1h_input_tokens',
      reasoning: 'output_token_details.reasoning',
      audio_input: 'input_token_details.audio',
      audio_output: 'output_token_details.audio',
    },
  },
  {
    source: 'OpenInference (openinference-semantic-conventions 0.1.42), in an object',
    link: 'https://arize-ai.github.io/openinference/spec/semantic_conventions.html',
    names: {
      cache_read: ['prompt_details.cache_read', 'prompt_details.cache_input'],
      cache_write: 'prompt_details.cache_write',
      reasoning: 'completion_details.reasoning',
      audio_input: 'prompt_details.audio',
      audio_output: 'completion_details.audio',
    },
  },
  {
    source: 'Pydantic AI 2.66',
    link: 'https://ai.pydantic.dev/api/usage/',
    names: {
      prompt: 'input_tokens',
      completion: 'output_tokens',
      cache_read: 'cache_read_tokens',
      cache_write: 'cache_write_tokens',
      audio_input: 'input_audio_tokens',
      audio_output: 'output_audio_tokens',
      audio_cache_read: 'cache_audio_read_tokens',
    },
  },
  {
    source: 'Langfuse (langfuse 5.0 for Python, 5.11 for JavaScript)',
    link: 'https://langfuse.com/docs/observability/features/token-and-cost-tracking',
    names: {
      prompt: 'input',
      completion: 'output',
      total: 'total',
      cache_read: ['input_cached_tokens', 'input_cache_read', 'input_cached'],
      cache_write: ['input_cache_creation', 'input_cache_write'],
      cache_write_5m: ['input_cache_creation_5m', 'input_ephemeral_5m_input_tokens'],
      cache_write_1h: ['input_cache_creation_1h', 'input_ephemeral_1h_input_tokens'],
      reasoning: ['output_reasoning_tokens', 'output_reasoning'],
      audio_input: ['input_audio_tokens', 'input_audio'],
      image_input: ['input_image_tokens', 'input_image'],
      video_input: ['input_video_tokens', 'input_video'],
      audio_output: ['output_audio_tokens', 'output_audio'],
      image_output: ['output_image_tokens', 'output_image'],
      video_output: ['output_video_tokens', 'output_video'],
    },
  },
  {
    source: 'Skein: what it makes of spans and of observations',
    link: 'opentelemetry.md',
    names: {
      prompt: 'prompt_tokens',
      completion: 'completion_tokens',
      total: 'total_tokens',
      cache_read: 'cache_read_input_tokens',
      cache_write: 'cache_creation_input_tokens',
      cache_write_1h: 'cache_creation_1h_input_tokens',
      reasoning: 'reasoning_tokens',
      citation: 'citation_tokens',
      audio_input: 'audio_input_tokens',
      image_input: 'image_input_tokens',
      video_input: 'video_input_tokens',
      audio_output: 'audio_output_tokens',
      image_output: 'image_output_tokens',
      video_output: 'video_output_tokens',
      audio_cache_read: 'cache_read_audio_tokens',
      image_cache_read: 'cache_read_image_tokens',
      requests: 'requests',
    },
  },
];
