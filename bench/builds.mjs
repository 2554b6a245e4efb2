// Measures a build of 20,000 units of 40 KB: its time, the growth of the service's memory, and the latency of /health
// meanwhile. Then measures the export of the build and its training job. Uses an embedded PostgreSQL of its own.
//
//     npm run build && node bench/builds.mjs [units]
import { readFileSync } from 'node:fs';
import http from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { serviceAndDatabase } from './support.mjs';

const UNITS = Number(process.argv[2] ?? 20_000);
const PER_GROUP = 8;
const project_id = 'bench/builds';

const { child, url, key, headers, client, close } = await serviceAndDatabase();

/** Sends a request without a time limit. Returns the answer, with its body only if `isKept`. */
const ask = (path, body, isKept = true) =>
  new Promise((resolve, reject) => {
    const request = http.request(url + path, { method: 'POST', headers }, (answer) => {
      let text = '';
      let bytes = 0;
      answer.on('data', (chunk) => {
        bytes += chunk.length;
        if (isKept) text += chunk;
      });
      answer.on('error', reject);
      answer.on('end', () =>
        answer.statusCode === 200
          ? resolve({ bytes, body: isKept ? JSON.parse(text) : null })
          : reject(new Error(`${path}: ${answer.statusCode} ${text}`)),
      );
    });
    request.on('error', reject);
    request.end(JSON.stringify({ project_id, ...body }));
  });

const rss = () =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))[1]) / 1024;

/** Measures the time of `work`, with the memory and /health meanwhile. */
async function measured(what, work) {
  const before = rss();
  let peak = before;
  let worst = 0;
  let isDone = false;
  const watch = (async () => {
    while (!isDone) {
      const asked = performance.now();
      await fetch(`${url}/health`).then((answer) => answer.text());
      worst = Math.max(worst, performance.now() - asked);
      peak = Math.max(peak, rss());
      await sleep(20);
    }
  })();
  const began = performance.now();
  const result = await work();
  const seconds = (performance.now() - began) / 1000;
  isDone = true;
  await watch;
  rows.push({
    what,
    seconds: seconds.toFixed(1),
    'memory before, MB': Math.round(before),
    'grew by, MB': Math.round(peak - before),
    'worst /health, ms': Math.round(worst),
    MB: result.bytes > 1e6 ? Math.round(result.bytes / 1e6) : '',
  });
  return result.body;
}
const rows = [];

try {
  await load();
  const recipe = {
    version: 1,
    select: { limit: 100_000 },
    reward: { sum: [{ feedback: 'svc.runnable.score', path: 'output.score' }] },
    split: { salt: 's', eval_percent: 10 },
  };
  await ask('/build/preview', { recipe: { ...recipe, select: { limit: 16 } } });
  const { digest: recipeDigest } = (
    await ask('/obj/create', { obj: { project_id, object_id: 'r', val: recipe } })
  ).body;
  const byPrompt = { ...recipe, group: { by: ['prompt'] } };
  await measured('/build/preview', () => ask('/build/preview', { recipe }));
  await measured('/build/preview, grouped by prompt', () =>
    ask('/build/preview', { recipe: byPrompt }),
  );
  const recipe_ref = `svc:///${project_id}/object/r:${recipeDigest}`;
  const built = await measured('/build/create', () =>
    ask('/build/create', { recipe_ref, mode: 'all' }),
  );
  const { build_id } = built;
  for (const format of ['art', 'openai-sft'])
    await measured(`/build/export ${format}`, () =>
      ask('/build/export', { build_id, format }, false),
    );
  const model = await fetch(`${url}/v1/preview/models`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
    body: JSON.stringify({ entity: 'bench', project: 'builds', name: 'm', base_model: 'b' }),
  }).then((answer) => answer.json());
  await measured('/build/submit', () => ask('/build/submit', { build_id, model_id: model.id }));
  console.log(
    JSON.stringify(built.counts),
    built.lints.map(({ code, count }) => [code, count]),
  );
  console.table(rows);
} finally {
  await close();
}

/** Loads units: a root and a model call with 40 KB of texts and logprobs that compress only moderately. */
async function load() {
  await client.query(`
    INSERT INTO calls (project_id, id, trace_id, parent_id, op_name, started_at, ended_at, user_id, attributes, inputs, output)
    SELECT '${project_id}', 'u' || n, 't' || n, NULL, 'rollout', '2026-01-01'::timestamptz + make_interval(secs => n),
      '2026-01-01'::timestamptz + make_interval(secs => n + 1), 'me',
      json_build_object('task_id', n / ${PER_GROUP}), '{}'::json, NULL
    FROM generate_series(0, ${UNITS - 1}) n`);
  for (let at = 0; at < UNITS; at += 1000)
    await client.query(`
      INSERT INTO calls (project_id, id, trace_id, parent_id, op_name, started_at, ended_at, user_id, attributes, inputs, output)
      SELECT '${project_id}', 'u' || n || '.0', 't' || n, 'u' || n, 'llm', '2026-01-01'::timestamptz + make_interval(secs => n),
        '2026-01-01'::timestamptz + make_interval(secs => n + 1), 'me', '{}'::json,
        json_build_object('model', 'm:step1', 'messages', ARRAY[json_build_object('role', 'user', 'content',
          'task ' || n / ${PER_GROUP} || repeat(' word ' || n / ${PER_GROUP} % 7, 500))]),
        json_build_object('choices', ARRAY[json_build_object('index', 0, 'finish_reason', 'stop',
          'message', json_build_object('role', 'assistant', 'content', (SELECT string_agg(substr(w, 1, 4), '') FROM unnest(t.words) w)),
          'logprobs', json_build_object('content', (SELECT array_agg(json_build_object('token', substr(w, 1, 4), 'logprob', -random(),
            'bytes', ARRAY[ascii(w), ascii(substr(w, 2)), ascii(substr(w, 3)), ascii(substr(w, 4))], 'top_logprobs', ARRAY[]::int[]))
            FROM unnest(t.words) w)))])
      FROM (SELECT n, ARRAY(SELECT md5(n || ' ' || k) FROM generate_series(1, 350) k) AS words
        FROM generate_series(${at}, ${Math.min(UNITS, at + 1000) - 1}) n) t`);
  await client.query(`
    INSERT INTO feedback (project_id, id, feedback_type, ref, user_id, payload)
    SELECT '${project_id}', 'f' || n, 'svc.runnable.score', 'svc:///${project_id}/call/u' || n, 'me',
      json_build_object('output', json_build_object('score', n % 3))
    FROM generate_series(0, ${UNITS - 1}) n`);
  const { rows: sizes } = await client.query(
    `SELECT avg(octet_length(inputs::text) + octet_length(output::text))::int AS bytes FROM calls WHERE op_name = 'llm'`,
  );
  console.log(`${UNITS} units of ${sizes[0].bytes} bytes`);
}
