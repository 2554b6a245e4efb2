import type { KeyboardEvent, PointerEvent } from 'react';
import styles from './controls.module.css';
import { useSetting } from './settings.ts';

const [LEAST, MOST, STEP] = [20, 75, 2];

const within = (share: number) => Math.max(LEAST, Math.min(MOST, share));

/** The width of the right pane in percent, as last chosen in this browser. */
export function useSplit(name: string, usual: number) {
  const [share, keep] = useSetting(`split.${name}`, (kept) => within(Number(kept) || usual));
  const onShare = (next: number) => keep(within(next));
  return { share, usual, onShare };
}

/** Resizes two panes by dragging or by the arrow keys. A double click restores the default. */
export function Splitter({
  label,
  share,
  usual,
  onShare,
}: {
  label: string;
  share: number;
  usual: number;
  onShare: (share: number) => void;
}) {
  const onPointerMove = ({ currentTarget, pointerId, clientX }: PointerEvent) => {
    if (!currentTarget.hasPointerCapture(pointerId)) return;
    const { left, width } = currentTarget.parentElement!.getBoundingClientRect();
    onShare(100 - ((clientX - left) / width) * 100);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowLeft: STEP, ArrowRight: -STEP }[event.key];
    if (step === undefined) return;
    onShare(share + step);
    event.preventDefault();
  };
  return (
    <div
      role="separator"
      aria-orientation="vertical"
      aria-label={label}
      aria-valuenow={Math.round(share)}
      aria-valuemin={LEAST}
      aria-valuemax={MOST}
      tabIndex={0}
      className={styles['splitter']}
      onPointerDown={({ currentTarget, pointerId }) => currentTarget.setPointerCapture(pointerId)}
      onPointerMove={onPointerMove}
      onDoubleClick={() => onShare(usual)}
      onKeyDown={onKeyDown}
    />
  );
}
