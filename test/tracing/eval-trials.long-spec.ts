import { useApp } from '../support/app.js';
import { until } from '../support/until.js';

const PROJECT = 'acme/demo';
const app = useApp();
const ref = (rest: string) => `svc:///${PROJECT}/${rest}`;
const query = (body: object) =>
  app.post(`/v2/${PROJECT}/eval_results/query`, { evaluation_call_ids: ['run'], ...body });

/**
 * Stores trials with the numbers `from` to `to`, each with a scorer's call below it. They have the source that ingest
 * gives to calls below an evaluation. Otherwise storing the run would update all of them.
 */
async function trials(from: number, to: number): Promise<void> {
  const insert = (select: string, values: unknown[]) =>
    app.query(
      `INSERT INTO calls (project_id, id, op_name, trace_id, parent_id, user_id, started_at, ended_at, has_unread_usage, source, attributes, inputs, output)
      SELECT $1, ${select}, false, 'evaluation', '{}', json_build_object('example', $2 || md5((n % 40000)::text)),
        json_build_object('scores', json_build_object('right', n % 4 = 0), 'n', n)
      FROM generate_series($3::int, $4::int) n`,
      [PROJECT, ref('object/Data:1/attr/rows/id/'), from, to, ...values],
    );
  const at = `'2026-01-01'::timestamptz + n * interval '1 ms'`;
  await insert(`'t' || n, $5::text, 't', 'run', 'me', ${at}, ${at}`, [
    ref('op/Evaluation.predict_and_score:1'),
  ]);
  await insert(`'s' || n, $5::text, 't', 't' || n, 'me', ${at}, ${at}`, [ref('op/tone.score:1')]);
}

/** Waits until no trial is marked as changed. */
const refreshed = () =>
  until(async () => (await app.query('SELECT FROM trial_marks')).length === 0);

describe('100,000 trials', () => {
  beforeAll(async () => {
    await trials(1, 100_000);
    await refreshed(); // so that trials are read once, when their run comes
    const started_at = '2026-01-01T00:00:00Z';
    const op_name = ref('op/Evaluation.evaluate:1');
    const run = {
      project_id: PROJECT,
      id: 'run',
      trace_id: 't',
      op_name,
      inputs: {},
      attributes: {},
    };
    const batch = [{ ...run, started_at, ended_at: started_at }];
    const { status } = await app.post(`/v2/${PROJECT}/calls/complete`, { batch });
    expect(status).toBe(200);
  });

  const expectAll = async () => {
    const { status, body } = await query({
      include_summary: true,
      limit: 2,
      sort_by: [{ field: 'scores.right', direction: 'desc' }],
      filters: [{ query: { $expr: { $eq: [{ $getField: 'scores.right' }, { $literal: true }] } } }],
    });
    expect(status).toBe(200);
    expect(body.rows).toHaveLength(2);
    // every fourth of the 40,000 rows
    expect(body.total_rows).toBe(10_000);
    const [{ trial_count, scorer_stats }] = body.summary.evaluations;
    expect(trial_count).toBe(100_000);
    const right = scorer_stats.find(({ scorer_key }: any) => scorer_key === 'right');
    expect(right).toMatchObject({ pass_true_count: 25_000, pass_known_count: 100_000 });
    expect(body.summary.row_count).toBe(40_000);
  };
  const chunks = async () =>
    (await app.query('SELECT ids IS NOT NULL AS is_kept FROM kept_trials')) as {
      is_kept: boolean;
    }[];

  it('are answered from their calls, and again from what is kept of them', async () => {
    await expectAll();
    await until(async () => (await chunks()).length > 0);
    await refreshed();
    expect(await chunks()).toHaveLength(100);
    await expectAll();
  });

  it('are the most, also where one comes to those that are kept', async () => {
    const refusal = {
      status: 413,
      body: { code: 'too_large', detail: expect.stringContaining('over 100000 trials') },
    };
    await trials(100_001, 100_001);
    expect(await query({ include_rows: false })).toMatchObject(refusal);
    await refreshed();
    expect(await query({ include_rows: false })).toMatchObject(refusal);
    await app.post('/calls/delete', { project_id: PROJECT, call_ids: ['t7'] });
    expect((await query({ include_rows: false })).body.total_rows).toBe(40_000);
  });
});
