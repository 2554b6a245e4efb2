import { Decimal } from '../../platform/json/decimal.js';
import { memberTexts, memberSpans } from '../../platform/json/json-text.js';
import { WIRE } from '../../platform/http/wire-names.js';
import { textBeginning } from './tool-answer.js';

/** The columns that a brief row is made of. */
export const BRIEF_COLUMNS = [
  'parent_id',
  'op_name',
  'display_name',
  'started_at',
  'ended_at',
  'exception',
  'summary',
];

/** Characters of an exception in a list. */
const ERROR_LENGTH = 200;

/** A call as lists and trees show it. Texts are JSON. */
export interface BriefCall {
  id: string;
  parentId: string | null;
  startedAt: string;
  traceId: string;
  /** Its display name, else its op. */
  name: string;
  status: string;
  ms: string;
  tokens: number | null;
  /** The exact decimal, in USD or the unit of its prices; null where a part has no price. */
  cost: string | null;
  error: string | null;
}

/** The brief of a call, of the text of a row with `BRIEF_COLUMNS` and costs. */
export function briefCall(row: string): BriefCall {
  const texts = memberTexts(row);
  const value = (name: string) => JSON.parse(texts.get(name) ?? 'null') as string | null;
  const summary = texts.get('summary') ?? '{}';
  const span = memberSpans(summary, 0).get(WIRE.summary);
  const derived = span ? memberTexts(summary.slice(...span)) : new Map<string, string>();
  const exception = value('exception');
  return {
    id: value('id')!,
    parentId: value('parent_id'),
    startedAt: value('started_at')!,
    traceId: value('trace_id')!,
    name: texts.get('display_name') === 'null' ? texts.get('op_name')! : texts.get('display_name')!,
    status: derived.get('status') ?? 'null',
    ms: derived.get('latency_ms') ?? 'null',
    ...spent(derived.get('costs')),
    error: exception === null ? null : textBeginning(exception, ERROR_LENGTH),
  };
}

const KINDS = [
  'prompt_tokens',
  'completion_tokens',
  'cache_read_input_tokens',
  'cache_creation_input_tokens',
];

/** Tokens and costs of all models of a call. */
function spent(costs: string | undefined): Pick<BriefCall, 'tokens' | 'cost'> {
  const models = costs === undefined ? [] : [...memberTexts(costs).values()].map(memberTexts);
  if (models.length === 0) return { tokens: null, cost: null };
  const counts = models.flatMap((model) => KINDS.map((kind) => Number(model.get(kind) ?? 0)));
  const totals = models.map((model) => model.get('total_cost') ?? 'null');
  return {
    tokens: counts.reduce((a, b) => a + b),
    cost: totals.includes('null')
      ? null
      : totals
          .map((text) => Decimal.parse(text))
          .reduce((a, b) => a.plus(b))
          .toString(),
  };
}

/** A call as a row of a list. */
export function listRow(call: BriefCall): string {
  const { id, traceId, startedAt, name, status, ms, tokens, cost, error } = call;
  const ids = `"id":${JSON.stringify(id)},"trace_id":${JSON.stringify(traceId)}`;
  const told = `"op":${name},"started_at":"${startedAt}","status":${status},"ms":${ms},"tokens":${tokens},"cost":${cost}`;
  return `{${ids},${told}${error === null ? '' : `,"error":${error}`}}`;
}

/** The names of the values of a row of a tree. */
export const TREE_COLUMNS = ['depth', 'id', 'op', 'start_ms', 'ms', 'status', 'tokens', 'cost'];

/** The room that a row of a tree takes at most, whatever its depth. */
export const treeRowBytes = (call: BriefCall): number =>
  Buffer.byteLength(treeRow(call, 99_999, '')) + Buffer.byteLength(call.parentId ?? '') + 40;

function treeRow(call: BriefCall, depth: number, base: string): string {
  const { id, startedAt, name, status, ms, tokens, cost, error, parentId } = call;
  const start = base === '' ? 999_999_999 : Date.parse(startedAt) - Date.parse(base);
  const notes = {
    ...(depth === 0 && parentId !== null && { parent_id: parentId }),
    ...(error !== null && { error: JSON.parse(error) as string }),
  };
  const more = Object.keys(notes).length > 0 ? `,${JSON.stringify(notes)}` : '';
  return `[${depth},${JSON.stringify(id)},${name},${start},${ms},${status},${tokens},${cost}${more}]`;
}

/**
 * Calls of one trace as rows of a tree, parents before their children, in the order of their starts. A call whose parent is not
 * among them stands at depth 0, with the id of its parent. Takes linear time, and does not recurse.
 */
export function treeRows(calls: readonly BriefCall[]): string[] {
  const children = new Map<string | null, BriefCall[]>();
  const ids = new Set(calls.map(({ id }) => id));
  for (const call of calls) {
    const parent = call.parentId !== null && ids.has(call.parentId) ? call.parentId : null;
    const siblings = children.get(parent);
    if (siblings) siblings.push(call);
    else children.set(parent, [call]);
  }
  const base = calls[0]?.startedAt ?? '';
  const rows: string[] = [];
  const seen = new Set<string>();
  const walk = (roots: readonly BriefCall[]) => {
    const open = roots.toReversed().map((call) => ({ call, depth: 0 }));
    for (let next = open.pop(); next; next = open.pop()) {
      const { call, depth } = next;
      if (seen.has(call.id)) continue;
      seen.add(call.id);
      rows.push(treeRow(call, depth, base));
      for (const child of (children.get(call.id) ?? []).toReversed())
        open.push({ call: child, depth: depth + 1 });
    }
  };
  walk(children.get(null) ?? []);
  for (const call of calls) if (!seen.has(call.id)) walk([call]); // calls that are each other's parents
  return rows;
}
