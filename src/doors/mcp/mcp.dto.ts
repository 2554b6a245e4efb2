import { applyDecorators } from '@nestjs/common';
import { ApiExtraModels, ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { Equals, IsIn, IsInt, IsOptional, IsUUID, Max, Min } from 'class-validator';
import {
  IsAfter,
  IsId,
  IsIdList,
  IsJsonObject,
  IsProjectId,
  IsText,
  MAX_INT,
  MAX_THREAD_BYTES,
  rule,
} from '../../platform/http/dto.js';
import type { ListPosition } from '../../platform/query/keyset.js';
import { CallsQueryDto } from '../../tracing/calls/calls.dto.js';
import { CallStatsDto } from '../../tracing/calls/stats/call-stats.dto.js';
import { FeedbackQueryDto } from '../../tracing/feedback/feedback.dto.js';
import { ObjectReadDto, ObjectsQueryDto } from '../../tracing/objects/objects.dto.js';
import { ProjectsQueryDto } from '../../tracing/projects/projects.dto.js';
import { ThreadsQueryDto } from '../../tracing/threads/threads.dto.js';
import { type JobStatus, STATUSES } from '../../training/jobs/training-job.entity.js';
import { BuildsQueryDto } from '../../training/builds/builds.dto.js';

/** Smallest `max_tokens`: room for a tree of about ten calls. */
export const LEAST_TOKENS = 500;
/** Largest `max_tokens`: a quarter of a small model's context. */
export const MAX_TOKENS = 25_000;
/** `max_tokens` of a request that does not set it. */
export const USUAL_TOKENS = 4000;
/** Maximum number of calls whose documents `read_trace` adds. */
export const MAX_CHOSEN = 10;

const isRequestId = (value: unknown) =>
  Number.isSafeInteger(value) || (typeof value === 'string' && value.length <= 256);

const IsRequestId = () =>
  rule('isRequestId', 'must be an integer, or a string of at most 256 characters', isRequestId);

/** A message of JSON-RPC 2.0: a request, or a notification, which has no `id`. */
export class McpMessageDto {
  @Equals('2.0') @ApiProperty({ type: 'string', enum: ['2.0'] }) jsonrpc!: '2.0';
  @IsOptional()
  @IsRequestId()
  @ApiPropertyOptional({ oneOf: [{ type: 'string' }, { type: 'integer' }] })
  id?: string | number;
  @IsText(256, { min: 1 }) method!: string;
  @IsOptional() @IsJsonObject() params?: object | null;
}

export class McpErrorDto {
  /** A code of JSON-RPC 2.0 or of the Model Context Protocol. */
  @ApiProperty({ type: 'integer' }) code!: number;
  message!: string;
  /** Free-form. */
  @ApiPropertyOptional({ type: 'object', additionalProperties: true }) data?: object;
}

/** A message of JSON-RPC 2.0: a result or an error. */
export class McpAnswerDto {
  @ApiProperty({ type: 'string', enum: ['2.0'] }) jsonrpc!: '2.0';
  @ApiProperty({ oneOf: [{ type: 'string' }, { type: 'integer' }], nullable: true })
  id!: string | number | null;
  /** Free-form, depending on the method. A failure of a tool is a result with `isError`. */
  @ApiPropertyOptional({ type: 'object', additionalProperties: true }) result?: object;
  error?: McpErrorDto;
}

/** Declares the maximum number of tokens of an answer, at 4 bytes each. */
const IsTokens = () =>
  applyDecorators(
    IsOptional(),
    IsInt(),
    Min(LEAST_TOKENS),
    Max(MAX_TOKENS),
    ApiPropertyOptional({
      type: 'integer',
      minimum: LEAST_TOKENS,
      maximum: MAX_TOKENS,
      nullable: true,
    }),
  );

const IsOffset = () =>
  applyDecorators(
    IsOptional(),
    IsInt(),
    Min(0),
    Max(MAX_INT),
    ApiPropertyOptional({ type: 'integer', minimum: 0, nullable: true }),
  );

export class ListProjectsToolDto extends ProjectsQueryDto {
  @IsTokens() max_tokens?: number | null;
}

export class SearchCallsToolDto extends CallsQueryDto {
  @IsTokens() max_tokens?: number | null;
}

export const CALL_PARTS = ['inputs', 'output', 'exception', 'attributes', 'summary'] as const;
export type CallPart = (typeof CALL_PARTS)[number];

export class ReadCallToolDto {
  @IsProjectId() project_id!: string;
  @IsId() id!: string;
  /** Returns only this part, starting at `offset`. */
  @IsOptional()
  @IsIn(CALL_PARTS)
  @ApiPropertyOptional({ enum: CALL_PARTS, nullable: true })
  part?: CallPart | null;
  /** Number of characters of the part's JSON text to skip. */
  @IsOffset() offset?: number | null;
  @IsTokens() max_tokens?: number | null;
}

export class ReadTraceToolDto {
  @IsProjectId() project_id!: string;
  @IsId() trace_id!: string;
  /** Calls for which inputs, output and exception are added. */
  @IsOptional() @IsIdList(MAX_CHOSEN) call_ids?: string[] | null;
  /** The `next_after` of the previous answer. */
  @IsAfter() after?: ListPosition | null;
  @IsTokens() max_tokens?: number | null;
}

export class CompareCallsToolDto {
  @IsProjectId() project_id!: string;
  @IsId() left!: string;
  @IsId() right!: string;
  @IsTokens() max_tokens?: number | null;
}

export class ListThreadsToolDto extends ThreadsQueryDto {
  @IsTokens() max_tokens?: number | null;
}

export class ReadThreadToolDto {
  @IsProjectId() project_id!: string;
  @IsText(MAX_THREAD_BYTES, { min: 1 }) thread_id!: string;
  /** The `next_after` of the previous answer. */
  @IsAfter() after?: ListPosition | null;
  @IsTokens() max_tokens?: number | null;
}

export class CallStatsToolDto extends CallStatsDto {
  @IsTokens() max_tokens?: number | null;
}

export class ListObjectsToolDto extends ObjectsQueryDto {
  @IsTokens() max_tokens?: number | null;
}

export class ReadObjectToolDto extends ObjectReadDto {
  /** Number of characters of the value's JSON text to skip. */
  @IsOffset() offset?: number | null;
  @IsTokens() max_tokens?: number | null;
}

export class ListFeedbackToolDto extends FeedbackQueryDto {
  @IsTokens() max_tokens?: number | null;
}

export class GiveFeedbackToolDto {
  @IsProjectId() project_id!: string;
  @IsId() call_id!: string;
  @IsText(255, { min: 1 }) feedback_type!: string;
  /** Free-form. Stored as sent. */
  @IsJsonObject() payload!: object;
  /** Makes retries safe: feedback with the same id is stored once. */
  @IsOptional() @IsId() id?: string | null;
}

export class ListBuildsToolDto extends BuildsQueryDto {
  @IsTokens() max_tokens?: number | null;
}

export class ListJobsToolDto {
  @IsProjectId() project_id!: string;
  /** Returns this job with its events. */
  @IsOptional() @IsUUID() id?: string | null;
  @IsOptional()
  @IsIn(STATUSES)
  @ApiPropertyOptional({ enum: STATUSES, nullable: true })
  status?: JobStatus | null;
  @IsOptional() @IsUUID() after?: string | null;
  @IsTokens() max_tokens?: number | null;
}

/** Adds the arguments of the tools to openapi.json. */
export const DescribesTools = () =>
  ApiExtraModels(
    ListProjectsToolDto,
    SearchCallsToolDto,
    ReadCallToolDto,
    ReadTraceToolDto,
    CompareCallsToolDto,
    ListThreadsToolDto,
    ReadThreadToolDto,
    CallStatsToolDto,
    ListObjectsToolDto,
    ReadObjectToolDto,
    ListFeedbackToolDto,
    GiveFeedbackToolDto,
    ListBuildsToolDto,
    ListJobsToolDto,
  );
