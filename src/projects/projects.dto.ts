import { ApiProperty } from '@nestjs/swagger';
import { IsInt, IsOptional, Max, Min } from 'class-validator';
import { MAX_INT, SortBy } from '../common/dto.js';
import type { Sort } from '../query/columns.js';

export const PROJECT_SORTS = ['project_id', 'call_count', 'bytes', 'last_activity'] as const;
type ProjectSort = (typeof PROJECT_SORTS)[number];

const MAX_PAGE = 1000;

export class ProjectsQueryDto {
  /** At most 1000; 100 when absent. */
  @IsOptional() @IsInt() @Min(0) @Max(MAX_PAGE) limit?: number | null;
  @IsOptional() @IsInt() @Min(0) @Max(MAX_INT) offset?: number | null;
  /** By default the latest activity first; `project_id` breaks ties. */
  @SortBy(PROJECT_SORTS) sort_by?: Sort<ProjectSort>[] | null;
}

export class ProjectDto {
  project_id!: string;
  /** Calls that have started and are not deleted: exact. */
  @ApiProperty({ type: 'integer' }) call_count!: number;
  /**
   * What its calls, objects, tables, files, feedback, trajectories and builds take. Calls count as they are stored, compressed, and
   * up to some minutes late.
   */
  @ApiProperty({ type: 'integer' }) bytes!: number;
  /** When something was last written or deleted. */
  @ApiProperty({ type: 'string', format: 'date-time' }) last_activity!: string;
}

export class ProjectsAnswerDto {
  @ApiProperty({ type: [ProjectDto] }) projects!: ProjectDto[];
}
