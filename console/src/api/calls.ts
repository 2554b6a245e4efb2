import type { Schema } from './client.ts';
import { wire } from './wire.ts';

/** A call in a list. Its members depend on the request. */
export type CallRow = Schema<'CallDto'>;

/** The cost of a model in a call; null when the model has no price. */
export type ModelCost = NonNullable<DerivedSummary['costs']>[string];

export type DerivedSummary = NonNullable<CallRow['summary']>[typeof wire.summary];

/** The derived part of a call's summary. The request must have included the summary. */
export const derivedSummary = (call: CallRow): DerivedSummary => call.summary![wire.summary];

export const callUser = (call: CallRow): string | null => call[wire.userId] ?? null;

/** The end user that the application reports, else the user of the key that made the call. */
export const shownUser = (call: CallRow): string =>
  derivedSummary(call).trace_user ?? callUser(call) ?? '';

/**
 * The costs of the call. A root that does not report all costs of its trace has the trace's costs instead, if the list
 * requested them.
 */
const costsOf = (call: CallRow): Record<string, ModelCost> => {
  const { costs, trace_costs } = derivedSummary(call);
  return trace_costs && Object.keys(trace_costs).length > 0 ? trace_costs : (costs ?? {});
};

/** Input tokens, including those that a cache served or stored. */
export const inputTokens = (cost: ModelCost): number =>
  cost.prompt_tokens + cost.cache_read_input_tokens + cost.cache_creation_input_tokens;

/**
 * Tokens of all models of a call, as the service counted them; null when it knows none. The request must include costs.
 * An entry without tokens and without a cost is one that the service could not read.
 */
export function callTokens(call: CallRow): { input: number; output: number } | null {
  const known = Object.values(costsOf(call)).flatMap((cost) => {
    const [input, output] = [inputTokens(cost), cost.completion_tokens];
    return input + output === 0 && cost.total_cost === null ? [] : [{ input, output }];
  });
  if (known.length === 0) return null;
  return known.reduce((a, b) => ({ input: a.input + b.input, output: a.output + b.output }));
}

/** The cost of a call: the sum over its models with a price, null when none has one. */
export function callCost(call: CallRow): number | null {
  const totals = Object.values(costsOf(call)).map(({ total_cost }) => total_cost);
  const known = totals.filter((total) => total !== null);
  return known.length === 0 ? null : known.reduce((sum, total) => sum + total, 0);
}
