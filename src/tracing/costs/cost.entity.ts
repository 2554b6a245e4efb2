import { Column, Index, PrimaryColumn } from 'typeorm';
import { ProjectTable } from '../../platform/database/project-table.js';
import { changeKind } from '../../platform/database/changes.js';

export const COSTS = changeKind('costs');

/**
 * The price of one token of a model in a project, from a date on. `numeric` is exact; the driver returns it as text.
 */
@ProjectTable('costs', { rows: 'data', counted: {} })
@Index('costs_llm_idx', ['projectId', 'llmId', 'effectiveDate', 'id'])
export class Cost {
  @PrimaryColumn('text', { name: 'project_id', collation: 'C' }) projectId!: string;
  @PrimaryColumn('text', { collation: 'C' }) id!: string;
  @Column({ type: 'text', name: 'llm_id', collation: 'C' }) llmId!: string;
  @Column('timestamptz', { name: 'effective_date' }) effectiveDate!: Date;
  @Column({ type: 'text', name: 'provider_id', collation: 'C' }) providerId!: string;
  @Column('numeric', { name: 'prompt_token_cost' }) promptTokenCost!: string;
  @Column('numeric', { name: 'completion_token_cost' }) completionTokenCost!: string;
  @Column('numeric', { name: 'cache_read_input_token_cost', nullable: true })
  cacheReadInputTokenCost!: string | null;
  @Column('numeric', { name: 'cache_creation_input_token_cost', nullable: true })
  cacheCreationInputTokenCost!: string | null;
  @Column({ type: 'text', name: 'prompt_token_cost_unit', collation: 'C' })
  promptTokenCostUnit!: string;
  @Column({ type: 'text', name: 'completion_token_cost_unit', collation: 'C' })
  completionTokenCostUnit!: string;
}
