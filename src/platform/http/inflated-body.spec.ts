import { HELD_RATE, msLeft, STREAMED_RATE } from './inflated-body.js';

const TIMEOUT_MS = 20_000;
const FIVE_MBIT = 5_000_000 / 8;

describe('the time that a body has', () => {
  it('is enough for 200 MB at 5 Mbit/s, however they are read', () => {
    for (const rate of [HELD_RATE, STREAMED_RATE])
      for (let seconds = 0; seconds <= 320; seconds++) {
        const times = { activeMs: seconds * 1000, silentMs: 500 };
        expect(msLeft(seconds * FIVE_MBIT, rate, TIMEOUT_MS, times)).toBeGreaterThan(0);
      }
  });

  it.each([
    ['silent', 20_001, 20_001, 100_000_000],
    ['trickling', 21_000, 1000, 21],
    ['half as fast as it should be', 41_000, 100, (41 * HELD_RATE) / 2],
  ])('ends for a client that is %s', (_, activeMs, silentMs, bytes) => {
    expect(msLeft(bytes, HELD_RATE, TIMEOUT_MS, { activeMs, silentMs })).toBeLessThanOrEqual(0);
  });
});
