import { type CallSource, PRODUCTION } from './call-source.js';

/** Members of a filter that name calls: whoever asks for these means all of them. */
const NAMING = ['sources', 'call_ids', 'trace_ids', 'parent_ids', 'thread_ids', 'turn_ids'];
/** Fields of a query that do. */
const NAMING_FIELD = /"\$getField":"(?:source|id|trace_id|parent_id|thread_id|turn_id)"/;

/** Whether a query names sources or calls, so that it means all of them. */
export const isNaming = (query: object): boolean => NAMING_FIELD.test(JSON.stringify(query));

/** The filter of figures and lists of production: calls of other sources are left out, unless the request names sources or calls. */
export function productionFilter<Filter extends { sources?: CallSource[] | null }>(
  filter: Filter | null | undefined,
  query?: object | null,
): Filter | { sources: CallSource[] } {
  const named = Object.entries(filter ?? {}).filter(([, value]) => value !== null);
  if (filter && named.some(([name]) => NAMING.includes(name))) return filter;
  return { ...filter, ...(!(query && isNaming(query)) && { sources: [PRODUCTION] }) } as Filter;
}
