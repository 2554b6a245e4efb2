import fc from 'fast-check';
import { keptBackups } from './stored-backups.js';

const HOUR = 3_600_000;
const NOW = Date.UTC(2026, 10, 24, 12);
const hoursAgo = (hours: number) => ({ at: new Date(NOW - hours * HOUR) });
const days = (kept: Set<{ at: Date }>) => [...kept].map(({ at }) => at.toISOString().slice(0, 13));

describe('which backups are kept', () => {
  it('is the newest of each of the last days, weeks and months', () => {
    const eachSixHours = Array.from({ length: 4 * 100 }, (_, i) => hoursAgo(6 * i));
    const kept = keptBackups(eachSixHours, { daily: 3, weekly: 3, monthly: 3 });
    expect(days(kept).toSorted().toReversed()).toEqual([
      '2026-11-24T12',
      '2026-11-23T18',
      '2026-11-22T18', // the week before
      '2026-11-15T18',
      '2026-10-31T18',
      '2026-09-30T18',
    ]);
  });

  it('counts days that have a backup, so that a service that was away loses none', () => {
    const kept = keptBackups([hoursAgo(0), hoursAgo(24 * 40), hoursAgo(24 * 90)], {
      daily: 3,
      weekly: 0,
      monthly: 0,
    });
    expect(kept.size).toBe(3);
  });

  it('always has the newest, and never more than it says', () => {
    const count = fc.nat({ max: 10 });
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.nat({ max: 5000 }), { minLength: 1 }),
        fc.record({ daily: count, weekly: count, monthly: count }),
        (hours, keep) => {
          const backups = hours.toSorted((a, b) => a - b).map(hoursAgo);
          const kept = keptBackups(backups, keep);
          expect(kept.has(backups[0]!)).toBe(true);
          expect(kept.size).toBeLessThanOrEqual(1 + keep.daily + keep.weekly + keep.monthly);
          const more = { ...keep, daily: keep.daily + 1 };
          for (const backup of kept) expect(keptBackups(backups, more)).toContain(backup);
        },
      ),
    );
  });
});
