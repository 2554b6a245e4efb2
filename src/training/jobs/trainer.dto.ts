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
import { IsId, IsIdList, IsJsonObject, IsText, MAX_INT } from '../../platform/http/dto.js';
import {
  IsFileName,
  IsSha256,
  ManifestFileDto,
  ManifestItem,
  MAX_FILES,
  MAX_PARTS,
} from '../manifest.dto.js';
import { JOB_KINDS, type JobKind } from './training-job.entity.js';

const TRAINER_EVENT_TYPES = ['training_started', 'gradient_step', 'note', 'evaluation'] as const;

/** Longest wait of a claim, in seconds. */
const MAX_WAIT_S = 30;
const MAX_URI = 4096;
/** Characters of a note, and of the reason of a job without a step. */
export const MAX_TEXT = 10_000;

export class ClaimDto {
  /** Name of the worker, chosen by the trainer. */
  @IsId() worker_id!: string;
  /** Base models that the trainer supports; all when empty. */
  @IsOptional() @IsIdList(1000) base_models?: string[] | null;
  /** Kinds of jobs that the trainer supports; `rl` when absent. */
  @IsOptional()
  @IsArray()
  @ArrayMaxSize(JOB_KINDS.length)
  @IsIn(JOB_KINDS, { each: true })
  @ApiProperty({ enum: JOB_KINDS, isArray: true, required: false, nullable: true })
  kinds?: JobKind[] | null;
  /** Seconds to wait for a job. */
  @IsOptional() @IsNumber() @Min(0) @Max(MAX_WAIT_S) wait_s?: number | null;
}

/** The checkpoint to start from. */
export class ParentDto {
  step!: number;
  /** Location that its trainer reported; null when Skein stores the files, and for a base model. */
  @ApiProperty({ type: 'string', nullable: true }) uri!: string | null;
  /** SHA-256 of its manifest, when Skein stores the files. */
  @ApiProperty({ type: 'string', nullable: true }) sha256!: string | null;
  /** Free-form settings that its trainer reported. */
  @ApiProperty({ type: 'object', nullable: true, additionalProperties: true })
  config!: object | null;
  /** Files to read with `jobs/{id}/file?of=parent&name=`. */
  files!: ManifestFileDto[];
}

export class PayloadDto {
  /** Path, relative to the address that the claim was sent to. */
  url!: string;
  bytes!: number;
  /** SHA-256 of the bytes, in hexadecimal. */
  sha256!: string;
  @ApiProperty({ enum: ['gzip'] }) encoding!: 'gzip';
}

export class ClaimedDto {
  job_id!: string;
  /** `rl`: the payload contains trajectory groups. `sft`: the payload contains conversations, `{messages, tools?}`. */
  @ApiProperty({ enum: JOB_KINDS }) kind!: JobKind;
  /** Name of the model. */
  model!: string;
  model_id!: string;
  project_id!: string;
  base_model!: string;
  /** Step of the checkpoint to start from. */
  parent_step!: number;
  parent!: ParentDto;
  /** Files of an earlier attempt, to read with `jobs/{id}/file?of=state&name=`. */
  @ApiProperty({ type: [ManifestFileDto], nullable: true }) state!: ManifestFileDto[] | null;
  /** Config of an `sft` job, as it was sent: `batch_size`, `learning_rate`, `assistant_turns`. */
  @ApiProperty({ type: 'object', nullable: true, additionalProperties: true })
  config!: object | null;
  /** Free-form settings, as they were sent with the job. */
  @ApiProperty({ type: 'object', nullable: true, additionalProperties: true })
  experimental_config!: object | null;
  /** Number of the claim; 1 for the first one. */
  attempt!: number;
  /** Token for the header `x-lease-token` of all requests about the job. */
  lease_token!: string;
  lease_expires_at!: string;
  /** Seconds between two heartbeats. */
  heartbeat_seconds!: number;
  payload!: PayloadDto;
}

export class HeartbeatAnswerDto {
  lease_expires_at!: string;
  /** True when the trainer should stop and report `fail`. */
  cancel_requested!: boolean;
}

export class TrainerEventDto {
  /** Number of the event within the attempt. Sending a number again changes nothing. */
  @IsInt() @Min(0) @Max(Number.MAX_SAFE_INTEGER) seq!: number;
  /** Type of the event. `complete` and `fail` add `training_ended` and `training_failed`. */
  @IsIn(TRAINER_EVENT_TYPES) type!: (typeof TRAINER_EVENT_TYPES)[number];
  /**
   * Data by type. `training_started`: `{num_sequences}`. `gradient_step`: a flat map of numbers. `note`:
   * `{level, text}`, where the level is `info` or `warning`. `evaluation`: `{name, metrics}`, a flat map of numbers.
   */
  @IsJsonObject() data!: Record<string, unknown>;
}

export class TrainerEventsDto {
  @IsArray()
  @ArrayMaxSize(1000)
  @ValidateNested({ each: true })
  @Type(() => TrainerEventDto)
  events!: TrainerEventDto[];
}

export class EventsAddedDto {
  /** True when the trainer should stop and report `fail`. */
  cancel_requested!: boolean;
}

export class CheckpointDto {
  /** Location of the checkpoint; may be absent when `files` are given. */
  @IsOptional() @IsText(MAX_URI, { min: 1 }) uri?: string | null;
  /** Files that were sent as parts. */
  @IsOptional()
  @IsArray()
  @ArrayMaxSize(MAX_FILES)
  @ValidateNested({ each: true })
  @ManifestItem()
  files?: ManifestFileDto[] | null;
  /** Free-form settings that a trainer or server needs to start from the checkpoint. */
  @IsOptional() @IsJsonObject() config?: Record<string, unknown> | null;
  @IsOptional()
  @Matches(/^[0-9a-f]{64}$/i, { message: 'must be 64 hexadecimal digits' })
  sha256?: string | null;
  @IsOptional() @IsInt() @Min(0) @Max(Number.MAX_SAFE_INTEGER) size_bytes?: number | null;
}

export class CompleteDto {
  /** A flat map of numbers. */
  @IsJsonObject() metrics!: Record<string, unknown>;
  /** Absent when no step was made. */
  @IsOptional() @ValidateNested() @Type(() => CheckpointDto) checkpoint?: CheckpointDto | null;
  /** False when nothing could be learned: the job succeeds without a checkpoint. */
  @IsOptional() @IsBoolean() made_step?: boolean | null;
  /** Reason why no step was made. */
  @IsOptional() @IsText(MAX_TEXT) reason?: string | null;
}

export class CompletedDto {
  /** Step of the new checkpoint, or of the one that the job started from. */
  step!: number;
  made_step!: boolean;
}

export class PartQueryDto {
  /** SHA-256 of the whole file that the part belongs to. */
  @IsSha256() file!: string;
  /** Index of the part in the file, from 0. */
  @IsInt() @Min(0) @Max(MAX_PARTS - 1) part!: number;
}

export class PartStoredDto {
  /** Size of the body. */
  size_bytes!: number;
  sha256!: string;
}

export class PartDto {
  /** SHA-256 of the file, which names it. */
  file!: string;
  part!: number;
  size_bytes!: number;
}

export class PartsDto {
  data!: PartDto[];
}

export class StateDto {
  @IsArray()
  @ArrayMaxSize(MAX_FILES)
  @ValidateNested({ each: true })
  @ManifestItem()
  files!: ManifestFileDto[];
}

export class JobFileQueryDto {
  /** Source of the file: the checkpoint to start from (`parent`), or an earlier attempt (`state`). */
  @IsIn(['parent', 'state']) of!: 'parent' | 'state';
  @IsFileName() name!: string;
}

export class PayloadQueryDto {
  /**
   * Index of the first group or row. With `from_group` or `num_groups` the answer is gzip JSONL of only these groups.
   */
  @IsOptional() @IsInt() @Min(0) @Max(MAX_INT) from_group?: number;
  /** Number of groups; when absent, all from `from_group` on. */
  @IsOptional() @IsInt() @Min(1) @Max(MAX_INT) num_groups?: number;
}

export class FailDto {
  @IsString() error_message!: string;
  /** True when another attempt may succeed. */
  @IsBoolean() retryable!: boolean;
}

export class FailedDto {
  /** `queued` when the job is tried again. */
  @ApiProperty({ enum: ['queued', 'failed', 'cancelled'] }) status!: string;
}
