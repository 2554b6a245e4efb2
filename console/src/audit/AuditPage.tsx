import { useInfiniteQuery, useMutation } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { mayActAs, useMe } from '../api/session.ts';
import { Button } from '../ui/Button.tsx';
import { Field } from '../ui/Field.tsx';
import { EmptyState, ErrorNote, Skeleton } from '../ui/Notice.tsx';
import { Page } from '../ui/Page.tsx';
import { downloadFile } from '../ui/download.ts';
import { Table } from '../ui/Table.tsx';
import { Time } from '../ui/Time.tsx';
import styles from './audit.module.css';
import { csv } from './csv.ts';
import { eventsQuery, readAllEvents } from './queries.ts';
import type { AuditSearch } from './search.ts';

const route = getRouteApi('/audit');

export function AuditPage() {
  if (mayActAs(useMe(), 'admin')) return <Audit />;
  return (
    <EmptyState title="Only admins can see the audit">
      <p>The audit records who gave roles and keys, and who deleted what.</p>
    </EmptyState>
  );
}

function Audit() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const { data, error, isPending, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } =
    useInfiniteQuery(eventsQuery(search));
  const download = useMutation({
    mutationFn: async () => {
      downloadFile('audit.csv', new Blob([csv(await readAllEvents(search))]));
    },
  });
  const field = (label: string, name: keyof AuditSearch, placeholder: string) => (
    <Field
      label={label}
      placeholder={placeholder}
      value={search[name] ?? ''}
      onChange={({ target }) => {
        const { [name]: _, ...rest } = search;
        void navigate({
          search: target.value ? { ...rest, [name]: target.value } : rest,
          replace: true,
        });
      }}
    />
  );
  const events = data?.pages.flat() ?? [];
  return (
    <Page
      title="Audit"
      error={null}
      onRetry={() => void refetch()}
      actions={
        <Button
          disabled={download.isPending || events.length === 0}
          onClick={() => download.mutate()}
        >
          Download CSV
        </Button>
      }
    >
      <div className={styles['filter']}>
        {field('Person', 'user', 'ada@example.com')}
        {field('Action', 'action', 'members.set')}
        {field('Project', 'project', 'acme/demo')}
      </div>
      {(error ?? download.error) && <ErrorNote error={error ?? download.error} />}
      {isPending && <Skeleton rows={12} />}
      {data && events.length === 0 && <EmptyState title="No event matches the filter" />}
      {events.length > 0 && (
        <div className={styles['events']}>
          <Table
            label="Audit"
            rows={events}
            rowKey={({ id }) => id}
            sort=""
            onSort={() => {}}
            columns={[
              { name: 'at', title: 'When', cell: ({ created_at }) => <Time at={created_at} /> },
              { name: 'user', title: 'Person', cell: ({ user }) => user },
              { name: 'action', title: 'Action', cell: ({ action }) => action },
              { name: 'project', title: 'Project', cell: ({ project_id }) => project_id ?? '' },
              { name: 'target', title: 'Target', cell: ({ target }) => target ?? '' },
              {
                name: 'detail',
                title: 'Detail',
                cell: ({ detail }) => (
                  <code title={JSON.stringify(detail)}>{JSON.stringify(detail)}</code>
                ),
              },
            ]}
          />
        </div>
      )}
      {hasNextPage && (
        <Button disabled={isFetchingNextPage} onClick={() => void fetchNextPage()}>
          Show earlier events
        </Button>
      )}
    </Page>
  );
}
