// Bytes of heap that JSON.parse takes for each kind of value, beside the estimate of common/json-weight.ts, and what the
// estimate costs beside JSON.parse; then the same of texts of up to 32 MiB that stand at a limit. Prints Markdown.
//   npm run build && node --expose-gc --max-semi-space-size=32 --max-old-space-size=4096 bench/json-weight.mjs
import {
  MAX_CONTAINERS,
  MAX_SHAPES,
  MAX_SHORT_STRINGS,
  parsedBytes,
} from '../dist/src/common/json-weight.js';

const COUNT = 100_000;
const MIB = 2 ** 20;

const list = (element, length = COUNT) => `[${Array.from({ length }, (_, i) => element(i))}]`;
const call = (i) =>
  `{"mode":"start","req":{"start":{"project_id":"acme/demo","id":"call-${i}","trace_id":"trace-${i}","op_name":"run","started_at":"2026-01-31T12:00:00Z","attributes":{"model":"gpt","n":${i}},"inputs":{"messages":[{"role":"user","content":"${'text '.repeat(40)}"}]}}}}`;
const TEXTS = {
  'numbers `1`': list(() => '1'),
  'numbers `-0`': list(() => '-0'),
  'numbers `1.5`': list(() => '1.5'),
  embeddings: list((i) => `-0.0${String(i * 7919).padStart(9, '1')}`),
  'strings of 8, different': list((i) => `"${String(i).padStart(8, '0')}"`),
  'strings of 24, different': list((i) => `"${String(i).padStart(24, 'x')}"`),
  '`{}`': list(() => '{}'),
  '`[]`': list(() => '[]'),
  '`[[]]`': list(() => '[[]]'),
  '`[1.5]`': list(() => '[1.5]'),
  '`{"a":1}`': list(() => '{"a":1}'),
  '`{"a":1,…}` of 5': list(() => '{"a":1,"b":2,"c":3,"d":4,"e":5}'),
  'objects with a number as key': list(() => '{"999999":1}'),
  'objects with keys of their own': list((i) => `{"k${i}":1}`),
  'the same, and two keys more': list((i) => `{"k${i}":1,"b":1,"c":1}`, COUNT / 2),
  'one object of different keys': `{${Array.from({ length: COUNT }, (_, i) => `"k${i}":1`)}}`,
  rows: list((i) => `{"id":${i},"question":"what is ${i}?","score":0.${i}}`),
  'arrays in arrays, 9,000 deep': `[${Array.from({ length: 22 }, () => '['.repeat(9000) + ']'.repeat(9000))}]`,
  'a batch of calls': `{"batch":[${Array.from({ length: 20_000 }, (_, i) => call(i))}]}`,
};

const AT_A_LIMIT = {
  'most objects': () => list(() => '{}', MAX_CONTAINERS - 1),
  'most objects, numbers as keys': () => list(() => '{"999999":1}', MAX_CONTAINERS - 1),
  'most arrays in arrays': () => list(() => '[[]]', (MAX_CONTAINERS - 1) / 2),
  'most keys, one object': () => `{${list((i) => `"k${i}":1`, MAX_SHAPES).slice(1, -1)}}`,
  'most keys, an object each': () => list((i) => `{"k${i}":1}`, MAX_SHAPES),
  'most short strings': () => list((i) => `"${i}"`, MAX_SHORT_STRINGS),
  'most numbers': () => list(() => '1', 16 * MIB - 1),
  'most keys, short strings and objects': () =>
    `[${list((i) => `{"k${i}":1}`, MAX_SHAPES)},${list((i) => `"${i}"`, MAX_SHORT_STRINGS)},${list(() => '{}', MAX_CONTAINERS - MAX_SHAPES - 4)}]`,
};

console.log(`Node ${process.versions.node}\n
| | text bytes | heap at the peak | for each byte of text | estimate / heap | JSON.parse CPU ms | estimate CPU ms |
|---|--:|--:|--:|--:|--:|--:|`);
for (const [name, text] of Object.entries(TEXTS)) print(name, text);
for (const [name, text] of Object.entries(AT_A_LIMIT)) print(name, text());

function print(name, text) {
  const flat = Buffer.from(text).toString('latin1');
  const [heap, parseMs] = measured(() => JSON.parse(flat));
  const estimateMs = Math.min(
    ...Array.from({ length: 5 }, () => measured(() => parsedBytes(flat))[1]),
  );
  console.log(
    `| ${[
      name,
      flat.length.toLocaleString('en'),
      `${(heap / MIB).toFixed(1)} MiB`,
      (heap / flat.length).toFixed(1),
      (parsedBytes(flat) / heap).toFixed(2),
      parseMs.toFixed(1),
      estimateMs.toFixed(1),
    ].join(' | ')} |`,
  );
}

/** Milliseconds of this process's CPU: other work on the machine does not count. */
function measured(work) {
  globalThis.gc();
  const before = process.memoryUsage().heapUsed;
  const began = process.cpuUsage();
  const value = work();
  const { user, system } = process.cpuUsage(began);
  const bytes = process.memoryUsage().heapUsed - before;
  return [value === undefined ? 0 : bytes, (user + system) / 1000];
}
