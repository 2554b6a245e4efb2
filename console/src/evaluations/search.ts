import { textIn } from '../api/search.ts';

export interface EvaluationsSearch {
  /** The name of an evaluation; the one with the latest run when absent. */
  evaluation?: string;
  /** The score of the chart, as `<scorer>[.<path>]`. */
  score?: string;
  sort?: string;
  /** Ids of the runs chosen for a comparison. */
  runs?: string[];
}

export interface CompareSearch {
  /** Ids of runs; the first one is the baseline. */
  runs: string[];
  /** The score that orders the rows. */
  score?: string;
  /** The id of a run: lists only rows whose score is worse in it than in the baseline. */
  worse?: string;
  /** A score of which lower values are better, such as an error rate. Higher is better for all others. */
  low?: string;
  page?: number;
}

export interface LeaderboardsSearch {
  /** The name of a leaderboard; the first one when absent. */
  board?: string;
  sort?: string;
}

/** The most runs in a comparison that the service accepts. */
export const MOST_RUNS = 5;

const texts = <Name extends string>(
  search: Record<string, unknown>,
  names: readonly Name[],
): Partial<Record<Name, string>> =>
  Object.fromEntries(
    names.flatMap((name) => {
      const value = textIn(search[name]);
      return value === undefined ? [] : [[name, value]];
    }),
  ) as Partial<Record<Name, string>>;

function runIds({ runs }: Record<string, unknown>): string[] {
  if (!Array.isArray(runs)) return [];
  return [...new Set(runs.filter((id) => typeof id === 'string'))].slice(0, MOST_RUNS);
}

export function evaluationsSearch(search: Record<string, unknown>): EvaluationsSearch {
  const runs = runIds(search);
  return {
    ...texts(search, ['evaluation', 'score', 'sort']),
    ...(runs.length > 0 && { runs }),
  };
}

export function compareSearch(search: Record<string, unknown>): CompareSearch {
  const { page } = search;
  return {
    runs: runIds(search),
    ...texts(search, ['score', 'worse', 'low']),
    ...(Number.isSafeInteger(page) && (page as number) > 1 && { page: page as number }),
  };
}

export const leaderboardsSearch = (search: Record<string, unknown>): LeaderboardsSearch =>
  texts(search, ['board', 'sort']);
