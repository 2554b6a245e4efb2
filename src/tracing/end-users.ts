/**
 * Attributes that name the end user of an application, the most important first. Conventions: OpenTelemetry's `user.id`
 * and `enduser.id`; OpenInference's `user.id`; Langfuse 3 and 4; traceloop-sdk 0.50 (association properties); Vercel's
 * ai 5 (metadata); LangSmith 0.4 (`langsmith.metadata.…`); LiteLLM 1.80 (`metadata.user_api_key_end_user_id`,
 * `llm.user`); Vercel's ai 6 (`ai.settings.context.…`); Mastra 1; MLflow 3; Laminar 0.7. The application chooses the
 * names of association properties and of metadata.
 */
export const USER_ATTRIBUTES = [
  'user.id',
  'enduser.id',
  'enduser.pseudo.id',
  'gen_ai.user.id',
  'user_id',
  'langfuse.user.id',
  'langfuse.trace.user_id',
  'langfuse.user_id',
  'traceloop.association.properties.user_id',
  'traceloop.association.properties.userId',
  'traceloop.association.properties.user.id',
  'traceloop.association.properties.end_user_id',
  'traceloop.association.properties.customer_id',
  'lmnr.association.properties.user_id',
  'ai.telemetry.metadata.userId',
  'ai.telemetry.metadata.user_id',
  'ai.settings.context.userId',
  'mastra.metadata.userId',
  'mlflow.trace.user',
  'langsmith.metadata.user_id',
  'langsmith.metadata.userId',
  'metadata.user_id',
  'metadata.userId',
  'metadata.end_user_id',
  'metadata.user_api_key_end_user_id',
  'langfuse.trace.metadata.user_id',
  'langfuse.trace.metadata.langfuse_user_id',
  'llm.user',
  'gen_ai.request.user',
  'userId', // events of Langfuse
];

/** Members of the attributes `metadata` and `user` that name the end user, if these attributes are objects. */
export const USER_METADATA = ['user_id', 'userId', 'user_api_key_end_user_id', 'langfuse_user_id'];

/**
 * Members of a request to a model that name the end user: OpenAI's `safety_identifier` and the older `user`.
 * Anthropic's member is `metadata.user_id`.
 */
export const USER_INPUTS = ['safety_identifier', 'user'];
