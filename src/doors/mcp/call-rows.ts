import { Decimal } from '../../platform/json/decimal.js';
import { memberTexts, memberSpans } from '../../platform/json/json-text.js';
import { wire } from '../../platform/http/wire-names.js';
import { TOKEN_KINDS } from '../../tracing/usage/tokens.js';
import { textBeginning } from './tool-answer.js';

export const BRIEF_COLUMNS = [
  'parent_id',
  'op_name',
  'display_name',
  'started_at',
  'ended_at',
  'exception',
  'summary',
];

/** Maximum length of an exception in a list, in characters. */
const ERROR_LENGTH = 200;

/** A call as lists and trees show it. `name`, `status`, `ms` and `error` are JSON texts. */
export interface BriefCall {
  id: string;
  parentId: string | null;
  startedAt: string;
  traceId: string;
  /** The display name, else the op. */
  name: string;
  status: string;
  ms: string;
  tokens: number | null;
  /** Exact decimal, in USD or the unit of its prices; null when one of the models has no price. */
  cost: string | null;
  error: string | null;
}

/** Reads a brief call from the text of a row with `BRIEF_COLUMNS` and costs. */
export function briefCall(row: string): BriefCall {
  const texts = memberTexts(row);
  const value = (name: string) => JSON.parse(texts.get(name) ?? 'null') as string | null;
  const summary = texts.get('summary') ?? '{}';
  const span = memberSpans(summary, 0).get(wire().summary);
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

function spent(costs: string | undefined): Pick<BriefCall, 'tokens' | 'cost'> {
  const models = costs === undefined ? [] : [...memberTexts(costs).values()].map(memberTexts);
  if (models.length === 0) return { tokens: null, cost: null };
  const counts = models.flatMap((model) => TOKEN_KINDS.map((kind) => Number(model.get(kind) ?? 0)));
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

export function listRow(call: BriefCall): string {
  const { id, traceId, startedAt, name, status, ms, tokens, cost, error } = call;
  const ids = `"id":${JSON.stringify(id)},"trace_id":${JSON.stringify(traceId)}`;
  const told = `"op":${name},"started_at":"${startedAt}","status":${status},"ms":${ms},"tokens":${tokens},"cost":${cost}`;
  return `{${ids},${told}${error === null ? '' : `,"error":${error}`}}`;
}

export const TREE_COLUMNS = ['depth', 'id', 'op', 'start_ms', 'ms', 'status', 'tokens', 'cost'];

/** Returns the maximum size of a row of a tree, at any depth. */
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
 * Returns the calls of one trace as rows of a tree. Parents come before their children, and siblings are in the order
 * of their starts. A call whose parent is missing is at depth 0 and names the parent. Takes linear time and does not
 * recurse.
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
  for (const call of calls) if (!seen.has(call.id)) walk([call]); // calls in a cycle of parents
  return rows;
}
