import type { NextFunction, Request, Response } from 'express';
import { LRUCache } from 'lru-cache';
import type { KeysService } from '../platform/auth/keys/keys.service.js';
import { clientAddress } from '../platform/auth/limits/failed-attempts.js';
import { ApiError } from '../platform/errors.js';
import { sendProblem } from '../platform/http/error.filter.js';
import type { ConnectionsService } from '../platform/operations/connections.service.js';
import { isForOperations } from '../platform/http/ports.js';

/** Requests of an address that may begin per second when they wait, and requests that may arrive at once. */
const PER_SECOND = 500;
const AT_ONCE = 500;
/** The description of the API is large, so a request for it takes the place of this many. */
const LARGE = /^\/(docs|openapi)\b/i;
const OF_LARGE = 20;
/** A request that would wait longer is refused. */
const MAX_WAIT_MS = 10_000;
const MAX_ADDRESSES = 10_000;
const LOOK_EVERY_MS = 10;

/** Paths that are answered without checking a key. */
const PUBLIC = /^\/(health|ready|metrics|server_info|docs|openapi|errors|console|auth)\b/i;

interface Waiter {
  response: Response;
  cost: number;
  begin: () => void;
  until: number;
}

/**
 * Spaces the requests of one address. The newest is served first: somebody who sends one now and then waits for
 * milliseconds beside thousands of connections that always have one.
 */
class AddressPace {
  private room = AT_ONCE;
  private filledAt = performance.now();
  /** Waiting requests, oldest first. */
  private readonly waiting: Waiter[] = [];

  enter(response: Response, cost: number, begin: () => void): void {
    this.fill();
    if (this.waiting.length === 0 && this.room >= 1) {
      this.room -= cost;
      return begin();
    }
    this.waiting.push({ response, cost, begin, until: this.filledAt + MAX_WAIT_MS });
    if (this.waiting.length === 1) this.lookSoon();
  }

  private fill(): void {
    const now = performance.now();
    this.room = Math.min(AT_ONCE, this.room + ((now - this.filledAt) * PER_SECOND) / 1000);
    this.filledAt = now;
  }

  private lookSoon(): void {
    setTimeout(() => this.serve(), LOOK_EVERY_MS);
  }

  private serve(): void {
    this.fill();
    const { waiting } = this;
    while (this.room >= 1 && waiting.length > 0) {
      const { response, cost, begin } = waiting.pop()!;
      if (response.destroyed) continue;
      this.room -= cost;
      begin();
    }
    while (waiting.length > 0 && waiting[0]!.until <= this.filledAt)
      sendProblem(tooMany(), waiting.shift()!.response);
    if (waiting.length > 0) this.lookSoon();
  }
}

/**
 * Makes middleware that spaces requests without a valid key or session, per address, so that one client cannot keep
 * the process busy. They wait instead of being refused at once, because a refused client returns immediately. A valid
 * key or session never waits for them: it is looked up first.
 */
export function paceKeylessRequests(keys: KeysService, connections: ConnectionsService) {
  const paces = new LRUCache<string, AddressPace>({ max: MAX_ADDRESSES });
  const paceOf = (name: string) => {
    const pace = paces.get(name) ?? new AddressPace();
    paces.set(name, pace);
    return pace;
  };
  return (request: Request, response: Response, next: NextFunction): void => {
    const { socket, headers, path } = request;
    const addressOf = () => clientAddress(request);
    const pace = (begin: () => void) => {
      const address = addressOf();
      const name = isForOperations(socket) ? `operations ${address}` : address;
      paceOf(name).enter(response, LARGE.test(path) ? OF_LARGE : 1, begin);
    };
    const isPublic = PUBLIC.test(path);
    const checked = isPublic ? { ...headers, authorization: undefined } : headers;
    const admit = () => {
      connections.noteKey(socket);
      next();
    };
    const known = keys.knows({ socket, headers: checked }, addressOf);
    if (known === true) return admit();
    if (known === false) return pace(next);
    known.then(
      (isValid) => {
        // Nobody would end a request whose client has gone, and release what it reserves.
        if (socket.destroyed) return;
        request.context.isUnknown = !isPublic && !isValid;
        if (isValid) admit();
        else pace(next);
      },
      (error: unknown) => pace(() => next(error)),
    );
  };
}

const tooMany = () =>
  new ApiError('rate_limited', `over ${PER_SECOND} requests a second without a key`, {
    headers: { 'Retry-After': String(MAX_WAIT_MS / 1000) },
  });
