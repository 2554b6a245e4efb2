/** Attributes that name the user whom an application serves, in the order in which they count. */
export const USER_ATTRIBUTES = [
  'user.id',
  'enduser.id',
  'user_id',
  'langfuse.user.id',
  'langfuse.trace.user_id',
  'traceloop.association.properties.user_id',
  'ai.telemetry.metadata.userId',
  'userId', // events of Langfuse
];
