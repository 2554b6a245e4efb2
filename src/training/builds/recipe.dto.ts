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
import { IsDateTime, IsJsonObject, IsText, IsTextList, rule } from '../../platform/http/dto.js';
import { isObject } from '../../platform/json/json-object.js';

const MAX_NAME = 1024;
const MAX_LISTED = 100;

/** The value of a missing term or reward: a number, or `skip` to leave the unit for later. */
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

/** What a recipe may have done about a lint. */
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

/** Every lint, and what is done about it where the recipe says nothing. docs/training.md says what each prevents. */
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
  /** A policy is stale that lies further behind its newest checkpoint. */
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
  /** Only where `build.token_exact` is set. Such units are always left out. */
  @IsLintAction() token_inexact: LintAction = 'error';
  @IsLintAction() call_unread: LintAction = 'warn';
  /** Such units are always left out. */
  @IsLintAction() scored_call_unread: LintAction = 'warn';
  @IsLintAction() kto_imbalance: LintAction = 'warn';
  @IsLintAction() kto_unsigned: LintAction = 'warn';
  @IsLintAction() dpo_tie: LintAction = 'warn';
  @IsLintAction() dpo_same: LintAction = 'warn';
  @IsLintAction() reasoning_lost: LintAction = 'warn';
}

export type LintCode = keyof RecipeLintDto;
export const LINT_CODES = Object.keys(new RecipeLintDto()) as LintCode[];

/** The group key that is a hash of what the model was first asked. */
export const PROMPT = 'prompt';

const PURPOSES = ['rl', 'sft', 'kto', 'dpo'] as const;
export type Purpose = (typeof PURPOSES)[number];

export const UNITS = ['trace', 'turn', 'thread', 'call'] as const;

/** Which recorded runs are taken. */
export class RecipeSelectDto {
  /** A root and its descendants, a turn, the turns of a thread, or one call of a model. */
  @IsOptional() @IsIn(UNITS) unit: (typeof UNITS)[number] = 'trace';
  /** As in `/calls/stream_query`, of the root of the unit. */
  @IsOptional() @IsJsonObject() filter: object | null = null;
  @IsOptional() @IsJsonObject() query: object | null = null;
  /** Roots that started at this instant or later. */
  @IsOptional() @IsDateTime() since: string | null = null;
  /** Roots that started before this instant. */
  @IsOptional() @IsDateTime() until: string | null = null;
  /** A unit waits until its last sign of life is so old. */
  @IsOptional() @IsInt() @Min(0) @Max(31_536_000) settle_s: number = 600;
  /** The newest units, so many. */
  @IsOptional() @IsInt() @Min(1) @Max(100_000) limit: number = 1000;
}

/** Which calls are calls of a model, and which of them are trained. */
export class RecipeLlmDto {
  /** A trailing `:*` stands for every digest. Empty: any. */
  @IsOptional() @IsTextList(MAX_LISTED, MAX_NAME) op_names: string[] = [];
  @IsOptional() @IsTextList(MAX_LISTED, MAX_NAME) exclude_op_names: string[] = [];
  /** Only what this model chose is trained; `<name>:step<N>` counts, and says the step. Null: any model. */
  @IsOptional() @IsText(MAX_NAME, { min: 1 }) policy: string | null = null;
}

export class RecipeBuildDto {
  /** Calls that continue an earlier one become one history. */
  @IsOptional() @IsIn(['prefix']) merge = 'prefix' as const;
  /** Tokens of one history, its prompt included; the lint `too_long` judges by it. */
  @IsOptional() @IsInt() @Min(1) @Max(10_000_000) max_tokens: number = 32_768;
  /** Only units whose tokens were all recorded; the lint `token_inexact` names the others. */
  @IsOptional() @IsBoolean() token_exact: boolean = false;
}

/** Which of several values of a term counts: the latest one, or what they make together. */
export const TAKES = ['last', 'sum', 'mean', 'max'] as const;

/** One term of the reward: feedback of a type on any call of the unit. */
export class RecipeTermDto {
  @IsText(255, { min: 1 }) feedback!: string;
  /** Into the payload. */
  @IsText(1000, { min: 1 }) path!: string;
  /** What a value is worth, by its text; feedback with another value does not count. */
  @IsOptional() @IsMap() map: Record<string, number> | null = null;
  /** `[from_low, from_high, to_low, to_high]`. */
  @IsOptional() @IsScale() scale: [number, number, number, number] | null = null;
  @IsOptional() @IsNumber() weight: number = 1;
  /** Of several values: the latest, their sum, their mean, or the highest. */
  @IsOptional() @IsIn(TAKES) take: (typeof TAKES)[number] = 'last';
  /** Null: as the reward says. */
  @IsNumberOrSkip() missing: NumberOrSkip | null = null;
}

export class RecipeRewardDto {
  @IsArray()
  @ArrayNotEmpty()
  @ArrayMaxSize(16)
  @ValidateNested({ each: true })
  @Type(() => RecipeTermDto)
  sum!: RecipeTermDto[];
  /** Of terms that say nothing of their own. Missing is not 0. */
  @IsNumberOrSkip() missing: NumberOrSkip = 'skip';
  /** The reward of a unit that failed. */
  @IsNumberOrSkip() exception: NumberOrSkip = 'skip';
  /**
   * `turn`: a score on a call rewards what was sampled in that call and below it, not the whole unit. A unit becomes a
   * trajectory for each score, which trains these turns only.
   */
  @IsOptional() @IsIn(['unit', 'turn']) credit: 'unit' | 'turn' = 'unit';
  /**
   * Of units `call`: a call without a score of its own has that of the nearest call above it (`turn`), and where that has
   * none, that of the turns of its thread (`thread`).
   */
  @IsOptional() @IsIn(['turn', 'thread']) inherit: 'turn' | 'thread' | null = null;
  /** A reward from here on is good: SFT takes only such ones, and KTO labels them true. */
  @IsOptional() @IsNumber() threshold: number | null = null;
}

export class RecipeGroupDto {
  /** The first that has a value: a path into the root call, or `prompt`. */
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
   * What stands on one side as a whole: groups, or groups and `thread` or `user` or the value at a path into the root
   * call, such as `attributes.user_id`. Groups that share one of these stand on the same side.
   */
  @IsOptional() @IsText(1000, { min: 1 }) by: string = 'group';
  @IsOptional() @IsNumber() @Min(0) @Max(100) eval_percent: number = 0;
}

export class RecipeTrainDto {
  /** Goes to the training job as it stands. */
  @IsOptional() @IsJsonObject() experimental_config: object | null = null;
}

/** A recipe as it is sent. A member that is absent or null has the default of its class. Which recorded calls become which trajectories, with which rewards, in which groups. */
export class RecipeDto {
  @IsIn([1]) version!: 1;
  /** What the build is for. It sets defaults: SFT and KTO need no groups, and only RL needs logprobs. */
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
