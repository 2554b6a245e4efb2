import type { Page } from 'playwright-core';
import { agentSpan, exportOf, type SpanParts, traceId } from '../../test/support/agents.js';
import {
  ANY_IMPACT,
  type Console,
  describeConsole,
  openConsole,
  violations,
} from './support/console.js';
import { at, record } from './support/record.js';

const PROJECT = 'acme/graphs';
const LARGE = 50_000;
const [HANDED, MANY, DENSE, HOSTILE] = [1, 2, 3, 4];
const LONG = 'long '.repeat(200).trim();

type Parts = Omit<SpanParts, 'trace' | 'attributes'>;

describeConsole('the graph of a trace', () => {
  let console: Console;
  beforeAll(async () => {
    console = await openConsole();
    await exported([
      agent(HANDED, { id: 1, name: 'flow', seconds: 20 }),
      agent(HANDED, { id: 2, parent: 1, name: 'triage', seconds: 4 }),
      model(HANDED, { id: 3, parent: 2 }, 100),
      tool(HANDED, { id: 4, parent: 2, name: 'transfer_to_refunds' }),
      agent(HANDED, { id: 5, parent: 1, name: 'refunds', seconds: 8 }),
      model(HANDED, { id: 6, parent: 5 }, 200),
      { trace: HANDED, id: 7, parent: 5, name: 'retry', seconds: 3, attributes: {} },
      tool(HANDED, { id: 8, parent: 7, name: 'lookup' }),
      tool(HANDED, { id: 9, parent: 7, name: 'lookup', error: 'no such order' }),
      tool(HANDED, { id: 10, parent: 7, name: 'lookup' }),
      agent(HANDED, { id: 11, parent: 5, name: 'refunds', seconds: 2 }),
      operation('retrieval', HANDED, { id: 12, parent: 11, name: 'policies' }),
    ]);
    await exported([
      agent(MANY, { id: 100, name: 'hub', at: 0 }),
      ...Array.from({ length: 300 }, (_, n) =>
        tool(MANY, { id: 101 + n, parent: 100, name: `tool ${n}`, at: n + 1 }),
      ),
      tool(MANY, { id: 500, parent: 100, name: 'tool 299', at: 400 }),
    ]);
    await exported([
      agent(HOSTILE, { id: 900, name: 'invoice\u202Egnp.exe' }),
      tool(HOSTILE, { id: 901, parent: 900, name: LONG }),
      tool(HOSTILE, { id: 902, parent: 900, name: ' ' }),
      tool(HOSTILE, { id: 903, parent: 900, name: '<img src=x onerror=alert(1)>' }),
    ]);
  });
  afterAll(() => console.close());
  afterEach(() => expect(console.faults).toEqual([]));

  async function exported(spans: SpanParts[]) {
    const { status } = await console.app.post('/otel/v1/traces', exportOf(spans.map(agentSpan)), {
      headers: { project_id: PROJECT },
    });
    expect(status).toBe(200);
  }
  const operation = (name: string, trace: number, parts: Parts, more = {}): SpanParts => ({
    trace,
    ...parts,
    attributes: { 'gen_ai.operation.name': name, ...more },
  });
  const agent = (trace: number, parts: Parts) => operation('invoke_agent', trace, parts);
  const tool = (trace: number, parts: Parts) => operation('execute_tool', trace, parts);
  const model = (trace: number, parts: Parts, tokens: number) =>
    operation(
      'chat',
      trace,
      { name: 'gpt-4o', ...parts },
      {
        'gen_ai.request.model': 'gpt-4o',
        'gen_ai.usage.input_tokens': tokens,
        'gen_ai.usage.output_tokens': 10,
      },
    );

  const open = (trace: number, look = {}, search = '?view=graph') =>
    console.open(`/p/${PROJECT}/traces/${traceId(trace)}${search}`, look);
  const graph = (page: Page) => page.getByRole('region', { name: 'Graph' });
  const nodes = (page: Page) => graph(page).getByRole('button');
  const node = (page: Page, name: string) =>
    nodes(page)
      .filter({ has: page.locator('b').getByText(name, { exact: true }) })
      .first();
  const pane = (page: Page) => page.getByRole('region', { name: 'Call', exact: true });
  const chosen = (page: Page) => new URL(page.url()).searchParams.get('call');
  const labels = (page: Page) => graph(page).locator('svg text').allTextContents();

  it('shows agents, tools and models once each, with what they took and who called them', async () => {
    const page = await open(HANDED, {}, '');
    await page.getByRole('button', { name: 'Graph', exact: true }).click();
    await nodes(page).first().waitFor();
    expect(new URL(page.url()).searchParams.get('view')).toBe('graph');
    const texts = (await nodes(page).allInnerTexts()).map((text) => text.replace(/\s+/g, ' '));
    expect(texts).toEqual([
      'Agent flow 1 call 20.00 s',
      'Agent triage 1 call 4.00 s , called by flow',
      'Model gpt-4o 2 calls 2.00 s 320 tokens $0.00095 , called by triage, refunds',
      'Tool transfer_to_refunds 1 call 1.00 s , called by triage',
      'Agent refunds 2 calls 8.00 s , calls itself, called by flow, triage',
      'Tool lookup 1 of 3 calls 1 failed 3.00 s , called by refunds',
      'Retrieval policies 1 call 1.00 s , called by refunds',
    ]);
    expect((await labels(page)).toSorted()).toEqual(['calls itself', 'hand-off', '×3']);
    await page.reload();
    await nodes(page).first().waitFor();
    await page.getByRole('button', { name: 'Tree', exact: true }).click();
    await page.getByRole('tree').waitFor();
    expect(new URL(page.url()).searchParams.has('view')).toBe(false);
  });

  it('chooses the calls of a node one after the other, the failed one first', async () => {
    const page = await open(HANDED, {}, '?view=graph&call=0000000000000001');
    await node(page, 'flow').and(page.locator('[aria-current]')).waitFor();
    const seen: (string | null)[] = [];
    for (const part of ['1 of 3', '2 of 3', '3 of 3', '1 of 3']) {
      await node(page, 'lookup').click();
      await node(page, 'lookup').getByText(`${part} calls`).waitFor();
      seen.push(chosen(page));
    }
    expect(seen.map((id) => Number(`0x${id}`))).toEqual([9, 8, 10, 9]);
    await pane(page).getByText('no such order').waitFor();
    expect(new URL(page.url()).searchParams.get('view')).toBe('graph');
    await page.reload();
    await node(page, 'lookup').getByText('1 of 3 calls').waitFor();
  });

  it('is walked by keyboard alone', async () => {
    const page = await open(HANDED, {}, '');
    await page.getByRole('tree').waitFor();
    await page.getByRole('button', { name: 'Tree', exact: true }).focus();
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await nodes(page).first().waitFor();
    await nodes(page).first().focus();
    const focused = () =>
      page.evaluate(() => document.activeElement?.querySelector('b')?.innerText);
    for (const name of ['flow', 'triage', 'gpt-4o', 'transfer_to_refunds', 'refunds']) {
      expect(await focused()).toBe(name);
      await page.keyboard.press('Tab');
    }
    expect(await focused()).toBe('lookup');
    await node(page, 'lookup').getByText('1 of 3 calls').waitFor();
    await page.keyboard.press('Enter');
    await node(page, 'lookup').getByText('2 of 3 calls').waitFor();
    await page.keyboard.press('Space');
    await node(page, 'lookup').getByText('3 of 3 calls').waitFor();
    await page.keyboard.press('k'); // selects the previous call, as in the tree
    await node(page, 'lookup').getByText('1 of 3 calls').waitFor();
    expect(await focused()).toBe('lookup');
    await page.keyboard.press('/');
    await page.keyboard.type('polic');
    await page.keyboard.press('Enter');
    await pane(page).getByRole('heading', { name: 'policies' }).waitFor();
    await node(page, 'policies').and(page.locator('[aria-current]')).waitFor();
    expect(await graph(page).locator('[data-dim]').count()).toBe(6);
  });

  it('gathers the least called of 300 tools, and says so', async () => {
    const page = await open(MANY);
    await page.getByText(/^301 agents, tools and models\. .* one node of each kind/).waitFor();
    expect(await nodes(page).count()).toBe(199); // the hub, 197 tools, and one node for the others
    await node(page, 'tool 299').getByText('2 calls').waitFor();
    const rest = node(page, 'and 103 more tools');
    await rest.getByText('103 calls').waitFor();
    await rest.click();
    await rest.getByText('1 of 103 calls').waitFor();
    expect(await graph(page).evaluate((one) => one.scrollHeight > one.clientHeight)).toBe(true);
  });

  it('draws the most used of very many connections', async () => {
    const calls = Array.from({ length: 6000 }, (_, n): [number, number] => [
      n % 190,
      (n * 7 + Math.floor(n / 190)) % 190,
    ]);
    const spans = calls.flatMap(([from, to], n) => [
      agent(DENSE, { id: 10_001 + 2 * n, parent: 10_000, name: `a${from}`, at: n + 1 }),
      agent(DENSE, { id: 10_002 + 2 * n, parent: 10_001 + 2 * n, name: `a${to}`, at: n + 1 }),
    ]);
    await exported([agent(DENSE, { id: 10_000, name: 'all', at: 0 })]);
    for (let n = 0; n < spans.length; n += 1000) await exported(spans.slice(n, n + 1000));
    const page = await open(DENSE);
    await page
      .getByText(/^191 nodes\..* The graph shows the 600 connections with the most calls, of /)
      .waitFor();
    expect(await nodes(page).count()).toBe(191);
    expect(await graph(page).locator('svg g:not([data-loop])').count()).toBe(600);
    await page.getByRole('button', { name: 'Fit width' }).click();
    expect(await graph(page).evaluate((one) => one.scrollWidth <= one.clientWidth)).toBe(true);
  });

  it('makes hostile names visible, and cuts long ones', async () => {
    const page = await open(HOSTILE);
    await node(page, 'invoice‹U+202E›gnp.exe').waitFor();
    await node(page, '(no name)').waitFor();
    await node(page, '<img src=x onerror=alert(1)>').waitFor();
    expect(await graph(page).locator('img').count()).toBe(0);
    const cut = graph(page).locator('b').getByText('long long');
    expect((await cut.innerText()).length).toBe(121);
    expect(await cut.getAttribute('title')).toBe(LONG);
    expect((await graph(page).locator('[data-node="1"]').boundingBox())!.width).toBe(210);
  });

  it('is not offered where no call says what it is', async () => {
    await record(console.app, PROJECT, [
      { id: 'plain', trace_id: 'plain', op_name: 'plain', started_at: at(0), ms: 5 },
    ]);
    const page = await console.open(`/p/${PROJECT}/traces/plain?view=graph`);
    await page.getByRole('treeitem').waitFor();
    expect(await page.getByRole('button', { name: 'Graph', exact: true }).count()).toBe(0);
  });

  it('grows while one looks', async () => {
    const page = await open(HANDED);
    await node(page, 'policies').getByText('1 call').waitFor();
    await exported([operation('retrieval', HANDED, { id: 13, parent: 11, name: 'policies' })]);
    await node(page, 'policies').getByText('2 calls').waitFor();
  });

  it(`opens ${LARGE} calls`, async () => {
    await console.app.query(
      `INSERT INTO calls (project_id, id, trace_id, parent_id, op_name, operation, user_id, started_at, ended_at, inputs, attributes)
      SELECT $1, 'n' || n, 'large', CASE WHEN n > 0 THEN 'n' || CASE WHEN n % 10 = 0 THEN 0 ELSE n - n % 10 END END,
        'step ' || n, CASE WHEN n % 10 = 0 THEN 'invoke_agent' ELSE 'execute_tool' END, 'ada', at, at + interval '5 ms', '{}', '{}'
      FROM (SELECT n, timestamptz '2026-01-01' + n * interval '1 ms' AS at FROM generate_series(0, $2::int - 1) n) t`,
      [PROJECT, LARGE],
    );
    const page = await console.open(`/p/${PROJECT}/traces/large?view=graph`);
    await page.getByText(/^50,000 agents, tools and models/).waitFor();
    expect(await nodes(page).count()).toBe(200);
    await graph(page).getByText('more tools').click();
    await graph(page)
      .getByText(/^1 of 4\d,\d\d\d calls/)
      .waitFor();
  });

  it.each([
    ['light', 1440],
    ['dark', 1440],
    ['light', 390],
    ['dark', 390],
  ] as const)('has nothing that axe finds, %s, %i px wide', async (theme, width) => {
    const page = await open(HANDED, { theme, width });
    await pane(page).getByText('no such order').waitFor();
    await node(page, 'lookup').waitFor();
    expect(await violations(page, ANY_IMPACT)).toEqual([]);
    const overflow = () => page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    expect(await overflow()).toBeLessThanOrEqual(0);
    await page.getByLabel('Search calls by name').fill('lookup');
    await page.getByText('3 found').waitFor();
    await page.getByRole('button', { name: 'Fit width' }).click();
    await nodes(page).last().click();
    expect(await violations(page, ANY_IMPACT)).toEqual([]);
    expect(await overflow()).toBeLessThanOrEqual(0);
  });
});
