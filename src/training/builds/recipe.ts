import { invalidRequest } from '../../platform/errors.js';
import { assertValid } from '../../platform/http/validation.js';
import { isObject } from '../../platform/json/json-object.js';
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
  /** Under which the trajectory's metrics hold what the term is worth. */
  metric: string;
}

/** A recipe that is checked, with its defaults. */
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
  /** A policy is stale that lies further behind its newest checkpoint. */
  maxSteps: number;
  train: RecipeTrainDto;
}

/** Of any object that is published: `_class_name`, `_bases`, `_type`, `name`, `description`, `ref`. */
const OBJECT_MEMBERS = /^_|^(name|description|ref)$/;

const STALE_AFTER_STEPS = 4;

/** What a purpose other than RL does without: groups, and what the sampling was like. */
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
 * `path` is where the recipe stands in the request. A name that is mistyped must not be taken for one that is absent.
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

/** The defaults of a part, replaced by what is given; null means absent. */
function withDefaults<T extends object>(
  Part: new () => T,
  given: Partial<T> | null | undefined,
): Pick<T, keyof T> {
  return { ...new Part(), ...presentMembers(given) };
}

/** The members that are given; null means absent. */
const presentMembers = <T extends object>(given: T | null | undefined): Partial<T> =>
  Object.fromEntries(
    Object.entries(given ?? {}).filter(([, value]) => value !== null),
  ) as Partial<T>;

/** Two terms that read the same type are told apart by their paths. */
function readTerms({ sum, missing }: RecipeRewardDto): RewardTerm[] {
  return sum.map((given, i) => {
    const term = withDefaults(RecipeTermDto, given);
    const { feedback, path } = term;
    const isShared = sum.some((other, k) => k !== i && other.feedback === feedback);
    const metric = isShared ? `${feedback}:${path}` : feedback;
    return { ...term, missing: term.missing ?? missing, metric };
  });
}

/** Whether a model's name is the policy's, and the step it carries; null for another model. */
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
