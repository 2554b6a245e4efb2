import { useQuery } from '@tanstack/react-query';
import type { Violation } from '../../api/problem.ts';
import type { JsonIndex } from '../../json/json-index.ts';
import { Button } from '../../ui/Button.tsx';
import { modelsQuery, termsQuery } from '../queries.ts';
import { type FieldSpec, SECTIONS, termFields } from './recipe-fields.ts';
import { nodeAt, shownValue } from './recipe-text.ts';
import { RecipeField } from './RecipeField.tsx';
import styles from './recipe.module.css';

/** The most terms that a recipe may have. */
const MOST_TERMS = 16;

/** Edits the members that most recipes have. Other members stay unchanged in the JSON. */
export function RecipeForm({
  entity,
  project,
  index,
  violations,
  isBroken,
  onEdit,
}: {
  entity: string;
  project: string;
  /** Index of the last valid JSON. */
  index: JsonIndex;
  violations: readonly Violation[];
  /** The JSON is invalid, so the form cannot be edited. */
  isBroken: boolean;
  /** Called with null to remove the member. */
  onEdit: (path: string, json: string | null) => void;
}) {
  const { data: terms = [] } = useQuery(termsQuery(`${entity}/${project}`));
  const { data: models = [] } = useQuery(modelsQuery(entity, project));
  const sum = nodeAt(index, 'reward.sum');
  const count = sum === undefined ? 0 : index.countChildren(sum, MOST_TERMS);
  const offered = (spec: FieldSpec): string[] | undefined => {
    if (spec.suggest === 'models') return models.map(({ name }) => name);
    if (spec.suggest === 'feedback') return [...new Set(terms.map(({ feedback }) => feedback))];
    const term = /^(.*)\.path$/.exec(spec.path)?.[1];
    if (term === undefined) return undefined;
    const type = shownValue(index, nodeAt(index, `${term}.feedback`));
    return terms.filter(({ feedback }) => feedback === type).map(({ path }) => path);
  };
  const field = (spec: FieldSpec) => (
    <RecipeField
      key={spec.path}
      spec={spec}
      value={shownValue(index, nodeAt(index, spec.path))}
      fault={violations.find(({ path }) => isAtOrBelow(path, spec.path))?.message}
      suggestions={offered(spec)}
      onEdit={(json) => onEdit(spec.path, json)}
    />
  );
  return (
    <fieldset disabled={isBroken} className={styles['form']} aria-label="The recipe as a form">
      {SECTIONS.map(({ title, fields }) => (
        <section key={title} aria-label={title}>
          <h2>{title}</h2>
          {title === 'Reward' &&
            Array.from({ length: count }, (_, place) => (
              <section key={place} className={styles['term']} aria-label={`Term ${place + 1}`}>
                <div className={styles['fields']}>{termFields(place).map(field)}</div>
                {count > 1 && (
                  <Button look="quiet" onClick={() => onEdit(`reward.sum[${place}]`, null)}>
                    Remove this term
                  </Button>
                )}
              </section>
            ))}
          {title === 'Reward' && count < MOST_TERMS && (
            <Button
              onClick={() =>
                onEdit(`reward.sum[${count}]`, JSON.stringify({ feedback: '', path: '' }))
              }
            >
              Add a term
            </Button>
          )}
          <div className={styles['fields']}>{fields.map(field)}</div>
        </section>
      ))}
    </fieldset>
  );
}

const isAtOrBelow = (path: string, field: string): boolean =>
  path === field || path.startsWith(`${field}.`) || path.startsWith(`${field}[`);
