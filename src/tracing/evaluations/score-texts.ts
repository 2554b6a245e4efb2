import { ApiError } from '../../platform/errors.js';
import { CODES, Cursor, UNLIMITED } from '../../platform/json/json-grammar.js';

const { OPEN_BRACE, OPEN_BRACKET, QUOTE } = CODES;

/** Levels of a score that are read: more than a field name can reach. */
const MAX_LEVELS = 70;
/** Members of one trial's scores that are looked at. Reading them takes about 20 ms. */
const MAX_MEMBERS = 50_000;

/**
 * Reduces the scores of a trial to the values that answers use, as JSON text: numbers and booleans, and empty texts in
 * place of texts. Leaves out everything else. Returns `null` when nothing is left.
 * @throws ApiError `too_large`
 */
export function scoreText(document = 'null'): string {
  let members = 0;
  const reduce = (cursor: Cursor, level: number): string => {
    const { text, at, first } = cursor;
    if (first === OPEN_BRACE && level <= MAX_LEVELS) return reduceObject(cursor, level);
    const end = cursor.skip(UNLIMITED);
    if (first === QUOTE) return '""';
    return first === OPEN_BRACE || first === OPEN_BRACKET ? 'null' : text.slice(at, end);
  };
  const reduceObject = (cursor: Cursor, level: number): string => {
    const kept = new Map<string, string>(); // for a repeated name the last value counts
    const inside = cursor.inside();
    while (inside.next()) {
      if (++members > MAX_MEMBERS)
        throw new ApiError('too_large', `the scores of a trial have over ${MAX_MEMBERS} members`);
      const { key } = inside;
      const value = reduce(inside, level + 1);
      if (value === 'null') kept.delete(key!);
      else kept.set(key!, value);
    }
    cursor.at = inside.at;
    if (kept.size === 0) return 'null';
    return `{${Array.from(kept, ([name, value]) => `${JSON.stringify(name)}:${value}`).join(',')}}`;
  };
  return reduce(new Cursor(document, 0), 0);
}

/** Joins two results of `scoreText` that have no name in common. */
export function joinedScores(own: string, late: string): string {
  if (own === 'null' || late === 'null') return own === 'null' ? late : own;
  return `${own.slice(0, -1)},${late.slice(1)}`;
}

/** Reads a value of a result of `scoreText`. Texts are read as empty. */
export function scoreValue(text: string): boolean | number | string {
  return JSON.parse(text) as boolean | number | string;
}

/** Returns the number at a path of names, with booleans as 1 and 0. Returns null for everything else. */
export function scoreNumber(scores: string, path: readonly string[]): number | null {
  let at = new Cursor(scores, 0);
  for (const name of path) {
    if (at.first !== OPEN_BRACE) return null;
    const members = at.inside();
    while (members.next() && members.key !== name) members.skip();
    if (members.key !== name) return null;
    at = members;
  }
  return at.isContainer || at.first === QUOTE
    ? null
    : Number(scoreValue(scores.slice(at.at, at.skip())));
}
