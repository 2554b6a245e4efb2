import { changedWords as changed, type Words } from '../json/words.ts';

/** The words of `after`, with those that it has not from `before`: both whole where too much differs. */
export const changedWords = (before: string, after: string): Words[] =>
  changed(before, after) ?? [
    { text: before, state: 'removed' },
    { text: after, state: 'added' },
  ];
