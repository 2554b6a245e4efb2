// SQL: prices keep their digits as texts, are stored in batches, and are joined with the usage of calls.
import {
  column,
  type Columns,
  orderBy,
  page,
  select,
  wireTime,
} from '../../platform/query/columns.js';
import { compile } from '../../platform/query/expression.js';
import { allOf, isListed, sql, type Sql } from '../../platform/query/sql.js';
import { visibleIn } from '../visible-calls.js';
import type { CostsPurgeDto, CostsQueryDto } from './costs.dto.js';
import type { PriceName } from '../pricing/price-kinds.js';
import { pricesOfCall } from '../pricing/prices.query.js';
import type { BookRow } from '../pricing/price-book.js';

const COST: Columns = {
  id: column.text(sql`p.id`, { isNotNull: true }),
  llm_id: column.text(sql`p.llm_id`, { isNotNull: true }),
  prompt_token_cost: column.number(sql`p.prompt_token_cost`, { isNotNull: true }),
  completion_token_cost: column.number(sql`p.completion_token_cost`, { isNotNull: true }),
  prompt_token_cost_unit: column.text(sql`p.prompt_token_cost_unit`, { isNotNull: true }),
  completion_token_cost_unit: column.text(sql`p.completion_token_cost_unit`, { isNotNull: true }),
  effective_date: column.time(sql`p.effective_date`, { isNotNull: true }),
  provider_id: column.text(sql`p.provider_id`, { isNotNull: true }),
  cache_read_input_token_cost: column.number(sql`p.cache_read_input_token_cost`),
  cache_creation_input_token_cost: column.number(sql`p.cache_creation_input_token_cost`),
};

/** A record to store. Prices are numbers as text; null takes the default of the column. */
export interface CostRow extends Record<PriceName, string | null> {
  id: string;
  llm_id: string;
  effective_date: string | null;
  provider_id: string | null;
  prompt_token_cost_unit: string | null;
  completion_token_cost_unit: string | null;
}

export function insertQuery(projectId: string, rows: readonly CostRow[]): Sql {
  const all = (name: keyof CostRow) => rows.map((row) => row[name]);
  return sql`
    INSERT INTO costs (project_id, id, llm_id, effective_date, provider_id, prompt_token_cost, completion_token_cost,
      cache_read_input_token_cost, cache_creation_input_token_cost, prompt_token_cost_unit, completion_token_cost_unit)
    SELECT ${projectId}, id, llm_id, coalesce(effective_date, now()), coalesce(provider_id, 'default'), prompt, completion,
      cache_read, cache_creation, coalesce(prompt_unit, 'USD'), coalesce(completion_unit, 'USD')
    FROM unnest(${all('id')}::text[], ${all('llm_id')}::text[], ${all('effective_date')}::timestamptz[],
      ${all('provider_id')}::text[], ${all('prompt_token_cost')}::numeric[], ${all('completion_token_cost')}::numeric[],
      ${all('cache_read_input_token_cost')}::numeric[], ${all('cache_creation_input_token_cost')}::numeric[],
      ${all('prompt_token_cost_unit')}::text[], ${all('completion_token_cost_unit')}::text[])
    AS t (id, llm_id, effective_date, provider_id, prompt, completion, cache_read, cache_creation, prompt_unit, completion_unit)`;
}

const matching = ({ project_id, query }: { project_id: string; query?: object | null }) =>
  allOf(sql`p.project_id = ${project_id}`, query && compile(query, COST));

const NEWEST_BY_MODEL = [
  { field: 'llm_id', direction: 'asc' },
  { field: 'effective_date', direction: 'desc' },
] as const;

/** Reads the records of a query as JSON texts, in the requested order. */
export function costsQuery(request: CostsQueryDto): Sql {
  const { fields, sort_by } = request;
  return sql`SELECT row_to_json(t)::text AS json FROM (
    SELECT ${select(COST, fields?.length ? fields : Object.keys(COST))} FROM costs p WHERE ${matching(request)}
    ${orderBy(COST, sort_by?.length ? sort_by : NEWEST_BY_MODEL, 'id')}
    ${page(request)}) t`;
}

export const purgeQuery = (request: CostsPurgeDto): Sql<{ num_purged: number }> => sql`
  WITH gone AS (DELETE FROM costs p WHERE ${matching(request)} RETURNING 1)
  SELECT count(*)::int AS num_purged FROM gone`;

/** Reads the usage of calls and the project's records that price it, each call as JSON text. */
export const usageQuery = (projectId: string, callIds: readonly string[]) => sql`
  SELECT row_to_json(t)::text FROM (SELECT c.id, c.op_name, ${wireTime(sql`c.started_at`)} AS started_at,
    c.usage, c.counts_gross, ${pricesOfCall(projectId)} AS records
  FROM calls c
  WHERE ${visibleIn(projectId)} AND ${isListed(sql`c.id`, callIds)}) t`;

export const changesQuery = (
  projectId: string,
  { start, end, limit }: { start: string; end: string; limit: number },
) => sql<{ at: string }>`
  SELECT DISTINCT ${wireTime(sql`p.effective_date`)} AS at FROM costs p
  WHERE p.project_id = ${projectId} AND p.effective_date > ${start}::timestamptz AND p.effective_date < ${end}::timestamptz
  ORDER BY 1 LIMIT ${limit}::bigint`;

/**
 * Reads the record of each model that is in force from each segment on. Before the first change, it is the last record.
 */
export const bookQuery = (
  projectId: string,
  llmIds: readonly string[],
  { changes, end }: { changes: readonly string[]; end: string },
) => sql<BookRow>`
  SELECT m.llm_id, p.* FROM unnest(${llmIds}::text[]) AS m (llm_id) CROSS JOIN LATERAL (
    SELECT DISTINCT ON (segment) width_bucket(p.effective_date, ${changes}::timestamptz[]) AS segment, p.id,
      ${wireTime(sql`p.effective_date`)} AS effective_date, p.provider_id, p.prompt_token_cost, p.completion_token_cost,
      p.cache_read_input_token_cost, p.cache_creation_input_token_cost, p.prompt_token_cost_unit, p.completion_token_cost_unit
    FROM costs p WHERE p.project_id = ${projectId} AND p.llm_id = m.llm_id AND p.effective_date < ${end}::timestamptz
    ORDER BY segment, p.effective_date DESC, p.id DESC) p
  ORDER BY m.llm_id, p.segment`;
