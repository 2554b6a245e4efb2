import { lazy, type ReactNode, Suspense, useState } from 'react';
import controls from './controls.module.css';

const TimeWindow = lazy(() =>
  import('./TimeWindow.tsx').then((module) => ({ default: module.TimeWindow })),
);

export interface ChosenRange<Range extends string> {
  range?: Range;
  from?: string;
  to?: string;
}

const shortTime = (iso: string) =>
  new Date(iso).toLocaleString('en-GB', {
    day: 'numeric',
    month: 'short',
    hour: '2-digit',
    minute: '2-digit',
  });

/** Chooses a range that ends now, or a window with begin and end. */
export function TimeRange<Range extends string>({
  ranges,
  value: { range, from, to },
  all,
  onChoose,
}: {
  ranges: Record<Range, readonly [label: string, seconds: number]>;
  value: ChosenRange<Range>;
  /** The label of the choice without a range. Absent when a range is required. */
  all?: string;
  onChoose: (chosen: ChosenRange<Range>) => void;
}): ReactNode {
  const [isOpen, setOpen] = useState(false);
  const isWindow = from !== undefined && to !== undefined;
  return (
    <>
      <select
        aria-label="Time range"
        className={controls['input']}
        value={isWindow ? 'window' : (range ?? '')}
        onChange={({ target }) => {
          if (target.value === 'own') setOpen(true);
          else onChoose(target.value === '' ? {} : { range: target.value as Range });
        }}
      >
        {all !== undefined && <option value="">{all}</option>}
        {isWindow && (
          <option value="window">
            {shortTime(from)} – {shortTime(to)}
          </option>
        )}
        {(Object.keys(ranges) as Range[]).map((name) => (
          <option key={name} value={name}>
            {ranges[name][0]}
          </option>
        ))}
        <option value="own">Custom time range…</option>
      </select>
      {isOpen && (
        <Suspense fallback={null}>
          <TimeWindow
            from={from}
            to={to}
            onClose={() => setOpen(false)}
            onChoose={(window) => {
              setOpen(false);
              onChoose(window);
            }}
          />
        </Suspense>
      )}
    </>
  );
}
