// SQL: documents are excluded by a pattern, and measured, before they are read.
import { storable } from '../../../platform/query/columns.js';
import { lookedUp } from '../../../platform/query/plans.js';
import { identifier, isListed, join, type Sql, sql } from '../../../platform/query/sql.js';
import { spellings } from '../../../platform/query/text-search.js';
import { visibleIn } from '../../visible-calls.js';
import { TEXTS } from './call-texts.query.js';

/** Most bytes of the values of one call that are searched. */
const MAX_CALL_BYTES = 32 * 1024 * 1024;

/** The searched values of a call, in the order of the matches. */
export const SEARCHED = [...TEXTS, 'inputs', 'output', 'attributes', 'summary'];

/**
 * Selects the values of calls that may contain one of the texts. Each row is a JSON object. `is_large` is true for a
 * call that is too large to search; it has no values.
 */
export function searchedCalls(
  projectId: string,
  ids: readonly string[],
  { texts, isFolded }: { texts: readonly string[]; isFolded: boolean },
): Sql {
  const pattern = texts.map((text) => spellings(Array.from(storable(text)), isFolded)).join('|');
  const values = SEARCHED.map((name) => ({
    name: identifier(name),
    of: sql`c.${identifier(name)}`,
  }));
  const bytes = values.map(({ of }) => sql`coalesce(octet_length(${of}::text), 0)::bigint`);
  const maySay = values.map(
    ({ name, of }) =>
      sql`CASE WHEN NOT s.is_large AND ${of}::text ~ ${pattern}::text THEN ${of} END AS ${name}`,
  );
  return sql`
    SELECT row_to_json(t)::text FROM (
      SELECT c.id, s.is_large, ${join(maySay)}
      FROM calls c ${lookedUp(sql`SELECT ${join(bytes, ' + ')} > ${MAX_CALL_BYTES}::bigint AS is_large`, 's')}
      WHERE ${visibleIn(projectId)} AND ${isListed(sql`c.id`, ids)}
      ORDER BY array_position(${ids}::text[], c.id), c.id) t`;
}
