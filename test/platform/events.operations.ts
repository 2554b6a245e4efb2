import { counts, type Operation } from '../support/operation-rows.js';

export const eventsOperations: Record<string, Operation> = {
  // the stream never ends, so only the head of the answer is read
  'GET /events': counts(({ project }) => ({ query: `?project_id=${project}` }), {
    schemes: ['basic', 'bearer'],
  }),
};
