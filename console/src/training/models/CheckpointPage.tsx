import { useMutation, useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { send } from '../../api/client.ts';
import { useLive } from '../../api/live.ts';
import { Problem } from '../../api/problem.ts';
import { visible } from '../../json/visible-text.ts';
import { Button } from '../../ui/Button.tsx';
import { Code } from '../../ui/Code.tsx';
import { CopyButton } from '../../ui/CopyButton.tsx';
import { bytes, count, number } from '../../ui/format.ts';
import { EmptyState, ErrorNote, Skeleton } from '../../ui/Notice.tsx';
import { Page } from '../../ui/Page.tsx';
import { downloadFile } from '../../ui/download.ts';
import { Table } from '../../ui/Table.tsx';
import { Tabs } from '../../ui/Tabs.tsx';
import { Time } from '../../ui/Time.tsx';
import { modelsQuery } from '../queries.ts';
import { shortId } from '../Jobs.tsx';
import { Lineage } from '../Lineage.tsx';
import { Promotion } from './Promotion.tsx';
import {
  aliasesAt,
  aliasesQuery,
  type CheckpointDetail,
  type CheckpointFile,
  checkpointQuery,
  filePath,
} from './queries.ts';
import styles from '../training.module.css';

const route = getRouteApi('/p/$entity/$project/training/models/$modelId/checkpoints/$step');

export function CheckpointPage() {
  const { entity, project, modelId, step } = route.useParams();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const models = useQuery(modelsQuery(entity, project));
  const { data, error, isPending, refetch } = useQuery(checkpointQuery(modelId, Number(step)));
  useLive(`${entity}/${project}`, ['models', 'jobs'], () => refetch());
  const isMissing = error instanceof Problem && (error.status === 404 || error.status === 400);
  const model = models.data?.find(({ id }) => id === modelId);
  const params = { entity, project, modelId };
  return (
    <Page
      title={`${model?.name ?? 'Checkpoint'}, step ${step}`}
      isFull
      error={isMissing ? null : error}
      onRetry={() => void refetch()}
      note={
        <Link to="/p/$entity/$project/training/models/$modelId" params={params}>
          All checkpoints
        </Link>
      }
      actions={model && <CopyButton label="Copy name" text={`${model.name}:step${step}`} />}
    >
      {isMissing && (
        <EmptyState title="No such checkpoint">
          <p>The model has no checkpoint of this step. It may have been deleted.</p>
        </EmptyState>
      )}
      {isPending && <Skeleton rows={12} />}
      {data && (
        <>
          <Head checkpoint={data.checkpoint} />
          <div className={styles['body']}>
            <Tabs
              isFull
              value={search.tab ?? 'files'}
              onChange={(tab) => void navigate({ search: tab === 'files' ? {} : { tab } })}
              tabs={[
                {
                  value: 'files',
                  label: 'Metrics and files',
                  content: <Contents checkpoint={data.checkpoint} config={data.config} />,
                },
                {
                  value: 'promotion',
                  label: 'Promotion',
                  content: <Promotion {...params} step={data.checkpoint.step} />,
                },
                {
                  value: 'lineage',
                  label: 'Lineage',
                  content: (
                    <Lineage
                      entity={entity}
                      project={project}
                      of={{ model_id: modelId, step: data.checkpoint.step }}
                    />
                  ),
                },
              ]}
            />
          </div>
        </>
      )}
    </Page>
  );
}

function Head({ checkpoint }: { checkpoint: CheckpointDetail }) {
  const { entity, project, modelId } = route.useParams();
  const { created_at, job_id, size_bytes, sha256, uri, step } = checkpoint;
  return (
    <div className={styles['head']}>
      <Marks checkpoint={checkpoint} />
      <span>
        made <Time at={created_at} />
      </span>
      {job_id === null ? (
        <span>{step === 0 ? 'with the model: the base model, untrained' : 'without a job'}</span>
      ) : (
        <span>
          by job{' '}
          <Link
            to="/p/$entity/$project/training/jobs/$jobId"
            params={{ entity, project, jobId: job_id }}
          >
            {shortId(job_id)}
          </Link>
        </span>
      )}
      {size_bytes !== null && <span>{bytes(size_bytes)}</span>}
      {sha256 !== null && (
        <span title={`SHA-256 of its manifest: ${sha256}`}>
          digest <code>{sha256.slice(0, 12)}</code>
        </span>
      )}
      {uri !== null && <code>{visible(uri)}</code>}
      <Link
        to="/p/$entity/$project/training/models/$modelId"
        params={{ entity, project, modelId }}
        search={{ tab: 'trajectories', step }}
        title="Trajectories that came while this checkpoint was the newest"
      >
        Trajectories
      </Link>
    </div>
  );
}

/** Shows the state of a checkpoint: its aliases, the providers that serve it, and whether it is tainted. */
function Marks({ checkpoint: { step, serving, tainted_at } }: { checkpoint: CheckpointDetail }) {
  const { entity, project, modelId } = route.useParams();
  const { data } = useQuery(aliasesQuery(`${entity}/${project}`, modelId));
  return (
    <>
      {aliasesAt(data, step).map((alias) => (
        <strong key={alias} className={styles['mark']}>
          {visible(alias)}
        </strong>
      ))}
      {serving.map(({ provider, upstream_model, expires_at }) => (
        <span
          key={provider}
          className={styles['mark']}
          title={`as ${visible(upstream_model)}, until ${expires_at} unless it is renewed`}
        >
          serving by {visible(provider)}
        </span>
      ))}
      {serving.length === 0 && <span>not served now</span>}
      {tainted_at && (
        <p className={styles['bad']}>
          Tainted: this step or an earlier one was trained on calls that were purged on{' '}
          <Time at={tainted_at} />. Do not serve it any more.
        </p>
      )}
    </>
  );
}

function Contents({ checkpoint, config }: { checkpoint: CheckpointDetail; config: string | null }) {
  const metrics = Object.entries(checkpoint.metrics);
  return (
    <div className={styles['scroll']} tabIndex={0} role="region" aria-label="Metrics and files">
      {metrics.length === 0 ? (
        <p className={styles['soft']}>
          No metrics yet. They come from the job that makes the checkpoint, and from trajectories
          that are logged while it is the newest.
        </p>
      ) : (
        <dl className={styles['totals']} aria-label="Metrics">
          {metrics.map(([name, value]) => (
            <div key={name} title={`${visible(name)}: ${value ?? 'not a number'}`}>
              <dt>{visible(name)}</dt>
              <dd>{number(value)}</dd>
            </div>
          ))}
        </dl>
      )}
      <Files checkpoint={checkpoint} />
      {config !== null && (
        <section className={styles['panel']}>
          <h2>Config from the trainer</h2>
          <Code label="config" text={config} />
        </section>
      )}
    </div>
  );
}

function Files({ checkpoint: { files, step, uri } }: { checkpoint: CheckpointDetail }) {
  const { modelId } = route.useParams();
  const download = useMutation({
    mutationFn: async ({ name }: CheckpointFile) => {
      const response = await send('GET', filePath(modelId, step, name));
      downloadFile(name.split('/').at(-1)!, await response.blob());
    },
  });
  if (files.length === 0)
    return (
      <p className={styles['soft']}>
        {step === 0
          ? 'This checkpoint has no files: it is the unchanged base model.'
          : uri === null
            ? 'The trainer sent no files.'
            : 'The trainer keeps the files at the address above.'}
      </p>
    );
  return (
    <section className={styles['panel']}>
      <h2>
        Files <small>{count(files.length)}</small>
      </h2>
      {download.error && <ErrorNote error={download.error} />}
      <div className={styles['wide']}>
        <Table
          label="Files"
          rows={files}
          rowKey={({ name }) => name}
          sort=""
          onSort={() => undefined}
          columns={[
            {
              name: 'name',
              title: 'Name',
              cell: ({ name }) => <span title={name}>{name}</span>,
            },
            {
              name: 'size',
              title: 'Size',
              isNumber: true,
              cell: ({ size_bytes }) => (
                <span title={`${size_bytes} bytes`}>{bytes(size_bytes)}</span>
              ),
            },
            {
              name: 'sha256',
              title: 'SHA-256',
              cell: ({ sha256 }) => <code title={sha256}>{sha256.slice(0, 16)}</code>,
            },
            {
              name: 'get',
              title: '',
              cell: (file) => {
                const isUnderWay = download.isPending && download.variables.name === file.name;
                return (
                  <span className={styles['rowActions']}>
                    <CopyButton
                      look="quiet"
                      label="Copy digest"
                      aria-label={`Copy digest of ${file.name}`}
                      text={file.sha256}
                    />
                    <CopyButton
                      look="quiet"
                      label="Copy as curl"
                      aria-label={`Copy as curl ${file.name}`}
                      text={curlCommand(filePath(modelId, step, file.name), file.name)}
                    />
                    <Button
                      disabled={download.isPending}
                      aria-label={`Download ${file.name}`}
                      onClick={() => download.mutate(file)}
                    >
                      {isUnderWay ? 'Downloading…' : 'Download'}
                    </Button>
                  </span>
                );
              },
            },
          ]}
        />
      </div>
    </section>
  );
}

/** Needs no escaping of quotation marks: the service allows none in file names and ids. */
const curlCommand = (path: string, name: string): string =>
  `curl -H "Authorization: Bearer $SKEIN_API_KEY" --create-dirs -o '${name}' '${location.origin}${path}'`;
