import { Injectable } from '@nestjs/common';
import { Database } from '../database/database.js';
import type { ProjectsQueryDto } from './projects.dto.js';
import { bytesInsert, callCountQuery, projectsQuery } from './projects.query.js';

@Injectable()
export class ProjectsService {
  constructor(private readonly database: Database) {}

  /** The projects that scopes cover, as the JSON text of the answer. */
  async query(scopes: readonly string[], query: ProjectsQueryDto): Promise<string> {
    const rows = await this.database.long(() =>
      this.database.query<{ json: string }>(projectsQuery(scopes, query)),
    );
    return `{"projects":[${rows.map(({ json }) => json).join(',')}]}`;
  }

  /** How many calls of a project can be seen; reads none of them. */
  async callCount(projectId: string): Promise<number> {
    const [row] = await this.database.long(() =>
      this.database.query<{ count: string }>(callCountQuery(projectId)),
    );
    return Number(row!.count);
  }

  /** In the transaction of what has changed the bytes of the project. */
  async addBytes(projectId: string, bytes: bigint): Promise<void> {
    if (bytes !== 0n) await this.database.query(bytesInsert(projectId, bytes.toString()));
  }
}
