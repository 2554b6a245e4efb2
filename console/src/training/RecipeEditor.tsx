import { useMutation, useQueryClient } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { useMemo, useState } from 'react';
import { useLive } from '../api/live.ts';
import type { Violation } from '../api/problem.ts';
import { mayActAs, useMe } from '../api/session.ts';
import { BadJson, type JsonIndex, jsonIndex } from '../json/json-index.ts';
import { Button } from '../ui/Button.tsx';
import { inputClass } from '../ui/Field.tsx';
import { ErrorNote } from '../ui/Notice.tsx';
import { Page } from '../ui/Page.tsx';
import {
  type Mode,
  type Published,
  publishRecipe,
  recipeQuery,
  recipesQuery,
} from './recipe-data.ts';
import { type Draft, dropDraft, keepDraft } from './recipe-drafts.ts';
import { nodeAt, withoutValue, withValue } from './recipe-text.ts';
import { RecipeForm } from './RecipeForm.tsx';
import { RecipeJson } from './RecipeJson.tsx';
import { RecipePreview } from './RecipePreview.tsx';
import styles from './recipe.module.css';
import { useLastKnown } from './useLastKnown.ts';

const route = getRouteApi('/p/$entity/$project/training/recipes');

/** The text is what counts: the form reads it and changes it, and each change is kept in this browser. */
export function RecipeEditor({
  name,
  published,
  kept,
}: {
  name: string;
  published: Published | null;
  kept: Draft | null;
}) {
  const { entity, project } = route.useParams();
  const project_id = `${entity}/${project}`;
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const me = useMe();
  const client = useQueryClient();
  const [draft, setDraft] = useState(kept);
  const [isUnkept, setUnkept] = useState(false);
  const [refused, setRefused] = useState<readonly Violation[]>([]);
  const text = draft?.text ?? published!.text;
  const isChanged = text !== published?.text;
  const parsed = useMemo(() => parse(text), [text]);
  const index = useLastKnown(parsed.index) ?? EMPTY;
  useLive(project_id, ['objects'], () =>
    client.invalidateQueries({ queryKey: recipeQuery(project_id, name).queryKey }),
  );

  const edit = (next: string) => {
    if (next === published?.text) {
      dropDraft(me.user, project_id, name);
      setDraft(null);
      return;
    }
    const base = draft ? draft.base : (published?.digest ?? null);
    setDraft({ text: next, base });
    setUnkept(!keepDraft(me.user, project_id, name, { text: next, base }));
  };
  const forget = () => {
    dropDraft(me.user, project_id, name);
    setDraft(null);
  };
  const publish = useMutation({
    mutationFn: () => publishRecipe(project_id, name, withClass(text)),
    onSuccess: async () => {
      await client.fetchQuery({ ...recipeQuery(project_id, name), staleTime: 0 });
      await client.invalidateQueries({ queryKey: recipesQuery(project_id).queryKey });
      forget(); // only now that the version that took its place is here
    },
  });
  const isBehind = draft !== null && published !== null && draft.base !== published.digest;
  return (
    <Page
      title={name}
      isFull
      note={
        <>
          {published ? `v${published.version}` : 'not published'}
          {isChanged && published && ', with changes of yours'} ·{' '}
          <Link to="/p/$entity/$project/training/recipes" params={{ entity, project }}>
            All recipes
          </Link>
        </>
      }
      actions={
        <>
          <select
            aria-label="Of which calls"
            className={inputClass}
            value={isChanged ? 'all' : (search.mode ?? 'all')}
            disabled={isChanged}
            title={
              isChanged ? 'What was trained is known of a recipe that is published' : undefined
            }
            onChange={({ target }) => {
              const { mode: _, ...rest } = search;
              void navigate({ search: target.value === 'new' ? { ...rest, mode: 'new' } : rest });
            }}
          >
            <option value="all">Of all calls</option>
            <option value="new">Of what was not trained yet</option>
          </select>
          {isChanged && (
            <Button
              onClick={() => {
                if (published) forget();
                else {
                  dropDraft(me.user, project_id, name);
                  void navigate({ search: {} });
                }
              }}
            >
              {published ? 'Discard changes' : 'Discard the draft'}
            </Button>
          )}
          {mayActAs(me, 'writer', project_id) && (
            <Button
              look={isChanged ? 'primary' : undefined}
              disabled={!isChanged || publish.isPending || !parsed.index || refused.length > 0}
              onClick={() => publish.mutate()}
            >
              {isChanged ? 'Publish' : 'Published'}
            </Button>
          )}
        </>
      }
    >
      {(isBehind || isUnkept || publish.error) && (
        <div className={styles['notes']}>
          {isBehind && (
            <p role="status">
              v{published.version} was published since you began these changes: publishing them
              replaces it. Discard them to see it.
            </p>
          )}
          {isUnkept && <p role="status">This browser does not keep your changes: publish them.</p>}
          {publish.error && <ErrorNote error={publish.error} />}
        </div>
      )}
      <div className={styles['editor']}>
        <RecipeForm
          entity={entity}
          project={project}
          index={index}
          violations={refused}
          isBroken={!parsed.index}
          onEdit={(path, json) =>
            edit(json === null ? withoutValue(text, path) : withValue(text, path, json))
          }
        />
        <RecipeJson
          text={text}
          index={parsed.index}
          broken={parsed.broken}
          violations={refused}
          onEdit={edit}
        />
        <RecipePreview
          key={name}
          text={parsed.index ? text : undefined}
          published={published}
          isChanged={isChanged}
          mode={isChanged ? 'all' : modeAsked(search.mode)}
          onRefused={setRefused}
          onHint={(path, value) => edit(withValue(text, path, JSON.stringify(value)))}
        />
      </div>
    </Page>
  );
}

const EMPTY = jsonIndex('{}');

const modeAsked = (mode: 'new' | undefined): Mode => mode ?? 'all';

function parse(text: string): { index?: JsonIndex; broken?: string } {
  try {
    return { index: jsonIndex(text) };
  } catch (error) {
    if (error instanceof BadJson) return { broken: error.message };
    throw error;
  }
}

/** An object is found as a recipe by its class, so one that names none gets it. */
function withClass(text: string): string {
  const index = jsonIndex(text);
  if (nodeAt(index, '_class_name') !== undefined) return text;
  const named = withValue(text, '_class_name', '"Recipe"');
  return withValue(named, '_bases', '["Object","BaseModel"]');
}
