import type { Socket } from 'node:net';
import type { NextFunction, Request, Response } from 'express';
import type { Config } from '../config/config.js';
import { ApiError } from '../errors.js';
import { sendProblem } from './error.filter.js';

const operationsSockets = new WeakSet<Socket>();

/** Marks a connection that arrived at OPERATIONS_PORT. */
export const markForOperations = (socket: Socket) => void operationsSockets.add(socket);
export const isForOperations = (socket: Socket): boolean => operationsSockets.has(socket);

const OPERATIONS = /^\/(health|ready|metrics)\/?$/i;
const MOVED = /^\/(ready|metrics)\/?$/i;

/**
 * Makes the middleware that separates the ports. With OPERATIONS_PORT, the operators' endpoints are answered there and
 * nothing else is; the other port has no `/ready` and `/metrics`. With ALLOWED_HOSTS, a request to the other port must
 * name one of these hosts. This stops DNS rebinding: a page whose name resolves to this service sends its own name.
 */
export function ports({ operationsPort, allowedHosts }: Config) {
  return (request: Request, response: Response, next: NextFunction): void => {
    const isOperations = isForOperations(request.socket);
    const isHere = isOperations
      ? OPERATIONS.test(request.path)
      : operationsPort === undefined || !MOVED.test(request.path);
    if (!isHere)
      return sendProblem(
        new ApiError('not_found', `there is no operation at ${request.path}`),
        response,
      );
    if (isOperations || !allowedHosts || allowedHosts.includes(requestHost(request))) return next();
    sendProblem(
      new ApiError('misdirected', 'the header Host names none of the hosts in ALLOWED_HOSTS'),
      response,
    );
  };
}

const requestHost = ({ headers }: Request) =>
  (headers.host ?? '').toLowerCase().replace(/:\d*$/, '');
