import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { LINT_CODES, type LintCode } from './recipe/recipe.dto.js';

/** The outcome of the units that a recipe selects. */
export class BuildCountsDto {
  units!: number;
  /** Units that still run, or were active less than `select.settle_s` seconds ago. */
  waiting!: number;
  /** Units without the feedback that the reward needs. */
  unlabelled!: number;
  /** Units that failed, when `reward.exception` is `skip`. */
  failed!: number;
  /** Units without a call of the policy. */
  empty!: number;
  /** Units without a group key, or in a group that is too small. */
  ungrouped!: number;
  /** Units that are left out because of a lint. */
  dropped!: number;
  trajectories!: number;
  groups!: number;
  eval_groups!: number;
  trained_tokens!: number;
}

export class LintDto {
  @ApiProperty({ enum: LINT_CODES }) code!: LintCode;
  level!: 'error' | 'warning';
  count!: number;
  /** Ids of calls. */
  examples!: string[];
  /** Set when the build leaves out what the lint found. */
  @ApiPropertyOptional({ type: 'boolean', enum: [true] }) is_dropped?: true;
}

/** The setting of the recipe that leaves out the most units, and a value that would keep them. */
export class HintDto {
  setting!: string;
  @ApiProperty({
    nullable: true,
    anyOf: [
      { type: 'number' },
      { type: 'string' },
      { type: 'boolean' },
      { type: 'array', items: { type: 'string' } },
      { type: 'object', description: 'Free-form.', additionalProperties: true },
    ],
  })
  value!: unknown;
  /** Number of units that the setting leaves out. */
  units!: number;
}

export class SpreadDto {
  min!: number;
  median!: number;
  max!: number;
}

export class BinDto {
  from!: number;
  to!: number;
  count!: number;
}

export class RewardFactsDto {
  mean!: number | null;
  std_dev!: number | null;
  min!: number | null;
  max!: number | null;
  /** Mean reward of the evaluation side. The other values cover both sides. */
  eval_mean!: number | null;
  /** Groups whose rewards are all equal. Training learns nothing from them. */
  equal_groups!: number;
  histogram!: BinDto[];
}

const TALLY = { type: 'object', additionalProperties: { type: 'integer' } } as const;

/** Figures to check before training, without the rewards. */
export class PreviewFactsDto {
  /** Mean of each term of the reward. */
  @ApiProperty({ type: 'object', additionalProperties: { type: 'number' } })
  metrics!: Record<string, number>;
  tokens!: SpreadDto;
  turns!: SpreadDto;
  @ApiProperty(TALLY) group_sizes!: Record<string, number>;
  /** Number of trajectories by model. */
  @ApiProperty(TALLY) models!: Record<string, number>;
  @ApiProperty(TALLY) dialects!: Record<string, number>;
  @ApiProperty(TALLY) finish_reasons!: Record<string, number>;
  /** Trajectories with more than one history. */
  several_histories!: number;
}

/** Figures to check before training. */
export class BuildFactsDto extends PreviewFactsDto {
  rewards!: RewardFactsDto;
}
