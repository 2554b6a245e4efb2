import { ApiProperty } from '@nestjs/swagger';
import { Type } from 'class-transformer';
import { ArrayMaxSize, IsArray, IsIn, IsOptional, ValidateNested } from 'class-validator';
import { IsText } from '../../platform/http/dto.js';
import {
  type Aggregation,
  bucketSchema,
  IsAggregations,
  IsPercentiles,
  StatsAnswerDto,
  StatsWindowDto,
} from '../statistics/statistics.dto.js';

const VALUE_TYPES = ['numeric', 'boolean', 'categorical'] as const;
export type ValueType = (typeof VALUE_TYPES)[number];

export class FeedbackMetricDto {
  /** A path into the payload, such as `output.score`. */
  @IsText(1000, { min: 1 }) json_path!: string;
  /** Numeric when absent. Selects the values that are counted, and the default aggregations. */
  @IsOptional()
  @IsIn(VALUE_TYPES)
  @ApiProperty({ enum: VALUE_TYPES, required: false, nullable: true })
  value_type?: ValueType | null;
  /**
   * Without aggregations and percentiles: `avg`, `min` and `max` for numeric, `count_true` and `count_false` for
   * boolean, else `count`.
   */
  @IsAggregations() aggregations?: Aggregation[] | null;
  /** Percentiles of numbers, from 0 to 100, interpolated: `[50]` adds `p50_…`. */
  @IsPercentiles() percentiles?: number[] | null;
}

/** Selects feedback that was created within a window. */
export class FeedbackStatsDto extends StatsWindowDto {
  @IsOptional() @IsText(255) feedback_type?: string | null;
  /** An exact ref. A `:*` at its end matches every version. */
  @IsOptional() @IsText(2048) trigger_ref?: string | null;
  @IsOptional()
  @IsArray()
  @ArrayMaxSize(20)
  @ValidateNested({ each: true })
  @Type(() => FeedbackMetricDto)
  metrics?: FeedbackMetricDto[] | null;
}

export class FeedbackStatsAnswerDto extends StatsAnswerDto {
  /** `timestamp`, `count`, and `<aggregation>_<path with _>` of each metric. Includes buckets without feedback. */
  @ApiProperty({ type: 'array', items: bucketSchema() })
  buckets!: object[];
  /** Values of the whole window, by path: `{"output_score": {"avg": 0.5}}`. */
  @ApiProperty({
    type: 'object',
    additionalProperties: {
      type: 'object',
      additionalProperties: { type: 'number', nullable: true },
    },
  })
  window_stats!: object;
}
