import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { LINT_CODES, type LintCode } from './recipe.dto.js';

/** What became of the units that a recipe finds. */
export class BuildCountsDto {
  units!: number;
  /** Still running, or not settled. */
  waiting!: number;
  /** No feedback yet. */
  unlabelled!: number;
  /** Failed, and the recipe skips those. */
  failed!: number;
  /** Without a call of the policy. */
  empty!: number;
  /** In a group that is too small. */
  ungrouped!: number;
  /** Left out for a lint. */
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
  /** What was found is left out of the build. */
  @ApiPropertyOptional({ type: 'boolean', enum: [true] }) is_dropped?: true;
}

/** The setting of a recipe that leaves out the most units, and a value with which it would not. */
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
  /** Units that are left out by it. */
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
  /** The mean of the evaluation side; the others are of both. */
  eval_mean!: number | null;
  /** Groups in which all rewards are equal: nothing is learnt from them. */
  equal_groups!: number;
  histogram!: BinDto[];
}

/** How often each name occurs. */
const TALLY = { type: 'object', additionalProperties: { type: 'integer' } } as const;

/** The facts to look at before training, but for the rewards. */
export class PreviewFactsDto {
  /** Means of the single terms of the reward. */
  @ApiProperty({ type: 'object', additionalProperties: { type: 'number' } })
  metrics!: Record<string, number>;
  tokens!: SpreadDto;
  turns!: SpreadDto;
  @ApiProperty(TALLY) group_sizes!: Record<string, number>;
  /** Trajectories by what they hold. */
  @ApiProperty(TALLY) models!: Record<string, number>;
  @ApiProperty(TALLY) dialects!: Record<string, number>;
  @ApiProperty(TALLY) finish_reasons!: Record<string, number>;
  /** Trajectories with more than one history. */
  several_histories!: number;
}

/** The facts to look at before training. */
export class BuildFactsDto extends PreviewFactsDto {
  rewards!: RewardFactsDto;
}
