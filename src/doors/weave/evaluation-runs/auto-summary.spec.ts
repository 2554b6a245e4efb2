import { AutoSummary, ScoreSummaries } from './auto-summary.js';

it('sums up as the SDKs do', () => {
  const summary = new AutoSummary();
  summary.add(null);
  summary.add({ right: true, deep: { n: 1, word: 'x', none: null } });
  summary.add({ right: false, deep: { n: 2 } });
  summary.add({ right: null });
  expect(summary.take()).toEqual({
    right: { true_count: 1, true_fraction: 0.5 },
    deep: { n: { mean: 1.5 } },
  });
  expect(new AutoSummary().take()).toBeNull();
});

it('counts trials without a score against booleans, and not against numbers', () => {
  const summaries = new ScoreSummaries();
  for (const scores of [{ right: true, n: 4 }, {}, { right: {}, n: null }, { right: null }])
    summaries.add(scores);
  expect(summaries.take()).toEqual({
    right: { true_count: 1, true_fraction: 1 / 3 },
    n: { mean: 4 },
  });
});
