import type { Remarks } from '../api/remarks.ts';
import styles from './controls.module.css';
import { Thumb } from './Thumb.tsx';

export function RemarkCounts({ of }: { of: Remarks | undefined }) {
  if (!of) return null;
  return (
    <span className={styles['remarks']}>
      {of.up > 0 && (
        <span>
          <Thumb isUp label="Good" />
          {of.up > 1 && of.up}
        </span>
      )}
      {of.down > 0 && (
        <span>
          <Thumb isUp={false} label="Bad" />
          {of.down > 1 && of.down}
        </span>
      )}
      {of.others > 0 && <span title="Other remarks">✎{of.others > 1 && of.others}</span>}
    </span>
  );
}
