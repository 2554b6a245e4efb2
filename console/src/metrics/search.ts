import { windowIn } from '../api/search.ts';
import { sourceIn, type SourceSearch } from '../api/sources.ts';

/** Groups of the table besides models: tab, column title, and short name of the filter. */
export const GROUPINGS = {
  op: { tab: 'By op', title: 'Op', filter: 'op' },
  user: { tab: 'By user', title: 'User', filter: 'end_user' },
  key_user: { tab: 'By key user', title: 'Key user', filter: 'user' },
} as const;
export type Grouping = keyof typeof GROUPINGS;

export interface MetricsSearch extends SourceSearch {
  /** The last day when absent. */
  range?: Range;
  /** A window instead of a range, in ISO 8601. */
  from?: string;
  to?: string;
  /** The length of a bucket. Chosen from the length of the window when absent. */
  step?: Step;
  /** The group of the table; the model when absent. */
  by?: Grouping;
  sort?: string;
  roots?: true;
}

const HOUR = 3600;
const DAY = 86_400;

export const RANGES = {
  '1h': ['Last hour', HOUR],
  '6h': ['Last 6 hours', 6 * HOUR],
  '24h': ['Last 24 hours', DAY],
  '7d': ['Last 7 days', 7 * DAY],
  '30d': ['Last 30 days', 30 * DAY],
  '90d': ['Last 90 days', 90 * DAY],
  '365d': ['Last year', 365 * DAY],
} as const;
export type Range = keyof typeof RANGES;
export const DEFAULT_RANGE: Range = '24h';

export const STEPS = {
  '10s': ['10 seconds', 10],
  '1m': ['1 minute', 60],
  '5m': ['5 minutes', 300],
  '15m': ['15 minutes', 900],
  '30m': ['30 minutes', 1800],
  '1h': ['1 hour', HOUR],
  '2h': ['2 hours', 2 * HOUR],
  '6h': ['6 hours', 6 * HOUR],
  '12h': ['12 hours', 12 * HOUR],
  '1d': ['1 day', DAY],
  '7d': ['1 week', 7 * DAY],
} as const;
export type Step = keyof typeof STEPS;

const isOneOf = <T extends string>(names: Record<T, unknown>, value: unknown): value is T =>
  typeof value === 'string' && Object.hasOwn(names, value);

export function metricsSearch(search: Record<string, unknown>): MetricsSearch {
  const { range, step, by, sort, roots } = search;
  const window = windowIn(search);
  return {
    ...window,
    ...(window.from === undefined && isOneOf(RANGES, range) && { range }),
    ...(isOneOf(STEPS, step) && { step }),
    ...(isOneOf(GROUPINGS, by) && { by }),
    ...(typeof sort === 'string' && { sort }),
    ...(roots === true && { roots }),
    ...sourceIn(search),
  };
}

/** The window in milliseconds. A range ends at `now`. */
export function searchWindow(search: MetricsSearch, now: number): { start: number; end: number } {
  const { from, to, range = DEFAULT_RANGE } = search;
  if (from !== undefined && to !== undefined)
    return { start: Date.parse(from), end: Date.parse(to) };
  return { start: now - RANGES[range][1] * 1000, end: now };
}

/** The most buckets: more bars would be thinner than a pixel. */
const MOST_BUCKETS = 1500;
const USUAL_BUCKETS = 120;

const ALL_STEPS = Object.keys(STEPS) as Step[];

/** The steps that suit a window of this length. */
export const stepsFor = (seconds: number): Step[] =>
  ALL_STEPS.filter((step) => seconds / STEPS[step][1] <= MOST_BUCKETS && STEPS[step][1] < seconds);

/** Seconds of a bucket: the chosen step if it suits the window, else one that makes about a hundred buckets. */
export function searchGranularity(search: MetricsSearch, seconds: number): number {
  const { step } = search;
  if (step !== undefined && stepsFor(seconds).includes(step)) return STEPS[step][1];
  const usual = ALL_STEPS.find((one) => seconds / STEPS[one][1] <= USUAL_BUCKETS);
  return usual ? STEPS[usual][1] : Math.ceil(seconds / USUAL_BUCKETS / DAY) * DAY;
}
