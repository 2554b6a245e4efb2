import { maxHeaderSize, type Server } from 'node:http';
import { constants, performServerHandshake, type ServerHttp2Session } from 'node:http2';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { type InnerAnswer, InnerRequest } from '../../../platform/http/inner-request.js';
import type { ConnectionsService } from '../../../platform/operations/connections.service.js';
import { answerGrpc } from './grpc-request.js';

/** Requests of one connection at once. Each is counted as a connection too. */
const MAX_STREAMS = 100;
/** A connection without a request for so long is closed, in the way that tells its client to open another for the next. */
const IDLE_MS = 300_000;
/** Requests that have not ended so long after a stop began are cut. */
const CUT_MS = 30_000;
const LOOK_EVERY_MS = 50;
/** In this time a client learns of the end, and what it had sent before that arrives. Most close the connection themselves. */
const LAST_MS = 1000;
/** Says that a stop is near while requests that are on their way are still taken. */
const ANY_STREAM = 2 ** 31 - 1;

/**
 * Takes OTLP over gRPC: connections of HTTP/2, each of whose streams is done by the HTTP server of this process. A session is open, or
 * told that it ends (GOAWAY), and closed a second later, when nothing is on its way any more.
 */
export class GrpcDoor {
  private readonly sessions = new Set<ServerHttp2Session>();
  private isDraining = false;

  constructor(
    private readonly server: Server,
    private readonly connections: Pick<ConnectionsService, 'add' | 'begin'>,
    private readonly firstMs: number,
  ) {}

  /** Takes a connection that nothing was read from. */
  accept(socket: Socket): void {
    socket.on('error', () => {});
    if (!this.connections.add(socket)) return;
    const session = performServerHandshake(socket, {
      settings: { maxConcurrentStreams: MAX_STREAMS, maxHeaderListSize: maxHeaderSize },
    });
    this.sessions.add(session);
    session.on('error', () => {}).once('close', () => this.sessions.delete(session));
    session.on('timeout', () => endSoon(session)).setTimeout(this.firstMs);
    const { remoteAddress } = socket;
    session.on('stream', (stream, headers) => {
      session.setTimeout(IDLE_MS);
      const ended = this.connections.begin(socket);
      stream.once('close', ended);
      answerGrpc(stream, headers, this.firstMs, (onEnd) => this.openInner(remoteAddress, onEnd));
      if (this.isDraining) endSoon(session);
    });
    socket.resume();
  }

  private openInner(
    remoteAddress: string | undefined,
    onEnd: (answer: InnerAnswer | null) => void,
  ): InnerRequest {
    const inner = new InnerRequest(this.server, remoteAddress, onEnd);
    this.connections.add(inner.socket);
    return inner;
  }

  /** From now on each connection ends with what is under way on it. */
  startDraining(): void {
    this.isDraining = true;
    for (const session of this.sessions) endSoon(session);
  }

  /** Resolves when all connections have ended. */
  async retire(): Promise<void> {
    this.startDraining();
    while (this.sessions.size > 0) await sleep(LOOK_EVERY_MS);
  }

  /** The same, but not for ever. */
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
