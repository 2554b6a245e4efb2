import { type KeyboardEvent, type PointerEvent, useRef } from 'react';
import { useSetting } from './settings.ts';
import styles from './table.module.css';

const [LEAST, MOST, STEP] = [40, 2000, 10];

type Widths = Readonly<Record<string, number>>;

/** The column widths last chosen in this browser, keyed by column name. */
export function useColumnWidths(table: string) {
  const [widths, keep] = useSetting(`widths.${table}`, widthsIn);
  const set = (name: string, width: number | undefined) => {
    const { [name]: _, ...rest } = widths;
    const within = (width: number) => Math.max(LEAST, Math.min(MOST, Math.round(width)));
    keep(width === undefined ? rest : { ...rest, [name]: within(width) });
  };
  return { widths, set };
}

const widthsIn = (kept: unknown): Widths =>
  Object.fromEntries(
    Object.entries(kept ?? {}).filter(([, width]) => typeof width === 'number' && width >= LEAST),
  );

const widthNow = (handle: Element) => handle.parentElement!.getBoundingClientRect().width;

/**
 * The right edge of a column's header. Dragging it or the arrow keys change the width; a double click or Enter restores
 * the default.
 */
export function WidthHandle({
  title,
  width,
  onWidth,
}: {
  title: string;
  width: number;
  onWidth: (width: number | undefined) => void;
}) {
  const from = useRef(0);
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowLeft: -STEP, ArrowRight: STEP, Enter: 0 }[event.key];
    if (step === undefined) return;
    onWidth(step === 0 ? undefined : widthNow(event.currentTarget) + step);
    event.preventDefault();
  };
  return (
    <i
      role="separator"
      aria-orientation="vertical"
      aria-label={`Width of ${title}`}
      aria-valuenow={width}
      aria-valuemin={LEAST}
      aria-valuemax={MOST}
      tabIndex={0}
      data-width-of={title}
      title="Drag, or use the arrow keys"
      className={styles['handle']}
      onPointerDown={({ currentTarget, pointerId, clientX }) => {
        currentTarget.setPointerCapture(pointerId);
        from.current = widthNow(currentTarget) - clientX;
      }}
      onPointerMove={({ currentTarget, pointerId, clientX }: PointerEvent) => {
        if (currentTarget.hasPointerCapture(pointerId)) onWidth(from.current + clientX);
      }}
      onDoubleClick={() => onWidth(undefined)}
      onKeyDown={onKeyDown}
    />
  );
}
