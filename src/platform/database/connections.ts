import type { Pool, PoolClient, QueryResult } from 'pg';
import { each, FairQueue, Shares } from '../process/fair-queue.js';

/** As the pool itself says it, which `errors.ts` knows. */
const noneInTime = () => new Error('timeout exceeded when trying to connect');

/**
 * Lends the connections of a pool, which would lend them in the order of asking: the short statements of one entity would
 * make all others wait. One that becomes free goes to the waiting entity that has the fewest, and in it to such a key.
 */
export class Connections {
  private readonly lent: Shares;
  private readonly line: FairQueue;

  constructor(private readonly pool: Pool) {
    const { max, connectionTimeoutMillis } = pool.options;
    this.lent = new Shares(each(Infinity, (_, all) => all.count < max));
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

  /** One statement. @throws Error when no connection comes free in time */
  async query(owner: string, statement: { text: string; values: unknown[] }): Promise<QueryResult> {
    await this.line.enter(owner, undefined);
    try {
      return await this.pool.query(statement);
    } finally {
      this.free(owner);
    }
  }

  /** A connection, until it is released. @throws Error when none comes free in time */
  async connect(owner: string): Promise<PoolClient> {
    await this.line.enter(owner, undefined);
    try {
      const client = await this.pool.connect();
      const release = client.release.bind(client); // the pool sets one each time
      client.release = (error) => {
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
