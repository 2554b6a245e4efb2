import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { setImmediate as nextRound, setTimeout as sleep } from 'node:timers/promises';

/** A pause without a new connection after which all clients that keep reconnecting are assumed to have connected. */
const QUIET_MS = 250;
/** Longest wait for this pause. */
const CLOSE_MS = 3000;

/** Checks that the port is free, and releases it at once. Rejects when it cannot be used. */
export async function assertFree({ port, host }: { port: number; host: string }): Promise<void> {
  const server = createServer((socket) => socket.destroy()).listen(port, host); // `close` waits for connections
  await once(server, 'listening');
  server.close();
  await once(server, 'close');
}

/** Accepts connections on a port and passes them on, unread. Closing it resets none. */
export class Listener {
  /** Connections that arrive while the listener closes. Null while it is open. */
  private held: Socket[] | null = null;
  private taken = 0;
  private readonly server = createServer({
    pauseOnConnect: true,
    noDelay: true,
    allowHalfOpen: true,
  });

  constructor(private readonly handOver: (socket: Socket) => void) {
    this.server.on('connection', (socket) => {
      this.taken++;
      if (this.held) this.held.push(socket);
      else handOver(socket);
    });
  }

  listen(port: number, host: string): Promise<number> {
    return new Promise((resolve, reject) => {
      this.server.once('error', reject).listen(port, host, () => {
        const address = this.server.address();
        resolve(typeof address === 'object' && address ? address.port : port);
      });
    });
  }

  /**
   * Closes the port. The kernel resets connections that are not yet accepted when their listener closes. It therefore
   * closes after a pause without connections, directly after a round of the event loop that found none. Until then no
   * connection is passed on: a client that waits for its answer does not reconnect.
   */
  async close(): Promise<void> {
    this.held = [];
    const deadline = Date.now() + CLOSE_MS;
    let before;
    do {
      before = this.taken;
      await sleep(QUIET_MS);
      await nextRound(); // a timer may fire before its round checks the listener
    } while (this.taken > before && Date.now() < deadline);
    this.server.close();
    for (const socket of this.held) this.handOver(socket);
  }
}
