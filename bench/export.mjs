// Measures how fast all calls of a project leave as a file: JSON lines and Parquet, in turns.
//
//     npm run build && node bench/export.mjs [--calls 100000] [--rounds 3]
import { parseArgs } from 'node:util';
import { callBodies } from './write-bodies.mjs';
import { cpuMeter, posted, serviceAndDatabase } from './support.mjs';

const { values: options } = parseArgs({
  options: {
    calls: { type: 'string', default: '100000' },
    rounds: { type: 'string', default: '3' },
  },
});
const PROJECT = 'acme/export';
const { child, url, headers, close } = await serviceAndDatabase({});
const { batch } = callBodies(PROJECT, 100);
const count = async () => {
  const body = JSON.stringify({ project_id: PROJECT });
  const sent = { method: 'POST', headers, body };
  return (await (await fetch(`${url}/calls/query_stats`, sent)).json()).count;
};
while ((await count()) < Number(options.calls))
  await posted({
    url,
    connections: 8,
    seconds: 3,
    path: '/call/upsert_batch',
    headers,
    body: batch,
  });
const calls = await count();

console.log(`Node ${process.versions.node}, ${calls} calls\n`);
console.log('| format | calls/s | CPU of Node, µs a call | bytes a call |');
console.log('|---|--:|--:|--:|');
for (let round = 0; round < Number(options.rounds); round++)
  for (const format of ['jsonl', 'parquet']) {
    const cpu = cpuMeter(child.pid);
    const began = performance.now();
    const body = JSON.stringify({ project_id: PROJECT, of: 'calls', format });
    const answer = await fetch(`${url}/export`, { method: 'POST', headers, body });
    let bytes = 0;
    for await (const chunk of answer.body) bytes += chunk.length;
    const rate = Math.round(calls / ((performance.now() - began) / 1000));
    const spent = cpu().service / calls;
    console.log(
      `| ${format} | ${rate} | ${(1e6 * spent).toFixed(1)} | ${Math.round(bytes / calls)} |`,
    );
  }
await close();
