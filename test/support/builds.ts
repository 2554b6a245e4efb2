import { type Answer, linesOf, type TestApp } from './app.js';
import { aRecipe, publish, record, type RolloutSpec } from './rollouts.js';

/** Operations on recipes and builds of an app. A test gives only the parts of a recipe that differ from `aRecipe`. */
export function buildsOf(app: () => Pick<TestApp, 'post'>, name: string) {
  let projects = 0;
  const aProject = () => `acme/${name}-${++projects}`;
  const preview = async (project_id: string, recipe: object, more: object = {}): Promise<any> => {
    const body = { project_id, recipe: aRecipe(recipe), ...more };
    const answer = await app().post('/build/preview', body);
    if (answer.status !== 200) throw new Error(answer.text);
    return answer.body;
  };
  const build = async (
    project_id: string,
    recipe: object = {},
    more: object = {},
  ): Promise<Answer> => {
    const recipe_ref = await publish(app(), aRecipe(recipe), { project: project_id });
    return app().post('/build/create', { project_id, recipe_ref, mode: 'all', ...more });
  };
  const exported = async (project_id: string, build_id: string, format: string) => {
    const answer = await app().post('/build/export', { project_id, build_id, format });
    if (answer.status !== 200) throw new Error(answer.text);
    const lints = JSON.parse(answer.headers.get('x-build-lints')!);
    return { rows: linesOf(answer), text: answer.text, lints };
  };
  /** Records rollouts, builds them, and exports the build in a format. */
  const made = async (specs: RolloutSpec[], format: string, recipe: object = {}) => {
    const project = aProject();
    await record(app(), specs, project);
    const { status, body, text } = await build(project, recipe);
    if (status !== 200) throw new Error(text);
    return { ...(await exported(project, body.build_id, format)), project, build: body };
  };
  return { aProject, preview, build, exported, made };
}

/** Rollouts of one call, each with a different prompt, as in production. */
export const alone = (scores: unknown[]): RolloutSpec[] =>
  scores.map((score, i) => ({
    id: `r${i}`,
    task: `task ${i}`,
    score,
    asks: [{ messages: [{ role: 'user', content: `question ${i}` }], content: `answer ${i}` }],
  }));
