import { allButLastRule, ownerEntity, Shares, twoThirdsRule } from '../process/fair-queue.js';
import { Busy } from '../refusals.js';

interface WaitingRow<Row> {
  row: Row;
  bytes: number;
  settled: RowCallback<Row>;
}

/** Called when the row is committed, or with the error when it was refused. */
type RowCallback<Row> = (row: Row, error?: unknown) => void;

interface Owner {
  /** The owner, as defined by `Shares`. */
  key: string;
  project: string;
}

interface Batch<Row> {
  rows: WaitingRow<Row>[];
  bytes: number;
}

/** Waiting rows of one project, keyed by owner. */
interface ProjectRows<Row> {
  keys: Map<string, WaitingRow<Row>[]>;
  count: number;
  bytes: number;
}

interface Limits {
  /** Most rows and bytes of one write. */
  maxRows: number;
  maxBytes: number;
  maxWrites: number;
  /** Time in milliseconds that rows of an unfilled write wait for the running write of their project. */
  patienceMs: number;
  /** Most rows and bytes that may wait. Above this `add` throws `Busy`. */
  maxWaitingRows: number;
  maxWaitingBytes: number;
}

const MIB = 1024 * 1024;

/* docs/adr/0004-write-path.md explains the 200 rows and 5 ms. */
const LIMITS: Limits = {
  maxRows: 200,
  maxBytes: 8 * MIB,
  maxWrites: 4,
  patienceMs: 5,
  maxWaitingRows: 40_000,
  maxWaitingBytes: 64 * MIB,
};

/**
 * Combines concurrent single-row writes into few multi-row writes.
 *
 * When the rows of a project fill a write, it starts beside the writes that are under way. Otherwise they wait until no
 * write of their project is under way, because a write costs as much as some ten rows. They wait at most `patienceMs`,
 * because a lock may delay the running write. So the latency of an idle service is one write, and batches grow with the
 * load.
 *
 * A write has rows of one project only, so that a lock or an invalid row delays no other project. Entities take turns,
 * and so do the keys of an entity and the projects of a key. An entity waits for one write of each other entity,
 * however many keys and projects that one has. A write with room left takes rows of other keys for the same project.
 *
 * Neither an entity nor a project may use the last of the `maxWrites` writes. So slow writes (large rows, many indexes)
 * leave one to others. `add` settles when its row is committed or refused. Waiting rows are limited in number and
 * bytes; an entity may use two thirds of the limits, and a key half.
 */
export class GroupCommit<Row> {
  /** Waiting rows, keyed by project id. */
  private readonly waiting = new Map<string, ProjectRows<Row>>();
  /** Projects with waiting rows of each key, grouped by entity. The longest-waiting comes first. */
  private readonly turns = new Map<string, Map<string, Set<string>>>();
  private readonly waitingShares: Shares;
  private readonly writesOfOwner: Shares;
  private readonly writesOfProject: Shares;
  /** Start time of the last write of each project that has a write under way. */
  private readonly begun = new Map<string, number>();
  private isScheduled = false;
  private timer?: NodeJS.Timeout | undefined;
  private readonly idleListeners: (() => void)[] = [];
  private readonly limits: Limits;

  constructor(
    /** Stores rows. `key` is the owner whose turn it is, as defined by `Shares`. */
    private readonly write: (rows: Row[], key: string) => Promise<void>,
    /** True when the error may be caused by some of the rows. Then the other rows are tried without them. */
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

  /**
   * Adds a row that counts as `bytes` towards the limits. A row that waits alone may exceed them.
   * @throws Busy when no room is left
   */
  add(row: Row, owner: Owner, bytes: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const settled: RowCallback<Row> = (_, error) =>
        error === undefined ? resolve() : reject(error);
      if (!this.enter(row, owner, bytes, settled)) reject(full());
    });
  }

  /**
   * Adds rows up to the first one without room. Failing each of the later ones singly would block the event loop for
   * long. When all added rows are settled, returns the error of each refused row.
   * @throws Busy when a row found no room
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

  /** Queues a row. Returns false when no room is left. */
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

  /** Resolves when everything added so far is settled. Call it on shutdown. */
  async idle(): Promise<void> {
    if (this.waitingRows === 0 && this.writes === 0) return;
    await new Promise<void>((resolve) => this.idleListeners.push(resolve));
  }

  /**
   * Starts writes in the next `setImmediate`, so that requests read in the same iteration of the event loop share a
   * batch.
   */
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

  /** Returns the longest-waiting entity, key and project that may start one more write. */
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

  /** Removes the next batch of the project: rows of the key first, then rows of other keys. */
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
    if (projects.delete(project)) projects.add(project); // to the end of the queue
    if (turns.delete(key)) turns.set(key, projects);
    if (this.turns.delete(ownerEntity(key))) this.turns.set(ownerEntity(key), turns);
    return batch.rows;
  }

  /** Moves rows of the key and project to the batch while they fit. An empty batch always takes one row. */
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
        // One invalid row must not fail the others: split the batch until the row is alone.
        const half = batch.length >> 1;
        await this.commit(batch.slice(0, half), key);
        await this.commit(batch.slice(half), key);
      } else {
        for (const { row, settled } of batch) settled(row, error); // one invalid row, or a lost server
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
