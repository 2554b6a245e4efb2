import { InvalidSetting, type SettingReader } from './setting.js';

/** A century. */
export const MAX_RETENTION_DAYS = 36_500;

const CLASSES = ['calls', 'payloads', 'feedback'] as const;
/** Days for which data of each class is kept; null for ever. */
export type RetentionDays = Record<(typeof CLASSES)[number], number | null>;

/** Reads the retention of projects without a policy of their own, such as `calls=90,payloads=30`. Null for none. */
export function readRetentionDefault(setting: SettingReader): RetentionDays | null {
  const text = setting('RETENTION_DEFAULT');
  if (text === undefined) return null;
  const days: RetentionDays = { calls: null, payloads: null, feedback: null };
  for (const part of text.split(',')) {
    const [, name = '', count = ''] = /^\s*(\w+)=(\d{1,5})\s*$/.exec(part) ?? [];
    const kind = CLASSES.find((known) => known === name);
    if (!kind || Number(count) < 1 || Number(count) > MAX_RETENTION_DAYS)
      throw new InvalidSetting(
        `RETENTION_DEFAULT must be days from 1 to ${MAX_RETENTION_DAYS} of ${CLASSES.join(', ')}, such as calls=90,payloads=30, got "${text}"`,
      );
    days[kind] = Number(count);
  }
  return days;
}
