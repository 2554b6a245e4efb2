import { ApiExtraModels, ApiProperty, ApiPropertyOptional, getSchemaPath } from '@nestjs/swagger';
import { ArrayNotEmpty, IsInt, IsOptional, IsUUID, Max, Min } from 'class-validator';
import { IsIdList, IsProjectId, MAX_INT } from '../../../platform/http/dto.js';

const MAX_LISTED = 1000;

/** A request with exactly one of `call_ids`, `feedback_ids`, `build_id`, `job_id`, and `model_id` with `step`. */
export class LineageQueryDto {
  @IsProjectId() project_id!: string;
  @IsOptional()
  @ArrayNotEmpty()
  @IsIdList(MAX_LISTED)
  call_ids?: string[] | null;
  @IsOptional()
  @ArrayNotEmpty()
  @IsIdList(MAX_LISTED)
  feedback_ids?: string[] | null;
  @IsOptional() @IsUUID() build_id?: string | null;
  @IsOptional() @IsUUID() job_id?: string | null;
  @IsOptional() @IsUUID() model_id?: string | null;
  @IsOptional() @IsInt() @Min(0) @Max(MAX_INT) step?: number | null;
}

/** A call, a piece of feedback, a build or a job. */
export class LineageNodeDto {
  type!: 'call' | 'feedback' | 'build' | 'job';
  id!: string;
  /** For builds and jobs: time when calls that they were made of were purged. */
  @ApiPropertyOptional({ type: 'string', format: 'date-time' }) tainted_at?: string;
}

export class LineageCheckpointDto {
  type!: 'checkpoint';
  model_id!: string;
  /** Name of the model; null when the model was deleted. */
  model!: string | null;
  step!: number;
  /** Time when calls that the checkpoint was trained on were purged. */
  @ApiPropertyOptional({ type: 'string', format: 'date-time' }) tainted_at?: string;
}

const NODE = {
  oneOf: [{ $ref: getSchemaPath(LineageNodeDto) }, { $ref: getSchemaPath(LineageCheckpointDto) }],
};

/** An edge of the lineage: `from` went into `to`, or made it. */
@ApiExtraModels(LineageNodeDto, LineageCheckpointDto)
export class LineageEdgeDto {
  @ApiProperty(NODE) from!: LineageNodeDto | LineageCheckpointDto;
  @ApiProperty(NODE) to!: LineageNodeDto | LineageCheckpointDto;
}

export class LineageAnswerDto {
  edges!: LineageEdgeDto[];
  /** True when more edges exist than the answer contains. */
  has_more!: boolean;
}

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
