import { EventEmitter } from 'node:events';
import { Inject, Injectable } from '@nestjs/common';
import type { Request } from 'express';
import { ApiError } from '../errors.js';
import { CONFIG, type Config } from '../config/config.js';
import type { Caller } from './caller.js';
import { Rate } from './rate.js';

/** Step in which bytes of a body without a length are counted. */
const STEP_BYTES = 1024 * 1024;

const rateOf = (name: string, perMinute: number) =>
  perMinute === 0 ? null : new Rate(name, perMinute);

/** Null for what is not limited. With `WORKERS` the primary makes them too, and counts for all workers. */
export const ratesOf = ({ rateLimitRequestsPerMinute, rateLimitBytesPerMinute }: Config) => ({
  requests: rateOf('requests', rateLimitRequestsPerMinute),
  bytes: rateOf('bytes', rateLimitBytesPerMinute),
});

/**
 * Requests, and bytes of bodies as they are received, that each key may send in a minute. It is asked before a body is
 * read, so what it refuses has changed nothing and may be sent again. A body without Content-Length is counted as it
 * comes: it passes when the key has bytes left, and the next request waits for what it brought too much.
 */
@Injectable()
export class RateLimits {
  readonly areOn: boolean;
  private readonly rates: ReturnType<typeof ratesOf>;

  constructor(@Inject(CONFIG) private readonly config: Config) {
    this.rates = ratesOf(config);
    this.areOn = this.rates.requests !== null || this.rates.bytes !== null;
  }

  /** @throws ApiError `rate_limited` */
  async admit(request: Request, { keyId }: Caller): Promise<void> {
    const { config } = this;
    const { requests, bytes } = this.rates;
    if (requests)
      refuseFor(await requests.take(keyId), `${config.rateLimitRequestsPerMinute} requests`);
    if (!bytes) return;
    const length = Number(request.headers['content-length'] ?? 0);
    refuseFor(await bytes.take(keyId, length), `${config.rateLimitBytesPerMinute} bytes`);
    if (request.headers['transfer-encoding']) countBody(request, keyId, bytes);
  }
}

function refuseFor(ms: number, limit: string): void {
  if (ms === 0) return;
  throw new ApiError('rate_limited', `the key is limited to ${limit} a minute`, {
    headers: { 'Retry-After': String(Math.ceil(ms / 1000)) },
  });
}

function countBody(request: Request, keyId: string, rate: Rate): void {
  let received = 0;
  const count = () => {
    void rate.add(keyId, received);
    received = 0;
  };
  // Readable's own `on('data')` would make the body flow before there is anyone to take it.
  EventEmitter.prototype.on.call(request, 'data', (chunk: Buffer) => {
    received += chunk.length;
    if (received >= STEP_BYTES) count();
  });
  request.once('close', count);
}
