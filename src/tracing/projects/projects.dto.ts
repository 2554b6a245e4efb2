import { ApiProperty } from '@nestjs/swagger';
import { IsBoolean, IsInt, IsOptional, Max, Min } from 'class-validator';
import { IsProjectId, IsTextList, MAX_INT, SortBy } from '../../platform/http/dto.js';
import type { Sort } from '../../platform/query/columns.js';

const PROJECT_SORTS = ['project_id', 'call_count', 'bytes', 'last_activity'] as const;
type ProjectSort = (typeof PROJECT_SORTS)[number];

const MAX_PAGE = 1000;

export class ProjectsQueryDto {
  /** At most 1000; 100 when absent. */
  @IsOptional() @IsInt() @Min(0) @Max(MAX_PAGE) limit?: number | null;
  @IsOptional() @IsInt() @Min(0) @Max(MAX_INT) offset?: number | null;
  /** The latest activity first by default; `project_id` breaks ties. */
  @SortBy(PROJECT_SORTS) sort_by?: Sort<ProjectSort>[] | null;
}

export class ProjectDto {
  project_id!: string;
  /** Calls that have started and are not deleted. The number is exact. */
  @ApiProperty({ type: 'integer' }) call_count!: number;
  /**
   * Bytes of its calls, objects, tables, files, feedback, trajectories and builds. Calls count with their compressed
   * size; those of the last minutes count before compression.
   */
  @ApiProperty({ type: 'integer' }) bytes!: number;
  /** Time of the last write or deletion. */
  @ApiProperty({ type: 'string', format: 'date-time' }) last_activity!: string;
}

export class ProjectsAnswerDto {
  @ApiProperty({ type: [ProjectDto] }) projects!: ProjectDto[];
}

/** A size whose member is false is not computed, and is 0 in the answer. */
export class ProjectStatsDto {
  @IsProjectId() project_id!: string;
  @IsOptional() @IsBoolean() include_trace_storage_size?: boolean | null;
  @IsOptional() @IsBoolean() include_object_storage_size?: boolean | null;
  @IsOptional() @IsBoolean() include_table_storage_size?: boolean | null;
  @IsOptional() @IsBoolean() include_file_storage_size?: boolean | null;
}

export class ProjectStatsAnswerDto {
  /** The compressed size of calls, up to some minutes late. */
  @ApiProperty({ type: 'integer' }) trace_storage_size_bytes!: number;
  /** The values of all versions. */
  @ApiProperty({ type: 'integer' }) objects_storage_size_bytes!: number;
  /** The stored size of tables and rows. */
  @ApiProperty({ type: 'integer' }) tables_storage_size_bytes!: number;
  @ApiProperty({ type: 'integer' }) files_storage_size_bytes!: number;
}

export class FilesStatsDto {
  @IsProjectId() project_id!: string;
}

export class FilesStatsAnswerDto {
  @ApiProperty({ type: 'integer' }) total_size_bytes!: number;
}

export class ProjectsInfoDto {
  /** Names of projects. Projects that the key may not read and empty projects are left out. */
  @IsTextList(MAX_PAGE, 257) project_ids!: string[];
}

export class ProjectInfoDto {
  external_project_id!: string;
  /** Equals `external_project_id`: projects have no other id. */
  internal_project_id!: string;
}
