import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { post } from '../api/client.ts';
import { keys } from '../api/keys.ts';
import { useLive } from '../api/live.ts';
import { mayActAs, useMe } from '../api/session.ts';
import { tagOf } from '../api/tags.ts';
import { wire } from '../api/wire.ts';
import { visible } from '../json/visible-text.ts';
import { Button } from '../ui/Button.tsx';
import { Field } from '../ui/Field.tsx';
import { localTime } from '../ui/format.ts';
import { ErrorNote } from '../ui/Notice.tsx';
import { Thumb } from '../ui/Thumb.tsx';
import { Time } from '../ui/Time.tsx';
import { Annotations } from './Annotations.tsx';
import { feedbackQuery, type GivenFeedback } from './queries.ts';
import { Tags } from './Tags.tsx';
import styles from './trace.module.css';

const MOST_NOTE = 1024;

export function Feedback({ project, callId }: { project: string; callId: string }) {
  const me = useMe();
  const client = useQueryClient();
  const ref = `${wire.scheme}:///${project}/call/${callId}`;
  const given = useQuery(feedbackQuery(project, ref));
  const again = () => client.invalidateQueries({ queryKey: keys.feedback(ref) });
  useLive(project, ['feedback'], again);
  const give = useMutation({
    mutationFn: (said: {
      feedback_type: string;
      payload: GivenFeedback['payload'];
      annotation_ref?: string;
    }) => post('/feedback/create', { project_id: project, [wire.ref]: ref, ...said }),
    onSuccess: again,
  });
  const take = useMutation({
    mutationFn: (ids: string[]) => {
      const among = ids.map((id) => ({ $literal: id }));
      const query = { $expr: { $in: [{ $getField: 'id' }, among] } };
      return post('/feedback/purge', { project_id: project, query });
    },
    onSuccess: again,
  });
  const isWriter = mayActAs(me, 'writer', project);
  const isMine = (one: GivenFeedback) => one[wire.userId] === me.user;
  const thumbs = given.data?.filter((one) => isMine(one) && thumbOf(one) !== undefined) ?? [];
  /** A user has one thumb per call: the other thumb replaces it, the same one removes it. */
  const react = async (emoji: string) => {
    const isGiven = thumbs.some((one) => thumbOf(one) === emoji);
    if (thumbs.length > 0) await take.mutateAsync(thumbs.map(({ id }) => id));
    if (!isGiven)
      await give.mutateAsync({ feedback_type: `${wire.feedback}.reaction.1`, payload: { emoji } });
  };
  const isBusy = give.isPending || take.isPending;
  const error = given.error ?? give.error ?? take.error;
  return (
    <div className={styles['feedback']}>
      {isWriter && (
        <>
          <div className={styles['thumbs']}>
            {(['👍', '👎'] as const).map((emoji) => (
              <Button
                key={emoji}
                className={styles['thumb']}
                aria-pressed={thumbs.some((one) => thumbOf(one) === emoji)}
                disabled={isBusy || !given.data}
                onClick={() => {
                  // the error is shown below
                  react(emoji).catch(() => undefined);
                }}
              >
                <Thumb isUp={emoji === '👍'} /> {emoji === '👍' ? 'Good' : 'Bad'}
              </Button>
            ))}
          </div>
          <Note
            isBusy={give.isPending}
            onNote={(note) =>
              give.mutateAsync({ feedback_type: `${wire.feedback}.note.1`, payload: { note } })
            }
          />
          <Annotations
            project={project}
            isBusy={give.isPending}
            onGive={(name, annotation_ref, value) =>
              give.mutateAsync({
                feedback_type: `${wire.feedback}.annotation.${name}`,
                annotation_ref,
                payload: { value },
              })
            }
          />
        </>
      )}
      <Tags
        project={project}
        callId={callId}
        given={given.data ?? []}
        mayChange={isWriter}
        onChanged={again}
      />
      {error && <ErrorNote error={error} />}
      {given.data?.length === 0 && <p className={styles['soft']}>This call has no feedback yet.</p>}
      <FeedbackList
        given={given.data ?? []}
        mayDelete={(one) => isWriter && isMine(one)}
        isBusy={isBusy}
        onDelete={(id) => take.mutate([id])}
      />
    </div>
  );
}

/** Lists all feedback except tags, which have a list of their own above. */
function FeedbackList({
  given,
  mayDelete,
  isBusy,
  onDelete,
}: {
  given: readonly GivenFeedback[];
  mayDelete: (one: GivenFeedback) => boolean;
  isBusy: boolean;
  onDelete: (id: string) => void;
}) {
  const said = given.filter((one) => tagOf(one.feedback_type) === undefined);
  return (
    <ul className={styles['given']} aria-label="Feedback given">
      {said.map((one) => (
        <li key={one.id}>
          <FeedbackContent one={one} />
          <span className={styles['by']}>
            {one.creator ?? one[wire.userId]}, <Time at={one.created_at} />
            {mayDelete(one) && (
              <Button
                look="quiet"
                aria-label={`Delete my feedback of ${localTime(one.created_at)}`}
                disabled={isBusy}
                onClick={() => onDelete(one.id)}
              >
                Delete
              </Button>
            )}
          </span>
        </li>
      ))}
    </ul>
  );
}

/** The thumb of a reaction, ignoring its skin colour. */
function thumbOf({ feedback_type, payload }: GivenFeedback): '👍' | '👎' | undefined {
  if (feedback_type !== `${wire.feedback}.reaction.1`) return undefined;
  const emoji = String(payload['emoji']);
  return (['👍', '👎'] as const).find((thumb) => emoji.startsWith(thumb));
}

function FeedbackContent({ one }: { one: GivenFeedback }) {
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

/** Edits a note. The text stays until it is stored. */
function Note({ isBusy, onNote }: { isBusy: boolean; onNote: (note: string) => Promise<unknown> }) {
  const [note, setNote] = useState('');
  const submit = (event: FormEvent) => {
    event.preventDefault();
    onNote(note.trim()).then(
      () => setNote(''),
      () => undefined,
    );
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
