import * as fc from 'fast-check';
import { cutDocument, cutGrams, gramsOf } from './grams.js';
import { callsWith, encodeSegment, bitsFor, mergeParts, partOf } from './text-segment.js';

const word = fc.stringMatching(/^[a-dA-D0-2 .]{0,12}$/);
const texts = fc.oneof(word, fc.string({ unit: 'binary', maxLength: 12 }));
const call = fc.record({ names: texts, documents: fc.json({ maxDepth: 2 }) });

const allGrams = ({ names, documents }: { names: string; documents: string }) => {
  const grams = new Set<number>();
  cutGrams(names, (gram) => grams.add(gram));
  cutDocument(documents, (gram) => grams.add(gram));
  return grams;
};
const found = (segment: ReturnType<typeof encodeSegment>, grams: number[]) =>
  Array.from(
    callsWith(grams, segment.bits, new Map(segment.parts.map(({ part, bytes }) => [part, bytes]))),
  );

it('has all grams of each part of a text, in any case of its letters', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.nat(), fc.nat(), (text, a, b) => {
      const [from, to] = [a % (text.length + 1), b % (text.length + 1)].toSorted((x, y) => x - y);
      const part = text.slice(from, to);
      const grams = new Set(gramsOf(text));
      const others = [part, part.toUpperCase(), part.toLowerCase()]
        .filter((letters) => letters.length === part.length)
        .flatMap(gramsOf)
        .filter((gram) => !grams.has(gram));
      expect(others).toEqual([]);
    }),
  );
});

it.each([
  ['ab', 0],
  ['!?"', 0],
  ['\ud83d', 0],
  ['abc', 1],
  ['a b c d', 2],
  ['ab cd', 1],
  ['好', 1],
  ['你好', 3],
  ['🙂', 1],
])('cuts %j into grams', (text, count) => {
  expect(gramsOf(text)).toHaveLength(count);
});

it('finds exactly the calls that have all grams, also when segments are merged and calls dropped', () => {
  fc.assert(
    fc.property(
      fc.array(fc.array(call, { maxLength: 20 }), { minLength: 1, maxLength: 4 }),
      fc.array(texts, { minLength: 1, maxLength: 5 }),
      fc.func(fc.boolean()),
      (groups, needles, isKept) => {
        const segments = groups.map(encodeSegment);
        const kept = groups.flat().filter((_, i) => isKept(i));
        let [at, next] = [0, 0];
        const numbers = groups.map((group) =>
          Int32Array.from(group, () => (isKept(at++) ? next++ : -1)),
        );
        const bits = bitsFor(segments.flatMap(({ parts }) => parts).length * 100 + 1);
        const sources = segments.map(({ parts }, i) => ({
          parts: parts.map(({ bytes }) => bytes),
          numbers: numbers[i]!,
        }));
        const merged = { bits, parts: mergeParts(sources, bits) };
        for (const needle of needles) {
          const grams = gramsOf(needle);
          if (grams.length === 0) continue;
          const has = (one: (typeof kept)[number]) => {
            const own = allGrams(one);
            return grams.every((gram) => own.has(gram));
          };
          const placesIn = (calls: typeof kept) => calls.flatMap((one, i) => (has(one) ? [i] : []));
          groups.forEach((group, i) => expect(found(segments[i]!, grams)).toEqual(placesIn(group)));
          expect(found(merged, grams)).toEqual(placesIn(kept));
        }
      },
    ),
  );
});

it('stores frequent grams as bitmaps, and 65,536 calls in one segment', () => {
  const calls = Array.from({ length: 65_536 }, (_, i) => ({
    names: i % 3 === 0 ? 'frequent' : '',
    documents: i === 65_535 ? '"rarely"' : '""',
  }));
  const segment = encodeSegment(calls);
  expect(found(segment, gramsOf('frequent'))).toHaveLength(Math.ceil(65_536 / 3));
  expect(found(segment, gramsOf('rarely'))).toEqual([65_535]);
  expect(found(segment, gramsOf('rarelyfrequent'))).toEqual([]);
  const [part] = segment.parts.filter(({ part: number }) =>
    gramsOf('frequent').some((gram) => partOf(gram, segment.bits) === number),
  );
  expect(part!.bytes.length).toBeLessThan(65_536 / 8 + 100);
});
