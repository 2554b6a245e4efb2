import { Type } from 'class-transformer';
import { IsIn, IsOptional, ValidateNested } from 'class-validator';
import { IsJsonObject, IsProjectId, IsText } from '../../platform/http/dto.js';
import { CallsFilterDto } from '../../tracing/calls/calls.dto.js';

export const KINDS = ['calls', 'feedback', 'table'] as const;
export const FORMATS = ['parquet', 'jsonl'] as const;

export class ExportDto {
  @IsProjectId() project_id!: string;
  /** The rows of the file. `table` is a table of a dataset. */
  @IsIn(KINDS) of!: (typeof KINDS)[number];
  @IsIn(FORMATS) format!: (typeof FORMATS)[number];
  /** Works as in `/calls/query`. Only for calls. */
  @IsOptional() @ValidateNested() @Type(() => CallsFilterDto) filter?: CallsFilterDto | null;
  /** An expression tree: docs/query-language.md. Only for calls and feedback. */
  @IsOptional() @IsJsonObject() query?: object | null;
  /** Digest of the table: the last part of `val.rows` of a dataset. */
  @IsOptional() @IsText(256) digest?: string | null;
}
