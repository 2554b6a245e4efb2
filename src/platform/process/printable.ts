/** Control characters (C0, C1), those that turn the direction, have no width or break the line, and halves of pairs. */
const HIDDEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

/** One line of text that clients chose, for a terminal: what would move the cursor, hide or reorder text is shown as an escape. */
export const printable = (text: string): string =>
  text.replace(HIDDEN, (char) => `\\u{${char.codePointAt(0)!.toString(16)}}`);

/** The same for several lines, whose ends are ours. */
export const printableLines = (text: string): string => text.split('\n').map(printable).join('\n');
