import { useQuery } from '@tanstack/react-query';
import type { QueueItem } from '../api/annotation.ts';
import { Button } from '../ui/Button.tsx';
import { Dialog, DialogActions } from '../ui/Dialog.tsx';
import { count } from '../ui/format.ts';
import { ErrorNote, Skeleton } from '../ui/Notice.tsx';
import { Table } from '../ui/Table.tsx';
import { itemsQuery } from './queries.ts';

interface Person {
  user: string;
  completed: number;
  skipped: number;
  in_progress: number;
}

/** Shows the work of each person in a queue. An item counts for the person who reached its furthest state first. */
export function QueueProgress({
  project,
  queueId,
  onClose,
}: {
  project: string;
  queueId: string;
  onClose: () => void;
}) {
  const { data, error } = useQuery({ ...itemsQuery(project, queueId), select: byPerson });
  return (
    <Dialog title="Progress" isOpen onClose={onClose}>
      {error && <ErrorNote error={error} />}
      {!data && !error && <Skeleton rows={3} />}
      {data?.length === 0 && <p>Nobody has started an item yet.</p>}
      {data && data.length > 0 && (
        <Table
          label="Progress by person"
          rows={data}
          rowKey={({ user }) => user}
          sort=""
          onSort={() => undefined}
          columns={[
            { name: 'user', title: 'Person', cell: ({ user }) => user },
            {
              name: 'completed',
              title: 'Completed',
              isNumber: true,
              cell: ({ completed }) => count(completed),
            },
            {
              name: 'skipped',
              title: 'Skipped',
              isNumber: true,
              cell: ({ skipped }) => count(skipped),
            },
            {
              name: 'begun',
              title: 'Started',
              isNumber: true,
              cell: ({ in_progress }) => count(in_progress),
            },
          ]}
        />
      )}
      <DialogActions>
        <Button look="primary" onClick={onClose}>
          Close
        </Button>
      </DialogActions>
    </Dialog>
  );
}

function byPerson(items: readonly QueueItem[]): Person[] {
  const people = new Map<string, Person>();
  for (const { annotator_user_id: by, annotation_state: state } of items) {
    if (by === null || state === 'unstarted') continue;
    const person = people.get(by) ?? { user: by, completed: 0, skipped: 0, in_progress: 0 };
    person[state]++;
    people.set(by, person);
  }
  return [...people.values()].toSorted((a, b) => b.completed - a.completed);
}
