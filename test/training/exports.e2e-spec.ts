import { gunzipSync } from 'node:zlib';
import { startApp, type TestApp } from '../support/app.js';
import { alone, buildsOf } from '../support/builds.js';
import { previewOf } from '../support/preview.js';
import {
  aRecipe,
  assistant,
  record,
  type RolloutSpec,
  spelled,
  toolAnswer,
  toolCall,
  user,
} from '../support/rollouts.js';

let app: TestApp;
beforeAll(async () => (app = await startApp()));
afterAll(() => app.close());

const { aProject, preview, build, made } = buildsOf(() => app, 'exports');

/** A prompt and an answer with all token ids. */
const ids = (sent: number[], sampled: number[]) => ({
  output: {
    prompt_token_ids: sent,
    usage: { prompt_tokens: sent.length, completion_tokens: sampled.length },
  },
  choice: {
    token_ids: sampled,
    logprobs: { content: sampled.map((id) => ({ token: `token_id:${id}`, logprob: -0.5 })) },
  },
});
const exactRollout = (id: string, score: number, last: string): RolloutSpec => ({
  id,
  score,
  asks: [
    { messages: [user('a')], content: 'one', ...ids([1, 2], [3]) },
    {
      messages: [user('a'), assistant('one'), user('b')],
      content: last,
      ...ids([1, 2, 3, 4, 5], [6, 7]),
    },
  ],
});
const exactPair = () => [exactRollout('good', 1, 'right'), exactRollout('bad', 0, 'wrong')];

describe('tokens that were recorded', () => {
  const tokensOf = ({ trajectories }: any) =>
    trajectories.map(({ messages_and_choices: turns }: any) =>
      turns.flatMap(({ message, prompt_token_ids: sent, token_ids }: any) =>
        message ? [[sent, token_ids]] : [],
      ),
    );

  it('are in each choice for ART, and in the payload of a job', async () => {
    const {
      rows,
      project,
      build: built,
    } = await made(exactPair(), 'art', {
      build: { token_exact: true },
    });
    const turns = [
      [[1, 2], [3]],
      [
        [1, 2, 3, 4, 5],
        [6, 7],
      ],
    ];
    expect(tokensOf(rows[0])).toEqual([turns, turns]);
    expect(built.counts.trained_tokens).toBe(6);
    const [entity, name] = project.split('/');
    const trainer = previewOf(app);
    const model_id = await trainer.aModel({ entity, project: name, base_model: project });
    const submit = { project_id: project, build_id: built.build_id, model_id };
    const { job_id } = (await app.post('/build/submit', submit)).body;
    const { body: claimed } = await trainer.claim({ base_models: [project] });
    const payload = gunzipSync(await trainer.payload(job_id, claimed.lease_token)).toString();
    expect(tokensOf(JSON.parse(payload))).toEqual([turns, turns]);
  });

  it.each([
    ['of the prompt', (spec: RolloutSpec) => delete (spec.asks[1]!.output as any).prompt_token_ids],
    ['of the answer', (spec: RolloutSpec) => delete (spec.asks[1]!.choice as any).token_ids],
  ])('are asked for by token_exact: a unit without those %s is refused', async (_, take) => {
    const project = aProject();
    const [good, bad] = exactPair() as [RolloutSpec, RolloutSpec];
    take(good);
    await record(app, [good, bad, exactRollout('third', 0.5, 'so so')], project);
    const recipe = { build: { token_exact: true } };
    const refused = await build(project, recipe);
    expect([refused.status, refused.body.code]).toEqual([400, 'lint_failed']);
    const found = { code: 'token_inexact', count: 1, examples: ['good.1'] };
    expect(refused.body.lints).toContainEqual({ ...found, level: 'error' });
    const accepted = await build(project, recipe, {
      accept: ['token_inexact', 'logprobs_incomplete'],
    });
    expect(accepted.body.counts).toMatchObject({ trajectories: 2, dropped: 1 });
    expect((await preview(project, {})).counts.trajectories).toBe(3);
  });
});

describe('preference pairs', () => {
  const withTool = (id: string, score: number, call: string, end: string): RolloutSpec => ({
    id,
    score,
    asks: [
      { messages: [user('look')], content: null, tool_calls: [toolCall(call)] },
      {
        messages: [
          user('look'),
          assistant(null, { tool_calls: [toolCall(call)] }),
          toolAnswer(call),
        ],
        content: end,
      },
    ],
  });

  it.each(['openai-dpo', 'trl-dpo', 'tinker-preference'])(
    'differ in what %s trains, whatever ids the tool calls have',
    async (format) => {
      const specs = [withTool('good', 1, 'call_x', 'right'), withTool('bad', 0, 'call_y', 'wrong')];
      const { rows, lints } = await made(specs, format);
      const [row] = rows;
      const { comparison } = row;
      const sides = [
        row.chosen ?? row.preferred_output ?? comparison.completion_A,
        row.rejected ?? row.non_preferred_output ?? comparison.completion_B,
      ];
      expect(sides).toEqual([
        [{ role: 'assistant', content: 'right' }],
        [{ role: 'assistant', content: 'wrong' }],
      ]);
      expect(lints).toEqual([]);
    },
  );

  it('that say the same are left out with a lint', async () => {
    const same = [withTool('good', 1, 'call_x', 'same'), withTool('bad', 0, 'call_y', 'same')];
    const { rows, lints } = await made(same, 'trl-dpo');
    expect(rows).toEqual([]);
    expect(lints).toEqual([{ code: 'dpo_same', level: 'warning', count: 1, examples: ['good'] }]);
  });
});

describe('unique prompts', () => {
  it('need no groups where the build is for SFT or KTO, and the preview names what RL lacks', async () => {
    const project = aProject();
    await record(app, alone([1, -1, 1]), project);
    const rl = await preview(project, {});
    expect(rl.counts).toMatchObject({ trajectories: 0, ungrouped: 3 });
    expect(rl.hint).toEqual({ setting: 'group.min', value: 1, units: 3 });
    expect((await preview(project, { group: { min: 1 } })).counts.trajectories).toBe(3);
    for (const purpose of ['sft', 'kto']) {
      const { counts, hint } = await preview(project, { purpose });
      expect([counts.trajectories, hint]).toEqual([3, null]);
    }
    expect(
      (await preview(project, { purpose: 'sft', group: { min: 2 } })).counts.trajectories,
    ).toBe(0);
  });

  it.each([
    [{ select: { settle_s: 31_536_000 } }, { setting: 'select.settle_s', value: 0, units: 3 }],
    [
      { reward: { sum: [{ feedback: 'other', path: 'x' }] } },
      { setting: 'reward.missing', value: 0, units: 3 },
    ],
    [{ llm: { policy: 'nobody' } }, { setting: 'llm.policy', value: null, units: 3 }],
    [
      { group: { by: ['attributes.nothing'] } },
      { setting: 'group.by', value: ['attributes.nothing', 'prompt'], units: 3 },
    ],
    [{ select: { filter: { op_names: ['nothing'] } } }, { setting: 'select', value: {}, units: 0 }],
  ])('preview of %j names the one setting that would change the outcome', async (recipe, hint) => {
    const project = aProject();
    const specs = alone([1, 0, 1]).map((spec) => {
      const now = new Date().toISOString();
      return {
        ...spec,
        root: { attributes: { task_id: spec.id }, started_at: now },
        end: { ended_at: now },
      };
    });
    await record(app, specs, project);
    const seen = await preview(project, { purpose: 'sft', select: { settle_s: 0 }, ...recipe });
    expect(seen.hint).toEqual(hint);
  });

  it('are labelled for KTO by the sign of their reward, or a threshold', async () => {
    const labels = ({ rows }: { rows: any[] }) => rows.map(({ label }) => label);
    const signed = await made(alone([1, -1, 0]), 'trl-kto', { purpose: 'kto' });
    expect(labels(signed)).toEqual([true, false]);
    expect(signed.lints).toEqual([
      { code: 'kto_unsigned', level: 'warning', count: 1, examples: ['r2'] },
    ]);
    const recipe = { purpose: 'kto', reward: { ...aRecipe().reward, threshold: 0.5 } };
    const judged = await made(alone([1, -1, 0, 0.4]), 'trl-kto', recipe);
    expect(labels(judged)).toEqual([true, false, false, false]);
    expect(judged.lints).toEqual([
      { code: 'kto_imbalance', level: 'warning', count: 2, examples: [] },
    ]);
  });
});

describe('streams', () => {
  const chunk = (delta: object, more: object = {}) => ({ choices: [{ index: 0, delta, ...more }] });
  /** A rollout of two turns whose second answer is stored as a client streams it. */
  const streamed = (id: string, score: number, answer: unknown): RolloutSpec => ({
    id,
    score,
    asks: [
      { messages: [user('a')], content: 'one' },
      { messages: [user('a'), assistant('one'), user('b')], output: answer as object },
    ],
  });
  /** Records the output unchanged, because `itemsOf` would merge it with defaults. */
  const recordOutput = async (specs: RolloutSpec[], project: string, output: unknown) => {
    const items = specs.map(({ id }) => ({
      project_id: project,
      id: `${id}.1`,
      ended_at: '2026-01-01T00:00:05Z',
      output,
    }));
    const started = specs.map((spec) => ({ ...spec, asks: [spec.asks[0]!] }));
    await record(app, started, project);
    const batch = specs.flatMap(({ id, asks }, i) => [
      {
        mode: 'start',
        req: {
          start: {
            project_id: project,
            id: `${id}.1`,
            trace_id: `trace-${id}`,
            parent_id: id,
            op_name: 'llm',
            started_at: '2026-01-01T00:00:00.5Z',
            inputs: { model: 'agent:step1', messages: asks[1]!.messages },
          },
        },
      },
      { mode: 'end', req: { end: items[i] } },
    ]);
    const { status } = await app.post('/call/upsert_batch', { batch });
    expect(status).toBe(200);
  };
  const specs = () => [streamed('good', 1, {}), streamed('bad', 0, {})];

  it('are put together', async () => {
    const project = aProject();
    const { content } = spelled('two!');
    await recordOutput(specs(), project, [
      chunk({ role: 'assistant', content: '' }),
      chunk({ content: 'two' }, { logprobs: { content } }),
      chunk({ content: '!' }, { finish_reason: 'stop' }),
    ]);
    const { samples, lints, counts } = await preview(project, { lint: { duplicate: 'ignore' } });
    expect(lints).toEqual([]);
    expect(counts).toMatchObject({ trajectories: 2, trained_tokens: 4 });
    const turns = samples[0].trajectories[0].messages_and_choices;
    expect(turns.at(-1)).toMatchObject({ message: { content: 'two!' }, finish_reason: 'stop' });
  });

  it('and requests in another form are counted where their instrumentation says what they are', async () => {
    const project = aProject();
    const ids = { project_id: project, trace_id: 'trace-r0', started_at: '2026-01-01T00:00:00.5Z' };
    await record(app, alone([1]), project);
    const start = {
      ...ids,
      id: 'responses',
      parent_id: 'r0',
      op_name: 'openai.responses.create',
      attributes: { weave: { kind: 'llm' } },
      inputs: { model: 'agent', input: 'and?' },
    };
    const end = {
      project_id: project,
      id: 'responses',
      ended_at: '2026-01-01T00:00:01Z',
      output: { output: [] },
    };
    await app.post('/call/upsert_batch', {
      batch: [
        { mode: 'start', req: { start } },
        { mode: 'end', req: { end } },
      ],
    });
    const { lints } = await preview(project, { purpose: 'sft' });
    expect(lints.map(({ code, examples }: any) => [code, examples])).toEqual([
      ['call_unread', ['responses']],
      ['scored_call_unread', ['r0']],
    ]);
  });

  it('that cannot be read are counted, and their unit is left out: the score is of that turn', async () => {
    const project = aProject();
    await recordOutput(specs(), project, 'two!');
    const { lints, counts } = await preview(project, {});
    expect(counts).toMatchObject({ units: 2, dropped: 2, trajectories: 0 });
    expect(lints).toContainEqual({
      code: 'call_unread',
      level: 'warning',
      count: 2,
      examples: ['bad.1', 'good.1'],
    });
    expect(lints).toContainEqual({
      code: 'scored_call_unread',
      level: 'warning',
      count: 2,
      examples: ['bad', 'good'],
    });
  });
});

describe('arguments of a tool call that were recorded as ""', () => {
  const called = (id: string, score: number, sent: string, end: string): RolloutSpec => ({
    id,
    score,
    asks: [
      { messages: [user('look')], content: null, tool_calls: [toolCall('c', '')] },
      {
        messages: [
          user('look'),
          assistant(null, { tool_calls: [toolCall('c', sent)] }),
          toolAnswer('c'),
        ],
        content: end,
      },
    ],
  });

  it('are taken from the next request, with a lint', async () => {
    const specs = [called('good', 1, '{"x": 1.0}', 'right'), called('bad', 0, '{"x": 2}', 'wrong')];
    const { rows, build: built } = await made(specs, 'art');
    const args = rows[0].trajectories.map(
      ({ messages_and_choices: turns }: any) => turns[1].message.tool_calls[0].function.arguments,
    );
    expect(args).toEqual(['{"x": 2}', '{"x": 1.0}']);
    expect(rows[0].trajectories[0].additional_histories).toEqual([]);
    expect(built.lints).toEqual([
      { code: 'tool_args_healed', level: 'warning', count: 2, examples: ['bad.0', 'good.0'] },
    ]);
  });
});

it('numbers are exported to TRL as they were recorded', async () => {
  const args = '{"id": 12345678901234567890, "share": 10.0}';
  const specs = [0, 1].map((score): RolloutSpec => ({
    id: `r${score}`,
    score,
    asks: [{ messages: [user('look')], content: null, tool_calls: [toolCall('c', args)] }],
  }));
  const { text } = await made(specs, 'trl-sft', { lint: { duplicate: 'ignore' } });
  expect(text).toContain(`"arguments":${args}`);
});
