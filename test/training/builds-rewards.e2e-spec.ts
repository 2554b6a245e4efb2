import { startApp, type TestApp } from '../support/app.js';
import { alone, buildsOf } from '../support/builds.js';
import { aRecipe, assistant, record, type RolloutSpec, user } from '../support/rollouts.js';

let app: TestApp;
beforeAll(async () => (app = await startApp()));
afterAll(() => app.close());
const { aProject, preview, build, exported } = buildsOf(() => app, 'rewards');

describe('several rewards', () => {
  const score = (project: string, call: string, value: number, id = `${call} ${value}`) =>
    app.post('/feedback/create', {
      project_id: project,
      id,
      svc_ref: `svc:///${project}/call/${call}`,
      feedback_type: 'stars',
      payload: { n: value },
    });
  const stars = (more: object = {}, reward: object = {}) => ({
    reward: { sum: [{ feedback: 'stars', path: 'n', ...more }], ...reward },
    group: { min: 1 },
  });

  it.each([
    ['last', 2],
    ['sum', 6],
    ['mean', 2],
    ['max', 3],
  ])('of a name are taken as the recipe says: %s', async (take, reward) => {
    const project = aProject();
    await record(app, [{ ...alone([undefined])[0]! }], project);
    for (const value of [1, 3, 2]) await score(project, 'r0', value);
    const seen = await preview(project, stars({ take }));
    expect(seen.samples[0].trajectories[0].reward).toBe(reward);
    expect(seen.lints.map(({ code }: any) => code)).toEqual(
      take === 'last' ? ['zero_variance', 'reward_conflict'] : ['zero_variance'],
    );
  });

  /** Records two turns of a thread, each with one call of a model. */
  const conversation = async () => {
    const project = aProject();
    const turn = (
      id: string,
      second: number,
      messages: object[],
      content: string,
    ): RolloutSpec => ({
      id,
      second,
      root: { thread_id: 'talk', turn_id: id, op_name: 'turn' },
      asks: [{ messages, content }],
    });
    const first = [user('a')];
    await record(
      app,
      [turn('t1', 1, first, 'one'), turn('t2', 2, [...first, assistant('one'), user('b')], 'two')],
      project,
    );
    return project;
  };
  const trained = ({ messages_and_choices: turns }: any) =>
    turns.flatMap(({ message }: any) => (message ? [message.content] : []));

  it('credit the turns that they are on', async () => {
    const project = await conversation();
    await score(project, 't1', 0);
    await score(project, 't2', 5);
    const recipe = stars({}, { credit: 'turn' });
    const seen = await preview(project, { ...recipe, select: { unit: 'thread' } });
    const found = seen.samples[0].trajectories;
    expect(
      found.map((one: any) => [trained(one), one.messages_and_choices.length, one.reward]),
    ).toEqual([
      [['one'], 2, 0],
      [['two'], 4, 5],
    ]);
    expect(found[1].messages_and_choices[1]).toMatchObject({ role: 'assistant', content: 'one' });
    expect(found.map(({ metadata }: any) => metadata.scored_call_id)).toEqual(['t1', 't2']);
    expect(seen.counts).toMatchObject({ units: 1, trajectories: 2, trained_tokens: 2 });
    const whole = await preview(project, { ...stars({ take: 'sum' }), select: { unit: 'thread' } });
    expect(whole.samples[0].trajectories.map((one: any) => [trained(one), one.reward])).toEqual([
      [['one', 'two'], 5],
    ]);
  });

  it('leave turns without a score untrained', async () => {
    const project = await conversation();
    await score(project, 't2', 5);
    const recipe = { ...stars({}, { credit: 'turn' }), select: { unit: 'thread' } };
    const { samples } = await preview(project, recipe);
    expect(samples[0].trajectories.map(trained)).toEqual([['two']]);
  });

  it.each([
    ['turn', [['one', 1]]],
    [
      'thread',
      [
        ['one', 1],
        ['two', 1],
      ],
    ],
  ])('are inherited by calls from their %s', async (inherit, seen) => {
    const project = await conversation();
    await score(project, 't1', 1);
    const recipe = {
      ...stars({}, { inherit }),
      select: { unit: 'call', filter: { call_ids: ['t1.0', 't2.0'] } },
    };
    const { samples } = await preview(project, recipe, { samples: 5 });
    const found = samples.flatMap(({ trajectories }: any) =>
      trajectories.map((one: any) => [trained(one)[0], one.reward]),
    );
    expect(found.toSorted()).toEqual(seen);
  });

  it('are not inherited by units that have all their calls', async () => {
    const recipe = aRecipe(stars({}, { inherit: 'turn' }));
    const { status, body } = await app.post('/build/preview', { project_id: aProject(), recipe });
    expect([status, body.errors[0].path]).toEqual([400, 'recipe.reward.inherit']);
  });
});

describe('the sides of a split', () => {
  const sidesOf = async (project: string, recipe: object) => {
    const { status, body, text } = await build(project, { group: { min: 1 }, ...recipe });
    if (status !== 200) throw new Error(text);
    const { rows } = await exported(project, body.build_id, 'art');
    return rows.flatMap(({ trajectories, metadata }: any) =>
      trajectories.map((one: any) => [one.metadata.unit_id, metadata.split]),
    );
  };

  it.each([
    ['thread', (i: number) => ({ thread_id: `thread ${i % 10}` })],
    ['user', (i: number) => ({ attributes: { task_id: `task ${i}`, user_id: `u${i % 10}` } })],
    ['attributes.team', (i: number) => ({ attributes: { task_id: `task ${i}`, team: i % 10 } })],
  ])('never share a %s, whatever the salt', async (by, root) => {
    const project = aProject();
    const specs = alone(Array.from({ length: 40 }, (_, i) => i % 2)).map((spec, i) => ({
      ...spec,
      root: { attributes: { task_id: `task ${i}` }, ...root(i) },
    }));
    await record(app, specs, project);
    for (const salt of ['a', 'b', 'c']) {
      const sides = await sidesOf(project, { split: { salt, by, eval_percent: 40 } });
      expect(new Set(sides.map(([, side]: any) => side)).size).toBe(2);
      const bySharer = new Map<number, Set<string>>();
      for (const [unit, side] of sides) {
        const sharer = Number(unit.slice(1)) % 10;
        bySharer.set(sharer, (bySharer.get(sharer) ?? new Set()).add(side));
      }
      expect([...bySharer.values()].map(({ size }) => size)).toEqual(Array(10).fill(1));
    }
  });

  it('keep groups whole that a thread joins', async () => {
    const project = aProject();
    // a chain of threads: tasks 0 and 1 share one, tasks 1 and 2 the next, and so on
    const specs = Array.from({ length: 8 }, (_, i) => i).flatMap((i) =>
      [i, i + 1].map((thread): RolloutSpec => ({
        id: `r${i}.${thread}`,
        score: thread % 2,
        root: { attributes: { task_id: `task ${i}` }, thread_id: `thread ${thread}` },
        asks: [{ messages: [user(`question ${i}`)], content: `answer ${thread}` }],
      })),
    );
    await record(app, specs, project);
    const sides = await sidesOf(project, { split: { salt: 'a', by: 'thread', eval_percent: 50 } });
    expect(new Set(sides.map(([, side]: any) => side)).size).toBe(1);
  });

  it('say which field a split cannot be read by', async () => {
    const recipe = aRecipe({ split: { by: 'nothing.x' } });
    const { status, body } = await app.post('/build/preview', { project_id: aProject(), recipe });
    expect([status, body.errors[0].path]).toEqual([400, 'recipe.split.by']);
  });
});
