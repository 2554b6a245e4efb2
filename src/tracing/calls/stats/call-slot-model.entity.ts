import { Column, PrimaryColumn } from 'typeorm';
import { ProjectTable } from '../../../platform/database/project-table.js';

/**
 * Tokens that the calls of a slot used of a model. There is one row for each tier of input tokens and each set of kinds
 * that the usage does not report, because prices may depend on both.
 */
@ProjectTable('call_slot_models', { rows: 'derived' })
export class CallSlotModel {
  @PrimaryColumn('text', { name: 'project_id', collation: 'C' }) projectId!: string;
  @PrimaryColumn('timestamptz') slot!: Date;
  @PrimaryColumn('text', { name: 'llm_id', collation: 'C' }) llmId!: string;
  @PrimaryColumn('smallint') tier!: number;
  @PrimaryColumn('smallint', { name: 'unknown_kinds' }) unknownKinds!: number;
  @Column('bigint', { name: 'call_count' }) callCount!: string;
  @Column('numeric', { name: 'prompt_tokens' }) promptTokens!: string;
  @Column('numeric', { name: 'completion_tokens' }) completionTokens!: string;
  @Column('numeric', { name: 'cache_read_input_tokens' }) cacheReadInputTokens!: string;
  @Column('numeric', { name: 'cache_creation_input_tokens' }) cacheCreationInputTokens!: string;
  /** Smallest and largest number of input tokens of a call. */
  @Column('bigint', { name: 'min_input' }) minInput!: string;
  @Column('bigint', { name: 'max_input' }) maxInput!: string;
  /** Tokens of `DETAILS` (src/tracing/usage/tokens.ts), in their order. Null if the calls report no details. */
  @Column('numeric', { array: true, nullable: true }) details!: string[] | null;
}
