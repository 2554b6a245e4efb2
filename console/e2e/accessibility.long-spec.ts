import type { Page } from 'playwright-core';
import {
  ANY_IMPACT,
  type Console,
  describeConsole,
  openConsole,
  violations,
} from './support/console.js';

const P = '/p/demo/support';
const EMPTY = '/p/acme/empty';

/** A path below /console, and the steps that bring its page into a state. */
type State = [path: string, then?: (page: Page) => Promise<unknown>];

const press = (name: string) => (page: Page) =>
  page.getByRole('button', { name, exact: true }).first().click();
const tab = (name: string) => (page: Page) =>
  page.getByRole('tab', { name, exact: true }).first().click();
const jobOf = async (page: Page) => {
  await page.getByRole('table', { name: 'Training jobs' }).getByRole('link').first().click();
  await page.getByRole('heading', { name: /^Job / }).waitFor();
};

const loaded = (page: Page) =>
  page.waitForFunction(() => !document.querySelector('[aria-busy="true"]'));

const STATES: State[] = [
  ['/connect'],
  ['/connect?project=demo/support'],
  [`${P}/traces`],
  [`${P}/traces?all=true`],
  [`${P}/traces?q=status%3Derror`],
  [`${P}/traces?q=nonsense%3D1`],
  [`${P}/traces`, press('Columns')],
  [`${P}/traces`, press('Views')],
  [`${P}/traces`, (page) => page.getByRole('checkbox').nth(1).check()],
  [
    `${P}/traces`,
    async (page) => {
      await page.getByRole('checkbox').nth(1).check();
      await press('Tag')(page);
    },
  ],
  [`${P}/traces`, (page) => page.keyboard.press('Control+k')],
  [`${P}/traces/demo-003`],
  [`${P}/traces/demo-005?tab=json`],
  [`${P}/traces/demo-003?view=graph`],
  [`${P}/traces/demo-003?tab=more`],
  [`${P}/traces/demo-003?call=demo-003-1&tab=cost`],
  [`${P}/traces/demo-003?tab=feedback`],
  [`${P}/traces/demo-010?call=demo-010-1&tab=compare`, press('Compare with the previous call')],
  [`${P}/traces/demo-003?tab=raw`],
  [`${P}/threads`],
  [`${P}/threads/ticket-1045`],
  [`${P}/metrics`],
  [`${P}/objects`],
  [`${P}/objects/support-prompt?tab=changes`],
  [`${P}/objects/support-questions`],
  [`${P}/queues`],
  [`${P}/retention`],
  [`${P}/retention`, press('Place a hold')],
  [`${P}/evaluations`],
  [`${P}/evaluations/leaderboards`],
  [`${P}/training`],
  [`${P}/training?tab=jobs`, jobOf],
  [`${P}/training?tab=builds`],
  [`${P}/training/recipes?recipe=support-recipe`],
  [
    `${P}/training`,
    async (page) => {
      await page.getByRole('link', { name: 'support-agent' }).click();
      await tab('Trajectories')(page);
    },
  ],
  [`${EMPTY}/traces`],
  [`${EMPTY}/metrics`],
  ['/projects'],
  ['/keys'],
  ['/keys', press('New key')],
  ['/people'],
  ['/audit'],
  ['/nowhere'],
];

describeConsole('every page and dialog, for those who cannot see or point', () => {
  let console: Console;
  beforeAll(async () => {
    console = await openConsole();
    const page = await console.open('/connect');
    await page.getByRole('button', { name: 'Load demo data' }).click();
    await page.waitForURL(/traces/);
    await page.context().close();
  });
  afterAll(() => console.close());

  it.each([
    ['light', 1440],
    ['dark', 1440],
    ['light', 390],
    ['dark', 390],
  ] as const)('has nothing that axe finds, %s, %i px wide', async (theme, width) => {
    const page = await console.open('/connect', { theme, width });
    const found: string[] = [];
    for (const [path, then] of STATES) {
      await page.goto(`${console.app.url}/console${path}`);
      await page.getByRole('heading').first().waitFor();
      await loaded(page);
      await then?.(page);
      await loaded(page);
      await page.locator('h1').first().waitFor();
      for (const one of await violations(page, ANY_IMPACT)) found.push(`${path}: ${one}`);
    }
    expect(found).toEqual([]);
    expect(console.faults).toEqual([]);
  });
});
