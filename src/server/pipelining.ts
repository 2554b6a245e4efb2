import type { Socket } from 'node:net';
import type { NextFunction, Request, Response } from 'express';
import { ApiError } from '../platform/errors.js';
import { sendProblem } from '../platform/http/error.filter.js';

/** Most requests of a connection that wait for the answers to earlier ones. */
const MAX_WAITING = 16;
/** Returned by `onIncoming` of Node's parser, it ends the parsing of a chunk. */
const STOP_PARSING = 2;

interface ParsedSocket extends Socket {
  parser: { onIncoming: () => number };
}

/**
 * Makes middleware that answers the requests of a connection one after the other. Node alone begins all pipelined
 * requests at once: a chunk of 64 KB has a thousand. It gives the connection to one answer at a time. Beyond
 * `MAX_WAITING` the connection is refused, and nothing more is made of its bytes.
 */
export function answerInOrder() {
  const waiting = new WeakMap<Socket, number>();
  return (request: Request, response: Response, next: NextFunction): void => {
    if (response.socket) return next(); // no answer of the connection is under way
    const { socket } = request;
    const count = waiting.get(socket) ?? 0;
    if (count >= MAX_WAITING) {
      (socket as ParsedSocket).parser.onIncoming = () => STOP_PARSING;
      socket.pause();
      return sendProblem(tooMany(), response.set('Connection', 'close'));
    }
    waiting.set(socket, count + 1);
    const begin = () => {
      waiting.set(socket, waiting.get(socket)! - 1);
      if (!socket.destroyed) next();
    };
    response.once('socket', () => process.nextTick(begin));
  };
}

const tooMany = () =>
  new ApiError(
    'rate_limited',
    `more than ${MAX_WAITING} requests wait for answers on one connection`,
    { headers: { 'Retry-After': '1' } },
  );
