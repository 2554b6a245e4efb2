import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { BackupRetention } from '../config/backup-settings.js';
import type { BackupStorage, StoredFile } from './backup-storage.js';
import { keptBackups, newestFirst, timeIn, timeText } from './stored-backups.js';

/*
 * Point-in-time recovery needs two kinds of files beside the backups. Copies of the data folder (bases) are named
 * `skein-<time>-<system>-<segment>.base`. WAL segments are named `wal-<system>/<segment>.gz`. Encrypted files end with
 * `.age`. The system is the number that PostgreSQL gives a new cluster. A base can be used with all segments from the
 * one in its name onwards.
 */

const BASE = /^skein-(\d{8}T\d{6}Z)-(\d+)-([0-9A-F]{24})\.base(\.age)?$/;
const SEGMENT = /^[0-9A-F]{24}(?=\.|$)/;
const SEGMENTS_IN_A_FILE_NUMBER = 256; // segments of 16 MiB, initdb's default

/** Folder in the data folder. An empty file stands for each stored WAL segment until PostgreSQL has seen it. */
export const ARCHIVED = 'skein.archived';

/**
 * Arguments for WAL archiving. PostgreSQL runs the command for each segment, and keeps the segment until it succeeds.
 * The command waits 2 s for the segment to be stored. After three failures PostgreSQL pauses for a minute. A stop waits
 * for these three attempts at most.
 */
export const ARCHIVE_FLAGS = [
  '-c',
  'archive_mode=on',
  '-c',
  'archive_timeout=60',
  '-c',
  `archive_command=n=0; while [ $n -lt 10 ]; do [ -e ${ARCHIVED}/%f ] && exit 0; n=$((n+1)); sleep 0.2; done; exit 1`,
];

export interface StoredBase {
  name: string;
  /** Time at which the base began, and time at which it was stored. */
  at: Date;
  ended: Date;
  bytes: number;
  system: string;
  /** The first WAL segment that it needs. */
  segment: string;
}

export const baseName = (
  base: Pick<StoredBase, 'at' | 'system' | 'segment'>,
  isEncrypted: boolean,
) => `skein-${timeText(base.at)}-${base.system}-${base.segment}.base${isEncrypted ? '.age' : ''}`;

/** Returns the bases of a storage, newest first. */
export async function storedBases(place: BackupStorage): Promise<StoredBase[]> {
  const bases = (await place.list()).flatMap(({ name, bytes, changed }) => {
    const [, at, system = '', segment = ''] = BASE.exec(name) ?? [];
    return at === undefined
      ? []
      : [{ name, at: timeIn(at), ended: changed, bytes, system, segment }];
  });
  return newestFirst(bases);
}

export const walFolder = (system: string): string => `wal-${system}`;

/** Returns the stored WAL files of a cluster, keyed by the name that PostgreSQL gave them. */
export async function storedWal(
  place: BackupStorage,
  system: string,
): Promise<Map<string, StoredFile>> {
  const files = await place.list(walFolder(system));
  return new Map(files.map((file) => [file.name.replace(/\.gz(\.age)?$/, ''), file]));
}

export const walName = (system: string, file: string, isEncrypted: boolean): string =>
  `${walFolder(system)}/${file}.gz${isEncrypted ? '.age' : ''}`;

/** Reads the number of a cluster, which is the first field of its control file. */
export const readSystem = (pgdata: string): string =>
  String(readFileSync(join(pgdata, 'global/pg_control')).readBigUInt64LE(0));

/** Returns the position of a segment in the WAL, on any timeline. Undefined for other files. */
export function segmentNumber(file: string): number | undefined {
  const [name] = SEGMENT.exec(file) ?? [];
  if (name === undefined) return undefined;
  const [high, low] = [name.slice(8, 16), name.slice(16)].map((hex) => Number.parseInt(hex, 16));
  return high! * SEGMENTS_IN_A_FILE_NUMBER + low!;
}

/** Returns the name of the following segment on the same timeline. */
export function nextSegment(file: string): string {
  const next = segmentNumber(file)! + 1;
  const hex = (number: number) => number.toString(16).toUpperCase().padStart(8, '0');
  const high = Math.floor(next / SEGMENTS_IN_A_FILE_NUMBER);
  return file.slice(0, 8) + hex(high) + hex(next % SEGMENTS_IN_A_FILE_NUMBER);
}

/**
 * Removes bases beyond the retention: the newest of each of the last `daily` days is kept. Then removes WAL that no
 * kept base needs. History files of timelines stay, because a later restore needs them to find its way.
 */
export async function pruneBases(
  place: BackupStorage,
  { daily }: BackupRetention,
): Promise<string[]> {
  const bases = await storedBases(place);
  const kept = keptBackups(bases, { daily, weekly: 0, monthly: 0 });
  const removed = bases.filter((base) => !kept.has(base)).map(({ name }) => name);
  for (const name of removed) await place.remove(name);
  for (const system of new Set(bases.map((base) => base.system))) {
    const needed = [...kept].filter((base) => base.system === system);
    const oldest = Math.min(...needed.map(({ segment }) => segmentNumber(segment)!));
    for (const [file, { name }] of await storedWal(place, system)) {
      if ((segmentNumber(file) ?? Infinity) >= oldest) continue;
      await place.remove(`${walFolder(system)}/${name}`);
    }
  }
  return removed;
}

/**
 * Returns the base for a recovery to a time. It is the newest base that was stored before the time, otherwise the
 * newest that began before it. For `latest` it is the newest of all.
 */
export function baseFor(
  bases: readonly StoredBase[],
  time: Date | 'latest',
): StoredBase | undefined {
  if (time === 'latest') return bases[0];
  return bases.find(({ ended }) => ended <= time) ?? bases.find(({ at }) => at <= time);
}
