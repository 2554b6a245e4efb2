import { ApiError } from '../../../platform/errors.js';
import type { LintDto } from '../build-facts.dto.js';
import { LINT_CODES, type LintCode, type LintAction } from './recipe.dto.js';

const MAX_EXAMPLES = 5;

export type LintRules = Readonly<Record<LintCode, LintAction>>;

export class Lints {
  private readonly found = new Map<LintCode, { count: number; examples: string[] }>();

  constructor(readonly rules: LintRules) {}

  /** Notes findings and example calls. Returns true when the recipe leaves them out. */
  note(code: LintCode, examples: readonly string[], count = 1): boolean {
    if (this.rules[code] === 'ignore' || count === 0) return false;
    const found = this.found.get(code) ?? { count: 0, examples: [] };
    found.count += count;
    found.examples.push(...examples.slice(0, MAX_EXAMPLES - found.examples.length));
    this.found.set(code, found);
    return this.rules[code] === 'drop';
  }

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
