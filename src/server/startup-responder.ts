import { createServer, type Server } from 'node:http';
import type { Socket } from 'node:net';
import { v7 as uuidv7 } from 'uuid';
import { PROBLEM_JSON, problem } from '../platform/http/error.filter.js';
import { unavailable } from '../platform/errors.js';

/** Most connections. Further ones are closed at once, because the service is not available yet. */
const MAX_CONNECTIONS = 256;
const HEAD_MS = 5000;

/**
 * Answers while the database starts and its schema is migrated. `/health` reports a live process; any other path gets
 * 503.
 */
export class StartupResponder {
  private readonly sockets = new Set<Socket>();
  private readonly server: Server = createServer(
    { headersTimeout: HEAD_MS, requestTimeout: HEAD_MS, connectionsCheckingInterval: HEAD_MS },
    (request, response) => {
      request.resume();
      const isHealth = /^\/health(\?|$)/.test(request.url ?? '');
      const answer = isHealth
        ? { status: 'ok' }
        : problem(unavailable('the service is starting'), uuidv7());
      const type = isHealth ? 'application/json; charset=utf-8' : PROBLEM_JSON;
      const headers = { 'Content-Type': type, Connection: 'close', 'Retry-After': '1' };
      response.writeHead(isHealth ? 200 : 503, headers).end(JSON.stringify(answer));
    },
  );

  constructor() {
    this.server.emit('listening'); // it has no port of its own: this starts its search for requests with late headers
  }

  accept(socket: Socket): void {
    if (this.sockets.size >= MAX_CONNECTIONS) return void socket.destroy();
    this.sockets.add(socket);
    socket.on('close', () => this.sockets.delete(socket)).on('error', () => {});
    socket.allowHalfOpen = true;
    this.server.emit('connection', socket);
    socket.resume();
  }

  /** Stops. Connections without an answer get the next one, or end after their time. */
  close(): void {
    this.server.close();
    for (const socket of this.sockets) socket.setTimeout(HEAD_MS, () => socket.destroy());
  }
}
