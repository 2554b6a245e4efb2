import { isObject } from '../json/json-object.js';
import { Cursor, UNLIMITED } from '../json/json-grammar.js';
import { memberSpans } from '../json/json-text.js';

/** Matches numbers of more than fifteen digits, the digits that a double always keeps. */
const LONG = /\d[\d.]{15}/;
/** Exceeds all literals and names that a query may have. */
const MOST_CHARACTERS = 4 * 1024 * 1024;
/** Deeper queries are refused. */
const MOST_DEPTH = 100;

/**
 * Replaces numbers in the `query` of a body that have more digits than a double keeps. Each becomes a `$convert` of its
 * text, which is compared digit by digit: `{"$literal": 9007199254740993}` would be parsed as …992 and find nothing.
 */
export function keepLongLiterals(body: unknown, text: string): void {
  if (!isObject(body) || !isObject(body['query'])) return;
  const [start, end] = memberSpans(text, 0, UNLIMITED).get('query')!;
  if (end - start > MOST_CHARACTERS) return;
  const query = text.slice(start, end);
  if (LONG.test(query)) body['query'] = convertLiterals(body['query'], query, 0, 0);
}

function convertLiterals(value: unknown, text: string, at: number, depth: number): unknown {
  const cursor = new Cursor(text, at);
  // With a repeated name the last value counts, which may have another type than this text.
  if (depth > MOST_DEPTH || !isContainer(value) || text[cursor.at] !== opening(value)) return value;
  for (let n = 0; cursor.next(); n++) {
    const name = cursor.key ?? String(n);
    const from = cursor.at;
    const written = text.slice(from, cursor.skip(UNLIMITED));
    const member = value[name];
    if (name === '$literal' && isLong(member, written))
      return { $convert: { input: { $literal: written }, to: 'double' } };
    const next = convertLiterals(member, text, from, depth + 1);
    if (next !== member) value[name] = next;
  }
  return value;
}

const isContainer = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null;
const opening = (value: object) => (Array.isArray(value) ? '[' : '{');
const isLong = (value: unknown, written: string) =>
  typeof value === 'number' && LONG.test(written) && Number(written) === value;
