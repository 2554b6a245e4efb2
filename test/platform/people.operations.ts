import type { TestApp } from '../support/app.js';
import { administers, fresh, type Operation } from '../support/operation-rows.js';

export async function aUser(app: TestApp, name: string): Promise<string> {
  const [{ id }] = await app.query(
    `INSERT INTO users (id, issuer, subject, email_verified, name, groups)
     VALUES (gen_random_uuid(), 'https://login.example.com', gen_random_uuid()::text, FALSE, $1, '{}') RETURNING id`,
    [name],
  );
  return id;
}

/** The id of the user who is planted in the project. */
async function memberOf(app: TestApp, project: string, marker: string): Promise<string> {
  const { body } = await app.post('/members/list', { scope: project });
  return body.members.find(({ name }: { name: string }) => name === marker).user_id;
}

export const peopleOperations: Record<string, Operation> = {
  'POST /members/list': administers(() => ({ body: {} }), {
    elsewhere: 200,
    isShowing: true,
    isForAll: true,
    harmless: 'reads',
    plant: async ({ project, marker }, app) => {
      const user = await aUser(app, marker);
      await app.post('/members/set', { scope: project, role: 'reader', user_id: user });
    },
  }),
  'POST /members/set': administers(async ({ project, marker }, app) => ({
    body: { scope: project, role: 'writer', user_id: await memberOf(app, project, marker) },
  })),
  'POST /members/remove': administers(
    async ({ project }, app) => {
      const body = { scope: project, role: 'reader', user_id: await aUser(app, fresh()) };
      return { body: { id: (await app.post('/members/set', body)).body.id } };
    },
    { elsewhere: 404 },
  ),
  'POST /users/list': administers(() => ({ body: {} }), {
    elsewhere: 200,
    isShowing: true,
    isForAll: true,
    harmless: 'reads',
  }),

  'POST /users/deactivate': administers(
    async (_, app) => ({ body: { id: await aUser(app, fresh()) } }),
    { isForAllScopes: true },
  ),
  'POST /users/activate': administers(
    async (_, app) => ({ body: { id: await aUser(app, fresh()) } }),
    { isForAllScopes: true },
  ),
};
