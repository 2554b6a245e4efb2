import { Injectable } from '@nestjs/common';
import { RateLimiterMemory, type RateLimiterRes } from 'rate-limiter-flexible';
import { ApiError } from '../common/errors.js';

const ATTEMPTS = 20;
const PER_SECONDS = 60;

/** Counts failed authentications per address. A valid key is never held back by the failures of others behind it. */
@Injectable()
export class FailedAttempts {
  private readonly limiter = new RateLimiterMemory({ points: ATTEMPTS, duration: PER_SECONDS });

  /** @throws ApiError `rate_limited` from the 21st failure within a minute on. */
  async count(address: string): Promise<void> {
    try {
      await this.limiter.consume(address);
    } catch (refusal) {
      const seconds = Math.ceil((refusal as RateLimiterRes).msBeforeNext / 1000);
      throw new ApiError(
        'rate_limited',
        `more than ${ATTEMPTS} failed attempts within ${PER_SECONDS} s`,
        {
          headers: { 'Retry-After': String(seconds) },
        },
      );
    }
  }
}
