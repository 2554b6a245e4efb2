import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { type ReactNode, useEffect, useMemo, useState } from 'react';
import { post, type RequestBody } from '../../api/client.ts';
import { keys } from '../../api/keys.ts';
import type { Violation } from '../../api/problem.ts';
import { mayActAs, useMe } from '../../api/session.ts';
import { diffJson } from '../../json/diff.ts';
import { Differences } from '../../json/Differences.tsx';
import { jsonIndex } from '../../json/json-index.ts';
import { Button } from '../../ui/Button.tsx';
import { count } from '../../ui/format.ts';
import { EmptyState, ErrorNote, Skeleton } from '../../ui/Notice.tsx';
import { Tabs } from '../../ui/Tabs.tsx';
import type { Hint, BuildPreview } from '../queries.ts';
import { Facts } from '../Facts.tsx';
import {
  type Mode,
  previewQuery,
  type PreviewResult,
  type PublishedRecipe,
  recipeRef,
  recipeViolations,
  type RecipeSource,
} from './queries.ts';
import { Samples } from '../Samples.tsx';
import styles from './recipe.module.css';
import { useLastKnown } from './useLastKnown.ts';

const route = getRouteApi('/p/$entity/$project/training/recipes');

/** Pause after the last key before a preview is requested. */
const PAUSE_MS = 400;

const NONE: readonly Violation[] = [];

/**
 * Shows the trajectories that the recipe would make now. It follows the text with a delay, and keeps the last result
 * until the next one.
 */
export function RecipePreview({
  name,
  text,
  published,
  isChanged,
  onRefused,
  onHint,
}: {
  name: string;
  /** Undefined while the text is no JSON. */
  text: string | undefined;
  published: PublishedRecipe | null;
  isChanged: boolean;
  onRefused: (violations: readonly Violation[]) => void;
  onHint: (path: string, value: unknown) => void;
}) {
  const { entity, project } = route.useParams();
  const me = useMe();
  const { of, valid, shown, error, ...preview } = usePreview({ name, text, published, isChanged });
  useEffect(() => onRefused(error ? recipeViolations(error) : NONE), [error, onRefused]);
  return (
    <section className={styles['preview']} aria-label="Preview" aria-busy={preview.isFetching}>
      <Bar error={error} isFetching={preview.isFetching} onAgain={preview.refetch}>
        {shown && mayActAs(me, 'writer', `${entity}/${project}`) && (
          <CreateBuild made={shown.made} why={refusalText(isChanged, preview.isLate)} of={of} />
        )}
      </Bar>
      {!shown && !error && <Skeleton rows={10} />}
      {shown?.hint && <HintNote hint={shown.hint} isLate={preview.isLate} onHint={onHint} />}
      {shown && (
        <div className={styles['outcome']} data-late={preview.isLate || undefined}>
          <Outcome shown={shown} before={published?.text} after={valid} />
        </div>
      )}
    </section>
  );
}

function Bar({
  error,
  isFetching,
  onAgain,
  children,
}: {
  error: Error | null;
  isFetching: boolean;
  onAgain: () => void;
  children: ReactNode;
}) {
  const said = error ? 'No preview of the current text' : 'The preview is not stored';
  return (
    <>
      <div className={styles['bar']}>
        <h2>Preview</h2>
        <span role="status" className={styles['soft']}>
          {isFetching ? 'Computing…' : said}
        </span>
        <Button look="quiet" disabled={isFetching} onClick={onAgain}>
          Compute again
        </Button>
        {children}
      </div>
      {error && (
        <div className={styles['notes']}>
          <ErrorNote error={error} />
        </div>
      )}
    </>
  );
}

/** Requests a preview when the recipe has not changed for a moment. Returns the previous result until then. */
function usePreview({
  name,
  text,
  published,
  isChanged,
}: {
  name: string;
  text: string | undefined;
  published: PublishedRecipe | null;
  isChanged: boolean;
}) {
  const { entity, project } = route.useParams();
  const { mode: asked } = route.useSearch();
  const project_id = `${entity}/${project}`;
  const valid = useLastKnown(text) ?? '';
  const mode: Mode = isChanged || !asked ? 'all' : asked;
  const recipe_ref = published ? recipeRef(project_id, name, published.digest) : '';
  const tried = JSON.stringify(
    (isChanged ? { text: valid } : { recipe_ref }) satisfies RecipeSource,
  );
  const settled = useSettled(tried);
  const { data, error, isFetching, isPlaceholderData, refetch } = useQuery({
    ...previewQuery(project_id, JSON.parse(settled) as RecipeSource, mode),
    enabled: settled !== NOTHING,
  });
  const isStale = isFetching || isPlaceholderData || error !== null;
  return {
    /** The last text that was valid JSON. */
    valid,
    of: { project_id, recipe_ref, mode },
    shown: useLastKnown(data),
    error,
    isFetching,
    /** The shown result does not belong to the current text. */
    isLate: isStale || settled !== tried || text === undefined,
    refetch: () => void refetch(),
  };
}

/** Stands for a draft that was invalid when the page was opened: no preview is requested. */
const NOTHING = JSON.stringify({ text: '' } satisfies RecipeSource);

function refusalText(isChanged: boolean, isLate: boolean): string | undefined {
  if (isChanged) return 'Publish the recipe first';
  return isLate ? 'The preview is not ready' : undefined;
}

function Outcome({
  shown,
  before,
  after,
}: {
  shown: PreviewResult;
  before: string | undefined;
  after: string;
}) {
  const { entity, project } = route.useParams();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  return (
    <Tabs
      isFull
      value={search.tab ?? 'facts'}
      onChange={(tab) => {
        const { tab: _, ...rest } = search;
        void navigate({ search: tab === 'facts' ? rest : { ...rest, tab } });
      }}
      tabs={[
        {
          value: 'facts',
          label: 'Facts',
          content: <Facts entity={entity} project={project} made={shown.made} />,
        },
        { value: 'sample', label: 'Sample', content: <Samples groups={shown.samples} /> },
        {
          value: 'changes',
          label: 'Changes',
          content: <RecipeChanges before={before} after={after} />,
        },
      ]}
    />
  );
}

/** Returns a value after it has not changed for `PAUSE_MS`; the first value at once. */
function useSettled(value: string): string {
  const [settled, settle] = useState(value);
  useEffect(() => {
    if (value === settled) return undefined;
    const timer = setTimeout(() => settle(value), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [value, settled]);
  return settled;
}

/** Offers to change the setting that leaves out the most units. */
function HintNote({
  hint: { setting, value, units },
  isLate,
  onHint,
}: {
  hint: NonNullable<Hint>;
  isLate: boolean;
  onHint: (path: string, value: unknown) => void;
}) {
  return (
    <p className={styles['hint']}>
      <span>
        <code>{setting}</code>{' '}
        {units === 0
          ? 'selects no call.'
          : `leaves out ${count(units)} ${units === 1 ? 'unit' : 'units'}. The value ${JSON.stringify(value)} would keep ${units === 1 ? 'it' : 'them'}.`}
      </span>
      <Button disabled={isLate} onClick={() => onHint(setting, value)}>
        Set it to {JSON.stringify(value)}
      </Button>
    </p>
  );
}

/** Stores the shown result as a build. The service refuses it when the data has changed since. */
function CreateBuild({
  of,
  made,
  why,
}: {
  of: Omit<RequestBody<'/build/create'>, 'expected_digest' | 'accept'>;
  made: BuildPreview;
  /** The reason why the build cannot be created now. */
  why: string | undefined;
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
      await client.invalidateQueries({ queryKey: keys.builds() });
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
        disabled={keep.isPending || why !== undefined}
        title={
          why ??
          (errors.length > 0 ? `The build accepts the errors ${errors.join(', ')}` : undefined)
        }
        onClick={() => keep.mutate()}
      >
        {errors.length > 0 ? 'Build despite the errors' : 'Build'}
      </Button>
      {keep.error && <ErrorNote error={keep.error} />}
    </>
  );
}

function RecipeChanges({ before, after }: { before: string | undefined; after: string }) {
  const compared = useMemo(() => {
    if (before === undefined) return undefined;
    const [was, is] = [jsonIndex(before), jsonIndex(after)];
    return { was, is, rows: diffJson(was, 0, is, 0) };
  }, [before, after]);
  if (!compared)
    return (
      <EmptyState title="Not published yet">
        <p>There is no version to compare it with.</p>
      </EmptyState>
    );
  return <Differences rows={compared.rows} before={compared.was} after={compared.is} />;
}
