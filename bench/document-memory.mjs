// Prints the memory that a process of PostgreSQL needs for one query of many values in a call with a large document.
//
//     npm run build && node bench/document-memory.mjs [--mib 30] [--paths 1,3,4,10]
import { parseArgs } from 'node:util';
import { AT, Client, PROJECT, times } from '../test/attack/client.mjs';
import { Service } from '../test/attack/service.mjs';

const { values } = parseArgs({
  options: {
    mib: { type: 'string', default: '30' },
    paths: { type: 'string', default: '1,3,4,10' },
  },
});
const service = await new Service(1000).start();
process.on('exit', () => service.child.kill('SIGKILL'));
const client = new Client(service);
const call = { project_id: PROJECT, id: 'c', trace_id: 't', op_name: 'o', started_at: AT };
const inputs = `{"a":"${'x'.repeat(Number(values.mib) * 1024 * 1024)}"}`;
await client.send(
  '/call/start',
  `{"start":${JSON.stringify(call).slice(0, -1)},"attributes":{},"inputs":${inputs}}}`,
);
const rows = [];
for (const paths of values.paths.split(',').map(Number))
  for (const at of ['missing', 'large']) {
    const $or = times(paths, (i) => ({
      $eq: [{ $getField: at === 'large' ? 'inputs.a' : `inputs.b${i}` }, { $literal: `y${i}` }],
    }));
    let largest = 0;
    const watch = setInterval(() => (largest = Math.max(largest, service.postgres.largest)), 20);
    const begun = performance.now();
    const { status } = await client.send('/calls/query_stats', {
      project_id: PROJECT,
      query: { $expr: { $or } },
    });
    clearInterval(watch);
    rows.push({
      paths,
      at,
      status,
      ms: Math.round(performance.now() - begun),
      'MiB of a process': largest,
    });
  }
console.table(rows);
client.close();
await service.remove();
process.exit();
