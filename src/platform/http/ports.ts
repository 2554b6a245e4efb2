import type { Socket } from 'node:net';
import type { NextFunction, Request, Response } from 'express';
import type { Config } from '../config/config.js';
import { ApiError } from '../errors.js';
import { sendProblem } from './error.filter.js';

const operationsSockets = new WeakSet<Socket>();

/** Says of a connection that it came to OPERATIONS_PORT. */
export const markForOperations = (socket: Socket) => void operationsSockets.add(socket);
export const isForOperations = (socket: Socket): boolean => operationsSockets.has(socket);

const OPERATIONS = /^\/(health|ready|metrics)\/?$/i;
const MOVED = /^\/(ready|metrics)\/?$/i;

/**
 * With OPERATIONS_PORT what operators ask is answered there and nothing else; elsewhere `/ready` and `/metrics` are not.
 * With ALLOWED_HOSTS a request to the other port must name one of them: a page whose name was made to lead here
 * (DNS rebinding) names its own.
 */
export function ports({ operationsPort, allowedHosts }: Config) {
  return (request: Request, response: Response, next: NextFunction): void => {
    const isOperations = isForOperations(request.socket);
    const isHere = isOperations
      ? OPERATIONS.test(request.path)
      : operationsPort === undefined || !MOVED.test(request.path);
    if (!isHere)
      return sendProblem(new ApiError('not_found', `nothing is at ${request.path}`), response);
    if (isOperations || !allowedHosts || allowedHosts.includes(requestHost(request))) return next();
    sendProblem(
      new ApiError('misdirected', 'the header Host names none of the hosts in ALLOWED_HOSTS'),
      response,
    );
  };
}

const requestHost = ({ headers }: Request) =>
  (headers.host ?? '').toLowerCase().replace(/:\d*$/, '');
