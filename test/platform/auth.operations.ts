import { administers, counts, type Operation } from '../support/operation-rows.js';

const TOMORROW = new Date(Date.now() + 86_400_000).toISOString();

export const authOperations: Record<string, Operation> = {
  'POST /keys/create': administers(({ project }) => ({
    // a person's key can create no key that expires later
    body: { user: 'bob', role: 'reader', scopes: [project], expires_at: TOMORROW },
  })),
  'POST /keys/list': administers(() => ({ body: {} }), {
    elsewhere: 200,
    isShowing: true,
    isForAll: true,
    harmless: 'reads',
  }),
  'POST /keys/revoke': administers(
    async ({ project }, app) => {
      const body = { user: 'bob', role: 'reader', scopes: [project] };
      return { body: { id: (await app.post('/keys/create', body)).body.id } };
    },
    { elsewhere: 404 },
  ),

  'GET /me': counts(() => ({}), { schemes: ['basic', 'bearer'], elsewhere: 200 }),
};
