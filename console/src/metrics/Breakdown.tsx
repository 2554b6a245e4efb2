import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { lazy, Suspense, useState } from 'react';
import { mayActAs, useMe } from '../api/session.ts';
import { visible } from '../json/visible-text.ts';
import { Button } from '../ui/Button.tsx';
import { count, duration, opName } from '../ui/format.ts';
import { EmptyState, ErrorNote, Skeleton } from '../ui/Notice.tsx';
import { Table, type TableColumn } from '../ui/Table.tsx';
import { Tabs } from '../ui/Tabs.tsx';
import { costOrder, spendingText } from './cost.tsx';
import { type Grouping, GROUPINGS, DEFAULT_RANGE, type MetricsSearch } from './search.ts';
import { groupsQuery, type Stats } from './queries.ts';
import type { UsageRow } from './stats.ts';
import styles from './metrics.module.css';

const PriceForm = lazy(() =>
  import('./PriceForm.tsx').then((module) => ({ default: module.PriceForm })),
);

interface BreakdownProps {
  project: string;
  search: MetricsSearch;
  whole: Stats['whole'];
  onSearch: (search: MetricsSearch) => void;
}

export function Breakdown(props: BreakdownProps) {
  const { search, onSearch } = props;
  const { by, sort: _, ...rest } = search;
  return (
    <section aria-label="By model, op and user">
      <Tabs
        value={by ?? 'model'}
        onChange={(value) => onSearch(value === 'model' ? rest : { ...rest, by: value })}
        tabs={[
          { value: 'model', label: 'By model', content: <Models {...props} /> },
          ...GROUPING_NAMES.map((name) => ({
            value: name,
            label: GROUPINGS[name].tab,
            content: <Groups {...props} by={name} />,
          })),
        ]}
      />
    </section>
  );
}

const NO_USER = 'no user';

const rowName = ({ name }: UsageRow) => (name === null ? null : opName(name));

const SPENT: TableColumn<UsageRow>[] = [
  {
    name: 'input',
    title: 'Tokens in',
    isNumber: true,
    sortBy: ({ inputTokens }) => inputTokens,
    cell: ({ inputTokens }) => count(inputTokens),
  },
  {
    name: 'output',
    title: 'Tokens out',
    isNumber: true,
    sortBy: ({ outputTokens }) => outputTokens,
    cell: ({ outputTokens }) => count(outputTokens),
  },
  { name: 'cost', title: 'Cost', isNumber: true, sortBy: costOrder, cell: spendingText },
];

const CALLS: TableColumn<UsageRow> = {
  name: 'calls',
  title: 'Calls',
  isNumber: true,
  sortBy: ({ calls }) => calls,
  cell: ({ calls }) => count(calls),
};

const GROUPING_NAMES = Object.keys(GROUPINGS) as Grouping[];

const filterOf = (by: 'model' | Grouping) => (by === 'model' ? by : GROUPINGS[by].filter);

const isNamed = (field: string, name: string) =>
  `${field}="${name.replaceAll(/["\\]/g, String.raw`\$&`)}"`;

/** Search parameters of the traces page for the window and the source of this page. */
const tracesWindow = ({ range = DEFAULT_RANGE, from, to, source }: MetricsSearch) => ({
  ...(from === undefined || to === undefined ? { range } : { from, to }),
  ...(source && { source }),
});

const nameColumn = (
  title: string,
  by: 'model' | Grouping,
  { project, search }: BreakdownProps,
): TableColumn<UsageRow> => ({
  name: 'name',
  title,
  sortBy: rowName,
  cell: (row) => {
    if (row.name === null) return <em>{NO_USER}</em>;
    const [entity, name] = project.split('/') as [string, string];
    return (
      <Link
        to="/p/$entity/$project/traces"
        params={{ entity, project: name }}
        search={{ q: isNamed(filterOf(by), row.name), all: true, ...tracesWindow(search) }}
        title={row.name}
      >
        {visible(rowName(row)!)}
      </Link>
    );
  },
});

const unpriced = (onPrice?: (model: string) => void): TableColumn<UsageRow> => ({
  name: 'unpriced',
  title: 'Without a price',
  isNumber: true,
  sortBy: ({ unpricedTokens }) => unpricedTokens,
  cell: ({ unpricedTokens, name }) =>
    unpricedTokens > 0 && (
      <span className={styles['unpriced']}>
        {count(unpricedTokens)} tokens
        {onPrice && (
          <Button aria-label={`Set price of ${name}`} onClick={() => onPrice(name!)}>
            Set price
          </Button>
        )}
      </span>
    ),
});

function Models(props: BreakdownProps) {
  const { project, search, whole, onSearch } = props;
  const me = useMe();
  const [priced, price] = useState<string>();
  if (whole.models.length === 0)
    return (
      <EmptyState title="No call reports its tokens">
        <p>
          Tokens and costs come from <code>summary.usage</code> of calls, which the clients fill in.
        </p>
      </EmptyState>
    );
  const onPrice = mayActAs(me, 'writer', project) ? price : undefined;
  return (
    <>
      <Table
        label="By model"
        rows={whole.models}
        rowKey={({ name }) => name!}
        columns={[nameColumn('Model', 'model', props), CALLS, ...SPENT, unpriced(onPrice)]}
        sort={search.sort ?? '-cost'}
        onSort={(sort) => onSearch({ ...search, sort })}
      />
      {priced !== undefined && (
        <Suspense fallback={null}>
          <PriceForm project={project} model={priced} onClose={() => price(undefined)} />
        </Suspense>
      )}
    </>
  );
}

const LATENCIES = (['p50', 'p95', 'p99'] as const).map((name): TableColumn<UsageRow> => ({
  name,
  title: name,
  isNumber: true,
  sortBy: (row) => row[name] ?? null,
  cell: (row) => duration(row[name]),
}));

const errors = (by: Grouping, { project, search }: BreakdownProps): TableColumn<UsageRow> => ({
  name: 'errors',
  title: 'Errors',
  isNumber: true,
  sortBy: (row) => row.errors ?? 0,
  cell: ({ errors: failed, name }) => {
    if (!failed || name === null) return failed;
    const [entity, of] = project.split('/') as [string, string];
    return (
      <Link
        to="/p/$entity/$project/traces"
        params={{ entity, project: of }}
        search={{
          q: `${isNamed(filterOf(by), name)} status=error`,
          all: true,
          ...tracesWindow(search),
        }}
        className={styles['bad']}
        aria-label={`${failed} errors of ${name}`}
      >
        {failed}
      </Link>
    );
  },
});

/** Rows that are shown at first. The reader can show more. */
const MAX_GROUPS = 100;

function Groups(props: BreakdownProps & { by: Grouping }) {
  const { project, search, by, onSearch } = props;
  const [isAll, showAll] = useState(false);
  const query = useQuery({
    ...groupsQuery(project, search, by),
    placeholderData: keepPreviousData,
  });
  if (query.error) return <ErrorNote error={query.error} />;
  if (!query.data) return <Skeleton rows={6} />;
  const rows = query.data.toSorted((a, b) => (costOrder(b) ?? -1) - (costOrder(a) ?? -1));
  const { tab: label, title } = GROUPINGS[by];
  return (
    <>
      <Table
        label={label}
        rows={isAll ? rows : rows.slice(0, MAX_GROUPS)}
        rowKey={({ name }) => JSON.stringify(name)}
        columns={[
          nameColumn(title, by, props),
          CALLS,
          errors(by, props),
          ...LATENCIES,
          ...SPENT,
          unpriced(),
        ]}
        sort={search.sort ?? '-cost'}
        onSort={(sort) => onSearch({ ...search, sort })}
      />
      {!isAll && rows.length > MAX_GROUPS && (
        <p className={styles['more']}>
          The table shows the {MAX_GROUPS} most expensive rows of {count(rows.length)}.{' '}
          <Button onClick={() => showAll(true)}>Show all</Button>
        </p>
      )}
    </>
  );
}
