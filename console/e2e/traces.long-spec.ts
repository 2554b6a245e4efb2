import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Page } from 'playwright-core';
import { until } from '../../test/support/until.js';
import { type Console, describeConsole, openConsole, violations } from './support/console.js';
import { record as recordCalls, type Recorded } from './support/record.js';

const run = promisify(execFile);
const HOSTILE = '<img src=x onerror=alert(1)>\u202Egnp.exe\u001B[31m';

describeConsole('the page of traces', () => {
  let console: Console;
  beforeAll(async () => {
    console = await openConsole();
    await record(
      'acme/many',
      Array.from({ length: 350 }, (_, n) => ({
        id: `t${n}`,
        op_name: n % 5 === 0 ? 'search' : 'answer',
        started_at: new Date(Date.UTC(2026, 0, 1, 0, 0, n)).toISOString(),
        inputs: { question: `Question ${n}` },
        ms: n * 10,
        ...(n % 50 === 0 && { exception: 'boom' }),
      })),
    );
  });
  afterAll(() => console.close());
  afterEach(() => expect(console.faults).toEqual([]));

  const record = (project_id: string, calls: Recorded[]) =>
    recordCalls(console.app, project_id, calls);

  const rows = (page: Page) => page.getByRole('table', { name: 'Traces' }).getByRole('row');
  const row = (page: Page, name: string) => rows(page).filter({ hasText: name }).first();
  const filter = (page: Page) => page.getByRole('combobox', { name: 'Filter' });

  it('shows the newest first, and all of them as one scrolls', async () => {
    const page = await console.open('/p/acme/many/traces');
    await page.getByText('350', { exact: true }).waitFor();
    await row(page, '3.49 s').waitFor();
    const last = page.locator('[aria-rowindex="351"]');
    const list = page.getByRole('table').locator('[tabindex="0"]').last();
    while (!(await last.isVisible())) await list.evaluate((body) => body.scrollBy(0, 2000));
    expect(await last.innerText()).toContain('0 ms');
    expect(await rows(page).count()).toBeLessThan(80);
  });

  it('narrows by a filter, which stands in the address', async () => {
    const page = await console.open('/p/acme/many/traces');
    await filter(page).fill('op=search inputs.question~"question 3" latency>=3000');
    await filter(page).press('Enter');
    await page.getByText('10', { exact: true }).waitFor();
    await rows(page).nth(10).waitFor(); // the tenth row, below the header row
    expect(await rows(page).count()).toBe(11);
    await page.reload();
    await page.getByText('10', { exact: true }).waitFor();
    expect(await filter(page).inputValue()).toContain('op=search');
    await page.goBack();
    await page.getByText('350', { exact: true }).waitFor();
  });

  it('completes fields, paths and values by keyboard alone', async () => {
    const page = await console.open('/p/acme/many/traces');
    await row(page, 'answer').waitFor();
    await filter(page).pressSequentially('inputs.q');
    await page.getByRole('option', { name: 'inputs.question' }).waitFor();
    await filter(page).press('ArrowDown');
    await filter(page).press('Tab');
    await filter(page).pressSequentially('~"question 34" status=succ');
    await page.getByRole('option', { name: 'status=success' }).waitFor();
    await filter(page).press('ArrowDown');
    await filter(page).press('Enter');
    expect(await filter(page).inputValue()).toBe('inputs.question~"question 34" status=success ');
    await filter(page).press('Enter');
    await page.getByText('11', { exact: true }).waitFor();
    expect(await violations(page)).toEqual([]);
  });

  it('shows what the service says of a filter that it refuses', async () => {
    const page = await console.open('/p/acme/many/traces');
    await filter(page).fill('{"$nonsense":[]}');
    await filter(page).press('Enter');
    await page.getByRole('alert').getByText('nonsense').waitFor();
    await page
      .getByRole('alert')
      .getByText(/request [\w-]{36}/)
      .waitFor();
  });

  it('shows a call as it comes, and as it ends, and holds still while one reads', async () => {
    const started_at = '2026-02-01T00:00:00Z';
    await record(
      'acme/live',
      Array.from({ length: 60 }, (_, n) => ({ id: `o${n}`, op_name: 'old', started_at, ms: 1 })),
    );
    const page = await console.open('/p/acme/live/traces');
    await row(page, 'old').waitFor();
    await record('acme/live', [
      { id: 'first', op_name: 'came', started_at: '2026-02-02T00:00:00Z' },
    ]);
    await row(page, 'came').getByText('Running').waitFor({ state: 'attached' });
    await record('acme/live', [
      { id: 'first', op_name: 'came', started_at: '2026-02-02T00:00:00Z', ms: 1234 },
    ]);
    await row(page, '1.23 s').waitFor();
    await page
      .getByRole('table')
      .locator('[tabindex="0"]')
      .last()
      .evaluate((body) => body.scrollTo(0, 300));
    await record('acme/live', [
      { id: 'second', op_name: 'later', started_at: '2026-02-03T00:00:00Z', ms: 1 },
    ]);
    await page.getByRole('button', { name: '1 new' }).click();
    await row(page, 'later').waitFor();
  });

  it('is live in eight tabs of one browser, which have one stream among them', async () => {
    const first = await console.open('/connect');
    const context = first.context();
    let streams = 0;
    context.on('request', (request) => {
      if (request.url().endsWith('/events?project_id=acme%2Ftabs')) streams++;
    });
    const others: Page[] = [];
    for (let n = 0; n < 7; n++) others.push(await context.newPage());
    for (const page of [first, ...others])
      await page.goto(`${console.app.url}/console/p/acme/tabs/traces`);
    for (const page of others) await page.getByText('No traces yet').waitFor();
    const call = (id: string) => ({ id, op_name: id, started_at: new Date().toISOString(), ms: 1 });
    await record('acme/tabs', [call('one')]);
    await Promise.all([first, ...others].map((page) => row(page, 'one').waitFor()));
    expect(streams).toBe(1);
    await first.close(); // this tab has the stream
    await record('acme/tabs', [call('two')]);
    await Promise.all(others.map((page) => row(page, 'two').waitFor()));
    await until(() => streams > 1); // the tab that takes over first reads the changes that it missed
    expect(streams).toBe(2);
    const show = (state: DocumentVisibilityState) =>
      Promise.all(
        others.map((page) =>
          page.evaluate((value) => {
            Object.defineProperty(document, 'visibilityState', { value, configurable: true });
            document.dispatchEvent(new Event('visibilitychange'));
          }, state),
        ),
      );
    await show('hidden'); // no tab has a stream
    await record('acme/tabs', [call('three')]);
    await show('visible');
    await Promise.all(others.map((page) => row(page, 'three').waitFor()));
    await context.close();
  });

  it('shows tokens, costs, users, threads and what people thought', async () => {
    const project_id = 'acme/cells';
    await record(project_id, [
      {
        id: 'c',
        op_name: 'chat',
        thread_id: 'thread-7',
        started_at: '2026-01-01T00:00:00Z',
        ms: 50,
        summary: { usage: { house: { prompt_tokens: 1200, completion_tokens: 34 } } },
      },
    ]);
    await console.app.post('/cost/create', {
      project_id,
      costs: {
        house: {
          prompt_token_cost: 0.001,
          completion_token_cost: 0.002,
          effective_date: '2020-01-01T00:00:00Z',
        },
      },
    });
    const page = await console.open('/p/acme/cells/traces');
    const cells = row(page, 'chat');
    for (const text of ['1,200 → 34', '$1.27', 'ada', 'thread-7', '50 ms'])
      await cells.getByText(text).waitFor();
    await console.app.post('/feedback/create', {
      project_id,
      svc_ref: `svc:///${project_id}/call/c`,
      feedback_type: 'svc.reaction.1',
      payload: { emoji: '👍' },
    });
    await cells.getByRole('img', { name: 'Good' }).waitFor(); // without a reload
  });

  it('shows tokens, cost and user of the whole trace where its root says nothing', async () => {
    const started_at = '2026-01-01T00:00:00Z';
    const trace_id = 'whole';
    await record('acme/whole', [
      { id: 'root', op_name: 'serve', trace_id, started_at, ms: 60 },
      {
        ...{ id: 'model', op_name: 'chat', trace_id, started_at, ms: 50 },
        parent_id: 'root',
        attributes: { 'user.id': 'customer 9' },
        summary: { usage: { 'gpt-4o-mini': { prompt_tokens: 1200, completion_tokens: 34 } } },
      },
    ]);
    const page = await console.open('/p/acme/whole/traces');
    for (const text of ['1,200 → 34', '$0.00020', 'customer 9'])
      await row(page, 'serve').getByText(text).waitFor();
  });

  it('keeps views for the project, which a reader may open and not change', async () => {
    const page = await console.open('/p/acme/many/traces?q=status%3Derror');
    await page.getByText('7', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Views' }).click();
    await page.getByLabel('Save this view as').fill('Failures of the week');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('button', { name: 'Failures of the week status=error' }).waitFor();
    expect(await violations(page)).toEqual([]);

    const reader = await console.open('/p/acme/many/traces', {
      key: await console.app.aKey('reader'),
    });
    await reader.getByRole('button', { name: 'Views' }).click();
    await reader.getByText('Failures of the week').click();
    await reader.getByText('7', { exact: true }).waitFor();
    await reader.getByRole('button', { name: 'Views' }).click();
    await reader.getByText('Failures of the week').waitFor();
    expect(await reader.getByRole('dialog').getByRole('button').allInnerTexts()).toEqual([
      expect.stringContaining('Failures'),
      'Close',
    ]);
  });

  it('copies a command that answers what is shown', async () => {
    const page = await console.open(
      `/p/acme/many/traces?q=${encodeURIComponent(`inputs.question="Question 17"`)}`,
    );
    await page.getByText('1', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Copy as curl' }).click();
    await page.getByText('Copied').waitFor();
    const command = await page.evaluate(() => navigator.clipboard.readText());
    const { stdout } = await run('sh', ['-c', command], {
      env: { ...process.env, SKEIN_API_KEY: console.app.key },
    });
    expect(
      stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line).id),
    ).toEqual(['t17']);
  });

  it('opens a trace by keyboard', async () => {
    const page = await console.open('/p/acme/many/traces');
    await row(page, 'answer').waitFor();
    await page.getByRole('table').locator('[tabindex="0"]').last().focus();
    for (const key of ['j', 'j', 'Enter']) await page.keyboard.press(key);
    await page.waitForURL(/\/traces\/[\w-]+$/);
  });

  it('shows names as text, whatever they hold', async () => {
    await record('acme/hostile', [
      {
        id: 'x',
        op_name: HOSTILE.replace('\u001B', ''),
        thread_id: 'javascript:alert(1)',
        started_at: '2026-01-01T00:00:00Z',
        ms: 1,
      },
      { id: 'y', op_name: `long ${'x'.repeat(1000)}`, started_at: '2026-01-01T00:00:01Z', ms: 1 },
    ]);
    const page = await console.open('/p/acme/hostile/traces');
    await row(page, '<img src=x onerror=alert(1)>').waitFor();
    expect(await page.locator('main img').count()).toBe(0);
    const width = await page.evaluate(() => document.documentElement.scrollWidth);
    expect(width).toBe(1440);
  });

  it('says what to do where there is nothing', async () => {
    const page = await console.open('/p/acme/empty/traces');
    await page.getByRole('link', { name: 'Connect an application' }).click();
    await page.getByText('Waiting for the first call of acme/empty').waitFor();
    const filtered = await console.open('/p/acme/many/traces?q=op%3Dnone');
    await filtered.getByRole('button', { name: 'Show all traces' }).click();
    await filtered.getByText('350', { exact: true }).waitFor();
  });

  it.each(['light', 'dark'] as const)('has no serious violation in the %s theme', async (theme) => {
    const page = await console.open('/p/acme/many/traces', { theme });
    await row(page, 'answer').waitFor();
    expect(await violations(page)).toEqual([]);
  });

  it('loads at most 150 KB of JavaScript before the first rows', async () => {
    const page = await console.open('/p/acme/many/traces');
    await row(page, 'answer').waitFor();
    const size = await page.evaluate(() =>
      (performance.getEntriesByType('resource') as PerformanceResourceTiming[])
        .filter(({ name }) => name.endsWith('.js'))
        .reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0),
    );
    expect(size).toBeGreaterThan(50_000);
    expect(size).toBeLessThan(150_000);
  });
});
