import * as fc from 'fast-check';
import { jsonTexts } from '../../../test/support/json-texts.js';
import { JsonScanner, NotJson } from './json-scanner.js';

/** Writes the bytes in chunks, whose lengths repeat `lengths`. */
function scan(text: string, lengths: number[] = [Infinity], watch = 0) {
  const bytes = Buffer.from(text);
  const seen: string[] = [];
  let before = 0;
  let start = 0;
  const scanner = new JsonScanner({
    valueStart: (at) => (start = before + at),
    valueEnd: (end) => seen.push(bytes.toString('utf8', start, before + end)),
    key: (key) => seen.push(`${key}:`),
  });
  scanner.watch = watch;
  for (let i = 0; before < bytes.length; i++) {
    const chunk = bytes.subarray(before, before + lengths[i % lengths.length]!);
    scanner.write(chunk);
    before += chunk.length;
  }
  scanner.end();
  return seen;
}

const isJson = (text: string, read: (text: string) => unknown) => {
  try {
    read(text);
    return true;
  } catch {
    return false;
  }
};
const lengths = fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1, maxLength: 5 });

describe('JsonScanner', () => {
  it('accepts every JSON text, in pieces of any length, and finds the value in it', () => {
    fc.assert(
      fc.property(jsonTexts, lengths, (text, pieces) => {
        expect(scan(text, pieces)).toEqual([text.replaceAll(/^[ \t\n\r]+|[ \t\n\r]+$/g, '')]);
      }),
      { numRuns: 1000 },
    );
  });

  it('refuses what JSON.parse refuses', () => {
    const damaged = fc
      .tuple(jsonTexts, fc.nat(), fc.constantFrom('', ...Array.from('{}[]",:\\0e.-+tu\u0001 \n')))
      .map(
        ([text, at, put]) =>
          text.slice(0, at % text.length) + put + text.slice((at % text.length) + 1),
      );
    fc.assert(
      fc.property(damaged, lengths, (text, pieces) => {
        expect(isJson(text, (t) => scan(t, pieces))).toBe(isJson(text, JSON.parse));
      }),
      { numRuns: 3000 },
    );
  });

  it.each([
    '',
    ' ',
    'NaN',
    '[NaN]',
    '-',
    '01',
    '1.',
    '.5',
    '1e',
    '"\n"',
    '"\\x"',
    '[1,]',
    '{,}',
    '{"a":1,}',
  ])('refuses %j', (text) => expect(() => scan(text)).toThrow(NotJson));
  it.each([
    '[1] 2',
    '[}',
    '{]',
    ']',
    '1,2',
    'tru',
    'nulll',
    '{"a"}',
    '{1:2}',
    '[1',
    '"a',
    '"\\ud83',
  ])('refuses %j', (text) => expect(() => scan(text, [1])).toThrow(NotJson));

  it('says at which byte', () => {
    expect(() => scan('{"é": [1, x]}', [3])).toThrow(new NotJson(11));
  });

  it('decodes keys however they are spelled and cut', () => {
    const text = '{"a":1,"\\u006dodel_id":"x","":[2],"a\\"b":3}';
    for (const pieces of [[1], [2, 3], [100]])
      expect(scan(text, pieces, 1)).toEqual([
        ...['a:', '1', 'model_id:', '"x"', ':', '[2]', 'a"b:', '3', '3}'],
      ]);
  });

  it('reports a key that is too long to be known as empty', () => {
    expect(scan(`{"${'k'.repeat(300)}":1}`, [50], 1)[0]).toBe(':');
  });

  it('stops at 1000 levels', () => {
    expect(() => scan('['.repeat(1000) + ']'.repeat(1000))).not.toThrow();
    expect(() => scan('['.repeat(1001))).toThrow('deeper than 1000 levels');
  });
});
