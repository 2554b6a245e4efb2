import type { TestApp } from './app.js';
import { Browser } from './provider.js';

export type SignedIn = Awaited<ReturnType<typeof signedInPerson>>;

/** Gives a person roles, keyed by scope, and signs them in. `leave` removes the roles. */
export async function signedInPerson(
  app: TestApp,
  publicUrl: string,
  subject: string,
  roles: Record<string, string> = {},
) {
  const ids: string[] = [];
  for (const [scope, role] of Object.entries(roles)) {
    const body = { scope, role, email: `${subject}@example.com` };
    const answer = await app.post('/members/set', body);
    expect(answer.status).toBe(200);
    ids.push(answer.body.id);
  }
  const browser = new Browser(publicUrl);
  expect(await browser.signIn(subject)).toBe(`${publicUrl}/console/`);
  const ask = async (path: string, body?: unknown) => {
    const response = await browser.console(path, body);
    const text = await response.text();
    return { status: response.status, body: text && JSON.parse(text), text };
  };
  const { body: me } = await ask('/me');
  return {
    browser,
    ask,
    me,
    id: me.person.id as string,
    leave: () => Promise.all(ids.map((id) => app.post('/members/remove', { id }))),
  };
}
