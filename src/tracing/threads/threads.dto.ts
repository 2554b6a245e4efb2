import { ApiProperty } from '@nestjs/swagger';
import { Type } from 'class-transformer';
import { IsOptional, ValidateNested } from 'class-validator';
import {
  IsAfter,
  IsDateTime,
  IsProjectId,
  IsTextList,
  MAX_THREAD_BYTES,
  PageDto,
  SortBy,
} from '../../platform/http/dto.js';
import type { Position } from '../../platform/query/after.js';
import type { Sort } from '../../platform/query/columns.js';

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
  @IsAfter() after?: Position | null;
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
