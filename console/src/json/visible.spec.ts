import { decoded, shortLines, visible } from './visible.ts';

it('shows what hides', () => {
  expect(visible('a\u202Eb\u001B[31mc\u0000\u200Bd\te\nf')).toBe(
    'a‹U+202E›b‹U+001B›[31mc‹U+0000›‹U+200B›d\te\nf',
  );
});

it('reads JSON strings', () => {
  expect(decoded('"a\\n\\u00e9"')).toBe('a\né');
});

it('breaks long lines', () => {
  expect(shortLines('abcdef\n\ngh', 4)).toEqual(['abcd', 'ef', '', 'gh']);
});
