import { useId } from 'react';
import controls from './controls.module.css';
import { inputClass } from './Field.tsx';

export function ChooseRole<Role extends string>({
  value,
  roles,
  onChange,
}: {
  value: Role;
  roles: readonly (readonly [Role, string])[];
  onChange: (role: Role) => void;
}) {
  const id = useId();
  return (
    <div className={controls['field']}>
      <label className={controls['label']} htmlFor={id}>
        Role
      </label>
      <select
        id={id}
        className={inputClass}
        value={value}
        onChange={({ target }) => onChange(target.value as Role)}
      >
        {roles.map(([role, words]) => (
          <option key={role} value={role}>
            {words}
          </option>
        ))}
      </select>
    </div>
  );
}
