import type { TestApp } from '../support/app.js';
import {
  fresh,
  onlyProject,
  type Operation,
  reads,
  type Sent,
  withBody,
  writes,
} from '../support/operation-rows.js';
import type { Planted } from '../support/planted.js';
import { aPairOf, trainingOf } from '../support/trained.js';

/** Makes a model with a step that was trained on two pairs of rollouts, one of which has been purged. */
async function aTaintedStep({ project, marker }: Planted, app: TestApp): Promise<Sent> {
  const training = trainingOf(app, project);
  const model_id = await training.aModel(fresh());
  const rollouts = [...aPairOf(`${fresh()} ${marker}`), ...aPairOf(`${fresh()} ${marker}`)];
  const { step } = await training.trained(model_id, rollouts);
  await training.purge(rollouts.slice(2).map(({ id }) => id));
  return { body: { project_id: project, model_id, step } };
}

export const buildsOperations: Record<string, Operation> = {
  'POST /build/preview': reads(
    withBody(({ recipeRef }) => ({ recipe_ref: recipeRef, samples: 20 })),
  ),
  'POST /build/create': writes(
    withBody(({ recipeRef }) => ({ recipe_ref: recipeRef, mode: 'all' })),
    { changes: ['builds'] },
  ),
  'POST /build/submit': writes(
    withBody(({ build, model }) => ({ build_id: build, model_id: model })),
    { changes: ['jobs'] },
  ),
  'POST /build/export': reads(withBody(({ build }) => ({ build_id: build, format: 'art' }))),
  'POST /builds/query': reads(onlyProject),
  'POST /lineage/query': reads(withBody(({ build }) => ({ build_id: build }))),
  'POST /lineage/retrain': writes(aTaintedStep, {
    changes: ['builds', 'jobs'],
    harmless: 'the job that was queued before is answered',
  }),
};
