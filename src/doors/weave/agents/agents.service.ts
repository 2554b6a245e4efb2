import { Injectable } from '@nestjs/common';
import { Database } from '../../../platform/database/database.js';
import { printDecimals } from '../../../platform/json/decimal.js';
import { type AgentsQueryDto, type AgentVersionsQueryDto, USUAL_ROWS } from './agents.dto.js';
import { sumCosts, MAX_COSTED } from './group-extras.js';
import { costedAgents } from './group-extras.query.js';
import { totalOf, withDirection } from './spans.service.js';
import { countedSources } from './span-source.js';
import { AGENT_FIELDS, agentsQuery } from './spans.query.js';

@Injectable()
export class AgentsService {
  constructor(private readonly database: Database) {}

  /** Returns agents as JSON text. */
  agents({ filters, ...asked }: AgentsQueryDto): Promise<string> {
    return this.answer('agents', asked, filters?.agent_name ?? null, false);
  }

  /** Returns versions of an agent as JSON text. */
  versions({ agent_name, ...asked }: AgentVersionsQueryDto): Promise<string> {
    return this.answer('versions', asked, agent_name, true);
  }

  private async answer(
    name: string,
    asked: Omit<AgentsQueryDto, 'filters'>,
    agent_name: string | null,
    hasVersions: boolean,
  ): Promise<string> {
    const { project_id, sort_by, include_costs } = asked;
    const wanted = {
      project_id,
      agent_name,
      hasVersions,
      sources: countedSources({ sources: asked.sources ?? null }),
      sort_by: sort_by?.map(withDirection) ?? null,
      limit: asked.limit ?? USUAL_ROWS,
      offset: asked.offset ?? 0,
    };
    const rows = await this.database.query(agentsQuery(wanted), { long: 'read' });
    const total = await totalOf(rows, wanted, (page) =>
      this.database.query(agentsQuery({ ...wanted, ...page }), { long: 'read' }),
    );
    const costs = include_costs
      ? await sumCosts(this.database, costedAgents(project_id, wanted, MAX_COSTED + 1))
      : null;
    const shown = rows.map(({ agent_name: agent, agent_version, ...row }) => ({
      project_id,
      agent_name: agent,
      ...(hasVersions && { agent_version }),
      ...Object.fromEntries(AGENT_FIELDS.map((field) => [field, row[field]])),
      total_cost_usd: costs?.get(JSON.stringify([agent, agent_version]))?.total ?? null,
    }));
    return printDecimals({ [name]: shown, total_count: total });
  }
}
