import { ApiProperty } from '@nestjs/swagger';
import { Type } from 'class-transformer';
import {
  ArrayMaxSize,
  IsArray,
  IsBoolean,
  IsIn,
  IsInt,
  IsNumber,
  IsOptional,
  IsString,
  Matches,
  Max,
  Min,
  ValidateNested,
} from 'class-validator';
import { IsId, IsIdList, IsJsonObject, IsText } from '../../platform/http/dto.js';

/** Longest wait of a claim, in seconds. */
const MAX_WAIT_S = 30;
const MAX_URI = 4096;

export class ClaimDto {
  /** What the trainer calls itself. */
  @IsId() worker_id!: string;
  /** The base models it can train; all when empty. */
  @IsOptional() @IsIdList(1000) base_models?: string[] | null;
  /** Seconds to wait for a job when there is none. */
  @IsOptional() @IsNumber() @Min(0) @Max(MAX_WAIT_S) wait_s?: number | null;
}

export class PayloadDto {
  /** To be resolved against the address the claim was sent to. */
  url!: string;
  bytes!: number;
  /** Of those bytes, in hexadecimal. */
  sha256!: string;
  @ApiProperty({ enum: ['gzip'] }) encoding!: 'gzip';
}

export class ClaimedDto {
  job_id!: string;
  /** Name of the model. */
  model!: string;
  model_id!: string;
  project_id!: string;
  base_model!: string;
  /** Step of the checkpoint to start from. */
  parent_step!: number;
  /** Free-form, as it was sent with the job. */
  @ApiProperty({ type: 'object', nullable: true, additionalProperties: true })
  experimental_config!: object | null;
  /** 1 for the first claim of the job. */
  attempt!: number;
  /** Goes into the header `x-lease-token` of everything that concerns the job. */
  lease_token!: string;
  lease_expires_at!: string;
  /** How often to send a heartbeat. */
  heartbeat_seconds!: number;
  payload!: PayloadDto;
}

export class HeartbeatAnswerDto {
  lease_expires_at!: string;
  /** True when the trainer should stop and report `fail`. */
  cancel_requested!: boolean;
}

export class TrainerEventDto {
  /** Counts the events of the attempt: the same number again changes nothing. */
  @IsInt() @Min(0) @Max(Number.MAX_SAFE_INTEGER) seq!: number;
  /** The other two types are written by `complete` and `fail`. */
  @IsIn(['training_started', 'gradient_step']) type!: 'training_started' | 'gradient_step';
  /** `{num_sequences}`, or a flat map of numbers. */
  @IsJsonObject() data!: Record<string, unknown>;
}

export class TrainerEventsDto {
  @IsArray()
  @ArrayMaxSize(1000)
  @ValidateNested({ each: true })
  @Type(() => TrainerEventDto)
  events!: TrainerEventDto[];
}

export class CheckpointDto {
  /** Where the trainer put it. */
  @IsText(MAX_URI, { min: 1 }) uri!: string;
  @IsOptional()
  @Matches(/^[0-9a-f]{64}$/i, { message: 'must be 64 hexadecimal digits' })
  sha256?: string | null;
  @IsOptional() @IsInt() @Min(0) @Max(Number.MAX_SAFE_INTEGER) size_bytes?: number | null;
}

export class CompleteDto {
  /** A flat map of numbers. */
  @IsJsonObject() metrics!: Record<string, unknown>;
  @ValidateNested() @Type(() => CheckpointDto) checkpoint!: CheckpointDto;
}

export class CompletedDto {
  /** Of the new checkpoint. */
  step!: number;
}

export class FailDto {
  @IsString() error_message!: string;
  /** Whether another attempt may succeed. */
  @IsBoolean() retryable!: boolean;
}

export class FailedDto {
  /** `queued` when the job is tried again. */
  @ApiProperty({ enum: ['queued', 'failed', 'cancelled'] }) status!: string;
}
