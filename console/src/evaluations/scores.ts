import type { Schema } from '../api/client.ts';
import { duration, money, number } from '../ui/format.ts';
import type { EvaluationRun, Results, ScoreStat } from './runs.ts';

/** The name of a scorer's value in addresses and in the API: `<scorer>[.<path>]`. */
export const scoreName = ({
  scorer_key,
  path,
}: {
  scorer_key: string;
  path: string | null;
}): string => (path === null ? scorer_key : `${scorer_key}.${path}`);

/** The field of a score in rows, with names escaped as in the query language. */
export function scoreField({
  scorer_key,
  path,
}: {
  scorer_key: string;
  path: string | null;
}): string {
  const scorer = scorer_key.replaceAll(/[\\.[]/g, String.raw`\$&`);
  return path === null ? `scores.${scorer}` : `scores.${scorer}.${path}`;
}

/** The pass rate or the mean, and the number of trials behind it. Null for texts. */
export function scoreValue(stat: ScoreStat): { value: number; n: number; isRate: boolean } | null {
  const { value_type, pass_rate, pass_known_count, numeric_mean, numeric_count } = stat;
  if (value_type === 'binary' && pass_rate !== null)
    return { value: pass_rate, n: pass_known_count, isRate: true };
  if (value_type === 'continuous' && numeric_mean !== null)
    return { value: numeric_mean, n: numeric_count, isRate: false };
  return null;
}

export const percent = (value: number | null): string =>
  value === null ? '–' : `${number(Number((100 * value).toFixed(1)))} %`;

const points = (value: number | null): string =>
  value === null ? '–' : `${number(Number((100 * value).toFixed(1)))} pts`;

type Print = (value: number | null) => string;

export interface Formats {
  value: Print;
  difference: Print;
}

const alike = (value: Print): Formats => ({ value, difference: value });

export const RATE: Formats = { value: percent, difference: points };
export const NUMBER = alike(number);

export type Comparison = Schema<'EvalComparedDto'>['comparisons'][number];
export type ComparedMeasure = Comparison['latency_seconds'];
export type ComparedScore = Comparison['scores'][number];

export const MEASURES = [
  ['latency_seconds', 'Latency', alike((value) => duration(value === null ? null : value * 1000))],
  ['total_tokens', 'Tokens', NUMBER],
  ['total_cost', 'Cost', alike(money)],
  ['judge_cost', 'Cost of judges', alike(money)],
] as const satisfies readonly (readonly [keyof Comparison, string, Formats])[];

/** A difference with its sign in front of the amount and its unit. */
export function signed(value: number | null, print: Print): string {
  if (value === null) return '–';
  if (value === 0) return print(0);
  return `${value < 0 ? '−' : '+'}${print(Math.abs(value))}`;
}

/** The significance level: below it a difference is shown as higher or lower. */
const LEVEL = 0.05;

export function finding(difference: number | null, pValue: number | null): string {
  if (difference === null || pValue === null) return 'not known';
  if (pValue >= LEVEL || difference === 0) return 'no clear difference';
  return difference < 0 ? 'lower' : 'higher';
}

/** Smaller p-values are printed as "< 0.0001". */
const SMALLEST_P = 0.0001;

export const printPValue = (value: number | null): string =>
  value !== null && value < SMALLEST_P ? `< ${SMALLEST_P}` : number(value);

/** The name of a test without the details of its method. */
export const shortTest = (test: string): string => test.replace(/\s*[(,].*$/, '');

export interface RunRow {
  run: EvaluationRun;
  /** The number of the run, counted from 1 for the oldest one listed. */
  number: number;
  results: Results | undefined;
}

export const findScore = ({ results }: RunRow, name: string) => {
  const stat = results?.scorer_stats.find((one) => scoreName(one) === name);
  return stat === undefined ? null : scoreValue(stat);
};
