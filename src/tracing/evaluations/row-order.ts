import { sortYielding } from '../../platform/time/yielding-sort.js';
import { EventLoopTurn } from '../../platform/time/event-loop-turn.js';
import { compareCodePoints } from '../../platform/json/code-point-order.js';
import { scoreNumber } from './score-texts.js';
import type { Trial, TrialRow } from './trials.js';

/** A sort order of rows: by a score at a path, or by the n-th value of `Trial.keys`. */
export interface RowSort {
  isDescending: boolean;
  /** The evaluation whose trials count; null for all. */
  rootId: string | null;
  /** True when rows are sorted by the distance between the evaluations' means of a score. */
  isDifference: boolean;
  value: { score: readonly string[] } | { key: number } | 'digest';
}

/** Conditions on the trials of one evaluation, or of all. Each must match at least one trial of the row. */
export interface FilterGroup {
  rootId: string | null;
  /** Indexes in `Trial.hits`. */
  hits: readonly number[];
}

/** Returns the rows that match one of the groups, or each group with `isEach`. */
export async function filteredRows(
  rows: readonly TrialRow[],
  groups: readonly FilterGroup[],
  isEach: boolean,
): Promise<readonly TrialRow[]> {
  if (groups.length === 0) return rows;
  const turn = new EventLoopTurn();
  const found: TrialRow[] = [];
  const holds = (row: TrialRow) => (group: FilterGroup) =>
    group.hits.every((hit) => listTrials(row, group.rootId).some((trial) => trial.hits[hit]));
  for (const row of rows) {
    if (isEach ? groups.every(holds(row)) : groups.some(holds(row))) found.push(row);
    if (turn.isOver) await turn.next();
  }
  return found;
}

/** Sorts rows. Rows with equal ranks keep the order of their digests; `rows` must be in that order. */
export async function sortedRows(
  rows: readonly TrialRow[],
  sorts: readonly RowSort[],
): Promise<readonly TrialRow[]> {
  if (sorts.length === 0) return rows;
  const turn = new EventLoopTurn();
  const ranked: { row: TrialRow; ranks: Rank[] }[] = [];
  for (const row of rows) {
    const ranks: Rank[] = [];
    for (const sort of sorts) {
      ranks.push(rowRank(row, sort));
      if (turn.isOver) await turn.next();
    }
    ranked.push({ row, ranks });
  }
  const byRanks = (a: { ranks: Rank[] }, b: { ranks: Rank[] }) => {
    for (let i = 0; i < sorts.length; i++) {
      const order = compareRanks(a.ranks[i]!, b.ranks[i]!, sorts[i]!.isDescending);
      if (order !== 0) return order;
    }
    return 0; // the sort is stable
  };
  return (await sortYielding(ranked, byRanks, turn)).map(({ row }) => row);
}

/** A row's value for sorting. Numbers come first in both directions, then texts, then rows without a value. */
type Rank = number | string | null;

function compareRanks(a: Rank, b: Rank, isDescending: boolean): number {
  const kinds = rankKind(a) - rankKind(b);
  if (kinds !== 0 || a === null || b === null) return kinds;
  const order = typeof a === 'number' ? a - (b as number) : compareCodePoints(a, b as string);
  return isDescending ? -order : order;
}

const rankKind = (rank: Rank) => (typeof rank === 'number' ? 0 : rank === null ? 2 : 1);

function rowRank(row: TrialRow, { rootId, isDifference, value }: RowSort): Rank {
  if (value === 'digest') return row.digest;
  if ('key' in value) return keyRank(listTrials(row, rootId), value.key);
  if (isDifference) {
    let [least, most] = [Infinity, -Infinity];
    for (const trials of row.trials.values()) {
      const mean = scoreMean(trials, value.score);
      if (mean === null) continue;
      least = Math.min(least, mean);
      most = Math.max(most, mean);
    }
    const apart = most - least;
    return apart >= 0 ? apart : null; // NaN when a mean is infinite, and negative when no evaluation has a mean
  }
  return scoreMean(listTrials(row, rootId), value.score);
}

function keyRank(trials: readonly Trial[], key: number): Rank {
  const text = trials.find((trial) => trial.keys[key] !== null)?.keys[key] ?? null;
  return text !== null && IS_NUMBER.test(text) ? Number(text) : text;
}
const IS_NUMBER = /^-?\d+(?:\.\d+)?(?:[eE][-+]?\d{1,3})?$/;

const listTrials = (row: TrialRow, rootId: string | null): readonly Trial[] =>
  rootId === null ? [...row.trials.values()].flat() : (row.trials.get(rootId) ?? []);

/** Returns the mean of a score over the trials where it is a number or a boolean. */
function scoreMean(trials: readonly Trial[], path: readonly string[]): number | null {
  let sum = 0;
  let count = 0;
  for (const { scores } of trials) {
    const number = scoreNumber(scores, path);
    if (number === null) continue;
    sum += number;
    count++;
  }
  return count > 0 ? sum / count : null;
}
