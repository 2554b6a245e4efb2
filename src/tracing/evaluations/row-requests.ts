import { InvalidQuery, nameBudget, pathSteps } from '../../platform/query/columns.js';
import type { EvalResultsQueryDto } from './eval-results.dto.js';
import type { TrialScan } from './trial-scan.query.js';
import type { FilterGroup, RowSort } from './row-order.js';

/** Sort orders that need values from the documents of each trial. */
const MAX_DOCUMENT_SORTS = 3;
/**
 * Operators, fields and values in all filters. Each is computed for each trial: 1000 for 100,000 trials take seconds.
 */
const MAX_FILTER_NODES = 1000;

export const isOfScore = ({ value }: RowSort) => typeof value === 'object' && 'score' in value;

/**
 * Returns the sort orders of a request, and the values that the scan must read for each trial.
 * @throws InvalidQuery
 */
export function rowSorts(
  { sort_by }: EvalResultsQueryDto,
  areSeveral: boolean,
): {
  sorts: RowSort[];
  fields: { field: string; path: string }[];
} {
  const fields: { field: string; path: string }[] = [];
  const names = nameBudget();
  const sorts = (sort_by ?? []).map((sort, i): RowSort => {
    const { field, direction, evaluation_call_id, mode } = sort;
    const path = `sort_by[${i}].field`;
    const [first, ...score] = pathSteps(field, path, names);
    const isScore = first === 'scores' && score.length > 0;
    const isDifference = mode === 'difference';
    if (isDifference && !isScore)
      throw new InvalidQuery(`sort_by[${i}].mode`, 'must be value, unless the field is a score');
    const rest = {
      isDescending: direction === 'desc',
      rootId: evaluation_call_id ?? null,
      isDifference: isDifference && areSeveral && !evaluation_call_id,
    };
    if (isScore) return { ...rest, value: { score } };
    if (field === 'row_digest') return { ...rest, value: 'digest' };
    if (!['inputs', 'output', 'outputs'].includes(first!) || score.length === 0)
      throw new InvalidQuery(path, SORTABLE);
    if (fields.length >= MAX_DOCUMENT_SORTS)
      throw new InvalidQuery(
        path,
        `must not be one of more than ${MAX_DOCUMENT_SORTS} sorts by inputs or output`,
      );
    return { ...rest, value: { key: fields.push({ field, path }) - 1 } };
  });
  return { sorts, fields };
}
const SORTABLE = 'must be scores.<name>[.<path>], inputs.<path>, output.<path> or row_digest';

/** Groups the filters of a request by evaluation, and returns the conditions for each trial. */
export function filterGroups({ filters }: EvalResultsQueryDto): {
  groups: FilterGroup[];
  conditions: TrialScan['conditions'];
} {
  const groups = new Map<string | null, number[]>();
  let nodes = 0;
  for (const [i, { evaluation_call_id, query }] of (filters ?? []).entries()) {
    nodes += countNodes(query);
    if (nodes > MAX_FILTER_NODES)
      throw new InvalidQuery(
        `filters[${i}].query`,
        `must not have more than ${MAX_FILTER_NODES} parts together with the filters before it`,
      );
    const rootId = evaluation_call_id ?? null;
    groups.set(rootId, [...(groups.get(rootId) ?? []), i]);
  }
  return {
    groups: Array.from(groups, ([rootId, hits]) => ({ rootId, hits })),
    conditions: (filters ?? []).map(({ query }) => query),
  };
}

/** Counts objects, each of which is an operator, a field or a value. */
function countNodes(query: object): number {
  const open: unknown[] = [query];
  let nodes = 0;
  while (open.length > 0 && nodes <= MAX_FILTER_NODES) {
    const value = open.pop();
    if (typeof value !== 'object' || value === null) continue;
    if (!Array.isArray(value)) nodes++;
    for (const member of Object.values(value)) open.push(member);
  }
  return nodes;
}
