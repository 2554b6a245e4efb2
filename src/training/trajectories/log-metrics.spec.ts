import { LogMetrics } from './log-metrics.js';

const of = (...groups: [group: object, trajectories: object[]][]) => {
  const metrics = new LogMetrics();
  for (const [group, trajectories] of groups) metrics.add(group, trajectories);
  return metrics.of('val');
};

describe('LogMetrics', () => {
  it('computes an example as by hand', () => {
    const example = of(
      [
        { exceptions: [{ type: 'E' }], metrics: { judge: 4 } },
        [
          { reward: 1, metrics: { correct: true, turns: 2 } },
          { reward: 0, metrics: { correct: false } },
          { metrics: { turns: 5 } }, // the reward is 0 by default
        ],
      ],
      [{ metrics: { judge: 1 } }, [{ reward: 3, metrics: { correct: true } }]], // one trajectory has no deviation
      [{ exceptions: [{}, {}] }, []],
      [{}, [{ reward: -1 }, { reward: 1 }]],
    );
    expect(example).toEqual({
      'val/reward': (1 + 0 + 0 + 3 - 1 + 1) / 6,
      'val/reward_std_dev': (Math.sqrt(2 / 9) + 1) / 2,
      'val/exception_rate': 3 / 9,
      'val/correct': 2 / 3,
      'val/turns': 3.5,
      'val/group_judge': 2.5,
      'val/num_groups': 4,
      'val/num_trajectories': 6,
    });
  });

  it('leaves out NaN, which comes as null, and what has no value at all', () => {
    expect(
      of([
        { metrics: { bad: null } },
        [
          { reward: null, metrics: { x: null, y: 1 } },
          { reward: 2, metrics: { x: 4, y: Infinity } },
        ],
      ]),
    ).toEqual({
      'val/reward': 2,
      'val/reward_std_dev': 0,
      'val/exception_rate': 0,
      'val/x': 4,
      'val/y': 1,
      'val/num_groups': 1,
      'val/num_trajectories': 2,
    });
    expect(of([{}, []])).toEqual({ 'val/num_groups': 1, 'val/num_trajectories': 0 });
    expect(of()).toEqual({ 'val/num_groups': 0, 'val/num_trajectories': 0 });
  });

  it('lets no metric of a client pass for a computed one, nor a name break the row', () => {
    const metrics = JSON.parse('{"reward":9,"__proto__":1,"a\\u0000b":2,"\\ud800":3}');
    expect(of([{}, [{ reward: 1, metrics }]])).toEqual({
      'val/reward': 1,
      'val/exception_rate': 0,
      'val/__proto__': 1,
      'val/a\ufffdb': 2,
      'val/\ufffd': 3,
      'val/num_groups': 1,
      'val/num_trajectories': 1,
    });
  });
});
