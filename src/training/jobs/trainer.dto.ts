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
/** Of a note, and of the reason of a job without a step. */
export const MAX_TEXT = 10_000;

export class ClaimDto {
  /** What the trainer calls itself. */
  @IsId() worker_id!: string;
  /** The base models it can train; all when empty. */
  @IsOptional() @IsIdList(1000) base_models?: string[] | null;
  /** The kinds of jobs it can train; `rl` when absent. */
  @IsOptional()
  @IsArray()
  @ArrayMaxSize(JOB_KINDS.length)
  @IsIn(JOB_KINDS, { each: true })
  @ApiProperty({ enum: JOB_KINDS, isArray: true, required: false, nullable: true })
  kinds?: JobKind[] | null;
  /** Seconds to wait for a job when there is none. */
  @IsOptional() @IsNumber() @Min(0) @Max(MAX_WAIT_S) wait_s?: number | null;
}

/** A checkpoint to start from. */
export class ParentDto {
  step!: number;
  /** Where its trainer put it; null when its files are here, and for a base model. */
  @ApiProperty({ type: 'string', nullable: true }) uri!: string | null;
  /** Of its manifest, when its files are here. */
  @ApiProperty({ type: 'string', nullable: true }) sha256!: string | null;
  /** What its trainer said of it: free-form. */
  @ApiProperty({ type: 'object', nullable: true, additionalProperties: true })
  config!: object | null;
  /** To be read with `jobs/{id}/file?of=parent&name=`. */
  files!: ManifestFileDto[];
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
  /** `rl`: the payload has trajectory groups. `sft`: it has conversations, `{messages, tools?}`. */
  @ApiProperty({ enum: JOB_KINDS }) kind!: JobKind;
  /** Name of the model. */
  model!: string;
  model_id!: string;
  project_id!: string;
  base_model!: string;
  /** Step of the checkpoint to start from. */
  parent_step!: number;
  parent!: ParentDto;
  /** What an earlier attempt left: to be read with `jobs/{id}/file?of=state&name=`. */
  @ApiProperty({ type: [ManifestFileDto], nullable: true }) state!: ManifestFileDto[] | null;
  /** Of an `sft` job, as it was sent: `batch_size`, `learning_rate`, `assistant_turns`. */
  @ApiProperty({ type: 'object', nullable: true, additionalProperties: true })
  config!: object | null;
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
  /** `training_ended` and `training_failed` are written by `complete` and `fail`. */
  @IsIn(TRAINER_EVENT_TYPES) type!: (typeof TRAINER_EVENT_TYPES)[number];
  /**
   * By type: `{num_sequences}`; of a `gradient_step` a flat map of numbers; of a `note` `{level, text}`, where the level is
   * `info` or `warning`; of an `evaluation` `{name, metrics}`, a flat map of numbers.
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
  /** Where the trainer put it; it may be absent when there are `files`. */
  @IsOptional() @IsText(MAX_URI, { min: 1 }) uri?: string | null;
  /** The files that were sent as parts, by name. */
  @IsOptional()
  @IsArray()
  @ArrayMaxSize(MAX_FILES)
  @ValidateNested({ each: true })
  @ManifestItem()
  files?: ManifestFileDto[] | null;
  /** What those who start from it have to know: free-form. */
  @IsOptional() @IsJsonObject() config?: Record<string, unknown> | null;
  @IsOptional()
  @Matches(/^[0-9a-f]{64}$/i, { message: 'must be 64 hexadecimal digits' })
  sha256?: string | null;
  @IsOptional() @IsInt() @Min(0) @Max(Number.MAX_SAFE_INTEGER) size_bytes?: number | null;
}

export class CompleteDto {
  /** A flat map of numbers. */
  @IsJsonObject() metrics!: Record<string, unknown>;
  /** Absent where no step was made. */
  @IsOptional() @ValidateNested() @Type(() => CheckpointDto) checkpoint?: CheckpointDto | null;
  /** False when there was nothing to learn: the job succeeds without a checkpoint. */
  @IsOptional() @IsBoolean() made_step?: boolean | null;
  /** Why no step was made. */
  @IsOptional() @IsText(MAX_TEXT) reason?: string | null;
}

export class CompletedDto {
  /** Of the new checkpoint, or of the one that stays the latest. */
  step!: number;
  made_step!: boolean;
}

export class PartQueryDto {
  /** SHA-256 of the whole file that the part belongs to. */
  @IsSha256() file!: string;
  /** Its place in the file, from 0. */
  @IsInt() @Min(0) @Max(MAX_PARTS - 1) part!: number;
}

export class PartStoredDto {
  /** Of the body. */
  size_bytes!: number;
  sha256!: string;
}

export class PartDto {
  /** The digest that names its file. */
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
  /** The checkpoint to start from, or what an earlier attempt left. */
  @IsIn(['parent', 'state']) of!: 'parent' | 'state';
  @IsFileName() name!: string;
}

export class PayloadQueryDto {
  /** The first group (or row) to answer. With it or `num_groups` the answer is gzip JSONL of its own. */
  @IsOptional() @IsInt() @Min(0) @Max(MAX_INT) from_group?: number;
  /** All from `from_group` on, when absent. */
  @IsOptional() @IsInt() @Min(1) @Max(MAX_INT) num_groups?: number;
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
