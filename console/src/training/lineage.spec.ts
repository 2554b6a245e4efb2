import { makeChain, type Edge } from './lineage.ts';

it('tells the calls that were trained on from those that a checkpoint made', () => {
  const checkpoint = { type: 'checkpoint', model_id: 'm', model: 'tiny', step: 1 } as const;
  const edges: Edge[] = [
    { from: { type: 'build', id: 'b' }, to: { type: 'job', id: 'j' } },
    { from: { type: 'job', id: 'j' }, to: checkpoint },
    { from: { type: 'call', id: 'in' }, to: { type: 'build', id: 'b' } },
    { from: { type: 'feedback', id: 'f' }, to: { type: 'build', id: 'b' } },
    { from: checkpoint, to: { type: 'call', id: 'out' } },
  ];
  expect(makeChain(edges)).toEqual({
    calls: ['in'],
    feedback: ['f'],
    builds: ['b'],
    jobs: ['j'],
    checkpoints: [checkpoint],
    made: ['out'],
  });
});
