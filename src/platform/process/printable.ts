/**
 * Control characters (C0, C1), characters that change direction, have no width or break the line, and lone surrogates.
 */
const HIDDEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

/**
 * Makes one line of clients' text safe for a terminal. Characters that would move the cursor, hide or reorder text
 * become escapes.
 */
export const printable = (text: string): string =>
  text.replace(HIDDEN, (char) => `\\u{${char.codePointAt(0)!.toString(16)}}`);

/** Makes several lines safe for a terminal. The line ends are kept, because they are the service's own. */
export const printableLines = (text: string): string => text.split('\n').map(printable).join('\n');
