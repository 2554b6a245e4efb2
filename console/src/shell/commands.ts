export interface Command {
  name: string;
  /** Further words that the search matches. */
  words?: string;
  hint?: string;
  run: () => void;
}

/** Commands whose name or words contain every typed word. Names that begin with the first word come first. */
export function matchingCommands(commands: readonly Command[], typed: string): Command[] {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
  const rank = ({ name }: Command) => (name.toLowerCase().startsWith(words[0] ?? '') ? 0 : 1);
  return commands
    .filter(({ name, words: others = '' }) => {
      const text = `${name} ${others}`.toLowerCase();
      return words.every((word) => text.includes(word));
    })
    .toSorted((a, b) => rank(a) - rank(b));
}

export const SHORTCUTS: readonly (readonly [keys: string, does: string])[] = [
  ['Ctrl K, ⌘ K', 'Go to a page, a project, a trace or a thread'],
  ['?', 'Show this help'],
  ['j k, ↓ ↑', 'Go to the next or the previous row'],
  ['Enter', 'Open the row'],
  ['h l, ← →', 'Fold or unfold a call; go to its parent'],
  ['e', 'Go to the next call that failed'],
  ['/', 'Go to the search or the filter of the page'],
  ['Esc', 'Close what is open'],
];
