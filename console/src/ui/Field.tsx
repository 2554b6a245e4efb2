import { type ComponentProps, type ReactNode, useId } from 'react';
import styles from './controls.module.css';

export const inputClass = styles['input']!;

export function Field({
  label,
  hint,
  isInvalid,
  ...rest
}: ComponentProps<'input'> & { label: string; hint?: ReactNode; isInvalid?: boolean }) {
  const id = useId();
  return (
    <div className={styles['field']}>
      <label className={styles['label']} htmlFor={id}>
        {label}
      </label>
      <input
        spellCheck={false}
        autoComplete="off"
        {...rest}
        id={id}
        className={inputClass}
        aria-invalid={isInvalid || undefined}
        aria-describedby={hint ? `${id}-hint` : undefined}
      />
      {hint && (
        <span id={`${id}-hint`} className={styles['hint']}>
          {hint}
        </span>
      )}
    </div>
  );
}
