import { Link } from '@tanstack/react-router';
import { useMemo } from 'react';
import { visible } from '../json/visible-text.ts';
import { callDuration, count, money } from '../ui/format.ts';
import type { ComparedRun } from './runs.ts';
import { runName } from './runs.ts';
import { isWorse, type EvaluationRow, type Trial } from './rows.ts';
import type { ComparedScore } from './scores.ts';
import { outputDiff } from './output-diff.ts';
import styles from './evaluations.module.css';

/** Characters of a document that are shown; the trace page has all of it. */
const MOST_CHARACTERS = 4000;
/** Trials of a row that are shown for each run. */
const MOST_TRIALS = 5;

/**
 * Shows the inputs of a row and the outputs of all runs beside each other. Words that differ from the baseline are
 * marked.
 */
export function ComparedRow({
  project,
  sides,
  row,
  score,
  isLowGood,
}: {
  project: string;
  sides: readonly ComparedRun[];
  row: EvaluationRow;
  score: ComparedScore | undefined;
  isLowGood: boolean;
}) {
  const [baseline] = sides;
  const first = row.trials.get(baseline!.run.id) ?? [];
  const columns = { gridTemplateColumns: `repeat(${sides.length}, minmax(0, 1fr))` };
  return (
    <li className={styles['row']} aria-label={`Row ${row.digest.slice(0, 8)}`}>
      <div className={styles['inputs']}>
        <h3>
          Inputs <code title={row.digest}>{row.digest.slice(0, 8)}</code>
        </h3>
        <pre>{cut(row.inputs)}</pre>
      </div>
      <div className={styles['outputs']} style={columns}>
        {sides.map((side) => {
          const trials = row.trials.get(side.run.id) ?? [];
          const isBaseline = side === baseline;
          return (
            <div key={side.run.id} role="group" aria-label={`${side.letter}, ${runName(side.run)}`}>
              <h3>
                {side.letter} <small>{visible(runName(side.run))}</small>
                {!isBaseline &&
                  isWorse(row, { baseline: baseline!.run.id, other: side.run.id, isLowGood }) && (
                    <span className={styles['bad']}>worse</span>
                  )}
              </h3>
              {trials.length === 0 && <p className={styles['soft']}>This run has no such row.</p>}
              {trials.slice(0, MOST_TRIALS).map((trial, n) => (
                <OneTrial
                  key={trial.callId}
                  project={project}
                  side={side}
                  trial={trial}
                  before={isBaseline ? undefined : first[n]?.output}
                  hasScore={score !== undefined}
                />
              ))}
              {trials.length > MOST_TRIALS && (
                <p className={styles['soft']}>{trials.length - MOST_TRIALS} more trials</p>
              )}
            </div>
          );
        })}
      </div>
    </li>
  );
}

function OneTrial({
  project,
  side,
  trial,
  before,
  hasScore,
}: {
  project: string;
  side: ComparedRun;
  trial: Trial;
  /** The output of the baseline; undefined for the baseline itself. */
  before: string | undefined;
  hasScore: boolean;
}) {
  const [entity, name] = project.split('/') as [string, string];
  const { latencySeconds, tokens, cost } = trial;
  return (
    <>
      <p className={styles['facts']}>
        {hasScore && <strong>{trial.score === '' ? 'no score' : visible(trial.score)}</strong>}
        {latencySeconds !== null && (
          <span>{callDuration({ status: 'success', latency_ms: latencySeconds * 1000 })}</span>
        )}
        {tokens !== null && <span>{count(tokens)} tokens</span>}
        {cost !== null && <span>{money(cost)}</span>}
        <Link
          to="/p/$entity/$project/traces/$traceId"
          params={{ entity, project: name, traceId: side.run.traceId }}
          search={{ call: trial.callId }}
          aria-label={`Trace of ${side.letter}`}
        >
          Trace
        </Link>
      </p>
      <Output text={trial.output} before={before} />
    </>
  );
}

function Output({ text, before }: { text: string; before: string | undefined }) {
  const words = useMemo(
    () => outputDiff(before === undefined ? cut(text) : cut(before), cut(text)),
    [text, before],
  );
  return (
    <pre>
      {words.map(({ text: part, state }, n) => {
        if (state === 'added') return <ins key={n}>{part}</ins>;
        return state === 'removed' ? <del key={n}>{part}</del> : part;
      })}
    </pre>
  );
}

/** The beginning of a text, with marks for invisible characters. */
const cut = (text: string): string =>
  text.length > MOST_CHARACTERS
    ? `${visible(text.slice(0, MOST_CHARACTERS))}\n… ${count(text.length - MOST_CHARACTERS)} more characters`
    : visible(text);
