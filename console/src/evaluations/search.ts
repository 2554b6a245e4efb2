import { textIn } from '../api/search.ts';

/** What stands in the address of the evaluations of a project. */
export interface EvaluationsSearch {
  /** The name of an evaluation; the one that ran last when absent. */
  evaluation?: string;
  /** The score of the chart, as `<scorer>[.<path>]`. */
  score?: string;
  sort?: string;
  /** Ids of runs that are chosen for a comparison. */
  runs?: string[];
}

/** What stands in the address of a comparison. */
export interface CompareSearch {
  /** Ids of runs; the others are compared with the first one. */
  runs: string[];
  /** The score that rows are ordered by. */
  score?: string;
  /** The id of a run: only rows whose score is worse in it than in the first run. */
  worse?: string;
  /** The score of which less is better, such as an error rate; of all others more is. */
  low?: string;
  page?: number;
}

/** What stands in the address of the leaderboards. */
export interface LeaderboardsSearch {
  /** The name of a leaderboard; the first one when absent. */
  board?: string;
  sort?: string;
}

/** Runs of one comparison: what the service takes at once. */
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
