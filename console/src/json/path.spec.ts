import { jsonIndex } from './json-index.ts';
import { nodeAt, pathsBelow } from './path.ts';

const index = jsonIndex(
  '{"inputs":{"q":"Why?","a.b":1.0},"output":{"choices":[{"text":"x"},{"text":"y"}],"0":true}}',
);
const at = (path: string) => {
  const node = nodeAt(index, 0, path);
  return node === undefined ? undefined : index.nodeText(node);
};

it('follows names, indexes and names in brackets', () => {
  expect(at('inputs.q')).toBe('"Why?"');
  expect(at('inputs.[a.b]')).toBe('1.0');
  expect(at('output.choices[1].text')).toBe('"y"');
  expect(at('output.choices.0.text')).toBe('"x"');
  expect(at('output.0')).toBe('true');
});

it('finds nothing where nothing is', () => {
  for (const path of ['inputs.no', 'inputs.q.more', 'output.choices[2]', 'output.choices.text'])
    expect(at(path)).toBeUndefined();
});

it('lists paths, each before those below it, and no more than asked', () => {
  expect(pathsBelow(index, 0, 'inputs', 10)).toEqual(['inputs', 'inputs.q']);
  expect(pathsBelow(index, 0, 'output', 3)).toEqual([
    'output',
    'output.choices',
    'output.choices[0]',
  ]);
  expect(pathsBelow(index, 0, 'summary', 3)).toEqual([]);
});
