import { sql, type Sql } from './sql.js';

/**
 * Describes a value that `$contains` searches. Over JSON it searches the decoded text: `\u4f60`, `\"` and `\/` stand
 * for their characters. This includes JSON inside a string, whose escapes are escaped again. Decoding a document takes
 * ten times as long as searching its text, so a pattern over the text first selects the few to decode. Every text that
 * contains the needle matches the pattern. docs/adr/0016-indexes-on-fields.md has figures.
 */
export interface SearchedText {
  text: Sql;
  /** The value's `json_typeof`. Undefined when only its text is known. */
  kind: Sql | undefined;
}

export interface Needle {
  /** In lower case when `folds` is set. */
  text: Sql;
  letters?: readonly string[];
  /** Set when case is ignored: capitals beyond ASCII, and the letters that replace them. */
  folds: { capitals: string; letters: string } | null;
}

/** Returns the condition that a JSON value contains a text. It is NULL when one of the two is missing. */
export function saysNeedle({ text, kind = sql`'string'` }: SearchedText, needle: Needle): Sql {
  const { capitals = '', letters = '' } = needle.folds ?? {};
  const isSaid = sql`skein_says(${text}, ${kind}, ${needle.text}, ${needle.folds !== null}::boolean, ${capitals}::text, ${letters}::text)`;
  if (!needle.letters) return isSaid;
  return sql`(${text} ~ ${spellings(needle.letters, needle.folds !== null)}::text AND ${isSaid})`;
}

/**
 * Characters that JSON must or may escape in a short form, and U+FFFD, which replaces characters that PostgreSQL cannot
 * store.
 */
// eslint-disable-next-line no-control-regex
const ESCAPED = /["\\/\ufffd\0-\x1f]/;
/** Most characters of the needle in the pattern. More would hardly exclude further texts. */
const MAX_PATTERN = 16;

/**
 * Returns a regular expression that matches every text that contains the needle in any spelling. It matches the longest
 * run of plain characters, or the `\uXXXX` of one of them. Escapes inside escapes still end in `uXXXX`. A trigram index
 * serves it.
 */
export function spellings(needle: readonly string[], isFolded: boolean): string {
  const run = longestRun(needle);
  if (run.length === 0) return needle.length === 0 ? '' : spelledEscape(needle);
  const spelled = isFolded ? run.map(cases) : run.map((letter) => [letter]);
  const escapes = new Set(spelled.flat().map(escape));
  return `${spelled.map(oneOf).join('')}|u(?:${[...escapes, SPELLED_ESCAPE].join('|')})`;
}

/** Digits of the `\uXXXX` of a backslash, a `u` or a digit: an escape that is itself spelled with escapes. */
const SPELLED_ESCAPE = '00(?:5[cC]|75|3[0-9]|[46][1-6])';

function longestRun(needle: readonly string[]): readonly string[] {
  let [start, best] = [0, needle.slice(0, 0)];
  for (let end = 0; end <= needle.length; end++) {
    if (end < needle.length && !ESCAPED.test(needle[end]!)) continue;
    if (end - start > best.length) best = needle.slice(start, Math.min(end, start + MAX_PATTERN));
    start = end + 1;
  }
  return best;
}

/**
 * Returns the pattern for a needle that consists only of escaped characters. It matches one of them, preferably a rare
 * one.
 */
function spelledEscape(needle: readonly string[]): string {
  const letter = needle.toSorted((a, b) => rarity(b) - rarity(a))[0]!;
  const short = JSON.stringify(letter).slice(1, -1);
  const other = letter === '\ufffd' ? 'u[fF]{3}[dD]|u0000|u[dD][89a-fA-F]' : 'u00';
  return [
    oneOf([letter]),
    ...(letter < ' ' && short.length === 2 ? [escapePattern(short)] : []),
    other,
  ].join('|');
}
const rarity = (letter: string) => 3 - ['"', '/', '\\'].indexOf(letter);

/**
 * Returns a pattern for the digits of a character's `\uXXXX`, in either case. All ASCII and Latin-1 characters share
 * one pattern. For a surrogate pair it matches the first half.
 */
function escape(letter: string): string {
  const unit = letter.charCodeAt(0);
  if (unit < 0x100) return '00';
  return unit
    .toString(16)
    .padStart(4, '0')
    .replaceAll(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`);
}

/** Returns all cases of a letter that are a single letter. Some letters share a capital: `ſ` and `s`. */
const cases = (letter: string): string[] => {
  const capital = letter.toUpperCase();
  const all = [letter, letter.toLowerCase(), capital, capital.toLowerCase()];
  if (capital === 'Σ') all.push('ς');
  return [...new Set(all.filter((one) => Array.from(one).length === 1))];
};

const oneOf = (letters: readonly string[]) =>
  letters.length === 1 ? escapePattern(letters[0]!) : `[${letters.map(escapePattern).join('')}]`;
/** Escapes a text for a regular expression of PostgreSQL, also inside brackets. */
const escapePattern = (text: string) =>
  Array.from(text, (letter) =>
    /[a-zA-Z0-9]/.test(letter)
      ? letter
      : `\\U${letter.codePointAt(0)!.toString(16).padStart(8, '0')}`,
  ).join('');
