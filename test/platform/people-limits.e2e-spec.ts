import { basic, send, startApp, type TestApp } from '../support/app.js';
import { type SignedIn, signedInPerson } from '../support/people.js';
import { startProvider, type TestProvider } from '../support/provider.js';
import { freePort } from '../support/server.js';

const REQUESTS_PER_MINUTE = 60;
const project = 'acme/app';
const pat = { email: 'pat@example.com', email_verified: true, name: 'pat' };
const workload = { sub: 'job', aud: 'ci', repo: 'a' };

let app: TestApp;
let provider: TestProvider;
let person: SignedIn;
beforeAll(async () => {
  const publicUrl = `http://127.0.0.1:${await freePort()}`;
  provider = await startProvider({ publicUrl, accounts: { pat } });
  const workloads = { issuer: provider.issuer, jwks_uri: `${provider.issuer}/jwks` };
  app = await startApp({
    PUBLIC_URL: publicUrl,
    ...provider.settings(),
    JWT_ISSUERS: JSON.stringify([
      { ...workloads, audience: 'ci', claims: { repo: 'a' }, role: 'writer', scopes: [project] },
    ]),
    GATEWAY_REQUESTS_PER_DAY: '3',
    RATE_LIMIT_REQUESTS_PER_MINUTE: String(REQUESTS_PER_MINUTE),
  });
  person = await signedInPerson(app, publicUrl, 'pat', { [project]: 'writer' });
});
afterAll(async () => {
  await app.close();
  await provider.close();
});

const newKey = async () => {
  const made = await person.ask('/keys/create', { role: 'writer', scopes: [project] });
  expect(made.status).toBe(200);
  return made.body as { id: string; secret: string };
};

const chat = async (bearer: string) => {
  const body = { model: 'echo', messages: [{ role: 'user', content: 'hi' }] };
  const headers = { authorization: `Bearer ${bearer}` };
  return (await send(`${app.url}/v1/chat/completions`, body, headers)).status;
};

it('the budget of a person is not renewed by new keys', async () => {
  const statuses: number[] = [];
  for (let i = 0; i < 5; i++) {
    const { id, secret } = await newKey();
    statuses.push(await chat(secret));
    expect((await person.ask('/keys/revoke', { id })).status).toBe(200);
  }
  expect(statuses).toEqual([200, 200, 200, 429, 429]);
});

it('the budget of a workload is not renewed by new tokens', async () => {
  const statuses: number[] = [];
  for (let i = 0; i < 5; i++)
    statuses.push(await chat(await provider.sign({ ...workload, jti: String(i) })));
  expect(statuses).toEqual([200, 200, 200, 429, 429]);
});

it('the rate of a person counts the requests of all their keys', async () => {
  const statuses: number[] = [];
  for (const { secret } of [await newKey(), await newKey()])
    for (let i = 0; i < REQUESTS_PER_MINUTE - 10; i++) {
      const headers = { authorization: basic(secret) };
      statuses.push((await send(`${app.url}/me`, undefined, headers, 'GET')).status);
    }
  expect(statuses).toContain(429);
});
