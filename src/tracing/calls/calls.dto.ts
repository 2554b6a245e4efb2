import { applyDecorators } from '@nestjs/common';
import { ApiExtraModels, ApiProperty, getSchemaPath } from '@nestjs/swagger';
import { Type } from 'class-transformer';
import {
  ArrayNotEmpty,
  IsArray,
  IsBoolean,
  IsInt,
  IsOptional,
  Matches,
  Max,
  Min,
  ValidateNested,
} from 'class-validator';
import {
  ANY_JSON,
  AnyJson,
  IsAfter,
  IsDateTime,
  IsId,
  IsIdList,
  IsJsonObject,
  IsLongText,
  IsOptionalWire,
  IsParentId,
  IsProjectId,
  IsText,
  IsTextList,
  IsThreadId,
  MAX_INT,
  MAX_THREAD_BYTES,
  PageDto,
  rule,
  SortBy,
} from '../../platform/http/dto.js';
import { RefusalDto } from '../../platform/http/refusal.dto.js';
import { WIRE } from '../../platform/http/wire-names.js';
import type { ListPosition } from '../../platform/query/keyset.js';
import type { Sort } from '../../platform/query/columns.js';
import { type CallSource, IsSources } from '../sources.dto.js';

export const MAX_NAME = 1024;
const MAX_LISTED = 1000;
/** Rows of a page that shows what their traces add up to. */
const MAX_TOTALS = 1000;
const isPage = (limit: unknown) => typeof limit === 'number' && limit <= MAX_TOTALS;
/** Items of one `/call/upsert_batch`. */
export const MAX_BATCH = 10_000;

/** An optional list of texts. */
const IsOptionalList = (maxLength: number) =>
  applyDecorators(IsOptionalWire(), IsTextList(MAX_LISTED, maxLength));

/** A quotation mark within a ref would let `strpos` take quadratic time, and no ref has one. */
const IsRefList = () =>
  applyDecorators(
    Matches(/^[^"\\\p{Cc}]*$/u, {
      each: true,
      message: 'must not hold quotation marks, backslashes or control characters',
    }),
    IsOptionalList(MAX_NAME),
  );

/** What is known when a call starts. */
export class CallStartDto {
  @IsProjectId() project_id!: string;
  @IsText(MAX_NAME, { min: 1 }) op_name!: string;
  @IsDateTime() started_at!: string;
  /** Free-form; `{}` when absent. Kept as sent. */
  @IsOptional() @IsJsonObject() attributes?: object | null;
  /** Free-form; `{}` when absent. Kept as sent. */
  @IsOptional() @IsJsonObject() inputs?: object | null;
  /** Generated when absent. */
  @IsOptional() @IsId() id?: string | null;
  @IsOptional() @IsText(MAX_NAME) display_name?: string | null;
  /** When absent: the trace of the stored parent, else a new one. */
  @IsOptional() @IsId() trace_id?: string | null;
  /** Blank, or all zeros as OpenTelemetry has it: no parent. */
  @IsOptional() @IsParentId() parent_id?: string | null;
  @IsThreadId() thread_id?: string | null;
  /** Equal to `id` for a turn call. */
  @IsThreadId() turn_id?: string | null;
  /** An OpenTelemetry span, kept as sent; reads show it as `attributes.otel_span`. */
  @IsOptional() @IsJsonObject() otel_dump?: object | null;
  /** Ignored: the server sets it from the key. */
  @IsOptionalWire() @AnyJson() @ApiProperty({ type: 'string' }) [WIRE.userId]?: string | null;
  @IsOptionalWire() @IsText(MAX_NAME) [WIRE.runId]?: string | null;
  @IsOptionalWire()
  @IsInt()
  @Min(0)
  @Max(MAX_INT)
  @ApiProperty({ type: 'integer', minimum: 0 })
  [WIRE.runStep]?: number | null;
}

export class CallStartBodyDto {
  @ValidateNested() @Type(() => CallStartDto) start!: CallStartDto;
}

export class CallStartedDto {
  id!: string;
  trace_id!: string;
}

/** What is known when a call ends. */
export class CallEndDto {
  @IsProjectId() project_id!: string;
  @IsId() id!: string;
  @IsDateTime() ended_at!: string;
  /** Free-form; `usage` and `status_counts` in it are understood. */
  @IsOptional() @IsJsonObject() summary?: object | null;
  /** Any JSON value. */
  @IsOptional()
  @AnyJson()
  @ApiProperty(ANY_JSON)
  output?: unknown;
  /** Over 1,048,576 characters it is cut, and says so at its end. */
  @IsOptional() @IsLongText() exception?: string | null;
  @IsOptionalWire()
  @IsInt()
  @Min(0)
  @Max(MAX_INT)
  @ApiProperty({ type: 'integer', minimum: 0 })
  [WIRE.runStepEnd]?: number | null;
  /** Used until the start arrives. */
  @IsOptional() @IsDateTime() started_at?: string | null;
  /** Used until the start arrives. */
  @IsOptional() @IsId() trace_id?: string | null;
}

export class CallEndBodyDto {
  @ValidateNested() @Type(() => CallEndDto) end!: CallEndDto;
}

/** `{mode:"start",req:{start}}` or `{mode:"end",req:{end}}`; each is judged by itself. */
export class UpsertBatchDto {
  @IsArray()
  @ApiProperty({ type: 'array', maxItems: MAX_BATCH, items: { type: 'object' } })
  batch!: unknown[];
}

@ApiExtraModels(CallStartedDto, RefusalDto)
export class UpsertBatchAnswerDto {
  /** In the order of the batch: `{id, trace_id}` of a start, `{}` of an end, `{error:{code,detail}}` of a bad item. */
  @ApiProperty({
    type: 'array',
    items: {
      oneOf: [
        { $ref: getSchemaPath(CallStartedDto) },
        { type: 'object', maxProperties: 0, additionalProperties: false },
        { $ref: getSchemaPath(RefusalDto) },
      ],
    },
  })
  res!: object[];
}

/** Whole calls: the fields of a start and of an end in one object each. */
export class CallsCompleteDto {
  @IsArray()
  @ApiProperty({ type: 'array', maxItems: MAX_BATCH, items: { type: 'object' } })
  batch!: unknown[];
}

export class CallReadDto {
  @IsProjectId() project_id!: string;
  @IsId() id!: string;
  /** Adds what the call cost, by model, to the derived part of the summary. */
  @IsOptional() @IsBoolean() include_costs?: boolean | null;
  /** Adds `storage_size_bytes`, of the documents of the call as they are stored. */
  @IsOptional() @IsBoolean() include_storage_size?: boolean | null;
  /** Adds `total_storage_size_bytes`, of all calls of a trace, at its root. */
  @IsOptional() @IsBoolean() include_total_storage_size?: boolean | null;
}

export class CallUpdateDto {
  @IsProjectId() project_id!: string;
  @IsId() call_id!: string;
  /** Null or `""` takes the name away. */
  @IsOptional() @IsText(MAX_NAME) display_name?: string | null;
}

export class CallsDeleteDto {
  @IsProjectId() project_id!: string;
  @ArrayNotEmpty() @IsIdList(MAX_LISTED) call_ids!: string[];
}

export class CallsDeletedDto {
  num_deleted!: number;
}

/** An empty list is no restriction, except of `thread_ids` and `turn_ids`, where it matches nothing. */
export class CallsFilterDto {
  /** A trailing `:*` stands for every digest. */
  @IsOptionalList(MAX_NAME) op_names?: string[] | null;
  @IsRefList() input_refs?: string[] | null;
  @IsRefList() output_refs?: string[] | null;
  @IsOptionalList(256) parent_ids?: string[] | null;
  @IsOptionalList(256) trace_ids?: string[] | null;
  @IsOptionalList(256) call_ids?: string[] | null;
  @IsOptionalList(MAX_THREAD_BYTES) thread_ids?: string[] | null;
  @IsOptionalList(MAX_THREAD_BYTES) turn_ids?: string[] | null;
  @IsOptional() @IsBoolean() trace_roots_only?: boolean | null;
  /** Roots that name a parent, which is not stored: without them these are the roots that name none. */
  @IsOptional() @IsBoolean() orphans_only?: boolean | null;
  /** Calls of production, of evaluations, of the playground: docs/adr/0140-sources-of-calls.md. */
  @IsSources() sources?: CallSource[] | null;
  @IsOptionalList(256) [WIRE.userIds]?: string[] | null;
  @IsOptionalList(MAX_NAME) [WIRE.runIds]?: string[] | null;
}

export class CallsQueryDto extends PageDto {
  @IsProjectId() project_id!: string;
  @IsOptional() @ValidateNested() @Type(() => CallsFilterDto) filter?: CallsFilterDto | null;
  /** An expression tree: docs/adr/0010-query-language.md. */
  @IsOptional() @IsJsonObject() query?: object | null;
  /** By any field, also inside free-form JSON: `inputs.model.name`. */
  @SortBy() sort_by?: Sort[] | null;
  /**
   * Answers the calls behind this one, in place of `offset`: its values of the fields in `sort_by` (without: `started_at`), and
   * its `id`. Each page costs what the first one costs: docs/adr/0017-paging.md.
   */
  @IsAfter() after?: ListPosition | null;
  /** Fields to answer; `id`, `project_id`, `trace_id`, `op_name` and `started_at` are always among them. */
  @IsOptionalList(MAX_NAME) columns?: string[] | null;
  /** Adds what each call cost, by model, to the derived part of the summary. */
  @IsOptional() @IsBoolean() include_costs?: boolean | null;
  /**
   * Adds the feedback of each call to the derived part of the summary: the newest 1000 pieces, of 8 MiB of payload at
   * most. `/feedback/query` has the rest.
   */
  @IsOptional() @IsBoolean() include_feedback?: boolean | null;
  /** Adds `storage_size_bytes`, of the documents of the call as they are stored. */
  @IsOptional() @IsBoolean() include_storage_size?: boolean | null;
  /** Adds `total_storage_size_bytes`, of all calls of a trace, at its root. */
  @IsOptional() @IsBoolean() include_total_storage_size?: boolean | null;
  /**
   * Columns that hold refs of objects of the project, such as `inputs.model`. A field of `query` or `sort_by` below one of them
   * (`inputs.model.temperature`) is a field of that object.
   */
  @IsOptionalList(MAX_NAME) expand_columns?: string[] | null;
  /**
   * Adds, at a root that does not tell the usage of its whole trace as its own, `trace_costs` of all calls of its trace to the derived part of
   * the summary, and at any root
   * `trace_user`, the user whom the attributes of its trace name. For pages: `limit` is at most 1000.
   */
  @IsOptional()
  @IsBoolean()
  @rule(
    'isOfPage',
    `needs a limit of at most ${MAX_TOTALS}`,
    (value, at) => value !== true || (at && isPage((at.object as PageDto).limit)) === true,
  )
  include_trace_totals?: boolean | null;
  /** Adds the name of the user who made each call. */
  @IsOptional() @IsBoolean() include_usernames?: boolean | null;
}

/** Exactly one of `call_ids`, `filter` with or without `query` (or `query` alone), and `before`. */
export class CallsPurgeDto {
  @IsProjectId() project_id!: string;
  /** These calls and their descendants in the same trace. */
  @IsOptional()
  @ArrayNotEmpty()
  @IsIdList(MAX_LISTED)
  call_ids?: string[] | null;
  /** The calls that match, also those that were deleted before. */
  @IsOptional() @ValidateNested() @Type(() => CallsFilterDto) filter?: CallsFilterDto | null;
  /** An expression tree: docs/adr/0010-query-language.md. */
  @IsOptional() @IsJsonObject() query?: object | null;
  /** The calls that started before this; those without a start, by their end. */
  @IsOptional() @IsDateTime() before?: string | null;
}

export class CallsStatsDto {
  @IsProjectId() project_id!: string;
  @IsOptional() @ValidateNested() @Type(() => CallsFilterDto) filter?: CallsFilterDto | null;
  /** An expression tree: docs/adr/0010-query-language.md. */
  @IsOptional() @IsJsonObject() query?: object | null;
  /** As of `/calls/query`. */
  @IsOptionalList(MAX_NAME) expand_columns?: string[] | null;
  /** Counting stops here. */
  @IsOptional() @IsInt() @Min(0) @Max(MAX_INT) limit?: number | null;
}

export class CallsStatsAnswerDto {
  count!: number;
  /** True when there are more than `limit`. */
  has_more!: boolean;
}
