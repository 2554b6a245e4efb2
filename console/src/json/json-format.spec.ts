import { formatJson } from './json-format.ts';
import { jsonIndex } from './json-index.ts';

it('lays out a value, and keeps names and scalars to the letter', () => {
  const text =
    '{"b":1.0,"b":12345678901234567890,"list":[1,[2,{"\\u0061":"x"}],{}],"short":{"n":1e2}}';
  expect(formatJson(jsonIndex(text))).toBe(`{
  "b": 1.0,
  "b": 12345678901234567890,
  "list": [
    1,
    [
      2,
      { "\\u0061": "x" }
    ],
    {}
  ],
  "short": { "n": 1e2 }
}`);
});

it('lays out a part, and is not hung by depth', () => {
  const index = jsonIndex('{"a": [1,   2], "c": ""}');
  expect(formatJson(index, index.member(0, 'a'))).toBe('[1, 2]');
  const deep = '['.repeat(100_000) + ']'.repeat(100_000);
  const text = formatJson(jsonIndex(deep));
  expect(text.replaceAll(/\s/g, '')).toBe(deep);
  expect(text.length).toBeLessThan(20_000_000);
});
