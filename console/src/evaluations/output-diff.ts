import { diffWords as changed, type DiffWords } from '../json/word-diff.ts';

/** The words of `after`, with those that it has not from `before`: both whole where too much differs. */
export const outputDiff = (before: string, after: string): DiffWords[] =>
  changed(before, after) ?? [
    { text: before, state: 'removed' },
    { text: after, state: 'added' },
  ];
