import { diffWords as changed, type DiffWords } from '../json/word-diff.ts';

/**
 * The words of `after`, with those marked that `before` does not have. Returns both texts whole when they differ too
 * much.
 */
export const outputDiff = (before: string, after: string): DiffWords[] =>
  changed(before, after) ?? [
    { text: before, state: 'removed' },
    { text: after, state: 'added' },
  ];
