import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { post, type RequestBody } from '../api/client.ts';
import { keys } from '../api/keys.ts';
import { Button } from '../ui/Button.tsx';
import { Dialog, DialogActions } from '../ui/Dialog.tsx';
import { Field } from '../ui/Field.tsx';
import { count } from '../ui/format.ts';
import { ErrorNote } from '../ui/Notice.tsx';
import {
  CLASSES,
  type DataClass,
  faultAt,
  isElsewhere,
  MOST_COUNTED,
  olderQuery,
  type Retention,
} from './queries.ts';
import styles from './retention.module.css';

const LABELS: Record<DataClass, string> = {
  calls_days: 'Days for calls',
  payload_days: 'Days for payloads',
  feedback_days: 'Days for feedback',
};

type TypedDays = Record<DataClass, string>;

const typedDays = (stored: Retention): TypedDays => ({
  calls_days: String(stored.calls_days ?? ''),
  payload_days: String(stored.payload_days ?? ''),
  feedback_days: String(stored.feedback_days ?? ''),
});

/** Returns the typed number, or null for none. Other text stays as it is, so that the service refuses it. */
function daysOf(typed: string): number | null {
  const text = typed.trim();
  if (text === '') return null;
  return /^\d+$/.test(text) ? Number(text) : (text as unknown as number);
}

/** Shows the days of each class of data. An admin edits them. */
export function Policy({
  project,
  stored,
  isAdmin,
}: {
  project: string;
  stored: Retention;
  isAdmin: boolean;
}) {
  const client = useQueryClient();
  const [typed, type] = useState(() => typedDays(stored));
  const [isAsking, ask] = useState(false);
  const save = useMutation({
    mutationFn: (body: RequestBody<'/retention/set'>) => post('/retention/set', body),
    onSuccess: (policy) => {
      client.setQueryData(keys.retention(project), policy);
      type(typedDays(policy));
    },
    onSettled: () => ask(false),
  });
  const days = Object.fromEntries(CLASSES.map((of) => [of, daysOf(typed[of])])) as Record<
    DataClass,
    number | null
  >;
  const edit = (of: DataClass) => (text: string) => {
    save.reset();
    type({ ...typed, [of]: text });
  };
  const isErasing = CLASSES.some((of) => days[of] !== null);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    ask(true);
  };
  return (
    <form className={styles['section']} onSubmit={submit}>
      <p className={styles['soft']}>
        {stored.is_default
          ? 'The project has no policy of its own: this is the default of the service.'
          : 'The project has a policy of its own.'}{' '}
        Without a number, data is kept for ever.
      </p>
      <div className={styles['days']}>
        {CLASSES.map((of) => (
          <Days
            key={of}
            project={project}
            of={of}
            typed={typed[of]}
            days={days[of]}
            fault={faultAt(save.error, of)}
            onType={isAdmin ? edit(of) : undefined}
          />
        ))}
      </div>
      {isElsewhere(save.error, CLASSES) && <ErrorNote error={save.error} />}
      {isAdmin && (
        <Button type="submit" look="primary" disabled={save.isPending}>
          Save the policy
        </Button>
      )}
      <Dialog title="Save the policy?" isOpen={isAsking} onClose={() => ask(false)}>
        <p>
          {sentences(days)}{' '}
          {isErasing &&
            'Older data is erased at the next run of retention, except what is on legal hold. This cannot be undone.'}
        </p>
        <DialogActions>
          <Button onClick={() => ask(false)}>Cancel</Button>
          <Button
            look="danger"
            disabled={save.isPending}
            onClick={() => save.mutate({ project_id: project, ...days })}
          >
            {isErasing ? 'Save and erase' : 'Save'}
          </Button>
        </DialogActions>
      </Dialog>
    </form>
  );
}

const NAMES: Record<DataClass, string> = {
  calls_days: 'Calls',
  payload_days: 'Inputs and outputs',
  feedback_days: 'Feedback',
};

const sentences = (days: Record<DataClass, number | null>): string =>
  CLASSES.map((of) =>
    days[of] === null
      ? `${NAMES[of]} will be kept for ever.`
      : `${NAMES[of]} will be kept for ${days[of]} days.`,
  ).join(' ');

function Days({
  project,
  of,
  typed,
  days,
  fault,
  onType,
}: {
  project: string;
  of: DataClass;
  typed: string;
  days: number | null;
  fault: string | undefined;
  onType: ((text: string) => void) | undefined;
}) {
  const counted = typeof days === 'number' ? days : null;
  const older = useQuery(olderQuery(project, of, counted));
  const what = of === 'feedback_days' ? 'feedback' : 'calls';
  const more = of !== 'feedback_days' && older.data === MOST_COUNTED ? 'at least ' : '';
  return (
    <Field
      label={LABELS[of]}
      inputMode="numeric"
      placeholder="for ever"
      value={typed}
      readOnly={!onType}
      onChange={({ target }) => onType?.(target.value)}
      isInvalid={fault !== undefined}
      hint={
        fault ??
        (counted !== null && older.data !== undefined
          ? `Older ${what} now: ${more}${count(older.data)}`
          : '')
      }
    />
  );
}
