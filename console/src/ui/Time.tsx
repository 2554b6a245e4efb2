import { localTime } from './format.ts';

/** Shows a time in the viewer's time zone, with the exact time in UTC on hover. */
export function Time({ at }: { at: string }) {
  return (
    <time dateTime={at} title={at.replace('T', ' ').replace('Z', ' UTC')}>
      {localTime(at)}
    </time>
  );
}
