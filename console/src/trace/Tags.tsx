import { useMutation } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import type { Schema } from '../api/client.ts';
import { tagOf } from '../api/tags.ts';
import { wire } from '../api/wire.ts';
import { addTag, removeTag, tagFault } from '../collect/tags.ts';
import { visible } from '../json/visible-text.ts';
import { Button } from '../ui/Button.tsx';
import controls from '../ui/controls.module.css';
import { Field } from '../ui/Field.tsx';
import { localTime } from '../ui/format.ts';
import { ErrorNote } from '../ui/Notice.tsx';
import styles from './trace.module.css';

/** Shows the tags of a call. Every user with the role writer may add and remove them. */
export function Tags({
  project,
  callId,
  given,
  mayChange,
  onChanged,
}: {
  project: string;
  callId: string;
  /** All feedback on the call, newest first. */
  given: readonly Schema<'FeedbackDto'>[];
  mayChange: boolean;
  onChanged: () => Promise<unknown>;
}) {
  const [text, setText] = useState('');
  const add = useMutation({
    mutationFn: (tag: string) => addTag(project, [callId], tag),
    onSuccess: () => setText(''),
    onSettled: onChanged,
  });
  const remove = useMutation({
    mutationFn: (tag: string) => removeTag(project, [callId], tag),
    onSettled: onChanged,
  });
  // `given` is newest first, so the oldest feedback of each tag remains
  const tags = new Map(given.map((one) => [tagOf(one.feedback_type), one]));
  tags.delete(undefined);
  const tag = text.trim();
  const fault = tagFault(tag);
  const isReady = tag !== '' && fault === undefined && !add.isPending;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (isReady) add.mutate(tag);
  };
  const error = add.error ?? remove.error;
  return (
    <>
      {tags.size > 0 && (
        <ul className={styles['tags']} aria-label="Tags">
          {[...(tags as Map<string, Schema<'FeedbackDto'>>)].map(([name, one]) => (
            <li
              key={name}
              className={controls['tag']}
              title={visible(`${one.creator ?? one[wire.userId]}, ${localTime(one.created_at)}`)}
            >
              <span>{visible(name)}</span>
              {mayChange && (
                <Button
                  look="quiet"
                  aria-label={`Remove the tag ${visible(name)}`}
                  disabled={remove.isPending}
                  onClick={() => remove.mutate(name)}
                >
                  ×
                </Button>
              )}
            </li>
          ))}
        </ul>
      )}
      {mayChange && (
        <form className={styles['note']} onSubmit={submit}>
          <Field
            label="Tag"
            value={text}
            isInvalid={fault !== undefined}
            hint={fault}
            onChange={({ target }) => setText(target.value)}
          />
          <Button type="submit" aria-label="Add the tag" disabled={!isReady}>
            Add
          </Button>
        </form>
      )}
      {error && <ErrorNote error={error} />}
    </>
  );
}
