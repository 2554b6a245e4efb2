import { createServer, type Server } from 'node:http';
import type { Socket } from 'node:net';
import { v7 as uuidv7 } from 'uuid';
import { PROBLEM_JSON, problem } from '../platform/http/error.filter.js';
import { unavailable } from '../platform/errors.js';

/** More are closed at once: nothing is to be had yet. */
const MAX_CONNECTIONS = 256;
const HEAD_MS = 5000;

/** What answers while the database starts and its schema is migrated: `/health` says that the process is alive, all else that it must wait. */
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
    this.server.emit('listening'); // it has no port of its own: this begins its search for requests whose head is late
  }

  accept(socket: Socket): void {
    if (this.sockets.size >= MAX_CONNECTIONS) return void socket.destroy();
    this.sockets.add(socket);
    socket.on('close', () => this.sockets.delete(socket)).on('error', () => {});
    socket.allowHalfOpen = true;
    this.server.emit('connection', socket);
    socket.resume();
  }

  /** Connections that have not been answered get the next answer, or end with their time. */
  close(): void {
    this.server.close();
    for (const socket of this.sockets) socket.setTimeout(HEAD_MS, () => socket.destroy());
  }
}
