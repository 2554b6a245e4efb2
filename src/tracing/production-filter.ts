import { type CallSource, PRODUCTION } from './conventions/call-source.js';
import { isNaming } from './naming.js';

/** Members of a filter that name sources or calls. A request with one of them means calls of all sources. */
const NAMING = ['sources', 'call_ids', 'trace_ids', 'parent_ids', 'thread_ids', 'turn_ids'];

/**
 * Returns the filter for statistics and lists of production. It leaves out calls of other sources, unless the request
 * names sources or calls.
 */
export function productionFilter<Filter extends { sources?: CallSource[] | null }>(
  filter: Filter | null | undefined,
  query?: object | null,
): Filter | { sources: CallSource[] } {
  const named = Object.entries(filter ?? {}).filter(([, value]) => value !== null);
  if (filter && named.some(([name]) => NAMING.includes(name))) return filter;
  return { ...filter, ...(!(query && isNaming(query)) && { sources: [PRODUCTION] }) } as Filter;
}
