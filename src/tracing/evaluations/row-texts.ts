import type { DocumentReader } from '../../platform/http/document-reader.js';
import { UNLIMITED } from '../../platform/json/json-grammar.js';
import { printDecimals } from '../../platform/json/decimal.js';
import { elementTexts, memberTexts, objectText } from '../../platform/json/json-text.js';
import type { Priceable } from '../pricing/price.js';
import { countedTokens, spentDollars, type Trial, type TrialRow } from './trials.js';

export interface RowOptions {
  /** The evaluations, in the order of the request. */
  ids: readonly string[];
  hasChildren: boolean;
  hasCosts: boolean;
  documents: DocumentReader;
}

/** A call below a trial, as `detailsQuery` returns it, without its output. */
interface TrialChild {
  id: string;
  name: string;
  is_scorer: boolean;
  is_predict: boolean;
  latency: number | null;
  /** JSON text, as is `spans`. */
  spent: string;
  spans: string;
  output: string;
}

/** Returns a row as JSON text. `details` are those of its trials; `raw` are its inputs, or null to leave them out. */
export async function rowText(
  row: TrialRow,
  { ids, ...shown }: RowOptions,
  details: ReadonlyMap<string, string>,
  raw: string | null,
): Promise<string> {
  const evaluations: string[] = [];
  for (const id of ids.filter((one) => row.trials.has(one))) {
    const trials: string[] = [];
    for (const trial of row.trials.get(id)!) {
      const text = details.get(trial.id); // a call that was deleted in the meantime has no details
      if (text !== undefined) trials.push(await trialText(trial, text, shown));
    }
    evaluations.push(`{"evaluation_call_id":${JSON.stringify(id)},"trials":[${trials.join(',')}]}`);
  }
  const rawMember = raw === null ? '' : `"raw_data_row":${raw},`;
  return `{"row_digest":${JSON.stringify(row.digest)},${rawMember}"evaluations":[${evaluations.join(',')}]}`;
}

async function trialText(
  trial: Trial,
  text: string,
  { hasChildren, hasCosts, documents }: Omit<RowOptions, 'ids'>,
): Promise<string> {
  await documents.pass(2 * text.length);
  const members = memberTexts(text);
  const children = elementTexts(members.get('children')!, UNLIMITED).map(readChild);
  const predict = children.find(({ is_scorer, is_predict }) => !is_scorer && is_predict);
  const spent = hasChildren ? predict?.spent : members.get('spent');
  const own = await documents.read<Priceable | null>(spent ?? 'null');
  const calls = own ? [own] : [];
  const scores = scoreTexts(members.get('scores')!, children);
  const latency = predict?.latency ?? (JSON.parse(members.get('latency')!) as number | null);
  const spans = [predict?.spans, members.get('spans')].find(isGiven);
  return `{${[
    ['predict_and_score_call_id', JSON.stringify(trial.id)],
    ['predict_call_id', predict ? JSON.stringify(predict.id) : 'null'],
    ['model_output', members.get('output')!],
    ['scores', objectText(scores)],
    ['model_latency_seconds', JSON.stringify(latency)],
    ['total_tokens', JSON.stringify(countedTokens(calls))],
    ['total_cost', hasCosts ? printDecimals(spentDollars(calls)) : 'null'],
    ['scorer_call_ids', JSON.stringify(scorerCalls([...scores.keys()], children))],
    ...(spans ? [['genai_span_ref', listText(spans)]] : []),
  ]
    .map(([name, value]) => `"${name}":${value}`)
    .join(',')}}`;
}

const isGiven = (text?: string) => text !== undefined && !/^(?:null|false|0|"")$/.test(text);
const listText = (value: string) => (value.startsWith('[') ? value : `[${value}]`);

function readChild(text: string): TrialChild {
  const members = memberTexts(text);
  const [spent, spans, output] = ['spent', 'spans', 'output'].map((name) => members.get(name)!);
  const rest = ['id', 'name', 'is_scorer', 'is_predict', 'latency'];
  const facts = objectText(rest.map((name) => [name, members.get(name)!]));
  return Object.assign({ spent, spans, output }, JSON.parse(facts)) as TrialChild;
}

/** Joins scores as they were stored: those of the trial, then those that only scorers' calls contain. */
function scoreTexts(stored: string, children: readonly TrialChild[]): Map<string, string> {
  const texts = stored.startsWith('{') ? memberTexts(stored) : new Map<string, string>();
  for (const { name, is_scorer, output } of children)
    if (is_scorer && output !== 'null') texts.set(name, output);
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
