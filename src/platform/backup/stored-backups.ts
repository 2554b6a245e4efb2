import type { BackupRetention } from '../config/backup-settings.js';
import type { BackupStorage } from './backup-storage.js';

/** Default name of a backup: `skein-20261124T020000Z.skein`, with `.age` appended when it is encrypted. */
const NAME = /^skein-(\d{8}T\d{6}Z)\.skein(\.age)?$/;
const WEEK_MS = 7 * 86_400_000;
/** A Monday, the first day of a week. */
const WEEKS_BEGIN_MS = Date.UTC(2001, 0, 1);

export interface StoredBackup {
  name: string;
  at: Date;
  bytes: number;
}

/** Returns the backups of a storage, newest first. */
export async function storedBackups(place: BackupStorage): Promise<StoredBackup[]> {
  const backups = (await place.list()).flatMap(({ name, bytes }) => {
    const [, at] = NAME.exec(name) ?? [];
    return at === undefined ? [] : [{ name, at: timeIn(at), bytes }];
  });
  return newestFirst(backups);
}

export const newestFirst = <T extends { at: Date }>(backups: readonly T[]): T[] =>
  backups.toSorted((one, other) => other.at.getTime() - one.at.getTime());

/** Returns true when no backup exists, or the newest is older than the interval. */
export const isDue = ([newest]: readonly { at: Date }[], everySeconds: number): boolean =>
  !newest || Date.now() - newest.at.getTime() >= everySeconds * 1000;

export const backupName = (now: Date, isEncrypted: boolean): string =>
  `skein-${timeText(now)}.skein${isEncrypted ? '.age' : ''}`;

/** Formats a time for names: `20261124T020000Z`. */
export const timeText = (at: Date): string => at.toISOString().replace(/\.\d+|[-:]/g, '');

export function timeIn(text: string): Date {
  const [, year, month, day, ...time] = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(text)!;
  return new Date(`${year}-${month}-${day}T${time.join(':')}Z`);
}

/** Removes backups beyond the retention, and drafts of interrupted backups. Returns their names. */
export async function prune(place: BackupStorage, keep: BackupRetention): Promise<string[]> {
  const backups = await storedBackups(place);
  const kept = keptBackups(backups, keep);
  const removed = backups.filter((backup) => !kept.has(backup)).map(({ name }) => name);
  for (const name of removed) await place.remove(name);
  return [...removed, ...(await place.removeDrafts())];
}

const PERIODS: Record<keyof BackupRetention, (at: Date) => string | number> = {
  daily: (at) => at.toISOString().slice(0, 10),
  weekly: (at) => Math.floor((at.getTime() - WEEKS_BEGIN_MS) / WEEK_MS),
  monthly: (at) => at.toISOString().slice(0, 7),
};

/** Returns the newest backup, and the newest of each of the last days, weeks and months (UTC) with backups. */
export function keptBackups<T extends { at: Date }>(
  newestFirst: readonly T[],
  keep: BackupRetention,
): Set<T> {
  const kept = new Set(newestFirst.slice(0, 1));
  for (const period of Object.keys(PERIODS) as (keyof BackupRetention)[]) {
    const seen = new Set<string | number>();
    for (const backup of newestFirst) {
      const which = PERIODS[period](backup.at);
      if (seen.has(which)) continue;
      if (seen.size === keep[period]) break;
      seen.add(which);
      kept.add(backup);
    }
  }
  return kept;
}
