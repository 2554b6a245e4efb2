/**
 * Measures `/v2/…/eval_results/query` on two evaluations of 10,000 rows × 3 trials. Each trial has a prediction and two
 * scorers: 300,000 calls. Starts an embedded PostgreSQL and the service. Prints the median and the slowest time of each
 * query in ms.
 *
 *     npm run build && node bench/eval-results.mjs [rows=10000] [trials=3] [rounds=7]
 */
import http from 'node:http';
import { serviceAndDatabase } from './support.mjs';

const [ROWS = 10_000, TRIALS = 3, ROUNDS = 7] = process.argv.slice(2).map(Number);
const PROJECT = 'acme/bench';
const { url, headers, client, close } = await serviceAndDatabase();
const ref = (rest) => `svc:///${PROJECT}/${rest}`;
const insert = (select) =>
  client.query(`INSERT INTO calls (project_id, id, op_name, trace_id, parent_id, user_id, started_at, ended_at, attributes, inputs, output,
    usage, has_unread_usage) ${select}`);
const at = `'2026-01-01'::timestamptz + n * interval '1 ms'`;
for (const run of ['one', 'two']) {
  await insert(`SELECT '${PROJECT}', '${run}', '${ref('op/Evaluation.evaluate:1')}', 't-${run}', NULL, 'me', '2026-01-01', '2026-01-02', '{}',
    '{"self":"${ref('object/Exam:1')}","model":"${ref('object/Model:1')}"}', '{}', NULL, false`);
  const trials = `generate_series(0, ${ROWS * TRIALS - 1}) n`;
  await insert(`SELECT '${PROJECT}', '${run}-' || n, '${ref('op/Evaluation.predict_and_score:1')}', 't-${run}', '${run}', 'me', ${at}, ${at} + interval '1 s',
    '{"_weave_eval_meta":{"declarative":true}}', json_build_object('self', '${ref('object/Exam:1')}', 'model', '${ref('object/Model:1')}',
      'example', '${ref('object/Data:1/attr/rows/id/')}' || md5((n % ${ROWS})::text)),
    json_build_object('output', repeat('word ', 100), 'scores', json_build_object('right', random() < 0.5, 'judge', json_build_object('score', random())),
      'model_latency', 1.0), NULL, false FROM ${trials}`);
  const child = (name, output, usage) =>
    insert(`SELECT '${PROJECT}', '${run}-' || n || '-${name}', '${ref(`op/${name}:1`)}', 't-${run}', '${run}-' || n, 'me', ${at}, ${at} + interval '1 s',
      '{"_weave_eval_meta":{"declarative":true}}', json_build_object('self', '${ref('object/Model:1')}'), ${output}, ${usage}, false FROM ${trials}`);
  const usage = `'[{"llm_id":"gpt-4o","prompt_tokens":100,"completion_tokens":50,"requests":1}]'`;
  await child('Model.predict', `to_json(repeat('word ', 100))`, usage);
  await child('right.score', `to_json(true)`, 'NULL');
  await child('judge.score', `json_build_object('score', random())`, 'NULL');
}
await client.query('VACUUM ANALYZE calls');
const began = performance.now();
while ((await client.query('SELECT FROM trial_marks LIMIT 1')).rowCount > 0)
  await new Promise((resolve) => setTimeout(resolve, 100));
console.log(`kept after ${((performance.now() - began) / 1000).toFixed(1)} s`);

const ask = (path, body) =>
  new Promise((resolve, reject) => {
    const began = performance.now();
    const request = http.request(
      `${url}/v2/${PROJECT}/eval_results/${path}`,
      { method: 'POST', headers },
      (response) => {
        let text = '';
        response.on('data', (chunk) => (text += chunk));
        response.on('end', () =>
          response.statusCode === 200
            ? resolve(performance.now() - began)
            : reject(new Error(text)),
        );
      },
    );
    request.on('error', reject);
    request.end(JSON.stringify(body));
  });

const both = { evaluation_call_ids: ['one', 'two'] };
const page = { ...both, limit: 50 };
const byScore = [{ field: 'scores.judge.score', direction: 'desc', mode: 'difference' }];
const isWrong = { $expr: { $eq: [{ $getField: 'scores.right' }, { $literal: false }] } };
const QUESTIONS = {
  summary: ['query', { ...both, include_rows: false, include_summary: true }],
  'summary, without children': [
    'query',
    {
      ...both,
      include_rows: false,
      include_summary: true,
      include_predict_and_score_children: false,
    },
  ],
  'page of 50': ['query', page],
  'page of 50, by difference, with summary': [
    'query',
    { ...page, sort_by: byScore, include_summary: true },
  ],
  'page of 50, without children': ['query', { ...page, include_predict_and_score_children: false }],
  'page of 50, filtered': [
    'query',
    { ...page, filters: [{ query: isWrong, evaluation_call_id: 'two' }] },
  ],
  compare: ['compare', { baseline_call_id: 'one', other_call_ids: ['two'] }],
};
console.log(
  `${ROWS} rows × ${TRIALS} trials, two evaluations; median and slowest of ${ROUNDS}, ms`,
);
for (const [name, [path, body]] of Object.entries(QUESTIONS)) {
  await ask(path, body);
  const times = [];
  for (let i = 0; i < ROUNDS; i++) times.push(await ask(path, body));
  times.sort((a, b) => a - b);
  console.log(
    `${name.padEnd(44)} ${times[ROUNDS >> 1].toFixed(0).padStart(7)} ${times.at(-1).toFixed(0).padStart(7)}`,
  );
}
await close();
