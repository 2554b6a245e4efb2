import { EventEmitter } from 'node:events';
import { Inject, Injectable } from '@nestjs/common';
import type { Request } from 'express';
import { rateLimited } from '../../errors.js';
import { CONFIG, type Config } from '../../config/config.js';
import { ownerEntity } from '../../process/fair-queue.js';
import type { Caller } from '../caller.js';
import { RateLimiter } from './rate-limiter.js';

/** Step in which bytes of a body without a length are counted. */
const STEP_BYTES = 1024 * 1024;

/**
 * Returns a limiter for each configured limit. With `WORKERS` the primary makes them too, and counts for all workers.
 */
export function makeRateLimiters(config: Config) {
  const limits = [
    ['key', 'requests', config.rateLimitRequestsPerMinute],
    ['entity', 'requests', config.rateLimitEntityRequestsPerMinute],
    ['key', 'bytes', config.rateLimitBytesPerMinute],
    ['entity', 'bytes', config.rateLimitEntityBytesPerMinute],
  ] as const;
  return limits
    .filter(([, , perMinute]) => perMinute > 0)
    .map(([who, what, perMinute]) => ({
      who,
      what,
      perMinute,
      rate: new RateLimiter(`${what} of each ${who}`, perMinute),
    }));
}

/**
 * Limits requests and received body bytes a minute, per key and per entity. All keys and sessions of a person count as
 * one key. The limit applies before a body is read, so a refused request has changed nothing and may be sent again. A
 * body without Content-Length is counted as it arrives: it passes while the key has bytes left, and the next request
 * waits for its excess.
 */
@Injectable()
export class RateLimits {
  readonly areOn: boolean;
  private readonly rates: ReturnType<typeof makeRateLimiters>;

  constructor(@Inject(CONFIG) config: Config) {
    this.rates = makeRateLimiters(config);
    this.areOn = this.rates.length > 0;
  }

  /** @throws ApiError `rate_limited` */
  async admit(request: Request, { owner, holderId }: Caller): Promise<void> {
    const length = Number(request.headers['content-length'] ?? 0);
    const entity = ownerEntity(owner);
    const taken: (() => void)[] = [];
    for (const { who, what, perMinute, rate } of this.rates) {
      const name = who === 'key' ? holderId : entity;
      const points = what === 'bytes' ? length : 1;
      const ms = await rate.take(name, points);
      if (ms > 0) {
        for (const giveBack of taken) giveBack();
        throw rateLimited(`the ${who} is limited to ${perMinute} ${what} a minute`, ms);
      }
      taken.push(() => void rate.add(name, -points));
      if (what === 'bytes' && request.headers['transfer-encoding']) countBody(request, name, rate);
    }
  }
}

function countBody(request: Request, name: string, rate: RateLimiter): void {
  let received = 0;
  const count = () => {
    void rate.add(name, received);
    received = 0;
  };
  // Readable's own `on('data')` would start the flow of the body before its reader is attached.
  EventEmitter.prototype.on.call(request, 'data', (chunk: Buffer) => {
    received += chunk.length;
    if (received >= STEP_BYTES) count();
  });
  request.once('close', count);
}
