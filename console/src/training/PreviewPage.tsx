import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { post } from '../api/client.ts';
import { mayActAs, useMe } from '../api/session.ts';
import { wire } from '../api/wire.ts';
import { Button } from '../ui/Button.tsx';
import { Fault } from '../ui/Fault.tsx';
import { inputClass } from '../ui/Field.tsx';
import { Empty, ErrorNote, Skeleton } from '../ui/Notice.tsx';
import { Page } from '../ui/Page.tsx';
import { Tabs } from '../ui/Tabs.tsx';
import { count } from '../ui/format.ts';
import { type Hint, type Made, previewQuery, recipesQuery } from './data.ts';
import { Facts } from './Facts.tsx';
import { Samples } from './Samples.tsx';
import styles from './training.module.css';

const route = getRouteApi('/p/$entity/$project/training/preview');

/** What a recipe would make of the calls, before anything is kept. */
export function PreviewPage() {
  const { entity, project } = route.useParams();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const recipes = useQuery(recipesQuery(`${entity}/${project}`));
  const names = recipes.data;
  const recipe = search.recipe ?? names?.[0];
  const mode = search.mode ?? 'all';
  return (
    <Page
      title="Try a recipe"
      isFull
      error={recipes.error}
      onRetry={() => void recipes.refetch()}
      note={
        <Link
          to="/p/$entity/$project/training"
          params={{ entity, project }}
          search={{ tab: 'builds' }}
        >
          All builds
        </Link>
      }
      actions={
        recipe !== undefined && (
          <>
            <select
              aria-label="Recipe"
              className={inputClass}
              value={recipe}
              onChange={({ target }) =>
                void navigate({ search: { ...search, recipe: target.value } })
              }
            >
              {[...new Set([recipe, ...(names ?? [])])].map((name) => (
                <option key={name}>{name}</option>
              ))}
            </select>
            <select
              aria-label="Of which calls"
              className={inputClass}
              value={mode}
              onChange={({ target }) => {
                const { mode: _, ...rest } = search;
                void navigate({ search: target.value === 'new' ? { ...rest, mode: 'new' } : rest });
              }}
            >
              <option value="all">Of all calls</option>
              <option value="new">Of what was not trained yet</option>
            </select>
          </>
        )
      }
    >
      {recipes.isPending && <Skeleton rows={12} />}
      {names && recipe === undefined && (
        <Empty title="No recipe yet">
          <p>
            A recipe is an object of the class <code>Recipe</code>. It says which recorded calls
            become which trajectories, with which rewards, in which groups: <code>/obj/create</code>{' '}
            publishes one, and <code>docs/training.md</code> has the steps from a traced agent to a
            checkpoint.
          </p>
        </Empty>
      )}
      {recipe !== undefined && <Tried recipe={recipe} mode={mode} />}
    </Page>
  );
}

function Tried({ recipe, mode }: { recipe: string; mode: 'all' | 'new' }) {
  const { entity, project } = route.useParams();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const me = useMe();
  const of = {
    project_id: `${entity}/${project}`,
    recipe_ref: `${wire.scheme}:///${entity}/${project}/object/${recipe}:latest`,
    mode,
  };
  const { data, error, isFetching, refetch } = useQuery(previewQuery(of));
  if (error) return <Fault error={error} onRetry={() => void refetch()} />;
  if (!data) return <Skeleton rows={12} />;
  return (
    <>
      <div className={styles['head']}>
        <span>Nothing of this is kept yet.</span>
        {data.hint && <HintNote hint={data.hint} />}
        <Button disabled={isFetching} onClick={() => void refetch()}>
          Look again
        </Button>
        {mayActAs(me, 'writer', of.project_id) && <Keep of={of} made={data.made} />}
      </div>
      <div className={styles['body']}>
        <Tabs
          isFull
          value={search.tab ?? 'facts'}
          onChange={(tab) => {
            const { tab: _, ...rest } = search;
            void navigate({ search: tab === 'samples' ? { ...rest, tab } : rest });
          }}
          tabs={[
            {
              value: 'facts',
              label: 'Facts',
              content: <Facts entity={entity} project={project} made={data.made} />,
            },
            { value: 'samples', label: 'Samples', content: <Samples groups={data.samples} /> },
          ]}
        />
      </div>
    </>
  );
}

/** The one setting that would change the outcome. */
function HintNote({ hint: { setting, value, units } }: { hint: NonNullable<Hint> }) {
  return (
    <span>
      <code>{setting}</code>{' '}
      {units === 0
        ? 'selects no call.'
        : `leaves out ${count(units)} ${units === 1 ? 'unit' : 'units'}; ${JSON.stringify(value)} would not.`}
    </span>
  );
}

/** Keeps what is shown and nothing else: when the data has changed since, it says so. */
function Keep({
  of,
  made,
}: {
  of: { project_id: string; recipe_ref: string; mode: 'all' | 'new' };
  made: Made;
}) {
  const { entity, project } = route.useParams();
  const navigate = route.useNavigate();
  const client = useQueryClient();
  const errors = made.lints.filter(({ level }) => level === 'error').map(({ code }) => code);
  const keep = useMutation({
    mutationFn: () =>
      post('/build/create', {
        ...of,
        expected_digest: made.digest,
        ...(errors.length > 0 && { accept: errors }),
      }),
    onSuccess: async ({ build_id: buildId }) => {
      await client.invalidateQueries({ queryKey: ['builds'] });
      await navigate({
        to: '/p/$entity/$project/training/builds/$buildId',
        params: { entity, project, buildId },
      });
    },
  });
  return (
    <>
      <Button
        look={errors.length > 0 ? 'danger' : 'primary'}
        disabled={keep.isPending}
        title={errors.length > 0 ? `Accepts ${errors.join(', ')}` : undefined}
        onClick={() => keep.mutate()}
      >
        {errors.length > 0 ? 'Keep the build in spite of its errors' : 'Keep this build'}
      </Button>
      {keep.error && <ErrorNote error={keep.error} />}
    </>
  );
}
