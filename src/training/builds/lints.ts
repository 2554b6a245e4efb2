import { ApiError } from '../../platform/errors.js';
import type { LintDto } from './build-facts.dto.js';

/** What a recipe may have done about a lint. */
export const LINT_DOES = ['error', 'warn', 'drop', 'ignore'] as const;
export type LintDoes = (typeof LINT_DOES)[number];

/** Every lint, and what is done about it where the recipe says nothing. docs/training.md says what each prevents. */
const LINTS = {
  logprobs_missing: 'error',
  logprobs_incomplete: 'error',
  tokens_not_prefix: 'warn',
  sampling_not_policy: 'warn',
  zero_variance: 'warn',
  small_group: 'drop',
  mixed_prompt: 'warn',
  mixed_tools: 'warn',
  mixed_policy: 'warn',
  stale_policy: 'warn',
  train_eval_leak: 'error',
  duplicate: 'warn',
  too_long: 'drop',
  truncated: 'warn',
  failures_excluded: 'warn',
  label_coverage: 'warn',
  reward_conflict: 'warn',
  reward_nan: 'error',
  tool_call_orphan: 'warn',
  tool_args_reserialised: 'warn',
  kto_imbalance: 'warn',
  dpo_tie: 'warn',
} as const satisfies Record<string, LintDoes>;

export type LintCode = keyof typeof LINTS;
export const LINT_CODES = Object.keys(LINTS) as LintCode[];

/** How many examples of a lint are named. */
const MAX_EXAMPLES = 5;

export type LintRules = Readonly<Record<LintCode, LintDoes>>;

/** The rules of a recipe, with the defaults. */
export const lintRules = (
  given: Readonly<Partial<Record<LintCode, LintDoes | { do: LintDoes }>>>,
): LintRules => ({
  ...LINTS,
  ...Object.fromEntries(
    Object.entries(given).map(([code, rule]) => [code, typeof rule === 'string' ? rule : rule.do]),
  ),
});

/** Counts what is found. */
export class Lints {
  private readonly found = new Map<LintCode, { count: number; examples: string[] }>();

  constructor(readonly rules: LintRules) {}

  /** Notes findings, and calls that they are about. True when these have to be left out. */
  note(code: LintCode, examples: readonly string[], count = 1): boolean {
    if (this.rules[code] === 'ignore' || count === 0) return false;
    const found = this.found.get(code) ?? { count: 0, examples: [] };
    found.count += count;
    found.examples.push(...examples.slice(0, MAX_EXAMPLES - found.examples.length));
    this.found.set(code, found);
    return this.rules[code] === 'drop';
  }

  /** In the order of the catalogue. */
  get list(): LintDto[] {
    return LINT_CODES.flatMap((code): LintDto[] => {
      const found = this.found.get(code);
      if (!found) return [];
      const does = this.rules[code];
      const level = does === 'error' ? 'error' : 'warning';
      return [{ code, level, ...found, ...(does === 'drop' && { is_dropped: true as const }) }];
    });
  }
}

export const lintFailed = (lints: LintDto[], errors: LintDto[]) =>
  new ApiError(
    'lint_failed',
    `the build has ${errors.map(({ code, count }) => `${code} (${count})`).join(', ')}`,
    { extra: { lints } },
  );
