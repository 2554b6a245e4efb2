import { ApiProperty } from '@nestjs/swagger';
import { Type } from 'class-transformer';
import { ArrayNotEmpty, IsOptional, ValidateNested } from 'class-validator';
import {
  IsAfter,
  IsDateTime,
  IsIdList,
  IsProjectId,
  IsTextList,
  MAX_THREAD_BYTES,
  PageDto,
  SortBy,
} from '../../platform/http/dto.js';
import type { ListPosition } from '../../platform/query/keyset.js';
import type { Sort } from '../../platform/query/columns.js';
import { type CallSource, IsSources } from '../sources.dto.js';

const MAX_LISTED = 1000;

const THREAD_SORTS = [
  'thread_id',
  'turn_count',
  'start_time',
  'last_updated',
  'p50_turn_duration_ms',
  'p99_turn_duration_ms',
] as const;
export type ThreadSort = (typeof THREAD_SORTS)[number];

/** Both times bound the start of each turn, strictly, before anything is counted. An empty list is no restriction. */
export class ThreadsFilterDto {
  @IsOptional() @IsDateTime() after_datetime?: string | null;
  @IsOptional() @IsDateTime() before_datetime?: string | null;
  @IsOptional()
  @IsTextList(MAX_LISTED, MAX_THREAD_BYTES)
  thread_ids?: string[] | null;
  /** Only turns of these sources count. */
  @IsSources() sources?: CallSource[] | null;
}

export class ThreadsQueryDto extends PageDto {
  @IsProjectId() project_id!: string;
  @IsOptional() @ValidateNested() @Type(() => ThreadsFilterDto) filter?: ThreadsFilterDto | null;
  /** `thread_id` breaks ties; null durations come last. */
  @SortBy(THREAD_SORTS) sort_by?: Sort<ThreadSort>[] | null;
  /**
   * Answers the threads behind this one, in place of `offset`: its values of the fields in `sort_by` (without:
   * `last_updated`), and its `thread_id`.
   */
  @IsAfter() after?: ListPosition | null;
}

/** A thread, by its turns. Durations are null while no turn has ended. */
export class ThreadDto {
  thread_id!: string;
  @ApiProperty({ type: 'integer' }) turn_count!: number;
  @ApiProperty({ type: 'string', format: 'date-time' }) start_time!: string;
  /** The latest start or end of a turn. */
  @ApiProperty({ type: 'string', format: 'date-time' }) last_updated!: string;
  first_turn_id!: string;
  last_turn_id!: string;
  p50_turn_duration_ms!: number | null;
  p99_turn_duration_ms!: number | null;
}

/** Turns of one request, and characters of one text. */
const MAX_TURNS = 50;
export const MAX_TEXT = 16 * 1024;

export class TurnTextsDto {
  @IsProjectId() project_id!: string;
  /** The ids of the turns' own calls. */
  @ArrayNotEmpty() @IsIdList(MAX_TURNS) turn_ids!: string[];
}

/** A text of a turn. */
export class CallTextDto {
  /** The call that says it: the turn itself, or one below it in its trace. */
  call_id!: string;
  /** `chat` is a message, `plain` a member with a name such as `question`, `data` a document as JSON. */
  @ApiProperty({ enum: ['chat', 'plain', 'data'] }) kind!: 'chat' | 'plain' | 'data';
  role!: string;
  /** At most 16,384 characters; the call has the rest. */
  text!: string;
  is_cut!: boolean;
}

export class TurnTextDto {
  turn_id!: string;
  @ApiProperty({ type: CallTextDto, nullable: true }) question!: CallTextDto | null;
  @ApiProperty({ type: CallTextDto, nullable: true }) answer!: CallTextDto | null;
}

export class TurnTextsFoundDto {
  turns!: TurnTextDto[];
}
