import { ApiProperty } from '@nestjs/swagger';
import { IsInt, IsOptional, Max, Min } from 'class-validator';
import { MAX_RETENTION_DAYS } from '../../platform/config/retention-settings.js';
import { AnyJson, IsId, IsProjectId, IsText, IsThreadId } from '../../platform/http/dto.js';

const MAX_HOLD_NAME = 128;
const MAX_REASON = 500;

export class RetentionReadDto {
  @IsProjectId() project_id!: string;
}

export class RetentionDto {
  @IsProjectId() project_id!: string;
  /** Calls are erased this many days after their start, with the feedback on them. Null or absent: never. */
  @IsOptional() @IsInt() @Min(1) @Max(MAX_RETENTION_DAYS) calls_days?: number | null;
  /**
   * The inputs, output, attributes and spans of calls are erased this many days after their start, and the summary
   * except for its usage. Names, times, status, usage and costs remain. Null or absent: never.
   */
  @IsOptional() @IsInt() @Min(1) @Max(MAX_RETENTION_DAYS) payload_days?: number | null;
  /** Feedback is erased this many days after it was given, also while its call remains. Null or absent: never. */
  @IsOptional() @IsInt() @Min(1) @Max(MAX_RETENTION_DAYS) feedback_days?: number | null;
}

export class HoldReleaseDto {
  @IsProjectId() project_id!: string;
  /** The number of a case, for example. Refused deletions tell it. */
  @IsText(MAX_HOLD_NAME, { min: 1 }) name!: string;
  /** The audit keeps it for ever. */
  @IsOptional() @IsText(MAX_REASON) reason?: string | null;
}

export class LegalHoldDto extends HoldReleaseDto {
  /** Holds one trace instead of the whole project: its calls and the feedback on them. */
  @IsOptional() @IsId() trace_id?: string | null;
  /** Holds one thread: its calls, also later ones, all other calls of their traces, and the feedback on them. */
  @IsThreadId() thread_id?: string | null;
}

export class LegalHoldAnswerDto {
  name!: string;
  /** The held trace. Null together with `thread_id` if the whole project is held. */
  trace_id!: string | null;
  thread_id!: string | null;
  reason!: string | null;
  /** Name of the user who set it. */
  user!: string;
  @ApiProperty({ type: 'string', format: 'date-time' }) created_at!: Date;
}

export class RetentionAnswerDto {
  project_id!: string;
  calls_days!: number | null;
  payload_days!: number | null;
  feedback_days!: number | null;
  /** True if the project has no policy of its own: then the service's `RETENTION_DEFAULT` applies. */
  is_default!: boolean;
  /** While there is a legal hold, nothing of what it holds is erased. */
  holds!: LegalHoldAnswerDto[];
}

/** The retention of calls, under the names of published clients. */
export class TtlSettingsDto {
  @IsProjectId() project_id!: string;
  /** Days after which calls are erased, with the feedback on them. Null or absent: never. */
  @IsOptional() @IsInt() @Min(1) @Max(MAX_RETENTION_DAYS) retention_days?: number | null;
  /** Ignored: the server sets it from the key. */
  @IsOptional() @AnyJson() svc_user_id?: string | null;
}

export class TtlSettingsAnswerDto {
  retention_days!: number | null;
}
