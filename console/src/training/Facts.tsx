import { useQuery } from '@tanstack/react-query';
import { visible } from '../json/visible-text.ts';
import { count, number } from '../ui/format.ts';
import { Table } from '../ui/Table.tsx';
import {
  type Facts as BuildFacts,
  type Lint,
  type BuildPreview,
  type Rewards,
  tracesQuery,
} from './queries.ts';
import { CallLink } from './Lineage.tsx';
import styles from './training.module.css';

/** Numbers of units by outcome, in the order of the checks. */
const COUNTS: [name: keyof BuildPreview['counts'], label: string, hint: string][] = [
  ['units', 'Units', 'Units that the recipe selects'],
  ['waiting', 'Waiting', 'Units that still run, or are not settled yet'],
  ['unlabelled', 'Unlabelled', 'Units without the feedback that the reward needs'],
  ['failed', 'Failed', 'Units that ended with an exception and are left out'],
  ['empty', 'Empty', 'Units without a call of the policy'],
  ['ungrouped', 'Ungrouped', 'Units without a value to group by'],
  ['dropped', 'Dropped', 'Units that a lint leaves out'],
  ['trajectories', 'Trajectories', 'Trajectories of the remaining units'],
  ['groups', 'Groups', 'Groups of trajectories that are compared with each other'],
  ['eval_groups', 'Eval groups', 'Groups that are held back for evaluation'],
  ['trained_tokens', 'Trained tokens', 'Sampled tokens that training learns from'],
];

/** Shows the numbers of a build that people check before they spend GPU hours on it. */
export function Facts({
  entity,
  project,
  made: { counts, lints, rewards, facts },
}: {
  entity: string;
  project: string;
  made: BuildPreview;
}) {
  return (
    <div className={styles['scroll']} tabIndex={0} role="region" aria-label="Facts">
      <dl className={styles['totals']} aria-label="Counts">
        {COUNTS.map(([name, label, hint]) => (
          <div key={name} title={hint}>
            <dt>{label}</dt>
            <dd>{count(counts[name])}</dd>
          </div>
        ))}
      </dl>
      <div className={styles['halves']}>
        <Histogram rewards={rewards} />
        <Lints entity={entity} project={project} lints={lints} />
      </div>
      <Others facts={facts} />
    </div>
  );
}

function Histogram({ rewards }: { rewards: Rewards }) {
  const { histogram, mean, std_dev, min, max, eval_mean, equal_groups } = rewards;
  const most = Math.max(1, ...histogram.map((bin) => bin.count));
  return (
    <figure className={styles['panel']}>
      <figcaption>
        <h2>Rewards</h2>
        <span className={styles['soft']}>
          mean {number(mean)} ± {number(std_dev)}, from {number(min)} to {number(max)}
          {eval_mean !== null && `, eval ${number(eval_mean)}`}
        </span>
      </figcaption>
      <ol className={styles['histogram']} aria-label="Rewards">
        {histogram.map((bin) => {
          const range = `${number(bin.from)} to ${number(bin.to)}`;
          return (
            <li key={bin.from} title={`${bin.count} trajectories from ${range}`}>
              <span>{count(bin.count)}</span>
              <i style={{ height: `${(bin.count / most) * 100}%` }} aria-hidden="true" />
              <span className={styles['soft']}>
                {number(bin.from)}–{number(bin.to)}
              </span>
            </li>
          );
        })}
      </ol>
      {equal_groups > 0 && (
        <p className={styles['soft']}>
          Groups with equal rewards, from which training learns nothing: {count(equal_groups)}
        </p>
      )}
    </figure>
  );
}

function Lints({
  entity,
  project,
  lints,
}: {
  entity: string;
  project: string;
  lints: readonly Lint[];
}) {
  const ids = lints.flatMap(({ examples }) => examples);
  const { data: traces } = useQuery(tracesQuery(`${entity}/${project}`, ids));
  return (
    <section className={styles['panel']}>
      <h2>Lints</h2>
      {lints.length === 0 && <p className={styles['soft']}>The lints found no problems.</p>}
      {lints.length > 0 && (
        <Table
          label="Lints"
          rows={lints}
          rowKey={({ code }) => code}
          sort=""
          onSort={() => undefined}
          columns={[
            {
              name: 'code',
              title: 'Lint',
              cell: ({ code, level, is_dropped }) => (
                <>
                  <span className={level === 'error' ? styles['bad'] : undefined}>{code}</span>{' '}
                  <small className={styles['soft']}>{is_dropped ? 'left out' : level}</small>
                </>
              ),
            },
            {
              name: 'examples',
              title: 'Examples',
              cell: ({ examples }) => (
                <span className={styles['examples']}>
                  {examples.slice(0, 2).map((id) => (
                    <CallLink
                      key={id}
                      entity={entity}
                      project={project}
                      id={id}
                      traceId={traces?.get(id)}
                    />
                  ))}
                </span>
              ),
            },
            {
              name: 'count',
              title: 'Found',
              isNumber: true,
              cell: (lint) => count(lint.count),
            },
          ]}
        />
      )}
    </section>
  );
}

function Others({ facts }: { facts: BuildFacts }) {
  const { tokens, turns, metrics, group_sizes, models, finish_reasons, dialects } = facts;
  const lists: [title: string, values: Record<string, number>][] = [
    ['Models', models],
    ['Finish reasons', finish_reasons],
    ['Sizes of groups', group_sizes],
    ['Instrumentations', dialects],
    ['Terms of the reward', metrics],
    ['Tokens of a trajectory', { ...tokens }],
    ['Turns of a trajectory', { ...turns }],
  ];
  return (
    <div className={styles['lists']}>
      {lists
        .filter(([, values]) => Object.keys(values).length > 0)
        .map(([title, values]) => (
          <section key={title} className={styles['panel']}>
            <h2>{title}</h2>
            <dl>
              {Object.entries(values).map(([name, value]) => (
                <div key={name}>
                  <dt title={visible(name)}>{visible(name)}</dt>
                  <dd>{number(value)}</dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
    </div>
  );
}
