import type { Page } from 'playwright-core';
import {
  ANY_IMPACT,
  type Console,
  describeConsole,
  openConsole,
  violations,
} from './support/console.js';
import { at, record, type Recorded } from './support/record.js';

const PROJECT = 'acme/day';

describeConsole('what goes wrong while one works', () => {
  let console: Console;
  beforeAll(async () => {
    console = await openConsole();
    await record(
      console.app,
      PROJECT,
      Array.from({ length: 300 }, (_, n) => ({
        id: `c${n}`,
        trace_id: `c${n}`,
        op_name: `op ${n}`,
        started_at: at(n),
        ms: 5,
      })),
    );
  });
  afterAll(() => console.close());
  afterEach(() => expect(console.faults).toEqual([]));

  const store = (...calls: Recorded[]) => record(console.app, PROJECT, calls);
  const open = (path: string, look = {}) => console.open(`/p/${PROJECT}/${path}`, look);
  const link = (page: Page, name: string) => page.getByRole('link', { name, exact: true });
  const selected = (page: Page) => page.locator('[role="treeitem"][aria-selected="true"]');

  it.each([
    ['traces?range=6x', 'range=6x', 'op 299'],
    ['metrics?range=6x', 'range=6x', 'Metrics'],
    ['threads?sort=7', 'sort=7', 'Threads'],
  ])('says of %s what it does not know, and shows the page', async (path, part, shown) => {
    const page = await open(path);
    await page.getByRole('status').getByText(part).waitFor();
    await page.getByRole('main').getByText(shown).first().waitFor();
    await page.getByRole('navigation').getByText('Traces').waitFor();
    expect(await violations(page)).toEqual([]);
    await page.getByRole('button', { name: 'Close' }).click();
    await page.getByText(part).waitFor({ state: 'detached' });
  });

  it.each([
    ['traces', '**/calls/stream_query'],
    ['metrics', '**/calls/stats'],
  ])('tells everybody that %s is being loaded', async (path, asked) => {
    const page = await console.open('/connect');
    await page.route(asked, () => undefined); // gets no answer
    await page.goto(`${console.app.url}/console/p/${PROJECT}/${path}`);
    await page.getByRole('progressbar', { name: 'Loading' }).waitFor();
    expect(await violations(page, ANY_IMPACT)).toEqual([]);
    await page.unrouteAll({ behavior: 'ignoreErrors' });
  });

  it.each([
    ['123', 'op 123'],
    ['true', 'No trace matches'],
  ])('looks for the word in ?q=%s', async (q, found) => {
    const page = await open(`traces?q=${q}`);
    await page.getByText(found).first().waitFor();
    expect(await page.getByRole('combobox', { name: 'Filter' }).inputValue()).toBe(q);
  });

  it.each([
    ['/nothing/here', 'There is no page at this address'],
    [`/p/${PROJECT}/nothing`, 'There is no page at this address'],
    ['/p/acme/a%20b/traces', 'This is not the name of a project'],
    ['/p/acme/.../traces', 'No traces yet'],
  ])('%s has a page', async (path, text) => {
    const page = await console.open(path);
    await page.getByText(text).waitFor();
    await page.getByRole('navigation', { name: 'Console' }).waitFor();
    expect(await violations(page)).toEqual([]);
  });

  it('says of a project that the key does not reach that it does not', async () => {
    const key = await console.app.aKey('reader', ['other/*']);
    const page = await open('traces', { key });
    await page.getByText(`You have no access to ${PROJECT}`).waitFor();
  });

  it('keeps a page that cannot be loaded within the frame, and opens it when the service is back', async () => {
    const page = await open('traces');
    await link(page, 'op 299').waitFor();
    await page.route('**/*', (route) => route.abort());
    await link(page, 'Metrics').click();
    await page.getByRole('alert').getByText('cannot be reached').waitFor();
    await page.getByRole('navigation', { name: 'Console' }).getByText('Traces').waitFor();
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByRole('alert').waitFor();
    await page.unroute('**/*');
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByRole('heading', { name: 'Metrics' }).waitFor();
    console.faults.length = 0; // the browser reports the failed module too
  });

  it('keeps a note until it is stored', async () => {
    const page = await open('traces/c7?tab=feedback');
    await page.getByText('This call has no feedback yet').waitFor();
    await page.getByLabel('Note').fill('The tool is slow.');
    await page.route('**/feedback/create', (route) => route.abort());
    await page.keyboard.press('Enter');
    await page.getByRole('alert').getByText('cannot be reached').waitFor();
    expect(await page.getByLabel('Note').inputValue()).toBe('The tool is slow.');
    await page.unroute('**/feedback/create');
    await page.getByRole('button', { name: 'Add', exact: true }).click();
    await page
      .getByRole('list', { name: 'Feedback given' })
      .getByText('The tool is slow.')
      .waitFor();
    expect(await page.getByLabel('Note').inputValue()).toBe('');
    await page.getByRole('button', { name: /^Delete my feedback/ }).click();
    await page.getByText('This call has no feedback yet').waitFor();
  });

  it('has one thumb a person, which can be taken back', async () => {
    const page = await open('traces/c8?tab=feedback');
    const given = page.getByRole('list', { name: 'Feedback given' });
    const good = page.getByRole('button', { name: 'Good' });
    await good.click();
    await given.getByRole('img', { name: 'Good' }).waitFor();
    await page.getByRole('button', { name: 'Bad' }).click();
    await given.getByRole('img', { name: 'Bad' }).waitFor();
    expect(await given.getByRole('listitem').count()).toBe(1);
    expect(await good.getAttribute('aria-pressed')).toBe('false');
    await page.getByRole('button', { name: 'Bad' }).click();
    await given.getByRole('img', { name: 'Bad' }).waitFor({ state: 'detached' });
    const [{ count }] = await console.app.query(
      `SELECT count(*)::int AS count FROM feedback WHERE project_id = $1 AND ref LIKE '%/c8'`,
      [PROJECT],
    );
    expect(count).toBe(0);
  });

  it('shows that changes do not come, and that they come again', async () => {
    const page = await console.open('/connect');
    await page.route('**/events?*', (route) => route.abort());
    await page.goto(`${console.app.url}/console/p/${PROJECT}/traces`);
    const live = page.getByRole('button', { name: 'Live' });
    await page.getByRole('button', { name: 'Reconnecting…' }).waitFor();
    await page.unroute('**/events?*');
    await live.waitFor();
    expect(await live.getAttribute('aria-pressed')).toBe('true');
  });

  it('goes back to where the list was left', async () => {
    const page = await open('traces');
    await link(page, 'op 299').waitFor();
    const list = page.getByRole('table').locator('[tabindex="0"]').last();
    while (!(await link(page, 'op 150').isVisible()))
      await list.evaluate(async (body) => {
        body.scrollBy(0, 300); // less than a screen, and only once the rows are drawn
        await new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)));
      });
    await link(page, 'op 150').click();
    await page.getByRole('treeitem').waitFor();
    await page.goBack();
    await link(page, 'op 150').waitFor();
    expect(await list.evaluate((body) => body.scrollTop)).toBeGreaterThan(4000);
  });

  it('has keys as soon as a trace is open, and keeps the tab while one walks', async () => {
    await store(
      { id: 'top', trace_id: 'top', op_name: 'top', started_at: at(9000), ms: 50 },
      { id: 'one', trace_id: 'top', parent_id: 'top', op_name: 'one', started_at: at(9001), ms: 5 },
      { id: 'two', trace_id: 'top', parent_id: 'top', op_name: 'two', started_at: at(9002), ms: 5 },
    );
    const page = await open('traces');
    await link(page, 'top').click();
    await page.getByRole('treeitem').nth(2).waitFor();
    await page.keyboard.press('j');
    await page.waitForURL(/call=one/);
    await page.getByRole('tab', { name: 'Feedback' }).click();
    await page.getByText('This call has no feedback yet').waitFor();
    await page.keyboard.press('j');
    await page.waitForURL(/call=two/);
    expect(await selected(page).innerText()).toContain('two');
    await page.getByRole('tab', { name: 'Feedback', selected: true }).waitFor();
    await page.keyboard.press('/');
    await page.keyboard.type('jk');
    expect(await page.getByRole('searchbox').inputValue()).toBe('jk');
  });

  it('has a comparison in the address', async () => {
    const page = await open('traces/c9?call=c9&tab=compare&with=c10');
    await page.getByRole('region', { name: 'Differences' }).waitFor();
    expect(await page.getByLabel('Id of another call').inputValue()).toBe('c10');
  });

  it('names each tab by what it shows', async () => {
    const page = await open('traces');
    await link(page, 'op 299').waitFor();
    expect(await page.title()).toBe(`Traces · ${PROJECT} · Skein`);
    await link(page, 'op 299').click();
    await page.getByRole('treeitem').waitFor();
    expect(await page.title()).toBe(`op 299 · ${PROJECT} · Skein`);
  });

  it('leads from a part of the metrics to the traces of that part', async () => {
    const window = `from=${encodeURIComponent(at(10))}&to=${encodeURIComponent(at(20))}`;
    const page = await open(`metrics?${window}&by=op`);
    await page
      .getByRole('table', { name: 'By op' })
      .getByRole('link', { name: 'op 12', exact: true })
      .click();
    await page.waitForURL(/traces/);
    const { searchParams } = new URL(page.url());
    expect([searchParams.get('from'), searchParams.get('to')]).toEqual([at(10), at(20)]);
    await link(page, 'op 12').waitFor();
  });

  it('reads only what is new of a large trace that runs', async () => {
    const children = (from: number, count: number): Recorded[] =>
      Array.from({ length: count }, (_, n) => ({
        id: `big${from + n}`,
        trace_id: 'big',
        parent_id: 'big',
        op_name: 'step',
        started_at: at(20_000 + from + n),
        ms: 1,
      }));
    const root = { id: 'big', trace_id: 'big', op_name: 'big', started_at: at(20_000) };
    await store(root, ...children(1, 450));
    await store(...children(451, 450));
    await store(...children(901, 450));
    const page = await open('traces/big');
    const calls = page.getByRole('term').filter({ hasText: 'Calls' }).locator('..');
    await calls.getByText('1,351').waitFor();
    let read = 0;
    page.on('response', (response) => {
      if (!response.url().endsWith('/calls/stream_query')) return;
      response.body().then(
        (body) => (read += body.length),
        () => undefined,
      );
    });
    for (let n = 0; n < 5; n++) {
      await store(...children(1351 + n, 1));
      await calls.getByText((1352 + n).toLocaleString('en-US')).waitFor();
    }
    await store({ ...root, ms: 9_000_000 });
    await page.getByText('running').first().waitFor({ state: 'detached' });
    expect(read).toBeGreaterThan(0);
    expect(read).toBeLessThan(60_000);
  });

  it('neutralises what turns names around, and leaves joiners in words', async () => {
    await store({
      id: 'bidi',
      trace_id: 'bidi',
      op_name: 'invoice\u202Egnp.exe',
      thread_id: 'نمی\u200Cخواهم',
      started_at: at(30_000),
      ms: 1,
    });
    const page = await open('traces');
    await link(page, 'invoice‹U+202E›gnp.exe').waitFor();
    await page.getByText('نمی\u200Cخواهم').waitFor();
  });

  it('keeps saved views away from objects', async () => {
    const page = await open('traces?q=status%3Derror');
    await page.getByRole('button', { name: 'Views' }).click();
    await page.getByLabel('Save this view as').fill('Errors (ü)');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('button', { name: 'Errors (ü) status=error' }).waitFor();
    await page.goto(`${console.app.url}/console/p/${PROJECT}/objects`);
    await page.getByText('No objects').waitFor();
    const [{ object_id }] = await console.app.query(
      `SELECT object_id FROM object_versions WHERE project_id = $1`,
      [PROJECT],
    );
    expect(object_id).toMatch(/^view\.errors-u\.\w+$/);
  });

  it.each([390, 720])('fits into %i px', async (width) => {
    for (const path of [
      'traces',
      'traces/c7',
      'threads',
      'metrics',
      'objects',
      'queues',
      'evaluations',
      'training',
    ]) {
      const page = await open(path, { width });
      await page.getByRole('heading').first().waitFor();
      const { wide, main } = await page.evaluate(() => ({
        wide: document.documentElement.scrollWidth,
        main: document.querySelector('main')!.clientWidth,
      }));
      expect([path, wide]).toEqual([path, width]);
      expect(main).toBeGreaterThanOrEqual(width === 390 ? 390 : 530);
      await page.context().close();
    }
  });
});
