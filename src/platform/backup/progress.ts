const EVERY_MS = { terminal: 1000, log: 10_000 };
const LINE_FEED = 10;
const MIB = 1024 * 1024;

interface TableSize {
  name: string;
  rows: number;
  bytes: number;
}

/**
 * Prints the progress of a backup or restore: share of the whole, rate, remaining time. A table counts by its size on
 * disk. Within a table the rows count, each of which ends with the one line feed that COPY does not escape.
 */
export class BackupProgress {
  private readonly began = performance.now();
  private said = this.began;
  private total = 1;
  private passed = 0;
  private table: TableSize = { name: '', rows: 0, bytes: 0 };
  private rows = 0;
  private bytes = 0;

  constructor(
    private readonly verb: string,
    private readonly say: (line: string) => void = onStandardError,
    private readonly everyMs = process.stderr.isTTY ? EVERY_MS.terminal : EVERY_MS.log,
  ) {}

  /** Sets the expected tables, before the first one. */
  expect(tables: readonly TableSize[]): void {
    this.total = tables.reduce((sum, { bytes }) => sum + bytes, 1);
  }

  begin(table: TableSize): void {
    this.passed += this.table.bytes;
    this.table = table;
    this.rows = 0;
  }

  add(piece: Buffer): void {
    this.bytes += piece.length;
    for (let at = piece.indexOf(LINE_FEED); at >= 0; at = piece.indexOf(LINE_FEED, at + 1))
      this.rows++;
    const now = performance.now();
    if (now - this.said < this.everyMs) return;
    this.said = now;
    this.say(this.line(now));
  }

  summary(): string {
    const seconds = (performance.now() - this.began) / 1000;
    return `${mib(this.bytes)} MiB of rows in ${seconds.toFixed(1)} s`;
  }

  private line(now: number): string {
    const seconds = (now - this.began) / 1000;
    const { name, rows, bytes } = this.table;
    const share = Math.min(
      1,
      (this.passed + bytes * Math.min(1, this.rows / Math.max(1, rows))) / this.total,
    );
    const remaining = share > 0 ? Math.ceil((seconds * (1 - share)) / share) : 0;
    return `${this.verb} ${name}: ${Math.floor(100 * share)} % done, ${mib(this.bytes / seconds)} MiB/s, about ${remaining} s left`;
  }
}

const mib = (bytes: number) => (bytes / MIB).toFixed(1);

const onStandardError = (line: string) => void process.stderr.write(`${line}\n`);
