import { ApiPropertyOptional, getSchemaPath } from '@nestjs/swagger';
import { IsIn, IsOptional, IsUUID } from 'class-validator';
import { IsJsonObject, IsProjectId, IsText } from '../../platform/http/dto.js';
import { CallsFilterDto } from '../../tracing/calls/calls.dto.js';
import { ObjectsFilterDto } from '../../tracing/objects/objects.dto.js';
import { ThreadsFilterDto } from '../../tracing/threads/threads.dto.js';
import { EXPORTED, type ExportedKind } from './export-columns.js';

const KINDS = Object.keys(EXPORTED) as ExportedKind[];
export const FORMATS = ['parquet', 'jsonl'] as const;

export class ExportDto {
  @IsProjectId() project_id!: string;
  /** The rows of the file. `table` is a table of a dataset. `build` has the trajectories of a build. */
  @IsIn(KINDS) of!: ExportedKind;
  @IsIn(FORMATS) format!: (typeof FORMATS)[number];
  /** Works as in `/calls/query`, `/threads/stream_query` or `/objs/query`. Only for calls, threads and objects. */
  @IsOptional()
  @IsJsonObject()
  @ApiPropertyOptional({
    nullable: true,
    anyOf: [CallsFilterDto, ThreadsFilterDto, ObjectsFilterDto].map((dto) => ({
      $ref: getSchemaPath(dto),
    })),
  })
  filter?: object | null;
  /** An expression tree: docs/query-language.md. Only for calls and feedback. */
  @IsOptional() @IsJsonObject() query?: object | null;
  /** Digest of the table: the last part of `val.rows` of a dataset. */
  @IsOptional() @IsText(256) digest?: string | null;
  /** Id of the build. */
  @IsOptional() @IsUUID() build_id?: string | null;
}
