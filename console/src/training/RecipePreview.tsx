import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { useEffect, useMemo, useState } from 'react';
import { post, type RequestBody } from '../api/client.ts';
import type { Violation } from '../api/problem.ts';
import { mayActAs, useMe } from '../api/session.ts';
import { diff } from '../json/diff.ts';
import { Differences } from '../json/Differences.tsx';
import { jsonIndex } from '../json/json-index.ts';
import { Button } from '../ui/Button.tsx';
import { count } from '../ui/format.ts';
import { Empty, ErrorNote, Skeleton } from '../ui/Notice.tsx';
import { Tabs } from '../ui/Tabs.tsx';
import type { Hint, Made } from './data.ts';
import { Facts } from './Facts.tsx';
import {
  type Mode,
  previewQuery,
  type Published,
  recipeRef,
  recipeViolations,
} from './recipe-data.ts';
import { Samples } from './Samples.tsx';
import styles from './recipe.module.css';
import { useLastKnown } from './useLastKnown.ts';

const route = getRouteApi('/p/$entity/$project/training/recipes');

/** Shorter pauses are between the strokes of one word. */
const PAUSE_MS = 400;

const NONE: readonly Violation[] = [];

/** What the recipe would make now; it follows the text at a distance, and shows the last outcome until there is another. */
export function RecipePreview({
  text,
  published,
  isChanged,
  mode,
  onRefused,
  onHint,
}: {
  /** Undefined while it is no JSON. */
  text: string | undefined;
  published: Published | null;
  isChanged: boolean;
  mode: Mode;
  onRefused: (violations: readonly Violation[]) => void;
  onHint: (path: string, value: unknown) => void;
}) {
  const { entity, project } = route.useParams();
  const project_id = `${entity}/${project}`;
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const me = useMe();
  const name = search.recipe!;
  const valid = useLastKnown(text) ?? '';
  const asked =
    isChanged || !published
      ? JSON.stringify({ text: valid })
      : JSON.stringify({ recipe_ref: recipeRef(project_id, name, published.digest) });
  const tried = useSettled(asked);
  const { data, error, isFetching, isPlaceholderData, refetch } = useQuery({
    ...previewQuery(project_id, JSON.parse(tried) as Parameters<typeof previewQuery>[1], mode),
    enabled: valid !== '',
  });
  const shown = useLastKnown(data);
  useEffect(() => onRefused(error ? recipeViolations(error) : NONE), [error, onRefused]);
  const isLate =
    isFetching || isPlaceholderData || error !== null || tried !== asked || text === undefined;
  return (
    <section className={styles['preview']} aria-label="Preview" aria-busy={isFetching}>
      <div className={styles['bar']}>
        <h2>Preview</h2>
        <span role="status" className={styles['soft']}>
          {isFetching ? 'Looking…' : error ? 'Not of this text' : 'Nothing of this is kept yet'}
        </span>
        <Button look="quiet" disabled={isFetching} onClick={() => void refetch()}>
          Look again
        </Button>
        {shown && mayActAs(me, 'writer', project_id) && (
          <Keep
            made={shown.made}
            why={
              isChanged
                ? 'Publish the recipe first'
                : isLate
                  ? 'The preview is not ready'
                  : undefined
            }
            of={{
              project_id,
              recipe_ref: published ? recipeRef(project_id, name, published.digest) : '',
              mode,
            }}
          />
        )}
      </div>
      {error && (
        <div className={styles['notes']}>
          <ErrorNote error={error} />
        </div>
      )}
      {shown?.hint && <HintNote hint={shown.hint} isLate={isLate} onHint={onHint} />}
      {!shown && !error && <Skeleton rows={10} />}
      {shown && (
        <div className={styles['outcome']} data-late={isLate || undefined}>
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
                content: <Changes before={published?.text} after={valid} />,
              },
            ]}
          />
        </div>
      )}
    </section>
  );
}

/** The value once it has stayed the same for a while; the first one at once. */
function useSettled(value: string): string {
  const [settled, settle] = useState(value);
  useEffect(() => {
    if (value === settled) return undefined;
    const timer = setTimeout(() => settle(value), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [value, settled]);
  return settled;
}

/** The one setting that would change the outcome. */
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
          : `leaves out ${count(units)} ${units === 1 ? 'unit' : 'units'}; ${JSON.stringify(value)} would not.`}
      </span>
      <Button disabled={isLate} onClick={() => onHint(setting, value)}>
        Set it to {JSON.stringify(value)}
      </Button>
    </p>
  );
}

/** Keeps what is shown and nothing else: when the data has changed since, it says so. */
function Keep({
  of,
  made,
  why,
}: {
  of: Omit<RequestBody<'/build/create'>, 'expected_digest' | 'accept'>;
  made: Made;
  /** It cannot be kept now. */
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
        disabled={keep.isPending || why !== undefined}
        title={why ?? (errors.length > 0 ? `Accepts ${errors.join(', ')}` : undefined)}
        onClick={() => keep.mutate()}
      >
        {errors.length > 0 ? 'Build in spite of the errors' : 'Build'}
      </Button>
      {keep.error && <ErrorNote error={keep.error} />}
    </>
  );
}

function Changes({ before, after }: { before: string | undefined; after: string }) {
  const compared = useMemo(() => {
    if (before === undefined) return undefined;
    const [was, is] = [jsonIndex(before), jsonIndex(after)];
    return { was, is, rows: diff(was, 0, is, 0) };
  }, [before, after]);
  if (!compared)
    return (
      <Empty title="Not published yet">
        <p>There is no version to compare it with.</p>
      </Empty>
    );
  return <Differences rows={compared.rows} before={compared.was} after={compared.is} />;
}
