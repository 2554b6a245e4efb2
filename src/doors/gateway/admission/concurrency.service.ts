import { Inject, Injectable } from '@nestjs/common';
import { CONFIG, type Config } from '../../../platform/config/config.js';
import { ApiError } from '../../../platform/errors.js';
import {
  perKeyRule,
  FairQueue,
  Shares,
  twoThirdsRule,
} from '../../../platform/process/fair-queue.js';
import { registerGauge } from '../../../platform/process/metrics.js';

/**
 * How long a request waits for other requests of its key, its entity or everyone. `MAX_WAITING` requests of one key may
 * wait.
 */
export const WAIT_MS = 10_000;
export const MAX_WAITING = 256;

/** Limits how many requests this process has at providers at once. Entities and keys share the limit. */
@Injectable()
export class ConcurrencyService {
  private readonly shares: Shares;
  private readonly line: FairQueue;

  constructor(@Inject(CONFIG) { gatewayConcurrency }: Config) {
    const shares = new Shares(twoThirdsRule({ count: gatewayConcurrency, weight: Infinity }));
    this.shares = shares;
    this.line = new FairQueue({
      take: (_, owner) => shares.take(owner),
      held: shares,
      waiting: perKeyRule(MAX_WAITING, ({ count }) => count < 4 * MAX_WAITING),
      waitMs: WAIT_MS,
      refusal: () =>
        new ApiError('rate_limited', 'too many requests to models are under way', {
          headers: { 'Retry-After': '1' },
        }),
    });
    registerGauge(
      'skein_gateway_requests',
      'Requests to models under way.',
      () => shares.all.count,
    );
  }

  /**
   * Runs `work` when the limit allows it.
   * @throws ApiError `rate_limited`, or the reason of the signal
   */
  async run<T>(owner: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    await this.line.enter(owner, undefined, { signal });
    try {
      return await work();
    } finally {
      this.shares.give(owner);
      this.line.wake();
    }
  }
}
