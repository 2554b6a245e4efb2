import { applyDecorators } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import { Type } from 'class-transformer';
import {
  ArrayMaxSize,
  IsArray,
  IsBoolean,
  IsIn,
  IsOptional,
  ValidateNested,
} from 'class-validator';
import {
  AnyJson,
  IsDateTime,
  IsId,
  IsIdList,
  IsProjectId,
  IsText,
  IsTextList,
  PageDto,
  SortBy,
} from '../../platform/http/dto.js';
import type { Sort } from '../../platform/query/columns.js';

/** Queues of a project that are not deleted. */
export const MAX_QUEUES = 1000;
/** Items of a queue. When calls are erased, items behind theirs move up, and each move writes a row. */
export const MAX_QUEUE_ITEMS = 10_000;
/** Calls of one request. */
const MAX_CALLS = 1000;
const MAX_NAME = 256;
const MAX_DESCRIPTION = 16_384;
const MAX_SCORERS = 100;
const MAX_REF = 2048;
const MAX_FIELDS = 100;
const MAX_PATH = 1000;
/** Characters of all paths of a request, since each of its items repeats them. */
export const MAX_PATHS = 4096;
const MAX_ASKED = 1000;

const STATES = ['unstarted', 'in_progress', 'completed', 'skipped'] as const;
export type AnnotationState = (typeof STATES)[number];
/** States that an annotator can set. */
export const STEPS = ['in_progress', 'completed', 'skipped'] as const;

const IsScorerRefs = () => applyDecorators(IsTextList(MAX_SCORERS, MAX_REF, { min: 1 }));

export class AnnotationQueueCreateDto {
  @IsProjectId() project_id!: string;
  @IsText(MAX_NAME, { min: 1 }) name!: string;
  @IsOptional() @IsText(MAX_DESCRIPTION) description?: string | null;
  /** Refs of what annotators fill in, such as AnnotationSpec objects. The objects need not exist. */
  @IsScorerRefs() scorer_refs!: string[];
  /** Ignored: the server sets it from the key. */
  @IsOptional() @AnyJson() svc_user_id?: string | null;
}

export class AnnotationQueueCreatedDto {
  id!: string;
}

export class AnnotationQueuesQueryDto extends PageDto {
  @IsProjectId() project_id!: string;
  /** A part of the name, in upper or lower case. */
  @IsOptional() @IsText(MAX_NAME) name?: string | null;
  /** `id`, `name`, `created_at` or `updated_at`; other fields are ignored. The newest first by default. */
  @SortBy() sort_by?: Sort[] | null;
}

/** The project of a queue, in the query string. */
export class AnnotationQueueReadDto {
  @IsProjectId() project_id!: string;
}

export class AnnotationQueueUpdateDto {
  @IsProjectId() project_id!: string;
  /** Null keeps the current value, as for the members below. */
  @IsOptional() @IsText(MAX_NAME, { min: 1 }) name?: string | null;
  @IsOptional() @IsText(MAX_DESCRIPTION) description?: string | null;
  @IsOptional() @IsScorerRefs() scorer_refs?: string[] | null;
}

export class AnnotationQueueDto {
  id!: string;
  project_id!: string;
  name!: string;
  description!: string;
  scorer_refs!: string[];
  @IsDateTime() created_at!: string;
  created_by!: string;
  @IsDateTime() updated_at!: string;
  @ApiProperty({ type: 'string', format: 'date-time', nullable: true }) deleted_at!: string | null;
}

export class AnnotationQueueAnswerDto {
  queue!: AnnotationQueueDto;
}

export class AnnotationItemsAddDto {
  @IsProjectId() project_id!: string;
  @IsIdList(MAX_CALLS) call_ids!: string[];
  /** Paths into the calls that annotators see, such as `inputs.prompt`. */
  @IsTextList(MAX_FIELDS, MAX_PATH) display_fields!: string[];
}

export class AnnotationItemsAddedDto {
  @ApiProperty({ type: 'integer' }) added_count!: number;
  /** Calls that were in the queue before. Calls that do not exist are counted in neither number. */
  @ApiProperty({ type: 'integer' }) duplicates!: number;
}

export class AnnotationItemsFilterDto {
  @IsOptional() @IsText(MAX_ASKED) id?: string | null;
  @IsOptional() @IsText(MAX_ASKED) call_id?: string | null;
  @IsOptional() @IsText(MAX_REF) call_op_name?: string | null;
  @IsOptional() @IsText(MAX_ASKED) call_trace_id?: string | null;
  @IsOptional() @IsText(MAX_ASKED) added_by?: string | null;
  /** An empty list does not restrict. */
  @IsOptional()
  @IsArray()
  @ArrayMaxSize(MAX_FIELDS)
  @IsIn(STATES, { each: true })
  @ApiProperty({ enum: STATES, isArray: true, required: false })
  annotation_states?: AnnotationState[] | null;
}

export class AnnotationItemsQueryDto extends PageDto {
  @IsProjectId() project_id!: string;
  @IsOptional()
  @ValidateNested()
  @Type(() => AnnotationItemsFilterDto)
  filter?: AnnotationItemsFilterDto | null;
  /** Any field of an item; other fields are ignored. The order of the queue by default. */
  @SortBy() sort_by?: Sort[] | null;
  @IsOptional() @IsBoolean() include_position?: boolean | null;
}

export class AnnotationItemDto {
  id!: string;
  project_id!: string;
  queue_id!: string;
  call_id!: string;
  @IsDateTime() call_started_at!: string;
  @ApiProperty({ type: 'string', format: 'date-time', nullable: true })
  call_ended_at!: string | null;
  call_op_name!: string;
  call_trace_id!: string;
  display_fields!: string[];
  added_by!: string;
  /** The furthest state that an annotator has reached: `completed`, else `skipped`, else `in_progress`. */
  @ApiProperty({ enum: STATES }) annotation_state!: AnnotationState;
  /** The first annotator who reached the state. */
  annotator_user_id!: string | null;
  @IsDateTime() created_at!: string;
  created_by!: string;
  @IsDateTime() updated_at!: string;
  /** Always null: items of deleted queues are not shown. */
  @ApiProperty({ type: 'string', format: 'date-time', nullable: true }) deleted_at!: string | null;
  /** Starts at 1 and counts the whole queue. Present only with `include_position`. */
  @ApiProperty({ type: 'integer', required: false }) position_in_queue?: number;
}

export class AnnotationItemsFoundDto {
  items!: AnnotationItemDto[];
}

export class AnnotationProgressDto {
  @IsProjectId() project_id!: string;
  /** The next state of the item for the caller: first `in_progress`, then one of the others. */
  @IsIn(STEPS) annotation_state!: (typeof STEPS)[number];
}

export class AnnotationItemAnswerDto {
  item!: AnnotationItemDto;
}

export class AnnotationNextDto {
  @IsProjectId() project_id!: string;
}

export class AnnotationNextAnswerDto {
  /** Null when no item is left to begin. */
  @ApiProperty({ type: AnnotationItemDto, nullable: true }) item!: AnnotationItemDto | null;
}

export class AnnotationStatsQueryDto {
  @IsProjectId() project_id!: string;
  @IsIdList(MAX_ASKED) queue_ids!: string[];
}

export class AnnotationStatDto {
  @IsId() queue_id!: string;
  @ApiProperty({ type: 'integer' }) total_items!: number;
  /** Items that an annotator has completed or skipped. */
  @ApiProperty({ type: 'integer' }) completed_items!: number;
}

export class AnnotationStatsDto {
  /** One for each id, in their order; zeros for an unknown id. */
  @ApiProperty({ type: [AnnotationStatDto] }) stats!: AnnotationStatDto[];
}
