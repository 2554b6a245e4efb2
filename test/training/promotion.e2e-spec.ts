import { useApp } from '../support/app.js';
import { user } from '../support/rollouts.js';
import { aPairOf, trainingOf } from '../support/trained.js';
import { previewOf } from '../support/preview.js';

const app = useApp();

let projects = 0;

/** Makes a model with steps 0 to `steps` in a new project. */
async function aModelWith(steps = 2) {
  const project = `acme/promotion-${++projects}`;
  const [entity, name] = project.split('/');
  const client = previewOf(app);
  const { call, claim, start, complete } = client;
  const base_model = `base-${projects}`;
  const body = { entity, project: name, name: 'm', base_model };
  const model_id = (await call('POST', '/models', body)).body.id as string;
  for (let step = 1; step <= steps; step++) {
    await client.aJob(model_id);
    const { job_id, lease_token } = (await claim({ base_models: [base_model] })).body;
    await start(job_id, lease_token);
    await complete(job_id, lease_token);
  }
  const post = (path: string, more: object = {}, key = app.key) =>
    app.post(path, { project_id: project, model_id, ...more }, { key });
  return {
    project,
    model_id,
    post,
    promote: (step: number, more: object = { by_hand: true }) =>
      post('/models/promote', { step, ...more }),
    aliases: async () => (await post('/models/aliases/query')).body,
    actions: async () => {
      const { body: audit } = await app.post('/audit/query', {
        project_id: project,
        filter: { targets: [model_id] },
      });
      return audit.events as { action: string; detail: any; user_name: string }[];
    },
  };
}

interface Said {
  /** The content of one message, or all messages. */
  asks: string | object[];
  score?: unknown;
  inputs?: object;
  summary?: object;
  feedback?: string;
}

let calls = 0;
/** Records calls of a model, each with a score. */
async function say(project_id: string, model: string, said: Said[]) {
  const named = said.map((one) => ({ id: `c${++calls}`, ...one }));
  const batch = named.flatMap(({ id, asks, inputs, summary }) => [
    {
      mode: 'start',
      req: {
        start: {
          project_id,
          id,
          trace_id: id,
          op_name: 'chat',
          started_at: '2026-01-01T00:00:00Z',
          attributes: { row: typeof asks === 'string' ? asks : 'x' },
          inputs: { model, messages: typeof asks === 'string' ? [user(asks)] : asks, ...inputs },
        },
      },
    },
    {
      mode: 'end',
      req: {
        end: {
          project_id,
          id,
          ended_at: '2026-01-01T00:00:01Z',
          output: {},
          summary: summary ?? {},
        },
      },
    },
  ]);
  const answer = await app.post('/call/upsert_batch', { batch });
  if (answer.status !== 200 || answer.text.includes('"error"')) throw new Error(answer.text);
  const scores = named
    .filter(({ score }) => score !== undefined)
    .map(({ id, score, feedback }) => ({
      project_id,
      svc_ref: `svc:///${project_id}/call/${id}`,
      feedback_type: feedback ?? 'judge',
      payload: { out: { score } },
    }));
  const scored = await app.post('/feedback/batch/create', { batch: scores });
  if (scored.status !== 200 || scored.text.includes('"error"')) throw new Error(scored.text);
}

const gate = (more: object = {}) => ({
  score: { feedback: 'judge', path: 'out.score' },
  min_rows: 2,
  ...more,
});

/** The p-value of the sign permutation test, computed from all assignments of signs. */
function signsOf(differences: number[]): number {
  const observed = Math.abs(differences.reduce((a, b) => a + b, 0));
  let count = 0;
  for (let signs = 0; signs < 2 ** differences.length; signs++) {
    let sum = 0;
    for (const [i, value] of differences.entries()) sum += signs & (1 << i) ? -value : value;
    if (Math.abs(sum) >= observed - 1e-9) count++;
  }
  return count / 2 ** differences.length;
}

describe('/models/promote by hand', () => {
  it('moves the alias, back too, and tells its history and the audit', async () => {
    const { promote, aliases, actions, model_id } = await aModelWith(2);
    expect(await aliases()).toEqual({ aliases: [], history: [] });
    const first = await promote(1);
    expect([first.status, first.body]).toEqual([
      200,
      { model_id, alias: 'current', step: 1, previous_step: null, gate: null },
    ]);
    expect((await promote(2)).body.previous_step).toBe(1);
    expect((await promote(1)).body.previous_step).toBe(2);
    const seen = await aliases();
    expect(seen.aliases).toEqual([
      { alias: 'current', step: 1, moved_at: expect.any(String), moved_by: 'ada', by_hand: true },
    ]);
    expect(seen.history.map((move: any) => [move.previous_step, move.step, move.gate])).toEqual([
      [2, 1, null],
      [1, 2, null],
      [null, 1, null],
    ]);
    expect(
      (await actions()).map(({ action, detail }) => [action, detail.previous_step, detail.step]),
    ).toEqual(
      expect.arrayContaining([
        ['models.promote', null, 1],
        ['models.promote', 1, 2],
        ['models.roll_back', 2, 1],
      ]),
    );
  });

  it('changes nothing where the alias stands already', async () => {
    const { promote, aliases } = await aModelWith(1);
    await promote(1);
    expect((await promote(1)).body).toMatchObject({ step: 1, previous_step: 1 });
    expect((await aliases()).history).toHaveLength(1);
  });

  it('leaves no gap in the history when many promote at once', async () => {
    const { promote, aliases } = await aModelWith(3);
    const answers = await Promise.all(Array.from({ length: 12 }, (_, i) => promote((i % 3) + 1)));
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    const { history, aliases: now } = await aliases();
    const moves = history.toReversed() as { step: number; previous_step: number | null }[];
    let at: number | null = null;
    for (const { step, previous_step } of moves) {
      expect(previous_step).toBe(at);
      at = step;
    }
    expect(now[0].step).toBe(at);
    const moved = answers.filter(({ body }) => body.step !== body.previous_step);
    expect(moved).toHaveLength(moves.length);
  });

  it.each([
    ['neither by_hand nor a gate', {}],
    ['both', { by_hand: true, gate: gate() }],
    ['by_hand that is false', { by_hand: false }],
    ['a gate without a score', { gate: {} }],
    ['a gate with an unknown filter', { gate: gate({ filter: { op_name: ['a'] } }) }],
    ['a gate with an unknown field', { gate: gate({ pair_by: ['nothing.x'] }) }],
    ['a gate with the confidence 1', { gate: gate({ confidence: 1 }) }],
  ])('refuses %s', async (_, more) => {
    const { promote, aliases } = await aModelWith(1);
    const { status, body } = await promote(1, more);
    expect([status, body.code]).toEqual([400, 'invalid_request']);
    expect((await aliases()).aliases).toEqual([]);
  });

  it('finds no step that is not there, or was deleted', async () => {
    const { promote, model_id } = await aModelWith(2);
    expect((await promote(7)).status).toBe(404);
    await previewOf(app).call('DELETE', `/models/${model_id}/checkpoints`, { steps: [1] });
    expect((await promote(1)).status).toBe(404);
    expect((await promote(7, { gate: gate() })).status).toBe(404);
  });

  it('keeps a checkpoint that has an alias', async () => {
    const { promote, model_id, aliases } = await aModelWith(3);
    const remove = (steps: number[]) =>
      previewOf(app).call('DELETE', `/models/${model_id}/checkpoints`, { steps });
    await promote(1);
    const refused = await remove([2, 1]);
    expect([refused.status, refused.body.code]).toEqual([409, 'conflict']);
    expect(refused.body.detail).toContain('step 1 has the alias current');
    await promote(3);
    expect((await remove([2, 1])).body.deleted_count).toBe(2);
    expect((await aliases()).aliases).toMatchObject([{ step: 3 }]);
  });

  it('forgets the aliases of a model that is deleted', async () => {
    const { promote, model_id, project } = await aModelWith(1);
    await promote(1);
    await previewOf(app).call('DELETE', `/models/${model_id}`);
    expect((await promote(1)).status).toBe(404);
    for (const table of ['model_aliases', 'model_alias_moves'])
      expect(await app.query(`SELECT 1 FROM ${table} WHERE project_id = $1`, [project])).toEqual(
        [],
      );
  });

  it('finds no model of another project, whoever asks', async () => {
    const mine = await aModelWith(1);
    const theirs = await aModelWith(1);
    const key = await app.aKey('writer', [mine.project]);
    for (const [path, more] of [
      ['/models/promote', { step: 1, by_hand: true }],
      ['/models/gate', { step: 1, gate: gate() }],
      ['/models/aliases/query', {}],
    ] as const) {
      const body = { model_id: theirs.model_id, ...more };
      const crossed = await app.post(path, { project_id: mine.project, ...body }, { key });
      expect([path, crossed.status]).toEqual([path, 404]);
      const asAdmin = await app.post(path, { project_id: mine.project, ...body });
      expect([path, asAdmin.status]).toEqual([path, 404]);
      const named = await app.post(path, { project_id: theirs.project, ...body }, { key });
      expect([path, named.status]).toEqual([path, 403]);
    }
    expect((await theirs.aliases()).aliases).toEqual([]);
    const reader = await app.aKey('reader', [mine.project]);
    expect((await mine.post('/models/promote', { step: 1, by_hand: true }, reader)).status).toBe(
      403,
    );
  });
});

describe('/models/gate', () => {
  it('pairs calls by the content of their messages, and says what brute force says', async () => {
    const { project, post, promote, aliases, actions } = await aModelWith(1);
    const against = [0.2, 0.4, 0.6, 0.1, 0.5, 0.3, 0.9, 0.7];
    const better = [0.9, 0.6, 0.6, 0.8, 0.9, 0.6, 0.8, 0.95];
    await say(
      project,
      'm:step0',
      against.map((score, i) => ({ asks: `q${i}`, score })),
    );
    await say(
      project,
      'm:step1',
      better.map((score, i) => ({ asks: `q${i}`, score })),
    );
    // data that must not count: other models and steps, calls without a score, other feedback, rows of one side only
    await say(project, 'm:step10', [{ asks: 'q0', score: 0 }]);
    await say(project, 'other:step1', [{ asks: 'q0', score: 0 }]);
    await say(project, 'm:step1', [{ asks: 'q0' }, { asks: 'q1', score: 0, feedback: 'else' }]);
    await say(project, 'm:step1', [{ asks: 'only here', score: 0 }]);
    await say(project, 'm:step0', [{ asks: 'only there', score: 0 }, { asks: 'bare' }]);
    await say(project, 'm:step1', [{ asks: 'bare', score: 1 }]);

    const { status, body } = await post('/models/gate', { step: 1, gate: gate() });
    expect(status).toBe(200);
    expect(body).toMatchObject({
      passed: true,
      step: 1,
      against_step: 0,
      rows_paired: 8,
      rows_only_candidate: 1,
      rows_only_against: 1,
      rows_unscored: 1,
      calls_without_key: 0,
    });
    const differences = better.map((score, i) => score - against[i]!);
    const mean = (values: number[]) => values.reduce((a, b) => a + b, 0) / values.length;
    const { statistics } = body;
    expect(statistics.mean_candidate).toBeCloseTo(mean(better), 12);
    expect(statistics.mean_against).toBeCloseTo(mean(against), 12);
    expect(statistics.difference).toBeCloseTo(mean(differences), 12);
    expect(statistics.p_value).toBeCloseTo(signsOf(differences), 12);
    expect(statistics.test).toContain('exact');
    expect(statistics.source).toContain('Fisher');
    expect(statistics).toMatchObject({
      confidence: 0.95,
      rows_better: 6,
      rows_worse: 1,
      rows_equal: 1,
    });
    const [lo, hi] = statistics.interval;
    expect(lo).toBeGreaterThan(0);
    expect(lo).toBeLessThan(mean(differences));
    expect(hi).toBeGreaterThan(mean(differences));
    expect(body.rows.map((row: any) => row.difference)).toEqual(
      body.rows.map((row: any) => row.difference).toSorted((a: number, b: number) => a - b),
    );
    expect(body.rows[0]).toMatchObject({
      candidate: 0.8,
      against: 0.9,
      n_candidate: 1,
      n_against: 1,
    });
    expect(body.rows[0].key).toContain('q6');

    expect((await aliases()).aliases).toEqual([]); // a comparison stores nothing
    const again = await post('/models/gate', { step: 1, gate: gate() });
    expect(again.text).toBe(JSON.stringify(body));

    const promoted = await promote(1, { gate: gate() });
    expect([promoted.status, promoted.body.gate]).toEqual([200, body]);
    const [move] = (await aliases()).history;
    expect(move).toMatchObject({ step: 1, by_hand: false, gate: { passed: true, statistics } });
    const [event] = await actions();
    expect(event).toMatchObject({ action: 'models.promote', detail: { gate: { statistics } } });
  });

  it('averages the calls of a row, takes the latest score, and booleans as 1 and 0', async () => {
    const { project, post } = await aModelWith(1);
    await say(project, 'm:step0', [
      { asks: 'a', score: false },
      { asks: 'a', score: 1 },
      { asks: 'b', score: 0.25 },
    ]);
    await say(project, 'm:step1', [
      { asks: 'a', score: true },
      { asks: 'a', score: 'no number' },
      { asks: 'b', score: 0.5 },
      { asks: 'b', score: 1 },
    ]);
    const [first] = await app.query(
      `SELECT id FROM calls WHERE project_id = $1 AND inputs::text LIKE '%step0%' AND inputs::text LIKE '%"b"%'`,
      [project],
    );
    await app.post('/feedback/create', {
      project_id: project,
      svc_ref: `svc:///${project}/call/${first.id}`,
      feedback_type: 'judge',
      payload: { out: { score: 0.75 } },
    });
    const { body } = await post('/models/gate', { step: 1, gate: gate() });
    const rows = Object.fromEntries(
      body.rows.map((row: any) => [row.key.match(/"(a|b)"/)[1], row]),
    );
    expect(rows['a']).toMatchObject({ candidate: 1, against: 0.5, n_candidate: 1, n_against: 2 });
    expect(rows['b']).toMatchObject({
      candidate: 0.75,
      against: 0.75,
      n_candidate: 2,
      n_against: 1,
    });
  });

  it('takes the same content for the same, however it is spelled, and what only looks like JSON for text', async () => {
    const { project, post } = await aModelWith(1);
    const spelled = (json: string, model: string, id: string) =>
      `{"start":{"project_id":"${project}","id":"${id}","trace_id":"${id}","op_name":"chat","started_at":"2026-01-01T00:00:00Z","attributes":{},"inputs":{"model":"${model}","messages":${json}}}}`;
    const texts: [string, string, string][] = [
      ['[{"role":"user","content":"one"}]', '[ {"content": "one", "role": "user"} ]', '1'],
      ['"[no json"', '"[no json"', '2'],
      ['[{"role":"user","content":"a\\u0000b"}]', '[{"content":"a\\u0000b","role":"user"}]', '3'],
    ];
    for (const [one, other, id] of texts)
      for (const [step, json] of [one, other].entries()) {
        const call = `s${step}-${id}-${project}`.replace('/', '-');
        expect((await app.post('/call/start', spelled(json, `m:step${step}`, call))).status).toBe(
          200,
        );
        await app.post('/feedback/create', {
          project_id: project,
          svc_ref: `svc:///${project}/call/${call}`,
          feedback_type: 'judge',
          payload: { out: { score: step } },
        });
      }
    const { body } = await post('/models/gate', { step: 1, gate: gate() });
    expect([body.rows_paired, body.rows_only_candidate, body.rows_only_against]).toEqual([3, 0, 0]);
  });

  it('pairs by other fields, of the calls that a filter and a query choose', async () => {
    const { project, post } = await aModelWith(1);
    await say(project, 'm:step0', [
      { asks: 'x', score: 0, inputs: { top: { case: 1 } } },
      { asks: 'y', score: 0, inputs: { top: { case: 2 } } },
      { asks: 'z', score: 0 },
    ]);
    await say(project, 'm:step1', [
      { asks: 'other words', score: 1, inputs: { top: { case: 1 } } },
      { asks: 'y', score: 1, inputs: { top: { case: 2 } } },
    ]);
    const by = (more: object) =>
      post('/models/gate', { step: 1, gate: gate({ pair_by: ['inputs.top.case'], ...more }) });
    const all = await by({});
    expect(all.body).toMatchObject({ rows_paired: 2, calls_without_key: 1 });
    const query = {
      $expr: { $eq: [{ $getField: 'attributes.row' }, { $literal: 'y' }] },
    };
    expect((await by({ query })).body).toMatchObject({ rows_paired: 1 });
    expect((await by({ filter: { op_names: ['nothing'] } })).body).toMatchObject({
      rows_paired: 0,
    });
    expect((await by({ pair_by: ['inputs.top.case', 'attributes.row'] })).body).toMatchObject({
      rows_paired: 1,
      rows_only_candidate: 1,
    });
  });

  it('knows calls by the usage that was counted under the name of the step', async () => {
    const { project, post } = await aModelWith(1);
    const usage = (name: string) => ({ usage: { [name]: { prompt_tokens: 1 } } });
    await say(project, 'proxy', [{ asks: 'a', score: 0, summary: usage('m:step0') }]);
    await say(project, 'proxy', [{ asks: 'a', score: 1, summary: usage('m:step1') }]);
    const { body } = await post('/models/gate', { step: 1, gate: gate() });
    expect(body.rows_paired).toBe(1);
  });

  it('is compared with the step of current, unless another is named', async () => {
    const { project, post, promote } = await aModelWith(3);
    for (const step of [0, 1, 2, 3])
      await say(project, `m:step${step}`, [
        { asks: 'a', score: step },
        { asks: 'b', score: step },
      ]);
    await promote(1);
    const compared = async (more: object) =>
      (await post('/models/gate', { step: 3, gate: gate(), ...more })).body;
    expect((await compared({})).statistics).toMatchObject({ mean_against: 1, difference: 2 });
    expect((await compared({ against_step: 2 })).statistics.difference).toBe(1);
    expect((await post('/models/gate', { step: 1, gate: gate() })).status).toBe(400);
  });

  it.each<
    [string, { scores: [number, number][]; gate?: object; reason: string; statistics?: null }]
  >([
    ['no rows', { scores: [], reason: 'no rows are paired', statistics: null }],
    [
      'too few rows',
      {
        scores: [
          [0, 1],
          [0, 1],
        ],
        gate: { min_rows: 3 },
        reason: 'too few rows: 2',
      },
    ],
    ['a worse step', { scores: Array(8).fill([1, 0]), reason: 'not more than min_difference' }],
    ['an equal step', { scores: Array(8).fill([1, 1]), reason: 'not more than min_difference' }],
    [
      'a difference by chance',
      {
        scores: [
          [0, 1],
          [1, 0],
          [0, 1],
          [1, 0],
          [0, 1],
        ],
        reason: 'its interval begins',
      },
    ],
    [
      'few rows that are all better',
      { scores: Array(4).fill([0, 1]), reason: 'its p-value 0.125 is above 0.05' },
    ],
    [
      'a difference that is too small',
      { scores: Array(8).fill([0.5, 0.6]), gate: { min_difference: 0.2 }, reason: 'not more than' },
    ],
  ])(
    'is not passed by %s, moves nothing and says why',
    async (_, { scores, gate: more, reason, statistics }) => {
      const { project, promote, aliases } = await aModelWith(1);
      const side = (step: 0 | 1) => scores.map((pair, i) => ({ asks: `q${i}`, score: pair[step] }));
      if (scores.length > 0) {
        await say(project, 'm:step0', side(0));
        await say(project, 'm:step1', side(1));
      }
      const { status, body, headers } = await promote(1, { gate: gate(more) });
      expect([status, body.code, headers.get('x-should-retry')]).toEqual([
        409,
        'conflict',
        'false',
      ]);
      expect(body.gate).toMatchObject({ passed: false, rows_paired: scores.length });
      expect(body.gate.reason).toContain(reason);
      if (statistics === null) expect(body.gate.statistics).toBeNull();
      else expect(body.gate.statistics.p_value).toBeGreaterThan(0);
      expect(await aliases()).toEqual({ aliases: [], history: [] });
    },
  );

  it('lets a step pass that is not worse by more than it may', async () => {
    const { project, promote } = await aModelWith(1);
    const rows = Array.from({ length: 8 }, (_, i) => ({ asks: `q${i}`, score: 0.5 }));
    await say(project, 'm:step0', rows);
    await say(project, 'm:step1', rows);
    expect((await promote(1, { gate: gate({ min_difference: -0.1 }) })).status).toBe(200);
  });

  it('refuses more calls than it reads, before it pairs any', async () => {
    const { project, post } = await aModelWith(1);
    await say(project, 'm:step1', [{ asks: 'a', score: 1 }]);
    await app.query(
      `INSERT INTO calls (project_id, id, op_name, started_at, trace_id, attributes, inputs)
       SELECT project_id, 'copy ' || i, op_name, started_at, trace_id, attributes, inputs
       FROM calls, generate_series(1, 20000) i WHERE project_id = $1`,
      [project],
    );
    const { status, body } = await post('/models/gate', { step: 1, gate: gate() });
    expect([status, body.code]).toEqual([413, 'too_large']);
    expect(body.detail).toContain('more than 20000 calls');
  });

  it('moves nothing when the alias moved while it was at work', async () => {
    const { project, promote, aliases } = await aModelWith(2);
    const rows = (score: number) =>
      Array.from({ length: 30 }, (_, i) => ({ asks: `q${i}`, score: score + (i % 7) / 100 }));
    for (const step of [0, 1, 2]) await say(project, `m:step${step}`, rows(step));
    const answers = await Promise.all([
      promote(2, { gate: gate() }),
      promote(2, { gate: gate() }),
      promote(1),
    ]);
    const { history } = await aliases();
    // the manual move ends before a gate does; both gates may also have read the alias after it
    for (const { status, body } of answers.slice(0, 2))
      expect(status === 200 || body.detail.includes('the alias was moved')).toBe(true);
    const moves = history.toReversed() as {
      step: number;
      previous_step: number | null;
      gate: any;
    }[];
    let at: number | null = null;
    for (const { step, previous_step, gate: passed } of moves) {
      expect(previous_step).toBe(at);
      if (passed) expect(passed.against_step).toBe(at ?? 0);
      at = step;
    }
  });
});

describe('a tainted step', () => {
  it('is not promoted', async () => {
    const project = `acme/promotion-${++projects}`;
    const training = trainingOf(app, project);
    const model_id = await training.aModel('m');
    const [one, two] = [aPairOf('one'), aPairOf('two')];
    const { step } = await training.trained(model_id, [...one, ...two]);
    await training.purge([one[0]!.id]);
    const body = { project_id: project, model_id, step, by_hand: true };
    const { status, body: answer } = await app.post('/models/promote', body);
    expect([status, answer.code]).toEqual([409, 'conflict']);
    expect(answer.detail).toContain('purged');
  });
});
