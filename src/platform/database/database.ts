import { AsyncLocalStorage } from 'node:async_hooks';
import { Inject, Injectable } from '@nestjs/common';
import type { Pool, PoolClient } from 'pg';
import { DataSource, type EntityTarget, type ObjectLiteral, type Repository } from 'typeorm';
import type { PostgresDriver } from 'typeorm/driver/postgres/PostgresDriver.js';
import type { CopyRows } from '../query/binary-copy.js';
import type { PreparedStatement, Sql } from '../query/sql.js';
import { CONFIG, type Config } from '../config/config.js';
import { selfTracer } from '../process/self-tracer.js';
import { Changes, type ChangeKind, noteChange, type NotedChanges } from './changes.js';
import { Connections } from './connections.js';
import { PreparedPlans } from './prepared-plans.js';
import { type RowBatcher, RowStream, TextRows } from './row-stream.js';
import { RawRowReader } from './raw-row-reader.js';
import { type ConnectionSlot, ConnectionSlots, tooManyLong } from './connection-slots.js';
import {
  statementName,
  type StatementWatch,
  type StatementSubject,
  watchStatements,
} from './statement-watch.js';

/** Connections that nothing may hold for long: two fifths, at least one. Of ten, the four that `GroupCommit` uses. */
const keptConnections = (poolSize: number) => Math.max(1, Math.floor(0.4 * poolSize));

/** The state that the statements of an asynchronous context share. */
interface StatementScope {
  /** Whose work it is: the owner, as of `Shares`. */
  key: () => string;
  client?: PoolClient;
  /** What the transaction changes. */
  noted?: NotedChanges;
  /** Set where the connection may be held for long, and for how long a statement may run there. */
  slot?: ConnectionSlot;
  statementMs?: number;
  isUrgent?: boolean | undefined;
  subject?: StatementSubject | undefined;
}

/** A connection of its own, outside of transactions. In the text that `run` takes, values are quoted already. */
export interface DedicatedConnection {
  run: (statement: string) => Promise<void>;
  query: <Row>(query: Sql<Row>) => Promise<Row[]>;
}

const OURS = () => '';

interface StreamOptions {
  rows?: RowBatcher<unknown>;
  maxBatch?: number;
  firstBatch?: number;
  /** Connections keep its plan, which must suit all values: a statement whose text varies little. */
  isPlanKept?: boolean;
}

/**
 * Statements on the pool that TypeORM opened. Inside `transaction` every `query` of the same asynchronous context goes
 * to the transaction's connection, and so does a `repository` that was asked for there.
 *
 * Work that may hold a connection for long goes through `long` or `stream`: they share a part of the pool fairly by
 * entity and key, and the rest is kept for short statements.
 */
@Injectable()
export class Database {
  private readonly scopes = new AsyncLocalStorage<StatementScope>();
  private readonly slots: ConnectionSlots;
  private readonly keptPlans = new PreparedPlans();
  readonly changes = new Changes((statement) =>
    this.connections.query(OURS(), statement.toQuery()),
  );
  /** The end of the queue for each lock that is wanted. */
  private readonly queues = new Map<string, Promise<unknown>>();

  /** How long a statement of a long read may take, a batch of a stream too. */
  readonly readMs: number;
  /** No row is larger: the start and the end of a call, each a body, and what is derived from them. */
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
    // repositories would take one from the pool, in the order of asking
    (dataSource.driver as PostgresDriver).obtainMasterConnection = async () => {
      const client = await this.connections.connect(this.key());
      return [client, (error?: Error) => client.release(error)];
    };
  }

  /** The state and options of the pool. It takes no statements, whose values might not be bound. */
  get pool(): Pick<Pool, 'totalCount' | 'idleCount' | 'options'> {
    return (this.dataSource.driver as PostgresDriver).master as Pool;
  }

  private lender: Connections | undefined;
  /** The pool is there once the data source is. */
  private get connections(): Connections {
    return (this.lender ??= new Connections(this.pool as Pool, this.watch));
  }

  /** How many statements wait for a connection. */
  get waitingCount(): number {
    return this.connections.waitingCount;
  }

  /** How many connections are held for long, and how many requests wait to hold one. */
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
   * Runs `work` for an owner, who need not be known before the first slot is taken. Without one it is the service's own. `subject` says
   * what it is, to those who are told of statements; within a request that is traced it stays in its trace.
   */
  runFor<T>(key: () => string, work: () => T, subject?: StatementSubject): T {
    const { isUrgent, subject: outer } = this.scope ?? {};
    const inner = subject ? { trace: outer?.trace, ...subject } : outer;
    return this.scopes.run({ key, isUrgent, subject: inner }, work);
  }

  /**
   * Transactions that begin within `work` may write although the database begins them as read-only, as it does while its
   * disk is nearly full: for what makes room, and for what is small and must not wait. Statements outside of a transaction
   * may not.
   */
  urgently<T>(work: () => T): T {
    return this.scopes.run({ key: this.key, ...this.scope, isUrgent: true }, work);
  }

  /** Whose work this asynchronous context is: for callbacks of other contexts, which pass it to `runFor`. */
  get key(): () => string {
    return this.scope?.key ?? OURS;
  }

  /**
   * Tells those who watch a project, in every process, that something of the kind was written: when the transaction has
   * committed, or else now.
   */
  note(projectId: string, kind: ChangeKind): void {
    const noted = this.scope?.noted;
    if (noted) noteChange(noted, projectId, kind);
    else this.changes.note(projectId, kind);
  }

  /** `owner` is for routes with `@ShortWrites()`, which no asynchronous context knows. */
  async query<Row>(query: Sql<Row> | PreparedStatement<Row>, owner?: string): Promise<Row[]> {
    return (await this.ask('toQuery' in query ? query.toQuery() : query, owner)).rows as Row[];
  }

  /** How many rows a statement wrote. */
  async write(query: Sql): Promise<number> {
    return (await this.ask(query.toQuery())).rowCount ?? 0;
  }

  /** Stores rows in a transaction of their own, all or none. */
  async copy(rows: CopyRows): Promise<void> {
    if (this.inTransaction) throw new Error('rows are copied outside of transactions');
    await this.connections.copy(this.key(), rows);
  }

  private ask(query: { text: string; values: unknown[] }, owner = this.key()) {
    return this.scope?.client?.query(query) ?? this.connections.query(owner, query);
  }

  /**
   * For rows by their keys and small lists. Ingest, streams, statistics and guarded transitions are a `query`. The key of a project's
   * row has its `project_id`.
   */
  repository<Row extends ObjectLiteral>(entity: EntityTarget<Row>): Repository<Row> {
    const client = this.scope?.client;
    if (!client) return this.dataSource.getRepository(entity);
    const runner = this.dataSource.createQueryRunner();
    Object.assign(runner, { databaseConnection: client, isTransactionActive: true });
    return runner.manager.getRepository(entity);
  }

  /** As `query`, on a connection of its own, with the rows as `rows` makes them. */
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

  /** Runs `work` in one transaction, or in the one already open. Commits before it resolves. */
  async transaction<T>(work: () => Promise<T>): Promise<T> {
    return this.inTransaction
      ? work()
      : this.begin({ key: this.key, subject: this.scope?.subject }, '', work);
  }

  /**
   * Runs `work` in a transaction that begins with `lock`, a statement that takes an advisory lock. Those of this
   * process that want the same lock queue up here first, so that a busy one takes one connection and not the pool;
   * work that holds one already (a request with an Idempotency-Key) goes straight to the lock. Work that is `long` takes a
   * slot when it is its turn.
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
   * Runs `work`, in a transaction, on a connection that may be held for long; each of its statements may take
   * `statementMs`. In a transaction that is open already it does not wait for a slot, since others may wait for that
   * connection.
   * @throws Busy when too much of this kind is under way
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
   * Runs the service's own work that cannot be in a transaction, on a connection that is closed afterwards with all
   * its settings. Ends with an error when the signal is aborted.
   * @throws Busy when too much is under way that may hold a connection for long
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

  /** Work inside work that has a slot: the longer limit of the two holds. */
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

  /** Runs `work` so that its failure undoes only what it did, and the transaction around it stays usable. */
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
   * The rows of a query in batches, each at most `maxBatch` rows: of their single text column, unless `rows` says how
   * else they are put together. The first batch has one row, since rows may be large, or `firstBatch`. Read through a
   * cursor: memory does not grow with the result. A stream holds its connection until its reader has read, like `long`,
   * and is cut when its reader is too slow for the others.
   * @throws Busy when too much of this kind is under way
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
