import { basic, send } from '../support/app.js';
import { openTestDatabase, type TestDatabase } from '../support/database.js';
import { aStart } from '../support/factories.js';
import { Browser, startProvider, type TestProvider } from '../support/provider.js';
import { freePort, type Server, startServer } from '../support/server.js';

const PROJECT = 'acme/doors';
/** The documented limit. */
const CLOSED_WITHIN_MS = 5000;

let database: TestDatabase;
let provider: TestProvider;
/** Two processes on one database. People sign in at the first one. */
let servers: [Server, Server];
beforeAll(async () => {
  database = await openTestDatabase();
  const port = await freePort();
  const publicUrl = `http://127.0.0.1:${port}`;
  const accounts = { pat: { email: 'pat@example.com', email_verified: true } };
  provider = await startProvider({ publicUrl, accounts });
  const env = { DATABASE_URL: database.url, PUBLIC_URL: publicUrl, ...provider.settings() };
  const first = await startServer({ ...env, PORT: String(port) });
  servers = [first, await startServer({ ...env, BOOTSTRAP_API_KEY: first.key })];
});
afterAll(async () => {
  await Promise.all(servers.map((server) => server.stop()));
  await provider.close();
  await database.drop();
});

/** A person's requests, by session and by key, to each process. */
async function aPerson() {
  const [first] = servers;
  const given = await first.post('/members/set', {
    scope: PROJECT,
    role: 'reader',
    email: 'pat@example.com',
  });
  const browser = new Browser(first.url);
  await browser.signIn('pat');
  const token = browser.sessionCookie!.split('=')[1]!;
  const session = ({ url }: Server) => ({
    'x-skein-console': '1',
    cookie: `skein_session_${new URL(url).port}=${token}`,
  });
  const ask = { role: 'reader', scopes: [PROJECT] };
  const made = await send(`${first.url}/keys/create`, ask, session(first));
  const key = { authorization: basic(made.body.secret) };
  const me = await send(`${first.url}/me`, undefined, session(first), 'GET');
  const doors = servers.flatMap((server) =>
    [session(server), key].map((headers) => async () => {
      const body = { project_id: PROJECT };
      return (await send(`${server.url}/calls/query_stats`, body, headers)).status;
    }),
  );
  return { id: me.body.person.id as string, member: given.body.id as string, session, doors };
}

type Reader = ReadableStreamDefaultReader<Uint8Array>;

/** Resolves when the server has ended a stream: `complete` for a regular end, `cut` for a broken connection. */
async function ended(reader: Reader): Promise<'complete' | 'cut'> {
  try {
    for (;;) if ((await reader.read()).done) return 'complete';
  } catch {
    return 'cut';
  }
}

/** Measures how long each request of `doors` is still accepted. */
async function msOpen(doors: (() => Promise<number>)[]): Promise<number[]> {
  const began = performance.now();
  return Promise.all(
    doors.map(async (door) => {
      for (;;) {
        if ((await door()) === 401) return performance.now() - began;
        if (performance.now() - began > 20_000) return Infinity;
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    }),
  );
}

async function storeMuch(): Promise<void> {
  const inputs = { text: 'x'.repeat(1024 * 1024) };
  for (let i = 0; i < 4; i++) {
    const batch = Array.from({ length: 16 }, (_, n) => ({
      mode: 'start',
      req: { start: aStart({ project_id: PROJECT, id: `c${i}-${n}`, inputs }) },
    }));
    expect((await servers[0].post('/call/upsert_batch', { batch })).status).toBe(200);
  }
}

it('every door is closed to a person who is deactivated, in each process, within 5 s', async () => {
  await storeMuch();
  const { id, session, doors } = await aPerson();
  for (const door of doors) expect(await door()).toBe(200);
  const [first, second] = servers;
  const events = await fetch(`${second.url}/events?project_id=${PROJECT}`, {
    headers: session(second),
  });
  expect(events.status).toBe(200);
  const eventsEnd = ended(events.body!.getReader()).then(() => performance.now());
  const stream = await fetch(`${second.url}/calls/stream_query`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...session(second) },
    body: JSON.stringify({ project_id: PROJECT }),
  });
  const reader = stream.body!.getReader();
  await reader.read();

  expect((await first.post('/users/deactivate', { id })).status).toBe(200);
  const began = performance.now();
  const open = await msOpen(doors);
  expect(Math.max(...open)).toBeLessThan(CLOSED_WITHIN_MS);
  expect((await eventsEnd) - began).toBeLessThan(CLOSED_WITHIN_MS);
  const left = CLOSED_WITHIN_MS - (performance.now() - began);
  await new Promise((resolve) => setTimeout(resolve, Math.max(0, left)));
  expect(await ended(reader)).toBe('cut');
  await first.post('/users/activate', { id });
});

it('and to one who has lost the last role', async () => {
  const { member, doors } = await aPerson();
  for (const door of doors) expect(await door()).toBe(200);
  expect((await servers[0].post('/members/remove', { id: member })).status).toBe(200);
  expect(Math.max(...(await msOpen(doors)))).toBeLessThan(CLOSED_WITHIN_MS);
});
