import { parseDate, IsDateTime, IsId, IsProjectId, IsText } from './dto.js';
import { validate } from './validation.js';

class Field {
  @IsId() id!: string;
  @IsText(5) text!: string;
  @IsDateTime() time!: string;
  @IsProjectId() project!: string;
}
const good = { id: 'x', text: '', time: '2026-01-31', project: 'a/b' };
const isGood = (field: object) => validate(Field, { ...good, ...field }).violations.length === 0;

it.each([
  '2026-01-31',
  '2026-01-31T12:00',
  '2026-01-31 12:00:00.5',
  '2026-01-31t12:00:00z',
  '2024-02-29T23:59:59.123456Z',
  '2026-01-31T12:00:00+05:30',
  '2026-01-31T12:00:00-0800',
  '2026-01-31T12:00:00.5+01',
  '0001-01-01',
  '9999-12-31T23:59:59.999999Z',
])('takes the time %s', (time) => expect(isGood({ time })).toBe(true));

it.each([
  '',
  'now',
  '2024-W01',
  '20260131',
  '2026-1-31',
  '2026-13-01',
  '2026-00-01',
  '2026-02-29',
  '2026-04-31',
  '2026-01-31T24:00',
  '2026-01-31T12:60',
  '2026-01-31T12:00:60',
  '0000-01-01',
  '2026-01-31T12:00+16:00',
  '2026-01-31T12:00:00.',
  ' 2026-01-31',
  '2026-01-31T12',
  '2026-01-31T12:00+15:00',
  '2026-01-31T12:00:00.1234567890',
  '0001-01-01T00:00:00+14:00',
  '9999-12-31T23:59:59-14:00',
  5,
  null,
])('refuses the time %j', (time) => expect(isGood({ time })).toBe(false));

it.each(['x', 'a b', 'ü', '👩‍👩‍👧', 'x'.repeat(256), '😀'.repeat(256), 'a/b:c'])(
  'takes the id %j',
  (id) => expect(isGood({ id })).toBe(true),
);
it.each(['', 'x'.repeat(257), 'a\nb', '\0', '\x7f', '\ud800', 5])('refuses the id %j', (id) =>
  expect(isGood({ id })).toBe(false),
);

it.each(['', '12345', '😀😀😀😀😀', 'a\nb'])('takes the text %j', (text) =>
  expect(isGood({ text })).toBe(true),
);
it.each(['123456', 'a\0', '\udc00', 5])('refuses the text %j', (text) =>
  expect(isGood({ text })).toBe(false),
);

it.each(['a/b', 'A-1_./x', `${'x'.repeat(128)}/y`])('takes the project %s', (project) =>
  expect(isGood({ project })).toBe(true),
);
it.each(['a', '/a', 'a/', 'a/b/c', 'a b/c', 'ü/b', `${'x'.repeat(129)}/y`, 'a/b\n'])(
  'refuses the project %j',
  (project) => expect(isGood({ project })).toBe(false),
);

it.each([
  ['2026-01-31', '2026-01-31T00:00:00.000Z'],
  ['2026-01-31T12:00', '2026-01-31T12:00:00.000Z'],
  ['2026-01-31t12:00:00.5z', '2026-01-31T12:00:00.500Z'],
  ['2026-01-31 12:00:00', '2026-01-31T12:00:00.000Z'],
  ['2026-01-31T12:00:00+05:30', '2026-01-31T06:30:00.000Z'],
  ['2026-01-31T12:00:00-0800', '2026-01-31T20:00:00.000Z'],
  ['2026-01-31T12:00:00+01', '2026-01-31T11:00:00.000Z'],
])('reads %s as %s', (text, iso) => expect(parseDate(text).toISOString()).toBe(iso));
