import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A TCP relay between a service and PostgreSQL, which can fail as a network or a host does. */
export interface Relay {
  /** The URL of the database, through the relay. */
  url: string;
  /** From now on no byte passes, on existing and new connections, and nothing is closed. */
  swallow(): void;
  /** From now on no byte passes on existing connections. New ones work, as after an address has moved. */
  abandon(): void;
  /** Closes all connections, and refuses new ones. */
  refuse(): Promise<void>;
  /** Passes everything again, also what was swallowed. */
  pass(): Promise<void>;
  close(): Promise<void>;
}

export async function relayTo(databaseUrl: string): Promise<Relay> {
  const url = new URL(databaseUrl.replace('@/', '@localhost/'));
  const host = url.searchParams.get('host') ?? url.hostname;
  const port = url.searchParams.get('port') ?? (url.port || '5432');
  const target = host.startsWith('/')
    ? { path: `${host}/.s.PGSQL.${port}` }
    : { host, port: Number(port) };
  const sockets = new Set<Socket>();
  let isSwallowing = false;
  const server = createServer((client) => {
    const backend = connect(target);
    for (const [from, to] of [
      [client, backend],
      [backend, client],
    ] as const) {
      sockets.add(from);
      if (isSwallowing) from.pause();
      from.on('data', (bytes) => void to.write(bytes));
      from
        .on('error', () => {})
        .on('close', () => {
          sockets.delete(from);
          if (!isSwallowing) to.destroy();
        });
    }
  });
  const listen = async (at: number) => {
    server.listen(at, '127.0.0.1');
    await once(server, 'listening');
  };
  await listen(0);
  const { port: own } = server.address() as AddressInfo;
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    url: `postgres://${url.username}:${url.password}@127.0.0.1:${own}${url.pathname}`,
    swallow() {
      isSwallowing = true;
      for (const socket of sockets) socket.pause();
    },
    abandon() {
      for (const socket of sockets) socket.pause();
    },
    async refuse() {
      const closed = once(server, 'close');
      server.close();
      cut();
      await closed;
    },
    async pass() {
      isSwallowing = false;
      for (const socket of sockets) socket.resume();
      if (!server.listening) await listen(own);
    },
    async close() {
      cut();
      if (server.listening) server.close();
    },
  };
}
