import { closeSync, constants, openSync, statfsSync, writeSync } from 'node:fs';
import { statfs } from 'node:fs/promises';

const MIB = 1024 * 1024;
const LOOK_EVERY_MS = 250;
/** Below this much free room, or this part of a small disk, nothing is written but what makes room. */
const RESERVE_BYTES = 256 * MIB;
const RESERVE_PART = 1 / 20;
/** Writes are accepted again when this many times the reserve is free. */
const ENOUGH = 2;
/** The file has a fixed size, so that it can be rewritten on a full disk. */
const FILE_BYTES = 8192;

/** Settings while the disk is nearly full: small logs free room, which is left for erasing. */
const NEARLY_FULL: Record<string, string> = {
  default_transaction_read_only: 'on',
  min_wal_size: '32MB',
  max_wal_size: '64MB',
  checkpoint_timeout: '30s',
};

export interface Disk {
  sizeBytes: number;
  /** For accounts that are not root, as the server's. */
  freeBytes: number;
}

/** Of the disk that holds a path. */
export function diskOf(path: string): Disk {
  return asDisk(statfsSync(path));
}

const asDisk = ({ blocks, bavail, bsize }: { blocks: number; bavail: number; bsize: number }) => ({
  sizeBytes: blocks * bsize,
  freeBytes: bavail * bsize,
});

/** Whether to refuse writes, given whether they are refused now. */
function isNearlyFull({ sizeBytes, freeBytes }: Disk, isNow: boolean): boolean {
  const reserve = Math.min(RESERVE_BYTES, sizeBytes * RESERVE_PART);
  return freeBytes < (isNow ? ENOUGH * reserve : reserve);
}

/**
 * Keeps PostgreSQL from filling its disk, on which it could not even start again: near the end of the room it is told to
 * begin transactions as read-only, so that reads go on, writes are refused (SQLSTATE 25006), and erasing, which asks for
 * a transaction that writes, has the rest. All of it ends by itself when there is room again.
 *
 * The server reads its settings from a file outside of the data folder; `reload` makes a running one read it anew.
 */
export class DiskWatch {
  private isFull: boolean;
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly pgdata: string,
    private readonly file: string,
    private readonly settings: Record<string, string>,
    private readonly told: { reload: () => void; warn: (line: string) => void },
  ) {
    this.isFull = isNearlyFull(diskOf(pgdata), false);
    this.write();
    if (this.isFull) this.tell();
  }

  start(): void {
    this.timer = setInterval(() => void this.look(), LOOK_EVERY_MS).unref();
  }

  stop(): void {
    clearInterval(this.timer);
  }

  private async look(): Promise<void> {
    try {
      const isFull = isNearlyFull(asDisk(await statfs(this.pgdata)), this.isFull);
      if (isFull === this.isFull) return;
      this.isFull = isFull;
      this.write();
      this.told.reload();
      this.tell();
    } catch (error) {
      const { message }: Error = Object(error);
      this.told.warn(`cannot watch the room on the disk of ${this.pgdata}: ${message}`);
      this.stop();
    }
  }

  private tell(): void {
    this.told.warn(
      this.isFull
        ? `the disk of ${this.pgdata} is nearly full: writes are refused until there is room, reads and erasing go on`
        : `the disk of ${this.pgdata} has room again: writes are taken`,
    );
  }

  private write(): void {
    const settings = { ...this.settings, ...(this.isFull && NEARLY_FULL) };
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

/** As PostgreSQL reads a value of its configuration file. */
const quoted = (text: string) => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`;
