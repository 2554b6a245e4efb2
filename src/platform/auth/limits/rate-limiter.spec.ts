import { RateLimiter } from './rate-limiter.js';

const PER_MINUTE = 60;
let names = 0;
const aRate = () => new RateLimiter(`test ${++names}`, PER_MINUTE);

beforeEach(() => void jest.useFakeTimers({ now: 0 }));
afterEach(() => void jest.useRealTimers());

it('allows so many points at once, then as many as drain', async () => {
  const rate = aRate();
  for (let i = 0; i < PER_MINUTE; i++) expect(await rate.take('a')).toBe(0);
  expect(await rate.take('a')).toBe(1000);
  expect(await rate.take('b')).toBe(0);
  jest.advanceTimersByTime(1000);
  expect(await rate.take('a')).toBe(0);
  expect(await rate.take('a')).toBe(1000);
});

it('lets what is larger than the rate pass alone, and then waits for it to drain', async () => {
  const rate = aRate();
  expect(await rate.take('a', 2 * PER_MINUTE)).toBe(0);
  expect(await rate.take('a', 0)).toBe(60_000);
  jest.advanceTimersByTime(60_000);
  expect(await rate.take('a', 0)).toBe(0);
  expect(await rate.take('a', 2 * PER_MINUTE)).toBe(60_000);
});

it('counts what is spent, and gives back what was not used', async () => {
  const rate = aRate();
  await rate.add('a', PER_MINUTE);
  expect(await rate.take('a')).toBe(1000);
  await rate.add('a', -1);
  expect(await rate.take('a')).toBe(0);
});
