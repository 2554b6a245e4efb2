import { invalidRequest } from '../../../platform/errors.js';
import { assertValid } from '../../../platform/http/validation.js';
import { isObject } from '../../../platform/json/json-object.js';
import type { LintRules } from './lints.js';
import {
  type Purpose,
  RecipeBuildDto,
  RecipeDto,
  RecipeGroupDto,
  RecipeLintDto,
  RecipeLlmDto,
  RecipeRewardDto,
  RecipeSelectDto,
  RecipeSplitDto,
  RecipeTermDto,
  RecipeTrainDto,
} from './recipe.dto.js';

export interface RewardTerm extends RecipeTermDto {
  missing: number | 'skip';
  /** Name of the term in the metrics of a trajectory. */
  metric: string;
}

export interface Recipe {
  select: RecipeSelectDto;
  llm: RecipeLlmDto;
  build: RecipeBuildDto;
  purpose: Purpose;
  reward: Pick<RecipeRewardDto, 'exception' | 'credit' | 'inherit' | 'threshold'> & {
    terms: RewardTerm[];
  };
  group: RecipeGroupDto;
  split: RecipeSplitDto;
  lints: LintRules;
  /** Largest distance in steps of a policy from its newest checkpoint. Beyond it the policy is stale. */
  maxSteps: number;
  train: RecipeTrainDto;
}

/** Members that any published object has: `_class_name`, `_bases`, `_type`, `name`, `description`, `ref`. */
const OBJECT_MEMBERS = /^_|^(name|description|ref)$/;

const STALE_AFTER_STEPS = 4;

/** Defaults of purposes other than RL, which need no groups or no facts about the sampling. */
const UNGROUPED: Partial<RecipeGroupDto> = { min: 1 };
const UNSAMPLED: Partial<RecipeLintDto> = {
  logprobs_missing: 'ignore',
  logprobs_incomplete: 'ignore',
  sampling_not_policy: 'ignore',
  stale_policy: 'ignore',
  mixed_policy: 'ignore',
};
const DEFAULTS: Record<Purpose, { group: Partial<RecipeGroupDto>; lint: Partial<RecipeLintDto> }> =
  {
    rl: { group: {}, lint: {} },
    dpo: { group: {}, lint: UNSAMPLED },
    kto: { group: UNGROUPED, lint: { ...UNSAMPLED, zero_variance: 'ignore' } },
    sft: { group: UNGROUPED, lint: { ...UNSAMPLED, zero_variance: 'ignore' } },
  };

/**
 * Reads a recipe strictly: a mistyped name is an error, and does not count as an absent member. `path` is the path of
 * the recipe in the request.
 * @throws ApiError `invalid_request`
 */
export function readRecipe(value: unknown, path: string): Recipe {
  const given = isObject(value) ? ownMembers(value) : value;
  assertValid(RecipeDto, given, path, { isStrict: true });
  const recipe = given as RecipeDto;
  const reward = withDefaults(RecipeRewardDto, recipe.reward);
  const purpose = recipe.purpose ?? 'rl';
  const group = {
    ...withDefaults(RecipeGroupDto, DEFAULTS[purpose].group),
    ...presentMembers(recipe.group),
  };
  if (group.min > 1 && group.min * 2 - 1 > group.max) {
    const message = 'must be at least twice min, less one, so that a large group can be divided';
    throw invalidRequest([{ path: `${path}.group.max`, message }]);
  }
  const select = withDefaults(RecipeSelectDto, recipe.select);
  if (reward.inherit && select.unit !== 'call') {
    const message = 'is for select.unit "call": other units have the scores of all their calls';
    throw invalidRequest([{ path: `${path}.reward.inherit`, message }]);
  }
  const lint = {
    ...withDefaults(RecipeLintDto, DEFAULTS[purpose].lint),
    ...presentMembers(recipe.lint),
  };
  const { stale_policy: stale } = lint;
  return {
    purpose,
    select,
    llm: withDefaults(RecipeLlmDto, recipe.llm),
    build: withDefaults(RecipeBuildDto, recipe.build),
    reward: { ...reward, terms: readTerms(reward) },
    group,
    split: withDefaults(RecipeSplitDto, recipe.split),
    lints: { ...lint, stale_policy: typeof stale === 'string' ? stale : stale.do },
    maxSteps: typeof stale === 'string' ? STALE_AFTER_STEPS : stale.max_steps,
    train: withDefaults(RecipeTrainDto, recipe.train),
  };
}

const ownMembers = (recipe: object) =>
  Object.fromEntries(Object.entries(recipe).filter(([name]) => !OBJECT_MEMBERS.test(name)));

/** Returns the defaults of a class, replaced by the given members. Null means absent. */
function withDefaults<T extends object>(
  Part: new () => T,
  given: Partial<T> | null | undefined,
): Pick<T, keyof T> {
  return { ...new Part(), ...presentMembers(given) };
}

/** Returns the members that are not null. Null means absent. */
const presentMembers = <T extends object>(given: T | null | undefined): Partial<T> =>
  Object.fromEntries(
    Object.entries(given ?? {}).filter(([, value]) => value !== null),
  ) as Partial<T>;

/** Reads the terms. Terms of the same feedback type get metric names with their paths, so that the names differ. */
function readTerms({ sum, missing }: RecipeRewardDto): RewardTerm[] {
  return sum.map((given, i) => {
    const term = withDefaults(RecipeTermDto, given);
    const { feedback, path } = term;
    const isShared = sum.some((other, k) => k !== i && other.feedback === feedback);
    const metric = isShared ? `${feedback}:${path}` : feedback;
    return { ...term, missing: term.missing ?? missing, metric };
  });
}

/** Returns the step of the policy if one of the names is the policy's. Returns null for another model. */
export function policyStep(
  policy: string | null,
  models: readonly string[],
): { step: number | null } | null {
  let isPolicy = policy === null;
  for (const model of models) {
    const [, name, step] = /^(.*?)(?::step(\d{1,9}))?$/s.exec(model)!;
    if (policy !== null && name !== policy && model !== policy) continue;
    isPolicy = true;
    if (step !== undefined) return { step: Number(step) };
  }
  return isPolicy ? { step: null } : null;
}
