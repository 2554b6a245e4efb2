import type { ReactNode } from 'react';
import { visible } from '../../json/visible-text.ts';
import { count, number } from '../../ui/format.ts';
import { Table } from '../../ui/Table.tsx';
import type { GateResult } from './queries.ts';
import styles from '../training.module.css';

/** Shows the result of a gate: the verdict, its numbers, and the rows, worst first. */
export function GateOutcome({ result, action }: { result: GateResult; action: ReactNode }) {
  const { passed, reason, step, against_step, rows, rows_paired } = result;
  return (
    <>
      <div className={styles['bar']}>
        <p role="status" className={passed ? styles['good'] : styles['bad']}>
          <strong>{passed ? 'Passed.' : 'Not passed.'}</strong> {visible(reason)}
        </p>
        {action}
      </div>
      <dl className={styles['totals']} aria-label="Statistics">
        {statistics(result).map(([name, value, hint]) => (
          <div key={name} title={hint}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      {result.statistics && (
        <p className={styles['soft']}>
          Test: {result.statistics.test}; {visible(result.statistics.source)}. Interval:{' '}
          {visible(result.statistics.interval_source)}.
        </p>
      )}
      <p className={styles['soft']}>
        Rows that only one step has: {count(result.rows_only_candidate)} of step {step},{' '}
        {count(result.rows_only_against)} of step {against_step}. Rows without a score:{' '}
        {count(result.rows_unscored)}. Calls without a row: {count(result.calls_without_key)}.
      </p>
      {rows.length > 0 && (
        <>
          <h2>
            Rows, the worst first{' '}
            <small>
              {rows.length < rows_paired
                ? `${count(rows.length)} of ${count(rows_paired)}`
                : count(rows_paired)}
            </small>
          </h2>
          <div className={styles['wide']}>
            <Table
              label="Rows"
              rows={rows}
              rowKey={({ key }) => key}
              sort=""
              onSort={() => undefined}
              columns={[
                {
                  name: 'key',
                  title: 'Row',
                  cell: ({ key }) => <span title={visible(key)}>{visible(key)}</span>,
                },
                {
                  name: 'candidate',
                  title: `Step ${step}`,
                  isNumber: true,
                  cell: ({ candidate, n_candidate }) => (
                    <span title={`mean of ${n_candidate} calls`}>{number(candidate)}</span>
                  ),
                },
                {
                  name: 'against',
                  title: `Step ${against_step}`,
                  isNumber: true,
                  cell: ({ against, n_against }) => (
                    <span title={`mean of ${n_against} calls`}>{number(against)}</span>
                  ),
                },
                {
                  name: 'difference',
                  title: 'Difference',
                  isNumber: true,
                  cell: ({ difference }) => (
                    <span className={difference < 0 ? styles['bad'] : undefined}>
                      {signed(difference)}
                    </span>
                  ),
                },
                {
                  name: 'n',
                  title: 'Calls',
                  isNumber: true,
                  cell: ({ n_candidate, n_against }) => `${n_candidate} : ${n_against}`,
                },
              ]}
            />
          </div>
        </>
      )}
    </>
  );
}

const signed = (value: number): string => (value > 0 ? `+${number(value)}` : number(value));

function statistics({
  rows_paired,
  statistics: found,
  step,
  against_step,
}: GateResult): [name: string, value: string, hint: string][] {
  const rows: [string, string, string] = [
    'n, rows paired',
    count(rows_paired),
    'Rows that both steps have',
  ];
  if (!found) return [rows];
  const [low, high] = found.interval;
  return [
    rows,
    [`Mean of step ${step}`, number(found.mean_candidate), 'Mean over the paired rows'],
    [`Mean of step ${against_step}`, number(found.mean_against), 'Mean over the paired rows'],
    [
      'Difference',
      signed(found.difference),
      `The gate asks for at least ${number(found.min_difference)}`,
    ],
    [
      `Interval, ${number(found.confidence * 100)} %`,
      `${number(low)} to ${number(high)}`,
      'Interval of the difference',
    ],
    ['p', number(found.p_value), found.test],
    [
      'Better, worse, equal',
      `${count(found.rows_better)}, ${count(found.rows_worse)}, ${count(found.rows_equal)}`,
      'Number of rows',
    ],
  ];
}
