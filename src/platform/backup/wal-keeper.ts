import {
  chownSync,
  createReadStream,
  existsSync,
  mkdirSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { PrimaryQuestion } from '../process/primary-question.js';
import { encrypted } from './encryption.js';
import { zipped } from './gzip.js';
import type { BackupStorage } from './backup-storage.js';
import { isDue } from './stored-backups.js';
import {
  ARCHIVED,
  readSystem,
  segmentNumber,
  storedBases,
  storedWal,
  walName,
} from './wal-archive.js';

const LOOK_MS = 500;
const LOOK_FOR_BASES_MS = 60_000;
/** Pause after a failure. PostgreSQL keeps the segments that are not stored meanwhile. */
const REST_MS = 5000;

export interface WalProgress {
  /** Start of the newest base, as a Unix time; 0 without a base. */
  baseAt: number;
  /** Time for which the oldest segment has waited to be stored. */
  waitingSeconds: number;
}

/** Progress of the process that opened the database. Null when no WAL is archived. */
export const WAL_PROGRESS = new PrimaryQuestion<WalProgress | null>('log in BACKUP_URL');
WAL_PROGRESS.answer(() => null);

interface Options {
  place: BackupStorage;
  recipients: readonly string[];
  everySeconds: number;
  /** Makes a base, in its own process. */
  makeBase: (signal: AbortSignal) => Promise<void>;
  warn: (line: string) => void;
}

/**
 * Stores the WAL of the embedded server beside its backups, segment by segment, as PostgreSQL finishes them. Marks
 * stored segments in a folder, because the server removes only those. Makes a base when one is due, or when the WAL has
 * a gap, after which older bases cannot be used.
 */
export class WalKeeper {
  private readonly stopping = new AbortController();
  private readonly ending = new AbortController();
  private readonly system: string;
  private readonly archived: string;
  private readonly status: string;
  private newest: number | undefined;
  private hasGap = false;
  private baseAt = 0;
  private running: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly pgdata: string,
    private readonly options: Options,
  ) {
    this.system = readSystem(pgdata);
    this.status = join(pgdata, 'pg_wal/archive_status');
    this.archived = join(pgdata, ARCHIVED);
    mkdirSync(this.archived, { recursive: true, mode: 0o755 });
    const { uid, gid } = statSync(pgdata);
    if (process.getuid?.() === 0) chownSync(this.archived, uid, gid);
  }

  start(): void {
    WAL_PROGRESS.answer(() => ({ baseAt: this.baseAt, waitingSeconds: this.waitingSeconds() }));
    this.running = Promise.all([
      this.repeat('the WAL cannot be stored', LOOK_MS, () => this.storeReady()),
      this.repeat('no base was made', LOOK_FOR_BASES_MS, () => this.makeBaseWhenDue(), this.ending),
    ]);
  }

  /** Aborts a running base. Call it before the server ends. */
  endBases(): void {
    this.ending.abort();
  }

  /** Stores the last segment, and stops. Call it when the server has ended. */
  async stop(): Promise<void> {
    this.stopping.abort();
    await this.running;
  }

  private async repeat(
    what: string,
    everyMs: number,
    work: () => Promise<void>,
    { signal } = this.stopping,
  ): Promise<void> {
    let problem = '';
    while (!signal.aborted) {
      let waitMs = everyMs;
      try {
        await work();
        if (problem) this.options.warn(`${what}: solved`);
        problem = '';
      } catch (error) {
        const { message } = error as Error;
        if (message !== problem && !signal.aborted) this.options.warn(`${what}: ${message}`);
        problem = message;
        waitMs = REST_MS;
      }
      await delay(waitMs, undefined, { signal }).catch(() => {});
    }
  }

  /** Returns waiting files in WAL order. History files of timelines, which are short, come first. */
  private ready(): string[] {
    const names = readdirSync(this.status).filter((name) => name.endsWith('.ready'));
    const files = names.map((name) => name.slice(0, -'.ready'.length)).toSorted();
    return [
      ...files.filter((file) => file.endsWith('.history')),
      ...files.filter((file) => !file.endsWith('.history')),
    ];
  }

  private async storeReady(): Promise<void> {
    const ready = this.ready();
    for (const file of readdirSync(this.archived))
      if (!ready.includes(file)) rmSync(join(this.archived, file), { force: true });
    for (const file of ready) {
      if (existsSync(join(this.archived, file))) continue;
      await this.store(file);
      writeFileSync(join(this.archived, file), '');
    }
  }

  private async store(file: string): Promise<void> {
    const { place, recipients } = this.options;
    await this.noteGap(file);
    const bytes = zipped(createReadStream(join(this.pgdata, 'pg_wal', file)));
    const name = walName(this.system, file, recipients.length > 0);
    await place.write(name, encrypted(bytes, recipients), this.stopping.signal);
    this.newest = segmentNumber(file) ?? this.newest;
  }

  /** Notes a gap: WAL was not stored for some time, so older bases can only be recovered up to the gap. */
  private async noteGap(file: string): Promise<void> {
    const number = segmentNumber(file);
    if (number === undefined) return;
    if (this.newest === undefined) {
      const stored = [...(await storedWal(this.options.place, this.system)).keys()];
      this.newest = Math.max(-1, ...stored.map((name) => segmentNumber(name) ?? -1));
    }
    if (this.newest < 0 || number <= this.newest + 1) return;
    this.hasGap = true;
    this.options.warn('the WAL in BACKUP_URL has a gap: a new base is made');
  }

  private async makeBaseWhenDue(): Promise<void> {
    const { place, everySeconds, makeBase } = this.options;
    const own = async () =>
      (await storedBases(place)).filter(({ system }) => system === this.system);
    const bases = await own();
    this.baseAt = (bases[0]?.at.getTime() ?? 0) / 1000;
    if (!this.hasGap && !isDue(bases, everySeconds)) return;
    await makeBase(this.ending.signal);
    this.hasGap = false;
    this.baseAt = ((await own())[0]?.at.getTime() ?? 0) / 1000;
  }

  private waitingSeconds(): number {
    const waiting = this.ready().filter((file) => !existsSync(join(this.archived, file)));
    const since = waiting.map((file) => {
      const found = statSync(join(this.status, `${file}.ready`), { throwIfNoEntry: false });
      return found?.mtimeMs ?? Date.now();
    });
    return Math.max(0, (Date.now() - Math.min(Date.now(), ...since)) / 1000);
  }
}
