import { JsonRowWriter } from './json-row-writer.js';

/** What a row of one time becomes. */
function answered(time: string): string {
  const writer = new JsonRowWriter([{ name: 'at', kind: 'time' }], 'lines');
  const value = Buffer.from(time);
  const row = Buffer.alloc(6 + value.length);
  row.writeInt16BE(1, 0);
  row.writeInt32BE(value.length, 2);
  value.copy(row, 6);
  writer.add(row, 0, row.length);
  return writer.take().toString();
}

describe('JsonRowWriter', () => {
  it.each([
    ['2026-01-31 12:00:00+00', '2026-01-31T12:00:00.000000Z'],
    ['2026-01-31 12:00:00.5+00', '2026-01-31T12:00:00.500000Z'],
    ['0001-01-01 00:00:00.123456+00', '0001-01-01T00:00:00.123456Z'],
  ])('writes the time %s in the form of the wire', (time, wire) => {
    expect(answered(time)).toBe(`{"at":"${wire}"}\n`);
  });

  it.each([
    '2026-01-31 17:30:00+05:30',
    '2026-01-31 13:00:00+01',
    '31/01/2026 12:00:00 UTC',
    'Sat Jan 31 12:00:00 2026 UTC',
    '10000-01-01 00:00:00+00',
    '0044-03-15 12:00:00+00 BC',
    'infinity',
  ])('refuses the time %s, which is not spelled as in UTC', (time) => {
    expect(() => answered(time)).toThrow('not a time in UTC');
  });
});
