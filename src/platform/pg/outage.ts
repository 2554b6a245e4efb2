import type { Socket } from 'node:net';
import { unavailable } from '../errors.js';
import type { Client, Pool, PoolClient } from './driver.js';

/** Time after the limit of a statement in which PostgreSQL must have ended it. */
const LATE_MS = 5000;

/** Since when nothing has arrived for a statement. */
interface Silence {
  statement: object | null;
  bytesRead: number;
  since: number;
}

/**
 * Knows whether the database answers, and whether calls can be written. A host that dies without a reset leaves its
 * connections open, and a statement would wait on them for minutes. So `begin` cuts all connections, and work is
 * refused at once until the outage is over. `Probe` notices both.
 */
export class Outage {
  /** The database does not answer. */
  isUnderWay = false;
  /** Another session has locked the table of calls. */
  isLocked = false;
  private readonly dedicated = new Set<Client>();
  private readonly received = new WeakMap<Socket, number>();
  private readonly silences = new WeakMap<Client, Silence>();
  private readonly limits = new WeakMap<object, number>();

  constructor(private readonly pool: Pool) {
    pool.on('release', (_, client) => this.limits.delete(client));
  }

  /** Also cuts this connection, which is not of the pool. */
  include(client: Client): void {
    this.dedicated.add(client);
    client.once('end', () => this.dedicated.delete(client));
  }

  begin(): void {
    this.isUnderWay = true;
    for (const client of this.clients) socketOf(client).destroy();
  }

  /** Returns true when a connection has received something since the last call. */
  hears(): boolean {
    let isHeard = false;
    for (const client of this.clients) {
      const socket = socketOf(client);
      isHeard ||= socket.bytesRead > (this.received.get(socket) ?? 0);
      this.received.set(socket, socket.bytesRead);
    }
    return isHeard;
  }

  /** Sets the limit of each statement of a connection until it is released. */
  limit(client: PoolClient, ms: number): void {
    this.limits.set(client, ms);
  }

  /**
   * Cuts connections whose statement was silent for longer than PostgreSQL lets it run. They alone have lost their
   * server, such as one of several poolers. `ms` is the limit of statements for which none was set. Idle connections
   * are cut too: they may lead to the same server, and the next statements would wait on them one after the other.
   */
  cutSilent(ms: number): void {
    let isLost = false;
    for (const client of this.pooled) {
      const statement = Reflect.get(client, '_activeQuery') as object | null;
      const { bytesRead } = socketOf(client);
      const before = this.silences.get(client);
      if (statement !== before?.statement || bytesRead !== before.bytesRead)
        this.silences.set(client, { statement, bytesRead, since: performance.now() });
      else if (statement) {
        const limitMs = (this.limits.get(client) ?? ms) + LATE_MS;
        if (performance.now() - before.since <= limitMs) continue;
        socketOf(client).destroy();
        isLost = true;
      }
    }
    if (isLost) for (const client of this.idle) socketOf(client).destroy();
  }

  /** @throws ApiError while the database does not answer */
  assertOver(): void {
    if (this.isUnderWay) throw unavailable('the database cannot be reached');
  }

  /** @throws ApiError while calls cannot be written */
  assertUnlocked(): void {
    if (this.isLocked)
      throw unavailable('calls cannot be written: another session has locked their table');
  }

  /** Connections of the pool. One that is being opened is among them. */
  private get pooled(): Client[] {
    return Reflect.get(this.pool, '_clients') as Client[]; // pg's types do not declare it
  }

  private get idle(): Client[] {
    return (Reflect.get(this.pool, '_idle') as { client: Client }[]).map(({ client }) => client);
  }

  private get clients(): Client[] {
    return [...this.pooled, ...this.dedicated];
  }
}

const socketOf = (client: Client) =>
  (client as unknown as { connection: { stream: Socket } }).connection.stream;
