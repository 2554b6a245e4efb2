import { useId } from 'react';
import styles from './controls.module.css';
import { inputClass } from './Field.tsx';

/** A labelled choice of one of some values, each with the text that is shown for it. */
export function SelectField<Value extends string>({
  label,
  value,
  options,
  onChoose,
}: {
  label: string;
  value: Value | undefined;
  options: readonly (readonly [value: Value, text: string])[];
  onChoose: (value: Value) => void;
}) {
  const id = useId();
  return (
    <div className={styles['field']}>
      <label className={styles['label']} htmlFor={id}>
        {label}
      </label>
      <select
        id={id}
        className={inputClass}
        value={value}
        onChange={({ target }) => onChoose(target.value as Value)}
      >
        {options.map(([one, text]) => (
          <option key={one} value={one}>
            {text}
          </option>
        ))}
      </select>
    </div>
  );
}
