import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { type BeforeApplicationShutdown, Injectable, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { closeWithAnswers } from '../http/edge.js';

/** A client that keeps a connection without a request for this long is taken not to send one just now. */
const IDLE_MS = 1000;
/** Requests that have not ended this long after the last connection was taken are cut. */
const CUT_MS = 30_000;
const LOOK_EVERY_MS = 50;

interface Connection {
  requests: number;
  /** Since when it has no request under way, and what had been read from it by then. */
  idleSince: number;
  bytesRead: number;
}

/**
 * The connections of this process, so that neither a stop nor a replacement cuts a request. Three ways lead to the end of one: its answer said
 * so (`platform/http/edge.ts`), it was idle for a second, or its request outlasted all patience.
 */
@Injectable()
export class ConnectionsService implements OnModuleInit, BeforeApplicationShutdown {
  private readonly connections = new Map<Socket, Connection>();
  private closesSince: number | undefined;

  constructor(private readonly adapterHost: HttpAdapterHost) {}

  onModuleInit(): void {
    const server: Server = this.adapterHost.httpAdapter.getHttpServer();
    server.on('connection', (socket: Socket) => {
      this.connections.set(socket, { requests: 0, idleSince: performance.now(), bytesRead: 0 });
      socket.once('close', () => this.connections.delete(socket));
    });
    server.on('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
      const connection = this.connections.get(socket);
      if (!connection) return;
      connection.requests++;
      response.once('close', () => {
        connection.requests--;
        connection.idleSince = performance.now();
        connection.bytesRead = socket.bytesRead;
      });
    });
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
    closeWithAnswers();
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
