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
import { clientNetwork } from '../auth/limits/failed-attempts.js';
import { CONFIG, type Config } from '../config/config.js';
import { beginDraining } from '../http/edge.js';
import { registerCounter, registerGauge } from '../process/metrics.js';
import { warnSeldom } from '../process/warn-seldom.js';
import { type ExceededBound, ConnectionBounds } from './connection-bounds.js';
import { isForOperations } from '../http/ports.js';

/** A client without a request on its connection for this long is assumed not to send one now. */
const IDLE_MS = 1000;
/** Requests that have not ended this long after the last connection was accepted are cut. */
const CUT_MS = 30_000;
const LOOK_EVERY_MS = 50;
/** Connections to OPERATIONS_PORT, in total and of one address. */
const OF_OPERATIONS = { process: 500, address: 100 };

interface Connection {
  address: string;
  /** The connection that carries it, when it is a request of HTTP/2. */
  carrier: Connection | undefined;
  /** Requests of HTTP/2 that it carries. Without a key, these are closed before it is. */
  carried: number;
  /** True once it has sent a valid key or session. */
  hasKey: boolean;
  requests: number;
  /** Time since which no request is in progress, and the bytes read until then. */
  idleSince: number;
  bytesRead: number;
}

/**
 * Manages the connections of this process, so that neither a stop nor a replacement cuts a request. A connection ends
 * in one of three ways. Its answer requested it (`platform/http/edge.ts`), it was idle for a second, or its request
 * took too long. Connections above the limit are closed at once: clients without a key must not use up the process's
 * file descriptors.
 */
@Injectable()
export class ConnectionsService implements OnModuleInit, BeforeApplicationShutdown {
  private readonly connections = new Map<Socket, Connection>();
  private closesSince: number | undefined;

  private readonly bounds: ConnectionBounds<Socket>;
  private readonly operationsBounds: ConnectionBounds<Socket>;
  private readonly refused = registerCounter(
    'skein_connections_refused_total',
    'Connections of clients that were closed at once, by the limit that they were over: of their address or of the process.',
    ['limit'],
  );

  constructor(
    private readonly adapterHost: HttpAdapterHost,
    @Inject(CONFIG) { maxConnections, maxConnectionsPerAddress }: Config,
  ) {
    const looks = {
      isIdle: (socket: Socket) => this.connections.get(socket)?.requests === 0,
      isKeyless: (socket: Socket) => {
        const connection = this.connections.get(socket);
        return connection?.hasKey === false && connection.carried === 0;
      },
    };
    this.bounds = new ConnectionBounds({
      process: maxConnections,
      address: maxConnectionsPerAddress,
      ...looks,
    });
    this.operationsBounds = new ConnectionBounds({ ...OF_OPERATIONS, ...looks });
    registerGauge('skein_connections', 'Connections of clients.', () => this.bounds.count);
  }

  onModuleInit(): void {
    const server: Server = this.adapterHost.httpAdapter.getHttpServer();
    server.on('connection', (socket: Socket) => this.add(socket));
    server.on('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
      response.once('close', this.begin(socket));
    });
  }

  /** Counts a request of the connection until the returned function is called. */
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

  /** Notes that the connection has sent a valid key or session. It is then not closed for one without. */
  noteKey(socket: Socket): void {
    const connection = this.connections.get(socket);
    if (!connection) return;
    connection.hasKey = true;
    if (connection.carrier) connection.carrier.hasKey = true;
  }

  /**
   * Counts a connection, or a request of HTTP/2 with the connection that carries it. One above the limit is closed at
   * once, and the result is false.
   */
  add(socket: Socket, carriedBy?: Socket): boolean {
    const { remoteAddress } = socket;
    const carrier = carriedBy && this.connections.get(carriedBy);
    const address = clientNetwork(remoteAddress ?? '');
    const bounds = isForOperations(socket) ? this.operationsBounds : this.bounds;
    const { refused, instead } = bounds.admit(socket, address, this.isProxy(remoteAddress));
    if (refused) {
      this.refuse(socket, refused);
      return false;
    }
    if (instead) {
      const { address: other } = this.connections.get(instead)!;
      bounds.remove(instead, other);
      this.refuse(instead, other === address ? 'address' : 'process');
    }
    this.connections.set(socket, {
      address,
      carrier,
      carried: 0,
      hasKey: false,
      requests: 0,
      idleSince: performance.now(),
      bytesRead: 0,
    });
    if (carrier) carrier.carried++;
    socket.once('close', () => {
      this.connections.delete(socket);
      bounds.remove(socket, address);
      if (carrier) carrier.carried--;
    });
    return true;
  }

  /** Returns true when TRUST_PROXY includes the address, which then sends requests of many clients. */
  private isProxy(address: string | undefined): boolean {
    const isTrusted = this.adapterHost.httpAdapter.getInstance().get('trust proxy fn');
    return address !== undefined && isTrusted(address, 0) === true;
  }

  private refuse(socket: Socket, limit: ExceededBound): void {
    socket.destroy();
    this.refused.inc({ limit });
    warnSeldom(`a connection was refused: there are too many of its ${limit}`);
  }

  /** Begins to close idle connections. Resolves when the present ones have ended, or will end with their answer. */
  async closeKept(): Promise<void> {
    const start = (this.closesSince = performance.now());
    // One round of the event loop later, everything that has arrived by now has been read.
    setInterval(() => setImmediate(() => this.closeIdle(start)), LOOK_EVERY_MS).unref();
    const kept = [...this.connections.keys()];
    const isLeft = (socket: Socket) => this.connections.get(socket)?.requests === 0;
    while (kept.some(isLeft) && performance.now() - start < IDLE_MS) await sleep(LOOK_EVERY_MS);
  }

  /**
   * Closes each connection with its next answer. Resolves when all have ended. An idle connection waits for its time
   * limit: closing it earlier could fail a request that its client is just sending.
   */
  async retire(): Promise<void> {
    beginDraining();
    while (this.connections.size > 0) await sleep(LOOK_EVERY_MS);
  }

  /** Waits for the remaining requests. Nest calls this after long polls have ended and before anything is closed. */
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
        connection.idleSince = now; // the headers of a request are arriving
      } else if (now - Math.max(connection.idleSince, start) >= IDLE_MS) socket.destroy();
    }
  }
}
