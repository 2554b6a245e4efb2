import { useApp } from '../support/app.js';

const app = useApp();
const project_id = 'acme/demo';
const turn = (n: number) => `svc:///${project_id}/agent_turn/t${n}`;
const scorer = (name: string) => `svc:///${project_id}/object/${name}:abc`;
const monitor = `svc:///${project_id}/object/watch:v1`;
const call_ref = `svc:///${project_id}/call/c`;

beforeAll(async () => {
  const scored = (n: number, name: string, fields: object) => ({
    project_id,
    id: `f${n}`,
    svc_ref: turn(n),
    feedback_type: 'svc.agent_monitor',
    payload: { output: { score: n, ok: n > 1, 'a.b': 'x', deep: { list: [1] } } },
    runnable_ref: scorer(name),
    trigger_ref: monitor,
    call_ref,
    ...fields,
  });
  const batch = [
    scored(1, 'tone', {
      scorer_tags: ['rude', 'loud'],
      scorer_ratings: { _rating_: 0.25 },
      span_agent_name: 'planner',
    }),
    scored(2, 'tone', {
      scorer_tags: ['rude'],
      scorer_ratings: { _rating_: 0.75 },
      span_agent_name: 'critic',
      span_status_code: 'ERROR',
    }),
    scored(3, 'length', { span_agent_name: 'planner' }),
    {
      ...{
        project_id,
        id: 'f4',
        svc_ref: `svc:///${project_id}/agent_conversation/c`,
        payload: { note: 1 },
      },
      feedback_type: 'wandb.agent_user_feedback',
      scorer_tags: ['__proto__'],
    },
  ];
  const { body } = await app.post('/feedback/batch/create', { batch });
  expect(body.res.map(({ id }: { id: string }) => id)).toEqual(['f1', 'f2', 'f3', 'f4']);
  for (const [i, at] of [
    '2026-01-01T00:00:00Z',
    '2026-01-01T00:30:00Z',
    '2026-01-01T02:00:00Z',
  ].entries())
    await app.query('UPDATE feedback SET created_at = $1 WHERE id = $2', [at, `f${i + 1}`]);
  await app.query(`UPDATE feedback SET created_at = '2026-01-01T02:10:00Z' WHERE id = 'f4'`);
});

const after_ms = Date.parse('2026-01-01T00:00:00Z');
const before_ms = Date.parse('2026-01-02T00:00:00Z');
const aggregate = async (more: object = {}) => {
  const { status, body } = await app.post('/feedback/aggregate', {
    project_id,
    after_ms,
    before_ms,
    ...more,
  });
  expect(status).toBe(200);
  return body;
};

describe('POST /feedback/aggregate', () => {
  it('adds up tags and ratings', async () => {
    const { buckets, ...frame } = await aggregate();
    expect(frame).toEqual({ after_ms, before_ms, time_bucket_seconds: null });
    expect(buckets).toHaveLength(1);
    expect(buckets[0]).toMatchObject({
      time_bucket_start_ms: null,
      group: {},
      total_count: 4,
      scored_count: 3,
      rating_sums: { _rating_: 1 },
      rating_counts: { _rating_: 2 },
    });
    expect(Object.entries(buckets[0].tag_counts).toSorted()).toEqual([
      ['__proto__', 1],
      ['loud', 1],
      ['rude', 2],
    ]);
  });

  it('by time and by what it is about', async () => {
    const { buckets } = await aggregate({
      time_bucket_seconds: 3600,
      group_by: ['scorer_id', 'span_agent_name'],
    });
    expect(
      buckets.map((one: any) => [
        one.time_bucket_start_ms,
        one.group.scorer_id,
        one.group.span_agent_name,
        one.total_count,
        one.scored_count,
      ]),
    ).toEqual([
      [after_ms, scorer('tone'), 'critic', 1, 1],
      [after_ms, scorer('tone'), 'planner', 1, 1],
      [after_ms + 7_200_000, '', '', 1, 1],
      [after_ms + 7_200_000, scorer('length'), 'planner', 1, 0],
    ]);
  });

  it.each([
    [{ feedback_types: ['svc.agent_user'] }, 1],
    [{ feedback_types: ['wandb.agent_'] }, 4],
    [{ scorer_ids: [scorer('tone')] }, 2],
    [
      {
        scorer_ids: [`svc:///${project_id}/object/tone:*`, `weave:///${project_id}/object/length*`],
      },
      3,
    ],
    [{ monitor_ids: [monitor] }, 3],
    [{ tags: ['loud', 'x'] }, 1],
    [{ rating_min: 0.5 }, 1],
    [{ rating_min: 0.1, rating_max: 0.3 }, 1],
    [{ span_agent_names: ['planner'] }, 2],
    [{ span_types: ['agent_conversation'] }, 1],
    [{ after_ms: after_ms + 1 }, 3],
  ])('keeps to %j', async (more, total) => {
    const { buckets } = await aggregate(more);
    expect(buckets.reduce((sum: number, one: any) => sum + one.total_count, 0)).toBe(total);
  });

  it('refuses a window that ends before it begins, and an unknown dimension', async () => {
    for (const [more, path] of [
      [{ before_ms: after_ms }, 'before_ms'],
      [{ group_by: ['x'] }, 'group_by[0]'],
    ] as const)
      expect(
        await app.post('/feedback/aggregate', { project_id, after_ms, before_ms, ...more }),
      ).toMatchObject({ status: 400, body: { errors: [{ path }] } });
  });
});

describe('the typed columns of scorers', () => {
  const create = (fields: object) =>
    app.post('/feedback/create', {
      project_id,
      svc_ref: turn(9),
      feedback_type: 'x',
      payload: {},
      ...fields,
    });

  it('are found and answered', async () => {
    const query = { $expr: { $gt: [{ $getField: 'scorer_ratings._rating_' }, { $literal: 0.5 }] } };
    const fields = ['id', 'scorer_tags', 'span_status_code'];
    const { body } = await app.post('/feedback/query', { project_id, query, fields });
    expect(body.result).toEqual([{ id: 'f2', scorer_tags: ['rude'], span_status_code: 'ERROR' }]);
  });

  it.each([
    [{ scorer_ratings: { a: 1.5 } }, 'scorer_ratings'],
    [{ scorer_tags: [''] }, 'scorer_tags[0]'],
    [{ scorer_tag_reasons: { a: 'x'.repeat(1001) } }, 'scorer_tag_reasons'],
    [{ scorer_tag_reasons: { a: '\0' } }, 'scorer_tag_reasons'],
    [
      { scorer_ratings: Object.fromEntries(Array.from({ length: 101 }, (_, i) => [i, 0])) },
      'scorer_ratings',
    ],
    [{ span_status_code: 'BAD' }, 'span_status_code'],
    [{ feedback_type: 'svc.agent_user_feedback' }, 'scorer_tags'],
    [{ feedback_type: 'svc.agent_monitor' }, 'runnable_ref'],
  ])('refuse %j', async (fields, path) => {
    expect(await create(fields)).toMatchObject({
      status: 400,
      body: {
        errors: [
          { path },
          ...(path === 'runnable_ref' ? [{ path: 'call_ref' }, { path: 'trigger_ref' }] : []),
        ],
      },
    });
  });
});

it('lists the paths of payloads with what stands there', async () => {
  const { body } = await app.post('/feedback/payload_schema', {
    project_id,
    start: '2026-01-01T00:00:00Z',
    end: '2026-01-02T00:00:00Z',
  });
  expect(body.paths).toEqual([
    { json_path: 'note', value_type: 'numeric' },
    { json_path: String.raw`output.a\.b`, value_type: 'categorical' },
    { json_path: 'output.ok', value_type: 'boolean' },
    { json_path: 'output.score', value_type: 'numeric' },
  ]);
  const { body: some } = await app.post('/feedback/payload_schema', {
    project_id,
    start: '2026-01-01T00:00:00Z',
    trigger_ref: `svc:///${project_id}/object/watch:*`,
    feedback_type: 'none',
  });
  expect(some.paths).toEqual([]);
});
