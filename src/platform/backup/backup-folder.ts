import { mkdir, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Keep } from '../config/backup-settings.js';

/** A backup that has no name of its own: `skein-20261124T020000Z.skein`. */
const NAME = /^skein-(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z\.skein$/;
/** What an interrupted backup left; one that is under way writes all the time. */
const DRAFT = /^skein-[0-9TZ]+\.skein\.partial-\d+$/;
const DRAFT_AGE_MS = 86_400_000;
const WEEK_MS = 7 * 86_400_000;
/** A Monday. */
const WEEKS_BEGIN_MS = Date.UTC(2001, 0, 1);

export interface StoredBackup {
  name: string;
  /** When it was begun. */
  at: Date;
  bytes: number;
}

/** The backups of a folder, the newest first; none where there is no folder. */
export async function storedBackups(folder: string): Promise<StoredBackup[]> {
  const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw error;
  });
  const backups = names.filter((name) => NAME.test(name)).toSorted();
  return Promise.all(
    backups.toReversed().map(async (name) => {
      const [, ...parts] = NAME.exec(name)!;
      const [year, month, ...rest] = parts.map(Number) as [number, number, number, number, number];
      const { size } = await stat(join(folder, name));
      return { name, at: new Date(Date.UTC(year, month - 1, ...rest)), bytes: size };
    }),
  );
}

/** Whether there is none, or the newest is so old. */
export async function isBackupDue(folder: string, everySeconds: number): Promise<boolean> {
  const [newest] = await storedBackups(folder);
  return !newest || Date.now() - newest.at.getTime() >= everySeconds * 1000;
}

/** The path of a backup that begins now. The folder is made. */
export async function newBackupPath(folder: string, now: Date): Promise<string> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const at = now.toISOString().replace(/\.\d+|[-:]/g, '');
  return join(folder, `skein-${at}.skein`);
}

/** Removes what is not kept, and what interrupted backups left; answers the names. */
export async function prune(folder: string, keep: Keep): Promise<string[]> {
  const backups = await storedBackups(folder);
  const kept = keptBackups(backups, keep);
  const removed = backups.filter((backup) => !kept.has(backup)).map(({ name }) => name);
  for (const name of await readdir(folder))
    if (DRAFT.test(name) && (await ageMs(join(folder, name))) > DRAFT_AGE_MS) removed.push(name);
  for (const name of removed) await rm(join(folder, name), { force: true });
  return removed;
}

const ageMs = async (path: string) => Date.now() - (await stat(path)).mtimeMs;

const PERIODS: Record<keyof Keep, (at: Date) => string | number> = {
  daily: (at) => at.toISOString().slice(0, 10),
  weekly: (at) => Math.floor((at.getTime() - WEEKS_BEGIN_MS) / WEEK_MS),
  monthly: (at) => at.toISOString().slice(0, 7),
};

/** The newest one, and the newest of each of the last days, weeks and months (UTC) that have any. */
export function keptBackups<T extends { at: Date }>(newestFirst: readonly T[], keep: Keep): Set<T> {
  const kept = new Set(newestFirst.slice(0, 1));
  for (const period of Object.keys(PERIODS) as (keyof Keep)[]) {
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
