import { isObject } from '../../platform/json/is-object.js';

/** Values that a summary tells; more are left out. */
const MAX_VALUES = 1000;
const MAX_LEVELS = 32;

/**
 * What the SDKs say of many values when a scorer has no summary of its own: booleans are counted, numbers averaged, members of
 * objects summed up each by itself. Nulls are left out, and the first other value decides which of these it is.
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

  /** Null where there is nothing to say. */
  take(): object | null {
    const { kind, count, sum } = this;
    if (kind === 'boolean') return { true_count: sum, true_fraction: sum / count };
    if (kind === 'number') return { mean: sum / count };
    if (kind !== 'object') return null;
    const members = Array.from(this.members, ([name, member]) => [name, member.take()] as const);
    const said = members.filter(([, summary]) => summary !== null);
    return said.length > 0 ? Object.fromEntries(said) : null;
  }
}

function kindName(value: unknown) {
  if (typeof value === 'boolean') return 'boolean';
  if (typeof value === 'number') return 'number';
  return isObject(value) ? 'object' : 'other';
}
