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
import type { CallSource } from '../conventions/call-source.js';
import { IsSources } from '../sources.dto.js';

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

/**
 * Selects the turns that are counted. A turn must start after `after_datetime` and before `before_datetime`. An empty
 * list does not restrict.
 */
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
  /** `thread_id` breaks ties. Null durations come last. */
  @SortBy(THREAD_SORTS) sort_by?: Sort<ThreadSort>[] | null;
  /**
   * Returns the threads after this position. Use it in place of `offset`. It holds the thread's values of the fields in
   * `sort_by` (default: `last_updated`) and its `thread_id`.
   */
  @IsAfter() after?: ListPosition | null;
}

/** Statistics of a thread over its turns. Durations are null if no turn has ended. */
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

/** Limits: turns of one request, and characters of one text. */
const MAX_TURNS = 50;
export const MAX_TEXT = 16 * 1024;

export class TurnTextsDto {
  @IsProjectId() project_id!: string;
  /** Ids of the turns: the ids of their own calls. */
  @ArrayNotEmpty() @IsIdList(MAX_TURNS) turn_ids!: string[];
}

/** A question or an answer of a turn. */
export class CallTextDto {
  /** The call that contains the text: the turn itself, or a call below it in its trace. */
  call_id!: string;
  /** `chat` is a message. `plain` is a member with a name such as `question`. `data` is a document as JSON. */
  @ApiProperty({ enum: ['chat', 'plain', 'data'] }) kind!: 'chat' | 'plain' | 'data';
  role!: string;
  /** At most 16,384 characters. The call has the rest. */
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
