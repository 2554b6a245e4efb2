import { applyDecorators } from '@nestjs/common';
import { Type } from 'class-transformer';
import {
  ArrayMaxSize,
  ArrayNotEmpty,
  IsArray,
  IsBoolean,
  IsIn,
  IsInt,
  IsNumber,
  IsOptional,
  Max,
  Min,
  ValidateIf,
  ValidateNested,
} from 'class-validator';
import { IsDateTime, IsJsonObject, IsText, IsTextList, rule } from '../../../platform/http/dto.js';
import { isObject } from '../../../platform/json/json-object.js';

const MAX_NAME = 1024;
const MAX_LISTED = 100;

/** The value of a missing term or reward: a number, or `skip` to leave the unit for a later build. */
type NumberOrSkip = number | 'skip';

const IsNumberOrSkip = () =>
  applyDecorators(
    IsOptional(),
    rule(
      'isNumberOrSkip',
      'must be a number or "skip"',
      (value) => value === 'skip' || Number.isFinite(value),
    ),
  );

const IsMap = () =>
  rule(
    'isMap',
    'must be an object of numbers',
    (value) => isObject(value) && Object.values(value).every(Number.isFinite),
  );

const IsScale = () =>
  applyDecorators(
    rule(
      'isScale',
      'must be [from_low, from_high, to_low, to_high], the first two unequal',
      (value) =>
        Array.isArray(value) &&
        value.length === 4 &&
        value.every(Number.isFinite) &&
        value[0] !== value[1],
    ),
    rule(
      'isWithoutMap',
      'must not be given together with map',
      (_, at) => !(at!.object as RecipeTermDto).map,
    ),
  );

/** The actions that a recipe can choose for a lint. */
const LINT_ACTIONS = ['error', 'warn', 'drop', 'ignore'] as const;
export type LintAction = (typeof LINT_ACTIONS)[number];

const isLintAction = (value: unknown) => (LINT_ACTIONS as readonly unknown[]).includes(value);

const isGiven = (_: object, value: unknown) => value !== undefined;
const IsLintAction = () => applyDecorators(ValidateIf(isGiven), IsIn(LINT_ACTIONS));

const IsStaleRule = () =>
  applyDecorators(
    ValidateIf(isGiven),
    rule(
      'isStaleRule',
      `must be one of ${LINT_ACTIONS.join(', ')}, or {max_steps, do}, with a whole number from 0 and one of these`,
      (value) =>
        isLintAction(value) ||
        (isObject(value) &&
          Number.isInteger(value['max_steps']) &&
          (value['max_steps'] as number) >= 0 &&
          isLintAction(value['do'])),
    ),
  );

/** The lints and their default actions. docs/training.md describes what each lint prevents. */
export class RecipeLintDto {
  @IsLintAction() logprobs_missing: LintAction = 'error';
  @IsLintAction() logprobs_incomplete: LintAction = 'error';
  @IsLintAction() tokens_not_prefix: LintAction = 'warn';
  @IsLintAction() sampling_not_policy: LintAction = 'warn';
  @IsLintAction() zero_variance: LintAction = 'warn';
  @IsLintAction() small_group: LintAction = 'drop';
  @IsLintAction() mixed_prompt: LintAction = 'warn';
  @IsLintAction() mixed_tools: LintAction = 'warn';
  @IsLintAction() mixed_policy: LintAction = 'warn';
  /** `max_steps` is the largest distance of a policy from its newest checkpoint; beyond it the policy is stale. */
  @IsStaleRule() stale_policy: LintAction | { max_steps: number; do: LintAction } = 'warn';
  @IsLintAction() train_eval_leak: LintAction = 'error';
  @IsLintAction() duplicate: LintAction = 'warn';
  @IsLintAction() too_long: LintAction = 'drop';
  @IsLintAction() truncated: LintAction = 'warn';
  @IsLintAction() failures_excluded: LintAction = 'warn';
  @IsLintAction() label_coverage: LintAction = 'warn';
  @IsLintAction() reward_conflict: LintAction = 'warn';
  @IsLintAction() reward_nan: LintAction = 'error';
  @IsLintAction() tool_call_orphan: LintAction = 'warn';
  @IsLintAction() tool_args_reserialised: LintAction = 'warn';
  @IsLintAction() tool_args_healed: LintAction = 'warn';
  /** Found only when `build.token_exact` is set. These units are always left out. */
  @IsLintAction() token_inexact: LintAction = 'error';
  @IsLintAction() call_unread: LintAction = 'warn';
  /** These units are always left out. */
  @IsLintAction() scored_call_unread: LintAction = 'warn';
  @IsLintAction() kto_imbalance: LintAction = 'warn';
  @IsLintAction() kto_unsigned: LintAction = 'warn';
  @IsLintAction() dpo_tie: LintAction = 'warn';
  @IsLintAction() dpo_same: LintAction = 'warn';
  @IsLintAction() reasoning_lost: LintAction = 'warn';
}

export type LintCode = keyof RecipeLintDto;
export const LINT_CODES = Object.keys(new RecipeLintDto()) as LintCode[];

/** The group key that is a hash of the first prompt of the model. */
export const PROMPT = 'prompt';

const PURPOSES = ['rl', 'sft', 'kto', 'dpo'] as const;
export type Purpose = (typeof PURPOSES)[number];

export const UNITS = ['trace', 'turn', 'thread', 'call'] as const;

/** Selects the recorded runs. */
export class RecipeSelectDto {
  /** The calls of a unit: a root and its descendants, a turn, the turns of a thread, or one call of a model. */
  @IsOptional() @IsIn(UNITS) unit: (typeof UNITS)[number] = 'trace';
  /** Filter on the root of the unit, as in `/calls/stream_query`. */
  @IsOptional() @IsJsonObject() filter: object | null = null;
  @IsOptional() @IsJsonObject() query: object | null = null;
  /** Takes roots that started at this time or later. */
  @IsOptional() @IsDateTime() since: string | null = null;
  /** Takes roots that started before this time. */
  @IsOptional() @IsDateTime() until: string | null = null;
  /** A unit waits until its last activity is at least this many seconds ago. */
  @IsOptional() @IsInt() @Min(0) @Max(31_536_000) settle_s: number = 600;
  /** Largest number of units. The newest ones are taken. */
  @IsOptional() @IsInt() @Min(1) @Max(100_000) limit: number = 1000;
}

/** Selects the calls of a model, and the ones that are trained. */
export class RecipeLlmDto {
  /** Ops of the calls. A trailing `:*` matches every digest. An empty list matches all ops. */
  @IsOptional() @IsTextList(MAX_LISTED, MAX_NAME) op_names: string[] = [];
  @IsOptional() @IsTextList(MAX_LISTED, MAX_NAME) exclude_op_names: string[] = [];
  /** Only choices of this model are trained. `<name>:step<N>` counts too, and gives the step. Null means any model. */
  @IsOptional() @IsText(MAX_NAME, { min: 1 }) policy: string | null = null;
}

export class RecipeBuildDto {
  /** `prefix` joins a call with the earlier call that it continues into one history. */
  @IsOptional() @IsIn(['prefix']) merge = 'prefix' as const;
  /** Largest number of tokens of one history with its prompt. Longer ones get the lint `too_long`. */
  @IsOptional() @IsInt() @Min(1) @Max(10_000_000) max_tokens: number = 32_768;
  /** Takes only units whose tokens were all recorded. Other units get the lint `token_inexact`. */
  @IsOptional() @IsBoolean() token_exact: boolean = false;
}

/** Ways to combine several values of a term: the latest value, or an aggregate of all. */
export const TAKES = ['last', 'sum', 'mean', 'max'] as const;

/** A term of the reward: feedback of one type on any call of the unit. */
export class RecipeTermDto {
  @IsText(255, { min: 1 }) feedback!: string;
  /** Path into the payload of the feedback. */
  @IsText(1000, { min: 1 }) path!: string;
  /** Numbers for values, keyed by the value as text. Feedback with any other value does not count. */
  @IsOptional() @IsMap() map: Record<string, number> | null = null;
  /** `[from_low, from_high, to_low, to_high]`. */
  @IsOptional() @IsScale() scale: [number, number, number, number] | null = null;
  @IsOptional() @IsNumber() weight: number = 1;
  /** Combines several values: the latest one, their sum, their mean, or the highest one. */
  @IsOptional() @IsIn(TAKES) take: (typeof TAKES)[number] = 'last';
  /** Value of the term without feedback. Null means `reward.missing`. */
  @IsNumberOrSkip() missing: NumberOrSkip | null = null;
}

export class RecipeRewardDto {
  @IsArray()
  @ArrayNotEmpty()
  @ArrayMaxSize(16)
  @ValidateNested({ each: true })
  @Type(() => RecipeTermDto)
  sum!: RecipeTermDto[];
  /** Default of terms without a `missing` of their own. A missing reward is not 0. */
  @IsNumberOrSkip() missing: NumberOrSkip = 'skip';
  /** Reward of a unit that failed. */
  @IsNumberOrSkip() exception: NumberOrSkip = 'skip';
  /**
   * `turn`: a score on a call rewards only what was sampled in that call and below it. The unit becomes one
   * trajectory for each score, which trains only these turns.
   */
  @IsOptional() @IsIn(['unit', 'turn']) credit: 'unit' | 'turn' = 'unit';
  /**
   * For `select.unit` `call`: a call without a score takes the score of the nearest call above it (`turn`). With
   * `thread`, it then takes the score of the turns of its thread.
   */
  @IsOptional() @IsIn(['turn', 'thread']) inherit: 'turn' | 'thread' | null = null;
  /** Lowest good reward. SFT takes only trajectories with a good reward, and KTO labels them true. */
  @IsOptional() @IsNumber() threshold: number | null = null;
}

export class RecipeGroupDto {
  /** Group keys: paths into the root call, or `prompt`. The first key with a value is used. */
  @IsOptional()
  @ArrayNotEmpty()
  @IsTextList(8, 1000, { min: 1 })
  by: string[] = ['attributes.task_id', PROMPT];
  @IsOptional() @IsInt() @Min(1) @Max(256) min: number = 2;
  @IsOptional() @IsInt() @Min(1) @Max(256) max: number = 16;
}

export class RecipeSplitDto {
  @IsOptional() @IsText(256) salt: string = '';
  /**
   * Keeps groups whole (`group`), or also threads (`thread`), users (`user`), or calls with the same value at a path
   * into the root call, such as `attributes.user_id`. Groups that share that value are on the same side.
   */
  @IsOptional() @IsText(1000, { min: 1 }) by: string = 'group';
  @IsOptional() @IsNumber() @Min(0) @Max(100) eval_percent: number = 0;
}

export class RecipeTrainDto {
  /** Settings that are passed on to the training job unchanged. */
  @IsOptional() @IsJsonObject() experimental_config: object | null = null;
}

/**
 * A recipe as clients send it: which recorded calls become which trajectories, with which rewards, in which groups. A
 * member that is absent or null has its default.
 */
export class RecipeDto {
  @IsIn([1]) version!: 1;
  /** Purpose of the build, which sets defaults: SFT and KTO need no groups, and only RL needs logprobs. */
  @IsOptional() @IsIn(PURPOSES) purpose?: Purpose | null;
  @IsOptional() @ValidateNested() @Type(() => RecipeSelectDto) select?: RecipeSelectDto | null;
  @IsOptional() @ValidateNested() @Type(() => RecipeLlmDto) llm?: RecipeLlmDto | null;
  @IsOptional() @ValidateNested() @Type(() => RecipeBuildDto) build?: RecipeBuildDto | null;
  @ValidateNested() @Type(() => RecipeRewardDto) reward!: RecipeRewardDto;
  @IsOptional() @ValidateNested() @Type(() => RecipeGroupDto) group?: RecipeGroupDto | null;
  @IsOptional() @ValidateNested() @Type(() => RecipeSplitDto) split?: RecipeSplitDto | null;
  @IsOptional() @ValidateNested() @Type(() => RecipeLintDto) lint?: RecipeLintDto | null;
  @IsOptional() @ValidateNested() @Type(() => RecipeTrainDto) train?: RecipeTrainDto | null;
}
