import { Injectable } from '@nestjs/common';
import { Database } from '../../platform/database/database.js';
import type {
  FilesStatsAnswerDto,
  ProjectInfoDto,
  ProjectsAnswerDto,
  ProjectsQueryDto,
  ProjectStatsAnswerDto,
  ProjectStatsDto,
} from './projects.dto.js';
import {
  type AddedTotals,
  callCountQuery,
  entityBytes,
  markInsert,
  projectBytes,
  projectsQuery,
  sizesQuery,
  storingProjects,
} from './projects.query.js';

@Injectable()
export class ProjectsService {
  constructor(private readonly database: Database) {}

  /** Returns the projects that scopes cover, as the JSON text of the answer. */
  async query(scopes: readonly string[], query: ProjectsQueryDto): Promise<string> {
    const rows = await this.database.query(projectsQuery(scopes, query), { long: 'read' });
    return `{"projects":[${rows.map(({ json }) => json).join(',')}]}`;
  }

  /** Counts the visible calls of a project without reading them. */
  async callCount(projectId: string): Promise<number> {
    const [row] = await this.database.query(callCountQuery(projectId), { long: 'read' });
    return Number(row!.count);
  }

  /** Returns those of the projects that store something. */
  async storing(ids: readonly string[]): Promise<Set<string>> {
    if (ids.length === 0) return new Set();
    const rows = await this.database.query(storingProjects(ids));
    return new Set(rows.map(({ project_id }) => project_id));
  }

  /** Returns the bytes that scopes store, keyed by scope (`<entity>/*` or a project). Empty projects are left out. */
  async storedBytes(scopes: readonly string[]): Promise<Map<string, number>> {
    const entities = scopes.filter((scope) => scope.endsWith('/*'));
    const projects = scopes.filter((scope) => !scope.endsWith('/*'));
    const long = { long: 'read' } as const;
    const rows = [
      ...(projects.length > 0 ? await this.database.query(projectBytes(projects), long) : []),
      ...(entities.length > 0 ? await this.database.query(entityBytes(entities), long) : []),
    ];
    return new Map(rows.map(({ scope, bytes }) => [scope, bytes]));
  }

  /** Returns the bytes that a project stores, as the JSON text of the answer. */
  async sizes(asked: ProjectStatsDto): Promise<string> {
    const [row] = await this.database.query(sizesQuery(asked), { long: 'read' });
    return row!.json;
  }

  async fileSizes(project_id: string): Promise<FilesStatsAnswerDto> {
    const sizes = await this.sizes({ project_id, include_file_storage_size: true });
    const { files_storage_size_bytes } = JSON.parse(sizes) as ProjectStatsAnswerDto;
    return { total_size_bytes: files_storage_size_bytes };
  }

  /** Returns the projects that are not empty, in the order of `ids`. */
  async info(ids: readonly string[]): Promise<ProjectInfoDto[]> {
    if (ids.length === 0) return [];
    const { projects } = JSON.parse(
      await this.query(ids, { limit: ids.length }),
    ) as ProjectsAnswerDto;
    const known = new Set(projects.map(({ project_id }) => project_id));
    return [...new Set(ids)]
      .filter((id) => known.has(id))
      .map((id) => ({ external_project_id: id, internal_project_id: id }));
  }

  async add(projectId: string, added: AddedTotals): Promise<void> {
    await this.database.query(markInsert(projectId, added));
  }
}
