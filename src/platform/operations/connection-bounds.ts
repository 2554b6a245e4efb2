/** So many of an address are looked at for one that can make room. */
const MAX_LOOKS = 100;

/** Why a connection is refused. */
export type Bound = 'address' | 'process';

interface Limits<Connection> {
  process: number;
  address: number;
  /** Whether nothing is lost when it ends now: it has no request under way. */
  isIdle: (connection: Connection) => boolean;
}

/**
 * How many connections there may be, in all and of one address. When the process has as many as it may, an address that has
 * fewer than another gets in: a connection without a request, of the address that has the most, makes room.
 */
export class ConnectionBounds<Connection> {
  count = 0;
  /** Of each address, the oldest first. */
  private readonly byAddress = new Map<string, Set<Connection>>();

  constructor(private readonly limits: Limits<Connection>) {}

  /** Says why the connection may not stay, or which other one makes room for it. A trusted address has no limit of its own. */
  admit(
    connection: Connection,
    address: string,
    isTrusted = false,
  ): { refused?: Bound; instead?: Connection } {
    const own = this.byAddress.get(address) ?? new Set();
    if (!isTrusted && own.size >= this.limits.address) return { refused: 'address' };
    const isFull = this.count >= this.limits.process;
    const instead = isFull ? this.inExchange(own.size) : undefined;
    if (isFull && !instead) return { refused: 'process' };
    this.byAddress.set(address, own.add(connection));
    this.count++;
    return instead ? { instead } : {};
  }

  /** Forgets a connection that has ended, or makes room. */
  remove(connection: Connection, address: string): void {
    const own = this.byAddress.get(address);
    if (!own?.delete(connection)) return;
    this.count--;
    if (own.size === 0) this.byAddress.delete(address);
  }

  private inExchange(ownCount: number): Connection | undefined {
    let largest = new Set<Connection>();
    for (const those of this.byAddress.values()) if (those.size > largest.size) largest = those;
    if (largest.size <= ownCount + 1) return undefined;
    let looks = 0;
    for (const connection of largest) {
      if (this.limits.isIdle(connection)) return connection;
      if (++looks >= MAX_LOOKS) break;
    }
    return undefined;
  }
}
