import type { Answers } from './questions.ts';

const PREFIX = 'skein.annotation ';

/** Reads answers of an item that are not stored yet. They survive a reload and the end of a session. */
export function readDraft(itemId: string): Answers {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(PREFIX + itemId) ?? '{}');
    return typeof kept === 'object' && kept !== null ? (kept as Answers) : {};
  } catch {
    return {};
  }
}

export function keepDraft(itemId: string, answers: Answers): void {
  try {
    localStorage.setItem(PREFIX + itemId, JSON.stringify(answers));
  } catch {
    // the browser's storage is full: the page itself still has the answers
  }
}

export const forgetDraft = (itemId: string): void => localStorage.removeItem(PREFIX + itemId);
