/** So many of an address are looked at for one that can make room. */
const MAX_LOOKS = 100;

/** Why a connection is refused. */
export type ExceededBound = 'address' | 'process';

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
  /** The addresses by how many they have, and the most that one has: so a full process looks at none of the others. */
  private readonly bySize = new Map<number, Set<string>>();
  private most = 0;

  constructor(private readonly limits: Limits<Connection>) {}

  /** Says why the connection may not stay, or which other one makes room for it. A trusted address has no limit of its own. */
  admit(
    connection: Connection,
    address: string,
    isTrusted = false,
  ): { refused?: ExceededBound; instead?: Connection } {
    const own = this.byAddress.get(address) ?? new Set();
    if (!isTrusted && own.size >= this.limits.address) return { refused: 'address' };
    const isFull = this.count >= this.limits.process;
    const instead = isFull ? this.inExchange(own.size) : undefined;
    if (isFull && !instead) return { refused: 'process' };
    this.byAddress.set(address, own.add(connection));
    this.move(address, own.size - 1, own.size);
    this.count++;
    return instead ? { instead } : {};
  }

  /** Forgets a connection that has ended, or makes room. */
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
