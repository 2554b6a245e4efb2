import { isObject } from '../../../platform/json/json-object.js';

/** Values of a summary. Further ones are left out. */
const MAX_VALUES = 1000;
const MAX_LEVELS = 32;

/**
 * Sums up many values as the SDKs do for a scorer without a summary of its own. Booleans are counted, numbers averaged,
 * and members of objects summed up one by one. Nulls are ignored; the type of the first other value decides for all.
 */
export class AutoSummary {
  private kind: 'boolean' | 'number' | 'object' | 'other' | null = null;
  private count = 0;
  private sum = 0;
  private readonly members = new Map<string, AutoSummary>();

  constructor(
    private readonly room = { left: MAX_VALUES },
    private readonly level = 0,
  ) {}

  add(value: unknown): void {
    if (value === null || value === undefined) return;
    this.kind ??= kindName(value);
    if (this.kind === 'object') {
      if (!isObject(value) || this.level === MAX_LEVELS) return;
      for (const [name, member] of Object.entries(value)) this.member(name)?.add(member);
      return;
    }
    this.count++;
    if (typeof value === 'number' || typeof value === 'boolean') this.sum += Number(value);
  }

  private member(name: string): AutoSummary | undefined {
    const known = this.members.get(name);
    if (known || this.room.left === 0) return known;
    this.room.left--;
    const made = new AutoSummary(this.room, this.level + 1);
    this.members.set(name, made);
    return made;
  }

  /**
   * Returns null when no value was added. `unscored` is the number of trials without a score: they lower
   * `true_fraction`.
   */
  take(unscored = 0): object | null {
    const { kind, count, sum } = this;
    if (kind === 'boolean') return { true_count: sum, true_fraction: sum / (count + unscored) };
    if (kind === 'number') return { mean: sum / count };
    if (kind !== 'object') return null;
    const said = Array.from(
      this.members,
      ([name, member]) => [name, member.take(unscored)] as const,
    ).filter(([, summary]) => summary !== null);
    return said.length > 0 ? Object.fromEntries(said) : null;
  }
}

export class ScoreSummaries {
  private trials = 0;
  private readonly scorers = new Map<string, { summary: AutoSummary; scored: number }>();

  constructor(private readonly room = { left: MAX_VALUES }) {}

  /** Adds the scores of one trial. An empty object counts as no score. */
  add(scores: unknown): void {
    this.trials++;
    if (!isObject(scores)) return;
    for (const [name, value] of Object.entries(scores)) {
      if (isObject(value) && Object.keys(value).length === 0) continue;
      const scorer = this.scorers.get(name) ?? {
        summary: new AutoSummary(this.room),
        scored: 0,
      };
      scorer.scored++;
      scorer.summary.add(value);
      if (this.scorers.size < MAX_VALUES) this.scorers.set(name, scorer);
    }
  }

  take(): Record<string, object> {
    const said = Array.from(
      this.scorers,
      ([name, { summary, scored }]) => [name, summary.take(this.trials - scored)] as const,
    );
    return Object.fromEntries(said.filter(([, summary]) => summary !== null)) as Record<
      string,
      object
    >;
  }
}

function kindName(value: unknown) {
  if (typeof value === 'boolean') return 'boolean';
  if (typeof value === 'number') return 'number';
  return isObject(value) ? 'object' : 'other';
}
