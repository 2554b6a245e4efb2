import { assertNone, type Violation } from '../../platform/errors.js';
import { unknownMembers, validate } from '../../platform/http/validation.js';
import { lintRules, type LintRules } from './lints.js';
import {
  RecipeBuildDto,
  RecipeDto,
  RecipeGroupDto,
  RecipeLlmDto,
  RecipeRewardDto,
  RecipeSelectDto,
  RecipeSplitDto,
  RecipeTermDto,
  RecipeTrainDto,
  type UNITS,
} from './recipe.dto.js';

export interface Term {
  feedback: string;
  path: string;
  map: Record<string, number> | null;
  scale: [number, number, number, number] | null;
  weight: number;
  missing: number | 'skip';
  /** Under which the trajectory's metrics hold what the term is worth. */
  metric: string;
}

/** A recipe that is checked, with its defaults. */
export interface Recipe {
  unit: (typeof UNITS)[number];
  filter: object | null;
  query: object | null;
  since: string | null;
  until: string | null;
  settleSeconds: number;
  limit: number;
  opNames: string[];
  excludedOpNames: string[];
  policy: string | null;
  maxTokens: number;
  terms: Term[];
  exception: number | 'skip';
  groupBy: string[];
  min: number;
  max: number;
  salt: string;
  evalPercent: number;
  lints: LintRules;
  /** A policy is stale that lies further behind its newest checkpoint. */
  maxSteps: number;
  experimentalConfig: object | null;
}

/** Its parts; a name in one that is mistyped must not be taken for one that is absent. */
const PARTS = {
  select: RecipeSelectDto,
  llm: RecipeLlmDto,
  build: RecipeBuildDto,
  reward: RecipeRewardDto,
  group: RecipeGroupDto,
  split: RecipeSplitDto,
  train: RecipeTrainDto,
};
/** Of any object that is published: `_class_name`, `_bases`, `_type`, `name`, `description`, `ref`. */
const OF_OBJECTS = /^_|^(name|description|ref)$/;

const MAX_VIOLATIONS = 20;
const STALE_AFTER_STEPS = 4;

/** `path` is where the recipe stands in the request. @throws ApiError `invalid_request` */
export function recipeOf(value: unknown, path: string): Recipe {
  const violations = [...validate(RecipeDto, value, path).violations];
  if (violations.length === 0) violations.push(...furtherViolations(value as RecipeDto, path));
  assertNone(violations);
  return withDefaults(value as RecipeDto);
}

function furtherViolations(recipe: RecipeDto, path: string): Violation[] {
  const own = Object.entries(recipe).filter(([name]) => !OF_OBJECTS.test(name));
  const violations = unknownMembers(RecipeDto, Object.fromEntries(own), path);
  for (const [part, dto] of Object.entries(PARTS)) {
    const members = recipe[part as keyof typeof PARTS];
    if (members) violations.push(...unknownMembers(dto, members, `${path}.${part}`));
  }
  for (const [i, term] of recipe.reward.sum.entries()) {
    const at = `${path}.reward.sum[${i}]`;
    violations.push(...unknownMembers(RecipeTermDto, term, at));
    if (term.map && term.scale)
      violations.push({ path: at, message: 'must not have both map and scale' });
  }
  const { min, max } = recipe.group ?? {};
  if ((min ?? MIN) * 2 - 1 > (max ?? MAX) && (min ?? MIN) > 1)
    violations.push({
      path: `${path}.group.max`,
      message: 'must be at least twice min, less one, so that a large group can be divided',
    });
  return violations.slice(0, MAX_VIOLATIONS);
}

const MIN = 2;
const MAX = 16;

function withDefaults(recipe: RecipeDto): Recipe {
  const select = filled(recipe.select, SELECT);
  const llm = filled(recipe.llm, LLM);
  const reward = filled(recipe.reward, REWARD);
  const group = filled(recipe.group, { by: GROUP_BY, min: MIN, max: MAX });
  const split = filled(recipe.split, { salt: '', eval_percent: 0 });
  const stale = recipe.lint?.stale_policy;
  return {
    unit: select.unit,
    filter: select.filter,
    query: select.query,
    since: select.since,
    until: select.until,
    settleSeconds: select.settle_s,
    limit: select.limit,
    opNames: llm.op_names,
    excludedOpNames: llm.exclude_op_names,
    policy: llm.policy,
    maxTokens: filled(recipe.build, { max_tokens: MAX_TOKENS }).max_tokens,
    terms: termsOf(recipe.reward.sum, reward.missing),
    exception: reward.exception,
    groupBy: group.by,
    min: group.min,
    max: group.max,
    salt: split.salt,
    evalPercent: split.eval_percent,
    lints: lintRules(recipe.lint ?? {}),
    maxSteps: typeof stale === 'object' ? stale.max_steps : STALE_AFTER_STEPS,
    experimentalConfig: recipe.train?.experimental_config ?? null,
  };
}

const SELECT: Pick<Recipe, 'unit' | 'filter' | 'query' | 'since' | 'until' | 'limit'> & {
  settle_s: number;
} = {
  unit: 'trace',
  filter: null,
  query: null,
  since: null,
  until: null,
  settle_s: 600,
  limit: 1000,
};
const LLM: { op_names: string[]; exclude_op_names: string[]; policy: string | null } = {
  op_names: [],
  exclude_op_names: [],
  policy: null,
};
const REWARD: Record<'missing' | 'exception', number | 'skip'> = {
  missing: 'skip',
  exception: 'skip',
};
const GROUP_BY = ['attributes.task_id', 'prompt'];
const MAX_TOKENS = 32_768;

/** The defaults, replaced by what is given; null means absent. */
function filled<T extends object>(part: object | null | undefined, defaults: T): T {
  const given = Object.entries(part ?? {}).filter(([, value]) => value !== null);
  return { ...defaults, ...Object.fromEntries(given) };
}

/** The group key that is a hash of what the model was first asked. */
export const PROMPT = 'prompt';

/** Two terms that read the same type are told apart by their paths. */
function termsOf(terms: RecipeTermDto[], missing: number | 'skip'): Term[] {
  return terms.map((term, i) => {
    const isShared = terms.some((other, k) => k !== i && other.feedback === term.feedback);
    return {
      feedback: term.feedback,
      path: term.path,
      map: term.map ?? null,
      scale: term.scale ?? null,
      weight: term.weight ?? 1,
      missing: term.missing ?? missing,
      metric: isShared ? `${term.feedback}:${term.path}` : term.feedback,
    };
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
