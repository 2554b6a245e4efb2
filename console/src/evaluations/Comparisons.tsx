import type { Schema } from '../api/client.ts';
import { visible } from '../json/visible-text.ts';
import { count, number } from '../ui/format.ts';
import { Table, type TableColumn } from '../ui/Table.tsx';
import type { ComparedRun } from './runs.ts';
import { runName } from './runs.ts';
import {
  printPValue,
  type ComparedMeasure,
  type Comparison,
  finding,
  type Formats,
  MEASURES,
  NUMBER,
  RATE,
  scoreName,
  shortTest,
  signed,
} from './scores.ts';
import styles from './evaluations.module.css';

export function Comparisons({
  sides,
  compared: { comparisons, warnings, confidence },
}: {
  sides: readonly ComparedRun[];
  compared: Schema<'EvalComparedDto'>;
}) {
  const tests = testSources(comparisons);
  return (
    <>
      {comparisons.map((comparison) => {
        const other = sides.find(({ run }) => run.id === comparison.evaluation_call_id);
        return (
          other && (
            <OneComparison
              key={other.run.id}
              baseline={sides[0]!}
              other={other}
              comparison={comparison}
              confidence={confidence}
            />
          )
        );
      })}
      <div className={styles['notes']}>
        {warnings.map((warning) => (
          <p key={warning}>{visible(warning)}.</p>
        ))}
        {tests.map(([test, source]) => (
          <p key={test}>
            {test}: {source}.
          </p>
        ))}
        <p>
          A small p-value says that chance alone seldom makes such a difference. The interval says
          how large the difference may be.
        </p>
      </div>
    </>
  );
}

function testSources(comparisons: readonly Comparison[]): [test: string, source: string][] {
  const tests = new Map<string, string>();
  for (const comparison of comparisons)
    for (const { test, source } of [
      ...comparison.scores,
      ...MEASURES.map(([name]) => comparison[name]),
    ])
      if (test !== null && source !== null) tests.set(test, source);
  return [...tests];
}

interface Line {
  name: string;
  title: string;
  compared: ComparedMeasure;
  /**
   * The p-value corrected for all scores (Holm). Null for latency, tokens and costs, which are no hypotheses about
   * quality.
   */
  holm: number | null;
  formats: Formats;
}

function OneComparison({
  baseline,
  other,
  comparison,
  confidence,
}: {
  baseline: ComparedRun;
  other: ComparedRun;
  comparison: Comparison;
  confidence: number;
}) {
  const { rows_paired, rows_only_baseline, rows_only_other } = comparison;
  const lines: Line[] = [
    ...comparison.scores.map((score) => ({
      name: `score ${scoreName(score)}`,
      title: visible(scoreName(score)),
      compared: score,
      holm: score.p_value_holm,
      formats: score.value_type === 'binary' ? RATE : NUMBER,
    })),
    ...MEASURES.filter(([name]) => comparison[name].n > 0).map(([name, title, formats]) => ({
      name,
      title,
      compared: comparison[name],
      holm: null,
      formats,
    })),
  ];
  const unknown = MEASURES.filter(([name]) => comparison[name].n === 0);
  const heading = `${other.letter}, ${runName(other.run)}, compared with ${baseline.letter}, ${runName(baseline.run)}`;
  return (
    <section aria-label={`${other.letter} compared with ${baseline.letter}`}>
      <h2>
        {visible(heading)}{' '}
        <small>
          {count(rows_paired)} rows paired, {count(rows_only_baseline)} only in {baseline.letter},{' '}
          {count(rows_only_other)} only in {other.letter}
        </small>
      </h2>
      <div
        className={styles['wide']}
        tabIndex={0}
        role="region"
        aria-label={`Differences of ${other.letter}`}
      >
        <Table
          label={`Scores of ${other.letter} compared with ${baseline.letter}`}
          rows={lines}
          rowKey={({ name }) => name}
          columns={lineColumns(baseline.letter, other.letter, confidence)}
          sort=""
          onSort={() => undefined}
        />
      </div>
      {unknown.length > 0 && (
        <p className={styles['soft']}>
          No row has these values in both runs:{' '}
          {unknown.map(([, title]) => title.toLowerCase()).join(', ')}.
        </p>
      )}
    </section>
  );
}

function lineColumns(baseline: string, other: string, confidence: number): TableColumn<Line>[] {
  const column = (
    name: string,
    title: string,
    cell: TableColumn<Line>['cell'],
  ): TableColumn<Line> => ({ name, title, isNumber: true, cell });
  return [
    { name: 'score', title: 'Score', cell: ({ title }) => <span title={title}>{title}</span> },
    {
      name: 'finding',
      title: `${other} is`,
      cell: ({ compared, holm }) => finding(compared.difference, holm ?? compared.p_value),
    },
    column('n', 'n', ({ compared }) => count(compared.n)),
    column('baseline', baseline, ({ compared, formats }) => formats.value(compared.baseline_mean)),
    column('other', other, ({ compared, formats }) => formats.value(compared.other_mean)),
    column('difference', `${other} − ${baseline}`, ({ compared, formats }) => (
      <strong>{signed(compared.difference, formats.difference)}</strong>
    )),
    column('interval', `${number(confidence * 100)} % interval`, ({ compared, formats }) => (
      <span title={compared.interval_method ?? ''}>{interval(compared, formats)}</span>
    )),
    column('p', 'p', ({ compared }) => printPValue(compared.p_value)),
    column('holm', 'p (Holm)', ({ holm }) => printPValue(holm)),
    column(
      'rows',
      'Rows up, down, same',
      ({ compared: { rows_up, rows_down, rows_same } }) =>
        `${count(rows_up)}, ${count(rows_down)}, ${count(rows_same)}`,
    ),
    {
      name: 'test',
      title: 'Test',
      cell: ({ compared: { test, source } }) => (
        <span title={`${test ?? ''}\n${source ?? ''}`}>
          {test === null ? '–' : shortTest(test)}
        </span>
      ),
    },
  ];
}

function interval({ interval: found }: ComparedMeasure, { difference }: Formats): string {
  if (!found) return '–';
  return `${signed(found[0]!, difference)} to ${signed(found[1]!, difference)}`;
}
