import fc from 'fast-check';
import { microsecondsOf } from './binary-copy.js';

const EPOCH_MS = Date.UTC(2000, 0, 1);

it.each([
  ['2000-01-01T00:00:00Z', 0],
  ['2000-01-01T00:00:00.000001Z', 1],
  ['1999-12-31T23:59:59.999999Z', -1],
  ['2000-01-01T01:30:00+01:30', 0],
  ['1999-12-31T18:30:00-05:30', 0],
  // PostgreSQL rounds half a microsecond to even.
  ['2000-01-01T00:00:00.0000005Z', 0],
  ['2000-01-01T00:00:00.0000015Z', 2],
  ['2000-01-01T00:00:00.9999999Z', 1_000_000],
])('%s is %d µs from the beginning of 2000', (text, micros) => {
  expect(microsecondsOf(text)).toBe(micros);
});

it.each([
  '2026-01-31',
  '2026-01-31 12:00:00Z',
  '2026-01-31T12:00:00',
  '2026-01-31T12:00:00z',
  '2026-01-31T12:00:00+01',
  '2026-01-31T12:00:00+16:00',
  '2026-01-31T12:00:00+01:60',
  '2026-01-31T24:00:00Z',
  '2026-01-31T12:60:00Z',
  '2026-01-31T12:00:60Z',
  '2026-13-01T12:00:00Z',
  '2026-00-01T12:00:00Z',
  '2026-01-00T12:00:00Z',
  '2026-02-29T12:00:00Z',
  '2100-02-29T12:00:00Z',
  '1899-12-31T12:00:00Z',
  '2286-01-01T12:00:00Z',
])('%s is left to PostgreSQL', (text) => {
  expect(microsecondsOf(text)).toBeUndefined();
});

it('is the time that Date has, to the millisecond', () => {
  const dates = fc.date({
    min: new Date('1900-01-01'),
    max: new Date('2285-01-01'),
    noInvalidDate: true,
  });
  fc.assert(
    fc.property(dates, (date) => {
      expect(microsecondsOf(date.toISOString())).toBe((date.getTime() - EPOCH_MS) * 1000);
    }),
  );
});
