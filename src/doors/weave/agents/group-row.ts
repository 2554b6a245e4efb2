import type { SpansQueryDto } from './agents.dto.js';
import type { FirstLastMessages, GroupCost } from './group-extras.js';
import { aliasOf, type GroupRow, GROUP_COLUMN_NAMES } from './span-groups.query.js';
import { keyValue } from './span-stats.query.js';

export const groupRow = (
  { keys, measures, ...row }: GroupRow,
  { group_by, measures: asked }: SpansQueryDto,
  cost: GroupCost = { input: null, output: null, total: null },
  edges: FirstLastMessages = { first: null, last: null },
): object => ({
  group_keys: Object.fromEntries(
    (group_by ?? []).map((ref, i) => [aliasOf(ref), keyValue(ref, keys[i]!)]),
  ),
  ...Object.fromEntries(GROUP_COLUMN_NAMES.map((name) => [name, row[name]])),
  metrics: Object.fromEntries((asked ?? []).map(({ alias }, i) => [alias, measures[i]])),
  distributions: {},
  total_cost_usd: cost.total,
  total_input_cost_usd: cost.input,
  total_output_cost_usd: cost.output,
  first_message: edges.first,
  last_message: edges.last,
});
