import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useId, useState } from 'react';
import type { AnnotationSpec } from '../api/annotation.ts';
import { post } from '../api/client.ts';
import { keys } from '../api/keys.ts';
import { wire } from '../api/wire.ts';
import { Button } from '../ui/Button.tsx';
import controls from '../ui/controls.module.css';
import { Field, inputClass } from '../ui/Field.tsx';
import { ErrorNote } from '../ui/Notice.tsx';
import { SelectField } from '../ui/SelectField.tsx';
import styles from './collect.module.css';
import { type AnswerKind, KINDS, NEW_SPEC, specFault, specId, specValue } from './spec-draft.ts';

/** Shows the inputs for a new question. It is no `form` element, because it is placed inside other forms. */
export function NewSpec({
  project,
  specs,
  onMade,
  onClose,
}: {
  project: string;
  specs: readonly AnnotationSpec[];
  onMade: (ref: string) => void;
  onClose: () => void;
}) {
  const id = useId();
  const client = useQueryClient();
  const [draft, setDraft] = useState(NEW_SPEC);
  const set = (some: Partial<typeof draft>) => setDraft({ ...draft, ...some });
  const object_id = specId(draft.name);
  const isTaken = specs.some(({ name }) => name === object_id);
  const fault = isTaken
    ? `A question named ${object_id} exists: choose another text.`
    : specFault(draft);
  const make = useMutation({
    mutationFn: () =>
      post('/obj/create', { obj: { project_id: project, object_id, val: specValue(draft) } }),
    onSuccess: async ({ digest }) => {
      await client.invalidateQueries({ queryKey: keys.annotationSpecs(project) });
      onMade(`${wire.scheme}:///${project}/object/${object_id}:${digest}`);
    },
  });
  return (
    <fieldset className={styles['inner']}>
      <legend>New question</legend>
      <Field
        label="Question text"
        value={draft.name}
        maxLength={100}
        onChange={({ target }) => set({ name: target.value })}
      />
      <SelectField
        label="Answer"
        value={draft.kind}
        options={Object.entries(KINDS)}
        onChoose={(kind) => set({ kind: kind as AnswerKind })}
      />
      {draft.kind === 'number' && (
        <div className={styles['line']}>
          <Field
            label="From"
            value={draft.from}
            onChange={({ target }) => set({ from: target.value })}
          />
          <Field label="To" value={draft.to} onChange={({ target }) => set({ to: target.value })} />
          <label>
            <input
              type="checkbox"
              checked={draft.isWhole}
              onChange={({ target }) => set({ isWhole: target.checked })}
            />{' '}
            Whole numbers
          </label>
        </div>
      )}
      {draft.kind === 'choice' && (
        <div className={controls['field']}>
          <label className={controls['label']} htmlFor={`${id}-choices`}>
            Texts, one per line
          </label>
          <textarea
            id={`${id}-choices`}
            className={inputClass}
            rows={4}
            value={draft.choices}
            onChange={({ target }) => set({ choices: target.value })}
          />
        </div>
      )}
      {draft.name !== '' && fault !== undefined && <p className={styles['soft']}>{fault}</p>}
      {make.error && <ErrorNote error={make.error} />}
      <div className={styles['line']}>
        <Button disabled={fault !== undefined || make.isPending} onClick={() => make.mutate()}>
          Create question
        </Button>
        <Button look="quiet" onClick={onClose}>
          Cancel
        </Button>
      </div>
    </fieldset>
  );
}
