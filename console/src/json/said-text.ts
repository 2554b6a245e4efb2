import { foldCase } from '../../../src/platform/json/fold-case.ts';

const MOST_LEVELS = 8;
const ESCAPE = /\\(?:u([\dA-Fa-f]{4})|(["\\/bfnrt]))/g;
const SHORT: Record<string, string> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' };

/**
 * Decodes the escapes in a text until it says what is sought. A string may hold JSON with strings of its own. Returns
 * the text as it is if decoding finds no more of the sought texts.
 */
export function decodedToSay(text: string, sought: readonly string[]): string {
  const said = (one: string) => {
    const folded = foldCase(one);
    return sought.filter((each) => folded.includes(foldCase(each))).length;
  };
  let [best, most] = [text, said(text)];
  let decoded = text;
  for (let level = 0; level < MOST_LEVELS && most < sought.length; level++) {
    if (!decoded.includes('\\')) break;
    decoded = decoded.replace(ESCAPE, (_, hex?: string, short = '') =>
      hex === undefined ? (SHORT[short] ?? short) : String.fromCharCode(Number.parseInt(hex, 16)),
    );
    if (said(decoded) > most) [best, most] = [decoded, said(decoded)];
  }
  return best;
}

/** Characters before a text that lies far behind the beginning. */
const BEFORE = 40;

/** Returns at most `most` characters, which begin shortly before the sought text if the text says it behind them. */
export function cutToSay(text: string, sought: string | undefined, most: number): string {
  if (sought === undefined) return text.slice(0, most);
  const decoded = decodedToSay(text, [sought]);
  const at = foldCase(decoded).indexOf(foldCase(sought));
  const from = at + sought.length <= most ? 0 : Math.max(0, at - BEFORE);
  return (from > 0 ? '…' : '') + decoded.slice(from, from + most);
}
