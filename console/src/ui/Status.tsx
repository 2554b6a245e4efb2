import styles from './controls.module.css';

export type CallStatus = 'success' | 'error' | 'descendant_error' | 'running';

const LOOK: Record<CallStatus, [className: string, label: string]> = {
  success: ['success', 'Success'],
  error: ['bad', 'Error'],
  descendant_error: ['below', 'Error below'],
  running: ['running', 'Running'],
};

/** The state of a call, by shape as well as by colour. */
export function Status({ status, isShort }: { status: CallStatus; isShort?: boolean }) {
  const [className, label] = LOOK[status];
  return (
    <span className={`${styles['status']} ${styles[className]}`} title={label}>
      <i className={styles['dot']} aria-hidden="true" />
      <span className={isShort ? 'visually-hidden' : undefined}>{label}</span>
    </span>
  );
}
