import fc from 'fast-check';
import { jsonTexts } from '../../../test/support/json-texts.ts';
import { InvalidJson, type JsonIndex, jsonIndex } from './json-index.ts';

/** Composes the text again from the nodes of the index alone. */
function composed(index: JsonIndex, node = 0): string {
  const kind = index.kind(node);
  if (kind !== 'object' && kind !== 'array') return index.nodeText(node);
  const parts = [...index.children(node)].map((child) => {
    const key = index.nodeKey(child);
    return (key === undefined ? '' : `${key}:`) + composed(index, child);
  });
  return kind === 'object' ? `{${parts.join(',')}}` : `[${parts.join(',')}]`;
}

it('describes every document, whatever blanks it has', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.constantFrom(0, 1, '\t'), (value, indent) => {
      const text = JSON.stringify(value, null, indent);
      const index = jsonIndex(text);
      expect(composed(index)).toBe(JSON.stringify(value));
      expect(index.nodeText(0)).toBe(text);
    }),
  );
});

it('describes every spelling of a document', () => {
  fc.assert(
    fc.property(jsonTexts, (text) => {
      const whole = composed(jsonIndex(text));
      expect(JSON.parse(whole)).toEqual(JSON.parse(text));
      expect(composed(jsonIndex(whole))).toBe(whole);
    }),
    { numRuns: 1000 },
  );
});

it('keeps what a parser would lose', () => {
  const text = '{"a":1.0,"a":12345678901234567890,"\\u0061":-0,"b":[1e400,"\\ud800","\\/"]}';
  const index = jsonIndex(text);
  expect(composed(index)).toBe(text);
  expect(index.nodeText(index.member(0, 'a')!)).toBe('12345678901234567890');
  expect([...index.children(0)].map((child) => index.nodeKey(child))).toEqual([
    '"a"',
    '"a"',
    '"\\u0061"',
    '"b"',
  ]);
});

it.each([
  '',
  '{',
  '[1',
  '[1,]',
  '{"a"}',
  '{"a":}',
  '{a:1}',
  '[1 2]',
  '"a',
  '"a\\"',
  '01',
  'nul',
  '[]]',
  '{]',
  '[}',
  '1,',
  '{"a" 1}',
  '"a" "b"',
  '[1,\f2]',
  '\u00001',
])('refuses %j', (text) => expect(() => jsonIndex(text)).toThrow(InvalidJson));

it('says where it is none', () => {
  expect(() => jsonIndex('{"a": [1, x]}')).toThrow('not JSON at character 10: "x]}"');
  for (const text of ['["a', '["a\\"', '{"a', '[1,', ' '])
    expect(() => jsonIndex(text)).toThrow('the JSON ends too early');
});

it('takes any depth and any length', () => {
  const deep = jsonIndex('['.repeat(100_000) + ']'.repeat(100_000));
  expect([deep.nodes.count, deep.nodes.depth[99_999]]).toEqual([100_000, 99_999]);
  const slashes = jsonIndex(`"${'\\\\'.repeat(1_000_000)}"`);
  expect(slashes.nodes.count).toBe(1);
  const quotes = jsonIndex(`"${'\\"'.repeat(1_000_000)}"`);
  expect(quotes.nodeLength(0)).toBe(2_000_002);
});
