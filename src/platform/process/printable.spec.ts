import { printable, printableLines } from './printable.js';

it.each([
  ['\u001b[2J\r\u0007', '\\u{1b}[2J\\u{d}\\u{7}'],
  ['\u009b31m\u007f', '\\u{9b}31m\\u{7f}'],
  ['a\nb\tc', 'a\\u{a}b\\u{9}c'],
  ['\u202enimda\u2066\u200e', '\\u{202e}nimda\\u{2066}\\u{200e}'],
  ['ad\u200bmin\ufeff\u00ad\u{e0041}', 'ad\\u{200b}min\\u{feff}\\u{ad}\\u{e0041}'],
  ['\u2028\u2029\ud800', '\\u{2028}\\u{2029}\\u{d800}'],
])('shows what %j hides', (text, shown) => {
  expect(printable(text)).toBe(shown);
});

it('leaves other text as it is, and the ends of lines where they are ours', () => {
  const text = 'Zoë Ω 李 🎈 \\u{1b}';
  expect(printable(text)).toBe(text);
  expect(printableLines('one\ntwo\u001b')).toBe('one\ntwo\\u{1b}');
});
