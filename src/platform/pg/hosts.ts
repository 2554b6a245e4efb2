import type { Socket } from 'node:net';
import pg, { type ClientConfig } from 'pg';

interface Host {
  host: string;
  port: number;
}

/** Time in which a host must show that it fits. It is less than the time limit of any connection. */
const ASK_MS = 1500;
const DEFAULT_PORT = 5432;

/**
 * Chooses a host of a URL with several, as libpq's `target_session_attrs` demands. `current` is the host that fitted
 * last. After a failure all hosts are asked at the same time: the last one is preferred, then the order of the URL.
 * When another host is chosen, connections to the last one are cut. It may be dead, or no longer be the primary.
 */
class Hosts {
  private current: Host | undefined;
  private last: Host | undefined;
  private search: Promise<Host> | undefined;
  private readonly connected = new Set<HostClient>();

  constructor(
    private readonly hosts: readonly Host[],
    private readonly attributes: string,
  ) {}

  /** @throws Error when no host fits */
  async choose(config: ClientConfig): Promise<Host> {
    if (this.current) return this.current;
    this.search ??= this.find(config).finally(() => (this.search = undefined));
    return this.search;
  }

  include(client: HostClient): void {
    this.connected.add(client);
    client.once('end', () => this.connected.delete(client));
  }

  /** Makes the next connection ask all hosts. */
  doubt(host: Host): void {
    if (this.current === host) this.current = undefined;
  }

  /** @throws Error when the session is on a server that does not fit */
  async assertFits(client: pg.Client): Promise<void> {
    if (this.attributes === 'any') return;
    const { rows } = await client.query<{ is_standby: boolean; is_read_only: boolean }>(
      `SELECT pg_is_in_recovery() AS is_standby, current_setting('transaction_read_only')::boolean AS is_read_only`,
    );
    const [{ is_standby, is_read_only }] = rows as [(typeof rows)[number]];
    if (is_standby || (is_read_only && this.attributes === 'read-write'))
      throw new Error(
        `${NO_HOST} ${this.attributes}: it is ${is_standby ? 'a standby' : 'read-only'}`,
      );
  }

  private async find(config: ClientConfig): Promise<Host> {
    const asked = await Promise.allSettled(this.hosts.map((host) => this.ask(host, config)));
    const fitting = this.hosts.filter((_, i) => asked[i]!.status === 'fulfilled');
    const found = fitting.find((host) => host === this.last) ?? fitting[0];
    if (found) return this.take(found);
    const refusals = asked.map(
      (result) => (result as PromiseRejectedResult).reason as NodeJS.ErrnoException,
    );
    if (refusals.every((refusal) => 'severity' in refusal)) throw refusals[0]!; // a wrong password
    const reasons = refusals.map(({ message, code }, i) => {
      const { host, port } = this.hosts[i]!;
      return `${host}:${port}: ${message || code}`;
    });
    throw new Error(`${NO_HOST} ${this.attributes} (${reasons.join('; ')})`);
  }

  private take(found: Host): Host {
    if (this.last && this.last !== found) for (const client of this.connected) client.cut();
    return (this.current = this.last = found);
  }

  private async ask(host: Host, config: ClientConfig): Promise<void> {
    const client = new pg.Client({
      ...config,
      connectionTimeoutMillis: ASK_MS,
      query_timeout: ASK_MS,
    });
    client.on('error', () => {}); // its statement fails too
    Object.assign(client, host);
    try {
      await client.connect();
      await this.assertFits(client);
    } finally {
      void client.end().catch(() => {});
    }
  }
}

/** Begins the message of an error of connecting, which `errors.ts` recognizes. */
const NO_HOST = 'no host of the database is';

/** Hosts of each URL. All connections of a process share them. */
const KNOWN = new Map<string, Hosts>();

/** Returns the hosts of a URL that has several, or that demands something of its host. */
function hostsOf(text: string): Hosts | undefined {
  const { searchParams, hostname, port } = new URL(text.replace('@/', '@localhost/'));
  const names = (searchParams.get('host') ?? hostname).split(',');
  const attributes = searchParams.get('target_session_attrs') ?? 'any';
  if (names.length === 1 && attributes === 'any') return undefined;
  const ports = (searchParams.get('port') ?? port).split(',').map(Number);
  const portOf = (i: number) => (ports.length > 1 ? ports[i] : ports[0]) || DEFAULT_PORT;
  const list = names.map((host, i) => ({ host, port: portOf(i) }));
  const key = JSON.stringify([list, attributes]);
  const known = KNOWN.get(key) ?? new Hosts(list, attributes);
  KNOWN.set(key, known);
  return known;
}

type Connected = (error: Error | null, client?: pg.Client) => void;

/** A connection of pg that knows URLs with several hosts. */
export class HostClient extends pg.Client {
  private readonly hosts: Hosts | undefined;

  constructor(private readonly config: ClientConfig = {}) {
    super(config);
    // A lost connection makes its query fail and also emits an error. The pool listens for that error only while the
    // connection is idle, and an error without a listener ends the process.
    this.on('error', () => {});
    const { connectionString } = config;
    this.hosts = connectionString === undefined ? undefined : hostsOf(connectionString);
  }

  override connect(): Promise<pg.Client>;
  override connect(callback: Connected): void;
  override connect(callback?: Connected): Promise<pg.Client> | void {
    const { hosts } = this;
    if (!hosts) return callback ? super.connect(callback) : super.connect();
    const connected = this.connectToOne(hosts);
    if (!callback) return connected;
    connected.then((client) => callback(null, client), callback);
  }

  cut(): void {
    this.socket.destroy();
  }

  private get socket(): Socket {
    return (this as unknown as { connection: { stream: Socket } }).connection.stream;
  }

  private async connectToOne(hosts: Hosts): Promise<pg.Client> {
    const host = await hosts.choose(this.config);
    // The pool destroys the socket of a connection that takes too long.
    if (this.socket.destroyed) throw new Error('Connection terminated due to connection timeout');
    Object.assign(this, host);
    try {
      await super.connect();
      await hosts.assertFits(this);
      hosts.include(this);
      return this;
    } catch (error) {
      hosts.doubt(host);
      void this.end().catch(() => {});
      throw error;
    }
  }
}
