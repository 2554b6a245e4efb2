import type { CallRow } from '../api/calls.ts';
import { derivedSummary, callUser } from '../api/calls.ts';
import { shortNames, term } from './filter.ts';

const MOST = 12;
const MOST_PATHS = 200;
const MAX_DEPTH = 4;

/** The word that the caret is in or behind, and where it begins. */
export function wordAt(text: string, caret: number): { word: string; from: number } {
  const before = text.slice(0, caret);
  const last = [...before.matchAll(/(?:[^\s"]|"(?:[^"\\]|\\.)*(?:"|$))+/g)].at(-1);
  const isOpen = last !== undefined && last.index + last[0].length === caret;
  const from = isOpen ? last.index : caret;
  return { word: text.slice(from, caret), from };
}

/** What may stand where a word does: names of fields, and behind an operator the values that were seen. */
export function suggestions(word: string, rows: CallRow[], documents: CallRow[]): string[] {
  const [, field, operator, begun] = /^([^\s=!<>~"]+)(!=|>=|<=|!~|=|>|<|~)"?(.*)$/.exec(word) ?? [];
  if (field === undefined)
    return suggestFields(documents)
      .filter((name) => name.toLowerCase().includes(word.toLowerCase()))
      .slice(0, MOST);
  return suggestValues(field, rows)
    .filter((value) => value.toLowerCase().includes(begun!.toLowerCase()))
    .slice(0, MOST)
    .map((value) => term(field, operator!, value));
}

function suggestFields(documents: CallRow[]): string[] {
  const paths = new Set<string>([...Object.keys(shortNames()), 'model']);
  for (const call of documents)
    for (const name of ['inputs', 'output', 'attributes', 'summary'] as const)
      collect(call[name], name, 1, paths);
  return [...paths];
}

function collect(value: unknown, path: string, depth: number, paths: Set<string>): void {
  if (typeof value !== 'object' || value === null) {
    paths.add(path);
    return;
  }
  if (depth > MAX_DEPTH) return;
  for (const [name, member] of Object.entries(value).slice(0, 50)) {
    if (paths.size >= MOST_PATHS) return;
    collect(member, `${path}.${name.replaceAll(/[.\\]/g, '\\$&')}`, depth + 1, paths);
  }
}

function suggestValues(field: string, rows: CallRow[]): string[] {
  const read: Record<string, (row: CallRow) => (string | null | undefined)[]> = {
    op: (row) => [row.op_name],
    name: (row) => [derivedSummary(row).trace_name],
    user: (row) => [callUser(row)],
    thread: (row) => [row.thread_id],
    model: (row) => Object.keys(row.summary?.['usage'] ?? {}),
  };
  if (field === 'status') return ['success', 'error', 'descendant_error', 'running'];
  const values = rows.flatMap((row) => read[field]?.(row) ?? []);
  return [...new Set(values.filter((value) => typeof value === 'string'))].toSorted();
}
