import type { Decimal } from '../../../platform/json/decimal.js';
import { byCodePoint } from '../../../platform/json/by-code-point.js';
import { Turn } from '../../../platform/time/turn.js';
import { inputTokens, type Tokens } from '../../usage/tokens.js';
import type { CountedUsage, Spending } from '../../costs/costs.service.js';

/** A call, and what it says of models. */
export interface Spender {
  id: string;
  parentId: string | null;
  traceId: string;
  /** Of a span that ran in a call of another trace: that call. */
  linkedCallId: string | null;
  /** The provider's id of the response that it tells of. */
  responseId: string | null;
  startedAt: string;
  own: Map<string, CountedUsage>;
  /** What it spent, at the prices of its start. */
  spending(model: CountedUsage): Spending;
}

/** The answer would hold more than the process should. */
export class TooManyEntries extends Error {}

/**
 * What each call spent together with its descendants among the calls. Each counts what it says beyond its nearest descendants
 * that say anything, as in `countedUsage`, since a parent often repeats the usage of its descendants: SDKs sum up,
 * frameworks repeat the usage of the request that they made. One below that tells of the same response tells all, and
 * what tells of the same response as an earlier call elsewhere counts only for itself. @throws TooManyEntries
 */
export async function rolledUp(
  calls: readonly Spender[],
  maxEntries: number,
): Promise<Map<string, Map<string, Spending>>> {
  const repeats = repeated(calls);
  const below = new Map<Spender, Below>();
  const totals = new Map<string, Map<string, Spending>>();
  const turn = new Turn();
  let entries = 0;
  for (const { call, parent } of bottomUp(calls)) {
    if (turn.isOver) await turn.next();
    const children = below.get(call) ?? nothing();
    below.delete(call);
    const total = totalSpending(call, children);
    totals.set(call.id, total);
    entries += total.size;
    if (entries > maxEntries) throw new TooManyEntries();
    if (!parent) continue;
    const sums = below.get(parent) ?? nothing();
    below.set(parent, sums);
    const isRepeat = repeats.has(call);
    add(sums, isRepeat || call.own.size === 0 ? children : saidBy(call), {
      spent: isRepeat ? children.spent : total,
    });
  }
  // a circle of parents has no leaf to begin with: its calls are left with what they say themselves
  for (const call of calls)
    if (!totals.has(call.id)) totals.set(call.id, totalSpending(call, nothing()));
  return totals;
}

/** What the children of a call spent, and what the nearest calls below it that say anything say, of which responses. */
interface Below {
  spent: Map<string, Spending>;
  said: Map<string, CountedUsage>;
  responses: Set<string>;
}

const nothing = (): Below => ({ spent: new Map(), said: new Map(), responses: new Set() });

const saidBy = ({ own, responseId }: Spender) => ({
  said: own,
  responses: new Set(responseId === null ? [] : [responseId]),
});

function add(
  sums: Below,
  { said, responses }: Pick<Below, 'said' | 'responses'>,
  { spent }: Pick<Below, 'spent'>,
): void {
  for (const [llmId, one] of spent) sums.spent.set(llmId, sum(sums.spent.get(llmId), one));
  for (const [llmId, one] of said) sums.said.set(llmId, saidTogether(sums.said.get(llmId), one));
  for (const response of responses) sums.responses.add(response);
}

/** What a call and its children spent. */
function totalSpending(call: Spender, { spent, said, responses }: Below): Map<string, Spending> {
  const total = new Map(spent);
  if (call.responseId !== null && responses.has(call.responseId)) return total;
  for (const [llmId, own] of call.own) {
    const beyond = beyondChildren(own, said.get(llmId));
    if (beyond) total.set(llmId, sum(total.get(llmId), call.spending(beyond)));
  }
  return total;
}

/** Calls that tell of a response of which an earlier call tells, in another trace or beside them. */
function repeated(calls: readonly Spender[]): Set<Spender> {
  const byResponse = new Map<string, Spender[]>();
  for (const call of calls)
    if (call.responseId !== null && call.own.size > 0) {
      const same = byResponse.get(call.responseId);
      if (same) same.push(call);
      else byResponse.set(call.responseId, [call]);
    }
  const repeats = new Set<Spender>();
  for (const same of byResponse.values()) {
    if (same.length === 1) continue;
    same.sort((a, b) =>
      a.startedAt === b.startedAt ? byCodePoint(a.id, b.id) : byCodePoint(a.startedAt, b.startedAt),
    );
    const [traces, places] = [new Set<string>(), new Set<string>()];
    for (const call of same) {
      const place = JSON.stringify([call.traceId, call.parentId]);
      const isElsewhere = traces.size > (traces.has(call.traceId) ? 1 : 0);
      if (isElsewhere || places.has(place)) repeats.add(call);
      traces.add(call.traceId);
      places.add(place);
    }
  }
  return repeats;
}

/** What a call says of a model beyond those below it; undefined when that is nothing. */
function beyondChildren(
  own: CountedUsage,
  below: CountedUsage | undefined,
): CountedUsage | undefined {
  if (!below) return own;
  const input = Math.max(inputTokens(own.tokens) - inputTokens(below.tokens), 0);
  const more = (kind: keyof Tokens) => Math.max(own.tokens[kind] - below.tokens[kind], 0);
  const completion_tokens = more('completion_tokens');
  if (input === 0 && completion_tokens === 0) return undefined;
  const cache_read_input_tokens = Math.min(more('cache_read_input_tokens'), input);
  const cache_creation_input_tokens = Math.min(
    more('cache_creation_input_tokens'),
    input - cache_read_input_tokens,
  );
  const prompt_tokens = input - cache_read_input_tokens - cache_creation_input_tokens;
  const tokens = {
    prompt_tokens,
    completion_tokens,
    cache_read_input_tokens,
    cache_creation_input_tokens,
  };
  return { ...own, tokens, requests: Math.max(own.requests - below.requests, 0) };
}

/** Each call behind all of its children, with its parent among the calls of its trace, or else the one in which it ran. */
function* bottomUp(calls: readonly Spender[]): Generator<{ call: Spender; parent?: Spender }> {
  const byId = new Map(calls.map((call) => [call.id, call]));
  const findParent = ({ id, parentId, traceId, linkedCallId }: Spender) => {
    const parent = parentId === null || parentId === id ? undefined : byId.get(parentId);
    if (parent?.traceId === traceId) return parent;
    return linkedCallId === null || linkedCallId === id ? undefined : byId.get(linkedCallId);
  };
  const waitsFor = new Map<string, number>();
  for (const call of calls) {
    const parent = findParent(call);
    if (parent) waitsFor.set(parent.id, (waitsFor.get(parent.id) ?? 0) + 1);
  }
  const ready = calls.filter(({ id }) => !waitsFor.has(id));
  for (let call = ready.pop(); call; call = ready.pop()) {
    const parent = findParent(call);
    yield { call, ...(parent && { parent }) };
    if (!parent) continue;
    const left = waitsFor.get(parent.id)! - 1;
    waitsFor.set(parent.id, left);
    if (left === 0) ready.push(parent);
  }
}

/** Tokens of all kinds. */
export const countTokens = ({ tokens }: Spending): number =>
  Object.values(tokens).reduce((a, b) => a + b, 0);

function sum(a: Spending | undefined, b: Spending): Spending {
  if (!a) return b;
  return {
    requests: a.requests + b.requests,
    tokens: byKind(b, (kind) => a.tokens[kind] + b.tokens[kind]),
    costs: byKind(b, (kind) => plus(a.costs[kind], b.costs[kind])),
  };
}

const saidTogether = (a: CountedUsage | undefined, b: CountedUsage): CountedUsage =>
  a
    ? {
        ...a,
        requests: a.requests + b.requests,
        tokens: byKind(b, (kind) => a.tokens[kind] + b.tokens[kind]),
      }
    : b;

const byKind = <Value>(
  { tokens }: { tokens: Tokens },
  countedValue: (kind: keyof Tokens) => Value,
) =>
  Object.fromEntries(
    (Object.keys(tokens) as (keyof Tokens)[]).map((kind) => [kind, countedValue(kind)]),
  ) as Record<keyof Tokens, Value>;

const plus = (a: Decimal | null, b: Decimal | null) => (a && b ? a.plus(b) : null);
