import { jsonIndex } from './json-index.ts';
import { rowsBelow } from './tree-rows.ts';

it('shows two levels, and what is opened', () => {
  const index = jsonIndex('{"a":{"b":{"c":1}},"d":[1,2]}');
  const shown = (toggled: number[]) =>
    rowsBelow(index, 0, new Set(toggled)).map(
      (node) => index.nodeKey(node) ?? index.nodeText(node).slice(0, 1),
    );
  expect(shown([])).toEqual(['{', '"a"', '"b"', '"d"', '1', '2']);
  expect(shown([2])).toEqual(['{', '"a"', '"b"', '"c"', '"d"', '1', '2']);
  expect(shown([1])).toEqual(['{', '"a"', '"d"', '1', '2']);
  expect(shown([0])).toEqual(['{']);
});

it('does not open what is large', () => {
  const index = jsonIndex(`[${'1,'.repeat(100)}1]`);
  expect(rowsBelow(index, 0, new Set())).toEqual([0]);
});
