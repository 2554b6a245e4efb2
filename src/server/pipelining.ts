import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';
import type { NextFunction, Request, Response } from 'express';
import { ApiError } from '../platform/errors.js';
import { sendProblem } from '../platform/http/error.filter.js';

/** Most requests of a connection that wait for the answers to earlier ones. */
const MAX_WAITING = 16;
/** Returned by `onIncoming` of Node's parser, it ends the parsing of a chunk. */
const STOP_PARSING = 2;

interface ParsedSocket extends Socket {
  parser: { onIncoming: (request: IncomingMessage, keepsAlive: boolean) => number };
}

interface Line {
  isBusy: boolean;
  isFull: boolean;
  waiting: (() => void)[];
}

/**
 * Makes middleware that answers the requests of a connection one after the other. Node alone begins all pipelined
 * requests at once: a chunk of 64 KB has a thousand. Beyond `MAX_WAITING` the connection is refused, and nothing more
 * is made of its bytes.
 */
export function answerInOrder(server: Server) {
  const lines = new WeakMap<Socket, Line>();
  server.on('connection', (socket: ParsedSocket) => {
    const line: Line = { isBusy: false, isFull: false, waiting: [] };
    lines.set(socket, line);
    const { parser } = socket;
    const { onIncoming } = parser;
    parser.onIncoming = (...parsed) => (line.isFull ? STOP_PARSING : onIncoming(...parsed));
  });
  return (request: Request, response: Response, next: NextFunction): void => {
    const { socket } = request;
    const line = lines.get(socket);
    if (!line) return next(); // an InnerRequest has a connection of its own
    if (line.waiting.length >= MAX_WAITING) {
      line.isFull = true;
      socket.pause();
      return sendProblem(tooMany(), response.set('Connection', 'close'));
    }
    const begin = () => {
      line.isBusy = true;
      response.once('close', () => {
        line.isBusy = false;
        if (!socket.destroyed) line.waiting.shift()?.();
      });
      next();
    };
    if (line.isBusy) line.waiting.push(begin);
    else begin();
  };
}

const tooMany = () =>
  new ApiError(
    'rate_limited',
    `more than ${MAX_WAITING} requests wait for answers on one connection`,
    { headers: { 'Retry-After': '1' } },
  );
