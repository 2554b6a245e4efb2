import { useQuery } from '@tanstack/react-query';
import { useId, useState } from 'react';
import { specName, specsQuery } from '../api/annotation.ts';
import { Button } from '../ui/Button.tsx';
import controls from '../ui/controls.module.css';
import { Field, inputClass } from '../ui/Field.tsx';
import { ErrorNote } from '../ui/Notice.tsx';
import styles from './collect.module.css';
import { NewSpec } from './NewSpec.tsx';

export interface QueueDraft {
  name: string;
  description: string;
  /** Refs of the questions. */
  refs: readonly string[];
}

export const NEW_QUEUE: QueueDraft = { name: '', description: '', refs: [] };

/** True when the service accepts the queue: it needs a name and a question. */
export const isWholeQueue = ({ name, refs }: QueueDraft): boolean =>
  name.trim() !== '' && refs.length > 0;

export const queueBody = ({ name, description, refs }: QueueDraft) => ({
  name: name.trim(),
  description: description.trim(),
  scorer_refs: [...refs],
});

/**
 * Edits name, description and questions of a queue. A question is stored as a ref to a version, so that all answers of
 * a queue are to the same question.
 */
export function QueueFields({
  project,
  draft,
  onChange,
}: {
  project: string;
  draft: QueueDraft;
  onChange: (draft: QueueDraft) => void;
}) {
  const id = useId();
  const [isAsking, ask] = useState(false);
  const { data: specs, error } = useQuery(specsQuery(project));
  const refByName = new Map(draft.refs.map((ref) => [specName(ref), ref]));
  const known = specs?.map(({ name, label, ref }) => ({ name, label, ref })) ?? [];
  // questions of the queue that are not in the list: deleted ones, or those beyond its end
  const others = draft.refs
    .map((ref) => ({ name: specName(ref), label: specName(ref), ref }))
    .filter(({ name }) => !known.some((spec) => spec.name === name));
  const toggle = (name: string, ref: string) => {
    const kept = refByName.get(name);
    const refs = kept ? draft.refs.filter((one) => one !== kept) : [...draft.refs, ref];
    onChange({ ...draft, refs });
  };
  return (
    <>
      <Field
        label="Name"
        value={draft.name}
        maxLength={256}
        onChange={({ target }) => onChange({ ...draft, name: target.value })}
      />
      <div className={controls['field']}>
        <label className={controls['label']} htmlFor={id}>
          Description, shown to annotators
        </label>
        <textarea
          id={id}
          className={inputClass}
          rows={2}
          maxLength={16_384}
          value={draft.description}
          onChange={({ target }) => onChange({ ...draft, description: target.value })}
        />
      </div>
      <fieldset className={styles['inner']}>
        <legend>Questions</legend>
        {error && <ErrorNote error={error} />}
        {specs && known.length + others.length === 0 && (
          <p className={styles['soft']}>This project has no questions yet. Create one.</p>
        )}
        {[...known, ...others].map(({ name, label, ref }) => (
          <label key={name} className={styles['check']}>
            <input
              type="checkbox"
              checked={refByName.has(name)}
              onChange={() => toggle(name, ref)}
            />{' '}
            {label}
          </label>
        ))}
        {!isAsking && (
          <Button className={styles['start'] ?? ''} onClick={() => ask(true)}>
            New question
          </Button>
        )}
      </fieldset>
      {isAsking && (
        <NewSpec
          project={project}
          specs={specs ?? []}
          onMade={(ref) => {
            ask(false);
            onChange({ ...draft, refs: [...draft.refs, ref] });
          }}
          onClose={() => ask(false)}
        />
      )}
    </>
  );
}
