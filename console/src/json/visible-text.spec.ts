import { decoded, decodedStart, hasLines, shortLines, visible } from './visible-text.ts';

it('shows what hides', () => {
  expect(visible('a\u202Eb\u001B[31mc\u0000\u200Bd\te\nf')).toBe(
    'a‹U+202E›b‹U+001B›[31mc‹U+0000›‹U+200B›d\te\nf',
  );
});

it.each(['نمی\u200Cخواهم', 'क्\u200Dष', '👩\u200D💻', '🏳️\u200D🌈', '👩🏽\u200D🚀'])(
  'leaves the joiners of %s',
  (word) => expect(visible(word)).toBe(word),
);

it.each([
  ['a \u200Db', 'a ‹U+200D›b'],
  ['\u200D', '‹U+200D›'],
  ['a\u200D', 'a‹U+200D›'],
])('shows a joiner that joins nothing', (text, shown) => expect(visible(text)).toBe(shown));

it('reads JSON strings', () => {
  expect(decoded('"a\\n\\u00e9"')).toBe('a\né');
});

it.each([
  ['"a\\nb', 'a\nb'],
  ['"a\\', 'a'],
  ['"a\\\\', 'a\\'],
  ['"a\\\\\\', 'a\\'],
  ['"a\\u00', 'a'],
  ['"a\\u00e9', 'aé'],
])('reads the beginning %s', (json, text) => expect(decodedStart(json)).toBe(text));

it('knows line ends from backslashes', () => {
  expect(['"a\\nb"', '"C:\\\\new"', '"\\\\\\n"'].map(hasLines)).toEqual([true, false, true]);
});

it('breaks long lines', () => {
  expect(shortLines('abcdef\n\ngh', 4)).toEqual(['abcd', 'ef', '', 'gh']);
});
