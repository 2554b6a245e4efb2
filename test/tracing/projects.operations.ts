import { counts, onlyProject, type Operation } from '../support/operation-rows.js';

export const projectsOperations: Record<string, Operation> = {
  'POST /projects/query': counts(() => ({ body: {} }), {
    schemes: ['basic', 'bearer'],
    elsewhere: 200,
  }),
  'POST /project/stats': counts(onlyProject),
  'POST /files/query_stats': counts(onlyProject),
  'POST /service/projects_info': counts(({ project }) => ({ body: { project_ids: [project] } }), {
    elsewhere: 200,
  }),
};
