import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { setImmediate as nextRound, setTimeout as sleep } from 'node:timers/promises';

/** A time without a new connection that shows that all clients which come again and again have come. */
const QUIET_MS = 250;
/** Connections that never cease to arrive are not waited for longer than this. */
const CLOSE_MS = 3000;

/** Rejects when the port cannot be listened on now. It is given back at once. */
export async function assertFree({ port, host }: { port: number; host: string }): Promise<void> {
  const server = createServer((socket) => socket.destroy()).listen(port, host); // `close` waits for connections
  await once(server, 'listening');
  server.close();
  await once(server, 'close');
}

/** Takes connections on a port and hands them on, unread. Closing it resets none. */
export class Listener {
  /** Connections that arrive while the listener closes; null while it is open. */
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

  /** Resolves with the port. */
  listen(port: number, host: string): Promise<number> {
    return new Promise((resolve, reject) => {
      this.server.once('error', reject).listen(port, host, () => {
        const address = this.server.address();
        resolve(typeof address === 'object' && address ? address.port : port);
      });
    });
  }

  /**
   * The kernel resets the connections that wait to be taken when their listener closes. So it closes when none has come
   * for a while, right after a round of the event loop that found none. Until then none is handed on: a client that
   * waits for its answer does not come again.
   */
  async close(): Promise<void> {
    this.held = [];
    const deadline = Date.now() + CLOSE_MS;
    let before;
    do {
      before = this.taken;
      await sleep(QUIET_MS);
      await nextRound(); // a timer may fire before its round looks at the listener
    } while (this.taken > before && Date.now() < deadline);
    this.server.close();
    for (const socket of this.held) this.handOver(socket);
  }
}
