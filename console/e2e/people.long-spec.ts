import { until } from '../../test/support/until.js';
import { startProvider, type TestProvider } from '../../test/support/provider.js';
import { freePort } from '../../test/support/server.js';
import { type Console, describeConsole, openConsole, violations } from './support/console.js';
import type { Page } from 'playwright-core';

/** Hosts of fonts that the provider's pages load. */
const FONTS = /fonts\.googleapis\.com/;

const ACCOUNTS = {
  root: { email: 'root@example.com', email_verified: true, name: 'Root' },
  pat: { email: 'pat@example.com', email_verified: true, name: 'Pat' },
};

describeConsole('people', () => {
  let console: Console;
  let provider: TestProvider;
  beforeAll(async () => {
    const publicUrl = `http://127.0.0.1:${await freePort()}`;
    provider = await startProvider({ publicUrl, accounts: ACCOUNTS });
    console = await openConsole({
      PUBLIC_URL: publicUrl,
      ...provider.settings(),
      OIDC_ADMINS: 'root@example.com',
      OIDC_NAME: 'Acme',
      OIDC_1_ISSUER: 'http://127.0.0.1:9',
      OIDC_1_CLIENT_ID: 'skein',
      OIDC_1_NAME: 'Other',
    });
  });
  afterAll(async () => {
    await console.close();
    await provider.close();
  });
  // the browser visits the provider's pages during a sign-in, so their requests are no faults
  afterEach(() =>
    expect(
      console.faults.filter((fault) => !fault.includes(provider.issuer) && !FONTS.test(fault)),
    ).toEqual([]),
  );

  /** Opens a new browser and signs in at the provider's pages. */
  async function signIn(login: string, path: string): Promise<Page> {
    const page = await console.open(path, { key: null });
    await page.getByRole('link', { name: 'Sign in with Acme' }).click();
    await page.locator('input[name=login]').fill(login);
    await page.locator('input[name=password]').fill('x');
    await page.locator('button[type=submit]').click();
    await page.locator('button[type=submit]', { hasText: 'Continue' }).click(); // gives consent
    return page;
  }

  it('shows the sign-in first, and the key behind a button', async () => {
    const page = await console.open('/keys', { key: null });
    await page.getByRole('link', { name: 'Sign in with Acme' }).waitFor();
    expect(await page.getByLabel('API key').count()).toBe(0);
    expect(await violations(page)).toEqual([]);
    await page.getByRole('button', { name: 'Use an API key' }).click();
    await page.getByLabel('API key').fill(console.app.key);
    await page.getByRole('button', { name: 'Sign in with the key' }).click();
    await page.getByRole('heading', { name: 'Keys' }).waitFor();
  });

  it('shows nothing that somebody else has put into a link', async () => {
    const page = await console.open('/keys', { key: null });
    for (const reference of ['call%20555', '%', '%ff', 'x%0Ay'])
      await page.goto(
        `${console.app.url}/console/?${reference.length}#sign-in-failed=denied&reference=${reference}`,
      );
    await page.getByRole('link', { name: 'Sign in with Acme' }).waitFor();
    expect(await page.getByRole('alert').count()).toBe(0);
    await page.goto(`${console.app.url}/console/?x#sign-in-failed=denied&reference=ab-1`);
    await page.getByRole('alert').getByText('Reference: ab-1').waitFor();
  });

  it('leads to where one wanted to go, gives roles, and tells what they will mean', async () => {
    const page = await signIn('root', '/people');
    await page.getByText('Nobody has a role here yet').waitFor();
    expect(new URL(page.url()).pathname).toBe('/console/people');
    await page.getByRole('button', { name: 'Add member' }).click();
    await page.getByLabel('E-mail').fill('pat@example.com');
    expect(await page.getByLabel('Signs in with').locator('option').allInnerTexts()).toEqual([
      'Acme',
      'Other',
    ]);
    await page.getByRole('dialog').getByLabel('Scope').fill('acme/demo');
    await page
      .getByText('pat@example.com will be able to see what was recorded in acme/demo.')
      .waitFor();
    expect(await violations(page)).toEqual([]);
    await page.getByRole('button', { name: 'Give the role' }).click();
    const row = page.getByRole('table', { name: 'Members' }).getByRole('row', { name: 'pat@' });
    await row.getByText('never').waitFor();

    const reader = await signIn('pat', '/my-keys');
    await reader.getByText('You have no key').waitFor();
    for (const name of ['Keys', 'People', 'Audit'])
      expect(await reader.getByRole('link', { name, exact: true }).count()).toBe(0);
    await reader.getByRole('button', { name: 'New key' }).click();
    expect(await reader.getByLabel('User').count()).toBe(0);
    expect(await reader.getByLabel('Role').locator('option').count()).toBe(1);
    await reader.getByLabel('Scopes').fill('acme/demo');
    await reader.getByRole('button', { name: 'Create key' }).click();
    const secret = await reader.getByRole('dialog').locator('code').innerText();
    const stats = () =>
      console.app.post('/calls/query_stats', { project_id: 'acme/demo' }, { key: secret });
    expect((await stats()).status).toBe(200);
    await reader.getByRole('button', { name: 'Close' }).click();
    await reader.getByRole('table', { name: 'My keys' }).getByText('acme/demo').waitFor();
    expect(await violations(reader)).toEqual([]);
    for (const [path, words] of [
      ['/people', 'Only admins can see people'],
      ['/audit', 'Only admins can see the audit'],
    ] as const) {
      await reader.goto(`${console.app.url}/console${path}`);
      await reader.getByText(words).waitFor();
      expect(await reader.locator('main').getByRole('button').count()).toBe(0);
    }

    await page.reload();
    await page.getByRole('button', { name: 'Deactivate pat@example.com' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Deactivate' }).click();
    await page.getByRole('button', { name: 'Activate pat@example.com' }).waitFor();
    await until(async () => (await stats()).status === 401);
    await reader.goto(`${console.app.url}/console/my-keys`);
    await reader.getByRole('link', { name: 'Sign in with Acme' }).click();
    await reader.getByRole('alert').getByText('You may not sign in any more').waitFor();
    await reader.getByRole('alert').getByText('Reference:').waitFor();

    await page.goto(`${console.app.url}/console/audit?action=users.deactivate`);
    await page.getByRole('cell', { name: 'root@example.com' }).waitFor();
    expect(await page.getByRole('row').count()).toBe(2);
    expect(await violations(page)).toEqual([]);
    const file = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Download CSV' }).click();
    expect((await file).suggestedFilename()).toBe('audit.csv');

    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.waitForURL(`${provider.issuer}/session/end**`);
    await page.getByRole('button', { name: 'Yes' }).click();
    await page.getByRole('link', { name: 'Sign in with Acme' }).waitFor();
  });
});
