import {
  administers,
  counts,
  onlyProject,
  type Operation,
  pathOf,
} from '../support/operation-rows.js';

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
  'POST /quotas/query': administers(() => ({ body: {} }), { elsewhere: 200, harmless: 'reads' }),
  'POST /quotas/set': administers(
    (planted) => ({ body: { scope: `${pathOf(planted).entity}/*`, calls_per_day: 1e9 } }),
    {
      isForAllScopes: true,
      plant: ({ project }, app) => app.post('/quotas/set', { scope: project, calls_per_day: 1e9 }),
    },
  ),
};
