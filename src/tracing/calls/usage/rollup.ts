import type { Decimal } from '../../../platform/json/decimal.js';
import { Turn } from '../../../platform/time/turn.js';
import type { Spending } from '../../costs/costs.service.js';

/** A call, and its own spending by model. */
export interface Spender {
  id: string;
  parentId: string | null;
  traceId: string;
  own: Map<string, Spending>;
}

/** The answer would hold more than the process should. */
export class TooManyEntries extends Error {}

/**
 * What each call spent together with its descendants among the calls. A parent often repeats the usage of its
 * descendants: SDKs sum up, frameworks repeat the usage of the request that they made. So for each model the larger
 * counts: the call's own usage, or the sum of its children. @throws TooManyEntries
 */
export async function rolledUp(
  calls: readonly Spender[],
  maxEntries: number,
): Promise<Map<string, Map<string, Spending>>> {
  const below = new Map<string, Map<string, Spending>>();
  const totals = new Map<string, Map<string, Spending>>();
  const turn = new Turn();
  let entries = 0;
  for (const { call, parent } of bottomUp(calls)) {
    if (turn.isOver) await turn.next();
    const total = larger(call.own, below.get(call.id) ?? new Map());
    below.delete(call.id);
    totals.set(call.id, total);
    entries += total.size;
    if (entries > maxEntries) throw new TooManyEntries();
    if (!parent) continue;
    const sums = below.get(parent.id) ?? new Map<string, Spending>();
    below.set(parent.id, sums);
    for (const [llmId, spending] of total) sums.set(llmId, sum(sums.get(llmId), spending));
  }
  // a circle of parents has no leaf to begin with: its calls are left with what they say themselves
  for (const { id, own } of calls) if (!totals.has(id)) totals.set(id, own);
  return totals;
}

/** Each call behind all of its children, with its parent among the calls of its trace. */
function* bottomUp(calls: readonly Spender[]): Generator<{ call: Spender; parent?: Spender }> {
  const byId = new Map(calls.map((call) => [call.id, call]));
  const parentOf = ({ id, parentId, traceId }: Spender) => {
    const parent = parentId === null || parentId === id ? undefined : byId.get(parentId);
    return parent?.traceId === traceId ? parent : undefined;
  };
  const waitsFor = new Map<string, number>();
  for (const call of calls) {
    const parent = parentOf(call);
    if (parent) waitsFor.set(parent.id, (waitsFor.get(parent.id) ?? 0) + 1);
  }
  const ready = calls.filter(({ id }) => !waitsFor.has(id));
  for (let call = ready.pop(); call; call = ready.pop()) {
    const parent = parentOf(call);
    yield { call, ...(parent && { parent }) };
    if (!parent) continue;
    const left = waitsFor.get(parent.id)! - 1;
    waitsFor.set(parent.id, left);
    if (left === 0) ready.push(parent);
  }
}

function larger(own: Map<string, Spending>, below: Map<string, Spending>): Map<string, Spending> {
  const total = new Map(below);
  for (const [llmId, spending] of own) {
    const ofChildren = below.get(llmId);
    if (!ofChildren || tokensOf(spending) > tokensOf(ofChildren)) total.set(llmId, spending);
  }
  return total;
}

/** Tokens of all kinds. */
export const tokensOf = ({ tokens }: Spending): number =>
  Object.values(tokens).reduce((a, b) => a + b, 0);

function sum(a: Spending | undefined, b: Spending): Spending {
  if (!a) return b;
  const kinds = Object.keys(b.tokens) as (keyof Spending['tokens'])[];
  const added = <T>(add: (kind: (typeof kinds)[number]) => T) =>
    Object.fromEntries(kinds.map((kind) => [kind, add(kind)])) as Record<(typeof kinds)[number], T>;
  return {
    requests: a.requests + b.requests,
    tokens: added((kind) => a.tokens[kind] + b.tokens[kind]),
    costs: added((kind) => plus(a.costs[kind], b.costs[kind])),
  };
}

const plus = (a: Decimal | null, b: Decimal | null) => (a && b ? a.plus(b) : null);
