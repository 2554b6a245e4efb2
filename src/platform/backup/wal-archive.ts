import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { BackupRetention } from '../config/backup-settings.js';
import type { BackupStorage, StoredFile } from './backup-storage.js';
import { keptBackups, newestFirst, timeIn, timeText } from './stored-backups.js';

/*
 * What point in time needs lies beside the backups: copies of the data folder (bases), `skein-<time>-<system>-<segment>.base`,
 * and the segments of the log, `wal-<system>/<segment>.gz`; encrypted ones end with `.age`. The system is the number that
 * PostgreSQL gives a cluster when it is made. A base can be used with all segments from the one in its name on.
 */

const BASE = /^skein-(\d{8}T\d{6}Z)-(\d+)-([0-9A-F]{24})\.base(\.age)?$/;
const SEGMENT = /^[0-9A-F]{24}(?=\.|$)/;
const SEGMENTS_IN_A_FILE_NUMBER = 256; // of 16 MiB, as initdb makes them

/** In the data folder: an empty file for each segment that is kept, until PostgreSQL has seen it. */
export const ARCHIVED = 'skein.archived';

/**
 * PostgreSQL asks for each segment whether it is kept, and removes none before. It waits 2 s, three times, and then a minute; a stop
 * waits no longer than that.
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
  /** When it was begun, and when it was there. */
  at: Date;
  ended: Date;
  bytes: number;
  system: string;
  /** The first segment of the log that it needs. */
  segment: string;
}

export const baseName = (
  base: Pick<StoredBase, 'at' | 'system' | 'segment'>,
  isEncrypted: boolean,
) => `skein-${timeText(base.at)}-${base.system}-${base.segment}.base${isEncrypted ? '.age' : ''}`;

/** The newest first. */
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

/** What is kept of a cluster's log: each file by the name that PostgreSQL gave it. */
export async function storedWal(
  place: BackupStorage,
  system: string,
): Promise<Map<string, StoredFile>> {
  const files = await place.list(walFolder(system));
  return new Map(files.map((file) => [file.name.replace(/\.gz(\.age)?$/, ''), file]));
}

export const walName = (system: string, file: string, isEncrypted: boolean): string =>
  `${walFolder(system)}/${file}.gz${isEncrypted ? '.age' : ''}`;

/** The number of a cluster is the first thing in its control file. */
export const readSystem = (pgdata: string): string =>
  String(readFileSync(join(pgdata, 'global/pg_control')).readBigUInt64LE(0));

/** The place of a segment in the log, on whichever timeline it is; undefined for what is no segment. */
export function segmentNumber(file: string): number | undefined {
  const [name] = SEGMENT.exec(file) ?? [];
  if (name === undefined) return undefined;
  const [high, low] = [name.slice(8, 16), name.slice(16)].map((hex) => Number.parseInt(hex, 16));
  return high! * SEGMENTS_IN_A_FILE_NUMBER + low!;
}

/** The segment behind one, on the same timeline. */
export function nextSegment(file: string): string {
  const next = segmentNumber(file)! + 1;
  const hex = (number: number) => number.toString(16).toUpperCase().padStart(8, '0');
  const high = Math.floor(next / SEGMENTS_IN_A_FILE_NUMBER);
  return file.slice(0, 8) + hex(high) + hex(next % SEGMENTS_IN_A_FILE_NUMBER);
}

/**
 * Removes bases that are not kept: those of the last days are, as many as `daily` says. Then removes what no kept base
 * needs of the log. Names of timelines stay, which tell a later restore its way.
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
 * The base from which a time is reached: the newest that was there before it, else the newest that was begun before it; for the end of
 * the log the newest of all.
 */
export function baseFor(
  bases: readonly StoredBase[],
  time: Date | 'latest',
): StoredBase | undefined {
  if (time === 'latest') return bases[0];
  return bases.find(({ ended }) => ended <= time) ?? bases.find(({ at }) => at <= time);
}
