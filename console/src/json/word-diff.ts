import { diffWordsWithSpace } from 'diff';

/** Words of two texts that stand in both, or in one of them. */
export interface DiffWords {
  text: string;
  state: 'same' | 'added' | 'removed';
}

/** Above so many changes the texts have nothing to do with each other, and the search would take long. */
const MOST_CHANGES = 1000;

/** The words of both texts; undefined where too much differs. */
export function diffWords(before: string, after: string): DiffWords[] | undefined {
  return diffWordsWithSpace(before, after, { maxEditLength: MOST_CHANGES })?.map(
    ({ value, added, removed }) => ({
      text: value,
      state: added ? 'added' : removed ? 'removed' : 'same',
    }),
  );
}

/** A run of words of one of two texts: in both, or in this one only. */
export interface SideWords {
  text: string;
  isOnlyHere: boolean;
}

/** The words of two texts, each with those marked that the other has not; undefined where too much differs, or all. */
export function wordDifferences(a: string, b: string): [SideWords[], SideWords[]] | undefined {
  const words = diffWords(a, b);
  if (!words?.some(({ state }) => state === 'same')) return undefined;
  const without = (other: DiffWords['state']) =>
    words
      .filter(({ state }) => state !== other)
      .map(({ text, state }) => ({ text, isOnlyHere: state !== 'same' }));
  return [without('added'), without('removed')];
}
