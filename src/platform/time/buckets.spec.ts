import fc from 'fast-check';
import { bucketStarts, chooseGranularity, isZone, MAX_BUCKETS } from './buckets.js';

const listStarts = async (start: string, end: string, granularity: number, timezone: string) =>
  (await bucketStarts(new Date(start), new Date(end), granularity, timezone)).map((at) =>
    at.toISOString().slice(0, 16),
  );

describe('buckets', () => {
  it('have 23 and 25 hours where a day of the zone has', async () => {
    expect(
      await listStarts('2026-03-28T12:00Z', '2026-03-30T12:00Z', 86_400, 'Europe/Berlin'),
    ).toEqual(['2026-03-27T23:00', '2026-03-28T23:00', '2026-03-29T22:00']);
    expect(
      await listStarts('2026-10-24T12:00Z', '2026-10-26T12:00Z', 86_400, 'Europe/Berlin'),
    ).toEqual(['2026-10-23T22:00', '2026-10-24T22:00', '2026-10-25T23:00']);
  });

  it('of six hours go by the clocks of the zone', async () => {
    expect(
      await listStarts('2026-03-28T23:00Z', '2026-03-29T11:00Z', 21_600, 'Europe/Berlin'),
    ).toEqual(['2026-03-28T23:00', '2026-03-29T04:00', '2026-03-29T10:00']);
    expect(
      await listStarts('2026-10-24T22:00Z', '2026-10-25T12:00Z', 21_600, 'Europe/Berlin'),
    ).toEqual(['2026-10-24T22:00', '2026-10-25T05:00', '2026-10-25T11:00']);
  });

  it('tell an hour that comes twice apart', async () => {
    expect(
      await listStarts('2026-10-25T00:00Z', '2026-10-25T03:00Z', 3600, 'Europe/Berlin'),
    ).toEqual(['2026-10-25T00:00', '2026-10-25T01:00', '2026-10-25T02:00']);
  });

  it('go by zones that are half an hour off, and set their clocks by half an hour', async () => {
    expect(
      await listStarts('2026-01-01T00:00Z', '2026-01-01T02:00Z', 3600, 'Asia/Kathmandu'),
    ).toEqual(['2025-12-31T23:15', '2026-01-01T00:15', '2026-01-01T01:15']);
    // At 02:00 the clocks are set to 01:30, so the bucket of 01:00 has an hour and a half.
    expect(
      await listStarts('2026-04-04T14:00Z', '2026-04-04T17:00Z', 3600, 'Australia/Lord_Howe'),
    ).toEqual(['2026-04-04T14:00', '2026-04-04T15:30', '2026-04-04T16:30']);
  });

  it('of a week begin on Mondays', async () => {
    expect(await listStarts('2026-01-01T00:00Z', '2026-01-13T00:00Z', 604_800, 'UTC')).toEqual([
      '2025-12-29T00:00',
      '2026-01-05T00:00',
      '2026-01-12T00:00',
    ]);
  });

  it('leave out a day that the zone has skipped', async () => {
    expect(
      await listStarts('2011-12-29T12:00Z', '2011-12-31T12:00Z', 86_400, 'Pacific/Apia'),
    ).toEqual(['2011-12-29T10:00', '2011-12-30T10:00', '2011-12-31T10:00']);
  });

  it('grow over the window, and are never too many', async () => {
    const zone = fc.constantFrom(
      'UTC',
      'Europe/Berlin',
      'America/Sao_Paulo',
      'Australia/Lord_Howe',
      'Pacific/Apia',
    );
    await fc.assert(
      fc.asyncProperty(
        fc.date({ min: new Date('2005-01-01'), max: new Date('2030-01-01'), noInvalidDate: true }),
        fc.integer({ min: 1, max: 40 * 86_400 }),
        fc.constantFrom(60, 420, 900, 3600, 5400, 21_600, 86_400, 259_200),
        zone,
        async (start, seconds, asked, timezone) => {
          const end = new Date(+start + seconds * 1000);
          const starts = await bucketStarts(
            start,
            end,
            chooseGranularity(asked, start, end),
            timezone,
          );
          expect(starts.length).toBeLessThanOrEqual(MAX_BUCKETS + 100); // a short bucket before each midnight
          expect(+starts[0]!).toBeLessThanOrEqual(+start);
          expect(+starts.at(-1)!).toBeLessThan(+end);
          for (let i = 1; i < starts.length; i++)
            expect(+starts[i]!).toBeGreaterThan(Math.max(+starts[i - 1]!, +start));
        },
      ),
      { numRuns: 60 },
    );
  });

  it('are chosen by the length of the window, and longer where there would be too many', () => {
    const start = new Date('2026-01-01');
    const after = (hours: number) => new Date(+start + hours * 3_600_000);
    expect(
      [1, 6, 48, 240, 2000].map((hours) => chooseGranularity(null, start, after(hours))),
    ).toEqual([300, 3600, 21_600, 43_200, 86_400]);
    expect(chooseGranularity(1, start, after(24))).toBe(60);
    expect(chooseGranularity(60, start, after(24 * 365 * 100))).toBe(4 * 86_400);
  });

  it.each([
    ['Europe/Berlin', true],
    ['Mars/Olympus', false],
    [7, false],
  ])('know whether %s is a zone', (name, isKnown) => {
    expect(isZone(name)).toBe(isKnown);
  });
});
