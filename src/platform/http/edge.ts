import { randomUUID } from 'node:crypto';
import type { Socket } from 'node:net';
import type { NextFunction, Request, Response } from 'express';
import { Histogram } from 'prom-client';
import type { Config } from '../config/config.js';
import { BodyBudget } from './body-budget.js';
import { drainRequest } from './inflated-body.js';
import { Context } from './context.js';
import { logger } from '../process/logger.js';
import { metrics, registerGauge } from '../process/metrics.js';
import { selfTracer } from '../process/self-tracer.js';

declare module 'http' {
  interface IncomingMessage {
    /** The client's `x-request-id` if it is valid, otherwise a new one. */
    id: string;
  }
}

const durations = new Histogram({
  name: 'skein_http_request_duration_seconds',
  help: 'Time from the head of a request to the end of its answer.',
  labelNames: ['method', 'route', 'status'],
  buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
  registers: [metrics],
});

/** Most logged characters of a project name, which may be unchecked when a request is refused. */
const MAX_PROJECT = 256;

/** Returns the declared path of the route, once it is known. */
const routePath = ({ route }: Request) => (route as { path?: string } | undefined)?.path;

/** Describes the request to observers of its SQL statements. */
export const requestSubject = (request: Request) => ({
  trace: request.context.trace,
  tell: () => ({
    request_id: request.id,
    operation: routePath(request),
    project: request.context.project?.slice(0, MAX_PROJECT),
  }),
});

/** Bytes of each connection that belong to earlier requests. */
const countedBytes = new WeakMap<Socket, { read: number; written: number }>();

/** Returns the bytes that the connection received, headers included, since its last request. */
function newlyRead(socket: Socket): number {
  const counted = countedOf(socket);
  const { read } = counted;
  counted.read = socket.bytesRead;
  return counted.read - read;
}

/** Returns the bytes that the connection sent, headers included, since its last logged request. */
function newlyWritten(socket: Socket): number {
  const counted = countedOf(socket);
  const { written } = counted;
  counted.written = socket.bytesWritten;
  return counted.written - written;
}

function countedOf(socket: Socket) {
  let counted = countedBytes.get(socket);
  if (!counted) countedBytes.set(socket, (counted = { read: 0, written: 0 }));
  return counted;
}

const SANE_ID = /^[\w.:/+=@-]{1,128}$/;

const drainController = new AbortController();
/** Aborted when the process begins to stop. Endless streams end then. */
export const drainSignal: AbortSignal = drainController.signal;

/** Closes each connection after its next answer, because the process is about to stop. */
export function beginDraining(): void {
  drainController.abort();
}

/**
 * Makes the first middleware. It sets the id, the limits for bodies and the context of a request. After the answer it
 * measures and logs the request, releases its memory, and drains the rest of its body. `onAnswered` gets the bytes that
 * the request took on its connection.
 */
export function edge(
  { bodyBudgetBytes, maxBodyBytes, bodyTimeoutSeconds, logRequests }: Config,
  onAnswered: (request: Request, receivedBytes: number) => void,
) {
  const budget = new BodyBudget(bodyBudgetBytes);
  const bodies = { budget, maxBytes: maxBodyBytes, timeoutMs: bodyTimeoutSeconds * 1000 };
  registerGauge(
    'skein_body_bytes',
    'Memory that the request bodies under way hold of BODY_BUDGET_BYTES.',
    () => budget.held,
  );
  /** `LOG_REQUESTS` shows request lines without the other lines of `debug`. */
  const level = logRequests ? 'info' : 'debug';
  return (request: Request, response: Response, next: NextFunction): void => {
    const sent = request.headers['x-request-id'];
    request.id = typeof sent === 'string' && SANE_ID.test(sent) ? sent : randomUUID();
    request.context = new Context(request, response, bodies);
    request.context.trace = selfTracer()?.request(request.headers, request.path);
    response.setHeader('x-request-id', request.id);
    response.setHeader('x-content-type-options', 'nosniff');
    if (drainSignal.aborted) response.setHeader('connection', 'close');
    const isLogged = logger.isLevelEnabled(level);
    const { socket } = request;
    const address = isLogged ? request.ip : undefined; // a closed connection no longer has an address
    const started = performance.now();
    response.once('close', () => {
      request.context.endHold();
      if (!request.complete) drainRequest(request);
      const { heldBackMs } = request.context;
      const seconds = Math.max(0, performance.now() - started - heldBackMs) / 1000;
      const path = routePath(request);
      const route = path ?? 'none';
      const { method } = request;
      const status = response.writableFinished ? response.statusCode : 'cut';
      durations.observe({ method, route, status }, seconds);
      const project = request.context.project?.slice(0, MAX_PROJECT);
      const attributes = { 'skein.project': project, 'skein.request_id': request.id };
      request.context.trace?.end({ method, route: path, status, attributes });
      const request_bytes = newlyRead(socket);
      onAnswered(request, request_bytes);
      if (!isLogged) return;
      logger[level]({
        request_id: request.id,
        key_id: request.user?.keyId,
        user_id: request.user?.userId ?? undefined,
        project,
        address,
        method,
        route,
        status,
        duration_ms: seconds * 1000,
        request_bytes,
        answer_bytes: newlyWritten(socket),
      });
    });
    next();
  };
}
