import { useInfiniteQuery, useMutation, useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { useState } from 'react';
import { type RequestBody, send } from '../../api/client.ts';
import { useLive } from '../../api/live.ts';
import { mayActAs, useMe } from '../../api/session.ts';
import { Button } from '../../ui/Button.tsx';
import { CopyButton } from '../../ui/CopyButton.tsx';
import { ErrorRetry } from '../../ui/ErrorRetry.tsx';
import { inputClass } from '../../ui/Field.tsx';
import { ExportButton } from '../../ui/ExportButton.tsx';
import { EmptyState, ErrorNote, Skeleton } from '../../ui/Notice.tsx';
import { Page } from '../../ui/Page.tsx';
import { downloadFile } from '../../ui/download.ts';
import { Status } from '../../ui/Status.tsx';
import { Tabs } from '../../ui/Tabs.tsx';
import { Time } from '../../ui/Time.tsx';
import { type Build, buildsQuery } from '../queries.ts';
import { samplesQuery } from './queries.ts';
import { Facts } from '../Facts.tsx';
import { shortId } from '../Jobs.tsx';
import { Lineage } from '../Lineage.tsx';
import { Samples } from '../Samples.tsx';
import { SubmitBuild } from './SubmitBuild.tsx';
import styles from '../training.module.css';

const route = getRouteApi('/p/$entity/$project/training/builds/$buildId');
const SAMPLES = 5;
const FORMATS = [
  'art',
  'openai-sft',
  'openai-dpo',
  'openai-rft',
  'trl-sft',
  'trl-dpo',
  'trl-kto',
  'tinker-preference',
  'verifiers',
  'prompts',
] as const satisfies readonly RequestBody<'/build/export'>['format'][];

export function BuildPage() {
  const { entity, project, buildId } = route.useParams();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const builds = useInfiniteQuery(buildsQuery(`${entity}/${project}`, buildId));
  useLive(`${entity}/${project}`, ['builds', 'jobs'], () => builds.refetch());
  const { data, error, refetch } = builds;
  const build = data?.pages[0]?.[0];
  const params = { entity, project };
  return (
    <Page
      title={build ? `Build of ${build.recipe_name}` : 'Build'}
      isFull
      error={error}
      onRetry={() => void refetch()}
      note={
        <Link to="/p/$entity/$project/training" params={params} search={{ tab: 'builds' }}>
          All builds
        </Link>
      }
      actions={build && <Actions build={build} />}
    >
      {builds.isPending && <Skeleton rows={12} />}
      {data && !build && <EmptyState title="No such build in this project" />}
      {build && (
        <>
          <Head build={build} />
          <div className={styles['body']}>
            <Tabs
              isFull
              value={search.tab ?? 'facts'}
              onChange={(tab) => void navigate({ search: tab === 'facts' ? {} : { tab } })}
              tabs={[
                {
                  value: 'facts',
                  label: 'Facts',
                  content: <Facts {...params} made={{ ...build, rewards: build.facts.rewards }} />,
                },
                {
                  value: 'samples',
                  label: 'Samples',
                  content: <StoredSamples build={build} />,
                },
                {
                  value: 'lineage',
                  label: 'Lineage',
                  content: <Lineage {...params} of={{ build_id: buildId }} />,
                },
              ]}
            />
          </div>
        </>
      )}
    </Page>
  );
}

function Head({ build }: { build: Build }) {
  const { entity, project } = route.useParams();
  const params = { entity, project };
  return (
    <div className={styles['head']}>
      <span>
        as of <Time at={build.as_of} />
      </span>
      <Link
        to="/p/$entity/$project/objects/$objectId"
        params={{ ...params, objectId: build.recipe_name }}
        search={{ version: build.recipe_digest }}
      >
        Recipe
      </Link>
      {build.mode === 'new' && <span>only calls that were not trained on yet</span>}
      <span title="SHA-256 of the groups">
        digest <code>{build.digest.slice(0, 12)}</code>
      </span>
      {build.jobs.map(({ job_id, status, step }) => (
        <Link
          key={job_id}
          to="/p/$entity/$project/training/jobs/$jobId"
          params={{ ...params, jobId: job_id }}
          className={styles['job']}
        >
          {status && <Status status={status} />} {shortId(job_id)}
          {step !== null && `, step ${step}`}
        </Link>
      ))}
      {build.erased_at && (
        <p className={styles['bad']}>
          The build was erased together with its calls, <Time at={build.erased_at} />.
        </p>
      )}
    </div>
  );
}

function Actions({ build }: { build: Build }) {
  const { entity, project } = route.useParams();
  const me = useMe();
  const [format, choose] = useState<(typeof FORMATS)[number]>('art');
  const download = useMutation({
    mutationFn: async () => {
      const body = { project_id: `${entity}/${project}`, build_id: build.id, format };
      const response = await send('POST', '/build/export', { body });
      downloadFile(`${build.recipe_name}-${format}.jsonl`, await response.blob());
    },
  });
  return (
    <>
      {download.error && <ErrorNote error={download.error} />}
      <CopyButton label="Copy id" text={build.id} />
      {!build.erased_at && (
        <>
          <select
            aria-label="Format"
            className={inputClass}
            value={format}
            onChange={({ target }) => choose(target.value as (typeof FORMATS)[number])}
          >
            {FORMATS.map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
          <Button disabled={download.isPending} onClick={() => download.mutate()}>
            Download
          </Button>
          <ExportButton
            request={{ project_id: `${entity}/${project}`, of: 'build', build_id: build.id }}
            name={build.recipe_name}
          />
          {mayActAs(me, 'writer', `${entity}/${project}`) && (
            <SubmitBuild entity={entity} project={project} build={build} />
          )}
        </>
      )}
    </>
  );
}

function StoredSamples({ build }: { build: Build }) {
  const { entity, project } = route.useParams();
  const { data, error, refetch } = useQuery({
    ...samplesQuery(`${entity}/${project}`, build.id, SAMPLES),
    enabled: build.erased_at === null,
  });
  if (build.erased_at)
    return (
      <EmptyState title="The build was erased">
        <p>Its calls were deleted, and its groups with them.</p>
      </EmptyState>
    );
  if (error) return <ErrorRetry error={error} onRetry={() => void refetch()} />;
  return data ? <Samples groups={data} /> : <Skeleton rows={8} />;
}
