/** Formats milliseconds: `840 µs`, `12 ms`, `3.42 s`, `2 m 05 s`, `3 h 12 m`. */
export function duration(ms: number | null | undefined): string {
  if (ms === null || ms === undefined) return '–';
  if (ms < 0) return `−${duration(-ms)}`;
  if (ms === 0) return '0 ms';
  if (ms < 1) return `${Math.round(ms * 1000)} µs`;
  if (ms < 999.5) return `${ms < 10 ? trimmed(ms, 1) : Math.round(ms)} ms`;
  if (ms < 59_995) return `${(ms / 1000).toFixed(2)} s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 3600) return `${Math.floor(seconds / 60)} m ${padded(seconds % 60)} s`;
  const minutes = Math.round(ms / 60_000);
  if (minutes < 1440) return `${Math.floor(minutes / 60)} h ${padded(minutes % 60)} m`;
  return `${Math.floor(minutes / 1440)} d ${Math.floor((minutes % 1440) / 60)} h`;
}

/** The duration of a call. It is unknown for an end before the start, which happens when clocks differ. */
export function callDuration(
  { status, latency_ms }: { status: string; latency_ms: number | null },
  running = '–',
): string {
  if (status === 'running') return running;
  return latency_ms === null || latency_ms < 0 ? 'unknown' : duration(latency_ms);
}

const padded = (n: number) => String(n).padStart(2, '0');
const trimmed = (n: number, digits: number) => String(Number(n.toFixed(digits)));

/** Formats a count: `1,234`; from 100,000 on `123 k`, `1.2 M`. */
export function count(n: number | null | undefined): string {
  if (n === null || n === undefined) return '–';
  if (n < 100_000) return n.toLocaleString('en-US');
  if (n < 999_500) return `${Math.round(n / 1000)} k`;
  if (n < 999_500_000) return `${trimmed(n / 1e6, n < 1e7 ? 2 : 1)} M`;
  return `${trimmed(n / 1e9, 2)} G`;
}

/** Formats money with enough digits for small amounts: `$0.000042`, `$0.0123`, `$1.20`, `$1,204`. */
export function money(amount: number | null | undefined, unit = 'USD'): string {
  if (amount === null || amount === undefined) return '–';
  const sign = unit === 'USD' ? '$' : `${unit} `;
  if (amount === 0) return `${sign}0`;
  if (amount >= 1000) return sign + Math.round(amount).toLocaleString('en-US');
  if (amount >= 1) return sign + amount.toFixed(2);
  return sign + Number(amount.toPrecision(2)).toFixed(fractionDigits(amount));
}

const fractionDigits = (amount: number) =>
  Math.min(12, Math.max(2, 1 - Math.floor(Math.log10(amount))));

/** Formats any number with four significant digits: `0.4137`, `-1.25`, `12,400`, `5e-7`. */
export function number(value: number | null | undefined): string {
  if (value === null || value === undefined) return '–';
  const rounded = Number(value.toPrecision(4));
  const isPlain = rounded === 0 || (Math.abs(rounded) >= 1e-6 && Math.abs(rounded) < 1e9);
  return isPlain ? rounded.toLocaleString('en-US', { maximumFractionDigits: 10 }) : String(rounded);
}

const DAY_MS = 86_400_000;

/** The time in the viewer's time zone; with the day when it is not today. */
export function localTime(iso: string, now = Date.now()): string {
  const date = new Date(iso);
  const time = date.toLocaleTimeString('en-GB');
  if (date.toDateString() === new Date(now).toDateString()) return time;
  const isNear = Math.abs(now - date.getTime()) < 300 * DAY_MS;
  const day = date.toLocaleDateString('en-GB', {
    day: '2-digit',
    month: 'short',
    ...(!isNear && { year: 'numeric' }),
  });
  return `${day} ${time}`;
}

/** The name of an op in its ref; other names stay unchanged. */
export const opName = (name: string): string =>
  /^[a-z]+:\/\/\/[^/]+\/[^/]+\/op\/([^:]+):/.exec(name)?.[1] ?? name;

export const bytes = (n: number): string => {
  if (n < 1000) return `${n} B`;
  if (n < 999_500) return `${trimmed(n / 1000, n < 9950 ? 1 : 0)} kB`;
  if (n < 999_500_000) return `${trimmed(n / 1e6, 1)} MB`;
  return `${trimmed(n / 1e9, 2)} GB`;
};
