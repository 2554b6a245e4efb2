import { searchGranularity, metricsSearch, stepsFor, searchWindow } from './search.js';

const HOUR = 3600;

it('keeps of an address what it understands', () => {
  expect(
    metricsSearch({ range: '7d', step: '1h', by: 'op', roots: true, sort: '-cost', x: 1 }),
  ).toEqual({ range: '7d', step: '1h', by: 'op', roots: true, sort: '-cost' });
  expect(metricsSearch({ range: 'toString', step: 5, by: 'model', roots: 'yes' })).toEqual({});
});

it('takes a window for a range, unless it ends before it begins', () => {
  const window = { from: '2026-11-01T00:00:00Z', to: '2026-11-02T00:00:00Z' };
  expect(metricsSearch({ ...window, range: '7d' })).toEqual(window);
  expect(searchWindow(window, 0)).toEqual({
    start: Date.parse(window.from),
    end: Date.parse(window.to),
  });
  expect(metricsSearch({ from: window.to, to: window.from, range: '7d' })).toEqual({ range: '7d' });
});

it('ends a range now', () => {
  expect(searchWindow({ range: '1h' }, 7_200_000)).toEqual({ start: 3_600_000, end: 7_200_000 });
});

it.each([
  [HOUR, 60],
  [24 * HOUR, 900],
  [7 * 24 * HOUR, 7200],
  [30 * 24 * HOUR, 6 * HOUR],
  [20 * 365 * 24 * HOUR, 61 * 24 * HOUR],
])('cuts %d seconds into buckets of %d', (seconds, granularity) =>
  expect(searchGranularity({}, seconds)).toBe(granularity),
);

it('does not cut a window finer than a screen shows', () => {
  expect(stepsFor(24 * HOUR)).not.toContain('10s');
  expect(stepsFor(24 * HOUR)).not.toContain('1d');
  expect(searchGranularity({ step: '10s' }, 24 * HOUR)).toBe(900);
  expect(searchGranularity({ step: '1h' }, 24 * HOUR)).toBe(HOUR);
});
