import { useMutation, useQueryClient } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { keys } from '../../api/keys.ts';
import { useState } from 'react';
import { useLive } from '../../api/live.ts';
import type { Violation } from '../../api/problem.ts';
import { mayActAs, useMe } from '../../api/session.ts';
import { jsonIndex } from '../../json/json-index.ts';
import { Button } from '../../ui/Button.tsx';
import { inputClass } from '../../ui/Field.tsx';
import { ErrorNote } from '../../ui/Notice.tsx';
import { Page } from '../../ui/Page.tsx';
import { type PublishedRecipe, publishRecipe, recipeQuery } from './queries.ts';
import type { RecipeDraft } from './recipe-drafts.ts';
import { nodeAt, withoutValue, withValue } from './recipe-text.ts';
import { RecipeForm } from './RecipeForm.tsx';
import { RecipeJson } from './RecipeJson.tsx';
import { RecipePreview } from './RecipePreview.tsx';
import styles from './recipe.module.css';
import { type EditedRecipe, useRecipeDraft } from './useRecipeDraft.ts';

const route = getRouteApi('/p/$entity/$project/training/recipes');

/**
 * Edits a recipe as text and as a form. The text is the source of both, and each change of it is kept in this browser.
 */
export function RecipeEditor({
  name,
  published,
  kept,
}: {
  name: string;
  published: PublishedRecipe | null;
  kept: RecipeDraft | null;
}) {
  const { entity, project } = route.useParams();
  const id = `${entity}/${project}`;
  const client = useQueryClient();
  const recipe = useRecipeDraft({ project: id, name, published, kept });
  const [refused, setRefused] = useState<readonly Violation[]>([]);
  useLive(id, ['objects'], () => client.invalidateQueries({ queryKey: keys.recipe(id, name) }));
  const { text, index, broken, lastIndex, edit } = recipe;
  return (
    <Page
      title={name}
      isFull
      note={
        <>
          {published ? `v${published.version}` : 'not published'}
          {recipe.isChanged && published && ', with your changes'} ·{' '}
          <Link to="/p/$entity/$project/training/recipes" params={{ entity, project }}>
            All recipes
          </Link>
        </>
      }
      actions={
        <Actions
          name={name}
          recipe={recipe}
          isPublished={published !== null}
          isRefused={refused.length > 0}
        />
      }
    >
      {recipe.isBehind && (
        <p role="status" className={styles['note']}>
          v{published?.version} was published after you began to edit. Publishing your changes
          replaces it. Discard your changes to see it.
        </p>
      )}
      {recipe.isUnkept && (
        <p role="status" className={styles['note']}>
          This browser cannot store your changes. Publish them to keep them.
        </p>
      )}
      <div className={styles['editor']}>
        <RecipeForm
          entity={entity}
          project={project}
          index={lastIndex}
          violations={refused}
          isBroken={!index}
          onEdit={(path, json) =>
            edit(json === null ? withoutValue(text, path) : withValue(text, path, json))
          }
        />
        <RecipeJson text={text} index={index} broken={broken} violations={refused} onEdit={edit} />
        <RecipePreview
          name={name}
          text={index && text}
          published={published}
          isChanged={recipe.isChanged}
          onRefused={setRefused}
          onHint={(path, value) => edit(withValue(text, path, JSON.stringify(value)))}
        />
      </div>
    </Page>
  );
}

function Actions({
  name,
  recipe,
  isPublished,
  isRefused,
}: {
  name: string;
  recipe: EditedRecipe;
  isPublished: boolean;
  isRefused: boolean;
}) {
  const { entity, project } = route.useParams();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const me = useMe();
  const { isChanged, forget } = recipe;
  return (
    <>
      <select
        aria-label="Calls"
        className={inputClass}
        value={isChanged ? 'all' : (search.mode ?? 'all')}
        disabled={isChanged}
        title={isChanged ? 'To use only new calls, publish the recipe first' : undefined}
        onChange={({ target }) => {
          const { mode: _, ...rest } = search;
          void navigate({ search: target.value === 'new' ? { ...rest, mode: 'new' } : rest });
        }}
      >
        <option value="all">All calls</option>
        <option value="new">Calls not trained on yet</option>
      </select>
      {isChanged && (
        <Button
          onClick={() => {
            forget();
            if (!isPublished) void navigate({ search: {} });
          }}
        >
          {isPublished ? 'Discard changes' : 'Discard draft'}
        </Button>
      )}
      {mayActAs(me, 'writer', `${entity}/${project}`) && (
        <Publish name={name} recipe={recipe} isRefused={isRefused} />
      )}
    </>
  );
}

function Publish({
  name,
  recipe: { text, index, isChanged, forget },
  isRefused,
}: {
  name: string;
  recipe: EditedRecipe;
  isRefused: boolean;
}) {
  const { entity, project } = route.useParams();
  const id = `${entity}/${project}`;
  const client = useQueryClient();
  const publish = useMutation({
    mutationFn: () => publishRecipe(id, name, withClass(text)),
    onSuccess: async () => {
      await client.fetchQuery({ ...recipeQuery(id, name), staleTime: 0 });
      await client.invalidateQueries({ queryKey: keys.recipes(id) });
      forget(); // only after the new version is loaded
    },
  });
  return (
    <>
      {publish.error && <ErrorNote error={publish.error} />}
      <Button
        look={isChanged ? 'primary' : undefined}
        disabled={!isChanged || publish.isPending || !index || isRefused}
        onClick={() => publish.mutate()}
      >
        {isChanged ? 'Publish' : 'Published'}
      </Button>
    </>
  );
}

/** Adds the class `Recipe` to a recipe without one, since recipes are found by their class. */
function withClass(text: string): string {
  const index = jsonIndex(text);
  if (nodeAt(index, '_class_name') !== undefined) return text;
  const named = withValue(text, '_class_name', '"Recipe"');
  return withValue(named, '_bases', '["Object","BaseModel"]');
}
