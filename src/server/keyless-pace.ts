import type { NextFunction, Request, Response } from 'express';
import { LRUCache } from 'lru-cache';
import { clientAddress } from '../platform/auth/limits/failed-attempts.js';
import { ApiError } from '../platform/errors.js';
import { sendProblem } from '../platform/http/error.filter.js';

/** Requests of an address that may begin per second when they wait, and requests that may arrive at once. */
const PER_SECOND = 500;
const AT_ONCE = 500;
/** A request that would wait longer is refused. */
const MAX_WAIT_MS = 10_000;
const MAX_ADDRESSES = 10_000;

const STEP_MS = 1000 / PER_SECOND;

/** Paths that are answered without checking a key. */
const PUBLIC = /^\/(health|ready|metrics|server_info|docs|openapi|errors|console|auth)\b/i;

/**
 * Makes middleware that spaces requests without a key, per address, so that one client cannot keep the process busy
 * with public answers. They wait instead of being refused at once, because a refused client returns immediately.
 */
export function paceKeylessRequests() {
  /** Earliest start of the next request, keyed by address. */
  const turns = new LRUCache<string, number>({ max: MAX_ADDRESSES });
  return (request: Request, response: Response, next: NextFunction): void => {
    if (request.headers.authorization !== undefined && !PUBLIC.test(request.path)) return next();
    const address = clientAddress(request);
    const now = performance.now();
    const earliest = now - AT_ONCE * STEP_MS;
    const last = turns.get(address) ?? earliest;
    const isOfNow = last <= now + MAX_WAIT_MS; // no turn is this late, unless the clock was set back
    const turn = (isOfNow ? Math.max(last, earliest) : earliest) + STEP_MS;
    const waitMs = turn - now;
    if (waitMs > MAX_WAIT_MS) return sendProblem(tooMany(), response);
    turns.set(address, turn);
    if (waitMs <= 0) return next();
    setTimeout(() => {
      if (!response.destroyed) next();
    }, waitMs);
  };
}

const tooMany = () =>
  new ApiError('rate_limited', `over ${PER_SECOND} requests a second without a key`, {
    headers: { 'Retry-After': String(MAX_WAIT_MS / 1000) },
  });
