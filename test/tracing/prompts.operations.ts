import {
  fresh,
  onlyProject,
  type Operation,
  reads,
  withBody,
  writes,
} from '../support/operation-rows.js';
import type { TestApp } from '../support/app.js';
import type { Planted } from '../support/planted.js';

const NAME = 'planted/prompt';

/** Stores the marker of a project as a prompt of production. */
export const aPrompt = ({ project, marker }: Planted, app: TestApp, name = NAME) =>
  app.post('/prompts/create', {
    project_id: project,
    name,
    prompt: marker,
    labels: ['production'],
  });

export const promptsOperations: Record<string, Operation> = {
  'POST /prompts/create': writes(
    withBody(() => ({ name: 'written', prompt: fresh() })),
    { changes: ['objects'] },
  ),
  'POST /prompts/get': { ...reads(withBody(() => ({ name: NAME }))), plant: aPrompt },
  'POST /prompts/query': {
    ...reads(onlyProject),
    plant: (planted, app) => aPrompt(planted, app, planted.marker),
  },
  'POST /prompts/labels/set': writes(
    async (planted, app) => {
      const name = fresh();
      await aPrompt(planted, app, name);
      return {
        body: { project_id: planted.project, name, version: 1, labels: ['tried'] },
      };
    },
    { changes: ['objects'] },
  ),
  'POST /prompts/labels/remove': writes(
    async (planted, app) => {
      const name = fresh();
      await aPrompt(planted, app, name);
      return { body: { project_id: planted.project, name, labels: ['production'] } };
    },
    { changes: ['objects'] },
  ),
  'POST /prompts/delete': writes(
    async (planted, app) => {
      const name = fresh();
      await aPrompt(planted, app, name);
      return { body: { project_id: planted.project, name } };
    },
    { changes: ['objects'] },
  ),
};
