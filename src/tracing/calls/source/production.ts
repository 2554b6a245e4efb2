import { type CallSource, PRODUCTION } from './call-source.js';

/** Members of a filter that name calls: whoever asks for these means all of them. */
const NAMING = ['sources', 'call_ids', 'trace_ids', 'parent_ids', 'thread_ids', 'turn_ids'];
/** Fields of a query that do. */
const NAMING_FIELD = /"\$getField":"(?:source|id|trace_id|parent_id|thread_id|turn_id)"/;

/** The filter of figures and lists of production: calls of other sources are left out, unless the request names sources or calls. */
export function productionFilter<Filter extends { sources?: CallSource[] | null }>(
  filter: Filter | null | undefined,
  query?: object | null,
): Filter | { sources: CallSource[] } {
  const named = Object.entries(filter ?? {}).filter(([, value]) => value !== null);
  const isNaming = named.some(([name]) => NAMING.includes(name));
  if (filter && isNaming) return filter;
  const isQueried = query && NAMING_FIELD.test(JSON.stringify(query));
  return { ...filter, ...(!isQueried && { sources: [PRODUCTION] }) } as Filter;
}
