import {
  bootstrapInterval,
  type YieldCallback,
  INTERVAL_SOURCE,
  mean,
  signFlipTest,
} from '../../platform/statistics/paired-differences.js';
import type { GateDto, GateResultDto, GateRowDto, GateStatisticsDto } from './promotion.dto.js';
import { MAX_ROWS_SHOWN } from './promotion.dto.js';
import { shownKey, type GateSideRow } from './gates.query.js';

const MIN_ROWS = 20;
const CONFIDENCE = 0.95;

interface Sides {
  candidate: { step: number; rows: GateSideRow[] };
  against: { step: number; rows: GateSideRow[] };
}

export async function judgeGate(
  { candidate, against }: Sides,
  gate: GateDto,
  goOn: YieldCallback,
): Promise<GateResultDto> {
  const { rows, ...counts } = pairRows(candidate.rows, against.rows);
  const statistics = rows.length > 0 ? await computeStatistics(rows, gate, goOn) : null;
  return {
    ...gateVerdict(rows.length, statistics, gate),
    step: candidate.step,
    against_step: against.step,
    rows_paired: rows.length,
    ...counts,
    statistics,
    rows: rows.slice(0, MAX_ROWS_SHOWN),
  };
}

/** Returns the rows that have scores of both steps, the worst first. */
function pairRows(candidate: readonly GateSideRow[], against: readonly GateSideRow[]) {
  const others = new Map(against.map((row) => [row.digest, row]));
  const paired: { digest: string; row: GateRowDto }[] = [];
  const counts = { rows_only_candidate: 0, rows_unscored: 0, calls_without_key: 0 };
  for (const { digest, key, calls, scored, mean: score } of candidate) {
    const other = others.get(digest);
    if (digest === null) counts.calls_without_key += calls;
    else if (!other) counts.rows_only_candidate++;
    else if (score === null || other.mean === null) counts.rows_unscored++;
    else
      paired.push({
        digest,
        row: {
          key: shownKey(digest, key),
          candidate: score,
          against: other.mean,
          difference: score - other.mean,
          n_candidate: scored,
          n_against: other.scored,
        },
      });
    others.delete(digest);
  }
  counts.calls_without_key += against.find(({ digest }) => digest === null)?.calls ?? 0;
  others.delete(null);
  paired.sort((a, b) => a.row.difference - b.row.difference || (a.digest < b.digest ? -1 : 1));
  return {
    rows: paired.map(({ row }) => row),
    ...counts,
    rows_only_against: others.size,
  };
}

async function computeStatistics(
  rows: readonly GateRowDto[],
  gate: GateDto,
  goOn: YieldCallback,
): Promise<GateStatisticsDto> {
  const confidence = gate.confidence ?? CONFIDENCE;
  const min_difference = gate.min_difference ?? 0;
  const differences = rows.map(({ difference }) => difference);
  return {
    mean_candidate: mean(rows.map((row) => row.candidate)),
    mean_against: mean(rows.map((row) => row.against)),
    difference: mean(differences),
    confidence,
    interval: await bootstrapInterval(differences, confidence, goOn),
    interval_source: INTERVAL_SOURCE,
    min_difference,
    ...(await signFlipTest(differences, min_difference, goOn)),
    rows_better: differences.filter((value) => value > 0).length,
    rows_worse: differences.filter((value) => value < 0).length,
    rows_equal: differences.filter((value) => value === 0).length,
  };
}

/** Passes when enough rows are paired, and both the interval and the test show the difference. */
function gateVerdict(
  paired: number,
  statistics: GateStatisticsDto | null,
  gate: GateDto,
): Pick<GateResultDto, 'passed' | 'reason'> {
  const minRows = gate.min_rows ?? MIN_ROWS;
  const failed = (reason: string) => ({ passed: false, reason });
  if (!statistics) return failed('no rows are paired: no content has scores of both steps');
  if (paired < minRows)
    return failed(`too few rows: ${paired} are paired, and min_rows is ${minRows}`);
  const { difference, interval, p_value, confidence, min_difference } = statistics;
  const measured = `the mean difference is ${show(difference)} over ${paired} rows`;
  if (difference <= min_difference)
    return failed(`${measured}, not more than min_difference, ${min_difference}`);
  if (interval[0] <= min_difference)
    return failed(
      `${measured}, but its interval begins at ${show(interval[0])}, not above min_difference, ${min_difference}`,
    );
  const alpha = 1 - confidence;
  if (p_value > alpha + 1e-12)
    return failed(`${measured}, but its p-value ${show(p_value)} is above ${show(alpha)}`);
  return { passed: true, reason: `${measured}, p-value ${show(p_value)}` };
}

const show = (value: number) => String(Number(value.toPrecision(4)));
