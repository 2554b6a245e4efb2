import { wordDifferences } from './word-diff.js';

const marked = (a: string, b: string) =>
  wordDifferences(a, b)?.map((side) =>
    side.map(({ text, isOnlyHere }) => (isOnlyHere ? `[${text}]` : text)).join(''),
  );

describe('words', () => {
  it.each([
    ['the red shoe', 'the blue shoe', 'the [red] shoe', 'the [blue] shoe'],
    ['a b c', 'a c', 'a [b ]c', 'a c'],
    ['in 3 days', 'in 30 days, or not', 'in [3] days', 'in [30] days[, or not]'],
    ['same', 'same', 'same', 'same'],
  ])('of %j and %j', (a, b, left, right) => expect(marked(a, b)).toEqual([left, right]));

  it('are not told where nothing is in common, or too much differs', () => {
    expect(wordDifferences('one', 'two')).toBeUndefined();
    expect(wordDifferences('a '.repeat(600), 'b '.repeat(600))).toBeUndefined();
  });
});
