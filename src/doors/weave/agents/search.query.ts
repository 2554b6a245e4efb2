// SQL: documents are searched in the database, the newest first.
import { pageLimit } from '../../../platform/query/plans.js';
import { storable } from '../../../platform/query/columns.js';
import { allOf, sql, type Sql } from '../../../platform/query/sql.js';
import { spellings } from '../../../platform/query/text-search.js';
import type { AgentSearchDto } from './agents.dto.js';
import { countedSources, SpanSource } from './span-source.js';

/** Most spans that a search reads, the newest first. With `started_before`, a request searches older ones. */
export const MAX_SEARCHED = 20_000;
/** Bytes of documents. Larger ones are not searched. */
const MAX_BYTES = 4 * 1024 * 1024;

/**
 * Reads the newest spans that may contain the text. Only these are filtered by fields without an index (provider,
 * model). A pattern selects documents that may contain some spelling of the text; the caller then compares each
 * message.
 */
export function searchedSpans(asked: AgentSearchDto, most: number): Sql {
  const { project_id, started_after, started_before } = asked;
  const { trace_id, conversation_id, agent_name, provider_name, request_model } = asked;
  const sources =
    trace_id || conversation_id
      ? asked.sources
      : countedSources({ sources: asked.sources ?? null });
  const indexed = new SpanSource();
  const where = indexed.matching(
    { project_id, started_after, started_before, sources: sources ?? null },
    trace_id && sql`c.trace_id = ${trace_id}`,
    conversation_id && sql`(c.thread_id || '') = ${conversation_id} AND c.thread_id <> ''`,
    agent_name && sql`c.agent_name = ${agent_name}`,
  );
  const source = new SpanSource(sql`(
    SELECT c.* FROM ${indexed.from} WHERE ${where} ORDER BY c.started_at DESC, c.id DESC ${pageLimit(most)}) c`);
  const field = (name: string, value: string | null | undefined) =>
    value && sql`(${source.field(name, name).sql})::text = ${value}`;
  const hasFields = allOf(
    field('provider_name', provider_name),
    field('request_model', request_model),
  );
  const pattern = spellings(Array.from(storable((asked.query ?? '').toLowerCase())), true);
  const maySay = (document: Sql) => sql`${document}::text ~ ${pattern}`;
  return sql`
    SELECT row_to_json(t)::text FROM (
      SELECT c.id, c.trace_id, to_char(c.started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS started_at, c.thread_id, c.operation,
        c.agent_name, c.attributes, c.inputs, c.output
      FROM ${source.from}
      WHERE ${hasFields} AND octet_length(c.inputs::text) + coalesce(octet_length(c.output::text), 0) <= ${MAX_BYTES}::int
        AND ${pattern === '' ? sql`TRUE` : sql`(${maySay(sql`c.inputs`)} OR ${maySay(sql`c.output`)})`}
      ORDER BY c.started_at DESC, c.id DESC) t`;
}
