import { allButLastRule, ownerEntity, Shares, twoThirdsRule } from '../process/fair-queue.js';
import { Busy } from '../refusals.js';

interface WaitingRow<Row> {
  row: Row;
  bytes: number;
  settled: RowCallback<Row>;
}

/** Is told that the row is committed, or what refused it. */
type RowCallback<Row> = (row: Row, error?: unknown) => void;

/** Whose a row is. */
interface Owner {
  /** The owner, as of `Shares`. */
  key: string;
  project: string;
}

interface Batch<Row> {
  rows: WaitingRow<Row>[];
  bytes: number;
}

/** Rows of one project, by key. */
interface ProjectRows<Row> {
  keys: Map<string, WaitingRow<Row>[]>;
  count: number;
  bytes: number;
}

interface Limits {
  /** Rows and bytes of one write. */
  maxRows: number;
  maxBytes: number;
  /** Writes under way at once. */
  maxWrites: number;
  /** Rows that do not fill a write wait so long for the one of their project that is under way. */
  patienceMs: number;
  /** Rows and bytes that may wait; beyond them `add` throws `Busy`. */
  maxWaitingRows: number;
  maxWaitingBytes: number;
}

const MIB = 1024 * 1024;

/* Why 200 rows, and 5 ms: docs/adr/0004-write-path.md. */
const LIMITS: Limits = {
  maxRows: 200,
  maxBytes: 8 * MIB,
  maxWrites: 4,
  patienceMs: 5,
  maxWaitingRows: 40_000,
  maxWaitingBytes: 64 * MIB,
};

/**
 * Turns concurrent single-row writes into few multi-row ones. When the rows of a project fill a write, it starts beside those that are
 * under way. When they do not, they wait until none of the project is, since a write costs as much as some ten rows; but no longer than
 * `patienceMs`, since a lock may hold it up. So latency is one write when idle, and a batch grows with the load. Rows
 * share a write only with rows of the same project, so that a lock or a bad row holds up no other project. Entities take
 * turns, the keys of an entity do, and the projects of a key: an entity waits for one write of each other one, however many
 * keys and projects that has.
 * A write with room takes rows that other keys have for its project. Neither an entity nor a project has the last of the
 * writes that may be under way, so that slow ones (of large rows, with many indexes) leave one to others. `add` settles when its row is committed, or
 * refused; what waits is bounded in rows and bytes, of which an entity has
 * two thirds and a key a half.
 */
export class GroupCommit<Row> {
  /** By project. */
  private readonly waiting = new Map<string, ProjectRows<Row>>();
  /** The projects of each key, by entity. What has waited longest comes first. */
  private readonly turns = new Map<string, Map<string, Set<string>>>();
  /** Rows and their bytes. */
  private readonly waitingShares: Shares;
  /** Writes under way. */
  private readonly writesOfOwner: Shares;
  private readonly writesOfProject: Shares;
  /** When the last write of each project began that has one under way. */
  private readonly begun = new Map<string, number>();
  private isScheduled = false;
  private timer?: NodeJS.Timeout | undefined;
  private readonly idleListeners: (() => void)[] = [];
  private readonly limits: Limits;

  constructor(
    /** Stores rows; the key is the one whose turn it is, as of `Shares`. */
    private readonly write: (rows: Row[], key: string) => Promise<void>,
    /** Whether the error may be due to some of the rows, so that the others are tried without them. */
    private readonly isRowError: (error: unknown) => boolean,
    limits: Partial<Limits> = {},
  ) {
    this.limits = { ...LIMITS, ...limits };
    const { maxWaitingRows, maxWaitingBytes, maxWrites } = this.limits;
    this.waitingShares = new Shares(
      twoThirdsRule({ count: maxWaitingRows, weight: maxWaitingBytes }),
    );
    this.writesOfOwner = new Shares(allButLastRule(maxWrites));
    this.writesOfProject = new Shares({ ...allButLastRule(maxWrites), entity: () => true });
  }

  get waitingRows(): number {
    return this.waitingShares.all.count;
  }

  /** `bytes` is what the row weighs, for the limits; one that waits alone may weigh more. @throws Busy */
  add(row: Row, owner: Owner, bytes: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const settled: RowCallback<Row> = (_, error) =>
        error === undefined ? resolve() : reject(error);
      if (!this.enter(row, owner, bytes, settled)) reject(full());
    });
  }

  /**
   * The same for many, up to the first one for which there is no room: an error for each of those behind it would keep the
   * process from others for long. Answers what refused which, when all that were added are settled. @throws Busy
   */
  async addAll(
    rows: readonly Row[],
    of: (row: Row) => { owner: Owner; bytes: number },
  ): Promise<Map<Row, unknown>> {
    const refused = new Map<Row, unknown>();
    let added = 0;
    let left = 0;
    await new Promise<void>((resolve) => {
      const settled: RowCallback<Row> = (row, error) => {
        if (error !== undefined) refused.set(row, error);
        if (--left === 0) resolve();
      };
      for (const row of rows) {
        const { owner, bytes } = of(row);
        if (!this.enter(row, owner, bytes, settled)) break;
        added++;
      }
      left = added;
      if (added === 0) resolve();
    });
    if (added < rows.length) throw full();
    return refused;
  }

  /** Whether there is room for the row. It is settled later. */
  private enter(
    row: Row,
    { key, project }: Owner,
    bytes: number,
    settled: RowCallback<Row>,
  ): boolean {
    if (!this.waitingShares.take(key, bytes)) return false;
    const ofProject = entry(this.waiting, project, noRows<Row>);
    entry(ofProject.keys, key, () => []).push({ row, bytes, settled });
    ofProject.count++;
    ofProject.bytes += bytes;
    const turns = entry(this.turns, ownerEntity(key), () => new Map<string, Set<string>>());
    entry(turns, key, () => new Set()).add(project);
    this.schedule();
    return true;
  }

  private get writes(): number {
    return this.writesOfOwner.all.count;
  }

  /** Resolves when everything added so far is settled; call it on shutdown. */
  async idle(): Promise<void> {
    if (this.waitingRows === 0 && this.writes === 0) return;
    await new Promise<void>((resolve) => this.idleListeners.push(resolve));
  }

  /** Requests read in the same turn of the event loop share the first batch. */
  private schedule(): void {
    if (this.isScheduled || this.writes >= this.limits.maxWrites) return;
    this.isScheduled = true;
    setImmediate(() => {
      this.isScheduled = false;
      while (this.writes < this.limits.maxWrites) {
        const owner = this.next();
        if (!owner) return this.waitForTime();
        void this.startWrite(owner);
      }
    });
  }

  private waitForTime(): void {
    if (this.waitingRows === 0) return;
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      this.schedule();
    }, this.limits.patienceMs).unref();
  }

  private async startWrite(owner: Owner): Promise<void> {
    this.writesOfOwner.add(owner.key);
    this.writesOfProject.add(owner.project);
    this.begun.set(owner.project, performance.now());
    await this.commit(this.nextBatch(owner), owner.key);
    this.writesOfOwner.give(owner.key);
    this.writesOfProject.give(owner.project);
    if (this.writesOfProject.of(owner.project).count === 0) this.begun.delete(owner.project);
    if (this.waitingRows > 0) this.schedule();
    else if (this.writes === 0) for (const resolve of this.idleListeners.splice(0)) resolve();
  }

  /** The entity that has waited longest, its key and its project that have, of those that may have one more write. */
  private next(): Owner | undefined {
    for (const keys of this.turns.values())
      for (const [key, projects] of keys)
        if (this.writesOfOwner.hasRoom(key))
          for (const project of projects)
            if (this.writesOfProject.hasRoom(project) && this.isReady(project))
              return { key, project };
    return undefined;
  }

  private isReady(project: string): boolean {
    const begun = this.begun.get(project);
    if (begun === undefined) return true;
    const { count, bytes } = this.waiting.get(project)!;
    const { maxRows, maxBytes, patienceMs } = this.limits;
    return count >= maxRows || bytes >= maxBytes || performance.now() - begun >= patienceMs;
  }

  /** Rows of the key, then of the others, for the project. */
  private nextBatch({ key, project }: Owner): WaitingRow<Row>[] {
    const turns = this.turns.get(ownerEntity(key))!;
    const projects = turns.get(key)!;
    const batch: Batch<Row> = { rows: [], bytes: 0 };
    const { keys } = this.waiting.get(project)!;
    this.take(key, project, batch);
    for (const other of keys.keys()) {
      if (batch.rows.length >= this.limits.maxRows) break;
      if (other !== key) this.take(other, project, batch);
    }
    if (projects.delete(project)) projects.add(project); // to the end of the line
    if (turns.delete(key)) turns.set(key, projects);
    if (this.turns.delete(ownerEntity(key))) this.turns.set(ownerEntity(key), turns);
    return batch.rows;
  }

  /** Moves rows of the key and project to the batch while they fit. A batch takes its first row always. */
  private take(key: string, project: string, batch: Batch<Row>): void {
    const ofProject = this.waiting.get(project)!;
    const { keys } = ofProject;
    const queue = keys.get(key)!;
    const { maxRows, maxBytes } = this.limits;
    let count = 0;
    let bytes = 0;
    for (const waiting of queue) {
      const isFull =
        batch.rows.length + count >= maxRows || batch.bytes + bytes + waiting.bytes > maxBytes;
      if (isFull && batch.rows.length + count > 0) break;
      count++;
      bytes += waiting.bytes;
    }
    batch.rows.push(...queue.splice(0, count));
    batch.bytes += bytes;
    ofProject.count -= count;
    ofProject.bytes -= bytes;
    this.waitingShares.give(key, bytes, count);
    if (queue.length > 0) return;
    keys.delete(key);
    if (keys.size === 0) this.waiting.delete(project);
    const turns = this.turns.get(ownerEntity(key))!;
    const projects = turns.get(key)!;
    projects.delete(project);
    if (projects.size === 0) turns.delete(key);
    if (turns.size === 0) this.turns.delete(ownerEntity(key));
  }

  private async commit(batch: WaitingRow<Row>[], key: string): Promise<void> {
    try {
      await this.write(
        batch.map(({ row }) => row),
        key,
      );
      for (const { row, settled } of batch) settled(row);
    } catch (error) {
      if (batch.length > 1 && this.isRowError(error)) {
        // One bad row must not fail its neighbours: halve until it stands alone.
        const half = batch.length >> 1;
        await this.commit(batch.slice(0, half), key);
        await this.commit(batch.slice(half), key);
      } else {
        for (const { row, settled } of batch) settled(row, error); // one bad row, or a server that is gone for all of them
      }
    }
  }
}

const noRows = <Row>(): ProjectRows<Row> => ({ keys: new Map(), count: 0, bytes: 0 });

const full = () => new Busy('too many writes wait for the database');

function entry<K, V>(map: Map<K, V>, key: K, made: () => V): V {
  let value = map.get(key);
  if (value === undefined) map.set(key, (value = made()));
  return value;
}
