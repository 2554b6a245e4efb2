import { nextClock } from './retention-clock.service.js';

const DAY = 86_400_000;

/** Looks at a clock at these times in days. Returns the ends of the waits; null where retention may erase. */
function looks(...days: number[]): (number | null)[] {
  let seen = { seenAt: new Date(0), aheadMs: 0, waitsUntil: null as Date | null };
  return days.map((day) => {
    seen = nextClock({
      now_ms: day * DAY,
      seen_ms: seen.seenAt.getTime(),
      ahead_ms: seen.aheadMs,
      waits_until_ms: seen.waitsUntil?.getTime() ?? null,
    });
    return seen.waitsUntil && seen.waitsUntil.getTime() / DAY;
  });
}

it.each([
  ['passes', [0.5, 1.4, 2.3], [null, null, null]],
  ['jumps and stays', [10, 10.5, 11.4, 12.3, 12.9, 13, 13.1], [13, 13, 13, 13, 13, null, null]],
  ['jumps twice', [10, 20, 20.5], [13, 23, 23]],
  ['jumps and is set back', [10, 10.5, 0.5, 0.6], [13, 13, null, null]],
  ['is set back by half of its jump', [10, 10.5, 5, 5.5, 0.6], [13, 13, 8, 8, null]],
  ['is set back', [0.5, -9, -8.5], [null, null, null]],
])('a clock that %s', (_, days, waits) => {
  expect(looks(...days)).toEqual(waits);
});
