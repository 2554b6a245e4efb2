import { cutToSay, decodedToSay } from './said-text.ts';

it.each([
  ['say hi', ['HI'], 'say hi'],
  [String.raw`{"a":"\u4f60"}`, ['你'], '{"a":"你"}'],
  [String.raw`{"a":"{\"b\":\"\\u4f60 \\\"x\\\"\"}"}`, ['你', '"x"'], '{"a":"{"b":"你 "x""}"}'],
  [String.raw`a\nb`, ['c'], String.raw`a\nb`],
  [String.raw`{"a":"\/\n\q"}`, ['/'], String.raw`{"a":"\/\n\q"}`],
])('decodes %s until it says %j', (text, sought, decoded) =>
  expect(decodedToSay(text, sought)).toBe(decoded),
);

it.each([
  ['abcdef', undefined, 'abc'],
  ['abcdef', 'C', 'abc'],
  [`${'x'.repeat(50)}yz`, 'y', `…${'x'.repeat(3)}`],
  ['abcdef', 'no', 'abc'],
])('cuts %s to say %s', (text, sought, cut) => expect(cutToSay(text, sought, 3)).toBe(cut));
