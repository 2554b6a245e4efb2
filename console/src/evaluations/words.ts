import { diffWordsWithSpace } from 'diff';

/** Words of two texts that stand in both, or in one of them. */
export interface Words {
  text: string;
  state: 'same' | 'added' | 'removed';
}

/** Above so many changes the texts have nothing to do with each other, and the search would take long. */
const MOST_CHANGES = 1000;

/** The words of `after`, with those that it has not from `before`. */
export function changedWords(before: string, after: string): Words[] {
  if (before === after) return [{ text: after, state: 'same' }];
  const changes = diffWordsWithSpace(before, after, { maxEditLength: MOST_CHANGES }) ?? [
    { value: before, added: false, removed: true },
    { value: after, added: true, removed: false },
  ];
  return changes.map(({ value, added, removed }) => ({
    text: value,
    state: added ? 'added' : removed ? 'removed' : 'same',
  }));
}
