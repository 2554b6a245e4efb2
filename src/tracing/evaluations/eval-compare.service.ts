import { Injectable } from '@nestjs/common';
import { ApiError } from '../../platform/errors.js';
import { ConnectionSlots } from '../../platform/database/connection-slots.js';
import type { Context } from '../../platform/http/context.js';
import { EventLoopTurn } from '../../platform/time/event-loop-turn.js';
import { comparePairs, CONFIDENCE, holmAdjusted, rowPairs, scorePairs } from './comparisons.js';
import type { EvalCompareDto, EvalComparedDto } from './eval-results.dto.js';
import { EvalResultsService } from './eval-results.service.js';
import { rowsInAll, type Trial, type TrialRow } from './trials.js';

/** Comparisons that one process computes at the same time. Each occupies the CPU. */
const AT_ONCE = 3;
/** Scores that all comparisons of a request may have together. Comparing one takes about 50 ms. */
export const MAX_COMPARED = 100;

const MEASURES = {
  latency_seconds: ({ latency }: Trial) => latency,
  total_tokens: ({ tokens }: Trial) => tokens,
  total_cost: ({ cost }: Trial) => (cost ? Number(cost) : null),
  judge_cost: ({ judgeCost }: Trial) => (judgeCost ? Number(judgeCost) : null),
};

@Injectable()
export class EvalCompareService {
  private readonly slots = new ConnectionSlots(AT_ONCE);

  constructor(private readonly results: EvalResultsService) {}

  compare(projectId: string, body: EvalCompareDto, context: Context): Promise<EvalComparedDto> {
    return this.slots.with(context.caller.owner, () => this.compared(projectId, body, context));
  }

  private async compared(
    projectId: string,
    { baseline_call_id: baseline, other_call_ids, scores }: EvalCompareDto,
    context: Context,
  ): Promise<EvalComparedDto> {
    const others = [...new Set(other_call_ids)];
    const ids = [...new Set([baseline, ...others])];
    const roots = await this.results.roots(projectId, ids);
    const missing = ids.find((id) => !roots.has(id));
    if (missing !== undefined)
      throw new ApiError('not_found', `there is no evaluation call ${missing} in the project`);
    const asked = {
      hasScores: true,
      hasChildren: true,
      hasUsage: true,
      hasCosts: true,
      isCompared: true,
    };
    const rows = await this.results.scan(
      projectId,
      ids,
      { ...asked, conditions: [], fields: [] },
      context,
    );
    const wanted = scores ? new Set(scores) : null;
    const turn = new EventLoopTurn();
    const goOn = async () => {
      context.signal.throwIfAborted();
      if (turn.isOver) await turn.next();
    };
    const comparisons = [];
    let count = 0;
    for (const other of others) {
      const paired = rowsInAll(rows, [baseline, other]);
      const room = MAX_COMPARED - count;
      const pairs = await scorePairs(paired, [baseline, other], { wanted, room, goOn });
      count += pairs.count;
      if (count > MAX_COMPARED)
        throw new ApiError(
          'too_large',
          `there are over ${MAX_COMPARED} values of scores to compare: name some in scores`,
        );
      const measures: [string, unknown][] = [];
      for (const [name, number] of Object.entries(MEASURES))
        measures.push([
          name,
          await comparePairs(rowPairs(paired, [baseline, other], number), false, goOn),
        ]);
      comparisons.push({
        evaluation_call_id: other,
        rows_paired: paired.length,
        rows_only_baseline: countRows(rows, baseline) - paired.length,
        rows_only_other: countRows(rows, other) - paired.length,
        scores: await pairs.compared(goOn),
        ...(Object.fromEntries(measures) as Pick<
          EvalComparedDto['comparisons'][number],
          keyof typeof MEASURES
        >),
      });
    }
    return withHolm(baseline, comparisons);
  }
}

type Comparison = EvalComparedDto['comparisons'][number];

/** Adds p-values that are corrected for all tested scores, and the warnings. */
function withHolm(
  baseline: string,
  comparisons: (Omit<Comparison, 'scores'> & {
    scores: Omit<Comparison['scores'][number], 'p_value_holm'>[];
  })[],
): EvalComparedDto {
  const tested = comparisons
    .flatMap(({ scores }) => scores)
    .filter(({ p_value }) => p_value !== null);
  const holm = holmAdjusted(tested.map(({ p_value }) => p_value!));
  const places = new Map(tested.map((score, i) => [score, holm[i]!]));
  const warnings = [];
  if (tested.length > 1)
    warnings.push(
      `${tested.length} scores are tested: judge them by p_value_holm, which keeps the chance of one false finding in all of them`,
    );
  for (const { evaluation_call_id, rows_paired } of comparisons)
    if (rows_paired === 0) warnings.push(`no row is in both ${baseline} and ${evaluation_call_id}`);
  return {
    baseline_call_id: baseline,
    confidence: CONFIDENCE,
    comparisons: comparisons.map(({ scores, ...rest }) => ({
      ...rest,
      scores: scores.map((score) => ({ ...score, p_value_holm: places.get(score) ?? null })),
    })),
    warnings,
  };
}

const countRows = (rows: readonly TrialRow[], id: string) =>
  rows.filter(({ trials }) => trials.has(id)).length;
