import type { TestApp } from './app.js';
import { previewOf } from './preview.js';
import { aRecipe, publish, record, type RolloutSpec, user } from './rollouts.js';

let names = 0;

/** Two rollouts of a task, with ids of their own. Their roots have the op that is the task. */
export function aPairOf(task: string): RolloutSpec[] {
  return [1, 0].map((score) => ({
    id: `${task}-${score}-${++names}`,
    task,
    score,
    root: { op_name: task },
    asks: [{ messages: [user(`do ${task}`)], content: `${score} ${names}` }],
  }));
}

/** Builds of the rollouts whose root has one of the ops, for a model of the project, trained by a trainer who does nothing. */
export function trainingOf(app: TestApp, project: string) {
  const { call, claim, start, complete } = previewOf(app);
  const post = async (path: string, body: object): Promise<any> => {
    const answer = await app.post(path, { project_id: project, ...body });
    if (answer.status !== 200) throw new Error(`${path}: ${answer.text}`);
    return answer.body;
  };
  const base_model = `base ${++names}`;
  return {
    post,
    base_model,
    async aModel(name = `m${names}`): Promise<string> {
      const [entity, short] = project.split('/');
      const body = { entity, project: short, name, base_model };
      return (await call('POST', '/models', body)).body.id;
    },
    /** A recipe that takes these ops, published. */
    aRecipeOf: (...tasks: string[]) =>
      publish(app, aRecipe({ select: { settle_s: 0, filter: { op_names: tasks } } }), {
        project,
        name: `recipe-${++names}`,
      }),
    async submitted(model_id: string, rollouts: RolloutSpec[]) {
      await record(app, rollouts, project);
      const recipe_ref = await this.aRecipeOf(...new Set(rollouts.map(({ task }) => task!)));
      const { build_id } = await post('/build/create', { recipe_ref, mode: 'all' });
      const { job_id } = await post('/build/submit', { build_id, model_id });
      return { build_id, job_id } as { build_id: string; job_id: string };
    },
    /** The next job of the model, claimed and started. */
    async claimed() {
      const { body } = await claim({ base_models: [base_model] });
      await start(body.job_id, body.lease_token);
      return {
        job_id: body.job_id as string,
        parent: body.parent,
        finish: async () =>
          (await complete(body.job_id, body.lease_token)).body as { step: number },
        lease: body.lease_token as string,
      };
    },
    /** A step that was trained on the rollouts. */
    async trained(model_id: string, rollouts: RolloutSpec[]) {
      const submitted = await this.submitted(model_id, rollouts);
      const { finish } = await this.claimed();
      return { ...submitted, ...(await finish()) };
    },
    purge: (call_ids: string[]) => post('/calls/purge', { call_ids }),
  };
}
