import { execFile } from 'node:child_process';
import { isDeepStrictEqual, promisify } from 'node:util';
import type { Page } from 'playwright-core';
import { type Console, describeConsole, openConsole, violations } from './support/console.js';
import { newLoginCode } from '../../src/platform/auth/sessions/sessions.service.js';
import { Database } from '../../src/platform/database/database.js';
import { until } from '../../test/support/until.js';

const run = promisify(execFile);

describeConsole('the way in', () => {
  let console: Console;
  beforeAll(async () => {
    console = await openConsole();
  });
  afterAll(() => console.close());
  afterEach(() => expect(console.faults).toEqual([]));

  const main = (page: Page) => page.locator('main');

  it('signs in with a pasted key, and shows what is refused', async () => {
    const page = await console.open('/connect', { key: null });
    await page.getByLabel('API key').fill('skn_nonsense');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('alert').getByText('this is not a valid key').waitFor();
    expect(await violations(page)).toEqual([]);
    await page.getByLabel('API key').fill(console.app.key);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Connect' }).waitFor();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('API key').waitFor();
  });

  it('signs in by a link, once', async () => {
    const code = await newLoginCode(console.app.app.get(Database), {
      keyId: null,
      userName: 'operator',
    });
    const page = await console.open(`/#code=${code}`, { key: null });
    await page.getByRole('heading', { name: 'Connect' }).waitFor();
    expect(page.url()).not.toContain(code);
    const again = await console.open(`/#code=${code}`, { key: null });
    await again.getByRole('alert').getByText('used before').waitFor();
  });

  it('ends with its key', async () => {
    const { body } = await console.app.post('/keys/create', {
      user: 'eve',
      role: 'reader',
      scopes: ['*'],
    });
    const page = await console.open('/connect?project=acme/idle', { key: body.secret });
    await page.getByText('Waiting for the first call').waitFor();
    await console.app.post('/keys/revoke', { id: body.id });
    await page.getByLabel('API key').waitFor(); // without a click the page finds out that the key is revoked
  });

  it('makes a key, and shows the first call of the curl snippet without a reload', async () => {
    const page = await console.open('/connect?project=acme/first');
    await page.getByText('Waiting for the first call of acme/first').waitFor();
    await page.getByRole('button', { name: 'Create a key for this project' }).click();
    await page.getByText('It has the role writer in this project only').waitFor();
    await page.getByRole('tab', { name: 'curl' }).click();
    const snippet = await page.getByLabel('curl snippet').innerText();
    await run('sh', ['-c', snippet]);
    await main(page).getByRole('status').getByText('answer', { exact: true }).waitFor();
    await main(page).getByRole('status').getByText('Success').waitFor();
  });

  it.each([
    { language: 'TypeScript', command: process.execPath, args: ['--input-type=module', '-e'] },
    { language: 'Python', command: 'python3', args: ['-c'] },
  ])('has a snippet for $language that works', async ({ language, command, args }) => {
    const page = await console.open(`/connect?project=acme/${language}`);
    await page.getByRole('button', { name: 'Create a key for this project' }).click();
    await page.getByText('It has the role writer in this project only').waitFor();
    await page.getByRole('tab', { name: language }).click();
    const snippet = await page.getByLabel(`${language} snippet`).innerText();
    try {
      await run(command, [...args, snippet]);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return; // Python is not installed
      throw error;
    }
    await main(page).getByRole('status').getByText('answer', { exact: true }).waitFor();
  });

  it('shows a reader no button that would be refused', async () => {
    const page = await console.open('/connect', {
      key: await console.app.aKey('reader', ['acme/demo']),
    });
    await page.getByText('An admin can create keys').waitFor();
    expect(
      await page.getByLabel('Entity and project; the first call creates it').inputValue(),
    ).toBe('acme/demo');
    expect(await main(page).getByRole('button').allInnerTexts()).toEqual(['Copy']);
  });

  it('loads demo data and removes it whole', async () => {
    const page = await console.open('/connect');
    await page.getByRole('button', { name: 'Load demo data' }).click();
    await page.waitForURL(/\/p\/demo\/support\/traces/);
    const rows = async () =>
      (
        await console.app
          .query(`SELECT (SELECT count(*)::int FROM calls WHERE project_id = 'demo/support') AS calls,
          (SELECT count(*)::int FROM feedback WHERE project_id = 'demo/support') AS feedback,
          (SELECT count(*)::int FROM object_versions WHERE project_id = 'demo/support') AS objects,
          (SELECT count(*)::int FROM training_jobs WHERE status = 'succeeded') AS jobs`)
      )[0];
    expect(await rows()).toEqual({ calls: 314, feedback: 25, objects: 5, jobs: 1 });
    const tool = await console.app.post('/call/read', {
      project_id: 'demo/support',
      id: 'demo-000-2',
    });
    expect(tool.text).toContain('"output":{"order":12345678901234567890,"weight_kg":1.0,');
    await page.goto(`${console.app.url}/console/connect`);
    await page.getByRole('button', { name: 'Remove demo data' }).click();
    expect(await violations(page)).toEqual([]);
    await page.getByRole('button', { name: 'Erase the project' }).click();
    await page.getByText(/^The demo data is (being )?removed/).waitFor();
    const nothing = { calls: 0, feedback: 0, objects: 0, jobs: 0 };
    await until(async () => isDeepStrictEqual(await rows(), nothing));
  });

  it.each(['light', 'dark'] as const)('has no serious violation in the %s theme', async (theme) => {
    const page = await console.open('/connect', { theme });
    await page.getByRole('heading', { name: 'Connect' }).waitFor();
    expect(await violations(page)).toEqual([]);
  });

  it('loads at most 150 KB of JavaScript before anything can be done', async () => {
    const page = await console.open('/connect');
    await page.getByText('Waiting for the first call').waitFor();
    const scripts = await page.evaluate(() =>
      (performance.getEntriesByType('resource') as PerformanceResourceTiming[])
        .filter(({ name }) => name.endsWith('.js'))
        .map(({ encodedBodySize }) => encodedBodySize),
    );
    expect(scripts.length).toBeGreaterThan(1);
    expect(scripts.reduce((sum, size) => sum + size, 0)).toBeLessThan(150_000);
  });
});
