import { type KeyboardEvent, useEffect, useEffectEvent, useMemo, useRef, useState } from 'react';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import styles from './chart.module.css';

export interface Series {
  label: string;
  /** The name of a colour in tokens.css, such as `--series-1`. */
  colour: string;
  /** One value per bucket; null for a gap. */
  values: readonly (number | null)[];
  /** The text in the legend while no bucket is pointed at. */
  whole: string;
}

/** Time buckets in seconds. With a `name` they are numbers instead: step 0, step 1, …. */
interface Buckets {
  starts: readonly number[];
  until: number;
  name?: string;
}

interface ChartProps {
  title: string;
  buckets: Buckets;
  series: readonly Series[];
  /** Stacked bars, bars in front of each other, or lines. */
  look: 'stacked' | 'bars' | 'lines';
  format: (value: number | null) => string;
  /** Called with the window that the user dragged over, in seconds. */
  onZoom?: (from: number, to: number) => void;
}

const HEIGHT = 150;

/**
 * Draws series over time. All charts of a page point at the same bucket. The arrow keys move it, and the legend shows
 * its values.
 */
export function Chart({ title, buckets, series, look, format, onZoom }: ChartProps) {
  const holder = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>(undefined);
  const [pointed, point] = useState<number | null>(null);
  const zoom = useEffectEvent((from: number, to: number) => onZoom?.(from, to));
  const text = useEffectEvent(format);
  const data = useMemo(() => chartData(buckets, series, look), [buckets, series, look]);
  const latest = useRef({ data, buckets });
  latest.current = { data, buckets };
  const colours = series.map(({ colour }) => colour).join(' ');
  const isNumbered = buckets.name !== undefined;

  useEffect(() => {
    const element = holder.current!;
    const made = new uPlot(
      chartOptions({
        element,
        look,
        colours: colours === '' ? [] : colours.split(' '),
        isNumbered,
        range: () => timeRange(latest.current.buckets),
        format: (value) => text(value),
        onPoint: point,
        onZoom: (from, to) => zoom(from, to),
      }),
      latest.current.data,
      element,
    );
    plot.current = made;
    const sizes = new ResizeObserver(([entry]) =>
      made.setSize({ width: Math.floor(entry!.contentRect.width), height: HEIGHT }),
    );
    sizes.observe(element);
    const end = whenThemeChanges(() => made.redraw(false));
    return () => {
      end();
      sizes.disconnect();
      made.destroy();
      plot.current = undefined;
    };
  }, [look, colours, isNumbered]);
  useEffect(() => plot.current?.setData(data), [data]);

  const last = buckets.starts.length - 1;
  const at = pointed !== null && pointed <= last ? pointed : null;
  const move = (to: number) => {
    const index = Math.max(0, Math.min(last, to));
    const u = plot.current!;
    u.setCursor({ left: u.valToPos(u.data[0][index]!, 'x'), top: 0 });
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const { key } = event;
    if (key === 'ArrowRight') move(at === null ? 0 : at + 1);
    else if (key === 'ArrowLeft') move(at === null ? last : at - 1);
    else if (key === 'Home') move(0);
    else if (key === 'End') move(last);
    else if (key === 'Escape') plot.current?.setCursor({ left: -10, top: -10 });
    else return;
    event.preventDefault();
  };
  const shown = series.map(({ label, colour, values, whole }) => ({
    label,
    colour,
    value: at === null ? whole : format(values[at] ?? null),
  }));
  return (
    <figure className={styles['chart']}>
      <figcaption className={styles['caption']}>
        <h2>{title}</h2>
        <span className={styles['when']}>{at !== null && bucketName(buckets, at)}</span>
      </figcaption>
      <ul className={styles['legend']}>
        {shown.map(({ label, colour, value }) => (
          <li key={label} title={label}>
            <i style={{ background: `var(${colour})` }} aria-hidden="true" />
            <span className={styles['name']}>{label}</span>
            <span className={styles['value']}>{value}</span>
          </li>
        ))}
      </ul>
      <div
        ref={holder}
        className={styles['plot']}
        tabIndex={0}
        role="slider"
        aria-label={`${title} over ${buckets.name ?? 'time'}`}
        aria-valuemin={0}
        aria-valuemax={Math.max(0, last)}
        aria-valuenow={at ?? 0}
        aria-valuetext={[
          at === null
            ? buckets.name
              ? 'the last one'
              : 'the whole window'
            : bucketName(buckets, at),
          ...shown.map(({ label, value }) => `${label} ${value}`),
        ].join(', ')}
        onKeyDown={onKeyDown}
      />
    </figure>
  );
}

const timeRange = ({ starts, until }: Buckets): [number, number] => [starts[0] ?? until - 1, until];

const WHOLE_NUMBERS = Array.from({ length: 9 }, (_, n) =>
  [1, 2, 5].map((by) => by * 10 ** n),
).flat();

/**
 * The x values (bucket centres or numbers) and the series. Stacked series are sums, the largest first, so that each is
 * drawn over the one behind it.
 */
function chartData(
  { starts, until, name }: Buckets,
  series: readonly Series[],
  look: ChartProps['look'],
): uPlot.AlignedData {
  const middles = name
    ? [...starts]
    : starts.map((start, index) => (start + (starts[index + 1] ?? until)) / 2);
  const columns = series.map(({ values }) => [...values]);
  if (look === 'stacked')
    for (let n = 1; n < columns.length; n++)
      columns[n] = columns[n]!.map((value, index) => (value ?? 0) + (columns[n - 1]![index] ?? 0));
  return [middles, ...(look === 'stacked' ? columns.toReversed() : columns)];
}

const DAY_S = 86_400;

function bucketName({ starts, until, name }: Buckets, index: number): string {
  const start = starts[index]!;
  if (name) return `${name} ${start}`;
  const seconds = (starts[index + 1] ?? until) - start;
  return new Date(start * 1000).toLocaleString('en-GB', {
    day: 'numeric',
    month: 'short',
    ...(seconds < DAY_S / 2 + 1 && { hour: '2-digit', minute: '2-digit' }),
    ...(seconds < 60 && { second: '2-digit' }),
  });
}

/** A date at midnight and for long steps, else the time with seconds if the step needs them. */
function printTick(at: number, step: number): string {
  const date = new Date(at * 1000);
  if (step > 300 * DAY_S) return String(date.getFullYear());
  if (step > 27 * DAY_S)
    return date.toLocaleDateString('en-GB', { month: 'short', year: 'numeric' });
  const isMidnight = date.getHours() === 0 && date.getMinutes() === 0 && date.getSeconds() === 0;
  if (step >= DAY_S || isMidnight)
    return date.toLocaleDateString('en-GB', { day: 'numeric', month: 'short' });
  return date.toLocaleTimeString('en-GB', {
    hour: '2-digit',
    minute: '2-digit',
    ...(step < 60 && { second: '2-digit' }),
  });
}

/** Resolves a name of tokens.css to a colour, since a canvas does not know CSS variables. */
function resolveColour(element: HTMLElement, name: string): string {
  element.style.color = `var(${name})`;
  const { color } = getComputedStyle(element);
  element.style.color = '';
  return color;
}

function whenThemeChanges(listener: () => void): () => void {
  const system = matchMedia('(prefers-color-scheme: dark)');
  const chosen = new MutationObserver(listener);
  system.addEventListener('change', listener);
  chosen.observe(document.documentElement, { attributeFilter: ['data-theme'] });
  return () => {
    system.removeEventListener('change', listener);
    chosen.disconnect();
  };
}

/** Indexes of values next to a gap. They are drawn as points, since a line needs two values. */
function besideGaps(u: uPlot, series: number): number[] {
  const values = u.data[series]!;
  return [...values.keys()].filter(
    (n) =>
      values[n] !== null && ((values[n - 1] ?? null) === null || (values[n + 1] ?? null) === null),
  );
}

interface Plot {
  element: HTMLElement;
  look: ChartProps['look'];
  colours: string[];
  isNumbered: boolean;
  range: () => [number, number];
  format: (value: number) => string;
  onPoint: (index: number | null) => void;
  onZoom: (from: number, to: number) => void;
}

function chartOptions({
  element,
  look,
  colours,
  isNumbered,
  range,
  format,
  onPoint,
  onZoom,
}: Plot): uPlot.Options {
  const resolved = (name: string) => () => resolveColour(element, name);
  const axis = {
    stroke: resolved('--text-faint'),
    font: '11px system-ui, sans-serif',
    grid: { stroke: resolved('--line'), width: 1 },
    ticks: { show: false },
  };
  const bars = uPlot.paths.bars!({ size: [1, 48], gap: 1 });
  const ordered = look === 'stacked' ? colours.toReversed() : colours;
  return {
    width: Math.max(1, element.clientWidth),
    height: HEIGHT,
    legend: { show: false },
    padding: [8, 20, 0, 0],
    scales: {
      x: { time: !isNumbered, range },
      // training metrics may be negative, or vary little far above zero
      y: isNumbered ? {} : { range: (_, __, max) => [0, max > 0 ? max * 1.05 : 1] },
    },
    axes: [
      {
        ...axis,
        size: 24,
        gap: 6,
        space: 64,
        ...(isNumbered && { incrs: WHOLE_NUMBERS }),
        values: (...[, splits, , , step]) =>
          splits.map((at) => (isNumbered ? String(at) : printTick(at, step))),
      },
      {
        ...axis,
        size: 62,
        gap: 6,
        space: 28,
        values: (_, splits) => splits.map((value) => format(value)),
      },
    ],
    series: [
      {},
      ...ordered.map((colour): uPlot.Series =>
        look === 'lines'
          ? {
              stroke: resolved(colour),
              width: 1.5,
              points: { show: true, size: 4, fill: resolved(colour), filter: besideGaps },
            }
          : { fill: resolved(colour), paths: bars, points: { show: false } },
      ),
    ],
    cursor: {
      y: false,
      points: { show: look === 'lines' },
      drag: { x: !isNumbered, y: false, setScale: false },
      // only pointing is shared between charts, not dragging
      sync: {
        key: isNumbered ? 'number' : 'time',
        filters: { pub: (event) => /^mouse(move|leave)$/.test(event) },
      },
    },
    hooks: {
      setCursor: [({ cursor }) => onPoint((cursor.left ?? -1) < 0 ? null : (cursor.idx ?? null))],
      setSelect: [
        (u) => {
          const { left, width } = u.select;
          if (width < 4) return;
          u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
          onZoom(u.posToVal(left, 'x'), u.posToVal(left + width, 'x'));
        },
      ],
    },
  };
}
