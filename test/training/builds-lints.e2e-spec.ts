import { linesOf, startApp, type TestApp } from '../support/app.js';
import { previewOf } from '../support/preview.js';
import {
  aRecipe,
  assistant,
  feedbackOf,
  publish,
  record,
  type RolloutSpec,
  spelled,
  toolAnswer,
  toolCall,
  user,
} from '../support/rollouts.js';

const CODES = [
  'logprobs_missing',
  'logprobs_incomplete',
  'tokens_not_prefix',
  'sampling_not_policy',
  'zero_variance',
  'small_group',
  'mixed_prompt',
  'mixed_tools',
  'mixed_policy',
  'stale_policy',
  'train_eval_leak',
  'duplicate',
  'too_long',
  'truncated',
  'failures_excluded',
  'label_coverage',
  'reward_conflict',
  'reward_nan',
  'tool_call_orphan',
  'tool_args_reserialised',
] as const;
const ERRORS = ['logprobs_missing', 'logprobs_incomplete', 'train_eval_leak', 'reward_nan'];

/** A group of two valid rollouts, `good` and `bad`, with a prompt of its own. */
function aGroup(task: string): [RolloutSpec, RolloutSpec] {
  const messages = [user(`what of ${task}?`)];
  const model = 'agent:step8';
  return [
    { id: `${task}.good`, task, score: 1, asks: [{ messages, content: 'right', model }] },
    { id: `${task}.bad`, task, score: 0, asks: [{ messages, content: 'wrong', model }] },
  ];
}

/** Adds the fault of a lint to a group, and returns an example that the lint should report. */
type Plant = (
  good: RolloutSpec,
  bad: RolloutSpec,
) => { more?: RolloutSpec[]; example?: string; isAlone?: true };

const tokens = (prompt: number[], sampled: number[]) => ({
  output: { prompt_token_ids: prompt },
  choice: { token_ids: sampled, logprobs: { content: spelled('abcd').content } },
});
const tool = (name: string) => [{ type: 'function', function: { name, parameters: {} } }];

/** Makes a rollout of two calls; the first one calls a tool. */
const withTool = (good: RolloutSpec, then: object[], args = '{"x": 1}') => {
  const [ask] = good.asks as [RolloutSpec['asks'][0]];
  const calls = [toolCall('c', args)];
  const sent = assistant(null, { tool_calls: [toolCall('c', '{"x":1}')] });
  good.asks = [
    { ...ask, content: null, tool_calls: calls, choice: { logprobs: spelled('call') } },
    { ...ask, messages: [...ask.messages, sent, ...then] },
  ];
  return { example: `${good.id}.1` };
};

const PLANTS: Record<(typeof CODES)[number], Plant> = {
  logprobs_missing: (good) => {
    good.asks[0]!.choice = { logprobs: null };
    return { example: `${good.id}.0` };
  },
  // weave keeps only the last token of a stream
  logprobs_incomplete: (good) => {
    good.asks[0]!.choice = { logprobs: { content: spelled('right').content.slice(-1) } };
    return { example: `${good.id}.0` };
  },
  tokens_not_prefix: (good) => {
    const [ask] = good.asks as [RolloutSpec['asks'][0]];
    const next = [...ask.messages, assistant('abcd'), user('and?')];
    good.asks = [
      { ...ask, content: 'abcd', ...tokens([1, 2], [3]) },
      { ...ask, content: 'abcd', messages: next, ...tokens([1, 2, 4, 5], [6]) },
    ];
    return { example: `${good.id}.1` };
  },
  sampling_not_policy: (good) => {
    good.asks[0]!.inputs = { temperature: 0.7 };
    return { example: `${good.id}.0` };
  },
  zero_variance: (_, bad) => {
    bad.score = 1;
    return { example: bad.id };
  },
  small_group: (good) => ({ example: good.id, isAlone: true }),
  mixed_prompt: (_, bad) => {
    bad.asks[0]!.messages = [user('something else?')];
    return { example: bad.id };
  },
  mixed_tools: (good, bad) => {
    good.asks[0]!.inputs = { tools: tool('one') };
    bad.asks[0]!.inputs = { tools: tool('two') };
    return { example: bad.id };
  },
  mixed_policy: (_, bad) => {
    bad.asks[0]!.model = 'agent:step9';
    return { example: bad.id };
  },
  stale_policy: (good, bad) => {
    bad.asks[0]!.model = 'agent:step1';
    good.asks[0]!.model = 'agent:step1'; // otherwise the two rollouts would also have different steps
    return { example: `${good.id}.0` };
  },
  train_eval_leak: () => ({}),
  duplicate: (good, bad) => {
    bad.asks[0]!.content = 'right';
    return { example: good.id };
  },
  too_long: (good, bad) => {
    good.asks[0]!.output = { usage: { prompt_tokens: 40_000, completion_tokens: 2 } };
    const third = { ...bad, id: 'too_long.third', score: 0.5 };
    third.asks = [{ ...bad.asks[0]!, content: 'nearly' }];
    return { more: [third], example: `${good.id}.0` };
  },
  truncated: (good) => {
    good.asks[0]!.choice = { finish_reason: 'length' };
    return { example: `${good.id}.0` };
  },
  failures_excluded: (good) => {
    const third = { ...good, id: 'failures_excluded.third', end: { exception: 'boom' } };
    return { more: [third], example: third.id };
  },
  label_coverage: (good) => {
    const third = { ...good, id: 'label_coverage.third', score: undefined };
    return { more: [third], example: third.id };
  },
  reward_conflict: (good) => ({ example: good.id }),
  reward_nan: (good) => {
    const third = { ...good, id: 'reward_nan.third', score: 'high' };
    return { more: [third], example: third.id };
  },
  tool_call_orphan: (good) => withTool(good, [user('never mind')], '{"x":1}'),
  tool_args_reserialised: (good) => withTool(good, [toolAnswer('c')]),
};

describe('lints', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp();
    const [entity, name] = project.split('/');
    const model = await previewOf(app).aModel({ entity, project: name, name: 'agent' });
    await app.query(
      `INSERT INTO checkpoints (project_id, model_id, step, id) VALUES ($1, $2, 8, gen_random_uuid())`,
      [project, model],
    );
  });
  afterAll(() => app.close());
  const project = 'acme/lints';
  const examples: Partial<Record<string, string | undefined>> = {};
  const recipe = (lint: object = {}, select: object = {}) =>
    aRecipe({
      select,
      llm: { policy: 'agent' },
      split: { salt: 'a', eval_percent: 50 },
      lint: { stale_policy: { max_steps: 4, do: 'warn' }, small_group: 'drop', ...lint },
    });
  const preview = async (lint: object = {}, select: object = {}) => {
    const body = { project_id: project, recipe: recipe(lint, select), samples: 0 };
    const answer = await app.post('/build/preview', body);
    if (answer.status !== 200) throw new Error(answer.text);
    return answer.body;
  };

  it('are each found once where they were planted, and nowhere else', async () => {
    const specs: RolloutSpec[] = [];
    for (const code of CODES) {
      if (code === 'train_eval_leak') continue;
      const [good, bad] = aGroup(code);
      const { more = [], example, isAlone } = PLANTS[code](good, bad);
      examples[code] = example;
      specs.push(good, ...(isAlone ? [] : [bad]), ...more);
    }
    await record(app, specs, project);
    const second = { id: 'a second opinion', payload: { output: { score: 0.5 } } };
    const [conflict] = aGroup('reward_conflict');
    await app.post('/feedback/create', feedbackOf(conflict, project, second));
    // puts one thread on both sides: two tasks whose hashes fall on different sides
    const sides: Record<string, RolloutSpec[]> = {};
    for (let i = 0; Object.keys(sides).length < 2; i++) {
      const group = aGroup(`leak ${i}`);
      const probe = { project_id: `${project}-${i}`, recipe: recipe(), samples: 1 };
      await record(app, group, probe.project_id);
      const { body } = await app.post('/build/preview', probe);
      sides[body.samples[0].metadata.split] ??= group;
    }
    for (const side of Object.values(sides)) side[0]!.root = { thread_id: 'both sides' };
    await record(app, Object.values(sides).flat(), project);
    examples['train_eval_leak'] = sides['eval']![0]!.id;

    const { lints } = await preview();
    expect(lints.map(({ code, level, count }: any) => ({ code, level, count }))).toEqual(
      CODES.map((code) => ({
        code,
        level: ERRORS.includes(code) ? 'error' : 'warning',
        count: code === 'stale_policy' ? 2 : 1,
      })),
    );
    for (const code of CODES)
      expect([code, lints.find((lint: any) => lint.code === code).examples]).toEqual([
        code,
        expect.arrayContaining([examples[code]]),
      ]);
  });

  it.each(['error', 'warn', 'drop', 'ignore'] as const)(
    'do as the recipe says: %s',
    async (does) => {
      const { counts, lints } = await preview({ truncated: does });
      const { counts: usual } = await preview();
      const found = lints.find(({ code }: any) => code === 'truncated');
      const shown = { count: 1, examples: ['truncated.good.0'], code: 'truncated' };
      expect(found).toEqual(
        {
          error: { ...shown, level: 'error' },
          warn: { ...shown, level: 'warning' },
          drop: { ...shown, level: 'warning', is_dropped: true },
          ignore: undefined,
        }[does],
      );
      // the other rollout of its group is then alone
      const dropped = does === 'drop' ? 1 : 0;
      expect(counts.dropped).toBe(usual.dropped + dropped);
      expect(counts.ungrouped).toBe(usual.ungrouped + dropped);
      expect(counts.trajectories).toBe(usual.trajectories - 2 * dropped);
    },
  );

  it('account for every unit', async () => {
    const { counts } = await preview({ zero_variance: 'drop', duplicate: 'drop' });
    const { waiting, unlabelled, failed, empty, ungrouped, dropped, trajectories } = counts;
    expect(counts.units).toBe(
      waiting + unlabelled + failed + empty + ungrouped + dropped + trajectories,
    );
  });

  it('of an export are told in a header, or refuse it', async () => {
    const project_id = `${project}-exports`;
    const [good, bad] = aGroup('tie 軽😀');
    await record(app, [good, { ...bad, score: 1 }, ...aGroup('apart')], project_id);
    const exported = async (lint: object, format: string) => {
      const recipe_ref = await publish(app, aRecipe({ lint }), { project: project_id });
      const build = { project_id, recipe_ref, mode: 'all' };
      const { body } = await app.post('/build/create', build);
      return app.post('/build/export', { project_id, build_id: body.build_id, format });
    };
    const dpo = await exported({}, 'trl-dpo');
    expect(JSON.parse(dpo.headers.get('x-build-lints')!)).toEqual([
      { code: 'dpo_tie', level: 'warning', count: 1, examples: ['tie 軽😀.bad'] },
    ]);
    expect(linesOf(dpo)).toHaveLength(1);
    const kto = await exported({}, 'trl-kto');
    expect(JSON.parse(kto.headers.get('x-build-lints')!)).toEqual([
      { code: 'kto_imbalance', level: 'warning', count: 2, examples: [] },
    ]);
    const refused = await exported({ dpo_tie: 'error' }, 'openai-dpo');
    expect([refused.status, refused.body.code]).toEqual([400, 'lint_failed']);
  });
});
