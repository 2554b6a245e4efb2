import { ApiProperty } from '@nestjs/swagger';
import { IsInt, IsUUID, Max, Min } from 'class-validator';
import { IsProjectId, MAX_INT } from '../../platform/http/dto.js';

export class RetrainDto {
  @IsProjectId() project_id!: string;
  @IsUUID() model_id!: string;
  /** A checkpoint that was trained on calls that have been purged. */
  @IsInt() @Min(0) @Max(MAX_INT) step!: number;
}

const OUTCOMES = ['queued', 'known', 'nothing_left'] as const;

export class RetrainedJobDto {
  /** The job whose training is done again, and the step that it made. */
  retrains_job_id!: string;
  retrains_step!: number;
  /** `known`: it was queued before. `nothing_left`: all that it was trained on has been purged. */
  @ApiProperty({ enum: OUTCOMES }) outcome!: (typeof OUTCOMES)[number];
  job_id!: string | null;
}

export class RetrainedDto {
  model_id!: string;
  step!: number;
  /** The nearest ancestor that was not trained on purged calls. */
  from_step!: number;
  /** In the order in which they are trained. */
  jobs!: RetrainedJobDto[];
  /** More jobs are needed than one request queues: send it again. */
  has_more!: boolean;
}
