import { visible } from '../../json/visible-text.ts';
import { count, number } from '../../ui/format.ts';
import { Table } from '../../ui/Table.tsx';
import { Time } from '../../ui/Time.tsx';
import type { JobEvent } from './queries.ts';
import styles from '../training.module.css';

/** The most events that are listed, newest first. The charts cover all events. */
const ROWS = 200;

const NAMES: Record<string, string> = {
  training_started: 'Training started',
  gradient_step: 'Gradient step',
  training_ended: 'Training ended',
  training_failed: 'Training failed',
};

export function Events({ events, isOver }: { events: readonly JobEvent[]; isOver: boolean }) {
  if (events.length === 0)
    return (
      <p className={styles['soft']}>
        {isOver
          ? 'The trainer reported no events.'
          : 'The trainer has reported no events yet. New events appear here.'}
      </p>
    );
  const first = Math.max(0, events.length - ROWS);
  return (
    <>
      <p className={styles['soft']} role="status">
        {count(events.length)} events{first > 0 && `, of which the newest ${ROWS} are shown`}
      </p>
      <Table
        label="Events"
        rows={events
          .slice(first)
          .map((event, n) => ({ ...event, place: first + n + 1 }))
          .toReversed()}
        rowKey={({ id }) => id}
        sort=""
        onSort={() => undefined}
        columns={[
          {
            name: 'what',
            title: 'Event',
            cell: ({ type, data }) => (
              <>
                <strong>{NAMES[type] ?? visible(type)}</strong>{' '}
                <span title={eventText(data)}>{eventText(data)}</span>
              </>
            ),
          },
          { name: 'place', title: 'No.', isNumber: true, cell: ({ place }) => place },
          {
            name: 'at',
            title: 'Time',
            isNumber: true,
            cell: ({ created_at }) => <Time at={created_at} />,
          },
        ]}
      />
    </>
  );
}

const eventText = (data: Record<string, unknown>): string =>
  Object.entries(data)
    .map(([name, value]) =>
      visible(`${name} ${typeof value === 'number' ? number(value) : String(value)}`),
    )
    .join(' · ')
    .slice(0, 1000);
