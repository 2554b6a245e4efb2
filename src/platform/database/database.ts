import { AsyncLocalStorage } from 'node:async_hooks';
import { Inject, Injectable } from '@nestjs/common';
import { DataSource, type EntityTarget, type ObjectLiteral, type Repository } from 'typeorm';
import type { CopyRows } from '../query/binary-copy.js';
import type { PreparedStatement, Sql } from '../query/sql.js';
import { CONFIG, type Config } from '../config/config.js';
import { selfTracer } from '../process/self-tracer.js';
import { Changes, type ChangeKind, noteChange, type NotedChanges } from './changes.js';
import { Connections } from '../pg/connections.js';
import {
  driverPool,
  lendToRepositories,
  type Pool,
  type PoolClient,
  repositoryOn,
} from '../pg/driver.js';
import { PreparedPlans } from '../pg/prepared-plans.js';
import { RawRowReader } from '../pg/raw-row-reader.js';
import { type RowBatcher, RowStream, TextRows } from './row-stream.js';
import { type ConnectionSlot, ConnectionSlots, tooManyLong } from './connection-slots.js';
import {
  statementName,
  type StatementWatch,
  type StatementSubject,
  watchStatements,
} from '../process/statement-watch.js';

/**
 * Number of connections that no work may hold for long: two fifths of the pool, at least one. In a pool of ten, these
 * are the four that `GroupCommit` uses.
 */
const keptConnections = (poolSize: number) => Math.max(1, Math.floor(0.4 * poolSize));

/** State shared by the statements of an asynchronous context. */
interface StatementScope {
  /** Returns the owner of the work, as defined by `Shares`. */
  key: () => string;
  client?: PoolClient;
  noted?: NotedChanges;
  /** Set where the connection may be held for long. `statementMs` is the limit of one statement on it. */
  slot?: ConnectionSlot;
  statementMs?: number;
  isUrgent?: boolean | undefined;
  subject?: StatementSubject | undefined;
}

/** A connection outside the pool's transactions. Values in the text passed to `run` must be quoted already. */
export interface DedicatedConnection {
  run: (statement: string) => Promise<void>;
  query: <Row>(query: Sql<Row>) => Promise<Row[]>;
}

const OURS = () => '';

interface StreamOptions {
  rows?: RowBatcher<unknown>;
  maxBatch?: number;
  firstBatch?: number;
  /** Connections keep the plan of the statement. The plan must suit all values, and the text must vary little. */
  isPlanKept?: boolean;
}

/**
 * Runs statements on the pool that TypeORM opened. Inside `transaction` every `query` of the same asynchronous context
 * uses the transaction's connection, and so does a `repository` that was created inside it.
 *
 * Work that may hold a connection for long goes through `long` or `stream`. It shares a part of the pool fairly by
 * entity and key. The rest of the pool is kept for short statements.
 */
@Injectable()
export class Database {
  private readonly scopes = new AsyncLocalStorage<StatementScope>();
  private readonly slots: ConnectionSlots;
  private readonly keptPlans = new PreparedPlans();
  readonly changes = new Changes((statement) =>
    this.connections.query(OURS(), statement.toQuery()),
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
      this.watch = watchStatements(slowQueryMs, () => this.scope?.subject);
    this.readMs = readTimeoutSeconds * 1000;
    this.maxRowBytes = 2 * maxBodyBytes + 64 * 1024 * 1024;
    const { poolSize } = dataSource.options as { poolSize: number };
    this.slots = new ConnectionSlots(poolSize - keptConnections(poolSize));
    lendToRepositories(dataSource, () => this.connections.connect(this.key()));
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

  get waitingCount(): number {
    return this.connections.waitingCount;
  }

  /** Number of connections that are held for long, and of requests that wait to hold one. */
  get longCounts(): { held: number; waiting: number } {
    return { held: this.slots.heldCount, waiting: this.slots.waitingCount };
  }

  get inTransaction(): boolean {
    return this.scope?.client !== undefined;
  }

  private get scope(): StatementScope | undefined {
    return this.scopes.getStore();
  }

  /**
   * Runs `work` for an owner. The owner need not be known before the first slot is taken; an empty one is the service
   * itself. `subject` describes the work to statement watchers. Within a traced request the work stays in the request's
   * trace.
   */
  runFor<T>(key: () => string, work: () => T, subject?: StatementSubject): T {
    const { isUrgent, subject: outer } = this.scope ?? {};
    const inner = subject ? { trace: outer?.trace, ...subject } : outer;
    return this.scopes.run({ key, isUrgent, subject: inner }, work);
  }

  /**
   * Lets transactions that begin within `work` write while the database is read-only by default, as it is when its disk
   * is nearly full. Use it for work that frees space, and for small writes that must not wait. It does not apply to
   * statements outside of a transaction.
   */
  urgently<T>(work: () => T): T {
    return this.scopes.run({ key: this.key, ...this.scope, isUrgent: true }, work);
  }

  /** Returns the owner of the asynchronous context. Callbacks that run in other contexts pass it to `runFor`. */
  get key(): () => string {
    return this.scope?.key ?? OURS;
  }

  /**
   * Notifies watchers of a project, in every process, that something of the kind was written. Inside a transaction the
   * notice is sent after the commit, otherwise now.
   */
  note(projectId: string, kind: ChangeKind): void {
    const noted = this.scope?.noted;
    if (noted) noteChange(noted, projectId, kind);
    else this.changes.note(projectId, kind);
  }

  /** Runs a statement. `owner` is for routes with `@ShortWrites()`, which run outside of any asynchronous context. */
  async query<Row>(query: Sql<Row> | PreparedStatement<Row>, owner?: string): Promise<Row[]> {
    return (await this.ask('toQuery' in query ? query.toQuery() : query, owner)).rows as Row[];
  }

  /** Runs a statement and returns how many rows it wrote. */
  async write(query: Sql): Promise<number> {
    return (await this.ask(query.toQuery())).rowCount ?? 0;
  }

  /** Stores all rows or none of them, in a transaction of its own. */
  async copy(rows: CopyRows): Promise<void> {
    if (this.inTransaction) throw new Error('rows are copied outside of transactions');
    await this.connections.copy(this.key(), rows);
  }

  private ask(query: { text: string; values: unknown[] }, owner = this.key()) {
    return this.scope?.client?.query(query) ?? this.connections.query(owner, query);
  }

  /**
   * Returns a repository for small lists and for rows looked up by key. Use `query` for ingest, streams, statistics and
   * guarded state transitions. The key of a row of a project includes its `project_id`.
   */
  repository<Row extends ObjectLiteral>(entity: EntityTarget<Row>): Repository<Row> {
    const client = this.scope?.client;
    return client
      ? repositoryOn(client, this.dataSource, entity)
      : this.dataSource.getRepository(entity);
  }

  /** Runs a query on a connection of its own, and returns its rows as the batcher `rows` builds them. */
  async rows<T>(query: Sql, rows: RowBatcher<T>): Promise<T> {
    const client = await this.connections.connect(this.key());
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
      await client.query(query.toQuery());
      tap.close();
      return rows.take();
    } catch (error) {
      throw (failure ??= error as Error);
    } finally {
      client.release(failure);
    }
  }

  /** Runs `work` in the open transaction, or in a new one that is committed before this resolves. */
  async transaction<T>(work: () => Promise<T>): Promise<T> {
    return this.inTransaction
      ? work()
      : this.begin({ key: this.key, subject: this.scope?.subject }, '', work);
  }

  /**
   * Runs `work` in a transaction that begins with `lock`, a statement that takes an advisory lock. Work of this process
   * that wants the same lock queues here first, so that a busy lock uses one connection and not the whole pool. Work
   * inside an open transaction (a request with an Idempotency-Key) skips the queue and waits for the lock itself.
   * `long` work takes a slot when its turn comes.
   */
  async alone<T>(lock: Sql, work: () => Promise<T>, kind: 'short' | 'long' = 'short'): Promise<T> {
    const lockedWork = async () => {
      await this.query(lock);
      return work();
    };
    const locked = () => (kind === 'long' ? this.long(lockedWork) : this.transaction(lockedWork));
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

  /**
   * Runs `work` in a transaction on a connection that may be held for long. Each of its statements may take
   * `statementMs`. Inside an open transaction it does not wait for a slot, because others may wait for that connection.
   * @throws Busy when too much long work is under way
   */
  async long<T>(work: () => Promise<T>, statementMs = this.readMs): Promise<T> {
    const { key, scope } = this;
    if (scope?.slot) return this.lengthen(scope, statementMs, work);
    const slot = scope?.client ? this.slotNow(key()) : await this.slots.take(key());
    const limit = `SET LOCAL statement_timeout = ${statementMs}`;
    try {
      if (!scope?.client)
        return await this.begin({ key, slot, statementMs, subject: scope?.subject }, limit, work);
      await scope.client.query(limit);
      return await this.scopes.run({ ...scope, slot, statementMs }, work);
    } finally {
      this.slots.free(slot);
    }
  }

  /**
   * Runs the service's own work that cannot run in a transaction. Its connection is closed afterwards, with all its
   * settings. The work fails when the signal is aborted.
   * @throws Busy when too much long work is under way
   */
  async aside(
    work: (session: DedicatedConnection) => Promise<void>,
    signal: AbortSignal,
  ): Promise<void> {
    await this.slots.with(OURS(), async () => {
      const client = await this.connections.connect(OURS());
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

  /** Runs work inside work that has a slot. The longer of the two statement limits is used. */
  private async lengthen<T>(
    scope: StatementScope,
    statementMs: number,
    work: () => Promise<T>,
  ): Promise<T> {
    if (statementMs <= scope.statementMs!) return work();
    await scope.client!.query(`SET LOCAL statement_timeout = ${statementMs}`);
    return this.scopes.run({ ...scope, statementMs }, work);
  }

  private slotNow(key: string): ConnectionSlot {
    const slot = this.slots.takeNow(key);
    if (!slot) throw tooManyLong();
    return slot;
  }

  private async begin<T>(scope: StatementScope, first: string, work: () => Promise<T>): Promise<T> {
    const isUrgent = this.scope?.isUrgent ?? false;
    const client = await this.connections.connect(scope.key());
    const noted: NotedChanges = new Map();
    let failure: Error | undefined;
    try {
      await client.query(`BEGIN ${isUrgent ? 'READ WRITE' : ''}; ${first}`);
      const result = await this.scopes.run({ ...scope, isUrgent, client, noted }, work);
      await client.query('COMMIT');
      for (const [projectId, kinds] of noted)
        for (const kind of kinds) this.changes.note(projectId, kind);
      return result;
    } catch (error) {
      await client.query('ROLLBACK').catch((lost: Error) => (failure = lost));
      throw error;
    } finally {
      client.release(failure);
    }
  }

  /**
   * Runs `work` in a savepoint. When it fails, only its own changes are undone and the outer transaction stays usable.
   */
  async savepoint<T>(work: () => Promise<T>): Promise<T> {
    const client = this.scope?.client;
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

  /**
   * Streams the rows of a query in batches of at most `maxBatch` rows. A batch contains the single text column of its
   * rows, unless `rows` builds batches differently. The first batch has `firstBatch` rows, by default one, because rows
   * may be large. Rows are read through a cursor, so memory does not grow with the result. Like `long`, a stream holds
   * its connection until its reader has read everything. It is cut when its reader is too slow while others wait.
   * @throws Busy when too much long work is under way
   */
  async stream(
    query: Sql,
    { rows = new TextRows(), maxBatch, firstBatch, isPlanKept }: StreamOptions = {},
  ): Promise<RowStream> {
    const slot = await this.slots.take(this.key());
    try {
      const client = await this.connections.connect(slot.key);
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
}
