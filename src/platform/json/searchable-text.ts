import { CODES, skipString } from './json-grammar.js';

const { BACKSLASH, OPEN_BRACE, OPEN_BRACKET } = CODES;

/** Most levels of JSON inside JSON strings. */
export const MAX_JSON_LEVELS = 8;

/**
 * Yields the texts in which a search looks for a needle: the text itself and, if it is JSON, the text with decoded
 * escapes. The same is done for each string in it that is JSON. `skein_says` in query.sql searches stored documents by
 * the same rule.
 */
export function* searchableTexts(text: string, depth = 0): Generator<string> {
  yield text;
  if (depth === MAX_JSON_LEVELS || !text.includes('\\') || !isLikeJson(text)) return;
  yield decodeEscapes(text);
  for (const nested of nestedStrings(text))
    yield* searchableTexts(decodeEscapes(nested), depth + 1);
}

export const isLikeJson = (text: string) => {
  const trimmed = text.trim();
  return ['{}', '[]', '""'].includes(`${trimmed[0]}${trimmed.at(-1)}`) && text.includes('"');
};

/** Yields the strings in a text that begin like JSON, with their escapes. Takes linear time for any text. */
export function* nestedStrings(text: string): Generator<string> {
  for (let at = text.indexOf('"'); at >= 0; at = text.indexOf('"', at)) {
    const end = beginsLikeJson(text, at + 1) ? skipString(text, at) : 0;
    if (end > text.length) return;
    if (end > 0) yield text.slice(at + 1, end - 1);
    at = Math.max(end, at + 1);
  }
}

function beginsLikeJson(text: string, from: number): boolean {
  for (let at = from; ;) {
    const c = text.charCodeAt(at);
    if (c === OPEN_BRACKET || c === OPEN_BRACE) return true;
    if (c === BACKSLASH) {
      const [escape] = /^(?:[nrt]|u00(?:20|0[9adAD]))/.exec(text.slice(at + 1, at + 6)) ?? [];
      if (!escape) return /^(?:"|u00(?:22|[57][bB]))/.test(text.slice(at + 1, at + 6));
      at += 1 + escape.length;
    } else if (isSpace(c)) at++;
    else return false;
  }
}

const isSpace = (c: number) =>
  c === 0x20 || (c >= 0x09 && c <= 0x0d) || (c >= 0xa0 && /\s/.test(String.fromCharCode(c)));

/** Decodes the escapes of JSON. Other backslashes stay. A pattern with a callback would take 50 times the memory. */
export function decodeEscapes(text: string): string {
  const first = text.indexOf('\\');
  if (first < 0) return text;
  const units = new Uint16Array(text.length);
  let length = 0;
  let isDecoded = false;
  for (let i = 0; i < text.length; i++) {
    let unit = text.charCodeAt(i);
    if (unit === BACKSLASH) {
      const next = text.charCodeAt(i + 1);
      const code = next === LETTER_U ? unitAt(text, i + 2) : SHORT.get(next);
      if (code !== undefined) {
        i += next === LETTER_U ? 5 : 1;
        unit = code;
        isDecoded = true;
      }
    }
    units[length++] = unit;
  }
  return isDecoded ? Buffer.from(units.buffer, 0, 2 * length).toString('utf16le') : text;
}

const LETTER_U = 0x75;
/** The units for which the short escapes stand, by their letters. */
const SHORT = new Map(
  ['""', String.raw`\\`, '//', 'b\b', 'f\f', 'n\n', 'r\r', 't\t'].map((pair) => [
    pair.charCodeAt(0),
    pair.charCodeAt(1),
  ]),
);

/** Returns the number that four hexadecimal digits spell. */
function unitAt(text: string, at: number): number | undefined {
  const digits = text.slice(at, at + 4);
  return /^[0-9a-fA-F]{4}$/.test(digits) ? Number.parseInt(digits, 16) : undefined;
}
