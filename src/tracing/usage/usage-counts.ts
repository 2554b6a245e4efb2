import { isObject } from '../../platform/json/json-object.js';
import { type CountName, DIALECTS } from './dialects.js';

/** The entry of a model in `summary.usage`, as a client or provider wrote it. */
export type UsageEntry = Readonly<Record<string, unknown>>;

/** One name of a count. */
export interface CountSpelling {
  name: string;
  count: CountName;
  path: readonly string[];
  /**
   * The element of a list. Google lists counts by modality, as `{modality, tokenCount}`; Bedrock by time, as `{ttl,
   * inputTokens}`.
   */
  modality: string | null;
  /** True when the count is not part of the prompt or the completion, unless a total decides otherwise. */
  isApart: boolean;
}

export const isCount = (value: unknown): value is number =>
  Number.isSafeInteger(value) && Number(value) >= 0;

/** Counts that most entries have. Without further counts, no placement has to be decided. */
const PLAIN_COUNTS = new Set<CountName>(['prompt', 'completion', 'total', 'requests']);

/** Names of each count, those of earlier dialects first. */
const SPELLINGS = new Map<CountName, CountSpelling[]>();
/** Names by the entry's member that they begin with. Every write reads usage, so only existing members are examined. */
const BY_MEMBER = new Map<string, CountSpelling[]>();
for (const { names, apart = [] } of DIALECTS)
  for (const [count, spelled] of Object.entries(names) as [CountName, string | string[]][])
    for (const name of [spelled].flat()) {
      const known = SPELLINGS.get(count) ?? [];
      if (known.some((other) => other.name === name)) continue;
      const [, bare, modality = null] = /^(.*?)(?:\[(\w+)\])?$/.exec(name)!;
      const path = bare!.split('.');
      const spelling = { name, count, path, modality, isApart: apart.includes(count) };
      SPELLINGS.set(count, [...known, spelling]);
      // some clients write a path as one name
      for (const member of new Set([path[0]!, name]))
        BY_MEMBER.set(member, [...(BY_MEMBER.get(member) ?? []), spelling]);
    }

/** Returns the members of an entry that names begin with: all, or only those of counts other than `PLAIN_COUNTS`. */
export const spelledMembers = (which: 'all' | 'details' = 'all'): string[] =>
  [...BY_MEMBER].flatMap(([member, known]) =>
    which === 'all' || known.every(({ count }) => !PLAIN_COUNTS.has(count)) ? [member] : [],
  );

/**
 * Returns the names of a count, or those in `names`.
 * @throws Error for a name that is not in the table
 */
export function spellings(count: CountName, ...names: string[]): readonly CountSpelling[] {
  const all = SPELLINGS.get(count) ?? [];
  if (names.length === 0) return all;
  return names.map((name) => {
    const found = all.find((spelling) => spelling.name === name);
    if (!found) throw new Error(`not a name of ${count}: ${name}`);
    return found;
  });
}

/** Values of an entry, keyed by the names of the table. Null and absent values are left out. */
export class UsageCounts {
  /** True when a count other than `PLAIN_COUNTS` is not 0. */
  hasMore = false;
  /** True when the unit is not tokens. */
  hasOtherUnit = false;
  /** Values of members `input_…` and `output_…` that are not in the table: users of Langfuse name details freely. */
  readonly others: Record<'input' | 'output', unknown[]> = { input: [], output: [] };
  private readonly values = new Map<CountSpelling, unknown>();
  private readonly told = new Set<CountName>();

  constructor(usage: UsageEntry) {
    for (const member of Object.keys(usage)) {
      const known = BY_MEMBER.get(member);
      if (!known) this.addOther(member, usage[member]);
      else for (const spelling of known) this.add(spelling, valueOf(usage, member, spelling));
    }
  }

  /** Returns the first count above 0, or else a count of 0 if one exists. */
  first(names: readonly CountSpelling[]): { amount: number; spelling: CountSpelling } | undefined {
    let zero: ReturnType<UsageCounts['first']>;
    for (const spelling of names) {
      const amount = this.values.get(spelling);
      if (!isCount(amount)) continue;
      if (amount > 0) return { amount, spelling };
      zero ??= { amount, spelling };
    }
    return zero;
  }

  has(count: CountName): boolean {
    return this.told.has(count);
  }

  amount(names: readonly CountSpelling[]): number {
    return this.first(names)?.amount ?? 0;
  }

  /** Returns the values of names that are not valid counts. */
  broken(names: readonly CountSpelling[]): unknown[] {
    return names
      .map((spelling) => this.values.get(spelling))
      .filter((value) => value !== undefined && !isCount(value));
  }

  private add(spelling: CountSpelling, value: unknown): void {
    if (value === null || value === undefined || isLedInto(spelling, value)) return;
    this.values.set(spelling, value);
    this.told.add(spelling.count);
    if (value !== 0 && !PLAIN_COUNTS.has(spelling.count)) this.hasMore = true;
  }

  private addOther(member: string, value: unknown): void {
    if (member === 'unit')
      this.hasOtherUnit = typeof value === 'string' && !/^tokens?$/i.test(value);
    else if (typeof value === 'number' && value !== 0)
      for (const side of ['input', 'output'] as const)
        if (member.startsWith(`${side}_`)) {
          this.others[side].push(value);
          this.hasMore = true;
        }
  }
}

/**
 * Returns true for an object that further names lead into, such as `inputTokens` with `inputTokens.total`: it is no
 * broken count.
 */
const isLedInto = ({ name, path }: CountSpelling, value: unknown): boolean =>
  isObject(value) &&
  path.length === 1 &&
  BY_MEMBER.get(name)!.some((other) => other.path.length > 1);

function valueOf(
  usage: UsageEntry,
  member: string,
  { name, path, modality }: CountSpelling,
): unknown {
  if (member === name) return usage[member];
  const value = path.reduce<unknown>(
    (found, part) =>
      typeof found === 'object' && found !== null && Object.hasOwn(found, part)
        ? (found as UsageEntry)[part]
        : undefined,
    usage,
  );
  return modality === null ? value : ofModality(value, modality);
}

const MAX_MODALITIES = 16;

const isOf = ({ modality, ttl }: UsageEntry, name: string): boolean =>
  [modality, ttl].some(
    (one) => typeof one === 'string' && one.toLowerCase() === name.toLowerCase(),
  );

/** Returns the sum of a list's counts for a modality or a time; undefined when it has none. */
function ofModality(list: unknown, modality: string): unknown {
  if (!Array.isArray(list)) return undefined;
  let sum: number | undefined;
  for (const one of list.slice(0, MAX_MODALITIES) as unknown[]) {
    if (!isObject(one) || !isOf(one, modality)) continue;
    const count = one['tokenCount'] ?? one['token_count'] ?? one['inputTokens'] ?? 0;
    if (!isCount(count)) return count;
    sum = (sum ?? 0) + count;
  }
  return sum;
}
