import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsIn, IsInt, IsOptional, IsUUID, Matches, Max, Min } from 'class-validator';
import { MAX_INT, PageDto, SortBy } from '../common/dto.js';
import type { Sort } from '../query/columns.js';
import { ProjectPageQueryDto } from './models.dto.js';
import { type Status, STATUSES } from './training-job.entity.js';

export class TrainingJobsQueryDto extends ProjectPageQueryDto {
  /** By id, which is by time; by default ascending. */
  @IsOptional() @IsIn(['asc', 'desc']) order?: 'asc' | 'desc';
  @IsOptional() @IsUUID() model_id?: string;
  @IsOptional() @IsIn(STATUSES) status?: Status;
}

export class TrainingJobCreatedDto {
  id!: string;
}

export class TrainingJobDto {
  id!: string;
  model_id!: string;
  @ApiProperty({ enum: STATUSES }) status!: string;
  created_at!: string;
  @ApiProperty({ type: 'string', nullable: true }) started_at!: string | null;
  @ApiProperty({ type: 'string', nullable: true }) finished_at!: string | null;
  @ApiProperty({ type: 'string', nullable: true }) error_message!: string | null;
  /** How often a trainer has claimed it. */
  attempt!: number;
  cancel_requested!: boolean;
  num_groups!: number;
  num_trajectories!: number;
  @ApiProperty({ type: 'object', nullable: true, additionalProperties: true })
  experimental_config!: object | null;
  /** The checkpoint it made: `{step, uri, sha256, size_bytes}`. */
  @ApiProperty({ type: 'object', nullable: true, additionalProperties: true })
  checkpoint!: object | null;
}

export class TrajectoriesQueryDto extends PageDto {
  @IsUUID() model_id!: string;
  @IsOptional()
  @Matches(/^[\w.-]{1,64}$/, { message: 'must be 1 to 64 letters, digits, "_", "." or "-"' })
  split?: string | null;
  @IsOptional() @IsUUID() job_id?: string | null;
  @IsOptional() @IsInt() @Min(0) @Max(MAX_INT) step?: number | null;
  /** By `reward`, `start_time`, `created_at`, `step`, `num_tokens`, `metrics.<name>`, `metadata.<name>` and the like. */
  @SortBy() sort_by?: Sort[] | null;
}

/** What the service understands of a trajectory. Other fields are kept. */
export class TrajectoryDto {
  /** Chat messages, and whole choices (with the key `message`), in any order. */
  @ApiPropertyOptional({ type: 'array', items: { type: 'object' }, default: [] })
  messages_and_choices?: object[];
  /** Instead of the former: `chat_completions`, each with its `request` and the `response` whose `choices` are the trainable turns. */
  @ApiPropertyOptional({ type: 'object', additionalProperties: true }) exchanges?: object;
  @ApiPropertyOptional({ type: 'number', nullable: true, default: 0 }) reward?: number | null;
  @ApiPropertyOptional({ type: 'array', items: { type: 'object' }, nullable: true })
  tools?: object[] | null;
  /** `{messages_and_choices, tools}` each. */
  @ApiPropertyOptional({ type: 'array', items: { type: 'object' }, default: [] })
  additional_histories?: object[];
  /** Numbers or booleans. */
  @ApiPropertyOptional({ type: 'object', additionalProperties: true, default: {} })
  metrics?: object;
  /** Scalars or null. */
  @ApiPropertyOptional({ type: 'object', additionalProperties: true, default: {} })
  metadata?: object;
  @ApiPropertyOptional({ type: 'array', items: { type: 'string' }, default: [] }) logs?: string[];
  /** When absent: the time of receipt. */
  @ApiPropertyOptional({ type: 'string', format: 'date-time' }) start_time?: string;
}

export class TrajectoryGroupDto {
  @ApiPropertyOptional({ type: () => [TrajectoryDto] }) trajectories?: TrajectoryDto[];
  @ApiPropertyOptional({ type: 'array', items: { type: 'object' } }) exceptions?: object[];
  @ApiPropertyOptional({ type: 'object', additionalProperties: true }) metrics?: object;
  @ApiPropertyOptional({ type: 'object', additionalProperties: true }) metadata?: object;
  @ApiPropertyOptional({ type: 'array', items: { type: 'string' } }) logs?: string[];
}

export class ExperimentalConfigDto {
  @ApiPropertyOptional({ type: 'number', nullable: true }) learning_rate?: number | null;
  @ApiPropertyOptional({ type: 'boolean', nullable: true }) precalculate_logprobs?: boolean | null;
}

/** Read as a stream, not by these decorators: trajectory-rules.ts has the rules. */
export class TrainingJobCreateDto {
  @ApiProperty({ type: 'string', format: 'uuid' }) model_id!: string;
  @ApiProperty({ type: () => [TrajectoryGroupDto] }) trajectory_groups!: TrajectoryGroupDto[];
  @ApiPropertyOptional({ type: () => ExperimentalConfigDto, nullable: true })
  experimental_config?: ExperimentalConfigDto | null;
}

/** The same for `log`. */
export class LogDto {
  @ApiProperty({ type: 'string', pattern: '^[\\w.-]{1,64}$' }) split!: string;
  @ApiProperty({ type: () => [TrajectoryGroupDto] }) trajectory_groups!: TrajectoryGroupDto[];
}
