import type { Page } from 'playwright-core';
import { recordedTraces } from '../../test/support/otlp-recordings.js';
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
    await turns.getByText('{"exact":"<b>"}').waitFor(); // without a reload, and escaped
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
    await page.getByRole('button', { name: 'Show later turns' }).click();
    await page.getByText('Answer 24').waitFor();
  });

  // questions of the programs in test/fixtures/otlp/programs, and the answers of their models
  it.each([
    ['openinference-agents', 'It is sunny.'],
    ['logfire-openai-agents', 'It is sunny.'],
    ['google-adk-contents', 'It is sunny in Rome.'],
    ['autogen', 'It is sunny in Rome.'],
    ['openinference-langgraph', 'It is sunny in Rome.'],
    ['langsmith-langchain', 'It is sunny.'],
  ])('shows what was asked and answered in a turn of %s', async (name, answer) => {
    const project_id = `acme/${name}`;
    const { resourceSpans } = recordedTraces(name);
    // the agents SDK sends no session id, so the test adds one to the root span
    const spans = resourceSpans.flatMap(({ scopeSpans }: any) => scopeSpans[0].spans);
    const session = { key: 'session.id', value: { stringValue: 's1' } };
    const above = new Set(spans.map(({ parentSpanId }: any) => parentSpanId));
    for (const span of spans)
      if (!span.parentSpanId && above.has(span.spanId))
        span.attributes = [...(span.attributes ?? []), session];
    const headers = { project_id };
    await console.app.post('/otel/v1/traces', { resourceSpans }, { headers });
    const page = await console.open(`/p/${project_id}/threads/s1`);
    const turns = page.getByRole('list', { name: 'Turns' });
    await turns.getByText('How is the weather in Rome?').first().waitFor();
    await turns.getByText(answer, { exact: true }).first().waitFor();
    expect(await turns.getByText('No answer').count()).toBe(0);
    expect(await violations(page)).toEqual([]);
  });

  it('shows what a tool of MCP was given and answered below a root made by hand', async () => {
    const trace = { trace_id: 'by hand', project_id: PROJECT, attributes: {} };
    const root = { ...aTurn('by-hand', 0, { inputs: {}, output: null }), ...trace };
    const tool = {
      ...trace,
      id: 'tools/call',
      parent_id: root.id,
      op_name: 'tools/call weather',
      started_at: at(0),
      ended_at: at(1),
      attributes: { 'gen_ai.operation.name': 'execute_tool' },
      inputs: { city: 'Rome' },
      output: { content: [{ type: 'text', text: 'It is sunny in Rome.' }] },
    };
    await complete([root, tool]);
    const page = await console.open(`/p/${PROJECT}/threads/by-hand`);
    const turns = page.getByRole('list', { name: 'Turns' });
    await turns.getByText('{"city":"Rome"}').waitFor();
    await turns.getByText('It is sunny in Rome.').waitFor();
  });

  it('asks for the texts of one page of turns at a time, and of silent ones alone', async () => {
    const batch = Array.from({ length: 30 }, (_, n) => {
      const root = aTurn('silent', n, n % 2 ? {} : { inputs: {}, output: null });
      const below = Array.from({ length: 50 }, (__, k) => ({
        ...root,
        id: `${root.id} ${k}`,
        parent_id: root.id,
        thread_id: null,
        turn_id: null,
        op_name: 'below',
        inputs: { messages: [{ role: 'user', content: `Below ${n}.${k}` }] },
        output: { role: 'assistant', content: `Said ${n}.${k}` },
        started_at: at(n * 1000 + k),
        ended_at: at(n * 1000 + k + 1),
      }));
      return [root, ...(n % 2 ? [] : below)];
    }).flat();
    for (let from = 0; from < batch.length; from += 400)
      await complete(batch.slice(from, from + 400));
    const page = await console.open('/connect');
    const asked: any[] = [];
    page.on('request', (request) => {
      if (request.url().endsWith('/threads/turns/query')) asked.push(request.postDataJSON());
    });
    await page.goto(`${console.app.url}/console/p/${PROJECT}/threads/silent`);
    await page.getByText('Below 18.0', { exact: true }).waitFor();
    await page.getByText('Said 18.49', { exact: true }).waitFor();
    const silent = Array.from({ length: 10 }, (_, n) => `silent ${2 * n}`);
    expect(asked.length).toBeGreaterThan(0);
    for (const { turn_ids } of asked) expect(turn_ids).toEqual(silent);
  });

  it('says that nobody knows how long a turn took whose end lies before its start', async () => {
    await complete([aTurn('backwards', 0, { took: -3000 })]);
    const page = await console.open(`/p/${PROJECT}/threads/backwards`);
    await page.getByText('unknown', { exact: true }).waitFor();
    await page.getByRole('link', { name: 'turn' }).click();
    await page.getByText('duration unknown').waitFor();
    await page.getByRole('definition').getByText('unknown', { exact: true }).waitFor();
    expect(await page.getByText(/[-−]3/).count()).toBe(0);
  });

  it('shows tables of Markdown as tables', async () => {
    const content = 'Here:\n\n| City | Sky |\n|---|---|\n| **Rome** | sunny |';
    await complete([aTurn('table', 0, { output: { role: 'assistant', content } })]);
    const page = await console.open(`/p/${PROJECT}/threads/table`);
    await page.getByRole('columnheader', { name: 'City' }).waitFor();
    await page.getByRole('cell', { name: 'Rome' }).waitFor();
    expect(await violations(page)).toEqual([]);
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

  it('finds threads by what their calls say', async () => {
    const { status } = await console.app.post(
      `/v2/${PROJECT}/calls/complete`,
      `{"batch":[${JSON.stringify(aTurn('weather', 0, {})).replace('Question 0', String.raw`\u660e\u5929\u4e0b\u96e8\u5417`)}]}`,
    );
    expect(status).toBe(200);
    const page = await console.open(`/p/${PROJECT}/threads`);
    const box = page.getByRole('searchbox', { name: 'Search what calls say' });
    await box.fill('明天下雨');
    await box.press('Enter');
    await page.getByRole('link', { name: 'thread-1' }).waitFor({ state: 'detached' });
    await page.getByRole('link', { name: 'weather' }).waitFor(); // the list is empty while threads are read
    expect(await names(page)).toEqual(['weather']);
    expect(new URL(page.url()).searchParams.get('q')).toBe('明天下雨');
    await box.fill('nobody said this');
    await box.press('Enter');
    await page.getByText('No thread matches').waitFor();
    expect(await violations(page)).toEqual([]);
  });
});
