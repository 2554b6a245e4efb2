import type { Decimal } from '../../../platform/json/decimal.js';
import { compareCodePoints } from '../../../platform/json/code-point-order.js';
import { groupBy } from '../../../platform/query/grouping.js';
import { EventLoopTurn } from '../../../platform/time/event-loop-turn.js';
import { detailsLeft, addDetails, inputTokens, type Tokens } from '../../usage/tokens.js';
import type { CountedUsage, Spending } from '../../pricing/price.js';
import { MADE_ID_PREFIX, TWIN_ID_PREFIX } from '../../conventions/response-id.js';
import {
  GRACE_SECONDS,
  MAX_INSIDE,
  MAX_NEAR,
  MODEL_AFFIXES,
  REACH_MINUTES,
  UNKNOWN_MODEL,
} from './counted-usage.query.js';

export interface UsageCall {
  id: string;
  parentId: string | null;
  traceId: string;
  /** For a span that ran in a call of another trace: the id of that call. */
  linkedCallId: string | null;
  /** The provider's id of the response that the call reports. */
  responseId: string | null;
  startedAt: string;
  endedAt: string | null;
  own: Map<string, CountedUsage>;
  /** Returns the tokens and costs of a usage, at the prices of the call's start. */
  spending(model: CountedUsage): Spending;
}

/** Thrown if the answer would have more entries than a process should hold. */
export class TooManyEntries extends Error {}

/**
 * Returns the usage of each call together with its descendants among the calls. A parent often repeats the usage of its
 * descendants: SDKs sum up, and frameworks repeat the usage of the request that they made. So a call counts only what
 * exceeds its nearest descendants with usage, as in `countedUsage`. It counts nothing if a call below reports the same
 * response. A call that repeats the response of a call elsewhere counts only in its own result.
 * @throws TooManyEntries
 */
export async function rollUpUsage(
  calls: readonly UsageCall[],
  maxEntries: number,
): Promise<Map<string, Map<string, Spending>>> {
  const repeats = repeatedCalls(calls);
  const children = childrenOf(calls);
  const spentBelow = new Map<UsageCall, Map<string, Spending>>();
  const totals = new Map<string, Map<string, Spending>>();
  const turn = new EventLoopTurn();
  let entries = 0;
  for (const { call, parent } of bottomUp(calls)) {
    if (turn.isOver) await turn.next();
    const below = spentBelow.get(call) ?? new Map<string, Spending>();
    spentBelow.delete(call);
    const total = new Map(below);
    for (const [llmId, model] of excessUsage(call, usageBelow(call, children, repeats)))
      total.set(llmId, sum(total.get(llmId), call.spending(model)));
    totals.set(call.id, total);
    entries += total.size;
    if (entries > maxEntries) throw new TooManyEntries();
    if (!parent) continue;
    const sums = spentBelow.get(parent) ?? new Map<string, Spending>();
    spentBelow.set(parent, sums);
    for (const [llmId, one] of repeats.has(call) ? below : total)
      sums.set(llmId, sum(sums.get(llmId), one));
  }
  // a circle of parents has no leaf to begin with: each of its calls counts only its own usage
  for (const call of calls)
    if (!totals.has(call.id)) {
      const own = [...call.own].map(([llmId, model]) => [llmId, call.spending(model)] as const);
      totals.set(call.id, new Map(own));
    }
  return totals;
}

/** True if the call made no request itself, but sums up what other calls report. */
const isSum = (call: UsageCall): boolean => {
  const [first] = call.own.values();
  return hasMadeId(call) && first?.requests === 0;
};

const hasMadeId = ({ responseId }: UsageCall) => responseId?.startsWith(MADE_ID_PREFIX) === true;

/** True if the call reports exactly one response, and so no request of a call below it. */
const hasOneResponse = (call: UsageCall): boolean => {
  const [first] = call.own.values();
  const isOne = call.own.size === 1 && first!.requests === 1;
  return isOne && call.responseId !== null && !hasMadeId(call);
};

/** True if both calls report the same response. The lower call then counts it. */
const isSameResponse = (call: UsageCall, owner: UsageCall) =>
  owner.responseId !== null && call.responseId === owner.responseId && !isSum(owner);

/**
 * Usage of the nearest calls with usage below a call, keyed by model. Null if one of them reports the same response.
 */
type UsageBelow = ReadonlyMap<string, CountedUsage> | null;

/**
 * Walks down from a call, as `countedUsage` does. A call is visited at most twice: from the nearest call above that
 * reports one response, and from the nearest other call with usage.
 */
function usageBelow(
  owner: UsageCall,
  children: ReadonlyMap<UsageCall, UsageCall[]>,
  repeats: ReadonlySet<UsageCall>,
): UsageBelow {
  const said = new Map<string, CountedUsage>();
  if (owner.own.size === 0) return said;
  const isOne = hasOneResponse(owner);
  const walk = [{ call: owner, inside: isOne ? owner.responseId : null }];
  for (let step = walk.pop(); step; step = walk.pop())
    for (const call of children.get(step.call) ?? []) {
      let { inside } = step;
      if (call.own.size > 0 && !repeats.has(call)) {
        if (isSameResponse(call, owner)) return null;
        if (countsBelow(call, inside, isOne)) addUsageBelow(said, call);
        if (isOne || !hasOneResponse(call)) continue;
        inside = call.responseId;
      }
      walk.push({ call, inside });
    }
  return said;
}

function addUsageBelow(said: Map<string, CountedUsage>, { own }: UsageCall): void {
  for (const [llmId, one] of own) said.set(llmId, addCountedUsage(said.get(llmId), one));
}

/**
 * Returns true if a call adds to the usage below an owner. `inside` is the response of the nearest call above that
 * reports only one.
 */
function countsBelow(call: UsageCall, inside: string | null, isBelowOne: boolean): boolean {
  if (inside === null) return true;
  const isUnnamed = call.responseId === null || hasMadeId(call);
  if (isBelowOne) return isUnnamed && !isSum(call);
  return isSum(call) || (!isUnnamed && call.responseId !== inside);
}

/** Returns the usage of a call that exceeds the usage of the calls below it, keyed by model. */
function excessUsage(call: UsageCall, said: UsageBelow): Iterable<[string, CountedUsage]> {
  if (said === null) return [];
  if (said.size === 0) return call.own;
  if (isCoveredBelow(call.own, said)) return [];
  const kinds = [inputOf, outputOf].map((count) => {
    // a sum also includes the usage of models that it does not name
    const excess = [...said].map(([llmId, one]) => {
      const own = call.own.get(llmId);
      return Math.max(count(one) - (own ? count(own) : 0), 0);
    });
    return { count, excess: isSum(call) ? sumOf(excess) : 0 };
  });
  return [...call.own]
    .toSorted(([a], [b]) => compareCodePoints(a, b))
    .flatMap(([llmId, model]): [string, CountedUsage][] => {
      const told = said.get(llmId);
      const [input, output] = kinds.map((kind) => {
        const beyond = Math.max(kind.count(model) - (told ? kind.count(told) : 0), 0);
        const taken = Math.min(kind.excess, beyond);
        kind.excess -= taken;
        return beyond - taken;
      }) as [number, number];
      const isTold = told !== undefined || isSum(call);
      const isNothing = isTold && input === 0 && output === 0;
      return isNothing ? [] : [[llmId, usageLeft(model, told, input, output)]];
    });
}

/**
 * Returns true if the calls below report as many tokens, and their one model may be the same model under another name.
 */
function isCoveredBelow(
  own: Map<string, CountedUsage>,
  said: ReadonlyMap<string, CountedUsage>,
): boolean {
  if (own.size !== 1 || said.size !== 1) return false;
  const [[name, one], [toldName, told]] = [...own, ...said] as [
    [string, CountedUsage],
    [string, CountedUsage],
  ];
  return (
    inputOf(one) === inputOf(told) &&
    outputOf(one) === outputOf(told) &&
    (areAlike(name, toldName) || [name, toldName].includes(UNKNOWN_MODEL))
  );
}

function areAlike(one: string, other: string): boolean {
  const [a, b] = [one, other].map((name) =>
    name.toLowerCase().replaceAll(new RegExp(MODEL_AFFIXES, 'g'), ''),
  ) as [string, string];
  return a.startsWith(b) || b.startsWith(a);
}

const sumOf = (counts: readonly number[]) => counts.reduce((all, count) => all + count, 0);
const inputOf = ({ tokens }: CountedUsage) => inputTokens(tokens);
const outputOf = ({ tokens }: CountedUsage) => tokens.completion_tokens;

/**
 * Returns the part of a call's usage with the given numbers of input and output tokens. Cached tokens are those that
 * exceed the ones of the calls below, up to the input tokens.
 */
function usageLeft(
  own: CountedUsage,
  below: CountedUsage | undefined,
  input: number,
  completion_tokens: number,
): CountedUsage {
  const more = (kind: keyof Tokens) => Math.max(own.tokens[kind] - (below?.tokens[kind] ?? 0), 0);
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
  return {
    ...own,
    tokens,
    details: detailsLeft(own.details, below?.details, tokens),
    requests: Math.max(own.requests - (below?.requests ?? 0), 0),
  };
}

/**
 * Times, in microseconds, and tokens of a call that may report the request of other calls. Calls may begin until `end`
 * to count as the same request.
 */
interface ResponseReport {
  call: UsageCall;
  start: number;
  ended: number;
  end: number;
  tokens: string;
}

/** Returns calls that repeat the response of another call, which counts it: see `isRepeated` of `countedUsage`. */
function repeatedCalls(calls: readonly UsageCall[]): Set<UsageCall> {
  const telling = calls.filter(({ responseId, own }) => responseId !== null && own.size > 0);
  const repeats = new Set<UsageCall>();
  for (const same of groupBy(telling, ({ responseId }) => responseId!).values()) {
    if (same.length === 1) continue;
    const tellers = same.map(responseReport).toSorted(byStart);
    for (const [place, teller] of tellers.entries())
      if (isRepeat(teller, tellers, place)) repeats.add(teller.call);
  }
  for (const twin of repeatedTwins(calls)) repeats.add(twin);
  return repeats;
}

/**
 * Returns calls without a response id that repeat a sibling. The sibling begins and ends within the call and has as
 * many tokens.
 */
function repeatedTwins(calls: readonly UsageCall[]): UsageCall[] {
  const isTwin = ({ responseId, own }: UsageCall) =>
    responseId?.startsWith(TWIN_ID_PREFIX) === true && own.size > 0;
  const twins = calls.filter(isTwin);
  const placeOf = ({ traceId, parentId }: UsageCall) => JSON.stringify([traceId, parentId]);
  const places = new Set(twins.map(placeOf));
  const beside = groupBy(
    calls.filter((call) => call.own.size > 0 && !hasMadeId(call) && places.has(placeOf(call))),
    placeOf,
  );
  const sorted = new Map(
    [...beside].map(([place, list]) => [place, list.map(responseReport).toSorted(byStart)]),
  );
  return twins.filter((twin) => {
    const { start, ended, tokens } = responseReport(twin);
    const others = sorted.get(placeOf(twin)) ?? [];
    const first = firstAt(others, start);
    return others
      .slice(first, first + MAX_INSIDE)
      .some((other) => other.start <= ended && other.ended <= ended && other.tokens === tokens);
  });
}

const byStart = (a: ResponseReport, b: ResponseReport) =>
  a.start - b.start || compareCodePoints(a.call.id, b.call.id);

/** Returns the position of the first call that begins at `start` or later. */
function firstAt(tellers: readonly ResponseReport[], start: number): number {
  let [low, high] = [0, tellers.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (tellers[middle]!.start < start) low = middle + 1;
    else high = middle;
  }
  return low;
}

function isRepeat(
  teller: ResponseReport,
  tellers: readonly ResponseReport[],
  place: number,
): boolean {
  const { call, start, end, tokens } = teller;
  const isAlike = (other: ResponseReport) => !hasMadeId(call) && isSum(other.call) === isSum(call);
  const isBehind = (other: ResponseReport) => isSum(call) && !isSum(other.call);
  for (let i = place - 1; i >= 0 && i >= place - MAX_NEAR; i--) {
    const other = tellers[i]!;
    if (other.start < start - REACH_MINUTES * 60e6) break;
    if (other.end < start || other.tokens !== tokens) continue;
    if (isBehind(other) || (isAlike(other) && other.call.traceId !== call.traceId)) return true;
  }
  const later = tellers
    .slice(place + 1, place + 1 + MAX_NEAR)
    .filter((other) => other.start <= end && other.tokens === tokens);
  const next = later.find(isAlike);
  return later.some(isBehind) || next?.call.traceId === call.traceId;
}

function responseReport(call: UsageCall): ResponseReport {
  const start = microsecondsOf(call.startedAt);
  const ended = call.endedAt ? Math.max(microsecondsOf(call.endedAt), start) : start;
  const end = Math.min(ended + GRACE_SECONDS * 1e6, start + REACH_MINUTES * 60e6);
  const models = [...call.own.values()];
  const tokens = `${sumOf(models.map(inputOf))}/${sumOf(models.map(outputOf))}`;
  return { call, start, ended, end, tokens };
}

/** Returns microseconds of a time with six digits after the point. */
const microsecondsOf = (time: string) =>
  Date.parse(`${time.slice(0, -8)}Z`) * 1000 + Number(time.slice(-7, -1));

const parentFinder = (calls: readonly UsageCall[]) => {
  const byId = new Map(calls.map((call) => [call.id, call]));
  return ({ id, parentId, traceId }: UsageCall): UsageCall | undefined => {
    const parent = parentId === null || parentId === id ? undefined : byId.get(parentId);
    return parent?.traceId === traceId ? parent : undefined;
  };
};

function childrenOf(calls: readonly UsageCall[]): Map<UsageCall, UsageCall[]> {
  const findParent = parentFinder(calls);
  const children = new Map<UsageCall, UsageCall[]>();
  for (const call of calls) {
    const parent = findParent(call);
    if (!parent) continue;
    const list = children.get(parent);
    if (list) list.push(call);
    else children.set(parent, [call]);
  }
  return children;
}

/**
 * Yields each call after all of its children. `parent` is its parent in the same trace, else the call in which it ran.
 */
function* bottomUp(
  calls: readonly UsageCall[],
): Generator<{ call: UsageCall; parent?: UsageCall }> {
  const byId = new Map(calls.map((call) => [call.id, call]));
  const findOwnParent = parentFinder(calls);
  const findParent = (call: UsageCall) => {
    const { id, linkedCallId } = call;
    return (
      findOwnParent(call) ??
      (linkedCallId === null || linkedCallId === id ? undefined : byId.get(linkedCallId))
    );
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

const addCountedUsage = (a: CountedUsage | undefined, b: CountedUsage): CountedUsage =>
  a
    ? {
        ...a,
        requests: a.requests + b.requests,
        tokens: byKind(b, (kind) => a.tokens[kind] + b.tokens[kind]),
        details: addDetails(a.details, b.details),
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
