import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type BeforeApplicationShutdown,
  Inject,
  Injectable,
  type OnModuleInit,
} from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { clientNetwork } from '../auth/failed-attempts.js';
import { CONFIG, type Config } from '../config/config.js';
import { beginDraining } from '../http/edge.js';
import { registerCounter, registerGauge } from '../process/metrics.js';
import { warnSeldom } from '../process/warn-seldom.js';
import { type ExceededBound, ConnectionBounds } from './connection-bounds.js';
import { isForOperations } from '../http/ports.js';

/** A client that keeps a connection without a request for this long is taken not to send one just now. */
const IDLE_MS = 1000;
/** Requests that have not ended this long after the last connection was taken are cut. */
const CUT_MS = 30_000;
const LOOK_EVERY_MS = 50;

interface Connection {
  address: string;
  requests: number;
  /** Since when it has no request under way, and what had been read from it by then. */
  idleSince: number;
  bytesRead: number;
}

/**
 * The connections of this process, so that neither a stop nor a replacement cuts a request. Three ways lead to the end of one: its answer said
 * so (`platform/http/edge.ts`), it was idle for a second, or its request outlasted all patience. Those that are too many are
 * closed at once: a client without a key must not take the files that the process needs.
 */
@Injectable()
export class ConnectionsService implements OnModuleInit, BeforeApplicationShutdown {
  private readonly connections = new Map<Socket, Connection>();
  private closesSince: number | undefined;

  private readonly bounds: ConnectionBounds<Socket>;
  private readonly refused = registerCounter(
    'skein_connections_refused_total',
    'Connections of clients that were closed at once, by the limit that they were over: of their address or of the process.',
    ['limit'],
  );

  constructor(
    private readonly adapterHost: HttpAdapterHost,
    @Inject(CONFIG) { maxConnections, maxConnectionsPerAddress }: Config,
  ) {
    this.bounds = new ConnectionBounds({
      process: maxConnections,
      address: maxConnectionsPerAddress,
      isIdle: (socket) => this.connections.get(socket)?.requests === 0,
    });
    registerGauge('skein_connections', 'Connections of clients.', () => this.bounds.count);
  }

  onModuleInit(): void {
    const server: Server = this.adapterHost.httpAdapter.getHttpServer();
    server.on('connection', (socket: Socket) => this.add(socket));
    server.on('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
      response.once('close', this.begin(socket));
    });
  }

  /** Counts a request of the connection until the function that it returns is called. */
  begin(socket: Socket): () => void {
    const connection = this.connections.get(socket);
    if (!connection) return () => {};
    connection.requests++;
    return () => {
      connection.requests--;
      connection.idleSince = performance.now();
      connection.bytesRead = socket.bytesRead;
    };
  }

  /** Counts a connection. One that is too many is closed at once, and the answer is no. */
  add(socket: Socket): boolean {
    const { remoteAddress } = socket;
    const address = clientNetwork(remoteAddress ?? '');
    if (!isForOperations(socket)) {
      const { refused, instead } = this.bounds.admit(socket, address, this.isProxy(remoteAddress));
      if (refused) {
        this.refuse(socket, refused);
        return false;
      }
      if (instead) {
        this.bounds.remove(instead, this.connections.get(instead)!.address);
        this.refuse(instead, 'process');
      }
    }
    const idleSince = performance.now();
    this.connections.set(socket, { address, requests: 0, idleSince, bytesRead: 0 });
    socket.once('close', () => {
      this.connections.delete(socket);
      this.bounds.remove(socket, address);
    });
    return true;
  }

  /** Whether TRUST_PROXY names it, so that it brings requests of many. */
  private isProxy(address: string | undefined): boolean {
    const isTrusted = this.adapterHost.httpAdapter.getInstance().get('trust proxy fn');
    return address !== undefined && isTrusted(address, 0) === true;
  }

  private refuse(socket: Socket, limit: ExceededBound): void {
    socket.destroy();
    this.refused.inc({ limit });
    warnSeldom(`a connection was refused: there are too many of its ${limit}`);
  }

  /** Begins to close idle connections; resolves when those of now have ended, or do so with their answer. */
  async closeKept(): Promise<void> {
    const start = (this.closesSince = performance.now());
    // A round of the event loop later, all that had arrived by now has been read.
    setInterval(() => setImmediate(() => this.closeIdle(start)), LOOK_EVERY_MS).unref();
    const kept = [...this.connections.keys()];
    const isLeft = (socket: Socket) => this.connections.get(socket)?.requests === 0;
    while (kept.some(isLeft) && performance.now() - start < IDLE_MS) await sleep(LOOK_EVERY_MS);
  }

  /**
   * Closes each connection with its next answer; resolves when all have ended. An idle one is left to its time limit:
   * closing it earlier would fail the request that its client may be sending just now.
   */
  async retire(): Promise<void> {
    beginDraining();
    while (this.connections.size > 0) await sleep(LOOK_EVERY_MS);
  }

  /** Nest calls this when long polls were ended and before anything is closed. */
  async beforeApplicationShutdown(): Promise<void> {
    if (this.closesSince === undefined) return;
    const start = performance.now();
    while (this.connections.size > 0 && performance.now() - start < CUT_MS)
      await sleep(LOOK_EVERY_MS);
    for (const socket of this.connections.keys()) socket.destroy();
  }

  private closeIdle(start: number): void {
    const now = performance.now();
    for (const [socket, connection] of this.connections) {
      if (connection.requests > 0) continue;
      if (socket.bytesRead !== connection.bytesRead) {
        connection.bytesRead = socket.bytesRead;
        connection.idleSince = now; // the head of a request arrives
      } else if (now - Math.max(connection.idleSince, start) >= IDLE_MS) socket.destroy();
    }
  }
}
