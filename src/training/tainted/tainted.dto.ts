import { ApiProperty } from '@nestjs/swagger';
import { ArrayNotEmpty, IsOptional } from 'class-validator';
import { IsId, IsIdList, IsProjectId } from '../../platform/http/dto.js';
import { STATUSES, type JobStatus } from '../jobs/training-job.entity.js';

const MAX_CALLS = 1000;

/** Selects what purging calls, or the calls of a user, would mark as tainted. Without both, selects what is marked. */
export class TaintedQueryDto {
  @IsProjectId() project_id!: string;
  /** Ids of calls. Their descendants in the same trace count too, as in `/calls/purge`. */
  @IsOptional() @ArrayNotEmpty() @IsIdList(MAX_CALLS) call_ids?: string[] | null;
  /**
   * User of the calls: `user_id` of the attributes, else `user.id` of the attributes, else the user whose key
   * recorded the call. All calls of the user's traces count.
   */
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
  /** Step of the checkpoint that the job made. */
  step!: number | null;
  @Time() tainted_at!: string | null;
}

export class TaintedCheckpointDto {
  model_id!: string;
  /** Name of the model; null when the model was deleted. */
  model!: string | null;
  step!: number;
  /** Aliases of the checkpoint. Purging deletes them. */
  aliases!: string[];
  @Time() tainted_at!: string | null;
}

/** At most 1000 builds, jobs and checkpoints each. */
export class TaintedAnswerDto {
  builds!: TaintedBuildDto[];
  /** Jobs that were trained on the builds, or on a checkpoint that such a job made. */
  jobs!: TaintedJobDto[];
  checkpoints!: TaintedCheckpointDto[];
  has_more!: boolean;
}
