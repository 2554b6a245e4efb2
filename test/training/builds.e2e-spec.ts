import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { basic, linesOf, useApp } from '../support/app.js';
import { until } from '../support/until.js';
import { previewOf } from '../support/preview.js';
import {
  aChoiceOf,
  aRecipe,
  assistant,
  feedbackOf,
  itemsOf,
  PROJECT,
  publish,
  record,
  type RolloutSpec,
  SCORER,
  toolAnswer,
  toolCall,
  user,
} from '../support/rollouts.js';
import { BuildsErasing } from '../../src/training/builds/builds-erasing.service.js';

const app = useApp({ RETENTION_INTERVAL_SECONDS: '1' });

let projects = 0;
const aProject = () => `acme/builds-${++projects}`;

const preview = async (project_id: string, body: object = {}) => {
  const answer = await app.post('/build/preview', { project_id, recipe: aRecipe(), ...body });
  if (answer.status !== 200) throw new Error(answer.text);
  return answer.body;
};

/** Two rollouts of a task with different answers and rewards. */
const aPair = (task = 't', second = 0): RolloutSpec[] => [
  { id: `${task}-a`, task, second, score: 1, asks: [{ messages: [user('2+2?')], content: '4' }] },
  { id: `${task}-b`, task, second, score: 0, asks: [{ messages: [user('2+2?')], content: '5' }] },
];

const create = async (project_id: string, recipe: object = aRecipe(), body: object = {}) => {
  const recipe_ref = await publish(app, recipe, { project: project_id });
  return app.post('/build/create', { project_id, recipe_ref, mode: 'all', ...body });
};

const exported = async (project_id: string, build_id: string, body: object = {}) =>
  app.post('/build/export', { project_id, build_id, format: 'art', ...body });

describe('/build/preview', () => {
  it('says what a build would be, and stores nothing', async () => {
    const project = aProject();
    await record(app, aPair(), project);
    const seen = await preview(project);
    expect(seen.counts).toEqual({
      units: 2,
      waiting: 0,
      unlabelled: 0,
      failed: 0,
      empty: 0,
      ungrouped: 0,
      dropped: 0,
      trajectories: 2,
      groups: 1,
      eval_groups: 0,
      trained_tokens: 2,
    });
    expect(seen.lints).toEqual([]);
    expect(seen.rewards).toMatchObject({ mean: 0.5, min: 0, max: 1, std_dev: 0.5 });
    expect(seen.facts).toMatchObject({
      models: { 'agent:step1': 2 },
      dialects: { openai: 2 },
      finish_reasons: { stop: 2 },
      group_sizes: { 2: 1 },
    });
    const [{ trajectories, metadata }] = seen.samples;
    expect(metadata).toEqual({ group_key: 'attributes.task_id=t', split: 'train' });
    expect(trajectories[0]).toMatchObject({
      messages_and_choices: [user('2+2?'), { message: { role: 'assistant', content: '4' } }],
      reward: 1,
      tools: null,
      additional_histories: [],
      metrics: { 'svc.runnable.score': 1 },
      metadata: { unit_id: 't-a', call_id: 't-a' },
      initial_policy_version: 1,
      start_time: '2026-01-01T00:00:00.000000Z',
    });
    const line = JSON.stringify(seen.samples[0]);
    expect(seen.digest).toBe(createHash('sha256').update(`${line}\n`).digest('hex'));
    expect(await app.query('SELECT 1 FROM builds WHERE project_id = $1', [project])).toEqual([]);
  });

  it.each([
    ['no reward', { version: 1 }, 'recipe.reward'],
    ['an unknown member', aRecipe({ groups: {} }), 'recipe.groups'],
    ['a mistyped member', aRecipe({ group: { buy: [] } }), 'recipe.group.buy'],
    [
      'a mistyped member of a filter',
      aRecipe({ select: { filter: { op_name: ['a'] } } }),
      'recipe.select.filter.op_name',
    ],
    ['an unknown lint', aRecipe({ lint: { typo: 'warn' } }), 'recipe.lint.typo'],
    ['an unknown rule', aRecipe({ lint: { too_long: 'stop' } }), 'recipe.lint.too_long'],
    [
      'a rule that is no number of steps',
      aRecipe({ lint: { stale_policy: { max_steps: -1, do: 'drop' } } }),
      'recipe.lint.stale_policy',
    ],
    [
      'a term with both map and scale',
      aRecipe({ reward: { sum: [{ feedback: 'f', path: 'p', map: {}, scale: [0, 1, 0, 1] }] } }),
      'recipe.reward.sum[0].scale',
    ],
    [
      'a mistyped member of a term',
      aRecipe({ reward: { sum: [{ feedback: 'f', path: 'p', wight: 1 }] } }),
      'recipe.reward.sum[0].wight',
    ],
    [
      'a filter of another shape',
      aRecipe({ select: { filter: { op_names: 1 } } }),
      'recipe.select.filter.op_names',
    ],
    ['a query that is none', aRecipe({ select: { query: { $expr: {} } } }), 'query.$expr'],
    [
      'the cost of calls, which changes with prices',
      aRecipe({ group: { by: ['summary.svc.total_cost'] } }),
      'recipe.group.by[0]',
    ],
    ['an unknown path', aRecipe({ group: { by: ['nothing.x'] } }), 'recipe.group.by[0]'],
    ['a limit over the limit', aRecipe({ select: { limit: 100_001 } }), 'recipe.select.limit'],
    ['a group that cannot be divided', aRecipe({ group: { min: 4, max: 6 } }), 'recipe.group.max'],
  ])('refuses a recipe with %s', async (_, recipe, path) => {
    const answer = await app.post('/build/preview', { project_id: PROJECT, recipe });
    expect([answer.status, answer.body.errors?.[0]?.path]).toEqual([400, path]);
  });

  it.each([
    ['neither recipe nor ref', {}],
    ['both', { recipe: aRecipe(), recipe_ref: 'svc:///acme/demo/object/r:v0' }],
    ['the ref of another project', { recipe_ref: 'svc:///acme/other/object/r:v0' }],
    ['the ref of an op', { recipe_ref: 'svc:///acme/demo/op/r:v0' }],
  ])('refuses %s', async (_, body) => {
    const answer = await app.post('/build/preview', { project_id: PROJECT, ...body });
    expect([answer.status, answer.body.code]).toEqual([400, 'invalid_request']);
  });

  it('finds no recipe that is not there', async () => {
    const recipe_ref = 'svc:///acme/demo/object/nothing:v0';
    const answer = await app.post('/build/preview', { project_id: PROJECT, recipe_ref });
    expect([answer.status, answer.body.code]).toEqual([404, 'not_found']);
  });

  it('leaves units for later that run, are young, or have no label', async () => {
    const project = aProject();
    const [a, b] = aPair() as [RolloutSpec, RolloutSpec];
    const now = { started_at: new Date().toISOString() };
    const young = { ...a, id: 'young', root: now, end: { ended_at: now.started_at } };
    await record(app, [a, b, { ...a, id: 'unlabelled', score: undefined }, young], project);
    const running = { project_id: project, id: 'running', op_name: 'r', started_at: '2026-01-01' };
    await app.post('/call/start', { start: running });
    const { counts, lints } = await preview(project);
    expect(counts).toMatchObject({ units: 5, waiting: 2, unlabelled: 1, trajectories: 2 });
    expect(lints).toEqual([
      { code: 'label_coverage', level: 'warning', count: 1, examples: ['unlabelled'] },
    ]);
  });
});

describe('what is too much', () => {
  const LONG = Array.from({ length: 7000 }, () => user('x'));

  it.each([
    ['messages', { messages: [...LONG, ...LONG] }],
    [
      'messages for its choices',
      {
        messages: [user('x'.repeat(500_000))],
        output: { choices: Array.from({ length: 120 }, () => aChoiceOf({})) },
      },
    ],
    [
      'tokens of a prompt for its choices',
      {
        messages: [user('x')],
        output: {
          prompt_token_ids: Array.from({ length: 80_000 }, (_, i) => 100_000 + i),
          choices: Array.from({ length: 120 }, () => aChoiceOf({})),
        },
      },
    ],
  ])('leaves a unit with too many %s out, and builds the others', async (_, ask) => {
    const project = aProject();
    const [good, bad] = aPair();
    await record(app, [good!, bad!, { id: 'long', task: 't', score: 1, asks: [ask] }], project);
    const seen = await preview(project);
    expect(seen.counts).toMatchObject({ units: 3, trajectories: 2, dropped: 1 });
    expect(seen.lints).toContainEqual(
      expect.objectContaining({ code: 'too_long', examples: ['long'] }),
    );
  });

  it('is a label of more than 2,048 bytes', async () => {
    const project = aProject();
    const map = { yes: 1, ['y'.repeat(2047)]: 1 };
    const recipe = aRecipe({ reward: { sum: [{ feedback: SCORER, path: 'output.score', map }] } });
    const [good] = aPair();
    const specs = Object.keys(map).map((score, i) => ({ ...good!, id: `r${i}`, score }));
    await record(app, specs, project);
    expect((await preview(project, { recipe })).counts).toMatchObject({ units: 2, unlabelled: 1 });
  });

  it('is said of a recipe with many unknown members, of the first ones', async () => {
    const unknown = Object.fromEntries(Array.from({ length: 150_000 }, (_, i) => [`m${i}`, 0]));
    const { status, body } = await app.post('/build/preview', {
      project_id: PROJECT,
      recipe: aRecipe({ select: unknown }),
    });
    expect(status).toBe(400);
    expect(body.errors).toHaveLength(20);
  });
});

describe('prefix merging', () => {
  const merged = async (asks: RolloutSpec['asks'], recipe: object = {}) => {
    const project = aProject();
    const [, other] = aPair() as [RolloutSpec, RolloutSpec];
    other.asks[0]!.messages = [asks[0]!.messages[0]!];
    await record(app, [{ id: 'r', task: 't', score: 1, asks }, other], project);
    const { samples, ...rest } = await preview(project, { recipe: aRecipe(recipe) });
    const trajectory = samples[0]?.trajectories.find((one: any) => one.metadata.unit_id === 'r');
    return { trajectory, ...rest };
  };
  const shape = (turns: any[]) =>
    turns.map((turn) => (turn.message ? `choice ${turn.message.content}` : turn.content));

  it('makes one history of calls that go on from each other, with tools in between', async () => {
    const call = assistant(null, { tool_calls: [toolCall('c1')] });
    const { trajectory, lints } = await merged([
      { messages: [user('look')], content: null, tool_calls: [toolCall('c1')] },
      // the client sends the answer back without `refusal`, with the arguments unchanged
      { messages: [user('look'), call, toolAnswer('c1')], content: 'done' },
    ]);
    expect(shape(trajectory.messages_and_choices)).toEqual([
      'look',
      'choice null',
      'seen',
      'choice done',
    ]);
    expect(trajectory.additional_histories).toEqual([]);
    expect(lints).toEqual([]);
  });

  it('opens a history of the same trajectory where calls fork, and trains each choice once', async () => {
    const first = [user('a')];
    const { trajectory } = await merged([
      { messages: first, content: 'one' },
      { messages: [...first, assistant('one'), user('b')], content: 'two' },
      { messages: [...first, assistant('one'), user('c')], content: 'three' },
      { messages: first, content: 'one' },
    ]);
    expect(shape(trajectory.messages_and_choices)).toEqual(['a', 'choice one', 'b', 'choice two']);
    expect(trajectory.additional_histories.map((h: any) => shape(h.messages_and_choices))).toEqual([
      ['a', 'one', 'c', 'choice three'],
      ['a', 'choice one'],
    ]);
  });

  it('drops a retry that failed, and keeps turns of other models as plain messages', async () => {
    const { trajectory } = await merged(
      [
        { messages: [user('a')], exception: 'timeout' },
        { messages: [user('a')], content: 'one', model: 'planner' },
        { messages: [user('a'), assistant('one'), user('b')], content: 'two' },
      ],
      { llm: { policy: 'agent' } },
    );
    expect(shape(trajectory.messages_and_choices)).toEqual(['a', 'one', 'b', 'choice two']);
  });

  it('does not join calls whose token ids do not', async () => {
    const ids = (prompt: number[], sampled: number[]) => ({
      output: { prompt_token_ids: prompt, usage: { prompt_tokens: 3, completion_tokens: 1 } },
      choice: { token_ids: sampled },
    });
    const asks = (second: number[]) => [
      { messages: [user('a')], content: 'one', ...ids([1, 2], [3]) },
      { messages: [user('a'), assistant('one'), user('b')], content: 'two', ...ids(second, [9]) },
    ];
    const joined = await merged(asks([1, 2, 3, 4]));
    expect(joined.trajectory.additional_histories).toEqual([]);
    const apart = await merged(asks([1, 2, 7, 4]));
    expect(apart.trajectory.additional_histories).toHaveLength(1);
    expect(apart.lints).toEqual([
      { code: 'tokens_not_prefix', level: 'warning', count: 1, examples: ['r.1'] },
    ]);
  });

  it('copies choices as they were stored, without what weave adds to objects', async () => {
    const project = aProject();
    const [, other] = aPair();
    await record(app, [other!], project);
    const choice = `{"index":0, "finish_reason":"stop","x":1.0,"message":{"_type":"M","_class_name":"M","_bases":[],"role":"assistant","content":"\\u00e9"},
      "logprobs":{"content":[{"token":"é","bytes":[195,169],"logprob":-0.10}]}}`;
    const ids = { project_id: project, trace_id: 'tr', started_at: '2026-01-01T00:00:00Z' };
    const root = { ...ids, id: 'r', op_name: 'rollout', attributes: { task_id: 't' } };
    const ask = {
      ...ids,
      id: 'r.0',
      parent_id: 'r',
      op_name: 'llm',
      inputs: { messages: [user('2+2?')] },
    };
    await app.post('/call/start', { start: root });
    await app.post('/call/start', { start: ask });
    const ended = '"ended_at":"2026-01-01T00:00:01Z"';
    await app.post(
      '/call/end',
      `{"end":{"project_id":"${project}","id":"r.0",${ended},"output":{"choices":[${choice}]}}}`,
    );
    await app.post('/call/end', `{"end":{"project_id":"${project}","id":"r",${ended}}}`);
    await app.post('/feedback/create', feedbackOf({ id: 'r', score: 1, asks: [] }, project));
    const answer = await app.post('/build/preview', {
      project_id: project,
      recipe: aRecipe({ lint: { mixed_policy: 'ignore' } }),
    });
    expect(answer.body.lints).toEqual([]);
    expect(answer.text).toContain(
      `{"index":0, "finish_reason":"stop","x":1.0,"message":{"role":"assistant","content":"\\u00e9"},       "logprobs":{"content":[{"token":"é","bytes":[195,169],"logprob":-0.10}]}}`,
    );
  });
});

describe('/build/create', () => {
  it('keeps the groups byte for byte, and makes the same of the same data', async () => {
    const project = aProject();
    await record(app, [...aPair('a'), ...aPair('b')], project);
    const { digest } = await preview(project);
    const first = await create(project, aRecipe(), { expected_digest: digest });
    expect(first.status).toBe(200);
    const again = await create(project);
    expect(again.body).toMatchObject({ digest, manifest_digest: first.body.manifest_digest });
    const { text } = await exported(project, again.body.build_id);
    const told = await app.post('/audit/query', {
      project_id: project,
      filter: { actions: ['build.export'] },
    });
    expect(told.body.events).toMatchObject([
      { target: again.body.build_id, detail: { format: 'art', split: 'all' } },
    ]);
    expect(createHash('sha256').update(text).digest('hex')).toBe(digest);
    // the hashes of the manifest can be computed by hand
    const inputs = await app.query<{ kind: string; id: string; sha256: string }>(
      'SELECT kind, id, sha256 FROM build_inputs WHERE build_id = $1 ORDER BY kind, id',
      [first.body.build_id],
    );
    expect(inputs).toHaveLength(12);
    const manifest = inputs.map(({ kind, id, sha256 }) => `${kind} ${id} ${sha256}\n`).join('');
    expect(first.body.manifest_digest).toBe(createHash('sha256').update(manifest).digest('hex'));
  });

  it('refuses another digest than the expected one', async () => {
    const project = aProject();
    await record(app, aPair(), project);
    const { status, body } = await create(project, aRecipe(), { expected_digest: 'x' });
    expect([status, body.code]).toEqual([409, 'conflict']);
    expect(await app.query('SELECT 1 FROM build_chunks WHERE project_id = $1', [project])).toEqual(
      [],
    );
  });

  it('refuses lints of level error unless they are accepted', async () => {
    const project = aProject();
    const [a, b] = aPair() as [RolloutSpec, RolloutSpec];
    a.asks[0]!.choice = { logprobs: null };
    await record(app, [a, b], project);
    const refused = await create(project);
    expect([refused.status, refused.body.code]).toEqual([400, 'lint_failed']);
    expect(refused.body.lints).toEqual([
      { code: 'logprobs_missing', level: 'error', count: 1, examples: ['t-a.0'] },
    ]);
    expect((await create(project, aRecipe(), { accept: ['logprobs_missing'] })).status).toBe(200);
  });

  it('makes one build of a request that is sent again under its key', async () => {
    const project = aProject();
    await record(app, aPair(), project);
    const recipe_ref = await publish(app, aRecipe(), { project });
    const send = () =>
      app.post(
        '/build/create',
        { project_id: project, recipe_ref, mode: 'all' },
        { headers: { 'idempotency-key': 'once' } },
      );
    const answers = [await send(), await send()];
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    expect(answers[1]!.body).toEqual(answers[0]!.body);
  });

  it('puts the evaluation side behind the training side, and no group on both', async () => {
    const project = aProject();
    const tasks = Array.from({ length: 20 }, (_, i) => `task ${i}`);
    const specs = tasks.flatMap((task) => aPair(task));
    for (const spec of specs) spec.asks[0]!.messages = [user(spec.task!)];
    await record(app, specs, project);
    const { body } = await create(project, aRecipe({ split: { salt: 's', eval_percent: 30 } }));
    const sides = async (split: string) => (await exported(project, body.build_id, { split })).text;
    const [train, evaluation, all] = [
      await sides('train'),
      await sides('eval'),
      await sides('all'),
    ];
    expect(all).toBe(train + evaluation);
    const keys = linesOf({ text: evaluation } as never).map(({ metadata }) => metadata.group_key);
    expect(keys.length).toBe(body.counts.eval_groups);
    expect(keys.length).toBeGreaterThan(0);
    expect(keys).toEqual(keys.toSorted());
    expect(body.lints).toEqual([]);
  });
});

describe('a build that is handed on', () => {
  it('becomes a training job and a log, once, and lineage goes round', async () => {
    const project = aProject();
    const [entity, name] = project.split('/');
    await record(app, [...aPair('a'), ...aPair('b'), ...aPair('c')], project);
    const { body } = await create(
      project,
      aRecipe({
        split: { salt: 'x1', eval_percent: 40 },
        lint: { train_eval_leak: 'warn' },
        train: { experimental_config: { learning_rate: 5e-6 } },
      }),
    );
    const trainer = previewOf(app);
    const model = await trainer.aModel({
      entity,
      project: name,
      name: 'agent',
      base_model: project,
    });
    const submit = () =>
      app.post('/build/submit', { project_id: project, build_id: body.build_id, model_id: model });
    const submitted = await submit();
    expect(submitted.status).toBe(200);
    const { job_id } = submitted.body;
    expect((await submit()).body).toEqual({ job_id });
    expect(await trainer.job(job_id)).toMatchObject({
      num_groups: body.counts.groups - body.counts.eval_groups,
      experimental_config: { learning_rate: 5e-6 },
    });
    expect(body.counts.eval_groups).toBeGreaterThan(0);
    expect((await trainer.checkpoints(model))[0].metrics).toMatchObject({
      'eval/num_groups': body.counts.eval_groups,
    });

    const { body: claimed } = await trainer.claim({ base_models: [project] });
    const payload = await trainer.payload(job_id, claimed.lease_token);
    const { gunzipSync } = await import('node:zlib');
    const { text } = await exported(project, body.build_id, { split: 'train' });
    expect(gunzipSync(payload).toString()).toBe(text);
    await trainer.start(job_id, claimed.lease_token);
    await trainer.complete(job_id, claimed.lease_token);

    // agent:step1 made the calls of the build
    const checkpoint = { type: 'checkpoint', model_id: model, model: 'agent', step: 1 };
    const build = { type: 'build', id: body.build_id };
    const job = { type: 'job', id: job_id };
    const call = { type: 'call', id: 'a-a.0' };
    const round = [
      { from: call, to: build },
      { from: build, to: job },
      { from: job, to: checkpoint },
      { from: checkpoint, to: call },
    ];
    for (const query of [
      { call_ids: ['a-a.0'] },
      { build_id: body.build_id },
      { job_id },
      { model_id: model, step: 1 },
    ]) {
      const { body: lineage } = await app.post('/lineage/query', { project_id: project, ...query });
      expect(lineage.edges).toEqual(expect.arrayContaining(round));
    }
    const ofFeedback = await app.post('/lineage/query', {
      project_id: project,
      feedback_ids: ['score of a-a'],
    });
    expect(ofFeedback.body.edges).toContainEqual({
      from: { type: 'feedback', id: 'score of a-a' },
      to: build,
    });
    const { body: listed } = await app.post('/builds/query', { project_id: project });
    expect(listed.builds).toMatchObject([
      { id: body.build_id, jobs: [{ job_id, status: 'succeeded', step: 1 }], erased_at: null },
    ]);

    // units that a job of this recipe and model has trained are not new
    const rest = await create(project, aRecipe(), { mode: 'new' });
    expect(rest.body.counts.units).toBe(0);
    expect((await create(project)).body.counts.units).toBe(6);

    // a deleted call removes the groups of its builds
    await app.post('/calls/delete', { project_id: project, call_ids: ['a-a'] });
    const { body: after } = await app.post('/builds/query', {
      project_id: project,
      filter: { is_erased: true },
    });
    expect(after.builds[0]).toMatchObject({ id: body.build_id, digest: body.digest });
    expect(after.builds[0].jobs[0].erased_at).not.toBeNull();
    expect((await exported(project, body.build_id)).status).toBe(409);
    for (const table of ['build_chunks', 'body_chunks', 'trajectories'])
      expect(await app.query(`SELECT 1 FROM ${table} WHERE project_id = $1`, [project])).toEqual(
        [],
      );
  });

  it.each([
    [{}],
    [{ call_ids: ['a'], job_id: '01900000-0000-7000-8000-000000000000' }],
    [{ step: 1 }],
  ])('says what a lineage query needs: %j', async (query) => {
    const { status } = await app.post('/lineage/query', { project_id: PROJECT, ...query });
    expect(status).toBe(400);
  });

  it('is not found in another project', async () => {
    const project = aProject();
    await record(app, aPair(), project);
    const { body } = await create(project);
    const other = await exported(aProject(), body.build_id);
    expect(other.status).toBe(404);
  });
});

describe('exports that nobody reads', () => {
  const opened: IncomingMessage[] = [];
  afterEach(() => {
    for (const response of opened.splice(0)) response.destroy();
  });

  it('hold no more than a few groups, and give way to a key that waits', async () => {
    const project = aProject();
    const long = [user('x'.repeat(3 * 1024 * 1024))];
    const specs = ['t1', 't2', 't3', 't4'].flatMap((task) =>
      aPair(task).map((spec) => ({ ...spec, asks: [{ messages: long }] })),
    );
    await record(app, specs, project);
    const { body } = await create(project);
    const unread = async (key: string) => {
      const headers = { authorization: basic(key), 'content-type': 'application/json' };
      const sent = request(`${app.url}/build/export`, { method: 'POST', headers });
      sent.end(JSON.stringify({ project_id: project, build_id: body.build_id, format: 'art' }));
      const [response] = (await once(sent, 'response')) as [IncomingMessage];
      opened.push(response.on('error', () => {}));
      return response;
    };
    const [one, other, third] = [app.key, await app.aKey('reader'), await app.aKey('reader')];
    const many = [await unread(one), await unread(one)];
    const others = [await unread(other), await unread(third)]; // the last one waits until another stream is cut
    const isWhole = async (response: IncomingMessage) => {
      await new Promise((resolve) => response.resume().once('close', resolve));
      return response.complete;
    };
    const whole = await Promise.all(many.map(isWhole));
    expect(whole.toSorted()).toEqual([false, true]);
    expect(await Promise.all(others.map(isWhole))).toEqual([true, true]);

    for (const response of [await unread(one), await unread(one)]) response.destroy();
    expect((await exported(project, body.build_id)).status).toBe(200); // streams that were abandoned hold no slot
  });
});

describe('what is erased', () => {
  const ways: [string, (project: string) => Promise<unknown>][] = [
    ['purged', (project_id) => app.post('/calls/purge', { project_id, call_ids: ['t-a'] })],
    [
      'purged by a filter',
      (project_id) => app.post('/calls/purge', { project_id, filter: { op_names: ['rollout'] } }),
    ],
    [
      'swept by the retention of calls',
      (project_id) => app.post('/retention/set', { project_id, calls_days: 1 }),
    ],
    [
      'without its payload, by retention',
      (project_id) => app.post('/retention/set', { project_id, payload_days: 1 }),
    ],
  ];

  it.each(ways)('takes the groups of builds along when a call is %s', async (_, erase) => {
    const project = aProject();
    await record(app, aPair(), project);
    const { body } = await create(project);
    const [entity, name] = project.split('/');
    const model_id = await previewOf(app).aModel({ entity, project: name });
    const submit = { project_id: project, build_id: body.build_id, model_id };
    const { job_id } = (await app.post('/build/submit', submit)).body;
    // the starts are before the current time of any machine
    await app.query(
      `UPDATE calls SET started_at = '2020-01-01', ended_at = '2020-01-01' WHERE project_id = $1`,
      [project],
    );
    await erase(project);
    await until(async () => (await exported(project, body.build_id)).status === 409);
    expect((await app.post('/build/submit', submit)).status).toBe(409);
    const { builds } = (await app.post('/builds/query', { project_id: project })).body;
    expect(builds[0]).toMatchObject({ digest: body.digest, erased_at: expect.any(String) });
    expect(builds[0].jobs).toMatchObject([
      { job_id, status: 'cancelled', erased_at: expect.any(String) },
    ]);
    for (const table of ['build_chunks', 'body_chunks', 'trajectories'])
      expect(await app.query(`SELECT 1 FROM ${table} WHERE project_id = $1`, [project])).toEqual(
        [],
      );
  });

  const emptied = `inputs = '{}', attributes = '{}', output = NULL`;
  it.each([
    ['deleted', 'deleted_at = now()', 't-a', 409],
    ['without its payload', emptied, 't-a', 409],
    ['without its payload, as it was before', emptied, 't-b', 200],
  ])('while a build is made, is found when a call is %s', async (_, change, id, status) => {
    const project = aProject();
    await record(app, [aPair()[0]!, { ...aPair()[1]!, root: { attributes: {} } }], project);
    const { body } = await create(project, aRecipe({ group: { by: ['prompt'] } }));
    expect(body.counts.trajectories).toBe(2);
    // simulates a change that was committed after the build had read the call
    await app.query(`UPDATE calls SET ${change} WHERE project_id = $1 AND id = $2`, [project, id]);
    await app.app.get(BuildsErasing).forgetGone(project, body.build_id);
    expect((await exported(project, body.build_id)).status).toBe(status);
  });
});

describe('units', () => {
  const project_id = 'acme/units';
  beforeAll(async () => {
    const thread = { thread_id: 'conversation' };
    const turn = (
      id: string,
      second: number,
      messages: object[],
      content: string,
    ): RolloutSpec => ({
      id,
      second,
      score: second,
      root: { ...thread, turn_id: id, op_name: 'turn' },
      asks: [{ messages, content }],
    });
    const first = [user('hello')];
    const [a, b] = aPair('pair');
    const scored = { op_name: 'Judge.score' };
    const judged: RolloutSpec = {
      id: 'judged',
      score: 1,
      second: 20,
      asks: [{ messages: [user('2+2?')], content: '4' }],
    };
    await record(
      app,
      [
        turn('turn 1', 1, first, 'hi'),
        turn('turn 2', 2, [...first, assistant('hi'), user('more')], 'no'),
        a!,
        b!,
        judged,
      ],
      project_id,
    );
    const common = { project_id, trace_id: 'trace-judged', started_at: '2026-01-01T00:00:20.5Z' };
    const batch = [
      { ...common, id: 'scorer', parent_id: 'judged', ...scored },
      {
        ...common,
        id: 'asked by the scorer',
        parent_id: 'scorer',
        op_name: 'llm',
        inputs: { model: 'judge', messages: [user('is it right?')] },
      },
      // an instrumentation that wraps another one
      {
        ...common,
        id: 'wrapper',
        parent_id: 'judged',
        op_name: 'llm',
        inputs: { messages: [user('2+2?')] },
      },
      {
        ...common,
        id: 'wrapped',
        parent_id: 'wrapper',
        op_name: 'llm',
        inputs: { messages: [user('3+3?')] },
      },
    ].flatMap((start) => {
      const output = { choices: [{ index: 0, message: assistant(start.id), logprobs: null }] };
      const end = { project_id, id: start.id, ended_at: '2026-01-01T00:00:21Z', output };
      return [
        { mode: 'start', req: { start } },
        { mode: 'end', req: { end } },
      ];
    });
    await app.post('/call/upsert_batch', { batch });
    const several = itemsOf(
      {
        id: 'n',
        asks: [
          {
            messages: [user('pick')],
            output: {
              choices: ['x', 'y', 'z'].map((content, index) => ({
                ...aChoiceOf({ content }),
                index,
              })),
            },
          },
        ],
      },
      project_id,
    );
    await app.post('/call/upsert_batch', { batch: several });
    const scores = { id: 'n.0', score: [0, 0.5, 1], asks: [] };
    await app.post('/feedback/create', feedbackOf(scores, project_id));
  });

  const seen = async (recipe: object) =>
    preview(project_id, { recipe: aRecipe({ group: { min: 1 }, ...recipe }), samples: 20 });
  const told = ({ messages_and_choices: turns }: any) =>
    turns.map((turn: any) => turn.message?.content ?? turn.content);

  it('are the turns of a thread, in their order', async () => {
    const { samples, counts } = await seen({ select: { unit: 'thread' } });
    expect(counts).toMatchObject({ units: 1, trajectories: 1 });
    const [trajectory] = samples[0].trajectories;
    expect(told(trajectory)).toEqual(['hello', 'hi', 'more', 'no']);
    expect(trajectory).toMatchObject({ metadata: { unit_id: 'conversation', call_id: 'turn 1' } });
  });

  it('are turns', async () => {
    const { counts } = await seen({ select: { unit: 'turn' } });
    expect(counts).toMatchObject({ units: 2, trajectories: 2 });
  });

  it('are calls, whose choices are a group of their own', async () => {
    const { samples, counts } = await seen({
      select: { unit: 'call', filter: { call_ids: ['n.0'] } },
      group: { by: ['prompt'] },
    });
    expect(counts).toMatchObject({ units: 1, trajectories: 3, groups: 1 });
    expect(samples[0].trajectories.map((one: any) => [told(one).at(-1), one.reward])).toEqual([
      ['x', 0],
      ['y', 0.5],
      ['z', 1],
    ]);
  });

  it('have no call of a scorer in them, and of calls around calls the inner ones', async () => {
    const { samples } = await seen({ select: { filter: { call_ids: ['judged'] } } });
    const [trajectory] = samples[0].trajectories;
    expect(told(trajectory)).toEqual(['2+2?', '4']);
    expect(trajectory.additional_histories.map(told)).toEqual([['3+3?', 'wrapped']]);
  });

  it('are the newest, as many as the limit says, of the time between two instants', async () => {
    const ids = async (select: object) =>
      (await seen({ select })).samples
        .flatMap(({ trajectories }: any) => trajectories.map((one: any) => one.metadata.unit_id))
        .toSorted();
    expect(await ids({ limit: 1 })).toEqual(['judged']);
    const between = { since: '2026-01-01T00:00:01Z', until: '2026-01-01T00:00:20Z' };
    expect(await ids(between)).toEqual(['turn 1', 'turn 2']);
    expect(
      await ids({ query: { $expr: { $eq: [{ $getField: 'op_name' }, { $literal: 'turn' }] } } }),
    ).toEqual(['turn 1', 'turn 2']);
  });

  it('take calls by the names of their ops', async () => {
    const of = async (llm: object) => (await seen({ llm, select: { limit: 5 } })).counts.empty;
    expect(await of({ op_names: ['nothing'] })).toBe(5);
    expect(await of({ op_names: ['svc:///acme/demo/op/openai.chat.completions.create:*'] })).toBe(
      0,
    );
    expect(
      await of({
        exclude_op_names: ['svc:///acme/demo/op/openai.chat.completions.create:*', 'llm'],
      }),
    ).toBe(5);
  });
});
