import { useState } from 'react';
import controls from '../ui/controls.module.css';
import { number } from '../ui/format.ts';
import { EmptyState } from '../ui/Notice.tsx';
import type { Sample, Trajectory } from './queries.ts';
import { TrajectoryView } from './TrajectoryView.tsx';
import styles from './training.module.css';

export function Samples({ groups }: { groups: readonly Sample[][] }) {
  const [place, choose] = useState('0/0');
  const all = groups.flatMap((samples, group) =>
    samples.map((sample, n) => ({ ...sample, place: `${group}/${n}` })),
  );
  const shown = all.find((one) => one.place === place) ?? all[0];
  if (!shown)
    return (
      <EmptyState title="No groups">
        <p>The recipe leaves out all units. The tab Facts says why.</p>
      </EmptyState>
    );
  return (
    <div className={styles['columns']}>
      <nav aria-label="Sample groups" className={`${controls['choices']} ${styles['list']}`}>
        {groups.map((samples, group) => (
          <section key={group}>
            <h2>Group {group + 1}</h2>
            <ol className={styles['rewards']}>
              {samples.map(({ trajectory }, n) => (
                <li key={n}>
                  <button
                    type="button"
                    aria-current={trajectory === shown.trajectory ? 'true' : undefined}
                    aria-label={`Trajectory ${n + 1} of group ${group + 1}, reward ${printReward(trajectory)}`}
                    onClick={() => choose(`${group}/${n}`)}
                  >
                    {printReward(trajectory)}
                  </button>
                </li>
              ))}
            </ol>
          </section>
        ))}
      </nav>
      <TrajectoryView
        key={shown.place}
        id={`sample ${shown.place} ${callId(shown.trajectory)}`}
        trajectory={shown.trajectory}
        text={shown.text}
      />
    </div>
  );
}

const printReward = ({ reward }: Trajectory): string =>
  typeof reward === 'number' ? number(reward) : '–';

const callId = ({ metadata }: Trajectory): string =>
  String((metadata as { call_id?: unknown } | undefined)?.call_id);
