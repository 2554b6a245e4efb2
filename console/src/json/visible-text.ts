/** Characters that are invisible, or that change the order or the colours of others. Tabs and line ends are allowed. */
const HIDDEN = /[\p{Cf}\u2028\u2029]|(?![\t\n])\p{Cc}/gu;

/** Joiners, which are allowed inside words and emoji. Anywhere else they can hide text. */
const JOINER = /^[\u200C\u200D]$/;
const BEFORE = /[\p{L}\p{M}\p{Extended_Pictographic}\p{Emoji_Modifier}\uFE0F]$/u;
const BEHIND = /^[\p{L}\p{M}\p{Extended_Pictographic}]/u;

const isWritten = (text: string, at: number) =>
  BEFORE.test(text.slice(Math.max(0, at - 2), at)) && BEHIND.test(text.slice(at + 1, at + 3));

/** Replaces each hidden character by a mark. For display only: copying uses the original text. */
export const visible = (text: string): string =>
  text.replace(HIDDEN, (hidden, at: number) =>
    JOINER.test(hidden) && isWritten(text, at)
      ? hidden
      : `‹U+${hidden.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}›`,
  );

/** Decodes a JSON string. Returns the JSON itself when it cannot be parsed, such as a lone escape. */
export function decoded(json: string): string {
  try {
    return JSON.parse(json) as string;
  } catch {
    return json;
  }
}

/** An incomplete escape at the end of a text that was cut. */
const OPEN_ESCAPE = /(?<!\\)((?:\\\\)*)\\(?:u[\dA-Fa-f]{0,3})?$/;

/** Decodes the beginning of a JSON string, from its first quotation mark on. */
export const decodedStart = (json: string): string =>
  decoded(`${json.replace(OPEN_ESCAPE, '$1')}"`);

/** True when the decoded string has several lines. */
export const hasLines = (json: string): boolean => /(?<!\\)(?:\\\\)*\\n/.test(json);

/** Splits a text into lines of at most `most` characters, so that a browser can lay out any text. */
export function shortLines(text: string, most: number): string[] {
  const lines: string[] = [];
  for (const line of text.split('\n')) {
    if (line.length <= most) lines.push(line);
    else for (let at = 0; at < line.length; at += most) lines.push(line.slice(at, at + most));
  }
  return lines;
}
