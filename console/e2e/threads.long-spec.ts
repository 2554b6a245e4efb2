import type { Page } from 'playwright-core';
import { type Console, describeConsole, openConsole, violations } from './support/console.js';

const PROJECT = 'acme/talk';
const at = (ms: number) => new Date(Date.UTC(2026, 0, 1) + ms).toISOString();

describeConsole('the page of threads', () => {
  let console: Console;
  beforeAll(async () => {
    console = await openConsole();
    // thread n has n turns of n × 100 ms
    await complete(
      [1, 2, 3].flatMap((n) =>
        Array.from({ length: n }, (_, turn) => aTurn(`thread-${n}`, turn, { took: n * 100 })),
      ),
    );
  });
  afterAll(() => console.close());
  afterEach(() => expect(console.faults).toEqual([]));

  const aTurn = (
    thread_id: string,
    n: number,
    { took = 1, ...rest }: { took?: number; inputs?: object; output?: unknown },
  ) => ({
    project_id: PROJECT,
    id: `${thread_id} ${n}`,
    trace_id: `${thread_id} ${n}`,
    turn_id: `${thread_id} ${n}`,
    thread_id,
    op_name: 'turn',
    started_at: at(n * 1000),
    ended_at: at(n * 1000 + took),
    inputs: { messages: [{ role: 'user', content: `Question ${n}` }] },
    output: { role: 'assistant', content: `Answer ${n}` },
    ...rest,
  });
  async function complete(batch: object[], project = PROJECT) {
    const { status, text } = await console.app.post(`/v2/${project}/calls/complete`, { batch });
    if (status !== 200) throw new Error(text);
  }
  const names = (page: Page) => page.getByRole('table').getByRole('link').allInnerTexts();

  it('lists them with exact statistics, in the order that is asked for, which stands in the address', async () => {
    const page = await console.open(`/p/${PROJECT}/threads`);
    const row = page.getByRole('row').filter({ hasText: 'thread-3' });
    for (const text of ['3', '300 ms'])
      await row.getByText(text, { exact: true }).first().waitFor();
    await page.getByRole('button', { name: 'Sort by Turns' }).click();
    await page.waitForURL(/sort=turn_count/);
    await page.getByRole('button', { name: 'Sort by Turns' }).click();
    await page.waitForURL(/up=true/);
    await page.locator('[aria-rowindex="2"]').getByText('thread-1').waitFor();
    expect(await names(page)).toEqual(['thread-1', 'thread-2', 'thread-3']);
  });

  it('shows a thread as a conversation that goes on, each turn a click from its trace', async () => {
    const page = await console.open(`/p/${PROJECT}/threads`);
    await page.getByRole('link', { name: 'thread-2' }).click();
    const turns = page.getByRole('list', { name: 'Turns' });
    await turns.getByText('Answer 1').waitFor();
    expect(await turns.getByText(/^(Question|Answer) \d$/).allInnerTexts()).toEqual([
      'Question 0',
      'Answer 0',
      'Question 1',
      'Answer 1',
    ]);
    expect(await violations(page)).toEqual([]);
    await complete([aTurn('thread-2', 7, { inputs: { exact: '<b>' }, output: '1.0' })]);
    await turns.getByText('{"exact":"<b>"}').waitFor(); // without a reload, and as text
    await turns.getByRole('link', { name: 'turn' }).first().click();
    await page.getByRole('treeitem').waitFor();
  });

  it('reads a long list page by page behind its last row', async () => {
    const batch = Array.from({ length: 250 }, (_, n) => aTurn(`many-${1000 + n}`, 0, {}));
    await complete(
      batch.map((turn) => ({ ...turn, project_id: 'acme/many' })),
      'acme/many',
    );
    const page = await console.open('/connect');
    const asked: any[] = [];
    page.on('request', (request) => {
      if (request.url().endsWith('/threads/stream_query')) asked.push(request.postDataJSON());
    });
    await page.goto(`${console.app.url}/console/p/acme/many/threads?sort=turn_count`);
    await page.getByRole('link', { name: 'many-1000' }).focus();
    await page.keyboard.press('End');
    await page.getByRole('link', { name: 'many-1200' }).waitFor();
    await page.keyboard.press('End');
    await page.getByRole('link', { name: 'many-1249' }).waitFor();
    expect(asked.find(({ after }) => after)).toMatchObject({ after: [1, 'many-1199'] });
    expect(asked.filter(({ offset }) => offset)).toEqual([]);
  });

  it('shows the later turns of a long one on request', async () => {
    await complete(Array.from({ length: 25 }, (_, n) => aTurn('long', n, {})));
    const page = await console.open(`/p/${PROJECT}/threads/long`);
    await page.getByText('Answer 19').waitFor();
    await page.getByRole('button', { name: 'Later turns' }).click();
    await page.getByText('Answer 24').waitFor();
  });

  it.each(['light', 'dark'] as const)('has no serious violation in the %s theme', async (theme) => {
    const page = await console.open(`/p/${PROJECT}/threads`, { theme });
    await page.getByRole('link', { name: 'thread-1' }).waitFor();
    expect(await violations(page)).toEqual([]);
  });

  it('says what makes a thread where there is none', async () => {
    const page = await console.open('/p/acme/empty/threads');
    await page.getByText('No threads yet').waitFor();
  });
});
