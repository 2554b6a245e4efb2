import { ApiProperty } from '@nestjs/swagger';
import { ArrayNotEmpty, IsOptional } from 'class-validator';
import { IsId, IsIdList, IsProjectId } from '../../platform/http/dto.js';
import { STATUSES, type JobStatus } from '../jobs/training-job.entity.js';

const MAX_CALLS = 1000;

/** What purging calls, or those of a user, would mark; or without both what is marked. */
export class TaintedQueryDto {
  @IsProjectId() project_id!: string;
  /** Their descendants in the same trace count too, as in `/calls/purge`. */
  @IsOptional() @ArrayNotEmpty() @IsIdList(MAX_CALLS) call_ids?: string[] | null;
  /** By `attributes.user_id`, else `attributes` `user.id`, else the user whose key recorded the call: all calls of its traces. */
  @IsOptional() @IsId() user_id?: string | null;
}

const Time = () => ApiProperty({ type: 'string', format: 'date-time', nullable: true });

export class TaintedBuildDto {
  id!: string;
  recipe_name!: string;
  @Time() erased_at!: string | null;
  @Time() tainted_at!: string | null;
}

export class TaintedJobDto {
  id!: string;
  model_id!: string;
  @ApiProperty({ enum: STATUSES }) status!: JobStatus;
  parent_step!: number | null;
  /** The checkpoint that it made. */
  step!: number | null;
  @Time() tainted_at!: string | null;
}

export class TaintedCheckpointDto {
  model_id!: string;
  /** Null when it was deleted. */
  model!: string | null;
  step!: number;
  /** Those that name it; purging takes them away. */
  aliases!: string[];
  @Time() tainted_at!: string | null;
}

/** At most 1000 of each. */
export class TaintedAnswerDto {
  builds!: TaintedBuildDto[];
  /** Jobs that were trained on the builds, or on a checkpoint of such a job. */
  jobs!: TaintedJobDto[];
  checkpoints!: TaintedCheckpointDto[];
  has_more!: boolean;
}
