import { send } from '../api/client.ts';
import { indexJson } from '../json/json-indexer.ts';
import type { JsonIndex } from '../json/json-index.ts';
import { csvCell } from '../ui/csv.ts';
import { decoded } from '../json/visible-text.ts';

export interface TableOfProject {
  project_id: string;
  digest: string;
  /** Leaves out the rows that do not match. */
  query?: Record<string, unknown>;
}

/** Rows of a table as nodes of the answer's text, so that every digit stays as it was sent. */
export interface TableRows {
  index: JsonIndex;
  /** The node of each row. */
  nodes: number[];
  /** The digest of each row, in the same order. */
  digests: string[];
}

export async function readRows(
  body: TableOfProject & { limit: number; offset: number; sort_by?: object[] },
  signal?: AbortSignal,
): Promise<TableRows> {
  const response = await send('POST', '/table/query', { body, ...(signal && { signal }) });
  const index = await indexJson(await response.text(), signal);
  const rows = [...index.children(index.member(0, 'rows')!)];
  return {
    index,
    nodes: rows.map((row) => index.member(row, 'val')!),
    digests: rows.map((row) => decoded(index.nodeText(index.member(row, 'digest')!))),
  };
}

/** The names of all members of the rows, in the order of their first appearance. */
export function columnNames({ index, nodes }: TableRows, most = Infinity): string[] {
  const names = new Set<string>();
  for (const node of nodes)
    for (const member of index.children(node)) {
      if (names.size >= most) return [...names];
      names.add(decoded(index.nodeKey(member)!));
    }
  return [...names];
}

/** The text of a cell: a string is decoded, any other value is shown as it was sent. Empty for a missing member. */
export function cellText({ index }: TableRows, row: number, name: string): string {
  const node = index.member(row, name);
  if (node === undefined) return '';
  const text = index.nodeText(node);
  return index.kind(node) === 'string' ? decoded(text) : text;
}

/** Writes one row per line, each as it was sent. Line breaks between the values of a row become spaces. */
export const jsonLines = ({ index, nodes }: TableRows): string =>
  nodes.map((node) => `${index.nodeText(node).replaceAll(/[\r\n]+/g, ' ')}\n`).join('');

export const csvLine = (cells: readonly string[]): string => `${cells.map(csvCell).join(',')}\r\n`;

export const csvLines = (rows: TableRows, columns: readonly string[]): string =>
  rows.nodes.map((node) => csvLine(columns.map((name) => cellText(rows, node, name)))).join('');
