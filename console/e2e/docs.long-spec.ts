import { until } from '../../test/support/until.js';
import { type Console, describeConsole, openConsole } from './support/console.js';

describeConsole('the page of the API', () => {
  let console: Console;
  beforeAll(async () => void (console = await openConsole()));
  afterAll(() => console.close());

  it('works under a policy that lets nothing in from elsewhere: shows an operation and sends it', async () => {
    const page = await console.open('/');
    const answer = await page.goto(`${console.app.url}/docs`);
    expect(answer!.headers()['content-security-policy']).toMatch(
      /^default-src 'none'; script-src 'self'; .*frame-ancestors 'none'$/,
    );
    const health = page.locator('.opblock', { hasText: '/health' }).first();
    // the page draws only the operations in view
    await page.mouse.move(500, 400);
    await until(async () => {
      await page.mouse.wheel(0, 200);
      return health.isVisible();
    });
    await health.locator('.opblock-summary-control').click();
    await health.getByRole('button', { name: 'Try it out' }).click();
    await health.getByRole('button', { name: 'Execute' }).click();
    await health.locator('.live-responses-table').getByText('"status"').waitFor();
    await page.addScriptTag({ content: 'window.wasRun = true' }).catch(() => {});
    expect(await page.evaluate(() => 'wasRun' in window)).toBe(false);
    expect(console.faults.filter((fault) => !fault.includes('Executing inline script'))).toEqual(
      [],
    );
  });
});
