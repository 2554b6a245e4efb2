import { makeCharts, listSplits } from './metrics.ts';

const ROWS = [
  { at: 0, metrics: { 'eval/reward': 0.1, 'eval/num_trajectories': 4 } },
  { at: 2, metrics: { 'eval/reward': 0.4, reward: 0.3, loss: 1, 'grad/norm': 7, ok: true } },
];

it('draws the splits of a metric in one chart, and what the trainer says beside them', () => {
  expect(listSplits(ROWS)).toEqual(['eval']);
  expect(makeCharts(ROWS)).toEqual([
    {
      title: 'reward',
      series: [
        { label: 'trainer', values: [null, 0.3] },
        { label: 'eval', values: [0.1, 0.4] },
      ],
    },
    { title: 'loss', series: [{ label: 'trainer', values: [null, 1] }] },
    { title: 'grad/norm', series: [{ label: 'trainer', values: [null, 7] }] },
    { title: 'num_trajectories', series: [{ label: 'eval', values: [4, null] }] },
  ]);
});

it('takes a name like any other for what it is', () => {
  const metrics = JSON.parse('{"__proto__":1,"constructor":2}') as Record<string, number>;
  expect(makeCharts([{ at: 1, metrics }]).map(({ title }) => title)).toEqual([
    '__proto__',
    'constructor',
  ]);
});
