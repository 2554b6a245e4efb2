import { stripPythonMembers, parsedText } from './history-messages.js';

const DEEP = 2000;
const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels);

describe('what weave adds to objects', () => {
  it.each([
    ['{"_class_name":"C","a":1}', '{"a":1}'],
    ['{"a":1, "_bases":[] , "_type":"T"}', '{"a":1}'],
    ['{"_type":"T","_bases":[]}', '{}'],
    ['{"_type":"T", "a":1}', '{"_type":"T", "a":1}'],
    [
      '[{"_bases":[{"_bases":0,"x":1}],"b":"}"},{"a":[{"_bases":[],"c":2.0}]}]',
      '[{"b":"}"},{"a":[{"c":2.0}]}]',
    ],
    ['{"a":"\\"_bases\\":[]",\n"_bases":[]}', '{"a":"\\"_bases\\":[]"}'],
    ['"_bases"', '"_bases"'],
  ])('is taken out of %s', (json, text) => {
    expect(stripPythonMembers(json)).toBe(text);
  });
});

describe('a text inside a document', () => {
  it.each([['{'], [''], [nested(DEEP)], [`[${'[],'.repeat(100_000)}[]]`]])(
    'is no JSON when it is broken, nested too deep or too heavy (%#)',
    (json) => {
      expect(parsedText(json)).toBeUndefined();
    },
  );
});
