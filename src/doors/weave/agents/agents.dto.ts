import { applyDecorators } from '@nestjs/common';
import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { Type } from 'class-transformer';
import {
  ArrayMaxSize,
  IsArray,
  IsBoolean,
  IsIn,
  IsInt,
  IsNumber,
  IsOptional,
  Max,
  Min,
  ValidateNested,
} from 'class-validator';
import {
  IsCount,
  IsDateTime,
  IsId,
  IsJsonObject,
  IsProjectId,
  IsText,
  IsTextList,
  IsThreadId,
  isDateTime,
  MAX_INT,
  rule,
} from '../../../platform/http/dto.js';
import { IsPercentiles, IsZone } from '../../../tracing/statistics/statistics.dto.js';
import type { CallSource } from '../../../tracing/conventions/call-source.js';
import { IsSources } from '../../../tracing/sources.dto.js';
import { AGENT_SORTS } from './spans.query.js';

/** Rows of a page. */
export const MAX_AGENT_ROWS = 10_000;
export const USUAL_ROWS = 100;
const MAX_SORTS = 32;
const MAX_NAME = 1000;

/** Accepts a limit from 0; absent or null for the usual limit. */
const IsLimit = (max: number, usual: number) =>
  applyDecorators(
    IsOptional(),
    IsInt(),
    Min(0),
    Max(max),
    ApiPropertyOptional({
      type: 'integer',
      minimum: 0,
      maximum: max,
      default: usual,
      nullable: true,
    }),
  );

const DIRECTIONS = ['asc', 'desc'] as const;

/** A sort order. `direction` is `desc` when absent. */
export class AgentSortDto {
  @IsIn(AGENT_SORTS) field!: string;
  @IsOptional() @IsIn(DIRECTIONS) direction?: 'asc' | 'desc' | null;
}

export class SpanSortDto {
  @IsText(MAX_NAME, { min: 1 }) field!: string;
  @IsOptional() @IsIn(DIRECTIONS) direction?: 'asc' | 'desc' | null;
}

const IsListOf = (type: () => new () => object, max: number) =>
  applyDecorators(
    IsOptional(),
    IsArray(),
    ArrayMaxSize(max),
    ValidateNested({ each: true }),
    Type(type),
  );

export class AgentsFilterDto {
  @IsOptional() @IsText(256) agent_name?: string | null;
}

export class AgentPageDto {
  @IsProjectId() project_id!: string;
  /** The last seen first when absent. */
  @IsListOf(() => AgentSortDto, MAX_SORTS) sort_by?: AgentSortDto[] | null;
  @IsLimit(MAX_AGENT_ROWS, USUAL_ROWS) limit?: number | null;
  @IsCount() offset?: number | null;
  /** Counts only spans of these sources: production when absent, all when empty. */
  @IsSources() sources?: CallSource[] | null;
  /** Adds `total_cost_usd`. */
  @IsOptional() @IsBoolean() include_costs?: boolean | null;
}

export class AgentsQueryDto extends AgentPageDto {
  @IsOptional() @ValidateNested() @Type(() => AgentsFilterDto) filters?: AgentsFilterDto | null;
}

export class AgentVersionsQueryDto extends AgentPageDto {
  @IsText(256) agent_name!: string;
}

const SOURCES = [
  'field',
  'column',
  'derived',
  'custom_attrs_string',
  'custom_attrs_int',
  'custom_attrs_float',
  'custom_attrs_bool',
] as const;

/** A field of spans, or a custom attribute with the map that contains it. */
export class ValueRefDto {
  @IsOptional()
  @IsIn(SOURCES)
  @ApiPropertyOptional({ enum: SOURCES, nullable: true })
  source?: (typeof SOURCES)[number] | null;
  /** `input_tokens`, `agent.name`, `gen_ai.agent.name`, or the name of an attribute. */
  @IsText(MAX_NAME, { min: 1 }) key!: string;
}

export class GroupRefDto extends ValueRefDto {
  /** The name in answers; the key when absent. */
  @IsOptional() @IsText(256, { min: 1 }) alias?: string | null;
}

const AGGREGATIONS = [
  'sum',
  'avg',
  'min',
  'max',
  'count',
  'count_distinct',
  'count_true',
  'count_false',
] as const;
export const VALUE_TYPES = ['datetime', 'number', 'boolean', 'string'] as const;
export type SpanValueType = (typeof VALUE_TYPES)[number];

const IsAlias = () => IsText(256, { min: 1 });

export class MeasureDto {
  @IsAlias() alias!: string;
  @IsIn(AGGREGATIONS)
  @ApiProperty({ enum: AGGREGATIONS })
  aggregation!: (typeof AGGREGATIONS)[number];
  /** The value that is aggregated. Optional for `count`. */
  @IsOptional() @ValidateNested() @Type(() => ValueRefDto) value?: ValueRefDto | null;
  @IsOptional()
  @IsIn(VALUE_TYPES)
  @ApiPropertyOptional({ enum: VALUE_TYPES, nullable: true })
  value_type?: SpanValueType | null;
  /** Considers only the spans of a group that match this expression tree. */
  @IsOptional() @IsJsonObject() filter?: object | null;
}

/** Accepts a number or a time. */
const IsBound = () =>
  applyDecorators(
    IsOptional(),
    rule(
      'isBound',
      'must be a number or an ISO 8601 date-time',
      (value) => Number.isFinite(value) || isDateTime(value),
    ),
    ApiPropertyOptional({ nullable: true, oneOf: [{ type: 'number' }, { type: 'string' }] }),
  );

export class GroupFilterDto {
  @ValidateNested() @Type(() => MeasureDto) measure!: MeasureDto;
  /** The keys of the groups, as in the request. */
  @IsListOf(() => GroupRefDto, 8) group_by?: GroupRefDto[] | null;
  @IsBound() min?: number | string | null;
  @IsBound() max?: number | string | null;
}

export class RatingFilterDto {
  @IsText(256, { min: 1 }) scorer_key!: string;
  @IsIn(['gte', 'gt', 'lte', 'lt', 'eq']) op!: 'gte' | 'gt' | 'lte' | 'lt' | 'eq';
  @IsNumber() value!: number;
}

/** Filters on feedback on the trace or the conversation of a span. */
export class SignalFiltersDto {
  /** All of these tags must be present. */
  @IsOptional() @IsTextList(20, 256) tags?: string[] | null;
  /** Each of these must match a rating. */
  @IsListOf(() => RatingFilterDto, 20) ratings?: RatingFilterDto[] | null;
}

export class SpansWantedDto {
  @IsProjectId() project_id!: string;
  /** An expression tree over the fields of spans: docs/adr/0010-query-language.md. */
  @IsOptional() @IsJsonObject() query?: object | null;
  /**
   * Counts only spans of these sources; all when empty. When absent: production, or all if the request names spans,
   * traces or conversations.
   */
  @IsSources() sources?: CallSource[] | null;
}

export class SpansFilterDto extends SpansWantedDto {
  @IsListOf(() => GroupFilterDto, 20) group_filters?: GroupFilterDto[] | null;
  @IsOptional()
  @ValidateNested()
  @Type(() => SignalFiltersDto)
  signal_filters?: SignalFiltersDto | null;
  /** Topics and intents, which this service does not extract: must be empty. */
  @IsOptional() @IsArray() @ArrayMaxSize(0) insight_filters?: object[] | null;
}

const IsStart = () => applyDecorators(IsOptional(), IsDateTime());

export class SpansQueryDto extends SpansFilterDto {
  /** With group keys, the answer has groups instead of spans. */
  @IsListOf(() => GroupRefDto, 8) group_by?: GroupRefDto[] | null;
  @IsListOf(() => MeasureDto, 50) measures?: MeasureDto[] | null;
  /** Histograms of groups are not supported: must be empty. */
  @IsOptional() @IsArray() @ArrayMaxSize(0) group_distributions?: object[] | null;
  /** Has no effect: spans include all their custom attributes. */
  @IsListOf(() => ValueRefDto, 200) custom_attr_columns?: ValueRefDto[] | null;
  /** Adds messages, system instructions, arguments and results of tools, and the span as it was sent. */
  @IsOptional() @IsBoolean() include_details?: boolean | null;
  @IsOptional() @IsBoolean() include_costs?: boolean | null;
  /** Any field. When absent, the newest spans or the largest groups come first. */
  @IsListOf(() => SpanSortDto, MAX_SORTS) sort_by?: SpanSortDto[] | null;
  @IsLimit(MAX_AGENT_ROWS, USUAL_ROWS) limit?: number | null;
  @IsCount() offset?: number | null;
  @IsStart() started_after?: string | null;
  @IsStart() started_before?: string | null;
}

export class CustomAttributesDto extends SpansWantedDto {
  @IsStart() started_after?: string | null;
  @IsStart() started_before?: string | null;
  @IsLimit(2000, 200) limit?: number | null;
  @IsCount() offset?: number | null;
}

export class TraceChatDto {
  @IsProjectId() project_id!: string;
  @IsId() trace_id!: string;
  @IsOptional() @IsBoolean() include_feedback?: boolean | null;
  /** Also shows tool calls that models requested, not only tools that ran. */
  @IsOptional() @IsBoolean() include_model_tool_calls?: boolean | null;
}

export class ConversationChatDto {
  @IsProjectId() project_id!: string;
  @IsText(1280, { min: 1 }) conversation_id!: string;
  @IsOptional() @IsBoolean() include_feedback?: boolean | null;
  /** Also shows tool calls that models requested, not only tools that ran. */
  @IsOptional() @IsBoolean() include_model_tool_calls?: boolean | null;
  @IsLimit(50, 50) limit?: number | null;
  /** Number of newest turns to skip. */
  @IsCount() offset?: number | null;
}

export class ConversationSpansDto {
  @IsProjectId() project_id!: string;
  @IsOptional() @IsTextList(MAX_AGENT_ROWS, 1280) conversation_ids?: string[] | null;
  @IsStart() started_after?: string | null;
  @IsStart() started_before?: string | null;
}

const ROLES = ['', 'user', 'assistant', 'system', 'tool', 'tool_call', 'tool_result'] as const;

export class AgentSearchDto {
  @IsProjectId() project_id!: string;
  /** A part of a message, in upper or lower case. Empty matches all messages. */
  @IsOptional() @IsText(1000) query?: string | null;
  @IsOptional()
  @IsArray()
  @ArrayMaxSize(ROLES.length)
  @IsIn(ROLES, { each: true })
  @ApiPropertyOptional({ enum: ROLES, isArray: true, nullable: true })
  roles?: string[] | null;
  @IsOptional() @IsId() trace_id?: string | null;
  @IsThreadId() conversation_id?: string | null;
  @IsOptional() @IsText(256) agent_name?: string | null;
  @IsOptional() @IsText(256) provider_name?: string | null;
  @IsOptional() @IsText(256) request_model?: string | null;
  /**
   * Counts only spans of these sources; all when empty. When absent: production, or all if the request names spans,
   * traces or conversations.
   */
  @IsSources() sources?: CallSource[] | null;
  /** Cuts messages after 500 characters; true when absent. */
  @IsOptional() @IsBoolean() truncate_content?: boolean | null;
  @IsStart() started_after?: string | null;
  @IsStart() started_before?: string | null;
  /** Limits messages, not conversations. */
  @IsLimit(1000, 20) limit?: number | null;
  @IsCount() offset?: number | null;
}

/** A value that is aggregated over the selected spans of each bucket. */
export class SpanMetricDto {
  @IsAlias() alias!: string;
  @ValidateNested() @Type(() => ValueRefDto) value!: ValueRefDto;
  @IsIn(VALUE_TYPES) @ApiProperty({ enum: VALUE_TYPES }) value_type!: SpanValueType;
  /** Without aggregations and percentiles: `sum` and `avg` for numbers, `count` for other values. */
  @IsOptional()
  @IsArray()
  @ArrayMaxSize(AGGREGATIONS.length)
  @IsIn(AGGREGATIONS, { each: true })
  @ApiPropertyOptional({ enum: AGGREGATIONS, isArray: true, nullable: true })
  aggregations?: (typeof AGGREGATIONS)[number][] | null;
  /** Percentiles of numbers, from 0 to 100, or from 0 to 1 if none is above 1. */
  @IsPercentiles() percentiles?: number[] | null;
}

export class BucketByDto {
  /** Buckets of time. Buckets of numbers are not supported. */
  @IsOptional() @IsIn(['time']) @ApiPropertyOptional({ enum: ['time'] }) type?: 'time' | null;
}

export class SpanStatsDto extends SpansFilterDto {
  /** Inclusive. */
  @IsDateTime() start!: string;
  /** Exclusive; now when absent. At most 31 days after the start. */
  @IsOptional() @IsDateTime() end?: string | null;
  /** Seconds of a bucket. When absent, the length of the window decides. */
  @IsOptional() @IsInt() @Min(1) @Max(MAX_INT) granularity?: number | null;
  @IsOptional() @IsZone() timezone?: string | null;
  @IsListOf(() => SpanMetricDto, 20) metrics?: SpanMetricDto[] | null;
  @IsListOf(() => GroupRefDto, 8) group_by?: GroupRefDto[] | null;
  /** Number of groups in the answer; those with the most spans are kept. */
  @IsLimit(1000, 50) group_limit?: number | null;
  @IsOptional() @ValidateNested() @Type(() => BucketByDto) bucket_by?: BucketByDto | null;
}
