import { ApiProperty } from '@nestjs/swagger';
import { Type } from 'class-transformer';
import { IsIn, IsOptional, ValidateNested } from 'class-validator';
import { IsJsonObject, IsProjectId, IsText, rule } from '../../platform/http/dto.js';
import { CallsFilterDto } from '../../tracing/calls/calls.dto.js';
import { ExportDto, FORMATS } from './export.dto.js';

const NAME = /^[a-z0-9][a-z0-9_-]{0,63}$/;
const KINDS = ['calls', 'feedback', 'table'] as const;
const EVERY = ['hour', 'day'] as const;

/** The name is also the name of a folder. */
const IsScheduleName = () =>
  rule(
    'isScheduleName',
    'must be 1 to 64 of a-z, 0-9, "_" and "-", and begin with a letter or digit',
    (value) => typeof value === 'string' && NAME.test(value),
  );

export class ExportSchedulesQueryDto {
  @IsProjectId() project_id!: string;
}

export class ExportScheduleDeleteDto extends ExportSchedulesQueryDto {
  @IsScheduleName() name!: string;
}

export class ExportScheduleDto extends ExportScheduleDeleteDto {
  /** The rows of the files. `table` is the table of a dataset. */
  @IsIn(KINDS, {
    message: 'must be calls, feedback or table: threads, objects and builds have no windows by day',
  })
  of!: (typeof KINDS)[number];
  @IsIn(FORMATS) format!: ExportDto['format'];
  /** How long the window of a file is. Required for calls and feedback, and not for a table. */
  @IsOptional() @IsIn(EVERY) every?: (typeof EVERY)[number] | null;
  /** Works as in `/calls/query`. Only for calls. */
  @IsOptional() @ValidateNested() @Type(() => CallsFilterDto) filter?: CallsFilterDto | null;
  /** An expression tree: docs/query-language.md. Only for calls and feedback. */
  @IsOptional() @IsJsonObject() query?: object | null;
  /** Name of the dataset whose latest version is written. Only for a table. */
  @IsOptional() @IsText(128, { min: 1 }) object_id?: string | null;
}

/** A schedule and how far it is. */
export class ExportScheduleAnswerDto {
  name!: string;
  of!: string;
  format!: string;
  every!: string | null;
  /** The filter as it was set. */
  @ApiProperty({ type: 'object', additionalProperties: true, nullable: true }) filter!:
    object | null;
  /** The query as it was set. */
  @ApiProperty({ type: 'object', additionalProperties: true, nullable: true }) query!:
    object | null;
  object_id!: string | null;
  @ApiProperty({ type: 'string', format: 'date-time' }) created_at!: Date;
  /** End of the last window that was written. Null for a table, and before the first window. */
  @ApiProperty({ type: 'string', format: 'date-time', nullable: true }) last_window_end!:
    string | null;
  /** Files that are stored now, with their rows and bytes. */
  @ApiProperty({ type: 'integer' }) files!: number;
  @ApiProperty({ type: 'integer' }) rows!: number;
  @ApiProperty({ type: 'integer' }) bytes!: number;
  /** Files that must be written, written again or removed. */
  @ApiProperty({ type: 'integer' }) waiting!: number;
  /** Seconds since the end of the oldest window that has no file yet. */
  behind_seconds!: number;
  /** Failures since the last success, and the reason of the last one. */
  @ApiProperty({ type: 'integer' }) failures!: number;
  last_error!: string | null;
  /** When the schedule is tried again after a failure. */
  @ApiProperty({ type: 'string', format: 'date-time', nullable: true }) retry_at!: Date | null;
}

export class ExportSchedulesAnswerDto {
  @ApiProperty({ type: [ExportScheduleAnswerDto] }) schedules!: ExportScheduleAnswerDto[];
}
