import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import type { Schema } from '../api/client.ts';
import { MOST_PROJECTS, projectsQuery } from '../api/projects.ts';
import { mayActAs, type Me, useMe } from '../api/session.ts';
import { buttonClass } from '../ui/Button.tsx';
import { bytes, count } from '../ui/format.ts';
import { EmptyState, Skeleton } from '../ui/Notice.tsx';
import { Page } from '../ui/Page.tsx';
import { Table, type TableColumn } from '../ui/Table.tsx';
import { Time } from '../ui/Time.tsx';
import { UseToday } from './UseToday.tsx';
import styles from './projects.module.css';

const route = getRouteApi('/projects');
const REFRESH_MS = 15_000;

export function ProjectsPage() {
  const me = useMe();
  const { sort } = route.useSearch();
  const navigate = route.useNavigate();
  const projects = useQuery({ ...projectsQuery, refetchInterval: REFRESH_MS });
  const { data, error } = projects;
  return (
    <Page
      title="Projects"
      note={data && data.length > 0 && <Sum projects={data} />}
      error={error}
      onRetry={() => void projects.refetch()}
    >
      <CallerScopes me={me} />
      {projects.isPending && <Skeleton rows={12} />}
      {data?.length === 0 && (
        <EmptyState title="Nothing was recorded yet">
          <p>The first write to a project creates it.</p>
          <Link className={buttonClass('primary')} to="/connect">
            Send a first call
          </Link>
        </EmptyState>
      )}
      {data && data.length > 0 && (
        <Table
          label="Projects"
          rows={data}
          rowKey={({ project_id }) => project_id}
          columns={COLUMNS}
          sort={sort ?? '-last_activity'}
          onSort={(next) => void navigate({ search: { sort: next } })}
        />
      )}
      {mayActAs(me, 'admin') && <UseToday />}
    </Page>
  );
}

function CallerScopes({ me: { user, role, scopes, expires_at } }: { me: Me }) {
  return (
    <p className={styles['reach']}>
      You are <strong>{user}</strong>, with the role {role} in{' '}
      {scopes.map((scope, n) => (
        <span key={scope}>
          {n > 0 && ', '}
          {scope === '*' ? 'every project' : <code>{scope}</code>}
        </span>
      ))}
      {expires_at && (
        <>
          {' '}
          until <Time at={expires_at} />
        </>
      )}
      .
    </p>
  );
}

type Project = Schema<'ProjectDto'>;

function Sum({ projects }: { projects: readonly Project[] }) {
  const sum = (of: (project: Project) => number) =>
    projects.reduce((all, project) => all + of(project), 0);
  return (
    <>
      {projects.length < MOST_PROJECTS
        ? `${count(projects.length)} with`
        : `The ${count(MOST_PROJECTS)} with the latest activity:`}{' '}
      {count(sum((project) => project.call_count))} calls, {bytes(sum((project) => project.bytes))}
    </>
  );
}

const COLUMNS: TableColumn<Project>[] = [
  {
    name: 'project_id',
    title: 'Project',
    sortBy: ({ project_id }) => project_id,
    cell: ({ project_id }) => {
      const [entity, project] = project_id.split('/') as [string, string];
      return (
        <Link to="/p/$entity/$project/traces" params={{ entity, project }} title={project_id}>
          {project_id}
        </Link>
      );
    },
  },
  {
    name: 'call_count',
    title: 'Calls',
    isNumber: true,
    sortBy: ({ call_count }) => call_count,
    cell: ({ call_count }) => <span title={String(call_count)}>{count(call_count)}</span>,
  },
  {
    name: 'bytes',
    title: 'Size',
    isNumber: true,
    sortBy: (project) => project.bytes,
    cell: (project) => <span title={`${project.bytes} bytes`}>{bytes(project.bytes)}</span>,
  },
  {
    name: 'last_activity',
    title: 'Last activity',
    isNumber: true,
    sortBy: ({ last_activity }) => last_activity,
    cell: ({ last_activity }) => <Time at={last_activity} />,
  },
];
