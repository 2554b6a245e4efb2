import { ApiError } from '../../../platform/errors.js';
import { pageLimit } from '../../../platform/query/plans.js';
import { wireTime } from '../../../platform/query/columns.js';
import { allOf, sql, type Sql } from '../../../platform/query/sql.js';
import { visibleIn } from '../../visible-calls.js';
import type { CallsQueryDto } from '../calls.dto.js';
import type { IndexKind } from '../indexes/call-indexes.dto.js';
import { isStartOrdered } from './call-lists.query.js';
import { type KnownRelations, RELATIONS } from './call-relations.js';
import { isMatch, type CallSelection, type ReadAhead } from './calls.query.js';
import { isDerived } from './derived-field.js';

/**
 * Number of calls in the first part of a search, and in the largest. After a part that took longer than
 * `QUICK_PART_MS`, parts no longer grow.
 */
export const FIRST_PART = 2000;
export const LARGEST_PART = 64_000;
export const QUICK_PART_MS = 1000;

/**
 * A search inside the documents of calls, in the order of their starts. Without an index it reads the documents of all
 * calls. So it searches one part of them at a time, and can report how far it came.
 */
export interface DocumentSearch {
  /** Matches the calls that the conditions on columns leave. Their documents are searched. */
  candidates: Sql;
  isDescending: boolean;
  /** Indexes of which each would serve the search. */
  indexes: { field: string; kind: IndexKind }[];
}

/** Returns the search for a valid request. Null if the request reads no documents, or has another order. */
export function documentSearch(request: CallsQueryDto, ahead?: ReadAhead): DocumentSearch | null {
  const { project_id, filter, query, offset } = request;
  const all = conditions(query);
  const inside = all.filter((condition) => readsDocument(condition, ahead?.relations));
  const isInside =
    inside.length > 0 || Boolean(filter?.input_refs?.length || filter?.output_refs?.length);
  if (!isInside || offset || !isStartOrdered(request)) return null;
  const beside = all.filter((condition) => !inside.includes(condition));
  return {
    candidates: allOf(visibleIn(project_id), isMatch(withoutDocuments(request, beside), ahead)),
    isDescending: isNewestFirst(request),
    indexes: inside.flatMap(helpfulIndex),
  };
}

/** Returns true if a request sorts by the newest starts first. */
export const isNewestFirst = ({ sort_by }: Pick<CallsQueryDto, 'sort_by'>) =>
  sort_by?.[0]?.direction === 'desc';

/** One part of a search. It begins after the start with which the previous part ended. */
export interface SearchPart {
  calls: number;
  /** Start of the last call of the part. Null if the part has no calls. */
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

/** Returns the condition for calls of the part between two starts. Calls with the same start are in the same part. */
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

/** Makes the error for a search that was stopped after `calls` calls. The last of them started at `until`. */
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
    `the search looked at ${reached}, and took longer than its limit: ask for a shorter time of started_at; ${help}`,
  );
}

/** Returns the request without its refs, and with only the kept conditions. */
export function withoutDocuments(
  { project_id, filter }: CallSelection,
  kept: unknown[],
): CallSelection {
  const { input_refs: _inputs, output_refs: _outputs, ...columns } = filter ?? {};
  const query = kept.length > 0 ? { query: { $expr: { $and: kept } } } : {};
  return { project_id, filter: columns, ...query };
}

/** Returns the conditions of a query that must all hold. */
export function conditions(query: object | null | undefined): unknown[] {
  if (!query) return [];
  const { $expr } = query as { $expr: { $and?: unknown } };
  return Array.isArray($expr.$and) ? $expr.$and : [$expr];
}

/** Columns of a call with JSON that a query can search. */
export const DOCUMENTS = ['attributes', 'inputs', 'output', 'summary'];

export const isInDocument = (field: unknown): field is string =>
  typeof field === 'string' && DOCUMENTS.includes(field.split('.', 1)[0]!) && !isDerived(field);

/** Returns true if a condition reads documents, or looks up other calls for each call. */
export function readsDocument(condition: unknown, relations?: KnownRelations): boolean {
  const waiting = [condition];
  while (waiting.length > 0) {
    const node = waiting.pop();
    if (typeof node !== 'object' || node === null) continue;
    if (isInDocument((node as { $getField?: unknown }).$getField)) return true;
    const related = RELATIONS.find((operator) => Object.hasOwn(node, operator));
    if (related === undefined) waiting.push(...Object.values(node));
    else if (!relations?.hasIds(related, (node as Record<string, unknown>)[related])) return true;
  }
  return false;
}

/**
 * Returns the index that would serve a condition, as `call-indexes.query.ts` makes it.
 * docs/adr/0016-indexes-on-fields.md lists what indexes serve.
 */
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

export const fieldName = (node: unknown): unknown =>
  (node as { $getField?: unknown } | null)?.$getField;

/** Returns the literal that a node is, or nothing. */
export const literal = (node: unknown): unknown[] =>
  typeof node === 'object' && node !== null && '$literal' in node ? [node.$literal] : [];
