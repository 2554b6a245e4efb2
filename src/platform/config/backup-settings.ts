import { fileURLToPath } from 'node:url';
import { InvalidSetting, type Setting } from './setting.js';

const PERIODS = ['daily', 'weekly', 'monthly'] as const;
/** For how many days, weeks and months that have backups the newest one of each is kept. */
export type Keep = Record<(typeof PERIODS)[number], number>;

const SECONDS = { s: 1, m: 60, h: 3600, d: 86_400 } as const;

/** What the service backs up by itself. */
export function backupSettings(setting: Setting) {
  return {
    /** The folder of backups that are made without the name of a file; undefined for none. */
    backupFolder: folder(setting),
    /** How old the newest of them may be. */
    backupEverySeconds: every(setting),
    backupKeep: keep(setting),
  };
}

function folder(setting: Setting): string | undefined {
  const text = setting('BACKUP_URL');
  if (text === undefined) return undefined;
  try {
    return fileURLToPath(text);
  } catch {
    throw new InvalidSetting(
      `BACKUP_URL must name a folder as file:///…, which may be of another machine, got "${text}"`,
    );
  }
}

function every(setting: Setting): number {
  const text = setting('BACKUP_EVERY') ?? '1d';
  const [, count = '', unit = ''] = /^(\d{1,4})([smhd])$/.exec(text) ?? [];
  if (Number(count) === 0)
    throw new InvalidSetting(`BACKUP_EVERY must be a time such as 30m, 6h or 1d, got "${text}"`);
  return Number(count) * SECONDS[unit as keyof typeof SECONDS];
}

function keep(setting: Setting): Keep {
  const text = setting('BACKUP_KEEP') ?? 'daily=7,weekly=4,monthly=12';
  const kept: Keep = { daily: 0, weekly: 0, monthly: 0 };
  for (const part of text.split(',')) {
    const [, period = '', count = ''] = /^\s*(\w+)=(\d{1,4})\s*$/.exec(part) ?? [];
    if (!PERIODS.some((known) => known === period))
      throw new InvalidSetting(
        `BACKUP_KEEP must be counts of ${PERIODS.join(', ')}, such as daily=7,weekly=4,monthly=12, got "${text}"`,
      );
    kept[period as keyof Keep] = Number(count);
  }
  return kept;
}
