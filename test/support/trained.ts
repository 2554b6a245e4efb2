import type { TestApp } from './app.js';
import { previewOf } from './preview.js';
import { aRecipe, publish, record, type RolloutSpec, user } from './rollouts.js';

let names = 0;

/** Two rollouts of a task with new ids. The op of their roots is the name of the task. */
export function aPairOf(task: string): RolloutSpec[] {
  return [1, 0].map((score) => ({
    id: `${task}-${score}-${++names}`,
    task,
    score,
    root: { op_name: task },
    asks: [{ messages: [user(`do ${task}`)], content: `${score} ${names}` }],
  }));
}

/**
 * Trains models of a project on rollouts, with a trainer that does no work. A build selects rollouts by the op of the
 * root.
 */
export function trainingOf(app: TestApp, project: string) {
  const { call, claim, start, complete } = previewOf(app);
  const post = async (path: string, body: object): Promise<any> => {
    const answer = await app.post(path, { project_id: project, ...body });
    if (answer.status !== 200) throw new Error(`${path}: ${answer.text}`);
    return answer.body;
  };
  const base_model = `trained base ${++names}`;

  /** Records rollouts, builds them and queues a job for the build. */
  async function submitted(model_id: string, rollouts: RolloutSpec[]) {
    await record(app, rollouts, project);
    const op_names = [...new Set(rollouts.map(({ task }) => task!))];
    const recipe = aRecipe({ select: { settle_s: 0, filter: { op_names } } });
    const recipe_ref = await publish(app, recipe, { project, name: `recipe-${++names}` });
    const { build_id } = await post('/build/create', { recipe_ref, mode: 'all' });
    const { job_id } = await post('/build/submit', { build_id, model_id });
    return { build_id: build_id as string, job_id: job_id as string };
  }

  /** Claims and starts the next job of the project's models. */
  async function claimed() {
    const { body } = await claim({ base_models: [base_model] });
    const { job_id, lease_token: lease, parent } = body;
    await start(job_id, lease);
    const finish = async () => (await complete(job_id, lease)).body as { step: number };
    return { job_id: job_id as string, lease: lease as string, parent, finish };
  }

  return {
    post,
    submitted,
    claimed,
    aModel: async (name: string): Promise<string> => {
      const [entity, short] = project.split('/');
      const body = { entity, project: short, name, base_model };
      return (await call('POST', '/models', body)).body.id;
    },
    /** Makes a step that was trained on the rollouts. */
    trained: async (model_id: string, rollouts: RolloutSpec[]) => {
      const job = await submitted(model_id, rollouts);
      const { finish } = await claimed();
      return { ...job, ...(await finish()) };
    },
    purge: (call_ids: string[]) => post('/calls/purge', { call_ids }),
  };
}
