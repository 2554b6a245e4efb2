import { ApiProperty } from '@nestjs/swagger';
import { IsIn, IsInt, IsOptional, IsUUID, Matches, Max, Min } from 'class-validator';
import { MAX_INT, PageDto, SortBy } from '../../platform/http/dto.js';
import type { Sort } from '../../platform/query/columns.js';
import { JOB_KINDS, type JobKind, type JobStatus, STATUSES } from './training-job.entity.js';
import { EVENT_TYPES, type EventType } from './training-job-event.entity.js';
import { ProjectPageQueryDto } from '../preview.dto.js';
import { SPLIT } from '../trajectory-rules.js';

export class TrainingJobsQueryDto extends ProjectPageQueryDto {
  /** Order by id, which is the order of creation; ascending by default. */
  @IsOptional() @IsIn(['asc', 'desc']) order?: 'asc' | 'desc';
  @IsOptional() @IsUUID() model_id?: string;
  @IsOptional() @IsIn(STATUSES) status?: JobStatus;
}

/** A checkpoint as the trainer reported it. */
export class JobCheckpointDto {
  step!: number;
  /** Location that the trainer reported. */
  uri!: string | null;
  sha256!: string | null;
  size_bytes!: number | null;
}

export class TrainingJobDto {
  id!: string;
  model_id!: string;
  /** `rl` trains on trajectory groups with rewards, `sft` on conversations. */
  @ApiProperty({ enum: JOB_KINDS }) kind!: JobKind;
  @ApiProperty({ enum: STATUSES }) status!: string;
  created_at!: string;
  @ApiProperty({ type: 'string', nullable: true }) started_at!: string | null;
  @ApiProperty({ type: 'string', nullable: true }) finished_at!: string | null;
  @ApiProperty({ type: 'string', nullable: true }) error_message!: string | null;
  /** Number of claims by trainers. */
  attempt!: number;
  cancel_requested!: boolean;
  /** Numbers of groups and trajectories; a row of an `sft` job counts as both. Null when they were deleted. */
  num_groups!: number | null;
  num_trajectories!: number | null;
  /** Source of the conversations of an `sft` job. */
  @ApiProperty({ type: 'string', nullable: true }) training_data_url!: string | null;
  /** Config of an `sft` job, as it was sent. */
  @ApiProperty({ type: 'object', nullable: true, additionalProperties: true })
  config!: object | null;
  /** Free-form settings, as they were sent. */
  @ApiProperty({ type: 'object', nullable: true, additionalProperties: true })
  experimental_config!: object | null;
  /** Null until the job has succeeded; false when nothing could be learned. */
  @ApiProperty({ type: 'boolean', nullable: true }) made_step!: boolean | null;
  /** Reason why the job made no step. */
  @ApiProperty({ type: 'string', nullable: true }) no_step_reason!: string | null;
  /** The checkpoint that the job made. */
  checkpoint!: JobCheckpointDto | null;
}

export class TrainingJobEventDto {
  id!: string;
  @ApiProperty({ enum: EVENT_TYPES }) type!: EventType;
  /** Data by type. `gradient_step`: a flat map of numbers. `note`: `{level, text}`. `evaluation`: `{name, metrics}`. */
  @ApiProperty({ type: 'object', additionalProperties: true }) data!: object;
  @ApiProperty({ type: 'string', format: 'date-time' }) created_at!: string;
}

export class TrajectoriesQueryDto extends PageDto {
  @IsUUID() model_id!: string;
  @IsOptional()
  @Matches(SPLIT, { message: 'must be 1 to 64 letters, digits, "_", "." or "-"' })
  split?: string | null;
  @IsOptional() @IsUUID() job_id?: string | null;
  @IsOptional() @IsInt() @Min(0) @Max(MAX_INT) step?: number | null;
  /**
   * Sorts by fields such as `reward`, `start_time`, `created_at`, `step`, `num_tokens`, `metrics.<name>` or
   * `metadata.<name>`.
   */
  @SortBy() sort_by?: Sort[] | null;
}
