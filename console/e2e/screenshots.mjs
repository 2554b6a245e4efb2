// Takes pictures of the console with the demo data. Needs a built service (npm run build).
//
//     node console/e2e/screenshots.mjs                                  the pictures of the README, into docs/pictures
//     node console/e2e/screenshots.mjs <folder> [<begin of a name>,…]   all pictures, in both themes and two widths
//
// WIDTHS=390,720 sets other widths. Pictures named `long…` show a project with long names and odd sizes. Pictures named
// `error…` show the pages while the service fails.
import { spawn } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { newPage, openBrowser, signIn } from '../../bench/browser.mjs';
import { newSecret } from '../../dist/src/platform/auth/keys/secret.js';

const [, , folder, wanted = ''] = process.argv;
const README = {
  folder: 'docs/pictures',
  names: ['traces', 'trace-json', 'metrics', 'training-job'],
};
const DARK = ['trace-json', 'training-job'];
const PROJECT = '/p/demo/support';
const LONG = 'a-name-that-somebody-has-made-longer-than-anybody-can-read-at-once-'.repeat(3);
const LONG_PROJECT = `acme/${LONG.slice(0, 120)}`;

/** The pictures. `before` runs before the page is opened, `prepare` before the picture is taken. */
const PICTURES = [
  { name: 'login', path: '/connect', before: (page) => page.context().clearCookies() },
  { name: 'connect', path: '/connect' },
  { name: 'traces', path: `${PROJECT}/traces` },
  {
    name: 'traces-filter',
    path: `${PROJECT}/traces?q=status%3Derror`,
    prepare: (page) => page.getByRole('combobox', { name: 'Filter' }).pressSequentially(' inputs.'),
  },
  {
    name: 'traces-tag',
    path: `${PROJECT}/traces?cols=${encodeURIComponent('["status","name","tags","feedback","started"]')}`,
    prepare: async (page) => {
      await page.getByRole('checkbox').nth(1).check();
      await page.getByRole('checkbox').nth(3).check();
      await page.getByRole('button', { name: 'Tag', exact: true }).click();
      for (const tag of ['wrong tool', 'refund']) {
        await page.getByLabel('Tag', { exact: true }).fill(tag);
        await page.keyboard.press('Enter');
        await page.getByText(`Added to 2 calls: ${tag}`).waitFor();
      }
    },
  },
  { name: 'trace', path: `${PROJECT}/traces/demo-003` },
  {
    name: 'trace-json',
    path: `${PROJECT}/traces/demo-003?call=demo-003-2`,
    prepare: (page) => page.getByRole('button', { name: 'Critical path' }).click(),
  },
  {
    name: 'trace-feedback',
    path: `${PROJECT}/traces/demo-005?call=demo-005`,
    prepare: (page) => page.getByRole('tab', { name: 'Feedback' }).click(),
  },
  {
    name: 'trace-compare',
    path: `${PROJECT}/traces/demo-010?call=demo-010-1`,
    prepare: async (page) => {
      await page.getByRole('tab', { name: 'Compare' }).click();
      await page.getByRole('button', { name: 'Compare with the previous call' }).click();
    },
  },
  { name: 'threads', path: `${PROJECT}/threads` },
  { name: 'thread-turns', path: `${PROJECT}/threads/ticket-1045` },
  { name: 'traces-empty', path: '/p/acme/empty/traces' },
  { name: 'traces-error', path: `${PROJECT}/traces?q=nonsense%3D1` },
  { name: 'projects', path: '/projects' },
  { name: 'keys', path: '/keys' },
  { name: 'retention', path: `${PROJECT}/retention` },
  { name: 'objects', path: `${PROJECT}/objects` },
  { name: 'object-changes', path: `${PROJECT}/objects/support-prompt?tab=changes` },
  { name: 'object-rows', path: `${PROJECT}/objects/support-questions` },
  { name: 'metrics', path: `${PROJECT}/metrics` },
  { name: 'training', path: `${PROJECT}/training` },
  { name: 'training-jobs', path: `${PROJECT}/training?tab=jobs` },
  { name: 'training-builds', path: `${PROJECT}/training?tab=builds` },
  { name: 'training-recipes', path: `${PROJECT}/training/recipes` },
  ...['support-recipe', 'none'].map((recipe) => ({
    name: `training-recipe-${recipe}`,
    path: `${PROJECT}/training/recipes?recipe=${recipe}`,
    prepare: (page) => page.locator('[aria-busy="true"]').first().waitFor({ state: 'detached' }),
  })),
  ...['Metrics and files', 'Promotion', 'Lineage'].map((tab) => ({
    name: `training-checkpoint-${tab.split(' ')[0].toLowerCase()}`,
    path: `${PROJECT}/training`,
    prepare: async (page) => {
      await page.getByRole('link', { name: 'support-agent' }).click();
      const checkpoints = page.getByRole('table', { name: 'Checkpoints' });
      await checkpoints.getByRole('link', { name: '1', exact: true }).click();
      await page.getByRole('tab', { name: tab, exact: true }).click();
    },
  })),
  ...['Checkpoints', 'Promotions', 'Trajectories'].map((tab) => ({
    name: `training-model-${tab.toLowerCase()}`,
    path: `${PROJECT}/training`,
    prepare: async (page) => {
      await page.getByRole('link', { name: 'support-agent' }).click();
      await page.getByRole('tab', { name: tab }).click();
    },
  })),
  {
    name: 'training-job',
    path: `${PROJECT}/training?tab=jobs`,
    prepare: async (page) => {
      await page.getByRole('table').getByRole('link').first().click();
      await page.getByRole('tab', { name: 'Lineage' }).waitFor(); // the code of the tab is loaded by now
    },
  },
  ...['Facts', 'Samples', 'Lineage'].map((tab) => ({
    name: `training-build-${tab.toLowerCase()}`,
    path: `${PROJECT}/training?tab=builds`,
    prepare: async (page) => {
      await page.getByRole('table').getByRole('link').first().click();
      await page.getByRole('tab', { name: tab }).click();
    },
  })),
  ...['traces', 'threads', 'metrics', 'objects', 'training?tab=builds'].map((page) => ({
    name: `empty-${page.split('?')[0]}`,
    path: `/p/acme/empty/${page}`,
  })),
  ...[
    'traces',
    'traces/long-0',
    'threads',
    `threads/${LONG}`,
    'metrics',
    'objects',
    'training',
  ].map((page) => ({
    name: `long-${page.replace('/', '-').slice(0, 12)}`,
    path: `/p/${LONG_PROJECT}/${page}`,
  })),
  ...[
    'traces',
    'traces/demo-003',
    'threads',
    'metrics',
    'objects',
    'training',
    '../../../keys',
  ].map((page) => ({
    name: `error-${page.split('/').at(-1)}`,
    path: `${PROJECT}/${page}`,
    before: (opened) =>
      opened.route(/(query|stats|read|list|models\?.*)$/, (route) =>
        route.fulfill({
          status: 500,
          headers: { 'x-request-id': '01a2-33' },
          json: { code: 'internal', detail: 'the database cannot be reached: '.repeat(9) },
        }),
      ),
  })),
];

const root = mkdtempSync(join(tmpdir(), 'skein-pictures-'));
chmodSync(root, 0o755);
if (folder) mkdirSync(folder, { recursive: true });
const key = newSecret();
const server = spawn(process.execPath, ['dist/src/main.js'], {
  env: { PATH: process.env.PATH, PORT: '0', DATA_DIR: join(root, 'data'), BOOTSTRAP_API_KEY: key },
});
const url = await new Promise((resolve) => {
  let output = '';
  server.stdout.on('data', (chunk) => {
    output += chunk;
    const found = /listens on (http:\S+?)["\s]/.exec(output)?.[1];
    if (found) resolve(found);
  });
});

const { browser, close } = await openBrowser();

async function signedIn(look) {
  const { page } = await newPage(browser, look);
  await signIn(page, url, key);
  return page;
}

async function post(path, body) {
  const authorization = `Basic ${Buffer.from(`me:${key}`).toString('base64')}`;
  const headers = { 'content-type': 'application/json', authorization };
  const answer = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) });
  if (!answer.ok) throw new Error(await answer.text());
  return answer.json();
}

const first = await signedIn();
await first.goto(`${url}/console/connect`);
await first.getByRole('button', { name: 'Load demo data' }).click();
await first.waitForURL(/traces/);

/** A project of calls in a chain, with names and numbers of the greatest length. */
const began = Date.now() - 3_600_000;
const long = Array.from({ length: 40 }, (_, n) => ({
  project_id: LONG_PROJECT,
  id: `long-${n}`,
  trace_id: n < 20 ? 'long-0' : `long-${n}`,
  ...(n > 0 && n < 20 && { parent_id: `long-${n - 1}` }),
  ...(n % 4 === 0 && { thread_id: LONG, turn_id: `long-${n}` }),
  op_name: `${n}-${LONG}`,
  started_at: new Date(began + n).toISOString(),
  ended_at: new Date(began + n * 1e7).toISOString(),
  inputs: { messages: [{ role: 'user', content: LONG.repeat(9) }], [LONG]: LONG },
  output: { [LONG]: 1e300 },
  attributes: {},
  ...(n % 7 === 3 && { exception: LONG.repeat(5) }),
  summary: {
    usage: { [`${LONG}${n % 9}`]: { prompt_tokens: 10 ** (n % 12), completion_tokens: 987654321 } },
  },
}));
await post(`/v2/${LONG_PROJECT}/calls/complete`, { batch: long });
await post('/obj/create', {
  obj: { project_id: LONG_PROJECT, object_id: LONG.slice(0, 128), val: { [LONG]: LONG } },
});

async function opened({ path, before, prepare }, look) {
  const page = await signedIn(look);
  await before?.(page);
  await page.goto(`${url}/console${path}`);
  await page.waitForTimeout(800);
  await prepare?.(page);
  await page.waitForTimeout(300);
  return page;
}

if (folder) {
  const looks = ['light', 'dark'].flatMap((theme) =>
    (process.env.WIDTHS ?? '1440,1024')
      .split(',')
      .map(Number)
      .map((width) => ({ theme, width })),
  );
  for (const look of looks)
    for (const picture of PICTURES.filter(({ name }) =>
      wanted.split(',').some((one) => name.startsWith(one)),
    )) {
      const page = await opened(picture, look);
      await page.screenshot({
        path: join(folder, `${picture.name}-${look.width}-${look.theme}.png`),
      });
      await page.context().close();
    }
} else
  for (const picture of PICTURES.filter(({ name }) => README.names.includes(name))) {
    const page = await opened(picture, { theme: DARK.includes(picture.name) ? 'dark' : 'light' });
    const devtools = await page.context().newCDPSession(page);
    const { data } = await devtools.send('Page.captureScreenshot', { format: 'webp', quality: 90 });
    writeFileSync(join(README.folder, `${picture.name}.webp`), Buffer.from(data, 'base64'));
    await page.context().close();
  }

await close();
server.kill('SIGTERM');
await new Promise((resolve) => server.once('exit', resolve));
rmSync(root, { recursive: true, force: true });
