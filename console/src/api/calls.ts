import type { Schema } from './client.ts';
import { wire } from './wire.ts';

/** What lists show of a call; which members it has depends on what was asked for. */
export type CallRow = Schema<'CallDto'>;

/** What a model cost in a call; null where it has no price. */
export type ModelCost = NonNullable<DerivedSummary['costs']>[string];

export type DerivedSummary = NonNullable<CallRow['summary']>[typeof wire.summary];

/** The derived part of the summary of a call that was asked for with its summary. */
export const derivedSummary = (call: CallRow): DerivedSummary => call.summary![wire.summary];

export const callUser = (call: CallRow): string | null => call[wire.userId] ?? null;

/** The user whom an application says that it serves, else whose key made the call. */
export const shownUser = (call: CallRow): string =>
  derivedSummary(call).trace_user ?? callUser(call) ?? '';

/** Costs of the call. A root that does not tell all costs of its trace has those of the trace, if the list asked for them. */
const costsOf = (call: CallRow): Record<string, ModelCost> => {
  const { costs, trace_costs } = derivedSummary(call);
  return trace_costs && Object.keys(trace_costs).length > 0 ? trace_costs : (costs ?? {});
};

/** Input tokens with those that a cache served or stored. */
export const inputTokens = (cost: ModelCost): number =>
  cost.prompt_tokens + cost.cache_read_input_tokens + cost.cache_creation_input_tokens;

/**
 * Tokens of all models of a call as the service read them, where it was asked for costs; null when it knows none. An entry
 * without tokens and without a cost is one that could not be read.
 */
export function callTokens(call: CallRow): { input: number; output: number } | null {
  const known = Object.values(costsOf(call)).flatMap((cost) => {
    const [input, output] = [inputTokens(cost), cost.completion_tokens];
    return input + output === 0 && cost.total_cost === null ? [] : [{ input, output }];
  });
  if (known.length === 0) return null;
  return known.reduce((a, b) => ({ input: a.input + b.input, output: a.output + b.output }));
}

/** What a call cost, as far as its models are priced; null when none is. */
export function callCost(call: CallRow): number | null {
  const totals = Object.values(costsOf(call)).map(({ total_cost }) => total_cost);
  const known = totals.filter((total) => total !== null);
  return known.length === 0 ? null : known.reduce((sum, total) => sum + total, 0);
}
