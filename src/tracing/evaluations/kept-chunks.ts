import { elementSpans } from '../../platform/json/json-text.js';
import { isObject } from '../../platform/json/json-object.js';
import { UNLIMITED } from '../../platform/json/json-grammar.js';
import type { CostsService, Priceable } from '../costs/costs.service.js';
import type { ChunkTexts } from './kept-trials.query.js';
import { countedTokens } from './trials.js';

/** Trials of a chunk, as long as ids spread them evenly. */
export const CHUNK_TRIALS = 1000;
/** Characters of the scores of a chunk, with their texts. */
const MAX_FULL_SCORES = 8 * 1024 * 1024;
/** Levels of a score that are kept: more than a name can lead to. */
const MAX_LEVELS = 70;

/** What is kept of a trial, as JSON texts. */
export type KeptTrial = Readonly<
  Record<
    | 'id'
    | 'digest'
    | 'startedAt'
    | 'latency'
    | 'tokens'
    | 'scores'
    | 'late'
    | 'fullScores'
    | 'fullLate'
    | 'spent'
    | 'judges',
    string
  >
>;

const textsOf = (array: string) =>
  elementSpans(array, 0, UNLIMITED).map((span) => array.slice(...span));

/** What is kept of a trial, from its record. */
export function keptTrial(record: string, costs: CostsService): KeptTrial {
  const [id, digest, startedAt, fullScores, fullLate, latency, spent, judges] = textsOf(record) as [
    string,
    string,
    string,
    string,
    string,
    string,
    string,
    string,
  ];
  const priceable = JSON.parse(spent) as Priceable | null;
  return {
    id,
    digest,
    startedAt,
    latency,
    tokens: JSON.stringify(countedTokens(costs, priceable ? [priceable] : [])),
    scores: withoutTexts(JSON.parse(fullScores)),
    late: withoutTexts(JSON.parse(fullLate)),
    fullScores,
    fullLate,
    spent,
    judges,
  };
}

/** A score as JSON text with its numbers and booleans. Of texts it tells that they are there, and lists count nothing. */
function withoutTexts(value: unknown, level = 0): string {
  if (typeof value === 'string') return '""';
  if (typeof value === 'boolean') return String(value);
  // JSON.parse reads 1e999 as Infinity, and so will the reader
  if (typeof value === 'number')
    return Number.isFinite(value) ? String(value) : value > 0 ? '1e999' : '-1e999';
  if (!isObject(value) || level > MAX_LEVELS) return 'null';
  const members = Object.entries(value).map(
    ([name, member]) => `${JSON.stringify(name)}:${withoutTexts(member, level + 1)}`,
  );
  return `{${members.join(',')}}`;
}

const arrayText = (texts: readonly string[]) => `[${texts.join(',')}]`;

/** The columns of a chunk. */
export function chunkTexts(trials: readonly KeptTrial[]): ChunkTexts {
  const of = (name: keyof KeptTrial) => arrayText(trials.map((trial) => trial[name]));
  const full = arrayText([of('fullScores'), of('fullLate')]);
  return {
    ids: of('id'),
    digests: of('digest'),
    numbers: arrayText([of('startedAt'), of('latency'), of('tokens')]),
    scores: arrayText([of('scores'), of('late')]),
    full_scores: full.length > MAX_FULL_SCORES ? null : full,
    spent: arrayText([of('spent'), of('judges')]),
  };
}

/** The trials of a chunk by their ids. Texts of scores that are not kept are missing for good: they are told as null. */
export function chunkTrials(chunk: ChunkTexts): Map<string, KeptTrial> {
  const ids = textsOf(chunk.ids!);
  const digests = textsOf(chunk.digests!);
  const [startedAt, latency, tokens] = textsOf(chunk.numbers!).map(textsOf);
  const [scores, late] = textsOf(chunk.scores!).map(textsOf);
  const [fullScores, fullLate] = textsOf(chunk.full_scores ?? '[[],[]]').map(textsOf);
  const [spent, judges] = textsOf(chunk.spent!).map(textsOf);
  return new Map(
    ids.map((id, i) => [
      JSON.parse(id) as string,
      {
        id,
        digest: digests[i]!,
        startedAt: startedAt![i]!,
        latency: latency![i]!,
        tokens: tokens![i]!,
        scores: scores![i]!,
        late: late![i]!,
        fullScores: fullScores![i] ?? 'null',
        fullLate: fullLate![i] ?? 'null',
        spent: spent![i]!,
        judges: judges![i]!,
      },
    ]),
  );
}

/** Which of some chunks holds a trial (FNV-1a). */
export function chunkOf(id: string, chunks: number): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < id.length; i++) hash = Math.imul(hash ^ id.charCodeAt(i), 0x01000193);
  return (hash >>> 0) % chunks;
}
