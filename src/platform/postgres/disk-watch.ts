import {
  closeSync,
  constants,
  openSync,
  readdirSync,
  statfsSync,
  statSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';

const MIB = 1024 * 1024;
const LOOK_EVERY_MS = 100;
/** With less free room than this, or than this part of a small disk, only work that frees room may write. */
const RESERVE_BYTES = 256 * MIB;
const RESERVE_PART = 1 / 20;
/** Smallest reserve, in WAL segments. PostgreSQL ends when it cannot create the next segment. */
const RESERVE_SEGMENTS = 6;
/** Writes are accepted again when this many times the reserve is free. */
const ENOUGH = 1.5;
/**
 * While new rows reuse the room of erased rows, indexes may grow into the reserve, down to this many segments. Up to
 * four existing WAL segments count as free room, so that one segment more or less decides nothing.
 */
const REUSING_SEGMENTS = 7;
/** The WAL has three or four segments while a checkpoint runs, and erasing may need one more. */
const LEAST_SEGMENTS = 5;
const LOG_SEGMENTS = 4;
/** Part of a segment by which the disk may fill further after each erasing. */
const GROWTH_PART = 1 / 2;
/** Fixed size of the file, so that it can be rewritten on a full disk. */
const FILE_BYTES = 8192;

export interface DiskSpace {
  sizeBytes: number;
  /** Free bytes for accounts other than root, such as the server's. */
  freeBytes: number;
}

/** Returns the size and the free room of the disk that holds a path. */
export function readDisk(path: string): DiskSpace {
  const { blocks, bavail, bsize } = statfsSync(path);
  return { sizeBytes: blocks * bsize, freeBytes: bavail * bsize };
}

/** Lists the WAL segments. All have the size that the cluster was created with. */
function listSegments(pgdata: string): string[] {
  return readdirSync(join(pgdata, 'pg_wal')).filter((name) => /^[0-9A-F]{24}$/.test(name));
}

/**
 * State of the disk. `roomy`: normal operation. `full`: writes are refused. `reusing`: writes are accepted although no
 * more room is free, because new rows reuse the room of erased rows. The service also starts in `reusing`, as an
 * attempt.
 */
type State = 'roomy' | 'reusing' | 'full';

export interface DiskRoom extends DiskSpace {
  segmentBytes: number;
  segments: number;
}

/** Returns the next state. `least` is the room that must stay free while new rows reuse the room of erased rows. */
export function judgeRoom(room: DiskRoom, before: State, least: number): State {
  const { sizeBytes, freeBytes, segmentBytes } = room;
  const part = Math.min(RESERVE_BYTES, sizeBytes * RESERVE_PART);
  const reserve = Math.max(part, RESERVE_SEGMENTS * segmentBytes);
  if (freeBytes >= (before === 'roomy' ? reserve : ENOUGH * reserve)) return 'roomy';
  return before === 'reusing' && withLog(room) >= least ? 'reusing' : 'full';
}

const withLog = ({ freeBytes, segmentBytes, segments }: DiskRoom) =>
  freeBytes + Math.min(LOG_SEGMENTS, segments) * segmentBytes;

/** Returns the room that must stay free after erasing: less than is free now, within bounds. */
export function leastAfterErasing(room: DiskRoom): number {
  const { segmentBytes } = room;
  const least = Math.min(
    REUSING_SEGMENTS * segmentBytes,
    withLog(room) - GROWTH_PART * segmentBytes,
  );
  return Math.max(LEAST_SEGMENTS * segmentBytes, least);
}

/**
 * Settings while the disk is nearly full. A small WAL leaves its room to erasing: a checkpoint is due at each segment,
 * runs as fast as possible, and keeps no segment for later. Vacuum, which nothing else limits, writes at most 16 MB/s.
 */
const smallLog = (segmentBytes: number): Record<string, string> => ({
  min_wal_size: `${(2 * segmentBytes) / MIB}MB`,
  max_wal_size: `${(2 * segmentBytes) / MIB}MB`,
  checkpoint_completion_target: '0',
  checkpoint_timeout: '30s',
  autovacuum_vacuum_cost_limit: '200',
  autovacuum_vacuum_cost_delay: '5ms',
});

/**
 * Keeps PostgreSQL from filling its disk, because it cannot start on a full one. Near the end of the room, transactions
 * begin as read-only. Reads continue, and writes are refused (SQLSTATE 25006). Erasing requests a transaction that
 * writes, and may use the rest. Normal operation resumes by itself when room is free again.
 *
 * The server reads its settings from a file outside of the data folder; `reload` makes a running server read it again.
 */
export class DiskWatch {
  private state: State;
  private least: number;
  private readonly segmentBytes: number;
  private timer: NodeJS.Timeout | undefined;
  private problem: string | undefined;
  readonly progress = { pauseMs: LOOK_EVERY_MS, succeededMs: Date.now() };

  constructor(
    private readonly pgdata: string,
    private readonly file: string,
    private readonly settings: Record<string, string>,
    private readonly told: { reload: () => void; warn: (line: string) => void },
  ) {
    const [segment] = listSegments(pgdata);
    if (!segment) throw new Error(`${pgdata} has no WAL (pg_wal): restore a backup`);
    this.segmentBytes = statSync(join(pgdata, 'pg_wal', segment)).size;
    this.least = REUSING_SEGMENTS * this.segmentBytes;
    const isRoomy = judgeRoom(this.room, 'roomy', 0) === 'roomy';
    this.state = isRoomy ? 'roomy' : judgeRoom(this.room, 'reusing', this.least);
    this.write(this.state);
    if (!isRoomy) this.tell();
  }

  start(): void {
    this.timer = setInterval(() => this.look(), LOOK_EVERY_MS).unref();
  }

  stop(): void {
    clearInterval(this.timer);
  }

  /** Returns how much may be erased now: any amount, one batch between two checkpoints, or nothing. */
  get roomToErase(): 'free' | 'in steps' | 'impossible' {
    if (this.state === 'roomy') return 'free';
    return readDisk(this.pgdata).freeBytes < this.segmentBytes ? 'impossible' : 'in steps';
  }

  /** Accepts writes again after rows were erased and vacuumed: new rows fit into the files, even on a full disk. */
  reuse(): void {
    this.least = leastAfterErasing(this.room);
    if (this.state === 'full') this.enter(judgeRoom(this.room, 'reusing', this.least));
  }

  private get room(): DiskRoom {
    const segments = listSegments(this.pgdata).length;
    return { ...readDisk(this.pgdata), segments, segmentBytes: this.segmentBytes };
  }

  private look(): void {
    try {
      this.enter(judgeRoom(this.room, this.state, this.least));
      this.progress.succeededMs = Date.now();
      this.problem = undefined;
    } catch (error) {
      const { message }: Error = Object(error);
      if (message === this.problem) return;
      this.problem = message;
      this.told.warn(
        `cannot watch the room on the disk of ${this.pgdata}, and tries again: ${message}`,
      );
    }
  }

  private enter(state: State): void {
    if (state === this.state) return;
    this.write(state);
    this.told.reload();
    this.state = state;
    this.tell();
  }

  private tell(): void {
    const told: Record<State, string> = {
      full: 'is nearly full: writes are refused until there is room, reads and erasing go on',
      reusing: 'is nearly full: writes are taken while they fit into the room of erased rows',
      roomy: 'has room again: writes are taken',
    };
    this.told.warn(`the disk of ${this.pgdata} ${told[this.state]}`);
  }

  private write(state: State): void {
    const settings = {
      ...this.settings,
      ...(state !== 'roomy' && smallLog(this.segmentBytes)),
      ...(state === 'full' && { default_transaction_read_only: 'on' }),
    };
    const lines = [`include ${quoted(`${this.pgdata}/postgresql.conf`)}`];
    for (const [name, value] of Object.entries(settings)) lines.push(`${name} = ${quoted(value)}`);
    const { O_WRONLY, O_CREAT } = constants;
    const descriptor = openSync(this.file, O_WRONLY | O_CREAT, 0o644);
    try {
      writeSync(descriptor, `${lines.join('\n').padEnd(FILE_BYTES - 1)}\n`, 0);
    } finally {
      closeSync(descriptor);
    }
  }
}

const quoted = (text: string) => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`;
