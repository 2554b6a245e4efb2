import { outputDiff } from './output-diff.ts';

describe('words of two texts', () => {
  it('tells those that were added and removed from those that stayed', () => {
    expect(outputDiff('The answer is 4.', 'The answer is 5, I think.')).toEqual([
      { text: 'The answer is ', state: 'same' },
      { text: '4', state: 'removed' },
      { text: '5, I think', state: 'added' },
      { text: '.', state: 'same' },
    ]);
    expect(outputDiff('a b', 'a b')).toEqual([{ text: 'a b', state: 'same' }]);
  });

  it('shows two texts whole that have nothing in common', () => {
    const text = (letter: string) => Array.from({ length: 2000 }, (_, n) => letter + n).join(' ');
    const [before, after] = [text('a'), text('b')];
    expect(outputDiff(before, after)).toEqual([
      { text: before, state: 'removed' },
      { text: after, state: 'added' },
    ]);
  });
});
