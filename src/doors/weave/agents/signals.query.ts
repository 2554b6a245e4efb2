// SQL: conditions on the feedback on traces and conversations of spans.
import { spellRefs } from '../../../platform/http/refs.js';
import { allOf, join, sql, type Sql } from '../../../platform/query/sql.js';
import type { SignalFiltersDto } from './agents.dto.js';

const OPERATORS = { gte: sql`>=`, gt: sql`>`, lte: sql`<=`, lt: sql`<`, eq: sql`=` };

/**
 * Returns the condition that the trace or the conversation of the span `c` has feedback with the tags and ratings. Null
 * without filters. Feedback is looked up by its ref, in both spellings.
 */
export function hasSignals({
  project_id,
  signal_filters,
}: {
  project_id: string;
  signal_filters?: SignalFiltersDto | null;
}): Sql | null {
  const { tags, ratings } = signal_filters ?? {};
  const refs = [
    ...spellRefs(project_id, ['agent_turn'], ['']).map((ref) => sql`${ref}::text || c.trace_id`),
    ...spellRefs(project_id, ['agent_conversation'], ['']).flatMap((ref) =>
      ['', `!'()*`].map(
        (kept) => sql`${ref}::text || skein_url_encoded(c.thread_id, ${kept}::text)`,
      ),
    ),
  ];
  const said = (
    condition: Sql,
  ) => sql`EXISTS (SELECT FROM feedback f WHERE f.project_id = ${project_id}
    AND f.ref IN (${join(refs)}) AND ${condition})`;
  const conditions = [
    ...(tags ?? []).map((tag) =>
      said(
        sql`f.scorer_tags IS NOT NULL AND EXISTS (SELECT FROM json_array_elements_text(f.scorer_tags) t (tag) WHERE t.tag = ${tag})`,
      ),
    ),
    ...(ratings ?? []).map(({ scorer_key, op, value }) =>
      said(
        sql`(f.scorer_ratings ->> ${scorer_key}::text)::float8 ${OPERATORS[op]} ${value}::float8`,
      ),
    ),
  ];
  return conditions.length > 0 ? allOf(...conditions) : null;
}
