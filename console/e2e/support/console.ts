import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { startApp, type TestApp } from '../../../test/support/app.js';

const executablePath = process.env['SKEIN_TEST_BROWSER'];

/**
 * Skips the suites when no browser is installed. The run has then printed it or has failed (support/global-setup.mjs).
 */
export const describeConsole = executablePath ? describe : describe.skip;

const ARGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-dev-shm-usage',
  '--font-render-hinting=none',
];
const AXE = readFileSync(createRequire(__filename).resolve('axe-core/axe.min.js'), 'utf8');

const SERIOUS = ['serious', 'critical'];
export const ANY_IMPACT = [...SERIOUS, 'moderate', 'minor'];

export interface Look {
  /** The admin key when absent; null for no session. */
  key?: string | null;
  theme?: 'light' | 'dark';
  width?: number;
}

export async function openConsole(env: Record<string, string> = {}) {
  const app = await startApp(env);
  const browser: Browser = await chromium.launch({ executablePath: executablePath!, args: ARGS });
  const faults: string[] = [];

  return {
    app,
    browser,
    /** Errors, violations of the content policy and requests to other hosts. A test may empty the list. */
    faults,
    /** Opens a path below /console in a new browser context, signed in. */
    async open(path = '/', look: Look = {}): Promise<Page> {
      const page = await aPage(browser, look);
      watch(page, app, faults);
      if (look.key !== null) await signIn(page.context(), app, look.key ?? app.key);
      await page.goto(`${app.url}/console${path}`);
      return page;
    },
    async close(): Promise<void> {
      await browser.close();
      await app.close();
    },
  };
}

export type Console = Awaited<ReturnType<typeof openConsole>>;

async function aPage(browser: Browser, { theme = 'light', width = 1440 }: Look): Promise<Page> {
  const context = await browser.newContext({
    viewport: { width, height: 900 },
    colorScheme: theme,
    timezoneId: 'Europe/Berlin',
    locale: 'en-GB',
    permissions: ['clipboard-read', 'clipboard-write'],
  });
  context.setDefaultTimeout(60_000); // on a busy machine a page of 50,000 calls takes more than 10 s
  return context.newPage();
}

function watch(page: Page, app: TestApp, faults: string[]): void {
  page.on('pageerror', (error) => faults.push(String(error)));
  page.on('dialog', (dialog) => {
    faults.push(`a dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on('console', (message) => {
    if (message.type() !== 'error') return;
    // the browser reports refused requests too; the page itself has to show those
    if (!message.text().startsWith('Failed to load resource')) faults.push(message.text());
  });
  page.on('request', (request) => {
    const url = request.url();
    if (!url.startsWith(app.url) && !/^(data|blob):/.test(url)) faults.push(`asked for ${url}`);
  });
}

async function signIn(context: BrowserContext, app: TestApp, key: string): Promise<void> {
  const answer = await context.request.post(`${app.url}/console/login`, {
    headers: { 'x-skein-console': '1', authorization: `Bearer ${key}` },
  });
  if (!answer.ok()) throw new Error(`not signed in: ${answer.status()} ${await answer.text()}`);
}

/**
 * Returns the serious violations that axe finds on a page, or those of `impacts`. CDP runs axe despite the page's
 * policy.
 */
export async function violations(page: Page, impacts = SERIOUS): Promise<string[]> {
  const client = await page.context().newCDPSession(page);
  const { frameTree } = await client.send('Page.getFrameTree');
  const { executionContextId } = await client.send('Page.createIsolatedWorld', {
    frameId: frameTree.frame.id,
  });
  const run = async (expression: string) => {
    const { result, exceptionDetails } = await client.send('Runtime.evaluate', {
      expression,
      contextId: executionContextId,
      awaitPromise: true,
      returnByValue: true,
    });
    if (exceptionDetails)
      throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value as unknown;
  };
  await run(AXE);
  const found = (await run(`axe.run().then(({ violations }) => violations
    .filter(({ impact }) => ${JSON.stringify(impacts)}.includes(impact))
    .map(({ id, nodes }) => id + ': ' + nodes.map(({ html, any }) => html.slice(0, 120) + ' ' + (any[0]?.message ?? '')).slice(0, 5).join(' | ')))`)) as string[];
  await client.detach();
  return found;
}
