import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { useEffect } from 'react';
import { useLive } from '../api/live.ts';
import { noteProject } from '../api/recent-projects.ts';
import { visible } from '../json/visible-text.ts';
import controls from '../ui/controls.module.css';
import { ErrorRetry } from '../ui/ErrorRetry.tsx';
import { localTime, number } from '../ui/format.ts';
import { EmptyState, Skeleton } from '../ui/Notice.tsx';
import { Page } from '../ui/Page.tsx';
import { Table, type TableColumn } from '../ui/Table.tsx';
import {
  bestValues,
  type BoardCell,
  type BoardColumn,
  type BoardRow,
  boardRows,
  type Leaderboard,
} from './leaderboards.ts';
import { boardRunsQuery, boardsQuery } from './queries.ts';
import { refName, refVersion } from './runs.ts';
import styles from './evaluations.module.css';

const route = getRouteApi('/p/$entity/$project/evaluations/leaderboards');

export function LeaderboardsPage() {
  const { entity, project: name } = route.useParams();
  const project = `${entity}/${name}`;
  const search = route.useSearch();
  const navigate = route.useNavigate();
  useEffect(() => noteProject(project), [project]);
  const { data, error, isPending, refetch } = useQuery(boardsQuery(project));
  useLive(project, ['objects'], () => refetch());
  const shown = data?.find((board) => board.name === search.board) ?? data?.[0];
  return (
    <Page
      title="Leaderboards"
      isFull
      error={error}
      onRetry={() => void refetch()}
      note={
        <Link to="/p/$entity/$project/evaluations" params={{ entity, project: name }}>
          All evaluations
        </Link>
      }
    >
      {isPending && <Skeleton rows={12} />}
      {data?.length === 0 && (
        <EmptyState title="No leaderboards">
          <p>
            A leaderboard is a published object:{' '}
            <code>weave.publish(leaderboard.Leaderboard(…))</code> makes one. Its columns name an
            evaluation, a scorer and a value of its summary.
          </p>
        </EmptyState>
      )}
      {data && shown && (
        <div className={styles['columns']}>
          <nav aria-label="Leaderboards" className={controls['choices']}>
            <ol>
              {data.map((board) => (
                <li key={board.name}>
                  <button
                    type="button"
                    aria-current={board === shown ? 'true' : undefined}
                    onClick={() => void navigate({ search: { board: board.name } })}
                  >
                    <strong title={board.name}>{board.name}</strong>
                    <span>{board.columns.length} columns</span>
                  </button>
                </li>
              ))}
            </ol>
          </nav>
          <Board
            key={shown.name}
            project={project}
            board={shown}
            sort={search.sort}
            onSort={(sort) => void navigate({ search: { ...search, sort } })}
          />
        </div>
      )}
    </Page>
  );
}

interface BoardProps {
  project: string;
  board: Leaderboard;
  sort: string | undefined;
  onSort: (sort: string) => void;
}

function Board({ project, board, sort, onSort }: BoardProps) {
  const { data, error, refetch } = useQuery(boardRunsQuery(project, board));
  const rows = data && boardRows(board, data);
  return (
    <section className={styles['scroll']} aria-label={board.name}>
      {error && <ErrorRetry error={error} onRetry={() => void refetch()} />}
      {board.description !== '' && <p>{visible(board.description)}</p>}
      {!rows && !error && <Skeleton rows={8} />}
      {rows?.length === 0 && (
        <EmptyState title="No runs">
          <p>No run of its evaluations has a value for a column yet.</p>
        </EmptyState>
      )}
      {rows && rows.length > 0 && (
        <Models project={project} board={board} rows={rows} sort={sort} onSort={onSort} />
      )}
    </section>
  );
}

function Models({
  project,
  board,
  rows,
  sort,
  onSort,
}: BoardProps & {
  rows: readonly BoardRow[];
}) {
  const best = bestValues(board, rows);
  const first = board.columns[0]?.isLowBest ? '0' : '-0';
  return (
    <div className={styles['wide']} tabIndex={0} role="region" aria-label="Table of models">
      <Table
        label="Models"
        rows={rows}
        rowKey={({ model }) => model}
        columns={[
          {
            name: 'model',
            title: 'Model',
            sortBy: ({ model }) => refName(model),
            cell: ({ model }) => (
              <span title={visible(model)}>
                {visible(refName(model))} <small>{visible(refVersion(model))}</small>
              </span>
            ),
          },
          ...board.columns.map((column, n) => boardColumn(project, column, n, best[n]!)),
        ]}
        sort={sort ?? first}
        onSort={onSort}
      />
    </div>
  );
}

const boardColumn = (
  project: string,
  { evaluation, scorer, path, isLowBest }: BoardColumn,
  n: number,
  best: number,
): TableColumn<BoardRow> => ({
  name: String(n),
  title: visible(
    `${refName(evaluation)}: ${[scorer, path].filter((part) => part !== '').join('.')}${isLowBest ? ', low is best' : ''}`,
  ),
  isNumber: true,
  sortBy: ({ cells }) => cells[n]?.value ?? null,
  cell: ({ cells }) => {
    const cell = cells[n];
    return cell ? <Cell project={project} cell={cell} isBest={cell.value === best} /> : '–';
  },
});

function Cell({ project, cell, isBest }: { project: string; cell: BoardCell; isBest: boolean }) {
  const [entity, name] = project.split('/') as [string, string];
  const { value, run, runs } = cell;
  return (
    <Link
      to="/p/$entity/$project/traces/$traceId"
      params={{ entity, project: name, traceId: run.traceId }}
      search={{ call: run.id }}
      title={`The run of ${localTime(run.startedAt)}, the newest of ${runs}`}
    >
      {isBest ? <strong>{number(value)} best</strong> : number(value)}
    </Link>
  );
}
