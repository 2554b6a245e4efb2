import { useRef } from 'react';
import type { Violation } from '../../api/problem.ts';
import type { JsonIndex } from '../../json/json-index.ts';
import { CopyButton } from '../../ui/CopyButton.tsx';
import { inputClass } from '../../ui/Field.tsx';
import { nodeAt } from './recipe-text.ts';
import styles from './recipe.module.css';

/** Edits the JSON of a recipe, and lists the service's faults in it. */
export function RecipeJson({
  text,
  index,
  broken,
  violations,
  onEdit,
}: {
  text: string;
  /** Index of the text; undefined while it is invalid. */
  index: JsonIndex | undefined;
  broken: string | undefined;
  violations: readonly Violation[];
  onEdit: (text: string) => void;
}) {
  const box = useRef<HTMLTextAreaElement>(null);
  const show = (path: string) => {
    const node = index && nearestNode(index, path);
    if (node === undefined) return;
    box.current!.focus();
    box.current!.setSelectionRange(index!.nodes.start[node]!, index!.nodes.end[node]!);
  };
  return (
    <section className={styles['json']} aria-label="The recipe as JSON">
      <div className={styles['bar']}>
        <h2>JSON</h2>
        <CopyButton look="quiet" label="Copy" aria-label="Copy the JSON" text={text} />
      </div>
      <textarea
        ref={box}
        aria-label="Recipe"
        className={inputClass}
        spellCheck={false}
        value={text}
        aria-invalid={broken !== undefined || violations.length > 0 || undefined}
        onChange={({ target }) => onEdit(target.value)}
      />
      {broken !== undefined && (
        <p role="status" className={styles['bad']}>
          {broken}
        </p>
      )}
      {violations.length > 0 && (
        <ul aria-label="Errors of the recipe">
          {violations.map(({ path, message }) => (
            <li key={`${path} ${message}`}>
              <button type="button" onClick={() => show(path)} title="Show it in the JSON">
                <code>{path || 'the recipe'}</code> {message}
              </button>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

/** The node at a path, or its nearest existing ancestor. */
function nearestNode(index: JsonIndex, path: string): number {
  for (let at = path; at !== ''; at = at.replace(/(^|\.|\[)[^.[]*$/, '')) {
    const node = nodeAt(index, at);
    if (node !== undefined) return node;
  }
  return 0;
}
