import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import {
  ArrayMaxSize,
  IsArray,
  IsIn,
  IsInt,
  IsNumber,
  IsOptional,
  Max,
  Min,
} from 'class-validator';
import { IsDateTime, IsProjectId, IsText, IsTextList } from '../../platform/http/dto.js';

/** The last millisecond of the year 9999. */
const MAX_MS = 253_402_300_799_999;
const MAX_LISTED = 100;
const MAX_REF = 2048;

const DIMENSIONS = [
  'scorer_id',
  'span_agent_name',
  'span_agent_version',
  'span_status_code',
] as const;
export type Dimension = (typeof DIMENSIONS)[number];
const SPAN_TYPES = ['agent_turn', 'agent_conversation'] as const;

/** Sums of feedback over time and by dimension. */
export class FeedbackAggregateDto {
  @IsProjectId() project_id!: string;
  /** Start of the range of `created_at`, inclusive, in milliseconds since 1970. */
  @IsInt() @Min(0) @Max(MAX_MS) after_ms!: number;
  /** End of the range, exclusive. */
  @IsInt() @Min(0) @Max(MAX_MS) before_ms!: number;
  /** One bucket when absent. */
  @IsOptional() @IsInt() @Min(1) @Max(31_536_000) time_bucket_seconds?: number | null;
  @IsOptional()
  @IsArray()
  @ArrayMaxSize(DIMENSIONS.length)
  @IsIn(DIMENSIONS, { each: true })
  @ApiPropertyOptional({ enum: DIMENSIONS, isArray: true, nullable: true })
  group_by?: Dimension[] | null;
  /** Selects feedback whose type equals one of these or begins with it. */
  @IsOptional() @IsTextList(MAX_LISTED, 255) feedback_types?: string[] | null;
  /** Refs of triggers. A `*` at the end matches any rest. */
  @IsOptional() @IsTextList(MAX_LISTED, MAX_REF) monitor_ids?: string[] | null;
  /** Refs of runnables. A `*` at the end matches any rest. */
  @IsOptional() @IsTextList(MAX_LISTED, MAX_REF) scorer_ids?: string[] | null;
  /** Selects feedback with at least one of these tags. */
  @IsOptional() @IsTextList(MAX_LISTED, 256) tags?: string[] | null;
  /** Selects feedback with a rating of at least this. */
  @IsOptional() @IsNumber() rating_min?: number | null;
  /** Selects feedback with a rating of at most this. */
  @IsOptional() @IsNumber() rating_max?: number | null;
  @IsOptional() @IsTextList(MAX_LISTED, 256) span_agent_names?: string[] | null;
  @IsOptional()
  @IsArray()
  @ArrayMaxSize(SPAN_TYPES.length)
  @IsIn(SPAN_TYPES, { each: true })
  @ApiPropertyOptional({ enum: SPAN_TYPES, isArray: true, nullable: true })
  span_types?: (typeof SPAN_TYPES)[number][] | null;
}

const MapOf = (type: 'string' | 'number' | 'integer') =>
  ApiProperty({ type: 'object', additionalProperties: { type } });

export class FeedbackBucketDto {
  @ApiProperty({ type: 'integer', nullable: true }) time_bucket_start_ms!: number | null;
  /** Values of the `group_by` dimensions; empty texts for feedback without a value. */
  @MapOf('string') group!: Record<string, string>;
  total_count!: number;
  /** Feedback with a tag or a rating. */
  scored_count!: number;
  @MapOf('integer') tag_counts!: Record<string, number>;
  @MapOf('number') rating_sums!: Record<string, number>;
  @MapOf('integer') rating_counts!: Record<string, number>;
}

export class FeedbackAggregatedDto {
  after_ms!: number;
  before_ms!: number;
  @ApiProperty({ type: 'integer', nullable: true }) time_bucket_seconds!: number | null;
  /** Buckets with feedback, the earliest first. */
  buckets!: FeedbackBucketDto[];
}

export class PayloadSchemaDto {
  @IsProjectId() project_id!: string;
  /** Inclusive. */
  @IsDateTime() start!: string;
  /** Exclusive; now when absent. */
  @IsOptional() @IsDateTime() end?: string | null;
  @IsOptional() @IsText(255) feedback_type?: string | null;
  /** An exact ref. A `:*` at its end matches every version. */
  @IsOptional() @IsText(MAX_REF) trigger_ref?: string | null;
  /** Number of combinations of type and trigger whose newest feedback is sampled; 2000 when absent. */
  @IsOptional() @IsInt() @Min(1) @Max(5000) sample_limit?: number | null;
}

export class PayloadPathDto {
  /** A path for `json_path` of `/feedback/stats`. */
  json_path!: string;
  @ApiProperty({ enum: ['numeric', 'boolean', 'categorical'] }) value_type!: string;
}

export class PayloadPathsDto {
  paths!: PayloadPathDto[];
}
