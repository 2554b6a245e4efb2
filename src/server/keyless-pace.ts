import type { Socket } from 'node:net';
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
/** Requests for it wait only for each other. */
const HEALTH = /^\/health\b/i;
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
 * Spaces the requests of one address. The first request of a connection is served before others, and of these the
 * newest. Somebody who sends one now and then waits for milliseconds beside thousands of connections that always have
 * one.
 */
class AddressPace {
  private room = AT_ONCE;
  private filledAt = performance.now();
  /** Waiting requests, oldest first: the first ones of their connections, and others. */
  private readonly first: Waiter[] = [];
  private readonly others: Waiter[] = [];
  private readonly served = new WeakSet<Socket>();

  enter({ socket }: Request, response: Response, cost: number, begin: () => void): void {
    this.fill();
    const isFirst = !this.served.has(socket);
    this.served.add(socket);
    if (this.count === 0 && this.room >= 1) {
      this.room -= cost;
      return begin();
    }
    const until = this.filledAt + MAX_WAIT_MS;
    (isFirst ? this.first : this.others).push({ response, cost, begin, until });
    if (this.count === 1) this.lookSoon();
  }

  private get count(): number {
    return this.first.length + this.others.length;
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
    while (this.room >= 1 && this.count > 0) {
      const { response, cost, begin } = (this.first.pop() ?? this.others.pop())!;
      if (response.destroyed) continue;
      this.room -= cost;
      begin();
    }
    for (const waiting of [this.first, this.others])
      while (waiting.length > 0 && waiting[0]!.until <= this.filledAt)
        sendProblem(tooMany(), waiting.shift()!.response);
    if (this.count > 0) this.lookSoon();
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
      const kind = isForOperations(socket) ? 'operations' : HEALTH.test(path) ? 'health' : '';
      const cost = LARGE.test(path) ? OF_LARGE : 1;
      paceOf(`${kind} ${address}`).enter(request, response, cost, begin);
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
