import { elementTexts } from '../../../platform/json/json-text.js';
import { UNLIMITED } from '../../../platform/json/json-grammar.js';
import type { Priceable } from '../../pricing/price.js';
import type { ChunkTexts } from './kept-trials.query.js';
import { scoreText } from '../score-texts.js';
import { countedTokens } from '../trials.js';

/** Average number of trials in a chunk. Ids spread trials over chunks by their hash. */
export const CHUNK_TRIALS = 1000;
/** Characters of the complete scores of a chunk, including texts. */
const MAX_FULL_SCORES = 8 * 1024 * 1024;
/** Characters of the scores of a chunk, without texts. A run with a larger chunk is not kept. */
const MAX_SCORES = 4 * 1024 * 1024;

/** A trial of a finished evaluation as it is stored, each member as JSON text. */
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

const textsOf = (array: string) => elementTexts(array, UNLIMITED);

/** Builds a kept trial from a record of `trialRecords`. */
export function keptTrial(record: string): KeptTrial {
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
    tokens: JSON.stringify(countedTokens(priceable ? [priceable] : [])),
    scores: scoreText(fullScores),
    late: scoreText(fullLate),
    fullScores,
    fullLate,
    spent,
    judges,
  };
}

const arrayText = (texts: readonly string[]) => `[${texts.join(',')}]`;

/** Builds a chunk of trials. Returns null when their scores are too large to be read at once. */
export function chunkTexts(trials: readonly KeptTrial[]): ChunkTexts | null {
  const of = (name: keyof KeptTrial) => arrayText(trials.map((trial) => trial[name]));
  const length = (names: readonly (keyof KeptTrial)[]) =>
    trials.reduce(
      (sum, trial) => sum + names.reduce((own, name) => own + trial[name].length, 0),
      0,
    );
  if (length(['scores', 'late']) > MAX_SCORES) return null;
  const isFull = length(['fullScores', 'fullLate']) <= MAX_FULL_SCORES;
  return {
    ids: of('id'),
    digests: of('digest'),
    numbers: arrayText([of('startedAt'), of('latency'), of('tokens')]),
    scores: arrayText([of('scores'), of('late')]),
    full_scores: isFull ? arrayText([of('fullScores'), of('fullLate')]) : null,
    spent: arrayText([of('spent'), of('judges')]),
  };
}

/**
 * Reads the trials of a chunk, keyed by id. When `full_scores` is null, the complete scores are lost and read as null.
 */
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

/** Returns the number of the chunk that holds a trial, by the FNV-1a hash of its id. */
export function chunkOf(id: string, chunks: number): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < id.length; i++) hash = Math.imul(hash ^ id.charCodeAt(i), 0x01000193);
  return (hash >>> 0) % chunks;
}
