import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import { useMe } from '../../api/session.ts';
import { Button } from '../../ui/Button.tsx';
import { ErrorRetry } from '../../ui/ErrorRetry.tsx';
import { Field } from '../../ui/Field.tsx';
import { EmptyState, ErrorNote, Skeleton } from '../../ui/Notice.tsx';
import { Page } from '../../ui/Page.tsx';
import { jsonIndex } from '../../json/json-index.ts';
import { formatJson } from '../../json/json-format.ts';
import { BeginRecipeLink } from '../BeginRecipeLink.tsx';
import { termsQuery } from '../queries.ts';
import { recipeQuery, recipesQuery } from './queries.ts';
import { draftNames, keepDraft, readDraft } from './recipe-drafts.ts';
import { firstTerm, type Purpose, templateRecipe, TEMPLATES } from './recipe-templates.ts';
import { RecipeEditor } from './RecipeEditor.tsx';
import styles from './recipe.module.css';

const route = getRouteApi('/p/$entity/$project/training/recipes');

/** Edits a recipe beside its preview, or chooses a recipe to edit. */
export function RecipePage() {
  const { recipe } = route.useSearch();
  return recipe === undefined ? <Chooser /> : <OpenedRecipe key={recipe} name={recipe} />;
}

function OpenedRecipe({ name }: { name: string }) {
  const { entity, project } = route.useParams();
  const me = useMe();
  const published = useQuery(recipeQuery(`${entity}/${project}`, name));
  const [draft] = useState(() => readDraft(me.user, `${entity}/${project}`, name));
  const { data, error, refetch } = published;
  if (data || (data === null && draft))
    return <RecipeEditor name={name} published={data} kept={draft} />;
  return (
    <Page
      title={name}
      error={error}
      onRetry={() => void refetch()}
      note={
        <Link to="/p/$entity/$project/training/recipes" params={{ entity, project }}>
          All recipes
        </Link>
      }
    >
      {published.isPending && <Skeleton rows={12} />}
      {data === null && (
        <EmptyState title="No such recipe">
          <p>
            Nothing is published under this name in {`${entity}/${project}`}, and this browser keeps
            no draft of it. It may have been deleted.
          </p>
          <BeginRecipeLink entity={entity} project={project} />
        </EmptyState>
      )}
    </Page>
  );
}

function Chooser() {
  const { entity, project } = route.useParams();
  const id = `${entity}/${project}`;
  const me = useMe();
  const { data, error, refetch } = useQuery(recipesQuery(id));
  const drafts = draftNames(me.user, id);
  const names = [...new Set([...drafts, ...(data ?? [])])];
  return (
    <Page
      title="Recipes"
      note={
        <Link
          to="/p/$entity/$project/training"
          params={{ entity, project }}
          search={{ tab: 'builds' }}
        >
          All builds
        </Link>
      }
    >
      <div className={styles['chooser']}>
        <section aria-label="Recipes of the project">
          <h2>Open a recipe</h2>
          {error && <ErrorRetry error={error} onRetry={() => void refetch()} />}
          {!data && !error && <Skeleton rows={4} />}
          {data && names.length === 0 && (
            <p className={styles['soft']}>
              No recipes yet. A recipe says which recorded calls become training data, and which
              rewards they get.
            </p>
          )}
          <ul className={styles['names']}>
            {names.map((name) => (
              <li key={name}>
                <Link
                  to="/p/$entity/$project/training/recipes"
                  params={{ entity, project }}
                  search={{ recipe: name }}
                >
                  {name}
                </Link>
                {drafts.includes(name) && (
                  <small>{data?.includes(name) ? 'with your changes' : 'your draft'}</small>
                )}
              </li>
            ))}
          </ul>
        </section>
        <NewRecipe taken={names} />
      </div>
    </Page>
  );
}

/** Names that the service keeps unchanged. It replaces other characters, so the recipe would get another name. */
const NAME = /^[\w.-]{1,128}$/;

function NewRecipe({ taken }: { taken: readonly string[] }) {
  const { entity, project } = route.useParams();
  const navigate = route.useNavigate();
  const me = useMe();
  const id = `${entity}/${project}`;
  const { data: terms = [] } = useQuery(termsQuery(id));
  const [name, setName] = useState('');
  const [purpose, choose] = useState<Purpose>('rl');
  const [isRefused, refuse] = useState(false);
  const term = firstTerm(purpose, terms);
  const isTaken = taken.includes(name);
  const isOdd = name !== '' && !NAME.test(name);
  const begin = (event: FormEvent) => {
    event.preventDefault();
    const value = JSON.stringify(templateRecipe(purpose, term));
    const text = formatJson(jsonIndex(value));
    if (!keepDraft(me.user, id, name, { text, base: null })) refuse(true);
    else void navigate({ search: { recipe: name } });
  };
  return (
    <form className={styles['begin']} onSubmit={begin} aria-label="Begin a recipe">
      <h2>Begin a recipe</h2>
      <Field
        label="Name"
        required
        value={name}
        placeholder="my-recipe"
        onChange={({ target }) => setName(target.value)}
        isInvalid={isTaken || isOdd}
        hint={
          isTaken
            ? 'A recipe of this name exists.'
            : isOdd && 'Use at most 128 letters, digits, "_", "-" and ".".'
        }
      />
      <fieldset>
        <legend>Purpose</legend>
        {TEMPLATES.map((template) => (
          <label key={template.purpose} className={styles['template']}>
            <input
              type="radio"
              name="purpose"
              checked={purpose === template.purpose}
              onChange={() => choose(template.purpose)}
            />
            <span>
              <strong>{template.title}</strong>
              <small>{template.hint}</small>
            </span>
          </label>
        ))}
      </fieldset>
      <p className={styles['soft']}>
        {term
          ? `The first reward term is ${term.feedback} at ${term.path}, which this project has.`
          : 'This project has no scores and no thumbs yet. Without feedback, a recipe has nothing to reward.'}
      </p>
      {isRefused && (
        <ErrorNote error="This browser cannot store a draft. Allow it to store data of this site." />
      )}
      <Button type="submit" look="primary" disabled={name === '' || isTaken || isOdd}>
        Begin
      </Button>
    </form>
  );
}
