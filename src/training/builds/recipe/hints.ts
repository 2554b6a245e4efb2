import type { HintDto } from '../build-facts.dto.js';
import type { Recipe } from './recipe.js';
import type { LintCode } from './recipe.dto.js';

/** The reason why a unit is not in a build: its outcome, or the lint that left it out. */
export type LeftOutReason = 'waiting' | 'unlabelled' | 'failed' | 'empty' | 'no_key' | LintCode;

/** Lints that leave out units whatever the recipe sets for them. */
const ALWAYS: LeftOutReason[] = ['reward_nan', 'scored_call_unread'];

/** Counts why units are left out, and names the setting of the recipe that leaves out the most. */
export class Hints {
  private readonly leftOut = new Map<LeftOutReason, number>();

  add(reason: LeftOutReason, units = 1): void {
    this.leftOut.set(reason, (this.leftOut.get(reason) ?? 0) + units);
  }

  /** Returns null when no change of the recipe would add units. */
  hintFor(recipe: Recipe, units: number): HintDto | null {
    if (units === 0) return { setting: 'select', value: {}, units: 0 };
    const known = [...this.leftOut].filter(([reason]) => !ALWAYS.includes(reason));
    const [most] = known.toSorted(([a, n], [b, m]) => m - n || (a < b ? -1 : 1));
    if (!most) return null;
    const [reason, count] = most;
    return { ...helpfulSetting(reason, recipe), units: count };
  }
}

function helpfulSetting(reason: LeftOutReason, { llm, group }: Recipe): Omit<HintDto, 'units'> {
  switch (reason) {
    case 'waiting':
      return { setting: 'select.settle_s', value: 0 };
    case 'unlabelled':
      return { setting: 'reward.missing', value: 0 };
    case 'failed':
      return { setting: 'reward.exception', value: 0 };
    case 'empty':
      return llm.policy === null
        ? { setting: 'llm.op_names', value: [] }
        : { setting: 'llm.policy', value: null };
    case 'no_key':
      return { setting: 'group.by', value: [...group.by, 'prompt'] };
    case 'small_group':
      return { setting: 'group.min', value: 1 };
    case 'token_inexact':
      return { setting: 'build.token_exact', value: false };
    default:
      return { setting: `lint.${reason}`, value: 'warn' };
  }
}
