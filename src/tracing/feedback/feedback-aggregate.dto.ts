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

/** What scorers and people said, added up over time and by what it is about. */
export class FeedbackAggregateDto {
  @IsProjectId() project_id!: string;
  /** Inclusive, of `created_at`, in milliseconds since 1970. */
  @IsInt() @Min(0) @Max(MAX_MS) after_ms!: number;
  /** Exclusive. */
  @IsInt() @Min(0) @Max(MAX_MS) before_ms!: number;
  /** One bucket when absent. */
  @IsOptional() @IsInt() @Min(1) @Max(31_536_000) time_bucket_seconds?: number | null;
  @IsOptional()
  @IsArray()
  @ArrayMaxSize(DIMENSIONS.length)
  @IsIn(DIMENSIONS, { each: true })
  @ApiPropertyOptional({ enum: DIMENSIONS, isArray: true, nullable: true })
  group_by?: Dimension[] | null;
  /** Of these types, or of types that begin so. */
  @IsOptional() @IsTextList(MAX_LISTED, 255) feedback_types?: string[] | null;
  /** Refs of triggers; a `*` at the end stands for any rest. */
  @IsOptional() @IsTextList(MAX_LISTED, MAX_REF) monitor_ids?: string[] | null;
  /** Refs of runnables; a `*` at the end stands for any rest. */
  @IsOptional() @IsTextList(MAX_LISTED, MAX_REF) scorer_ids?: string[] | null;
  /** With at least one of these tags. */
  @IsOptional() @IsTextList(MAX_LISTED, 256) tags?: string[] | null;
  /** With a rating from this on. */
  @IsOptional() @IsNumber() rating_min?: number | null;
  /** With a rating up to this. */
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
  /** By the names of `group_by`; empty where feedback does not say. */
  @MapOf('string') group!: Record<string, string>;
  total_count!: number;
  /** With a tag or a rating. */
  scored_count!: number;
  @MapOf('integer') tag_counts!: Record<string, number>;
  @MapOf('number') rating_sums!: Record<string, number>;
  @MapOf('integer') rating_counts!: Record<string, number>;
}

export class FeedbackAggregatedDto {
  after_ms!: number;
  before_ms!: number;
  @ApiProperty({ type: 'integer', nullable: true }) time_bucket_seconds!: number | null;
  /** Those with feedback, the earliest first. */
  buckets!: FeedbackBucketDto[];
}

export class PayloadSchemaDto {
  @IsProjectId() project_id!: string;
  /** Inclusive. */
  @IsDateTime() start!: string;
  /** Exclusive; now when absent. */
  @IsOptional() @IsDateTime() end?: string | null;
  @IsOptional() @IsText(255) feedback_type?: string | null;
  /** Exact; a `:*` at its end stands for every version. */
  @IsOptional() @IsText(MAX_REF) trigger_ref?: string | null;
  /** Kinds of feedback of which the newest is looked at: types, and triggers of these; 2000 when absent. */
  @IsOptional() @IsInt() @Min(1) @Max(5000) sample_limit?: number | null;
}

export class PayloadPathDto {
  /** As `/feedback/stats` takes it. */
  json_path!: string;
  @ApiProperty({ enum: ['numeric', 'boolean', 'categorical'] }) value_type!: string;
}

export class PayloadPathsDto {
  paths!: PayloadPathDto[];
}
