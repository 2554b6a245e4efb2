// Measures what an index on a field of calls gives a query. Measures its cost for writes of its project, for writes of
// other projects, and in disk space.
//
// It fills a project and measures queries before and after. Then it writes in turns to projects with 0, 1 and 5
// indexes. At last it writes to the first project again, after other projects have filled the service with indexes.
//
//     npm run build && node bench/call-indexes.mjs [--calls 200000] [--rounds 5]
import { parseArgs } from 'node:util';
import { setTimeout as pause } from 'node:timers/promises';
import { serviceAndDatabase } from './support.mjs';

const { values: options } = parseArgs({
  options: {
    calls: { type: 'string', default: '200000' },
    rounds: { type: 'string', default: '5' },
  },
});
const CALLS = Number(options.calls);
const FULL = 'bench/full';
const service = await serviceAndDatabase();
const { client, headers, url } = service;
const post = async (path, body) => {
  const response = await fetch(url + path, {
    method: 'POST',
    headers,
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  const text = await response.text();
  if (response.status !== 200) throw new Error(`${path}: ${response.status} ${text}`);
  return JSON.parse(text);
};
const list = async (project_id) => (await post('/index/list', { project_id })).indexes;
async function index(project_id, ...fields) {
  for (const [field, kind] of fields) await post('/index/create', { project_id, field, kind });
  for (;;) {
    const indexes = await list(project_id);
    if (indexes.every(({ status }) => status === 'ready')) return indexes;
    await pause(20);
  }
}

const equals = (field, literal, operator = '$eq') => ({
  [operator]: [{ $getField: field }, { $literal: literal }],
});
const QUESTIONS = {
  'a model of no call': equals('inputs.model.name', 'none'),
  'a model of 100 calls, the newest 50': equals('inputs.model.name', 'gpt-7'),
  'a number of 200 calls, the newest 50': equals('inputs.model.temperature', 7),
  'a number between two, of 400 calls': {
    $and: [
      equals('inputs.model.temperature', 7, '$gte'),
      equals('inputs.model.temperature', 8, '$lte'),
    ],
  },
};
async function ask(row, times) {
  for (const [name, $expr] of Object.entries(QUESTIONS))
    for (let round = 0; round < 5; round++) {
      const from = performance.now();
      await post('/calls/query', {
        project_id: FULL,
        query: { $expr },
        sort_by: [{ field: 'started_at', direction: 'desc' }],
        limit: 50,
        columns: ['id'],
      });
      const ms = performance.now() - from;
      times[name] = {
        ...times[name],
        [row]: Math.min(times[name]?.[row] ?? Infinity, Math.round(ms * 10) / 10),
      };
    }
}

let calls = 0;
const words = 'lorem ipsum '.repeat(80);
/** Calls per second. Each batch starts and ends 200 calls. */
async function written(project_id) {
  const from = performance.now();
  for (let batch = 0; batch < 10; batch++) {
    const starts = Array.from({ length: 200 }, () => {
      const id = `c${++calls}`;
      return [
        `{"mode":"start","req":{"start":{"project_id":"${project_id}","id":"${id}","trace_id":"${id}","op_name":"op","started_at":"2026-01-01T00:00:00Z","inputs":{"messages":[{"role":"user","content":"${words}"}],"model":{"name":"gpt-${calls % 2000}","temperature":${calls % 1000}}}}}}`,
        `{"mode":"end","req":{"end":{"project_id":"${project_id}","id":"${id}","ended_at":"2026-01-01T00:00:01Z","output":{"text":"x","score":${calls % 100}},"summary":{}}}}`,
      ];
    });
    await post('/call/upsert_batch', `{"batch":[${starts.map(([start]) => start)}]}`);
    await post('/call/upsert_batch', `{"batch":[${starts.map(([, end]) => end)}]}`);
  }
  return 2000 / ((performance.now() - from) / 1000);
}
const median = (numbers) => numbers.toSorted((a, b) => a - b)[numbers.length >> 1];

try {
  await client.query(
    `INSERT INTO calls (project_id, id, op_name, trace_id, started_at, ended_at, user_id, attributes, inputs, output, summary)
     SELECT '${FULL}', 'call-' || n, 'op-' || n % 20, 'trace-' || n / 10, '2026-01-01'::timestamptz + n * interval '1 second',
       '2026-01-01'::timestamptz + n * interval '1 second', 'bench', '{}',
       format('{"messages":[{"role":"user","content":"%s"}],"model":{"name":"gpt-%s","temperature":%s}}', '${words}', n % 2000, n % 1000)::json,
       '{"text":"x"}', '{}' FROM generate_series(1, ${CALLS}) n`,
  );
  await client.query('VACUUM ANALYZE calls');
  const times = {};
  await ask('without, ms', times);
  const from = performance.now();
  const made = await index(
    FULL,
    ['inputs.model.name', 'text'],
    ['inputs.model.temperature', 'number'],
  );
  console.log(
    `${CALLS} calls: two indexes made in ${((performance.now() - from) / 1000).toFixed(1)} s`,
  );
  for (const { field, kind, size_bytes } of made)
    console.log(`  ${field} (${kind}): ${(size_bytes / 2 ** 20).toFixed(1)} MiB`);
  await ask('with, ms', times);
  console.table(times);

  await index('bench/one', ['inputs.model.name', 'text']);
  await index(
    'bench/five',
    ['inputs.model.name', 'text'],
    ['inputs.model.temperature', 'number'],
    ['inputs.other', 'text'],
    ['output.score', 'number'],
    ['output.text', 'text'],
  );
  const rates = {};
  for (let round = 0; round <= Number(options.rounds); round++)
    for (const project of ['bench/none', 'bench/one', 'bench/five']) {
      const rate = await written(project);
      if (round > 0) (rates[project] ??= []).push(rate); // the first round warms up
    }
  for (let n = 0; n < 18; n++)
    await index(`other${n}/p`, ...[1, 2, 3, 4, 5].map((i) => [`inputs.field${i}`, 'text']));
  for (let round = 0; round < Number(options.rounds); round++)
    (rates['bench/none beside 98 indexes of others'] ??= []).push(await written('bench/none'));
  const table = {};
  for (const [name, list] of Object.entries(rates))
    table[name] = {
      'calls/s': Math.round(median(list)),
      'of none': median(list.map((rate, i) => rate / rates['bench/none'][i])).toFixed(2),
    };
  console.table(table);
} finally {
  await service.close();
}
