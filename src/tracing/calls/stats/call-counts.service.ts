import { Injectable } from '@nestjs/common';
import { Database } from '../../../platform/database/database.js';
import { ProjectsService } from '../../projects/projects.service.js';
import type { CallsStatsAnswerDto, CallsStatsDto } from '../calls.dto.js';
import { CallConditions } from '../read/call-conditions.service.js';
import { callsStatsQuery } from '../read/calls.query.js';

@Injectable()
export class CallCountsService {
  constructor(
    private readonly database: Database,
    private readonly projects: ProjectsService,
    private readonly conditions: CallConditions,
  ) {}

  /** Counts matching calls. The number of all calls of a project is stored already. */
  async count(query: CallsStatsDto): Promise<CallsStatsAnswerDto> {
    const count = await (isOfAll(query)
      ? this.projects.callCount(query.project_id)
      : this.matching(query));
    const limit = query.limit ?? Infinity;
    return { count: Math.min(count, limit), has_more: count > limit };
  }

  private async matching(query: CallsStatsDto): Promise<number> {
    const counted = await this.conditions.compiled(query, (ahead) => callsStatsQuery(query, ahead));
    const [row] = await this.database.query(counted, { long: 'read' });
    return row!.count;
  }
}

/** Returns true if the request matches all calls of its project. */
const isOfAll = ({ filter, query }: CallsStatsDto) =>
  !query && Object.values(filter ?? {}).every((value) => !value);
