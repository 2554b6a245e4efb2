import { type Console, describeConsole, openConsole, violations } from './support/console.js';
import { at, record } from './support/record.js';

const PROJECT = 'acme/columns';

describeConsole('the columns of traces', () => {
  let console: Console;
  beforeAll(async () => {
    console = await openConsole();
    await record(
      console.app,
      PROJECT,
      Array.from({ length: 230 }, (_, n) => ({
        id: `c${n}`,
        op_name: `op ${n}`,
        started_at: at(n),
        ms: ((n * 37) % 230) + 1,
        inputs: n === 229 ? { text: incompressible(200_000) } : { customer: { plan: `plan ${n}` } },
        output: `Answer ${n}`,
      })),
    );
  });
  afterAll(() => console.close());
  afterEach(() => expect(console.faults).toEqual([]));

  /** A text that compression does not make small. */
  function incompressible(length: number): string {
    let seed = 1;
    let text = '';
    while (text.length < length) {
      seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0;
      text += seed.toString(36);
    }
    return text;
  }

  it('are chosen and ordered, lead into documents, and stand in the address', async () => {
    const page = await console.open(`/p/${PROJECT}/traces`);
    await page.getByRole('link', { name: 'op 229' }).waitFor();
    await page.getByRole('button', { name: 'Columns', exact: true }).click();
    for (const name of ['Cost', 'Feedback', 'User', 'Thread'])
      await page.getByRole('button', { name: `Remove ${name}` }).click();
    await page.getByRole('button', { name: '+ Output' }).click();
    await page.getByLabel('Path into the documents of a call').fill('inputs.customer.plan');
    await page.getByRole('button', { name: 'Add column' }).click();
    for (let n = 0; n < 2; n++)
      await page.getByRole('button', { name: 'Move inputs.customer.plan left' }).click();
    expect(await violations(page)).toEqual([]);
    await page.getByRole('button', { name: 'Apply', exact: true }).click();
    const heads = page.getByRole('columnheader');
    await page.getByText('plan 228', { exact: true }).waitFor();
    await page.getByText('Answer 228', { exact: true }).waitFor();
    await page.getByText('too large').first().waitFor();
    expect((await heads.allInnerTexts()).slice(1)).toEqual([
      'Status',
      'Name',
      'Latency',
      'Tokens in → out',
      'inputs.customer.plan',
      'Started',
      'Output',
    ]);
    const list = page.getByRole('table').locator('[tabindex="0"]').last();
    while (!(await page.getByText('plan 0', { exact: true }).isVisible()))
      await list.evaluate((body) => body.scrollBy(0, 900));
    // another tab of this browser has the same columns
    const other = await page.context().newPage();
    await other.goto(page.url());
    await other.getByText('plan 228', { exact: true }).waitFor();
    await other.goto(`${console.app.url}/console/p/${PROJECT}/traces`);
    await other.getByText('plan 228', { exact: true }).waitFor();
  });

  it('have widths that are kept', async () => {
    const page = await console.open(`/p/${PROJECT}/traces`);
    await page.getByRole('link', { name: 'op 229' }).waitFor();
    const head = page.getByRole('columnheader', { name: 'Thread' });
    const width = async () => (await head.boundingBox())!.width;
    const before = await width();
    const edge = (await page.locator('[data-width-of="thread"]').boundingBox())!;
    await page.mouse.move(edge.x + 3, edge.y + 5);
    await page.mouse.down();
    await page.mouse.move(edge.x + 83, edge.y + 5, { steps: 4 });
    await page.mouse.up();
    expect(Math.round(await width())).toBe(Math.round(before) + 80);
    await page.reload();
    await page.getByRole('link', { name: 'op 229' }).waitFor();
    expect(Math.round(await width())).toBe(Math.round(before) + 80);
    await page.locator('[data-width-of="thread"]').dblclick();
    expect(Math.round(await width())).toBe(Math.round(before));
    // the keyboard changes widths too
    const handle = page.getByRole('separator', { name: 'Width of thread' });
    const told = () => handle.getAttribute('aria-valuenow');
    await handle.focus();
    expect(await told()).toBe(String(Math.round(before)));
    for (const key of ['ArrowRight', 'ArrowRight', 'ArrowRight', 'ArrowLeft'])
      await page.keyboard.press(key);
    expect(Math.round(await width())).toBe(Math.round(before) + 20);
    expect(await told()).toBe(String(Math.round(before) + 20));
    expect(await violations(page)).toEqual([]);
    await page.reload();
    await page.getByRole('link', { name: 'op 229' }).waitFor();
    expect(Math.round(await width())).toBe(Math.round(before) + 20);
    await handle.press('Enter');
    expect(Math.round(await width())).toBe(Math.round(before));
    for (let n = 0; n < 10; n++) await handle.press('ArrowLeft');
    expect(Math.round(await width())).toBe(40);
  });

  it('sort by latency, page after page', async () => {
    const page = await console.open(`/p/${PROJECT}/traces`);
    await page.getByRole('button', { name: 'Sort by latency' }).click();
    await page.waitForURL(/sort=-latency/);
    await page.locator('[aria-rowindex="2"]').getByText('230 ms').waitFor();
    const list = page.getByRole('table').locator('[tabindex="0"]').last();
    const last = page.locator('[aria-rowindex="231"]');
    while (!(await last.isVisible())) await list.evaluate((body) => body.scrollBy(0, 2000));
    expect(await last.innerText()).toContain('1 ms');
    await page.getByRole('button', { name: 'Sort by latency' }).click();
    await page.locator('[aria-rowindex="2"]').getByText('1 ms', { exact: true }).waitFor();
  });

  it('take a time of one’s own', async () => {
    const page = await console.open(`/p/${PROJECT}/traces`);
    await page.getByLabel('Time range').selectOption('own');
    await page.getByLabel('From', { exact: true }).fill('2026-01-01T01:01'); // the time zone of the browser is Berlin
    await page.getByLabel('To', { exact: true }).fill('2026-01-01T01:02');
    expect(await violations(page)).toEqual([]);
    await page.getByRole('button', { name: 'Show', exact: true }).click();
    await page.getByText('60', { exact: true }).waitFor();
    await page.getByRole('link', { name: 'op 119' }).waitFor();
    expect(new URL(page.url()).searchParams.get('from')).toBe('2026-01-01T00:01:00.000Z');
  });
});
