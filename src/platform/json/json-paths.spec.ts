import * as fc from 'fast-check';
import { jsonTexts } from '../../../test/support/json-texts.js';
import { type PathStep, textsAt } from './json-paths.js';

const CASES: [name: string, text: string, path: PathStep[], found: string | undefined][] = [
  ['the whole', ' {"a":1} ', [], '{"a":1}'],
  ['a member', '{"a": {"b" : [1, 2]}}', ['a', 'b'], '[1, 2]'],
  ['an element', '[[1],[2,[3]]]', [1, 1, 0], '3'],
  ['a key with an escape', '{"\\u0061":1}', ['a'], '1'],
  ['a key that looks like a number', '{"0":1}', ['0'], '1'],
  ['an element by a name', '[1]', ['0'], undefined],
  ['a member by a number', '{"0":1}', [0], undefined],
  ['behind the last element', '[1]', [1], undefined],
  ['into a scalar', '{"a":"b"}', ['a', 'b'], undefined],
  ['the last of repeated keys', '{"a":{"b":1},"a":{"b":2}}', ['a', 'b'], '2'],
  ['what only the first of repeated keys has', '{"a":{"b":1},"a":{}}', ['a', 'b'], undefined],
  [
    'below a repeated key inside a repeated key',
    '{"a":{"b":{"c":1}},"a":{"b":{}}}',
    ['a', 'b', 'c'],
    undefined,
  ],
  ['an own name of objects', '{}', ['__proto__'], undefined],
];

it.each(CASES)('%s', (_, text, path, found) => {
  expect(textsAt(text, [path])).toEqual([found]);
  // several paths in one pass
  expect(textsAt(text, [['x'], path, [9], path])).toEqual([undefined, found, undefined, found]);
});

const plain = JSON.stringify({
  list: [{ a: [1, { b: 'x' }] }, null, 'text'],
  map: { 'é"': { deep: [[[true]]] }, '': 0 },
});

it('finds what JSON.parse finds, for all paths at once', () => {
  fc.assert(
    fc.property(jsonTexts, (text) => {
      const value: unknown = JSON.parse(text);
      const paths: PathStep[][] = [];
      const collect = (inside: unknown, path: PathStep[]) => {
        paths.push(path);
        if (Array.isArray(inside)) inside.forEach((item, i) => collect(item, [...path, i]));
        else if (inside && typeof inside === 'object')
          for (const [name, item] of Object.entries(inside)) collect(item, [...path, name]);
      };
      collect(value, []);
      const at = (path: PathStep[]) => path.reduce<any>((inside, step) => inside[step], value);
      expect(textsAt(text, paths).map((found) => JSON.parse(found!))).toEqual(paths.map(at));
    }),
    { numRuns: 300, examples: [[plain], [JSON.stringify(JSON.parse(plain), null, 2)]] },
  );
});

/** Counts reads of characters, which measure the work without a clock. */
it('reads a text once, however many steps a path has', () => {
  const path = Array<PathStep>(400).fill('a');
  const text = `${'{"a":'.repeat(400)}[${' '.repeat(1000)}1]${'}'.repeat(400)}`;
  const read = jest.spyOn(String.prototype, 'charCodeAt');
  const found = textsAt(text, [path, path.slice(1), [...path, 0]]);
  const reads = read.mock.calls.length;
  read.mockRestore();
  expect(found.map((value) => value?.length)).toEqual([1003, 1003 + 6, 1]);
  expect(reads).toBeLessThan(4 * text.length);
});

it('takes no memory for steps that no value has', () => {
  const paths = Array.from({ length: 1000 }, (_, i) => [i, ...Array<PathStep>(600).fill('a')]);
  const kept = jest.spyOn(Map.prototype, 'set');
  const found = textsAt('[{"a":1}]', [...paths, [0, 'a']]);
  const places = kept.mock.calls.length;
  kept.mockRestore();
  expect(found).toEqual([...paths.map(() => undefined), '1']);
  expect(places).toBeLessThan(1100);
});
