import type { Page } from 'playwright-core';
import { type Console, describeConsole, openConsole } from './support/console.js';

const NOON = Date.UTC(2026, 0, 1, 12);
const at = (ms: number) => new Date(NOON + ms).toISOString();
const ALL = { missing: [], others: [] };
const named = (name: string, count: number, from = 0) =>
  Array.from({ length: count }, (_, n) => `${name}${String(from + n).padStart(4, '0')}`);

describeConsole('lists of what is stored while it is stored', () => {
  let console: Console;
  beforeAll(async () => void (console = await openConsole()));
  afterAll(() => console.close());
  afterEach(() => expect(console.faults).toEqual([]));

  async function post(path: string, body: unknown) {
    const answer = await console.app.post(path, body);
    if (answer.status !== 200) throw new Error(answer.text);
    return answer.body;
  }

  const complete = (project: string, calls: object[]) =>
    post(`/v2/${project}/calls/complete`, { batch: calls });
  const aRoot = (project: string, id: string, started: number, rest: object = {}) => ({
    project_id: project,
    id,
    trace_id: id,
    op_name: id,
    started_at: at(started),
    ended_at: at(started + 5),
    inputs: {},
    attributes: {},
    ...rest,
  });
  const start = (project: string, ids: string[], started: number) =>
    post('/call/upsert_batch', {
      batch: ids.map((id) => {
        const { ended_at: _, ...call } = aRoot(project, id, started);
        return { mode: 'start', req: { start: call } };
      }),
    });
  const end = (project: string, ids: string[], ended: number) =>
    post('/call/upsert_batch', {
      batch: ids.map((id) => ({
        mode: 'end',
        req: { end: { project_id: project, id, ended_at: at(ended) } },
      })),
    });

  const row = (page: Page, name: string) =>
    page.getByRole('table').getByRole('row').filter({ hasText: name }).first();
  const body = (page: Page) => page.getByRole('table').locator('[tabindex="0"]').last();
  /** Scrolls, and waits until the page has drawn that. */
  const scrollTo = (page: Page, top: number) =>
    body(page).evaluate(async (list, to) => {
      list.scrollTo(0, to);
      for (let frames = 0; frames < 2; frames++) await new Promise(requestAnimationFrame);
    }, top);
  /** Waits until the total above the list has this text. */
  const counted = (page: Page, count: string) =>
    page.getByRole('banner').or(page.locator('header')).getByText(count, { exact: true }).waitFor();

  /** Scrolls from the top to the end and collects the names of all rows. Gives up after 120 seconds. */
  const reached = (
    page: Page,
    expected: string[],
  ): Promise<{ missing: string[]; others: string[] }> =>
    body(page).evaluate(async (list, wanted) => {
      const names = new Set<string>();
      const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
      list.scrollTo(0, 0);
      for (const end = performance.now() + 120_000; performance.now() < end; await frame()) {
        for (const link of list.querySelectorAll('[role="row"] a'))
          names.add(link.textContent ?? '');
        if (wanted.every((name) => names.has(name))) break;
        list.scrollBy(0, 300);
      }
      const missing = wanted.filter((name) => !names.has(name));
      return { missing, others: [...names].filter((name) => !wanted.includes(name)) };
    }, expected);

  /** Waits for an answer to the page that contains all ids. A request of many calls is stored in batches. */
  const read = (page: Page, ids: string[]) =>
    page.waitForResponse(async (answer) => {
      if (!answer.url().endsWith('/stream_query')) return false;
      const text = await answer.text();
      return ids.every((id) => text.includes(`"${id}"`));
    });

  const show = (page: Page, state: DocumentVisibilityState) =>
    page.evaluate((value) => {
      Object.defineProperty(document, 'visibilityState', { value, configurable: true });
      document.dispatchEvent(new Event('visibilitychange'));
    }, state);

  /** Opens a page of a project with one trace, and collects responses with an error status. */
  async function live(project: string, path = 'traces') {
    await complete(project, [aRoot(project, 'old', -1000)]);
    const page = await console.open('/connect');
    const refused: string[] = [];
    page.on('response', (response) => {
      if (response.status() >= 400) refused.push(`${response.status()} ${response.url()}`);
    });
    await page.goto(`${console.app.url}/console/p/${project}/${path}`);
    await page.getByRole('table').getByRole('row').nth(1).waitFor();
    return { page, refused };
  }

  it('shows all of 1,000 roots that come at once', async () => {
    const { page, refused } = await live('acme/burst');
    const ids = named('b', 1000);
    const newest = read(page, ids.slice(-50));
    await complete(
      'acme/burst',
      ids.map((id, n) => aRoot('acme/burst', id, n)),
    );
    await newest;
    await row(page, 'b0999').waitFor();
    expect(await reached(page, [...ids, 'old'])).toEqual(ALL);
    await counted(page, '1,001');
    expect(refused).toEqual([]);
  });

  it('shows all that came while the tab was hidden', async () => {
    const { page } = await live('acme/hidden');
    const ids = named('h', 400);
    await show(page, 'hidden');
    for (let n = 0; n < 400; n += 20)
      await complete(
        'acme/hidden',
        ids.slice(n, n + 20).map((id, i) => aRoot('acme/hidden', id, n + i)),
      );
    await show(page, 'visible');
    await row(page, 'h0399').waitFor();
    expect(await reached(page, [...ids, 'old'])).toEqual(ALL);
  });

  it('shows rows whose start is in the past or in the future, and that ended before they started', async () => {
    const project = 'acme/order';
    const { page } = await live(project);
    const ids = named('n', 250);
    await complete(
      project,
      ids.map((id, n) => aRoot(project, id, n * 1000)),
    );
    await row(page, 'n0249').waitFor();
    await end(project, ['late'], 125_501);
    await complete(project, [
      aRoot(project, 'past', -500),
      aRoot(project, 'between', 245_500),
      aRoot(project, 'future', 1e12),
    ]);
    await row(page, 'between').waitFor();
    await start(project, ['late'], 125_500);
    const names = ['between', 'future', 'late', ...ids, 'old', 'past'];
    expect(await reached(page, names)).toEqual(ALL);
    await counted(page, '255');
  });

  it('says how many came while one reads, and keeps what is in sight as it is stored', async () => {
    const project = 'acme/reading';
    const { page, refused } = await live(project);
    const running = named('r', 300);
    await start(project, running, 0);
    await row(page, 'r0299').getByText('Running').waitFor({ state: 'attached' });
    await scrollTo(page, 3000);
    await row(page, 'r0200').waitFor();
    await complete(
      project,
      named('new', 1000).map((id, n) => aRoot(project, id, 1000 + n)),
    );
    await complete(project, [aRoot(project, 'within', 0)]); // calls of one time are sorted by id, so this one is above r
    await page.getByRole('button', { name: '1,001 new' }).waitFor();
    await end(project, running, 1234);
    await row(page, 'r0200').getByText('1.23 s').waitFor();
    await row(page, 'r0200').getByText('Running').waitFor({ state: 'detached' });
    await page.getByRole('button', { name: '1,001 new' }).click();
    await row(page, 'new0999').waitFor();
    const names = [...named('new', 1000), 'old', ...running, 'within'];
    expect(await reached(page, names)).toEqual(ALL);
    await scrollTo(page, 32 * 1240);
    await row(page, 'r0050').getByText('1.23 s').waitFor(); // more calls than fit into a page
    expect(refused).toEqual([]);
  });

  it('counts also what came behind all that is loaded', async () => {
    const project = 'acme/older';
    const { page } = await live(project);
    await complete(
      project,
      named('n', 60).map((id, n) => aRoot(project, id, n)),
    );
    await row(page, 'n0059').waitFor();
    await counted(page, '61');
    await scrollTo(page, 500);
    await complete(project, [aRoot(project, 'oldest', -5000)]);
    await page.getByRole('button', { name: '1 new' }).click();
    expect(await reached(page, ['oldest'])).toMatchObject({ missing: [] });
  });

  it('counts what is new although rows it shows no longer match', async () => {
    const project = 'acme/filtered';
    const running = named('r', 60);
    await start(project, running, 0);
    const page = await console.open(`/p/${project}/traces?q=status%3Drunning`);
    await row(page, 'r0059').waitFor();
    await scrollTo(page, 600);
    await end(project, running.slice(0, 40), 1234);
    await start(project, named('s', 3), 1000);
    await page.getByRole('button', { name: '3 new' }).click();
    await row(page, 's0002').waitFor(); // until then the old rows are shown
    expect(await reached(page, [...running.slice(40), ...named('s', 3)])).toEqual(ALL);
  });

  it('goes on behind 10,000 rows, and back to the newest', async () => {
    const project = 'acme/long';
    const ids = named('l', 10_050);
    for (let n = 0; n < ids.length; n += 2010)
      await complete(
        project,
        ids.slice(n, n + 2010).map((id, i) => aRoot(project, id, n + i)),
      );
    const page = await console.open(`/p/${project}/traces`);
    const older = page.getByRole('button', { name: 'Show traces after these 10,000' });
    while (!(await older.isVisible()))
      await body(page).evaluate((list) => list.scrollTo(0, list.scrollHeight));
    await complete(project, [aRoot(project, 'newest', 20_000)]);
    await page.getByRole('button', { name: '1 new' }).waitFor();
    await older.click();
    expect(await reached(page, ids.slice(0, 50))).toEqual(ALL);
    await page.getByRole('button', { name: 'Newest' }).click();
    await row(page, 'newest').waitFor();
  });

  it('shows at once what came while it was not live', async () => {
    const project = 'acme/paused';
    const { page } = await live(project);
    const toggle = page.getByRole('button', { name: 'Live' });
    await toggle.click();
    const ids = named('p', 150);
    await complete(
      project,
      ids.map((id, n) => aRoot(project, id, n)),
    );
    expect(await page.getByRole('table').getByRole('row').count()).toBe(2);
    await toggle.click();
    await row(page, 'p0149').waitFor();
    expect(await reached(page, ['old', ...ids])).toEqual(ALL);
  });

  it('shows all threads of 500 that come at once, also after one has scrolled', async () => {
    const project = 'acme/threads';
    const ids = named('t', 500);
    const turn = (id: string, n: number) =>
      aRoot(project, id, n, { thread_id: id, turn_id: id, op_name: 'turn' });
    await complete(project, [turn('old', -1000)]);
    const page = await console.open(`/p/${project}/threads`);
    await row(page, 'old').waitFor();
    const newest = read(page, ids.slice(-200));
    await complete(project, ids.map(turn));
    await newest;
    await row(page, 't0499').waitFor();
    expect(await reached(page, ['old', ...ids])).toEqual(ALL);
    await complete(project, [turn('later', 1000)]);
    await page.getByRole('button', { name: 'Refresh' }).click();
    await row(page, 'later').waitFor();
  });
});
