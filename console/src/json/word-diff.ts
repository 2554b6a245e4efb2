import { diffWordsWithSpace } from 'diff';

/** Consecutive words that are in both texts, or in one of them. */
export interface DiffWords {
  text: string;
  state: 'same' | 'added' | 'removed';
}

/** Texts with more changes are treated as unrelated, which also limits the time of the search. */
const MOST_CHANGES = 1000;

/** Compares the words of two texts. Undefined when they differ too much. */
export function diffWords(before: string, after: string): DiffWords[] | undefined {
  return diffWordsWithSpace(before, after, { maxEditLength: MOST_CHANGES })?.map(
    ({ value, added, removed }) => ({
      text: value,
      state: added ? 'added' : removed ? 'removed' : 'same',
    }),
  );
}

/** Consecutive words of one text that are in both texts, or in this one only. */
export interface SideWords {
  text: string;
  isOnlyHere: boolean;
}

/**
 * The words of each text, with those marked that the other does not have. Undefined when too much or everything
 * differs.
 */
export function wordDifferences(a: string, b: string): [SideWords[], SideWords[]] | undefined {
  const words = diffWords(a, b);
  if (!words?.some(({ state }) => state === 'same')) return undefined;
  const without = (other: DiffWords['state']) =>
    words
      .filter(({ state }) => state !== other)
      .map(({ text, state }) => ({ text, isOnlyHere: state !== 'same' }));
  return [without('added'), without('removed')];
}
