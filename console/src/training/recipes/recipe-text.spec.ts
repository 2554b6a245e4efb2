import { jsonIndex } from '../../json/json-index.ts';
import {
  listJson,
  nodeAt,
  numberJson,
  shownValue,
  withoutValue,
  withValue,
} from './recipe-text.ts';

const RECIPE = `{
  "version": 1,
  "reward": {
    "sum": [
      { "feedback": "score", "path": "output.score", "weight": 1.0 }
    ]
  },
  "odd": 12345678901234567890
}`;

const shown = (text: string, path: string) => {
  const index = jsonIndex(text);
  return shownValue(index, nodeAt(index, path));
};

it('puts a value in the place of one, and leaves the others as they are written', () => {
  const text = withValue(RECIPE, 'reward.sum[0].feedback', '"thumb"');
  expect(text).toBe(RECIPE.replace('"score"', '"thumb"'));
});

it.each([
  ['reward.missing', '0', '"sum": ['],
  ['group.by', '["prompt"]', '"group": {'],
  ['reward.sum[1].path', '"x"', '{ "path": "x" }'],
  ['odd.inner', 'true', '"odd": { "inner": true }'],
  ['lint.zero_variance', '"warn"', '"lint": { "zero_variance": "warn" }'],
])('makes the place of %s', (path, value, seen) => {
  const text = withValue(RECIPE, path, value);
  expect(text).toContain(seen);
  const index = jsonIndex(text);
  expect(index.nodeText(nodeAt(index, path)!)).toBe(value);
});

it.each([
  ['version', ['reward', 'odd']],
  ['reward', ['version', 'odd']],
  ['odd', ['version', 'reward']],
])('takes %s away', (path, left) => {
  expect(Object.keys(JSON.parse(withoutValue(RECIPE, path)) as object)).toEqual(left);
});

it('takes away the only one there is, and nothing where there is none', () => {
  expect(withoutValue(RECIPE, 'reward.sum[0]')).toContain('"sum": []');
  expect(withoutValue(RECIPE, 'group.by')).toBe(RECIPE);
});

it('shows what is written, and keeps a number that is none for the service to refuse', () => {
  expect(shown(RECIPE, 'reward.sum[0].weight')).toBe('1.0');
  expect(shown(RECIPE, 'odd')).toBe('12345678901234567890');
  expect(shown('{"group":{"by":["a","prompt"]}}', 'group.by')).toBe('a\nprompt');
  expect(shown('{"a":null}', 'a')).toBe('');
  expect(shown('{}', 'a.b[0]')).toBe('');
  expect([numberJson('0.50'), numberJson('1.'), numberJson('skip')]).toEqual([
    '0.50',
    '"1."',
    '"skip"',
  ]);
  expect(listJson(' a \n\nprompt')).toBe('["a","prompt"]');
});
