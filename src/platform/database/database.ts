import { Inject, Injectable } from '@nestjs/common';
import { DataSource, type EntityTarget, type ObjectLiteral, type Repository } from 'typeorm';
import { CONFIG, type Config } from '../config/config.js';
import { Connections } from '../pg/connections.js';
import { driverPool, lendToRepositories, type Pool, repositoryOn } from '../pg/driver.js';
import type { Outage } from '../pg/outage.js';
import { PreparedPlans } from '../pg/prepared-plans.js';
import { RawRowReader } from '../pg/raw-row-reader.js';
import { selfTracer } from '../process/self-tracer.js';
import { statementName, type StatementWatch, watchStatements } from '../process/statement-watch.js';
import type { CopyRows } from '../query/binary-copy.js';
import type { PreparedStatement, Sql } from '../query/sql.js';
import { Changes } from './changes.js';
import { type ConnectionSlot, ConnectionSlots, tooManyLong } from './connection-slots.js';
import { STATEMENT_MS } from './limits.js';
import { type RowBatcher, RowStream, TextRows } from './row-stream.js';
import { type OpenTransaction, WorkScope } from './work-scope.js';

/**
 * Number of connections that no work may hold for long: two fifths of the pool, at least one. In a pool of ten, these
 * are the four that `GroupCommit` uses.
 */
const keptConnections = (poolSize: number) => Math.max(1, Math.floor(0.4 * poolSize));

interface QueryOptions {
  /** The owner of the work, as defined by `Shares`. By default it is that of the asynchronous context. */
  owner?: string | undefined;
  /**
   * The work may hold its connection for long, so it waits for a slot first. The value names the time limit of one
   * statement: that of a long read, of a write that may wait for locks, or of work over many rows.
   */
  long?: 'read' | 'write' | 'bulk' | undefined;
  /**
   * The work may write while the database is read-only by default, as it is when its disk is nearly full. It frees
   * space, or it is a small write that must not wait.
   */
  isUrgent?: boolean | undefined;
}

export interface TransactionOptions extends QueryOptions {
  /**
   * A statement that takes an advisory lock before the work. Work of this process that wants the same lock queues here
   * first, so that a busy lock uses one connection and not the whole pool.
   */
  lock?: Sql;
  /** The work runs in an open transaction. When it fails, only its own changes are undone. */
  isSavepoint?: boolean;
}

interface StreamOptions {
  owner?: string;
  rows?: RowBatcher<unknown>;
  maxBatch?: number;
  firstBatch?: number;
  /** Connections keep the plan of the statement. The plan must suit all values, and the text must vary little. */
  isPlanKept?: boolean;
}

/** A connection outside the pool's transactions. Values in the text passed to `run` must be quoted already. */
export interface DedicatedConnection {
  run: (statement: string) => Promise<void>;
  query: <Row>(query: Sql<Row>) => Promise<Row[]>;
}

/** The owner of the service's own work. */
const OURS = '';

/**
 * Runs statements on the pool that TypeORM opened. Inside `transaction` every `query` of the same asynchronous context
 * uses the transaction's connection, and so does a `repository` that was created inside it.
 *
 * Work that may hold a connection for long takes a slot: `long`, `stream` and `session`. It shares a part of the pool
 * fairly by entity and key. The rest of the pool is kept for short statements.
 */
@Injectable()
export class Database {
  readonly scope = new WorkScope();
  private readonly slots: ConnectionSlots;
  private readonly keptPlans = new PreparedPlans();
  readonly changes = new Changes(
    (statement) => this.connections.query(OURS, statement.toQuery()),
    () => this.scope.open?.noted,
  );
  /** The last queued work for each lock, keyed by the lock's statement. */
  private readonly queues = new Map<string, Promise<unknown>>();

  /** Time limit in milliseconds of one statement of a long read, and of one batch of a stream. */
  readonly readMs: number;
  /**
   * Upper limit of a row in bytes: the start and the end of a call, each a request body, and 64 MiB for derived values.
   */
  readonly maxRowBytes: number;
  private readonly watch: StatementWatch | undefined;

  constructor(
    private readonly dataSource: DataSource,
    @Inject(CONFIG) { readTimeoutSeconds, maxBodyBytes, slowQueryMs }: Config,
  ) {
    if (slowQueryMs > 0 || selfTracer())
      this.watch = watchStatements(slowQueryMs, () => this.scope.subject);
    this.readMs = readTimeoutSeconds * 1000;
    this.maxRowBytes = 2 * maxBodyBytes + 64 * 1024 * 1024;
    const { poolSize } = dataSource.options as { poolSize: number };
    this.slots = new ConnectionSlots(poolSize - keptConnections(poolSize));
    lendToRepositories(dataSource, () => this.connections.connect(this.scope.owner));
  }

  /** Exposes the state and options of the pool, but no way to run statements, whose values might then not be bound. */
  get pool(): Pick<Pool, 'totalCount' | 'idleCount' | 'options'> {
    return driverPool(this.dataSource);
  }

  private lender: Connections | undefined;
  /** Created on first use, because the pool exists only once the data source is initialized. */
  private get connections(): Connections {
    return (this.lender ??= new Connections(driverPool(this.dataSource), this.watch));
  }

  get outage(): Outage {
    return this.connections.outage;
  }

  get waitingCount(): number {
    return this.connections.waitingCount;
  }

  /** Number of connections that are held for long, and of requests that wait to hold one. */
  get longCounts(): { held: number; waiting: number } {
    return { held: this.slots.heldCount, waiting: this.slots.waitingCount };
  }

  /** Returns how long each entity held slots since the last call, in milliseconds. */
  takeSlotMs(): Map<string, number> {
    return this.slots.takeHeldMs();
  }

  get inTransaction(): boolean {
    return this.scope.open !== undefined;
  }

  /**
   * Runs a statement, and returns its rows or what the batcher `rows` makes of them. With `long` or `isUrgent` it runs
   * in a transaction. Routes with `@ShortWrites()` run outside of any asynchronous context and pass `owner`.
   */
  query<T>(query: Sql, options: { rows: RowBatcher<T> }): Promise<T>;
  query<Row>(query: Sql<Row> | PreparedStatement<Row>, options?: QueryOptions): Promise<Row[]>;
  async query(
    query: Sql | PreparedStatement,
    { owner, long, isUrgent, rows }: QueryOptions & { rows?: RowBatcher<unknown> } = {},
  ): Promise<unknown> {
    if (long || isUrgent)
      return this.transaction({ owner, long, isUrgent }, () => this.query(query));
    const statement = 'toQuery' in query ? query.toQuery() : query;
    if (rows) return this.readRows(statement, rows);
    const { open } = this.scope;
    const result = open
      ? open.client.query(statement)
      : this.connections.query(owner ?? this.scope.owner, statement);
    return (await result).rows;
  }

  /** Stores all rows or none of them, in a transaction of its own. */
  async copy(rows: CopyRows): Promise<void> {
    if (this.inTransaction) throw new Error('rows are copied outside of transactions');
    await this.connections.copy(this.scope.owner, rows);
  }

  /**
   * Returns a repository for small lists and for rows looked up by key. Use `query` for ingest, streams, statistics and
   * guarded state transitions. The key of a row of a project includes its `project_id`.
   */
  repository<Row extends ObjectLiteral>(entity: EntityTarget<Row>): Repository<Row> {
    const { open } = this.scope;
    return open
      ? repositoryOn(open.client, this.dataSource, entity)
      : this.dataSource.getRepository(entity);
  }

  /**
   * Runs `work` in the open transaction, or in a new one that is committed before this resolves.
   * @throws Busy when too much long work is under way
   */
  transaction<T>(work: () => Promise<T>): Promise<T>;
  transaction<T>(options: TransactionOptions, work: () => Promise<T>): Promise<T>;
  async transaction<T>(
    given: TransactionOptions | (() => Promise<T>),
    workWithOptions?: () => Promise<T>,
  ): Promise<T> {
    if (typeof given === 'function') return this.transaction({}, given);
    const work = workWithOptions!;
    const { lock, isSavepoint, ...options } = given;
    if (lock) return this.locked(lock, options, work);
    if (isSavepoint) return this.savepoint(work);
    if (options.long) return this.long(options, work);
    return this.inTransaction ? work() : this.begin(options, work);
  }

  /**
   * Streams the rows of a query in batches of at most `maxBatch` rows. A batch contains the single text column of its
   * rows, unless `rows` builds batches differently. The first batch has `firstBatch` rows, by default one, because rows
   * may be large. Rows are read through a cursor, so memory does not grow with the result. A stream holds its
   * connection until its reader has read everything. It is cut when its reader is too slow while others wait.
   * @throws Busy when too much long work is under way
   */
  async stream(
    query: Sql,
    { owner, rows = new TextRows(), maxBatch, firstBatch, isPlanKept }: StreamOptions = {},
  ): Promise<RowStream> {
    const slot = await this.slots.take(owner ?? this.scope.owner);
    try {
      const client = await this.connections.connect(slot.key);
      this.outage.limit(client, Infinity); // a stream has time limits of its own
      const asked = query.toQuery();
      const stream = new RowStream(client, asked, rows, {
        slot,
        maxBatch,
        firstBatch,
        keptAs: isPlanKept ? this.keptPlans.name(asked.text) : undefined,
        limits: this,
        ended: this.watch?.(statementName(asked)),
      });
      return stream.once('close', () => this.slots.free(slot));
    } catch (error) {
      this.slots.free(slot);
      throw error;
    }
  }

  /**
   * Runs the service's own work that cannot run in a transaction. Its connection is closed afterwards, with all its
   * settings. The work fails when the signal is aborted.
   * @throws Busy when too much long work is under way
   */
  async session(
    work: (session: DedicatedConnection) => Promise<void>,
    signal: AbortSignal,
  ): Promise<void> {
    await this.slots.with(OURS, async () => {
      const client = await this.connections.connect(OURS);
      this.outage.limit(client, Infinity);
      const cut = () => void client.end();
      signal.addEventListener('abort', cut);
      try {
        signal.throwIfAborted();
        await work({
          run: async (statement) => void (await client.query(statement)),
          query: async (query) => (await client.query(query.toQuery())).rows as never[],
        });
      } finally {
        signal.removeEventListener('abort', cut);
        client.release(true);
      }
    });
  }

  private async readRows<T>(statement: { text: string }, rows: RowBatcher<T>): Promise<T> {
    const client = await this.connections.connect(this.scope.owner);
    let failure: Error | undefined;
    const fail = (error: unknown) => {
      failure ??= error as Error;
      void client.end();
    };
    const tap = new RawRowReader(client, {
      maxRowBytes: this.maxRowBytes,
      onRow: (bytes, start, end) => {
        try {
          rows.add(bytes, start, end);
        } catch (error) {
          fail(error);
        }
      },
      onTooLarge: fail,
    });
    try {
      await client.query(statement);
      tap.close();
      return rows.take();
    } catch (error) {
      throw (failure ??= error as Error);
    } finally {
      client.release(failure);
    }
  }

  /** Work inside an open transaction, such as a request with an Idempotency-Key, waits for the lock without a queue. */
  private async locked<T>(lock: Sql, options: QueryOptions, work: () => Promise<T>): Promise<T> {
    const lockedWork = async () => {
      await this.query(lock);
      return work();
    };
    const locked = () => this.transaction(options, lockedWork);
    if (this.inTransaction) return locked();
    const { text, values } = lock.toQuery();
    const name = JSON.stringify([text, values]);
    const turn = (this.queues.get(name) ?? Promise.resolve()).then(locked);
    const end = turn.catch(() => {});
    this.queues.set(name, end);
    try {
      return await turn;
    } finally {
      if (this.queues.get(name) === end) this.queues.delete(name);
    }
  }

  private async long<T>(options: QueryOptions, work: () => Promise<T>): Promise<T> {
    const { owner = this.scope.owner, long = 'read' } = options;
    const statementMs = { ...STATEMENT_MS, read: this.readMs }[long];
    const { open } = this.scope;
    if (open) return this.lengthen(open, statementMs, work);
    const slot = await this.slots.take(owner);
    try {
      return await this.begin(options, work, { slot, statementMs });
    } finally {
      this.slots.free(slot);
    }
  }

  /**
   * Inside an open transaction the work does not wait for a slot, because others may wait for that connection. Inside
   * long work the longer of the two limits is used.
   */
  private async lengthen<T>(
    open: OpenTransaction,
    statementMs: number,
    work: () => Promise<T>,
  ): Promise<T> {
    const { owner } = this.scope;
    const { slot, statementMs: before } = open.hold ?? {
      slot: this.slotNow(owner),
      statementMs: 0,
    };
    if (statementMs <= before) return work();
    try {
      this.outage.limit(open.client, statementMs);
      await open.client.query(`SET LOCAL statement_timeout = ${statementMs}`);
      return await this.scope.join({ ...open, hold: { slot, statementMs } }, owner, work);
    } finally {
      if (!open.hold) this.slots.free(slot);
    }
  }

  private slotNow(owner: string): ConnectionSlot {
    const slot = this.slots.takeNow(owner);
    if (!slot) throw tooManyLong();
    return slot;
  }

  private async begin<T>(
    { owner = this.scope.owner, isUrgent = this.scope.isUrgent }: QueryOptions,
    work: () => Promise<T>,
    hold?: OpenTransaction['hold'],
  ): Promise<T> {
    const client = await this.connections.connect(owner);
    const open: OpenTransaction = { client, noted: new Map(), hold };
    const limit = hold ? `SET LOCAL statement_timeout = ${hold.statementMs}` : '';
    if (hold) this.outage.limit(client, hold.statementMs);
    let failure: Error | undefined;
    try {
      await client.query(`BEGIN ${isUrgent ? 'READ WRITE' : ''}; ${limit}`);
      const result = await this.scope.join(open, owner, work);
      await client.query('COMMIT');
      for (const [projectId, kinds] of open.noted)
        for (const kind of kinds) this.changes.noteCommitted(projectId, kind);
      return result;
    } catch (error) {
      await client.query('ROLLBACK').catch((lost: Error) => (failure = lost));
      throw error;
    } finally {
      client.release(failure);
    }
  }

  private async savepoint<T>(work: () => Promise<T>): Promise<T> {
    const client = this.scope.open?.client;
    if (!client) throw new Error('a savepoint needs a transaction');
    await client.query('SAVEPOINT work');
    try {
      const result = await work();
      await client.query('RELEASE SAVEPOINT work');
      return result;
    } catch (error) {
      await client.query('ROLLBACK TO SAVEPOINT work');
      throw error;
    }
  }
}
