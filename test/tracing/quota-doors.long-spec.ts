import { basic, startApp, type TestApp } from '../support/app.js';
import { type Operation, sendTo } from '../support/operation-rows.js';
import { OPERATIONS } from '../support/operations.js';
import { plant, type Planted } from '../support/planted.js';

const PROJECT = 'acme/demo';

/** Operations that name no project, so that only the quotas of the key's entity count them. */
const WITHOUT_PROJECT = [
  /^GET \/me$/,
  /^GET \/v1\/(preview\/(trainer\/)?)?models$/,
  /^GET \/v1\/preview\/training-(data|jobs|jobs\/:id)$/,
  /^POST \/(audit|projects|quotas)\/query$/,
  /^POST \/(keys|members|users)\//,
  /^POST \/(graphql|service\/projects_info)$/,
  /^POST \/(otel\/)?v1\/metrics$/, // metrics are not stored
  /\/trainer\/claims$/,
];

/** Writes that a full quota of bytes lets pass. */
const BEYOND = [
  /^(GET|DELETE) /,
  /\/(delete|purge|remove)$/,
  /-?jobs\/:id\/(complete|fail|heartbeat|cancel)$/,
  /\/serving(\/end)?$/,
  /^POST \/index\/list$/,
  /^POST \/(retention\/set|project\/ttl_settings\/update)$/,
];

let app: TestApp;
let planted: Planted;
let key: string;
beforeAll(async () => {
  app = await startApp({ TRAINER_LEASE_SECONDS: '600' });
  planted = await plant(app, PROJECT);
  key = await app.aKey('admin', ['acme/*', 'acme2/*']);
});
afterAll(() => app.close());

const set = (limits: object) => app.post('/quotas/set', { scope: PROJECT, ...limits });

async function ask(route: string, { schemes, build }: Operation, limits: object) {
  const sent = await build(planted, app);
  await set(limits);
  const authorization = schemes[0] === 'basic' ? basic(key) : `Bearer ${key}`;
  const response = await sendTo(app.url, route, sent, { authorization });
  if (response.headers.get('content-type') === 'text/event-stream') await response.body!.cancel();
  const text = await response.text().catch(() => '');
  await set({});
  return { status: response.status, text };
}

const matches = (list: RegExp[], route: string) => list.some((pattern) => pattern.test(route));
const rows = Object.entries(OPERATIONS).filter(([, { isForAllScopes }]) => !isForAllScopes);

it('every operation that names a project counts as a request of it', async () => {
  const answers: Record<string, string> = {};
  for (const [route, operation] of rows) {
    const { text } = await ask(route, operation, { requests_per_minute: 0 });
    const isRefused = /quota requests_per_minute of the project acme.demo is full/.test(text);
    if (isRefused === matches(WITHOUT_PROJECT, route)) answers[route] = text.slice(0, 200);
  }
  expect(answers).toEqual({});
});

it('every operation that writes is refused while the project has too many bytes', async () => {
  const answers: Record<string, string> = {};
  for (const [route, operation] of rows) {
    const { text } = await ask(route, operation, { stored_bytes: 0 });
    const isRefused = /quota stored_bytes of the project acme.demo is full/.test(text);
    const isWrite = operation.role !== 'reader' && !matches(WITHOUT_PROJECT, route);
    if (isRefused !== (isWrite && !matches(BEYOND, route))) answers[route] = text.slice(0, 200);
  }
  expect(answers).toEqual({});
});
