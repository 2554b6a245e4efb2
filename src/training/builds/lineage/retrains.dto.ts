import { ApiProperty } from '@nestjs/swagger';
import { IsInt, IsUUID, Max, Min } from 'class-validator';
import { IsProjectId, MAX_INT } from '../../../platform/http/dto.js';

export class RetrainDto {
  @IsProjectId() project_id!: string;
  @IsUUID() model_id!: string;
  /** Step of a checkpoint that was trained on calls that have been purged. */
  @IsInt() @Min(0) @Max(MAX_INT) step!: number;
}

const OUTCOMES = ['queued', 'known', 'nothing_left'] as const;

export class RetrainedJobDto {
  /** The job whose training is repeated, and the step that it made. */
  retrains_job_id!: string;
  retrains_step!: number;
  /** `known`: the job was queued by an earlier request. `nothing_left`: all calls of the training have been purged. */
  @ApiProperty({ enum: OUTCOMES }) outcome!: (typeof OUTCOMES)[number];
  job_id!: string | null;
}

export class RetrainedDto {
  model_id!: string;
  step!: number;
  /** Step of the nearest ancestor that was not trained on purged calls. */
  from_step!: number;
  /** Jobs in the order in which they train. */
  jobs!: RetrainedJobDto[];
  /** True when more jobs are needed than one request queues. Send the request again. */
  has_more!: boolean;
}
