import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { useEffect } from 'react';
import { useLive } from '../../api/live.ts';
import { noteProject } from '../../api/recent-projects.ts';
import { buttonClass } from '../../ui/Button.tsx';
import { count } from '../../ui/format.ts';
import { EmptyState, Skeleton } from '../../ui/Notice.tsx';
import { Page } from '../../ui/Page.tsx';
import { Table } from '../../ui/Table.tsx';
import { Tabs } from '../../ui/Tabs.tsx';
import { Builds } from './Builds.tsx';
import { type Model, modelsQuery } from '../queries.ts';
import { Jobs } from '../Jobs.tsx';
import { Tainted } from './Tainted.tsx';
import styles from '../training.module.css';

const route = getRouteApi('/p/$entity/$project/training');

export function TrainingPage() {
  const { entity, project } = route.useParams();
  const { tab = 'models' } = route.useSearch();
  const navigate = route.useNavigate();
  useEffect(() => noteProject(`${entity}/${project}`), [entity, project]);
  const { data: models, error, refetch } = useQuery(modelsQuery(entity, project));
  useLive(`${entity}/${project}`, ['models'], () => refetch());
  const params = { entity, project };
  return (
    <Page
      title="Training"
      isFull
      error={error}
      onRetry={() => void refetch()}
      actions={
        <Link to="/p/$entity/$project/training/recipes" params={params} className={buttonClass()}>
          Recipes
        </Link>
      }
    >
      <div className={styles['body']}>
        <Tabs
          isFull
          value={tab}
          onChange={(next) => void navigate({ search: next === 'models' ? {} : { tab: next } })}
          tabs={[
            {
              value: 'models',
              label: models ? `Models ${count(models.length)}` : 'Models',
              content: models ? (
                <Models {...params} models={models} />
              ) : (
                !error && <Skeleton rows={12} />
              ),
            },
            {
              value: 'jobs',
              label: 'Jobs',
              content: <Jobs {...params} models={models ?? []} />,
            },
            { value: 'builds', label: 'Builds', content: <Builds {...params} /> },
            { value: 'tainted', label: 'Tainted', content: <Tainted {...params} /> },
          ]}
        />
      </div>
    </Page>
  );
}

function Models({
  entity,
  project,
  models,
}: {
  entity: string;
  project: string;
  models: readonly Model[];
}) {
  if (models.length === 0)
    return (
      <EmptyState title="No models yet">
        <p>
          Create a model with <code>POST /v1/preview/models</code>: send its name and the name of
          its base model. See <a href="/docs#/preview%3A%20models">the operations</a>.
        </p>
        <Link to="/connect" className={buttonClass()}>
          Load demo data with a model
        </Link>
      </EmptyState>
    );
  return (
    <div className={styles['scroll']} tabIndex={0} role="region" aria-label="Models">
      <Table
        label="Models"
        rows={models}
        rowKey={({ id }) => id}
        sort=""
        onSort={() => undefined}
        columns={[
          {
            name: 'name',
            title: 'Model',
            cell: ({ id, name }) => (
              <Link
                to="/p/$entity/$project/training/models/$modelId"
                params={{ entity, project, modelId: id }}
                title={name}
              >
                {name}
              </Link>
            ),
          },
          { name: 'base', title: 'Base model', cell: ({ base_model }) => base_model },
          { name: 'id', title: 'Id', cell: ({ id }) => <code>{id}</code> },
        ]}
      />
    </div>
  );
}
