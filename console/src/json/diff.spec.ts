import { diffJson } from './diff.ts';
import { jsonIndex } from './json-index.ts';

const told = (left: string, right: string) => {
  const [a, b] = [jsonIndex(left), jsonIndex(right)];
  return diffJson(a, 0, b, 0).map(
    ({ state, key, left: l, right: r }) =>
      `${state} ${key ?? ''} ${l === undefined ? '' : a.nodeText(l)}|${r === undefined ? '' : b.nodeText(r)}`,
  );
};

it('lines up members by name and items by place', () => {
  expect(told('{"a":1,"b":[1,2],"c":3}', '{"c":3,"b":[1,3,4],"d":5}')).toEqual([
    'within  {"a":1,"b":[1,2],"c":3}|{"c":3,"b":[1,3,4],"d":5}',
    'removed "a" 1|',
    'within "b" [1,2]|[1,3,4]',
    'same  1|1',
    'changed  2|3',
    'added  |4',
    'same "c" 3|3',
    'added "d" |5',
  ]);
});

it('tells 1 from 1.0, and equal names apart', () => {
  expect(told('{"a":1,"a":2}', '{"a":1.0,"a":2,"a":3}').slice(1)).toEqual([
    'changed "a" 1|1.0',
    'same "a" 2|2',
    'added "a" |3',
  ]);
});

it('ends, however deep the two are', () => {
  const deep = (n: number) => '['.repeat(n) + ']'.repeat(n);
  expect(diffJson(jsonIndex(deep(10_000)), 0, jsonIndex(deep(10_001)), 0)).toHaveLength(51);
});
