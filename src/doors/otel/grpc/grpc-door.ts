import { maxHeaderSize, type Server } from 'node:http';
import { constants, performServerHandshake, type ServerHttp2Session } from 'node:http2';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { type InnerAnswer, InnerRequest } from '../../../platform/http/inner-request.js';
import type { ConnectionsService } from '../../../platform/operations/connections.service.js';
import { answerGrpc } from './grpc-request.js';

/** Maximum number of concurrent requests of a connection. Each request also counts as a connection. */
const MAX_STREAMS = 100;
/** A connection is closed when its client has taken back so many requests since one was answered. */
const MAX_TAKEN_BACK = 100;
/**
 * A connection without requests is closed after this time. GOAWAY makes its client open a new one for the next request.
 */
const IDLE_MS = 300_000;
/** Requests that are still running this long after a stop began are aborted. */
const CUT_MS = 30_000;
const LOOK_EVERY_MS = 50;
/**
 * Time between GOAWAY and the close of a session: requests that the client had already sent still arrive. Most clients
 * close the connection themselves.
 */
const LAST_MS = 1000;
/** Stream id for GOAWAY that still accepts all requests that are on their way. */
const ANY_STREAM = 2 ** 31 - 1;

/**
 * Receives OTLP over gRPC. It accepts HTTP/2 connections, and the HTTP server of this process handles each of their
 * streams. When a session ends, GOAWAY announces it. The session closes a second later, when its running requests have
 * ended.
 */
export class GrpcDoor {
  private readonly sessions = new Set<ServerHttp2Session>();
  private isDraining = false;

  constructor(
    private readonly server: Server,
    private readonly connections: Pick<ConnectionsService, 'add' | 'begin'>,
    private readonly firstMs: number,
  ) {}

  /** Accepts a connection of which nothing has been read. */
  accept(socket: Socket): void {
    socket.on('error', () => {});
    if (!this.connections.add(socket)) return;
    socket.allowHalfOpen = false; // a client that has gone leaves no connection
    const session = performServerHandshake(socket, {
      settings: { maxConcurrentStreams: MAX_STREAMS, maxHeaderListSize: maxHeaderSize },
    });
    this.sessions.add(session);
    session.on('error', () => {}).once('close', () => this.sessions.delete(session));
    session.on('timeout', () => endSoon(session)).setTimeout(this.firstMs);
    let takenBack = 0;
    session.on('stream', (stream, headers) => {
      session.setTimeout(IDLE_MS);
      const ended = this.connections.begin(socket);
      stream.once('close', () => {
        ended();
        takenBack = stream.headersSent ? 0 : takenBack + 1;
        if (takenBack > MAX_TAKEN_BACK) session.destroy();
      });
      answerGrpc(stream, headers, this.firstMs, (onEnd) => this.openInner(socket, onEnd));
      if (this.isDraining) endSoon(session);
    });
    socket.resume();
  }

  private openInner(carrier: Socket, onEnd: (answer: InnerAnswer | null) => void): InnerRequest {
    const inner = new InnerRequest(this.server, carrier.remoteAddress, onEnd);
    this.connections.add(inner.socket, carrier);
    return inner;
  }

  /** Ends each connection after its running requests. */
  startDraining(): void {
    this.isDraining = true;
    for (const session of this.sessions) endSoon(session);
  }

  /** Resolves when all connections have ended. */
  async retire(): Promise<void> {
    this.startDraining();
    while (this.sessions.size > 0) await sleep(LOOK_EVERY_MS);
  }

  /** Ends all connections. Those that are still open after `CUT_MS` are destroyed. */
  async close(): Promise<void> {
    this.startDraining();
    const start = performance.now();
    while (this.sessions.size > 0 && performance.now() - start < CUT_MS) await sleep(LOOK_EVERY_MS);
    for (const session of this.sessions) session.destroy();
  }
}

function endSoon(session: ServerHttp2Session): void {
  if (session.closed || session.destroyed) return;
  session.goaway(constants.NGHTTP2_NO_ERROR, ANY_STREAM);
  setTimeout(() => session.close(), LAST_MS).unref();
}
