import { printDecimals } from '../../platform/json/decimal.js';
import { elementTexts, memberTexts, objectText } from '../../platform/json/json-text.js';
import type { Priceable } from '../pricing/price.js';
import { countedTokens, spentDollars, type Trial, type TrialRow } from './trials.js';

export interface RowOptions {
  /** The evaluations, in the order of the request. */
  ids: readonly string[];
  hasChildren: boolean;
  hasCosts: boolean;
}

interface TrialChild {
  id: string;
  name: string;
  is_scorer: boolean;
  is_predict: boolean;
  latency: number | null;
  spent: Priceable | null;
  spans: unknown;
}

/** Returns a row as JSON text. `details` are those of its trials; `raw` are its inputs, or null to leave them out. */
export function rowText(
  row: TrialRow,
  { ids, ...shown }: RowOptions,
  details: ReadonlyMap<string, string>,
  raw: string | null,
): string {
  const evaluations = ids
    .filter((id) => row.trials.has(id))
    .map((id) => {
      const trials = row.trials.get(id)!.flatMap((trial) => {
        const text = details.get(trial.id); // a call that was deleted in the meantime has no details
        return text === undefined ? [] : trialText(trial, text, shown);
      });
      return `{"evaluation_call_id":${JSON.stringify(id)},"trials":[${trials.join(',')}]}`;
    });
  const rawMember = raw === null ? '' : `"raw_data_row":${raw},`;
  return `{"row_digest":${JSON.stringify(row.digest)},${rawMember}"evaluations":[${evaluations.join(',')}]}`;
}

function trialText(
  trial: Trial,
  text: string,
  { hasChildren, hasCosts }: Omit<RowOptions, 'ids'>,
): string {
  const members = memberTexts(text);
  const childTexts = elementTexts(members.get('children')!);
  const children = childTexts.map((child) => JSON.parse(child) as TrialChild);
  const predict = children.find(({ is_scorer, is_predict }) => !is_scorer && is_predict);
  const own = hasChildren ? predict?.spent : (JSON.parse(members.get('spent')!) as Priceable);
  const calls = own ? [own] : [];
  const scores = scoreTexts(members.get('scores')!, childTexts, children);
  const latency = predict?.latency ?? (JSON.parse(members.get('latency')!) as number | null);
  const spans = [predict?.spans, JSON.parse(members.get('spans')!)].find((one) => one);
  return `{${[
    ['predict_and_score_call_id', JSON.stringify(trial.id)],
    ['predict_call_id', JSON.stringify(predict?.id ?? null)],
    ['model_output', members.get('output')!],
    ['scores', objectText(scores)],
    ['model_latency_seconds', JSON.stringify(latency)],
    ['total_tokens', JSON.stringify(countedTokens(calls))],
    ['total_cost', hasCosts ? printDecimals(spentDollars(calls)) : 'null'],
    ['scorer_call_ids', JSON.stringify(scorerCalls([...scores.keys()], children))],
    ...(spans ? [['genai_span_ref', JSON.stringify([spans].flat())]] : []),
  ]
    .map(([name, value]) => `"${name}":${value}`)
    .join(',')}}`;
}

/** Joins scores as they were stored: those of the trial, then those that only scorers' calls contain. */
function scoreTexts(
  stored: string,
  childTexts: readonly string[],
  children: readonly TrialChild[],
): Map<string, string> {
  const texts = stored.startsWith('{') ? memberTexts(stored) : new Map<string, string>();
  for (const [i, { name, is_scorer }] of children.entries()) {
    const output = is_scorer && memberTexts(childTexts[i]!).get('output');
    if (output && output !== 'null') texts.set(name, output);
  }
  return texts;
}

/** Score names times scorers up to which names are searched in each other. */
const MAX_LIKENESSES = 100_000;

/**
 * Returns the ids of scorers' calls, keyed by the names of their scores. Names match when they are equal or one
 * contains the other. With more pairs than `MAX_LIKENESSES`, only equal names match.
 */
export function scorerCalls(
  scores: readonly string[],
  children: readonly Pick<TrialChild, 'id' | 'name' | 'is_scorer'>[],
): Record<string, string> {
  const scorers = children
    .filter(({ is_scorer }) => is_scorer)
    .map(({ id, name }) => ({ id, name: name.toLowerCase() }));
  const named = new Map(scorers.map((scorer) => [scorer.name, scorer]));
  const alike = scores.length * scorers.length <= MAX_LIKENESSES ? scorers : [];
  const found = scores.flatMap((key): [string, string][] => {
    const wanted = key.toLowerCase();
    const scorer =
      named.get(wanted) ??
      alike.findLast(({ name }) => name.includes(wanted) || wanted.includes(name));
    return scorer ? [[key, scorer.id]] : [];
  });
  return Object.fromEntries(found);
}
