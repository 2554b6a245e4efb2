import { aTurn, agentSpan, exportOf, traceId } from '../../test/support/agents.js';
import { type Console, describeConsole, openConsole, violations } from './support/console.js';
import { at, record } from './support/record.js';

const PROJECT = 'acme/spans';

describeConsole('what spans are', () => {
  let console: Console;
  beforeAll(async () => void (console = await openConsole()));
  afterAll(() => console.close());
  afterEach(() => expect(console.faults).toEqual([]));

  it('is told by their pictures, in the tree and in the list', async () => {
    const spans = aTurn({ trace: 1, id: 1, conversation: 'talk' }).map(agentSpan);
    const { status } = await console.app.post('/otel/v1/traces', exportOf(spans), {
      headers: { project_id: PROJECT },
    });
    expect(status).toBe(200);
    const page = await console.open(`/p/${PROJECT}/traces`);
    await page.getByRole('row').getByTitle('Agent', { exact: true }).waitFor();
    await page.goto(`${console.app.url}/console/p/${PROJECT}/traces/${traceId(1)}`);
    const tree = page.getByRole('tree');
    await tree.getByTitle('Agent', { exact: true }).first().waitFor();
    await tree.getByTitle('Tool', { exact: true }).first().waitFor();
    await tree.getByTitle('Model', { exact: true }).first().waitFor();
    expect(await violations(page)).toEqual([]);
  });

  it('adds up to the tokens and the cost of the trace, each call once', async () => {
    const usage = { usage: { 'gpt-4o': { prompt_tokens: 1000, completion_tokens: 100 } } };
    const below = { trace_id: 'sum', parent_id: 'sum', op_name: 'ask', ms: 5, summary: usage };
    await record(console.app, PROJECT, [
      { id: 'sum', trace_id: 'sum', op_name: 'sum', started_at: at(10), ms: 20 },
      { id: 's1', started_at: at(10), ...below },
      { id: 's2', started_at: at(11), ...below },
    ]);
    const page = await console.open(`/p/${PROJECT}/traces/sum`);
    await page.getByText('2,000 → 200').or(page.getByText('2.0k → 200')).waitFor();
    await page.locator('dd').getByText('$0.007').waitFor();
    await page.getByRole('treeitem', { name: 'ask' }).first().getByTitle('Model').waitFor();
  });

  it('have panes whose widths are kept', async () => {
    const page = await console.open(`/p/${PROJECT}/traces/sum`);
    const bar = page.getByRole('separator', { name: 'Width of the call' });
    const pane = page.getByRole('region', { name: 'Call', exact: true });
    const width = async () => (await pane.boundingBox())!.width;
    const before = await width();
    for (let n = 0; n < 5; n++) await bar.press('ArrowLeft');
    expect(await width()).toBeGreaterThan(before + 60);
    const box = (await bar.boundingBox())!;
    await page.mouse.move(box.x + 3, box.y + 200);
    await page.mouse.down();
    await page.mouse.move(box.x + 303, box.y + 200, { steps: 5 });
    await page.mouse.up();
    const narrow = await width();
    expect(narrow).toBeLessThan(before);
    await page.reload();
    await pane.waitFor();
    expect(Math.abs((await width()) - narrow)).toBeLessThan(2);
    await bar.dblclick();
    expect(Math.abs((await width()) - before)).toBeLessThan(2);
  });

  it('say Markdown, of which nothing runs and nothing is loaded', async () => {
    const content =
      '# Plan\n\nIt is **bold**, see [docs](https://evil.example/x).\n\n- one\n- `two`\n\n![x](https://evil.example/p.png)\n<img src="https://evil.example/i.png" onerror="alert(1)"> [j](javascript:alert(1))';
    await record(console.app, PROJECT, [
      {
        id: 'md',
        trace_id: 'md',
        op_name: 'md',
        started_at: at(20),
        ms: 5,
        inputs: { messages: [{ role: 'user', content: 'Say **it**' }] },
        output: { choices: [{ message: { role: 'assistant', content } }] },
      },
    ]);
    const page = await console.open(`/p/${PROJECT}/traces/md`);
    const chat = page.getByRole('group', { name: 'Messages' });
    await chat.locator('strong', { hasText: 'bold' }).waitFor();
    await chat.getByRole('listitem').filter({ hasText: /^one$/ }).waitFor();
    await chat.getByText('https://evil.example/x').waitFor();
    await chat.getByText('<img src=').waitFor();
    expect(await chat.locator('a, img').count()).toBe(0);
    expect(await violations(page)).toEqual([]);
    await chat.getByRole('button', { name: 'Plain text' }).click();
    await chat.getByText('It is **bold**').waitFor();
  });

  it('are compared word by word', async () => {
    const said = (text: string) => ({ op_name: 'say', ms: 5, output: { text } });
    await record(console.app, PROJECT, [
      { id: 'w1', trace_id: 'w1', started_at: at(30), ...said('The red shoe is in stock.') },
      { id: 'w2', trace_id: 'w2', started_at: at(31), ...said('The blue shoe is in stock.') },
    ]);
    const page = await console.open(`/p/${PROJECT}/traces/w2?call=w2&tab=compare&with=w1`);
    const differences = page.getByRole('region', { name: 'Differences' });
    await differences.locator('del, ins').first().waitFor();
    expect((await differences.locator('del, ins').allInnerTexts()).toSorted()).toEqual([
      'blue',
      'red',
    ]);
    expect(await violations(page)).toEqual([]);
  });
});
