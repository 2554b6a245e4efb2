import { ApiProperty } from '@nestjs/swagger';
import { Type } from 'class-transformer';
import {
  ArrayMaxSize,
  ArrayUnique,
  IsArray,
  IsIn,
  IsOptional,
  ValidateNested,
} from 'class-validator';
import { IsJsonObject, rule } from '../../../platform/http/dto.js';
import {
  type Aggregation,
  bucketSchema,
  IsAggregations,
  IsPercentiles,
  StatsAnswerDto,
  StatsWindowDto,
} from '../../statistics/statistics.dto.js';
import { wire } from '../../../platform/http/wire-names.js';
import { CallsFilterDto } from '../calls.dto.js';

const CALL_METRICS = ['call_count', 'error_count', 'latency_ms'] as const;
const USAGE_METRICS = [
  'input_tokens',
  'output_tokens',
  'total_tokens',
  'cache_read_input_tokens',
  'cache_creation_input_tokens',
  'input_cost',
  'output_cost',
  'total_cost',
] as const;
/** `end_user` is the user of the application; `userId` is the user of the key. */
const groupNames = (userId: string = wire().userId) => ['op_name', userId, 'end_user', 'status'];
const GROUPS = groupNames('svc_user_id');
const GROUP_MEMBERS = Object.fromEntries(
  GROUPS.map((name) => [name, { type: 'string', nullable: true }]),
);

export type CallMetric = (typeof CALL_METRICS)[number];
export type UsageMetric = (typeof USAGE_METRICS)[number];

/** Without aggregations and percentiles, the sum is returned. */
export class CallMetricDto {
  @IsIn(CALL_METRICS) metric!: CallMetric;
  @IsAggregations() aggregations?: Aggregation[] | null;
  /** From 0 to 100, interpolated: `[50, 95]` adds `p50_…` and `p95_…`. */
  @IsPercentiles() percentiles?: number[] | null;
}

/** Without aggregations and percentiles, the sum is returned. */
export class UsageMetricDto {
  @IsIn(USAGE_METRICS) metric!: UsageMetric;
  @IsAggregations() aggregations?: Aggregation[] | null;
  /** From 0 to 100, interpolated: `[50, 95]` adds `p50_…` and `p95_…`. */
  @IsPercentiles() percentiles?: number[] | null;
}

/**
 * Selects the calls that started within a window. Only calls of production count, unless `filter.sources` or the
 * request names others. With `trace_roots_only`, the usage includes all calls below the roots.
 */
export class CallStatsDto extends StatsWindowDto {
  @IsOptional() @ValidateNested() @Type(() => CallsFilterDto) filter?: CallsFilterDto | null;
  /** An expression tree: docs/query-language.md. */
  @IsOptional() @IsJsonObject() query?: object | null;
  @IsOptional()
  @IsArray()
  @ArrayMaxSize(20)
  @ValidateNested({ each: true })
  @Type(() => CallMetricDto)
  call_metrics?: CallMetricDto[] | null;
  @IsOptional()
  @IsArray()
  @ArrayMaxSize(20)
  @ValidateNested({ each: true })
  @Type(() => UsageMetricDto)
  usage_metrics?: UsageMetricDto[] | null;
  /** Divides buckets by these values. Only buckets with calls are then returned. */
  @IsOptional()
  @IsArray()
  @ArrayMaxSize(GROUPS.length) // before the next one, which is quadratic
  @ArrayUnique()
  @rule(
    'isGroup',
    () => `must be one of the following values: ${groupNames().join(', ')}`,
    (value) => groupNames().includes(value as string),
    true,
  )
  @ApiProperty({ enum: GROUPS, isArray: true, required: false, nullable: true })
  group_by?: string[] | null;
}

export class CallStatsAnswerDto extends StatsAnswerDto {
  /** `timestamp`, `count`, and `<aggregation>_<metric>` for each requested value. */
  @ApiProperty({ type: 'array', items: bucketSchema({}, GROUP_MEMBERS) })
  call_buckets!: object[];
  /**
   * Contains the same members for each `model` that was used in a bucket. With costs, also `unpriced_tokens`,
   * `unknown_calls` and `cost_unit`.
   */
  @ApiProperty({
    type: 'array',
    items: bucketSchema(
      { model: { type: 'string' } },
      {
        ...GROUP_MEMBERS,
        unpriced_tokens: { type: 'integer' },
        unknown_calls: { type: 'integer' },
        cost_unit: { type: 'string', nullable: true },
      },
    ),
  })
  usage_buckets!: object[];
}
