/** Most connections of an address that are examined for one to close. */
const MAX_LOOKS = 100;

export type ExceededBound = 'address' | 'process';

interface Limits<Connection> {
  process: number;
  address: number;
  /** Returns true when the connection has no request in progress, so that closing it loses nothing. */
  isIdle: (connection: Connection) => boolean;
  /** Returns true when the connection has not sent a valid key or session. */
  isKeyless: (connection: Connection) => boolean;
}

/**
 * Limits the connections in total and per address. When an address is full, its oldest connection without a key is
 * closed for a new one. When the process is full, an address with fewer connections than another is still admitted. An
 * idle connection of the address with the most is closed instead.
 */
export class ConnectionBounds<Connection> {
  count = 0;
  /** Connections, keyed by address, oldest first. */
  private readonly byAddress = new Map<string, Set<Connection>>();
  /**
   * Addresses, keyed by their number of connections. With the largest number in `most`, a full process examines only
   * one address.
   */
  private readonly bySize = new Map<number, Set<string>>();
  private most = 0;

  constructor(private readonly limits: Limits<Connection>) {}

  /**
   * Returns the reason why the connection is refused, or another connection to close instead. A trusted address has no
   * limit of its own.
   */
  admit(
    connection: Connection,
    address: string,
    isTrusted = false,
  ): { refused?: ExceededBound; instead?: Connection } {
    const own = this.byAddress.get(address) ?? new Set();
    const exceeded = this.exceededBy(own, isTrusted);
    const instead =
      exceeded === 'address' ? this.firstKeyless(own) : exceeded && this.inExchange(own.size);
    if (exceeded && !instead) return { refused: exceeded };
    this.byAddress.set(address, own.add(connection));
    this.move(address, own.size - 1, own.size);
    this.count++;
    return instead ? { instead } : {};
  }

  private exceededBy(own: Set<Connection>, isTrusted: boolean): ExceededBound | undefined {
    if (!isTrusted && own.size >= this.limits.address) return 'address';
    return this.count >= this.limits.process ? 'process' : undefined;
  }

  /** Moves connections with a key to the end, so that later looks find others first. */
  private firstKeyless(own: Set<Connection>): Connection | undefined {
    let looks = 0;
    for (const connection of own) {
      if (this.limits.isKeyless(connection)) return connection;
      if (++looks >= MAX_LOOKS) break;
      own.delete(connection);
      own.add(connection);
    }
    return undefined;
  }

  /** Removes a connection that has ended, or is closed for another. */
  remove(connection: Connection, address: string): void {
    const own = this.byAddress.get(address);
    if (!own?.delete(connection)) return;
    this.count--;
    if (own.size === 0) this.byAddress.delete(address);
    this.move(address, own.size + 1, own.size);
  }

  private move(address: string, from: number, to: number): void {
    const left = this.bySize.get(from);
    left?.delete(address);
    if (left?.size === 0) this.bySize.delete(from);
    if (to > 0) this.bySize.set(to, (this.bySize.get(to) ?? new Set()).add(address));
    if (to > this.most || (from === this.most && !this.bySize.has(from))) this.most = to;
  }

  private inExchange(ownCount: number): Connection | undefined {
    if (this.most <= ownCount + 1) return undefined;
    const [largest] = this.bySize.get(this.most)!;
    let looks = 0;
    for (const connection of this.byAddress.get(largest!)!) {
      if (this.limits.isIdle(connection)) return connection;
      if (++looks >= MAX_LOOKS) break;
    }
    return undefined;
  }
}
