import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { useEffect } from 'react';
import { noteProject } from '../api/recent-projects.ts';
import { sourceIn, withSource } from '../api/sources.ts';
import { Button, buttonClass } from '../ui/Button.tsx';
import { inputClass } from '../ui/Field.tsx';
import { count, duration } from '../ui/format.ts';
import { EmptyState } from '../ui/Notice.tsx';
import { Page } from '../ui/Page.tsx';
import { SourceSelect } from '../ui/SourceSelect.tsx';
import { TimeRange } from '../ui/TimeRange.tsx';
import { Breakdown } from './Breakdown.tsx';
import { Charts } from './Charts.tsx';
import { spendingText } from './cost.tsx';
import { ScoreCharts } from './ScoreCharts.tsx';
import {
  DEFAULT_RANGE,
  type MetricsSearch,
  RANGES,
  type Step,
  STEPS,
  stepsFor,
  searchWindow,
} from './search.ts';
import { type Stats, statsQuery, ZONE } from './queries.ts';
import styles from './metrics.module.css';

const route = getRouteApi('/p/$entity/$project/metrics');

export function MetricsPage() {
  const { entity, project: name } = route.useParams();
  const project = `${entity}/${name}`;
  const search = route.useSearch();
  const navigate = route.useNavigate();
  useEffect(() => noteProject(project), [project]);
  const stats = useQuery({ ...statsQuery(project, search), placeholderData: keepPreviousData });
  const set = (next: MetricsSearch) => void navigate({ search: next });
  const zoom = (from: number, to: number) => {
    const { range: _, ...rest } = search;
    set({ ...rest, from: toIsoTime(from), to: toIsoTime(Math.max(to, from + 1)) });
  };
  const { data, error } = stats;
  return (
    <Page
      title="Metrics"
      note={<span title="Times and days are in your time zone">{ZONE}</span>}
      actions={<Choices search={search} onSearch={set} />}
      error={error}
      onRetry={() => void stats.refetch()}
    >
      {stats.isPending && <Waiting />}
      {data && data.whole.calls === 0 && (
        <Nothing project={project} search={search} onSearch={set} />
      )}
      {data && data.whole.calls > 0 && (
        <div className={styles['body']} aria-busy={stats.isPlaceholderData}>
          <Totals whole={data.whole} />
          <Charts stats={data} onZoom={zoom} />
          <ScoreCharts project={project} search={search} onZoom={zoom} />
          <Breakdown project={project} search={search} whole={data.whole} onSearch={set} />
        </div>
      )}
    </Page>
  );
}

/** Rounds to whole seconds, which is exact enough for a dragged window. */
const toIsoTime = (seconds: number) => new Date(Math.round(seconds) * 1000).toISOString();

function Choices({
  search,
  onSearch,
}: {
  search: MetricsSearch;
  onSearch: (search: MetricsSearch) => void;
}) {
  const { step, roots } = search;
  const { start, end } = searchWindow(search, Date.now());
  const steps = stepsFor((end - start) / 1000);
  return (
    <>
      <Button
        look="quiet"
        aria-pressed={roots === true}
        title="Count only the roots of traces. A root often repeats the usage of the calls below it."
        onClick={() => {
          const { roots: _, ...rest } = search;
          onSearch(roots ? rest : { ...rest, roots: true });
        }}
      >
        Roots only
      </Button>
      <SourceSelect
        value={search.source ?? 'production'}
        onChoose={(chosen) => onSearch(withSource(search, chosen))}
      />
      <TimeRange
        ranges={RANGES}
        value={{ range: DEFAULT_RANGE, ...search }}
        onChoose={(chosen) => {
          const { range: _, from: _from, to: _to, ...rest } = search;
          onSearch({ ...rest, ...chosen });
        }}
      />
      <select
        aria-label="Buckets"
        className={inputClass}
        value={step !== undefined && steps.includes(step) ? step : ''}
        onChange={({ target }) => {
          const { step: _, ...rest } = search;
          onSearch(target.value === '' ? rest : { ...rest, step: target.value as Step });
        }}
      >
        <option value="">Automatic buckets</option>
        {steps.map((value) => (
          <option key={value} value={value}>
            Buckets of {STEPS[value][0]}
          </option>
        ))}
      </select>
    </>
  );
}

function Totals({ whole }: { whole: Stats['whole'] }) {
  const { calls, errors } = whole;
  const share = errors === 0 ? '' : `${((errors / calls) * 100).toPrecision(2)} %`;
  const tiles = [
    { label: 'Calls', value: count(calls) },
    { label: 'Errors', value: count(errors), note: share, isBad: errors > 0 },
    { label: 'Latency p50', value: duration(whole.p50) },
    { label: 'p95', value: duration(whole.p95) },
    { label: 'p99', value: duration(whole.p99) },
    { label: 'Tokens in', value: count(whole.inputTokens) },
    { label: 'Tokens out', value: count(whole.outputTokens) },
    { label: 'Cost', value: spendingText(whole) },
  ];
  return (
    <dl className={styles['totals']} aria-label="Totals">
      {tiles.map(({ label, value, note, isBad }) => (
        <div key={label}>
          <dt>{label}</dt>
          <dd className={isBad ? styles['bad'] : undefined}>
            {value} {note && <small>{note}</small>}
          </dd>
        </div>
      ))}
    </dl>
  );
}

/** A placeholder as high as the charts. */
const Waiting = () => (
  <div className={styles['body']} role="progressbar" aria-busy="true" aria-label="Loading">
    <div className={styles['totals']} />
    <div className={styles['charts']}>
      {Array.from({ length: 4 }, (_, n) => (
        <div key={n} className={styles['waiting']} />
      ))}
    </div>
  </div>
);

function Nothing({
  project,
  search,
  onSearch,
}: {
  project: string;
  search: MetricsSearch;
  onSearch: (search: MetricsSearch) => void;
}) {
  return (
    <EmptyState title="No calls in this time">
      <p>Nothing was recorded in {project} in this time range.</p>
      <div className={styles['ways']}>
        {search.range !== '365d' && (
          <Button onClick={() => onSearch({ ...sourceIn({ ...search }), range: '365d' })}>
            Show the last year
          </Button>
        )}
        {search.source !== 'all' && (
          <Button onClick={() => onSearch({ ...search, source: 'all' })}>Show all sources</Button>
        )}
        <Link className={buttonClass()} to="/connect" search={{ project }}>
          Send a first call
        </Link>
      </div>
    </EmptyState>
  );
}
