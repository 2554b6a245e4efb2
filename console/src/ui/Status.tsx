import type { DerivedSummary } from '../api/calls.ts';
import type { Schema } from '../api/client.ts';
import styles from './controls.module.css';

type CallStatus = DerivedSummary['status'];
export type JobStatus = Schema<'TrainingJobDto'>['status'];

const LOOK: Record<CallStatus | JobStatus, [className: string, label: string]> = {
  success: ['success', 'Success'],
  error: ['bad', 'Error'],
  descendant_error: ['below', 'Error below'],
  running: ['running', 'Running'],
  queued: ['waiting', 'Queued'],
  leased: ['running', 'Claimed'],
  succeeded: ['success', 'Succeeded'],
  failed: ['bad', 'Failed'],
  cancelled: ['waiting', 'Cancelled'],
};

/** Shows the state of a call or a job by shape and colour. */
export function Status({ status, isShort }: { status: CallStatus | JobStatus; isShort?: boolean }) {
  const [className, label] = LOOK[status];
  return (
    <span className={`${styles['status']} ${styles[className]}`} title={label}>
      <i className={styles['dot']} aria-hidden="true" />
      <span className={isShort ? 'visually-hidden' : undefined}>{label}</span>
    </span>
  );
}
