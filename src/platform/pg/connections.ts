import type { Pool, PoolClient, QueryResult } from 'pg';
import { isRowOfCopy } from '../errors.js';
import type { CopyRows } from '../query/binary-copy.js';
import { perKeyRule, FairQueue, Shares } from '../process/fair-queue.js';
import { CopyIn } from './copy-in.js';
import { Outage } from './outage.js';
import {
  type NamedStatement,
  type StatementWatch,
  watchStatement,
} from '../process/statement-watch.js';

/** Returns the error that the pool itself throws, which `errors.ts` recognizes. */
const noneInTime = () => new Error('timeout exceeded when trying to connect');

/**
 * Lends the connections of a pool fairly. The pool alone would lend them in the order of requests, so the short
 * statements of one entity could make all others wait. A connection that becomes free goes to the waiting entity that
 * holds the fewest, and within it to the key that holds the fewest.
 */
export class Connections {
  readonly outage: Outage;
  private readonly lent: Shares;
  private readonly line: FairQueue;

  constructor(
    private readonly pool: Pool,
    private readonly watch?: StatementWatch,
  ) {
    this.outage = new Outage(pool);
    const { max, connectionTimeoutMillis } = pool.options;
    this.lent = new Shares(perKeyRule(Infinity, (_, all) => all.count < max));
    this.line = new FairQueue({
      take: (_, owner) => this.lent.take(owner),
      held: this.lent,
      waitMs: connectionTimeoutMillis,
      refusal: noneInTime,
    });
  }

  get waitingCount(): number {
    return this.line.count + this.pool.waitingCount;
  }

  /**
   * Runs one statement.
   * @throws Error when no connection becomes free in time, or the database does not answer
   */
  async query(
    owner: string,
    statement: NamedStatement & { values: unknown[] },
  ): Promise<QueryResult> {
    this.outage.assertOver();
    await this.line.enter(owner, undefined);
    try {
      this.outage.assertOver();
      const asked = this.pool.query(statement);
      return await (this.watch ? watchStatement(this.watch, statement, asked) : asked);
    } finally {
      this.free(owner);
    }
  }

  /**
   * Sends rows with `COPY`. The connection stays open when a row is refused.
   * @throws Error when no connection becomes free in time
   */
  async copy(owner: string, rows: CopyRows): Promise<void> {
    const client = await this.connect(owner);
    let failure: Error | undefined;
    try {
      const asked = new Promise<{ rowCount: number }>((resolve, reject) => {
        const done = { rowCount: rows.count };
        client.query(new CopyIn(rows, (error) => (error ? reject(error) : resolve(done))));
      });
      await (this.watch ? watchStatement(this.watch, rows.statement, asked) : asked);
    } catch (error) {
      if (!isRowOfCopy(error)) failure = error as Error;
      throw error;
    } finally {
      client.release(failure);
    }
  }

  /**
   * Lends a connection until it is released.
   * @throws Error when no connection becomes free in time, or the database does not answer
   */
  async connect(owner: string): Promise<PoolClient> {
    this.outage.assertOver();
    await this.line.enter(owner, undefined);
    try {
      this.outage.assertOver();
      const client = await this.pool.connect();
      const release = client.release.bind(client); // the pool sets a new one each time
      if (this.watch) watchClient(client, this.watch);
      client.release = (error) => {
        if (this.watch) delete (client as Partial<PoolClient>).query; // restores the method of the prototype
        release(error);
        this.free(owner);
      };
      return client;
    } catch (error) {
      this.free(owner);
      throw error;
    }
  }

  private free(owner: string): void {
    this.lent.give(owner);
    this.line.wake();
  }
}

/** Watches queries that return a promise. Streams watch their batches themselves. */
function watchClient(client: PoolClient, watch: StatementWatch): void {
  const query = client.query.bind(client) as (...sent: unknown[]) => unknown;
  client.query = (...sent: unknown[]) => {
    const asked = query(...sent);
    const [statement] = sent as [string | NamedStatement];
    if (!(asked instanceof Promise)) return asked as never;
    return watchStatement(
      watch,
      typeof statement === 'string' ? { text: statement } : statement,
      asked,
    );
  };
}
