import { useMemo, useState } from 'react';
import { InvalidJson, type JsonIndex, jsonIndex } from '../../json/json-index.ts';
import { useMe } from '../../api/session.ts';
import type { PublishedRecipe } from './queries.ts';
import { type RecipeDraft, dropDraft, keepDraft } from './recipe-drafts.ts';
import { useLastKnown } from './useLastKnown.ts';

/** Keeps the edited text of a recipe: the published text until the first change, then the draft of this browser. */
export function useRecipeDraft({
  project,
  name,
  published,
  kept,
}: {
  project: string;
  name: string;
  published: PublishedRecipe | null;
  kept: RecipeDraft | null;
}) {
  const { user } = useMe();
  const [draft, setDraft] = useState(kept);
  const [isUnkept, setUnkept] = useState(false);
  const text = draft?.text ?? published?.text ?? '';
  const parsed = useMemo(() => parse(text), [text]);
  const forget = () => {
    dropDraft(user, project, name);
    setDraft(null);
    setUnkept(false);
  };
  return {
    text,
    isChanged: text !== published?.text,
    /** Another version was published after the changes were begun. */
    isBehind: draft !== null && published !== null && draft.base !== published.digest,
    /** The browser could not store the changes. */
    isUnkept,
    /** Index of the text; undefined while it is no JSON. */
    index: parsed.index,
    broken: parsed.broken,
    /** Index of the last valid text. */
    lastIndex: useLastKnown(parsed.index) ?? EMPTY,
    forget,
    edit: (next: string) => {
      if (next === published?.text) {
        forget();
        return;
      }
      const base = draft ? draft.base : (published?.digest ?? null);
      setDraft({ text: next, base });
      setUnkept(!keepDraft(user, project, name, { text: next, base }));
    },
  };
}

export type EditedRecipe = ReturnType<typeof useRecipeDraft>;

const EMPTY = jsonIndex('{}');

function parse(text: string): { index?: JsonIndex; broken?: string } {
  try {
    return { index: jsonIndex(text) };
  } catch (error) {
    if (error instanceof InvalidJson) return { broken: error.message };
    throw error;
  }
}
