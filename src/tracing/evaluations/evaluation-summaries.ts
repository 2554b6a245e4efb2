import { ApiError } from '../../platform/errors.js';
import type { Decimal } from '../../platform/json/decimal.js';
import { EventLoopTurn } from '../../platform/time/event-loop-turn.js';
import type { EvaluationRoot } from './eval-results.query.js';
import { ScoreStats } from './score-stats.js';
import type { Trial, TrialRow } from './trials.js';

/** Different scores (scorer and path) that the summary of an evaluation may have. */
export const MAX_LEAVES = 1000;

/**
 * Sums up the evaluations that have rows, in the order of `ids`.
 * @throws ApiError `too_large`
 */
export async function summarize(
  rows: readonly TrialRow[],
  ids: readonly string[],
  roots: ReadonlyMap<string, EvaluationRoot>,
) {
  const turn = new EventLoopTurn();
  const evaluations = [];
  for (const id of ids) {
    const sums = new EvaluationSums();
    for (const { trials } of rows)
      for (const trial of trials.get(id) ?? []) {
        if (turn.isOver) await turn.next();
        sums.add(trial);
        if (sums.stats.count > MAX_LEAVES)
          throw new ApiError(
            'too_large',
            `the scores of ${id} have over ${MAX_LEAVES} different values: ask without include_summary`,
          );
      }
    if (sums.trials === 0) continue;
    const { evaluation_ref, model_ref, display_name, trace_id, started_at } = roots.get(id)!;
    evaluations.push({
      evaluation_call_id: id,
      trial_count: sums.trials,
      scorer_stats: sums.stats.take(),
      predict_total_tokens: sums.tokens,
      predict_total_cost: sums.cost,
      evaluation_ref,
      model_ref,
      display_name,
      trace_id,
      started_at,
    });
  }
  return { row_count: rows.length, evaluations };
}

class EvaluationSums {
  readonly stats = new ScoreStats();
  trials = 0;
  tokens: number | null = null;
  cost: Decimal | null = null;

  add({ scores, tokens, cost }: Trial): void {
    this.trials++;
    this.stats.add(scores, MAX_LEAVES);
    if (tokens !== null) this.tokens = (this.tokens ?? 0) + tokens;
    if (cost) this.cost = this.cost?.plus(cost) ?? cost;
  }
}
