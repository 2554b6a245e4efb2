import { isObject } from '../../platform/json/json-object.js';
import { type CountName, DIALECTS } from './dialects.js';

/** The entry of a model in `summary.usage`, as some client or provider wrote it. */
export type UsageEntry = Readonly<Record<string, unknown>>;

/** One name of a count. */
export interface CountSpelling {
  name: string;
  count: CountName;
  path: readonly string[];
  /** Google lists counts by modality, each `{modality, tokenCount}`; Bedrock by time, each `{ttl, inputTokens}`. */
  modality: string | null;
  /** It lies beside the prompt or the completion where no total tells. */
  isApart: boolean;
}

export const isCount = (value: unknown): value is number =>
  Number.isSafeInteger(value) && Number(value) >= 0;

/** Counts that most entries have; the others make it worth to look what lies inside what. */
const PLAIN_COUNTS = new Set<CountName>(['prompt', 'completion', 'total', 'requests']);

/** The names of each count, those of earlier dialects first. */
const SPELLINGS = new Map<CountName, CountSpelling[]>();
/** The names by the member of an entry that they begin with. Each write reads usage: only what an entry has is looked at. */
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

/** The names that lead to counts, and the members that they begin with: all, or those of what lies inside or beside the sums. */
export const spelledMembers = (which: 'all' | 'details' = 'all'): string[] =>
  [...BY_MEMBER].flatMap(([member, known]) =>
    which === 'all' || known.every(({ count }) => !PLAIN_COUNTS.has(count)) ? [member] : [],
  );

/** The names of the table for a count, or some of them. @throws Error for a name that the table has not */
export function spellings(count: CountName, ...names: string[]): readonly CountSpelling[] {
  const all = SPELLINGS.get(count) ?? [];
  if (names.length === 0) return all;
  return names.map((name) => {
    const found = all.find((spelling) => spelling.name === name);
    if (!found) throw new Error(`no name of ${count}: ${name}`);
    return found;
  });
}

/** Values of an entry by their names of the table; those that are null or absent are not there. */
export class UsageCounts {
  /** Whether a count beside those of `PLAIN_COUNTS` is not 0. */
  hasMore = false;
  /** The unit is another one than tokens. */
  hasOtherUnit = false;
  /** Members `input_…` and `output_…` that the table does not have: users of Langfuse name details as they like. */
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

  /** The first number above 0, else 0 where one is 0. */
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

  /** Whether the entry holds anything under a name of this count. */
  has(count: CountName): boolean {
    return this.told.has(count);
  }

  amount(names: readonly CountSpelling[]): number {
    return this.first(names)?.amount ?? 0;
  }

  /** The values of names that are no counts. */
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

/** An object is no count that is broken where other names lead into it: `inputTokens` and `inputTokens.total`. */
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

/** The sum of what a list has of a modality, or of a time; undefined where it has none. */
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
