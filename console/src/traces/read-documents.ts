import { createElement, type ReactNode } from 'react';
import { post, send } from '../api/client.ts';
import { type JsonIndex, jsonIndex } from '../json/json-index.ts';
import { nodeAt } from '../json/path.ts';
import { decoded, decodedStart } from '../json/visible-text.ts';
import { MatchText } from '../ui/MatchText.tsx';

/** Characters of a cell. */
const MOST_SHOWN = 300;

/** Reads values at paths in the documents of calls, keyed by call id and then by path. Missing values have no entry. */
export async function readDocuments(
  { project_id, call_ids, paths }: { project_id: string; call_ids: string[]; paths: string[] },
  signal: AbortSignal,
): Promise<Map<string, ReadonlyMap<string, string>>> {
  const columns = [...new Set(paths.map((path) => /^\w+/.exec(path)![0]))];
  const body = { project_id, filter: { call_ids }, columns };
  const answer = await send('POST', '/calls/stream_query', { body, signal });
  const found = new Map<string, ReadonlyMap<string, string>>();
  for (const line of (await answer.text()).split('\n').slice(0, -1)) {
    const index = jsonIndex(line);
    const texts = paths.flatMap((path): [string, string][] => {
      const node = nodeAt(index, 0, path);
      return node === undefined ? [] : [[path, beginning(index, node)]];
    });
    found.set(decoded(index.nodeText(index.member(0, 'id')!)), new Map(texts));
  }
  return found;
}

/** The beginning of a value: a string is decoded, any other value is shown as it was sent. */
function beginning(index: JsonIndex, node: number): string {
  const from = index.nodes.start[node]!;
  const length = index.nodeLength(node);
  const text = index.text.slice(from, from + Math.min(length, MOST_SHOWN));
  if (index.kind(node) !== 'string') return text;
  return decodedStart(length > MOST_SHOWN ? text : text.slice(0, -1));
}

/** The service searches so many calls at a time. */
const MOST_SEARCHED = 100;

/** Makes cells with the place of the first text that each call says, in any case. */
export async function matchCells(
  { project_id, ids, texts }: { project_id: string; ids: string[]; texts: string[] },
  signal: AbortSignal,
): Promise<Map<string, ReactNode>> {
  const found = new Map<string, ReactNode>();
  for (let from = 0; from < ids.length; from += MOST_SEARCHED) {
    const call_ids = ids.slice(from, from + MOST_SEARCHED);
    const body = { project_id, call_ids, texts, case_insensitive: true };
    const { matches, not_searched } = await post('/calls/matches', body, { signal });
    for (const match of matches.toReversed())
      found.set(match.id, createElement(MatchText, { of: match, texts, isShort: true }));
    for (const id of not_searched) found.set(id, createElement('em', null, 'too large'));
  }
  return found;
}
