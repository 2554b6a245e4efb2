import { useId, useState } from 'react';
import { InvalidJson, jsonIndex } from '../../json/json-index.ts';
import controls from '../../ui/controls.module.css';
import { inputClass } from '../../ui/Field.tsx';
import type { FieldKind, FieldSpec } from './recipe-fields.ts';
import { listJson, numberJson } from './recipe-text.ts';

/** Edits a member of the recipe. An empty field removes the member. */
export function RecipeField({
  spec,
  value,
  fault,
  suggestions,
  onEdit,
}: {
  spec: FieldSpec;
  /** The value of the recipe, in the form that a user types. */
  value: string;
  /** The reason why the service refuses it. */
  fault: string | undefined;
  suggestions: readonly string[] | undefined;
  /** Called with null to remove the member. */
  onEdit: (json: string | null) => void;
}) {
  const id = useId();
  /** The typed text. The recipe may have it in another form, or not yet. */
  const [typed, type] = useState<string>();
  const { label, kind, hint } = spec;
  const shown = typed ?? value;
  const isJson = typedJson(kind, shown) !== undefined;
  const said = fault ?? (isJson ? hint : 'This is not JSON yet, so it is not in the recipe.');
  return (
    <div className={controls['field']}>
      <label className={controls['label']} htmlFor={id}>
        {label}
      </label>
      <Control
        spec={spec}
        listId={suggestions && `${id}-offered`}
        shared={{
          id,
          className: inputClass,
          value: shown,
          'aria-invalid': fault !== undefined || !isJson || undefined,
          'aria-describedby': said && `${id}-said`,
          onBlur: () => {
            if (isJson) type(undefined);
          },
          onChange: ({ target }) => {
            type(target.value);
            const json = typedJson(kind, target.value);
            if (json !== undefined) onEdit(json);
          },
        }}
      />
      {suggestions && (
        <datalist id={`${id}-offered`}>
          {suggestions.map((one) => (
            <option key={one} value={one} />
          ))}
        </datalist>
      )}
      {said && (
        <span id={`${id}-said`} className={fault ? controls['fault'] : controls['hint']}>
          {said}
        </span>
      )}
    </div>
  );
}

function Control({
  spec: { kind, empty = '', options = [] },
  listId,
  shared,
}: {
  spec: FieldSpec;
  listId: string | undefined;
  shared: {
    id: string;
    className: string;
    value: string;
    'aria-invalid': true | undefined;
    'aria-describedby': string | undefined;
    onBlur: () => void;
    onChange: (event: { target: { value: string } }) => void;
  };
}) {
  const { value } = shared;
  if (kind === 'choice')
    return (
      <select {...shared}>
        <option value="">{empty} (default)</option>
        {/* the current value is offered even if the service refuses it */}
        {[...options, ...(value === '' || options.includes(value) ? [] : [value])].map((option) => (
          <option key={option}>{option}</option>
        ))}
      </select>
    );
  if (kind === 'list' || kind === 'json')
    return <textarea {...shared} rows={2} placeholder={empty} spellCheck={false} />;
  return (
    <input {...shared} placeholder={empty} spellCheck={false} autoComplete="off" list={listId} />
  );
}

const FLAGS = ['true', 'false'];

/** The JSON of a typed text. Null for an empty text, undefined for a text that no recipe can contain. */
function typedJson(kind: FieldKind, typed: string): string | null | undefined {
  if (typed.trim() === '') return null;
  if (kind === 'list') return listJson(typed);
  if (kind === 'json') return isJsonText(typed) ? typed : undefined;
  if (kind === 'number') return numberJson(typed);
  return kind === 'choice' && FLAGS.includes(typed) ? typed : JSON.stringify(typed);
}

function isJsonText(text: string): boolean {
  try {
    jsonIndex(text);
    return true;
  } catch (error) {
    if (error instanceof InvalidJson) return false;
    throw error;
  }
}
