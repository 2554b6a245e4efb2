import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { post, type Schema } from '../api/client.ts';
import { useLive } from '../api/live.ts';
import { mayActAs, useMe } from '../api/session.ts';
import { wire } from '../api/wire.ts';
import { visible } from '../json/visible.ts';
import { Button } from '../ui/Button.tsx';
import { Field } from '../ui/Field.tsx';
import { ErrorNote } from '../ui/Notice.tsx';
import { Thumb } from '../ui/Thumb.tsx';
import { Time } from '../ui/Time.tsx';
import { Annotations } from './Annotations.tsx';
import styles from './trace.module.css';

type Given = Schema<'FeedbackDto'>;

const MOST = 200;
const MOST_NOTE = 1024;

/** What people said of the call, and what one says oneself. */
export function Feedback({ project, callId }: { project: string; callId: string }) {
  const me = useMe();
  const client = useQueryClient();
  const ref = `${wire.scheme}:///${project}/call/${callId}`;
  const key = ['feedback', ref];
  const given = useQuery({
    queryKey: key,
    queryFn: async ({ signal }): Promise<Given[]> => {
      const { result } = await post(
        '/feedback/query',
        {
          project_id: project,
          query: { $expr: { $eq: [{ $getField: wire.ref }, { $literal: ref }] } },
          sort_by: [{ field: 'created_at', direction: 'desc' }],
          limit: MOST,
        },
        { signal },
      );
      return result as Given[]; // whole rows, since it asks for no `fields`
    },
  });
  const again = () => client.invalidateQueries({ queryKey: key });
  useLive(project, ['feedback'], again);
  const give = useMutation({
    mutationFn: (said: {
      feedback_type: string;
      payload: Given['payload'];
      annotation_ref?: string;
    }) => post('/feedback/create', { project_id: project, [wire.ref]: ref, ...said }),
    onSuccess: again,
  });
  const react = (emoji: string) =>
    give.mutate({ feedback_type: `${wire.feedback}.reaction.1`, payload: { emoji } });
  const error = given.error ?? give.error;
  return (
    <div className={styles['feedback']}>
      {mayActAs(me, 'writer', project) && (
        <>
          <div className={styles['thumbs']}>
            <Button disabled={give.isPending} onClick={() => react('👍')}>
              <Thumb isUp /> Good
            </Button>
            <Button disabled={give.isPending} onClick={() => react('👎')}>
              <Thumb isUp={false} /> Bad
            </Button>
          </div>
          <Note
            isBusy={give.isPending}
            onNote={(note) =>
              give.mutate({ feedback_type: `${wire.feedback}.note.1`, payload: { note } })
            }
          />
          <Annotations
            project={project}
            isBusy={give.isPending}
            onGive={(name, annotation_ref, value) =>
              give.mutate({
                feedback_type: `${wire.feedback}.annotation.${name}`,
                annotation_ref,
                payload: { value },
              })
            }
          />
        </>
      )}
      {error && <ErrorNote error={error} />}
      {given.data?.length === 0 && (
        <p className={styles['soft']}>Nobody has said anything of this call.</p>
      )}
      <ul className={styles['given']} aria-label="Feedback given">
        {given.data?.map((one) => (
          <li key={one.id}>
            <Said one={one} />
            <span className={styles['by']}>
              {one.creator ?? one[wire.userId]}, <Time at={one.created_at} />
            </span>
          </li>
        ))}
      </ul>
    </div>
  );
}

function Said({ one }: { one: Given }) {
  const { feedback_type: type, payload } = one;
  if (type === `${wire.feedback}.reaction.1`) {
    const emoji = String(payload['emoji']);
    const isUp = emoji.startsWith('👍');
    if (isUp || emoji.startsWith('👎')) return <Thumb isUp={isUp} label={isUp ? 'Good' : 'Bad'} />;
    return <span>{visible(emoji)}</span>;
  }
  if (type === `${wire.feedback}.note.1`) return <p>{visible(String(payload['note']))}</p>;
  const name = type.replace(`${wire.feedback}.annotation.`, '');
  const value = type === name ? payload : payload['value'];
  return (
    <p>
      <strong>{visible(name)}</strong>{' '}
      <code>{visible(JSON.stringify(value ?? payload).slice(0, 2000))}</code>
    </p>
  );
}

function Note({ isBusy, onNote }: { isBusy: boolean; onNote: (note: string) => void }) {
  const [note, setNote] = useState('');
  const submit = (event: FormEvent) => {
    event.preventDefault();
    onNote(note.trim());
    setNote('');
  };
  return (
    <form className={styles['note']} onSubmit={submit}>
      <Field
        label="Note"
        maxLength={MOST_NOTE}
        value={note}
        onChange={({ target }) => setNote(target.value)}
      />
      <Button type="submit" disabled={note.trim() === '' || isBusy}>
        Add
      </Button>
    </form>
  );
}
