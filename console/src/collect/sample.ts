import { useQueries } from '@tanstack/react-query';
import type { JsonIndex } from '../json/json-index.ts';
import { nodeAt, pathsBelow } from '../json/path.ts';
import { decoded, visible } from '../json/visible-text.ts';
import { sampleQuery } from './queries.ts';

/** Number of calls whose values are shown as a preview. */
const SHOWN = 3;
const MOST_PATHS = 150;
const MOST_CHARACTERS = 200;

/** A call, addressed by its node in the answer. */
export interface SampleCall {
  index: JsonIndex;
  root: number;
}

/** Reads the first of the chosen calls, and lists the paths of the first one. */
export function useSample(project: string, callIds: readonly string[]) {
  return useQueries({
    queries: callIds.slice(0, SHOWN).map((id) => sampleQuery(project, id)),
    combine: (all) => {
      const calls = all.flatMap(({ data: index }): SampleCall[] =>
        index ? [{ index, root: index.member(0, 'call') ?? 0 }] : [],
      );
      const error = all.find((one) => one.error)?.error ?? null;
      return { calls, error, isPending: all.some(({ isPending }) => isPending) };
    },
  });
}

/** Paths into a call: inputs first, then output, attributes and summary. */
export const samplePaths = ({ index, root }: SampleCall): string[] =>
  ['inputs', 'output', 'attributes', 'summary'].flatMap((name) =>
    pathsBelow(index, root, name, MOST_PATHS),
  );

/** The members of inputs and output, one level deep. */
export const firstPaths = (call: SampleCall | undefined): string[] =>
  ['inputs', 'output'].flatMap((name) => {
    if (!call) return [];
    const { index, root } = call;
    const paths = pathsBelow(index, root, name, MOST_PATHS);
    const below = paths.filter((path) => /^inputs\.[^.[]+$/.test(path));
    return below.length > 0 ? below : paths.slice(0, 1);
  });

/** The beginning of the value at a path; null when the call has none. */
export function foundText({ index, root }: SampleCall, path: string): string | null {
  const node = nodeAt(index, root, path);
  if (node === undefined) return null;
  const text = index.nodeText(node).slice(0, 4 * MOST_CHARACTERS);
  const isWhole = text.length === index.nodeLength(node);
  const read = index.kind(node) === 'string' && isWhole ? decoded(text) : text;
  return visible(read.slice(0, MOST_CHARACTERS));
}

export const firstError = (...all: { error: Error | null }[]): Error | null =>
  all.find(({ error }) => error)?.error ?? null;
