import { chunkOf, chunkTexts, chunkTrials, keptTrial } from './kept-chunks.js';

const record = (id: string, scores: string, late = 'null') =>
  keptTrial(`["${id}", "d\\"1", 1.5, ${scores}, ${late}, 0.25, null, null]`);

describe('kept trials', () => {
  it('come out of a chunk as they went in', () => {
    const trials = [
      record('a', '{"s" : {"x": [1, {"y": "z"}]}}'),
      record('b', 'null', '{"tone":12345678901234567890}'),
      record('\\u0061\\n', '{}'),
    ];
    const found = chunkTrials(chunkTexts(trials)!);
    expect([...found.keys()]).toEqual(['a', 'b', 'a\n']);
    expect([...found.values()]).toEqual(trials);
    expect(chunkTrials(chunkTexts([])!)).toEqual(new Map());
  });

  it('tell of texts that they are there, and keep numbers as they will be read', () => {
    const scores =
      '{"a":"long","b":{"c":1e999,"d":-1e999,"e":0.1},"f":[1,"x"],"g":null,"__proto__":true}';
    expect(record('a', scores).scores).toBe(
      '{"a":"","b":{"c":1e999,"d":-1e999,"e":0.1},"__proto__":true}',
    );
    const nested = (levels: number) => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`;
    expect(record('a', nested(70)).scores).toBe(nested(70));
    expect(record('a', nested(5000)).scores).toBe('null');
  });

  it('leave large texts of scores out', () => {
    const large = record('a', `{"s":"${'x'.repeat(9_000_000)}"}`);
    const texts = chunkTexts([large])!;
    expect(texts.full_scores).toBeNull();
    expect(texts.scores).toBe('[[{"s":""}],[null]]');
    expect(chunkTrials(texts).get('a')!.fullScores).toBe('null');
  });

  it('are no chunk when their numbers are too large to be read at once', () => {
    const members = Array.from({ length: 5000 }, (_, i) => `"${i}":1`);
    const large = record('a', `{${members.join(',')}}`);
    expect(chunkTexts(Array.from({ length: 200 }, () => large))).toBeNull();
  });

  it('spread over chunks evenly', () => {
    const counts = Array.from({ length: 10 }, () => 0);
    for (let i = 0; i < 10_000; i++) counts[chunkOf(`018f-${i}`, 10)]!++;
    expect(Math.min(...counts)).toBeGreaterThan(500);
  });
});
