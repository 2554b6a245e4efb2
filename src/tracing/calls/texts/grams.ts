import { decodeEscapes } from '../../../platform/json/searchable-text.js';

/**
 * Number of bits of a gram. Grams are what the index of texts stores about a text:
 * - each three letters or digits in a row;
 * - the first letter of a word, with the two letters before it;
 * - in scripts without spaces each sign, and each two in a row.
 *
 * Case is folded. A text has all the grams of each text that it contains, so grams find every part of a word. A gram is
 * a hash, and a text may have all grams in another order. So whoever finds a text by its grams must look at the text.
 */
export const GRAM_BITS = 20;

/** From this code point on (CJK, Kana, Hangul, emoji) a word has few signs. */
const FIRST_SIGN = 0x2e80;

/** The folded form of each UTF-16 unit; 0 for what separates words. */
const FOLDED = Uint16Array.from({ length: 0x1_0000 }, (_, unit) => foldedUnit(unit));

function foldedUnit(unit: number): number {
  const letter = String.fromCharCode(unit);
  if (unit < 0x80) return /[a-z0-9]/i.test(letter) ? letter.toLowerCase().charCodeAt(0) : 0;
  if (/[\p{Cc}\p{Z}\p{Surrogate}\ufffd]/u.test(letter)) return 0;
  return folded(letter).charCodeAt(0);
}

/** Returns one form for all cases of a letter that are one letter each: `ſ`, `S` and `s` become `s`. */
function folded(letter: string): string {
  const one = (from: string, to: string) => (Array.from(to).length === 1 ? to : from);
  const upper = one(letter, letter.toUpperCase());
  return one(upper, upper.toLowerCase());
}

/** Passes each gram of a text to `take`, as often as the text has it. */
export function cutGrams(text: string, take: (gram: number) => void): void {
  let [before, last] = [0, 0];
  /** Letters in a row, up to here; 0 behind a space or another mark. */
  let letters = 0;
  let isBehindGap = false;
  for (let i = 0; i < text.length; i++) {
    let letter = FOLDED[text.charCodeAt(i)]!;
    if (letter === 0) {
      letter = foldedPair(text.codePointAt(i)!);
      if (letter === 0) {
        letters = 0;
        isBehindGap = true;
        continue;
      }
      i++;
    }
    if (letter < FIRST_SIGN) {
      if (++letters >= 3) take(hash(before, last, letter));
      else if (isBehindGap && isLetter(before) && isLetter(last))
        take(hash(before, last, letter + BEHIND_GAP));
    } else {
      letters = 0;
      take(hash(0, 0, letter));
      if (last >= FIRST_SIGN && !isBehindGap) take(hash(0, last, letter));
    }
    before = last;
    last = letter;
    isBehindGap = false;
  }
}

/** Tells a letter that begins a word from others. */
const BEHIND_GAP = 0x20_0000;
const isLetter = (letter: number) => letter > 0 && letter < FIRST_SIGN;
/** Returns the folded form of a sign of two units; 0 for one unit. */
const foldedPair = (point: number) =>
  point > 0xffff ? folded(String.fromCodePoint(point)).codePointAt(0)! : 0;

const hash = (a: number, b: number, c: number) =>
  (Math.imul(a, 0x2c1b_3c6d) + Math.imul(b, 0x85eb_ca6b) + Math.imul(c, 0x9e37_79b1)) >>>
  (32 - GRAM_BITS);

/** Returns the different grams of a text. Empty if it has no three letters in a row and no sign. */
export function gramsOf(text: string): number[] {
  const grams = new Set<number>();
  cutGrams(text, (gram) => grams.add(gram));
  return [...grams];
}

/** Strings inside strings are decoded at least as often as `skein_says` does it. */
const MAX_DECODED = 12;

/**
 * Passes the grams of everything that a JSON document says to `take`. All escapes are decoded, then those that remain,
 * because a string may contain JSON again. Decoding text that is no JSON only adds grams.
 */
export function cutDocument(json: string, take: (gram: number) => void): void {
  let said = decodeEscapes(json);
  cutGrams(said, take);
  for (let times = 1; times < MAX_DECODED; times++) {
    const more = decodeEscapes(said);
    if (more === said) return;
    cutGrams(more, take);
    said = more;
  }
}
