import { useQuery } from '@tanstack/react-query';
import { type FormEvent, useId, useState } from 'react';
import { type AnnotationSpec, specsQuery } from '../api/annotation.ts';
import { Button } from '../ui/Button.tsx';
import controls from '../ui/controls.module.css';
import styles from './trace.module.css';

/** Shows a form for each question of the project: objects of the class AnnotationSpec with a `field_schema`. */
export function Annotations({
  project,
  isBusy,
  onGive,
}: {
  project: string;
  isBusy: boolean;
  onGive: (name: string, ref: string, value: unknown) => Promise<unknown>;
}) {
  const { data } = useQuery(specsQuery(project));
  return data?.map((spec) => (
    <Annotation
      key={spec.ref}
      spec={spec}
      isBusy={isBusy}
      onGive={(value) => onGive(spec.name, spec.ref, value)}
    />
  ));
}

function Annotation({
  spec,
  isBusy,
  onGive,
}: {
  spec: AnnotationSpec;
  isBusy: boolean;
  onGive: (value: unknown) => Promise<unknown>;
}) {
  const id = useId();
  const [text, setText] = useState('');
  const { schema } = spec;
  const choices = schema.enum ?? (schema.type === 'boolean' ? [true, false] : undefined);
  const isNumber = schema.type === 'number' || schema.type === 'integer';
  const submit = (event: FormEvent) => {
    event.preventDefault();
    onGive(choices ? choices[Number(text)] : isNumber ? Number(text) : text).then(
      () => setText(''),
      () => undefined,
    );
  };
  return (
    <form className={styles['note']} onSubmit={submit}>
      <div className={controls['field']}>
        <label className={controls['label']} htmlFor={id}>
          {spec.label}
        </label>
        {choices ? (
          <select
            id={id}
            className={controls['input']}
            value={text}
            onChange={({ target }) => setText(target.value)}
          >
            <option value="">choose</option>
            {choices.map((choice, n) => (
              <option key={n} value={n}>
                {typeof choice === 'string' ? choice : JSON.stringify(choice)}
              </option>
            ))}
          </select>
        ) : (
          <input
            id={id}
            className={controls['input']}
            type={isNumber ? 'number' : 'text'}
            step={schema.type === 'integer' ? 1 : 'any'}
            min={schema.minimum}
            max={schema.maximum}
            value={text}
            onChange={({ target }) => setText(target.value)}
          />
        )}
      </div>
      <Button type="submit" disabled={text === '' || isBusy}>
        Save
      </Button>
    </form>
  );
}
