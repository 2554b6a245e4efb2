/** Characters that cannot be seen, or that change the order or the colours of others; tabs and line ends are none. */
const HIDDEN = /[\p{Cf}\u2028\u2029]|(?![\t\n])\p{Cc}/gu;

/** Joiners and non-joiners inside words and emoji are how these are written; anywhere else they hide. */
const JOINER = /^[\u200C\u200D]$/;
const BEFORE = /[\p{L}\p{M}\p{Extended_Pictographic}\p{Emoji_Modifier}\uFE0F]$/u;
const BEHIND = /^[\p{L}\p{M}\p{Extended_Pictographic}]/u;

const isWritten = (text: string, at: number) =>
  BEFORE.test(text.slice(Math.max(0, at - 2), at)) && BEHIND.test(text.slice(at + 1, at + 3));

/** The text with a mark in the place of each such character. For the eye only: what is copied stays as it is. */
export const visible = (text: string): string =>
  text.replace(HIDDEN, (hidden, at: number) =>
    JOINER.test(hidden) && isWritten(text, at)
      ? hidden
      : `‹U+${hidden.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}›`,
  );

/** A JSON string as the text that it means; escapes that mean nothing by themselves stay. */
export function decoded(json: string): string {
  try {
    return JSON.parse(json) as string;
  } catch {
    return json;
  }
}

/** An escape that a cut has left open. */
const OPEN_ESCAPE = /(?<!\\)((?:\\\\)*)\\(?:u[\dA-Fa-f]{0,3})?$/;

/** The same of the beginning of one, with its first quotation mark. */
export const decodedStart = (json: string): string =>
  decoded(`${json.replace(OPEN_ESCAPE, '$1')}"`);

/** Whether the text of a JSON string means one of several lines. */
export const hasLines = (json: string): boolean => /(?<!\\)(?:\\\\)*\\n/.test(json);

/** Lines of at most so many characters, which a page can lay out however long the text is. */
export function shortLines(text: string, most: number): string[] {
  const lines: string[] = [];
  for (const line of text.split('\n')) {
    if (line.length <= most) lines.push(line);
    else for (let at = 0; at < line.length; at += most) lines.push(line.slice(at, at + most));
  }
  return lines;
}
