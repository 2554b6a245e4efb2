import { criticalPath, visibleRows, type TreeSpan, makeTree } from './tree.ts';

const span = (
  id: string,
  parentId: string | null,
  start = 0,
  end: number | null = start + 1,
): TreeSpan => ({
  id,
  parentId,
  name: id,
  start,
  end,
});
const shape = (calls: TreeSpan[]) => {
  const { spans, depth } = makeTree(calls, 100);
  return spans.map(({ id }, n) => '.'.repeat(depth[n]!) + id);
};

it('puts children below their parents, by their start', () => {
  expect(
    shape([span('c', 'a', 5), span('b', 'a', 1), span('d', 'b', 2), span('a', null, 0)]),
  ).toEqual(['a', '.b', '..d', '.c']);
});

it('shows calls without their parent, and calls in circles', () => {
  expect(
    shape([span('a', 'gone'), span('b', 'c', 1), span('c', 'b', 2), span('d', 'd', 3)]),
  ).toEqual(['a', 'd', 'b', '.c']);
});

it('takes 50,000 calls below each other', () => {
  const calls = Array.from({ length: 50_000 }, (_, n) =>
    span(`c${n}`, n === 0 ? null : `c${n - 1}`, n, 50_000),
  );
  const tree = makeTree(calls, 0);
  expect([tree.spans.length, tree.depth[49_999], tree.behind[0]]).toEqual([50_000, 49_999, 50_000]);
  expect(criticalPath(tree).size).toBe(50_000);
});

it('passes over what is closed', () => {
  const tree = makeTree(
    [span('a', null), span('b', 'a', 1), span('c', 'b', 2), span('d', null, 3)],
    0,
  );
  expect(visibleRows(tree, new Set())).toEqual([0, 1, 2, 3]);
  expect(visibleRows(tree, new Set(['a']))).toEqual([0, 3]);
});

it('finds what the whole waited for', () => {
  const tree = makeTree(
    [
      span('root', null, 0, 100),
      span('first', 'root', 0, 40),
      span('beside', 'root', 10, 30),
      span('last', 'root', 45, 95),
      span('inner', 'last', 50, 90),
      span('short', 'last', 50, 60),
    ],
    0,
  );
  expect([...criticalPath(tree)].toSorted()).toEqual(['first', 'inner', 'last', 'root']);
});

it('shows a call that runs until now', () => {
  const { from, to } = makeTree([span('a', null, 10, null)], 50);
  expect([from, to]).toEqual([10, 50]);
});
