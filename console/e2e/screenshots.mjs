// Takes pictures of the console with the demo data, in both themes and two widths: node console/e2e/screenshots.mjs
// <folder> [<words of a picture's name>]. Needs a built service (npm run build).
import { spawn } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import { newSecret } from '../../dist/src/auth/secret.js';

const [, , folder = 'pictures', wanted = ''] = process.argv;
const PROJECT = '/p/demo/support';

/** What to do before the page is opened, and before the picture is taken, where there is something. */
const PICTURES = [
  { name: 'login', path: '/connect', before: (page) => page.context().clearCookies() },
  { name: 'connect', path: '/connect' },
  { name: 'traces', path: `${PROJECT}/traces` },
  {
    name: 'traces-filter',
    path: `${PROJECT}/traces?q=status%3Derror`,
    prepare: (page) => page.getByRole('combobox', { name: 'Filter' }).pressSequentially(' inputs.'),
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
      await page.getByRole('button', { name: 'With the one before' }).click();
    },
  },
  { name: 'threads', path: `${PROJECT}/threads` },
  { name: 'thread-turns', path: `${PROJECT}/threads/ticket-1045` },
  { name: 'traces-empty', path: '/p/acme/empty/traces' },
  { name: 'traces-error', path: `${PROJECT}/traces?q=nonsense%3D1` },
  { name: 'projects', path: '/projects' },
  { name: 'keys', path: '/keys' },
  { name: 'objects', path: `${PROJECT}/objects` },
  { name: 'object-changes', path: `${PROJECT}/objects/support-prompt?tab=changes` },
  { name: 'object-rows', path: `${PROJECT}/objects/support-questions` },
  { name: 'metrics', path: `${PROJECT}/metrics` },
  { name: 'training', path: `${PROJECT}/training` },
  { name: 'training-jobs', path: `${PROJECT}/training?tab=jobs` },
  { name: 'training-builds', path: `${PROJECT}/training?tab=builds` },
  { name: 'training-recipe', path: `${PROJECT}/training/preview` },
  ...['Checkpoints', 'Trajectories'].map((tab) => ({
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
    prepare: (page) => page.getByRole('table').getByRole('link').first().click(),
  },
  ...['Facts', 'Samples', 'Lineage'].map((tab) => ({
    name: `training-build-${tab.toLowerCase()}`,
    path: `${PROJECT}/training?tab=builds`,
    prepare: async (page) => {
      await page.getByRole('table').getByRole('link').first().click();
      await page.getByRole('tab', { name: tab }).click();
    },
  })),
  { name: 'training-empty', path: '/p/acme/empty/training?tab=builds' },
];

const root = mkdtempSync(join(tmpdir(), 'skein-pictures-'));
chmodSync(root, 0o755);
mkdirSync(folder, { recursive: true });
process.env.TMPDIR = root;
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

async function executable() {
  if (process.env.CHROMIUM) return process.env.CHROMIUM;
  return (await import('@sparticuz/chromium')).default.executablePath();
}

const browser = await chromium.launch({
  executablePath: await executable(),
  args: ['--no-sandbox'],
});

async function signedIn(width, theme) {
  const context = await browser.newContext({
    viewport: { width, height: 900 },
    colorScheme: theme,
    timezoneId: 'Europe/Berlin',
    locale: 'en-GB',
  });
  await context.request.post(`${url}/console/login`, {
    headers: { 'x-skein-console': '1', authorization: `Bearer ${key}` },
  });
  return context.newPage();
}

const first = await signedIn(1440, 'light');
await first.goto(`${url}/console/connect`);
await first.getByRole('button', { name: 'Load demo data' }).click();
await first.waitForURL(/traces/);

for (const theme of ['light', 'dark'])
  for (const width of [1440, 1024])
    for (const { name, path, before, prepare } of PICTURES) {
      if (!name.includes(wanted)) continue;
      const page = await signedIn(width, theme);
      await before?.(page);
      await page.goto(`${url}/console${path}`);
      await page.waitForTimeout(800);
      await prepare?.(page);
      await page.waitForTimeout(300);
      await page.screenshot({ path: join(folder, `${name}-${width}-${theme}.png`) });
      await page.context().close();
    }

await browser.close();
server.kill('SIGTERM');
await new Promise((resolve) => server.once('exit', resolve));
rmSync(root, { recursive: true, force: true });
