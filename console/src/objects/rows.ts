import { send } from '../api/client.ts';
import { indexJson } from '../json/json-indexer.ts';
import type { JsonIndex } from '../json/json-index.ts';
import { csvCell } from '../ui/csv.ts';
import { decoded } from '../json/visible-text.ts';

/** Rows of a table where they stand in the answer: every digit as it was sent. */
export interface TableRows {
  index: JsonIndex;
  /** The nodes of the rows themselves. */
  nodes: number[];
  /** Of the rows, in the same order. */
  digests: string[];
}

export async function readRows(
  body: { project_id: string; digest: string; limit: number; offset: number; sort_by?: object[] },
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

/** The names of members of rows, in the order in which they are first seen. */
export function columnNames({ index, nodes }: TableRows, most = Infinity): string[] {
  const names = new Set<string>();
  for (const node of nodes)
    for (const member of index.children(node)) {
      if (names.size >= most) return [...names];
      names.add(decoded(index.nodeKey(member)!));
    }
  return [...names];
}

/** A string as the text that it means, anything else as it was sent; empty where there is none. */
export function cellText({ index }: TableRows, row: number, name: string): string {
  const node = index.member(row, name);
  if (node === undefined) return '';
  const text = index.nodeText(node);
  return index.kind(node) === 'string' ? decoded(text) : text;
}

/** One line a row, each row as it was sent. Line ends within a row are spaces between its values. */
export const jsonLines = ({ index, nodes }: TableRows): string =>
  nodes.map((node) => `${index.nodeText(node).replaceAll(/[\r\n]+/g, ' ')}\n`).join('');

export const csvLine = (cells: readonly string[]): string => `${cells.map(csvCell).join(',')}\r\n`;

export const csvLines = (rows: TableRows, columns: readonly string[]): string =>
  rows.nodes.map((node) => csvLine(columns.map((name) => cellText(rows, node, name)))).join('');
