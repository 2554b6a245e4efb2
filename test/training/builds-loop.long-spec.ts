import { useApp } from '../support/app.js';
import { Policy, randomOf, ROLLOUTS, TASKS } from '../support/policy.js';
import { linesOfGzip, previewOf } from '../support/preview.js';
import { aRecipe, publish, record, type RolloutSpec } from '../support/rollouts.js';

const ROUNDS = 12;
const SEED = 7919;

const meanOf = (specs: RolloutSpec[]) =>
  specs.reduce((sum, { score }) => sum + (score as number), 0) / specs.length;

/** Shuffles the scores among the rollouts. */
function shuffled(specs: RolloutSpec[], random: () => number): RolloutSpec[] {
  const scores = specs.map(({ score }) => score);
  for (let i = scores.length - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1));
    [scores[i], scores[j]] = [scores[j], scores[i]];
  }
  return specs.map((spec, i) => ({ ...spec, score: scores[i] }));
}

describe('the loop', () => {
  const app = useApp();

  /** Repeats the loop: record rollouts and scores, build, submit a job, train one step, sample with the new policy. */
  async function loop(
    project: string,
    label: typeof shuffled = (specs) => specs,
  ): Promise<number[]> {
    const [entity, name] = project.split('/');
    const trainer = previewOf(app);
    const model = await trainer.aModel({
      entity,
      project: name,
      name: 'tiny',
      base_model: project,
    });
    const recipe_ref = await publish(
      app,
      aRecipe({ llm: { policy: 'tiny' }, group: { by: ['attributes.task_id'] } }),
      { project },
    );
    const random = randomOf(SEED);
    const policy = new Policy(random);
    const means: number[] = [];
    for (let round = 0; ; round++) {
      const specs = Array.from({ length: TASKS * ROLLOUTS }, (_, i) =>
        policy.rollout(i % TASKS, `r${round}-${i}`, 60 * round + i),
      );
      means.push(meanOf(specs));
      if (round === ROUNDS) return means;
      await record(app, label(specs, random), project);
      const build = { project_id: project, recipe_ref, mode: 'new' };
      const { status, body: built, text } = await app.post('/build/create', build);
      if (status !== 200) throw new Error(text);
      expect(built.counts).toMatchObject({ units: specs.length, groups: TASKS });
      const submit = { project_id: project, build_id: built.build_id, model_id: model };
      const { job_id } = (await app.post('/build/submit', submit)).body;
      const { body: claimed } = await trainer.claim({ base_models: [project] });
      expect(claimed.job_id).toBe(job_id);
      const payload = await trainer.payload(job_id, claimed.lease_token);
      policy.train(linesOfGzip(payload).map((line) => JSON.parse(line)));
      await trainer.start(job_id, claimed.lease_token);
      policy.step = (await trainer.complete(job_id, claimed.lease_token)).body.step;
    }
  }

  it('trains a policy on what it recorded', async () => {
    const project = 'loop/trained';
    const means = await loop(project);
    expect(means[0]).toBeLessThan(0.3);
    expect(means.at(-1)).toBeGreaterThanOrEqual(0.8);

    // follows the lineage from a call over its build and job to the checkpoint, and to the calls that it made
    const about = async (query: object) =>
      (await app.post('/lineage/query', { project_id: project, ...query })).body.edges;
    const next = (edges: any[], from: object) =>
      edges.find((edge) => JSON.stringify(edge.from) === JSON.stringify(from)).to;
    const edges = await about({ call_ids: ['r3-5.0'] });
    const job = next(edges, next(edges, { type: 'call', id: 'r3-5.0' }));
    const checkpoint = next(edges, job);
    expect(checkpoint).toMatchObject({ type: 'checkpoint', model: 'tiny', step: 4 });
    const made = await about({ model_id: checkpoint.model_id, step: checkpoint.step });
    const ids = made
      .filter((edge: any) => edge.from.type === 'checkpoint')
      .map((e: any) => e.to.id);
    expect(ids).toHaveLength(2 * TASKS * ROLLOUTS);
    expect(ids.every((id: string) => id.startsWith('r4-'))).toBe(true);
  });

  it('learns nothing from shuffled rewards', async () => {
    const means = await loop('loop/shuffled', shuffled);
    expect(means.at(-1)).toBeLessThan(0.5);
  });

  it('learns nothing without training', () => {
    const policy = new Policy(randomOf(SEED));
    const specs = Array.from({ length: 512 }, (_, i) => policy.rollout(i % TASKS, `${i}`, i));
    expect(meanOf(specs)).toBeLessThan(0.5);
  });
});
