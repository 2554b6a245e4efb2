/** Sources of calls (docs/adr/0140-sources-of-calls.md). */
export const SOURCES = {
  production: 'Production',
  evaluation: 'Evaluations',
  playground: 'Playground',
  all: 'All',
} as const;
export type Source = keyof typeof SOURCES;

/** Search parameters of a page that shows the calls of one source, or of all. */
export interface SourceSearch {
  /** Production when absent. */
  source?: Source;
}

export const sourceIn = ({ source }: Record<string, unknown>): SourceSearch =>
  typeof source === 'string' && Object.hasOwn(SOURCES, source) ? { source: source as Source } : {};

export function withSource<Search extends SourceSearch>(search: Search, chosen: SourceSearch) {
  const { source: _, ...rest } = search;
  return { ...rest, ...chosen };
}

/** The filter for a source. An empty list is no restriction. */
export const sourceFilter = (source: Source = 'production') => ({
  sources: source === 'all' ? [] : [source],
});
