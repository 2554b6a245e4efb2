import * as fc from 'fast-check';
import { jsonTexts } from '../../../test/support/json-texts.js';
import { MAX_DEPTH, skipSpace, skipValue, TooDeep } from './json-grammar.js';
import { elementSpans, memberSpans, type TextRange, textsIn } from './json-text.js';

const nested = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels);

const slices = (text: string, spans: Iterable<TextRange>): string[] =>
  Array.from(spans, ([start, end]) => text.slice(start, end));

/** Rebuilds the value at `at` from its spans. */
function rebuilt(text: string, at: number): unknown {
  const start = skipSpace(text, at);
  if (text[start] === '[') return elementSpans(text, at).map(([item]) => rebuilt(text, item));
  if (text[start] !== '{') return JSON.parse(text.slice(start, skipValue(text, at)));
  const entries = Array.from(memberSpans(text, at), ([key, [item]]) => [key, rebuilt(text, item)]);
  return Object.fromEntries(entries);
}

describe('spans', () => {
  it('rebuild what JSON.parse builds', () => {
    fc.assert(
      fc.property(jsonTexts, (text) => {
        expect(JSON.stringify(rebuilt(text, 0))).toBe(JSON.stringify(JSON.parse(text)));
      }),
      { numRuns: 1000 },
    );
  });

  it('hold a value without the white space around it', () => {
    fc.assert(
      fc.property(fc.array(jsonTexts), (items) => {
        const text = ` [${items.join(',')}] `;
        expect(slices(text, elementSpans(text, 0))).toEqual(items.map((item) => item.trim()));
        expect(skipValue(text, 0)).toBe(text.length - 1);
      }),
    );
  });

  it('carry the last of equal keys, decoded, in the place of the first', () => {
    const text = '{"a":1,"b" : 2 ,"\\u0061":3, "__proto__":{}, "\\"\\\\":5}';
    const spans = memberSpans(text, 0);
    expect([...spans.keys()]).toEqual(['a', 'b', '__proto__', '"\\']);
    expect(slices(text, spans.values())).toEqual(['3', '2', '{}', '5']);
  });

  it.each(['\\\\', '\\"', '\\\\\\"', 'x\\\\\\\\', ' '.repeat(99), `${'\\"'.repeat(99)}\\\\`])(
    'end at the closing quote of "%s", wherever it lies',
    (body) => {
      for (let length = 0; length < 70; length++) {
        const value = `"${'x'.repeat(length)}${body}"`;
        expect(slices(`[${value},"]"]`, elementSpans(`[${value},"]"]`, 0))).toEqual([value, '"]"']);
      }
    },
  );

  it('come to an end on text that is no JSON', () => {
    fc.assert(
      fc.property(jsonTexts, fc.nat(), fc.nat(), (whole, from, to) => {
        const text = whole.slice(from % (whole.length + 1), to % (whole.length + 1));
        expect(skipValue(text, 0)).toBeLessThanOrEqual(text.length + 1);
        expect(elementSpans(text, 0).length).toBeLessThanOrEqual(text.length);
      }),
    );
  });
});

describe('textsIn', () => {
  const shape = { list: [{ inner: { a: true, b: true } }], whole: true } as const;

  it('finds what the members of a parsed copy spell', () => {
    fc.assert(
      fc.property(jsonTexts, jsonTexts, jsonTexts, (a, b, other) => {
        const item = `{"x":${other},"inner" : {"a":${other},"a":${a} , "b":${b}}}`;
        const text = ` {"list": [${item},${other} , ${item}], "y":${other},"whole":${item}} `;
        const found = textsIn(text, shape)!;
        const inner = { a: a.trim(), b: b.trim() };
        expect(found.whole).toBe(item);
        expect(found.list).toHaveLength(3);
        expect([found.list![0], found.list![2]]).toEqual([{ inner }, { inner }]);
      }),
    );
  });

  it('finds nothing in what is no such container, and forgets what an equal key held before', () => {
    expect(textsIn('[1]', shape)).toBeUndefined();
    expect(textsIn('{"list":{"inner":1}}', shape)).toEqual({});
    expect(textsIn('{"list":[1,[2],{"inner":[]},{}]}', shape)!.list).toEqual([
      undefined,
      undefined,
      {},
      {},
    ]);
    expect(textsIn('{"list":[{"inner":{"a":1}}],"list":7}', shape)).toEqual({});
    expect(textsIn('{"\\u0077hole":1}', shape)).toEqual({ whole: '1' });
  });

  it('judges the depth of each element by itself', () => {
    const deep = `{"inner":{"a":${nested(MAX_DEPTH)}}}`;
    const good = `{"inner":{"a":${nested(MAX_DEPTH - 2)}}}`;
    const { list } = textsIn(`{"list":[${good},${deep},${good}]}`, shape)!;
    expect(list![1]).toBeInstanceOf(TooDeep);
    for (const found of [list![0], list![2]])
      expect(found).toEqual({ inner: { a: nested(MAX_DEPTH - 2) } });
    expect(() => textsIn(`{"whole":${nested(MAX_DEPTH)}}`, shape)).toThrow(TooDeep);
  });
});

describe('depth', () => {
  it(`is allowed to ${MAX_DEPTH} levels`, () => {
    expect(skipValue(nested(MAX_DEPTH), 0)).toBe(2 * MAX_DEPTH);
    expect(elementSpans(nested(MAX_DEPTH), 0)).toEqual([[1, 2 * MAX_DEPTH - 1]]);
    expect(memberSpans(`{"a":${nested(MAX_DEPTH - 1)}}`, 0).size).toBe(1);
  });

  it.each([MAX_DEPTH + 1, 1_000_000])('of %i levels is refused', (levels) => {
    expect(() => skipValue(nested(levels), 0)).toThrow(TooDeep);
    expect(() => elementSpans(nested(levels), 0)).toThrow(TooDeep);
    expect(() => memberSpans(`{"a":${nested(levels - 1)}}`, 0)).toThrow(TooDeep);
  });

  it('counts nesting, not brackets', () => {
    const wide = `[${Array.from({ length: 2 * MAX_DEPTH }, () => '{"[[":[]}').join()}]`;
    expect(skipValue(wide, 0)).toBe(wide.length);
  });
});
