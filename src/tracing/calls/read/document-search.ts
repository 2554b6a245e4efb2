// SQL: the parts in which a search inside documents looks at the calls.
import { ApiError } from '../../../platform/errors.js';
import { WIRE } from '../../../platform/http/wire-names.js';
import { pageLimit } from '../../../platform/query/plans.js';
import { wireTime } from '../../../platform/query/columns.js';
import { allOf, sql, type Sql } from '../../../platform/query/sql.js';
import { visibleIn } from '../../visible-calls.js';
import type { CallsQueryDto } from '../calls.dto.js';
import type { IndexKind } from '../indexes/call-indexes.dto.js';
import { isStartOrdered } from './call-lists.query.js';
import type { BuiltinPrices } from './cost-field.js';
import { isMatch, type CallSelection } from './calls.query.js';

/** How many calls the first part of a search has, and the largest. Behind one that took longer none is larger. */
export const FIRST_PART = 2000;
export const LARGEST_PART = 64_000;
export const QUICK_PART_MS = 1000;

/**
 * A search inside the documents of calls in the order of their starts. Without an index it reads the documents of all calls, so it looks at
 * a part of them at a time, and can say how far it came.
 */
export interface DocumentSearch {
  /** The calls that the conditions on columns leave: in these it looks. */
  candidates: Sql;
  isDescending: boolean;
  /** The indexes each of which would serve it. */
  indexes: { field: string; kind: IndexKind }[];
}

/** The search that a valid request asks for; null where it reads no documents, or goes by another order. */
export function documentSearch(
  request: CallsQueryDto,
  prices?: BuiltinPrices,
): DocumentSearch | null {
  const { project_id, filter, query, sort_by, offset } = request;
  const all = conditions(query);
  const inside = all.filter(readsDocument);
  const isInside =
    inside.length > 0 || Boolean(filter?.input_refs?.length || filter?.output_refs?.length);
  if (!isInside || offset || !isStartOrdered(request)) return null;
  const beside = all.filter((condition) => !inside.includes(condition));
  return {
    candidates: allOf(visibleIn(project_id), isMatch(withoutDocuments(request, beside), prices)),
    isDescending: sort_by?.[0]?.direction === 'desc',
    indexes: inside.flatMap(helpfulIndex),
  };
}

/** One part of a search, from the start that the part before it ended with. */
export interface SearchPart {
  calls: number;
  /** The start of its last call; null where it has none. */
  until: string | null;
}

export const partQuery = (
  search: DocumentSearch,
  from: string | null,
  calls: number,
) => sql<SearchPart>`
  SELECT count(*)::int AS calls, ${wireTime(search.isDescending ? sql`min(started_at)` : sql`max(started_at)`)} AS until
  FROM (SELECT c.started_at FROM calls c WHERE ${allOf(search.candidates, isWithin(search, from, null))}
    ORDER BY c.started_at ${search.isDescending ? sql`DESC` : sql`ASC`} ${pageLimit(calls)}) t`;

/** The condition that a call is of the part between two starts. Calls that start together are in one part. */
export function isWithin(
  { isDescending }: DocumentSearch,
  from: string | null,
  until: string | null,
): Sql {
  const time = (text: string) => sql`${text}::timestamptz`;
  const [behind, upTo] = isDescending ? [sql`<`, sql`>=`] : [sql`>`, sql`<=`];
  return allOf(
    from !== null && sql`c.started_at ${behind} ${time(from)}`,
    until !== null && sql`c.started_at ${upTo} ${time(until)}`,
  );
}

/** What is said of a search that was stopped behind so many calls, of which the last started at `until`. */
export function searchStoppedError(
  { indexes }: DocumentSearch,
  calls: number,
  until: string | null,
): ApiError {
  const [index] = indexes;
  const reached =
    until === null
      ? `fewer than ${FIRST_PART} calls`
      : `${calls} calls, as far as those that started at ${until}`;
  const help = index
    ? `an index of kind ${index.kind} on ${index.field} (/index/create) serves it`
    : 'no index serves this condition';
  return new ApiError(
    'too_large',
    `the search read the documents of ${reached}, and took longer than it may: ask for a shorter time of started_at; ${help}`,
  );
}

/** A request without the refs that it looks for, and with these of its conditions. */
export function withoutDocuments(
  { project_id, filter }: CallSelection,
  kept: unknown[],
): CallSelection {
  const { input_refs: _inputs, output_refs: _outputs, ...columns } = filter ?? {};
  const query = kept.length > 0 ? { query: { $expr: { $and: kept } } } : {};
  return { project_id, filter: columns, ...query };
}

/** The conditions that must all hold. */
export function conditions(query: object | null | undefined): unknown[] {
  if (!query) return [];
  const { $expr } = query as { $expr: { $and?: unknown } };
  return Array.isArray($expr.$and) ? $expr.$and : [$expr];
}

const DOCUMENTS = ['attributes', 'inputs', 'output', 'summary'];
const DERIVED = `summary.${WIRE.summary}`;

const isInDocument = (field: unknown): field is string =>
  typeof field === 'string' &&
  DOCUMENTS.includes(field.split('.', 1)[0]!) &&
  field !== DERIVED &&
  !field.startsWith(`${DERIVED}.`);

export function readsDocument(condition: unknown): boolean {
  const waiting = [condition];
  while (waiting.length > 0) {
    const node = waiting.pop();
    if (typeof node !== 'object' || node === null) continue;
    if (isInDocument((node as { $getField?: unknown }).$getField)) return true;
    waiting.push(...Object.values(node));
  }
  return false;
}

/** As `call-indexes.query.ts` makes them, and docs/adr/0016-indexes-on-fields.md says what they serve. */
function helpfulIndex(condition: unknown): DocumentSearch['indexes'] {
  const { $eq, $in, $contains } = condition as Record<string, unknown>;
  if (Array.isArray($eq)) {
    const field = $eq.map(fieldName).find(isInDocument);
    const values = $eq.flatMap(literal);
    return field?.includes('.') ? indexFor(field, values) : [];
  }
  if (Array.isArray($in)) {
    const [field, values] = [fieldName($in[0]), $in[1] as unknown];
    return isInDocument(field) && field.includes('.') && Array.isArray(values)
      ? indexFor(field, values.flatMap(literal))
      : [];
  }
  const { input, substr } = ($contains ?? {}) as Record<string, unknown>;
  const [text] = literal(substr);
  return isInDocument(fieldName(input)) && /\p{L}{3}|\d{3}/u.test(String(text))
    ? [{ field: fieldName(input) as string, kind: 'substring' }]
    : [];
}

function indexFor(field: string, values: unknown[]): DocumentSearch['indexes'] {
  const [kind] = [...new Set(values.map((value) => typeof value))];
  if (kind === 'string') return [{ field, kind: 'text' }];
  return kind === 'number' ? [{ field, kind: 'number' }] : [];
}

const fieldName = (node: unknown): unknown => (node as { $getField?: unknown } | null)?.$getField;

const literal = (node: unknown): unknown[] =>
  typeof node === 'object' && node !== null && '$literal' in node ? [node.$literal] : [];
