import { chooseGranularity } from '../time/buckets.js';
import { parseDate } from './dto.js';
import { invalidRequest } from '../errors.js';
import type { StatsWindowDto } from './stats.dto.js';

/** A window with its defaults filled in. */
export interface StatsWindow {
  from: Date;
  to: Date;
  /** `to` with the digits that were sent. */
  end: string;
  granularity: number;
  timezone: string;
}

/** @throws ApiError `invalid_request` */
export function readWindow({ start, ...asked }: StatsWindowDto): StatsWindow {
  const end = asked.end ?? new Date().toISOString();
  const [from, to] = [parseDate(start), parseDate(end)];
  if (to <= from) throw invalidRequest([{ path: 'end', message: 'must be after start' }]);
  const granularity = chooseGranularity(asked.granularity, from, to);
  return { from, to, end, granularity, timezone: asked.timezone ?? 'UTC' };
}

/** Returns the first fields of an answer. */
export const windowFrame = ({ from, to, granularity, timezone }: StatsWindow) => ({
  start: microseconds(from),
  end: microseconds(to),
  granularity,
  timezone,
});

/** Formats an instant with milliseconds the way PostgreSQL prints it. */
export const microseconds = (at: Date) => at.toISOString().replace('Z', '000Z');
