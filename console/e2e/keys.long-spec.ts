import { type Console, describeConsole, openConsole, violations } from './support/console.js';
import { until } from '../../test/support/until.js';

describeConsole('keys and projects', () => {
  let console: Console;
  beforeAll(async () => {
    console = await openConsole();
  });
  afterAll(() => console.close());
  afterEach(() => expect(console.faults).toEqual([]));

  it('says what to do while nothing is recorded', async () => {
    const page = await console.open('/projects');
    await page.getByText('Nothing was recorded yet').waitFor();
    expect(await violations(page)).toEqual([]);
  });

  it('lists what the key reaches, in any order, a click away from its traces', async () => {
    const callsOf = async (project_id: string, n: number) => {
      for (let i = 0; i < n; i++)
        await console.app.post('/call/start', {
          start: {
            project_id,
            op_name: 'f',
            started_at: '2026-01-01T00:00:00Z',
            inputs: {},
            attributes: {},
          },
        });
    };
    await callsOf('acme/few', 1);
    await callsOf('acme/most', 3);
    await callsOf('other/some', 2);
    const page = await console.open('/projects', { theme: 'dark' });
    const table = page.getByRole('table', { name: 'Projects' });
    const projects = table.getByRole('cell', { name: '/' });
    await projects.first().waitFor();
    expect(await projects.allInnerTexts()).toEqual(['other/some', 'acme/most', 'acme/few']);
    await table.getByRole('button', { name: 'Calls' }).click();
    expect(await projects.allInnerTexts()).toEqual(['acme/most', 'other/some', 'acme/few']);
    expect(page.url()).toContain('sort=-call_count');
    expect(await violations(page)).toEqual([]);
    await page.getByRole('link', { name: 'acme/few' }).click();
    await page.waitForURL(/p\/acme\/few\/traces/);

    const key = await console.app.aKey('reader', ['acme/*'], 'eve');
    const reader = await console.open('/projects', { key });
    await reader.getByText('You are eve, with the role reader in acme/*.').waitFor();
    await reader.getByText('2 with 4 calls').waitFor();
  });

  it('shows admins who uses how much of which quota', async () => {
    const { post } = console.app;
    await post('/quotas/set', { scope: 'busy/*', calls_per_day: 5, stored_bytes: 1_000_000 });
    const start = { op_name: 'f', started_at: '2026-01-01T00:00:00Z', inputs: {}, attributes: {} };
    for (let i = 0; i < 2; i++)
      await post('/call/start', { start: { project_id: 'busy/a', ...start } });
    const uses = async () =>
      (await post('/quotas/query', {})).body.scopes.filter(({ calls }: { calls: number }) => calls);
    await until(async () =>
      (await uses()).some(({ scope }: { scope: string }) => scope === 'busy/a'),
    );
    const page = await console.open('/projects');
    const row = page.getByRole('row', { name: 'busy/*' });
    await row.getByText('2 of 5').waitFor();
    await row.getByText('of 1 MB').waitFor();
    await page.getByRole('row', { name: 'busy/a' }).last().waitFor();
    expect(await violations(page)).toEqual([]);
    const key = await console.app.aKey('reader', ['busy/*'], 'eve');
    const reader = await console.open('/projects', { key });
    await reader.getByText('1 with 2 calls').waitFor();
    expect(await reader.getByText('Use today').count()).toBe(0);
  });

  it('makes a key, shows its secret once, and revokes it', async () => {
    const page = await console.open('/keys');
    await page.getByRole('button', { name: 'New key' }).click();
    await page.getByLabel('User').fill('checkout-service');
    await page.getByLabel('Scopes').fill('acme');
    await page.getByText('acme is not a scope').waitFor();
    expect(await page.getByRole('button', { name: 'Create key' }).isDisabled()).toBe(true);
    await page.getByLabel('Scopes').fill('acme/few, acme/most');
    await page.getByLabel('Role').selectOption('reader');
    expect(await violations(page)).toEqual([]);
    await page.keyboard.press('Tab'); // focuses the expiry date
    await page.getByRole('button', { name: 'Create key' }).click();
    const secret = await page.getByRole('dialog').locator('code').innerText();
    const { status } = await console.app.post('/projects/query', {}, { key: secret });
    expect(status).toBe(200);
    await page.getByRole('button', { name: 'Close' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    expect(await page.content()).not.toContain(secret);

    const row = page.getByRole('row', { name: 'checkout-service' });
    expect((await row.getByRole('cell').allInnerTexts()).slice(1, 4)).toEqual([
      'reader',
      'acme/few, acme/most',
      `${secret.slice(0, 8)}…`,
    ]);
    await row.getByRole('button', { name: 'Revoke' }).click();
    await page.getByRole('button', { name: 'Revoke the key', exact: true }).click();
    await row.waitFor({ state: 'detached' });
    await until(
      async () => (await console.app.post('/projects/query', {}, { key: secret })).status === 401,
    );
    await page.getByRole('button', { name: 'Show ended keys' }).click();
    await row.getByText('revoked').waitFor();
    expect(await row.getByRole('button').count()).toBe(0);
  });

  it('shows what the service refuses', async () => {
    const key = await console.app.aKey('admin', ['acme/*']);
    const page = await console.open('/keys', { key, theme: 'dark' });
    await page.getByRole('button', { name: 'New key' }).click();
    await page.getByLabel('User').fill('eve');
    await page.getByLabel('Scopes').fill('*');
    await page.keyboard.press('Enter');
    await page.getByRole('alert').getByText("the scope * is outside the key's own").waitFor();
    expect(await violations(page)).toEqual([]);
  });

  it('shows nothing of keys to who is no admin, and asks for nothing', async () => {
    const key = await console.app.aKey('writer');
    const page = await console.open('/connect', { key });
    const asked: string[] = [];
    page.on('request', (request) => asked.push(request.url()));
    await page.getByRole('link', { name: 'Projects' }).waitFor();
    expect(await page.getByRole('link', { name: 'Keys' }).count()).toBe(0);
    await page.goto(`${console.app.url}/console/keys`);
    await page.getByText('Only admins can see keys').waitFor();
    expect(asked.filter((url) => url.includes('/keys/'))).toEqual([]);
    expect(await page.locator('main').getByRole('button').count()).toBe(0);
  });
});
