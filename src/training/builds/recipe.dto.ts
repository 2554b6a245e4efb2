import { applyDecorators } from '@nestjs/common';
import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { Type } from 'class-transformer';
import {
  ArrayMaxSize,
  ArrayNotEmpty,
  IsArray,
  IsIn,
  IsInt,
  IsNumber,
  IsOptional,
  Max,
  Min,
  ValidateNested,
} from 'class-validator';
import { IsDateTime, IsJsonObject, IsText, IsTextList, rule } from '../../platform/http/dto.js';
import { LINT_CODES, LINT_DOES, type LintCode, type LintDoes } from './lints.js';
import { isObject } from '../../platform/json/is-object.js';

const MAX_NAME = 1024;
const MAX_LISTED = 100;

/** The value of a missing term or reward: a number, or `skip` to leave the unit for later. */
const IsNumberOrSkip = () =>
  applyDecorators(
    IsOptional(),
    rule(
      'isNumberOrSkip',
      'must be a number or "skip"',
      (value) => value === 'skip' || isFinite(value),
    ),
    ApiPropertyOptional({
      oneOf: [{ type: 'number' }, { type: 'string', enum: ['skip'] }],
    }),
  );

const isFinite = (value: unknown): value is number =>
  typeof value === 'number' && Number.isFinite(value);

const IsMap = () =>
  rule(
    'isMap',
    'must be an object of numbers',
    (value) => isObject(value) && Object.values(value).every(isFinite),
  );

const IsScale = () =>
  rule(
    'isScale',
    'must be [from_low, from_high, to_low, to_high], the first two unequal',
    (value) =>
      Array.isArray(value) && value.length === 4 && value.every(isFinite) && value[0] !== value[1],
  );

/** `{<lint>: "error" | "warn" | "drop" | "ignore"}`; `stale_policy` takes `{max_steps, do}` too. */
const IsLintRules = () =>
  rule(
    'isLintRules',
    `must give lints one of ${LINT_DOES.join(', ')} each; the lints are ${LINT_CODES.join(', ')}`,
    (value) =>
      isObject(value) && Object.entries(value).every(([code, does]) => isLintRule(code, does)),
  );

function isLintRule(code: string, rule: unknown): boolean {
  const isStaleRule =
    code === 'stale_policy' &&
    isObject(rule) &&
    Number.isInteger(rule['max_steps']) &&
    (rule['max_steps'] as number) >= 0 &&
    isDoes(rule['do']);
  return (LINT_CODES as readonly string[]).includes(code) && (isStaleRule || isDoes(rule));
}

const isDoes = (value: unknown) => (LINT_DOES as readonly unknown[]).includes(value);

export const UNITS = ['trace', 'turn', 'thread', 'call'] as const;

/** Which recorded runs are taken. */
export class RecipeSelectDto {
  /** A root and its descendants, a turn, the turns of a thread, or one call of a model. */
  @IsOptional() @IsIn(UNITS) unit?: (typeof UNITS)[number] | null;
  /** As in `/calls/stream_query`, of the root of the unit. */
  @IsOptional() @IsJsonObject() filter?: object | null;
  @IsOptional() @IsJsonObject() query?: object | null;
  /** Roots that started at this instant or later. */
  @IsOptional() @IsDateTime() since?: string | null;
  /** Roots that started before this instant. */
  @IsOptional() @IsDateTime() until?: string | null;
  /** A unit waits until its last sign of life is so old. */
  @IsOptional() @IsInt() @Min(0) @Max(31_536_000) settle_s?: number | null;
  /** The newest units, so many. */
  @IsOptional() @IsInt() @Min(1) @Max(100_000) limit?: number | null;
}

/** Which calls are calls of a model, and which of them are trained. */
export class RecipeLlmDto {
  /** A trailing `:*` stands for every digest. Empty: any. */
  @IsOptional()
  @IsTextList(MAX_LISTED, MAX_NAME)
  op_names?: string[] | null;
  @IsOptional()
  @IsTextList(MAX_LISTED, MAX_NAME)
  exclude_op_names?: string[] | null;
  /** Only what this model chose is trained; `<name>:step<N>` counts, and says the step. Null: any model. */
  @IsOptional() @IsText(MAX_NAME, { min: 1 }) policy?: string | null;
}

export class RecipeBuildDto {
  /** Calls that continue an earlier one become one history. */
  @IsOptional() @IsIn(['prefix']) merge?: 'prefix' | null;
  /** Tokens of one history, its prompt included; the lint `too_long` judges by it. */
  @IsOptional() @IsInt() @Min(1) @Max(10_000_000) max_tokens?: number | null;
}

/** One term of the reward: the latest feedback of a type on any call of the unit. */
export class RecipeTermDto {
  @IsText(255, { min: 1 }) feedback!: string;
  /** Into the payload. */
  @IsText(1000, { min: 1 }) path!: string;
  /** What a value is worth, by its text; feedback with another value does not count. */
  @IsOptional()
  @IsMap()
  @ApiProperty({ type: 'object', additionalProperties: { type: 'number' } })
  map?: Record<string, number> | null;
  /** `[from_low, from_high, to_low, to_high]`. */
  @IsOptional()
  @IsScale()
  @ApiProperty({ type: 'array', items: { type: 'number' } })
  scale?: [number, number, number, number] | null;
  @IsOptional() @IsNumber() weight?: number | null;
  @IsNumberOrSkip() missing?: number | 'skip' | null;
}

export class RecipeRewardDto {
  @IsArray()
  @ArrayNotEmpty()
  @ArrayMaxSize(16)
  @ValidateNested({ each: true })
  @Type(() => RecipeTermDto)
  sum!: RecipeTermDto[];
  /** Of terms that say nothing of their own. Missing is not 0. */
  @IsNumberOrSkip() missing?: number | 'skip' | null;
  /** The reward of a unit that failed. */
  @IsNumberOrSkip() exception?: number | 'skip' | null;
}

export class RecipeGroupDto {
  /** The first that has a value: a path into the root call, or `prompt`. */
  @IsOptional()
  @ArrayNotEmpty()
  @IsTextList(8, 1000, { min: 1 })
  by?: string[] | null;
  @IsOptional() @IsInt() @Min(1) @Max(256) min?: number | null;
  @IsOptional() @IsInt() @Min(1) @Max(256) max?: number | null;
}

export class RecipeSplitDto {
  @IsOptional() @IsText(256) salt?: string | null;
  @IsOptional() @IsNumber() @Min(0) @Max(100) eval_percent?: number | null;
}

export class RecipeTrainDto {
  /** Goes to the training job as it stands. */
  @IsOptional() @IsJsonObject() experimental_config?: object | null;
}

/** Which recorded calls become which trajectories, with which rewards, in which groups. */
export class RecipeDto {
  @IsIn([1]) version!: 1;
  @IsOptional() @ValidateNested() @Type(() => RecipeSelectDto) select?: RecipeSelectDto | null;
  @IsOptional() @ValidateNested() @Type(() => RecipeLlmDto) llm?: RecipeLlmDto | null;
  @IsOptional() @ValidateNested() @Type(() => RecipeBuildDto) build?: RecipeBuildDto | null;
  @ValidateNested() @Type(() => RecipeRewardDto) reward!: RecipeRewardDto;
  @IsOptional() @ValidateNested() @Type(() => RecipeGroupDto) group?: RecipeGroupDto | null;
  @IsOptional() @ValidateNested() @Type(() => RecipeSplitDto) split?: RecipeSplitDto | null;
  @IsOptional()
  @IsLintRules()
  @ApiPropertyOptional({ type: 'object', additionalProperties: true })
  lint?: Partial<Record<LintCode, LintDoes | { max_steps: number; do: LintDoes }>> | null;
  @IsOptional() @ValidateNested() @Type(() => RecipeTrainDto) train?: RecipeTrainDto | null;
}
