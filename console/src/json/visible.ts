/** Characters that cannot be seen, or that change the order or the colours of others; tabs and line ends are none. */
const HIDDEN = /[\p{Cf}\u2028\u2029]|(?![\t\n])\p{Cc}/gu;

/** The text with a mark in the place of each such character. For the eye only: what is copied stays as it is. */
export const visible = (text: string): string =>
  text.replace(
    HIDDEN,
    (hidden) => `‹U+${hidden.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}›`,
  );

/** A JSON string as the text that it means; escapes that mean nothing by themselves stay. */
export function decoded(json: string): string {
  try {
    return JSON.parse(json) as string;
  } catch {
    return json;
  }
}

/** Lines of at most so many characters, which a page can lay out however long the text is. */
export function shortLines(text: string, most: number): string[] {
  const lines: string[] = [];
  for (const line of text.split('\n')) {
    if (line.length <= most) lines.push(line);
    else for (let at = 0; at < line.length; at += most) lines.push(line.slice(at, at + most));
  }
  return lines;
}
