// Measures V8's garbage collection while calls arrive in batches of 100: how much survives the young heap, and how
// often the whole heap is marked, which takes 0.2 s of CPU.
//
//     npm run build && node bench/garbage.mjs [--build ../before/dist] [--seconds 10]
import { resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { posted, serviceAndDatabase } from './support.mjs';
import { callBodies } from './write-bodies.mjs';

const { values: options } = parseArgs({
  options: { build: { type: 'string' }, seconds: { type: 'string', default: '10' } },
});
const PROJECT = 'acme/garbage';
const traced =
  "data:text/javascript,import v8 from 'node:v8';v8.setFlagsFromString('--trace-gc-nvp')";
const { child, url, headers, close } = await serviceAndDatabase(
  { NODE_OPTIONS: `--import="${traced}"` },
  options.build && resolve(options.build),
);
let lines = '';
child.stdout.on('data', (chunk) => (lines += chunk));

const bodies = callBodies(PROJECT, 100);
const kinds = {
  starts: { path: '/call/upsert_batch', body: bodies.starts, more: {} },
  'starts and ends': { path: '/call/upsert_batch', body: bodies.batch, more: {} },
  'OTLP protobuf': {
    path: '/otel/v1/traces',
    body: bodies.protobuf,
    more: { 'content-type': 'application/x-protobuf', project_id: PROJECT },
  },
};
const load = ({ path, body, more }, seconds) =>
  posted({ url, connections: 8, seconds, path, headers: { ...headers, ...more }, body });

/** The sum of a value over all collections of the young heap. */
const sum = (name) =>
  lines
    .split('\n')
    .filter((line) => line.includes(' gc=s '))
    .reduce((all, line) => all + Number(new RegExp(` ${name}=([\\d.]+)`).exec(line)[1]), 0);

console.log(`Node ${process.versions.node}\n`);
console.log('| batches of | made, MB/s | outlived their youth | the whole heap was marked |');
console.log('|---|--:|--:|--:|');
for (const [name, kind] of Object.entries(kinds)) {
  await load(kind, 3);
  lines = '';
  const { duration } = await load(kind, Number(options.seconds));
  await pause(100);
  const [made, kept] = [sum('allocated'), sum('promoted')];
  const marked = lines.split(' gc=mc ').length - 1;
  const share = ((100 * kept) / made).toFixed(1);
  console.log(
    `| ${name} | ${Math.round(made / duration / 1e6)} | ${share} % | ${marked} times in ${duration} s |`,
  );
}
await close();
