// Measures the bytes of heap that JSON.parse takes for each kind of value, and compares them with the estimate of
// platform/json/json-weight.ts. Compares the time of the estimate with that of JSON.parse. Does the same for texts of
// up to 32 MiB that are at a limit. Each text has a process of its own. Prints Markdown.
//
//     npm run build && node --expose-gc --max-semi-space-size=32 bench/json-weight.mjs [words of a name]
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import {
  MAX_PARSED_BYTES,
  MAX_SHAPES,
  MAX_SHORT_STRINGS,
  parsedBytes,
} from '../dist/src/platform/json/json-weight.js';

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

/** A list of as many elements as the limit allows. */
const most = (element, bytes) => list(() => element, Math.floor(MAX_PARSED_BYTES / bytes) - 20);
const AT_A_LIMIT = {
  'most numbers `1`': () => most('1', 24),
  'most numbers `-0`': () => most('-0', 40),
  'most numbers `1.5`': () => most('1.5', 40),
  'most numbers `1e-320`': () => most('1e-320', 40),
  '32 MiB of `9007199254740993.00…1`': () =>
    list(() => `9007199254740993.${'0'.repeat(760)}1`, 43_000),
  'most strings `\\n`': () => most('"\\n"', 48),
  'most objects': () => most('{}', 96),
  'most objects, numbers as keys': () => most('{"999999":1}', 256),
  'most objects, `1` or `1.5`': () => most('{"a":1},{"a":1.5}', 208),
  'most arrays `[1.5]`': () => most('[1.5]', 112),
  'most arrays in arrays': () => most('['.repeat(9000) + ']'.repeat(9000), 72 * 9000 + 24),
  'most keys, one object': () => `{${list((i) => `"k${i}":1`, MAX_SHAPES).slice(1, -1)}}`,
  'most keys, an object each': () => list((i) => `{"k${i}":1}`, MAX_SHAPES),
  'most short strings': () => list((i) => `"${i}"`, MAX_SHORT_STRINGS),
  'most short strings, beyond ASCII': () => list((i) => `"\\u00e9${i}"`, MAX_SHORT_STRINGS),
  'most keys, most short strings, doubles': () =>
    `[${list((i) => `{"k${i}":1}`, MAX_SHAPES)},${list((i) => `"\\u00e9${i}"`, MAX_SHORT_STRINGS)},${list(() => '-0', 1_500_000)}]`,
};

const ALL = {
  ...Object.fromEntries(Object.entries(TEXTS).map(([name, text]) => [name, () => text])),
  ...AT_A_LIMIT,
};
const [wanted = '', isOne] = process.argv.slice(2);
if (isOne) {
  print(wanted, Buffer.from(ALL[wanted]()).toString('latin1'));
  process.exit();
}
console.log(`Node ${process.versions.node}\n
| | text bytes | heap at the peak | for each byte of text | resident at the peak | estimate / heap | JSON.parse CPU ms | estimate CPU ms |
|---|--:|--:|--:|--:|--:|--:|--:|`);
for (const name of Object.keys(ALL).filter((one) => one.includes(wanted)))
  spawnSync(process.execPath, [...process.execArgv, process.argv[1], name, 'one'], {
    stdio: 'inherit',
  });

function print(name, text) {
  const estimate = parsedBytes(text);
  const [, estimateMs] = measured(() => parsedBytes(text));
  const [heap, parseMs, resident] = measured(() => JSON.parse(text));
  console.log(
    `| ${[
      name,
      text.length.toLocaleString('en'),
      `${(heap / MIB).toFixed(1)} MiB`,
      (heap / text.length).toFixed(1),
      `${resident.toFixed(0)} MiB`,
      (estimate / heap).toFixed(2),
      parseMs.toFixed(1),
      estimateMs.toFixed(1),
    ].join(' | ')} |`,
  );
}

/** Measures CPU time of the main thread, so that other work on the machine and V8's threads do not count. */
function measured(work) {
  globalThis.gc();
  writeFileSync('/proc/self/clear_refs', '5');
  const resident = mebibytes('VmRSS');
  const before = process.memoryUsage().heapUsed;
  const began = threadMs();
  const value = work();
  const ms = threadMs() - began;
  const bytes = process.memoryUsage().heapUsed - before;
  return [value === undefined ? 0 : bytes, ms, mebibytes('VmHWM') - resident];
}

function threadMs() {
  const stat = readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'utf8');
  return Number(stat.split(' ')[0]) / 1e6;
}

function mebibytes(name) {
  const status = readFileSync('/proc/self/status', 'utf8');
  return Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)[1]) / 1024;
}
