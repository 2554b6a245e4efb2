// SQL: spans of groups are read as a stream, with the inputs of their costs.
import { pricesOfCall } from '../../../tracing/pricing/prices.query.js';
import { ownUsage } from '../../../tracing/usage/own-usage.query.js';
import { wireTime } from '../../../platform/query/columns.js';
import { lookedUp } from '../../../platform/query/plans.js';
import { allOf, isOneOf, join, sql, type Sql } from '../../../platform/query/sql.js';
import { visibleIn } from '../../../tracing/visible-calls.js';
import { groupKeys, type SpanGroupsRequest } from './span-groups.query.js';
import { SpanSource } from './span-source.js';
import { agentAbove, belowAgent, usageBelowAgent } from './spans.query.js';

const costInputs = (
  projectId: string,
) => sql`json_build_object('usage', c.usage, 'counts_gross', c.counts_gross,
  'started_at', ${wireTime(sql`c.started_at`)}, 'records', ${pricesOfCall(projectId)})`;

/** Reads the spans of all groups that report usage, with the keys of their groups. */
export function costedSpans(asked: SpanGroupsRequest, more: Sql | null, limit: number): Sql {
  const source = new SpanSource();
  const keys = groupKeys(asked, source);
  const where = source.matching(asked, more, sql`${ownUsage} IS NOT NULL`);
  return sql`
    SELECT json_build_object('keys', json_build_array(${join(keys)}), 'span', ${costInputs(asked.project_id)})::text
    FROM ${source.from} WHERE ${where} LIMIT ${limit}::bigint`;
}

/**
 * Reads the spans that count for the usage of agents, each with the agent's name and version. The version is empty
 * without `hasVersions`.
 */
export function costedAgents(
  projectId: string,
  {
    agent_name,
    hasVersions,
    sources,
  }: { agent_name: string | null; hasVersions: boolean; sources: readonly string[] },
  limit: number,
): Sql {
  const isCounted = allOf(isOneOf(sql`c.source`, sources));
  const costed = (name: Sql, version: Sql) =>
    sql`SELECT json_build_object('keys', json_build_array(${name}, ${hasVersions ? sql`coalesce(${version}, '')` : sql`''`}), 'span', ${costInputs(projectId)})::text`;
  if (agent_name !== null)
    return sql`WITH RECURSIVE ${belowAgent(projectId, agent_name)}
      ${costed(sql`${agent_name}::text`, sql`b.agent_version`)} FROM ${usageBelowAgent(projectId, isCounted)} LIMIT ${limit}::bigint`;
  const names = sql`SELECT CASE WHEN c.agent_name IS NULL THEN (${agentAbove(projectId)})
      ELSE ARRAY[c.agent_name, c.agent_version] END AS names`;
  return sql`${costed(sql`o.names[1]`, sql`o.names[2]`)} FROM calls c ${lookedUp(names, 'o')}
    WHERE ${visibleIn(projectId)} AND ${isCounted} AND c.operation IS NOT NULL AND ${ownUsage} IS NOT NULL AND o.names IS NOT NULL LIMIT ${limit}::bigint`;
}

/** Bytes of documents that are read for a preview. */
const MAX_BYTES = 256 * 1024;

/** Reads the first and the last span with messages of each conversation. */
export const edgeSpans = (projectId: string, ids: readonly string[]) => sql`
  SELECT json_build_object('id', t.id, 'is_first', e.is_first, 'span', json_build_object(
    'operation', c.operation, 'inputs', c.inputs, 'output', c.output))::text
  FROM unnest(${ids}::text[]) t (id) CROSS JOIN (VALUES (true), (false)) e (is_first) ${lookedUp(
    sql`SELECT c.operation, c.inputs, c.output FROM calls c
      WHERE ${visibleIn(projectId)} AND c.id = (
        SELECT CASE WHEN e.is_first THEN (array_agg(s.id ORDER BY s.started_at, s.id))[1]
          ELSE (array_agg(s.id ORDER BY s.started_at DESC, s.id DESC))[1] END
        FROM (SELECT c.id, c.started_at FROM calls c WHERE ${visibleIn(projectId)}
          AND (c.thread_id || '') = t.id AND c.operation IN ('invoke_agent', 'chat', 'generate_content', 'text_completion')) s)
      AND octet_length(c.inputs::text) + coalesce(octet_length(c.output::text), 0) <= ${MAX_BYTES}::int`,
    'c',
  )}`;
