import { Collect } from '../collect/Collect.tsx';
import { Button } from '../ui/Button.tsx';
import { count } from '../ui/format.ts';
import styles from './traces.module.css';

/** What can be done with the rows that are chosen. It is loaded when there are some. */
export function Selection({
  project,
  selected,
  onClear,
}: {
  project: string;
  selected: ReadonlySet<string>;
  onClear: () => void;
}) {
  return (
    <div className={styles['bar']} role="region" aria-label="Selection">
      <span role="status" className={styles['selected']}>
        {count(selected.size)} selected
      </span>
      <Collect project={project} callIds={[...selected]} />
      <Button look="quiet" onClick={onClear}>
        Clear
      </Button>
    </div>
  );
}
