import { CALL_COLUMN_LIST } from '../../tracing/calls/call.entity.js';

/** Names of the columns that queries may name, and that have the same name in both dialects. */
const fieldsOfCalls = (areDocuments: boolean) =>
  CALL_COLUMN_LIST.filter(
    ({ returned, wire, type }) => returned && !wire && (type === 'json') === areDocuments,
  )
    .map(({ name }) => name)
    .join(', ');

/** Resources that agents may read in addition to calling tools. */
export const RESOURCES: Record<string, { name: string; description: string; text: string }> = {
  'skein://glossary': {
    name: 'Glossary',
    description: 'The nouns that tools and answers use.',
    text: `# Glossary

- call: one recorded run of an operation: a start, and later an end.
- op: the operation that a call runs; op_name is its name or its ref.
- trace: all calls with one trace_id, a tree by parent_id. The root has no parent, or one that is not stored here.
- thread: the turns with one thread_id, a conversation. turn: a call whose id is its turn_id.
- status: running (no end yet), error (the call has an exception), descendant_error (its client counted errors below it), success.
- tokens: prompt, completion and cached tokens of all models of a call, without those of its descendants.
- cost: what these cost by the prices of the day of the call; null where a price is unknown.
- object version: one value under a name, addressed by its digest; latest is the newest one.
- feedback: a typed remark on a call or an object, with a payload.
- build: training data made of recorded calls by a recipe. job: a training of a model, perhaps on a build.
- project: <entity>/<project>; every call, object and remark belongs to one.
`,
  },
  'skein://query-language': {
    name: 'Query language',
    description: 'What `query` of search_calls, call_stats and list_feedback may say.',
    text: `# Query language

A query is {"$expr": <condition>}. Operands: {"$getField":"inputs.user.name"}, {"$literal":5}, {"$convert":{"input":<operand>,"to":"double"}} (to: double, int, string, bool).

Conditions:
- {"$eq":[a,b]} {"$ne":[a,b]} {"$gt":[a,b]} {"$gte":[a,b]} {"$lt":[a,b]} {"$lte":[a,b]}
- {"$in":[a,[b,c]]}
- {"$and":[…]} {"$or":[…]} {"$not":[<condition>]}
- {"$contains":{"input":a,"substr":b,"case_insensitive":true}}

Fields of calls: ${fieldsOfCalls(false)}; paths into ${fieldsOfCalls(true)} (digits index lists);
summary.<prefix>.status, summary.<prefix>.latency_ms, where <prefix> is svc, or weave in the dialect weave.

Rules: a JSON value takes the type of the other side; a comparison with a missing value is not true; {"$literal":null} in $eq means that there is none.
Times are ISO 8601, or seconds since 1970. At most 1000 nodes and 32 levels.

Failed calls of a day:
{"$expr":{"$and":[{"$eq":[{"$getField":"summary.svc.status"},{"$literal":"error"}]},{"$gte":[{"$getField":"started_at"},{"$literal":"2026-11-21T00:00:00Z"}]}]}}
`,
  },
};
