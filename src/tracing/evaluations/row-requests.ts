import { InvalidQuery, nameBytes, pathSteps } from '../../platform/query/columns.js';
import type { EvalResultsQueryDto } from './eval-results.dto.js';
import type { Scan } from './eval-results.query.js';
import type { FilterGroup, RowSort } from './row-order.js';

export const isOfScore = ({ value }: RowSort) => typeof value === 'object' && 'score' in value;

/** The orders of a request, and the values that trials are scanned for. @throws InvalidQuery */
export function rowSorts(
  { sort_by }: EvalResultsQueryDto,
  areSeveral: boolean,
): {
  sorts: RowSort[];
  fields: { field: string; path: string }[];
} {
  const fields: { field: string; path: string }[] = [];
  const names = nameBytes();
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
    return { ...rest, value: { key: fields.push({ field, path }) - 1 } };
  });
  return { sorts, fields };
}
const SORTABLE = 'must be scores.<name>[.<path>], inputs.<path>, output.<path> or row_digest';

/** The filters of a request by evaluation, and what trials are asked for them. */
export function filterGroups({ filters }: EvalResultsQueryDto): {
  groups: FilterGroup[];
  conditions: Scan['conditions'];
} {
  const groups = new Map<string | null, number[]>();
  for (const [i, { evaluation_call_id }] of (filters ?? []).entries()) {
    const rootId = evaluation_call_id ?? null;
    groups.set(rootId, [...(groups.get(rootId) ?? []), i]);
  }
  return {
    groups: Array.from(groups, ([rootId, hits]) => ({ rootId, hits })),
    conditions: (filters ?? []).map(({ query }) => query),
  };
}
