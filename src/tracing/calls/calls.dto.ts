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
import type { ListPosition } from '../../platform/query/keyset.js';
import type { Sort } from '../../platform/query/columns.js';
import type { CallSource } from '../conventions/call-source.js';
import { IsSources } from '../sources.dto.js';

export const MAX_NAME = 1024;
const MAX_LISTED = 1000;
/** Maximum `limit` of a page with totals of traces. */
const MAX_TOTALS = 1000;
const isPage = (limit: unknown) => typeof limit === 'number' && limit <= MAX_TOTALS;
export const MAX_BATCH = 10_000;

const IsOptionalList = (maxLength: number) =>
  applyDecorators(IsOptional(), IsTextList(MAX_LISTED, maxLength));

/** A list of refs. No ref contains a quotation mark, and with one `strpos` would take quadratic time. */
const IsRefList = () =>
  applyDecorators(
    Matches(/^[^"\\\p{Cc}]*$/u, {
      each: true,
      message: 'must not hold quotation marks, backslashes or control characters',
    }),
    IsOptionalList(MAX_NAME),
  );

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
  /** If absent: the trace of the stored parent, else a new trace. */
  @IsOptional() @IsId() trace_id?: string | null;
  /** Blank, or all zeros as in OpenTelemetry: no parent. */
  @IsOptional() @IsParentId() parent_id?: string | null;
  @IsThreadId() thread_id?: string | null;
  /** Equal to `id` for a turn call. */
  @IsThreadId() turn_id?: string | null;
  /** An OpenTelemetry span, kept as sent. Reads return it as `attributes.otel_span`. */
  @IsOptional() @IsJsonObject() otel_dump?: object | null;
  /** Ignored: the server sets it from the key. */
  @IsOptional() @AnyJson() svc_user_id?: string | null;
  @IsOptional() @IsText(MAX_NAME) svc_run_id?: string | null;
  @IsOptional()
  @IsInt()
  @Min(0)
  @Max(MAX_INT)
  @ApiProperty({ type: 'integer', minimum: 0 })
  svc_run_step?: number | null;
}

export class CallStartBodyDto {
  @ValidateNested() @Type(() => CallStartDto) start!: CallStartDto;
}

export class CallStartedDto {
  id!: string;
  trace_id!: string;
}

export class CallEndDto {
  @IsProjectId() project_id!: string;
  @IsId() id!: string;
  @IsDateTime() ended_at!: string;
  /** Free-form. The service reads `usage` and `status_counts` in it. */
  @IsOptional() @IsJsonObject() summary?: object | null;
  /** Any JSON value. */
  @IsOptional()
  @AnyJson()
  @ApiProperty(ANY_JSON)
  output?: unknown;
  /** If longer than 1,048,576 characters, it is cut, with a note at its end. */
  @IsOptional() @IsLongText() exception?: string | null;
  @IsOptional()
  @IsInt()
  @Min(0)
  @Max(MAX_INT)
  @ApiProperty({ type: 'integer', minimum: 0 })
  svc_run_step_end?: number | null;
  /** Used until the start arrives. */
  @IsOptional() @IsDateTime() started_at?: string | null;
  /** Used until the start arrives. */
  @IsOptional() @IsId() trace_id?: string | null;
}

export class CallEndBodyDto {
  @ValidateNested() @Type(() => CallEndDto) end!: CallEndDto;
}

/** Items `{mode:"start",req:{start}}` or `{mode:"end",req:{end}}`. Each item is validated on its own. */
export class UpsertBatchDto {
  @IsArray()
  @ApiProperty({ type: 'array', maxItems: MAX_BATCH, items: { type: 'object' } })
  batch!: unknown[];
}

@ApiExtraModels(CallStartedDto, RefusalDto)
export class UpsertBatchAnswerDto {
  /**
   * One answer per item, in the order of the batch: `{id, trace_id}` for a start, `{}` for an end,
   * `{error:{code,detail}}` for an invalid item.
   */
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

/** Complete calls: each object has the fields of a start and of an end. */
export class CallsCompleteDto {
  @IsArray()
  @ApiProperty({ type: 'array', maxItems: MAX_BATCH, items: { type: 'object' } })
  batch!: unknown[];
}

export class CallReadDto {
  @IsProjectId() project_id!: string;
  @IsId() id!: string;
  /** Adds the costs of the call, keyed by model, to the derived part of the summary. */
  @IsOptional() @IsBoolean() include_costs?: boolean | null;
  /** Adds `storage_size_bytes`: the stored size of the documents of the call. */
  @IsOptional() @IsBoolean() include_storage_size?: boolean | null;
  /** Adds `total_storage_size_bytes` to a root: the stored size of all calls of its trace. */
  @IsOptional() @IsBoolean() include_total_storage_size?: boolean | null;
}

export class CallUpdateDto {
  @IsProjectId() project_id!: string;
  @IsId() call_id!: string;
  /** Null or `""` removes the name. */
  @IsOptional() @IsText(MAX_NAME) display_name?: string | null;
}

export class CallsDeleteDto {
  @IsProjectId() project_id!: string;
  @ArrayNotEmpty() @IsIdList(MAX_LISTED) call_ids!: string[];
}

export class CallsDeletedDto {
  num_deleted!: number;
}

/** An empty list does not restrict. Exceptions: empty `thread_ids` or `turn_ids` match nothing. */
export class CallsFilterDto {
  /** A trailing `:*` matches every digest. */
  @IsOptionalList(MAX_NAME) op_names?: string[] | null;
  @IsRefList() input_refs?: string[] | null;
  @IsRefList() output_refs?: string[] | null;
  @IsOptionalList(256) parent_ids?: string[] | null;
  @IsOptionalList(256) trace_ids?: string[] | null;
  @IsOptionalList(256) call_ids?: string[] | null;
  @IsOptionalList(MAX_THREAD_BYTES) thread_ids?: string[] | null;
  @IsOptionalList(MAX_THREAD_BYTES) turn_ids?: string[] | null;
  @IsOptional() @IsBoolean() trace_roots_only?: boolean | null;
  /** Only roots that name a parent which is not stored. */
  @IsOptional() @IsBoolean() orphans_only?: boolean | null;
  /** Calls of production, of evaluations or of the playground: docs/adr/0140-sources-of-calls.md. */
  @IsSources() sources?: CallSource[] | null;
  @IsOptionalList(256) svc_user_ids?: string[] | null;
  @IsOptionalList(MAX_NAME) svc_run_ids?: string[] | null;
}

export class CallsQueryDto extends PageDto {
  @IsProjectId() project_id!: string;
  @IsOptional() @ValidateNested() @Type(() => CallsFilterDto) filter?: CallsFilterDto | null;
  /** An expression tree: docs/query-language.md. */
  @IsOptional() @IsJsonObject() query?: object | null;
  /** Sorts by any field, also by one inside free-form JSON: `inputs.model.name`. */
  @SortBy() sort_by?: Sort[] | null;
  /**
   * Returns the calls after this position. Use it in place of `offset`. It holds the call's values of the fields in
   * `sort_by` (default: `started_at`) and its `id`. Each page costs as much as the first: docs/adr/0017-paging.md.
   */
  @IsAfter() after?: ListPosition | null;
  /** Fields to return. `id`, `project_id`, `trace_id`, `op_name` and `started_at` are always returned. */
  @IsOptionalList(MAX_NAME) columns?: string[] | null;
  /** Adds the costs of each call, keyed by model, to the derived part of the summary. */
  @IsOptional() @IsBoolean() include_costs?: boolean | null;
  /**
   * Adds the feedback of each call to the derived part of the summary: the newest 1000 items, with at most 8 MiB of
   * payload. `/feedback/query` returns the rest.
   */
  @IsOptional() @IsBoolean() include_feedback?: boolean | null;
  /** Adds `storage_size_bytes`: the stored size of the documents of the call. */
  @IsOptional() @IsBoolean() include_storage_size?: boolean | null;
  /** Adds `total_storage_size_bytes` to a root: the stored size of all calls of its trace. */
  @IsOptional() @IsBoolean() include_total_storage_size?: boolean | null;
  /**
   * Columns that hold refs to objects of the project, such as `inputs.model`. Fields of `query` and `sort_by` below
   * such a column (`inputs.model.temperature`) are fields of the object.
   */
  @IsOptionalList(MAX_NAME) expand_columns?: string[] | null;
  /**
   * Adds totals of the trace to the derived part of a root's summary. `trace_costs` is the costs of all calls of the
   * trace, for a root that does not report the usage of the whole trace as its own. `trace_user` is the user that
   * attributes of the trace name. Needs a `limit` of at most 1000.
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

/** Set exactly one of: `call_ids`; `filter` or `query`, or both; `before`. */
export class CallsPurgeDto {
  @IsProjectId() project_id!: string;
  /** These calls and their descendants in the same trace. */
  @IsOptional()
  @ArrayNotEmpty()
  @IsIdList(MAX_LISTED)
  call_ids?: string[] | null;
  /** The matching calls, also those that were deleted before. */
  @IsOptional() @ValidateNested() @Type(() => CallsFilterDto) filter?: CallsFilterDto | null;
  /** An expression tree: docs/query-language.md. */
  @IsOptional() @IsJsonObject() query?: object | null;
  /** Calls that started before this time. For a call without a start, its end counts. */
  @IsOptional() @IsDateTime() before?: string | null;
}

export class CallsStatsDto {
  @IsProjectId() project_id!: string;
  @IsOptional() @ValidateNested() @Type(() => CallsFilterDto) filter?: CallsFilterDto | null;
  /** An expression tree: docs/query-language.md. */
  @IsOptional() @IsJsonObject() query?: object | null;
  /** Works as in `/calls/query`. */
  @IsOptionalList(MAX_NAME) expand_columns?: string[] | null;
  /** Counting stops at this number. */
  @IsOptional() @IsInt() @Min(0) @Max(MAX_INT) limit?: number | null;
}

export class CallsStatsAnswerDto {
  count!: number;
  /** True if more than `limit` calls match. */
  has_more!: boolean;
}
