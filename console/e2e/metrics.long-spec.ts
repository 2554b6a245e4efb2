import type { Page } from 'playwright-core';
import { type Console, describeConsole, openConsole, violations } from './support/console.js';

const PROJECT = 'acme/shop';
const PATH = `/p/${PROJECT}/metrics`;

describeConsole('metrics', () => {
  let console: Console;
  let admin: Page;
  const start = Date.now() - 3_600_000;

  /** A call that took `n` seconds, made with a key of its own user. */
  const callOf = (n: number, model: string, op_name: string) => [
    {
      mode: 'start',
      req: {
        start: {
          project_id: PROJECT,
          id: `c${n}`,
          trace_id: `c${n}`,
          op_name,
          started_at: new Date(start).toISOString(),
          inputs: {},
          attributes: n === 3 ? { 'user.id': 'customer-7' } : {},
        },
      },
    },
    {
      mode: 'end',
      req: {
        end: {
          project_id: PROJECT,
          id: `c${n}`,
          ended_at: new Date(start + n * 1000).toISOString(),
          summary: { usage: { [model]: { prompt_tokens: 1000, completion_tokens: 500 } } },
          ...(n === 1 && { exception: 'Error: no' }),
        },
      },
    },
  ];

  beforeAll(async () => {
    console = await openConsole();
    const { status } = await console.app.post('/call/upsert_batch', {
      batch: [
        ...callOf(1, 'house-7b', 'chat'),
        ...callOf(2, 'gpt-4o-mini', 'chat'),
        ...callOf(3, 'gpt-4o-mini', 'svc:///acme/shop/op/rank:abc'),
      ],
    });
    expect(status).toBe(200);
    admin = await console.open(PATH);
  });
  afterAll(() => console.close());
  afterEach(() => expect(console.faults).toEqual([]));

  const cells = (page: Page, name: string) =>
    page
      .getByRole('tabpanel')
      .getByRole('row', { name, exact: false })
      .getByRole('cell')
      .allInnerTexts();

  it('sums up the window, exactly', async () => {
    await admin.getByRole('heading', { name: 'Latency' }).waitFor();
    const totals = await admin.getByLabel('Totals').innerText();
    expect(totals.split(/\s*\n\s*/).join(' ')).toBe(
      'Calls 3 Errors 1 33 % Latency p50 2.00 s p95 2.90 s p99 2.98 s Tokens in 3,000 Tokens out 1,500 Cost $0.00090',
    );
    expect(await cells(admin, 'gpt-4o-mini')).toEqual([
      'gpt-4o-mini',
      '2',
      '2,000',
      '1,000',
      '$0.00090',
      '',
    ]);
  });

  it('counts by op, by the user of the application and by that of the key', async () => {
    await admin.getByRole('tab', { name: 'By op' }).click();
    await admin.getByRole('cell', { name: 'rank' }).waitFor();
    expect(await cells(admin, 'rank')).toEqual([
      'rank',
      '1',
      '0',
      '3.00 s',
      '3.00 s',
      '3.00 s',
      '1,000',
      '500',
      '$0.00045',
      '',
    ]);
    await admin.getByRole('button', { name: 'p99' }).click();
    expect(admin.url()).toContain('by=op&sort=-p99');
    expect(await admin.getByRole('row').nth(1).getByRole('cell').first().innerText()).toBe('rank');
    await admin.getByRole('tab', { name: 'By user' }).click();
    await admin.getByRole('cell', { name: 'customer-7', exact: true }).waitFor();
    await admin.getByRole('tab', { name: 'By key user' }).click();
    await admin.getByRole('link', { name: 'ada', exact: true }).waitFor();
    await admin.getByRole('tab', { name: 'By model' }).click();
    await admin.getByRole('link', { name: 'gpt-4o-mini' }).click();
    await admin.getByRole('table', { name: 'Traces' }).getByRole('link').nth(1).waitFor();
    expect(await admin.getByRole('table', { name: 'Traces' }).getByRole('link').count()).toBe(2);
    await admin.goBack();
    await admin.getByLabel('Totals').waitFor();
  });

  it('reads a chart by keyboard, and zooms in to what is dragged over', async () => {
    const chart = admin.getByRole('slider', { name: 'Calls over time' });
    await chart.focus();
    await admin.keyboard.press('End');
    expect(await chart.getAttribute('aria-valuetext')).toMatch(/^\d+ \w+,? \d\d:\d\d, calls 0/);
    await admin.keyboard.press('Escape');
    expect(await chart.getAttribute('aria-valuetext')).toContain('the whole window, calls 3');
    const { x, y, width } = (await chart.boundingBox())!;
    await admin.mouse.move(x + width * 0.9, y + 40);
    await admin.mouse.down();
    await admin.mouse.move(x + width - 25, y + 40);
    await admin.mouse.up();
    await admin.waitForURL(/from=.*to=/);
    await admin.getByLabel('Totals').getByText('3', { exact: true }).first().waitFor();
    await admin.getByLabel('Time range').selectOption('Last hour');
    await admin.getByText('No calls in this time').waitFor();
    await admin.goBack();
    await admin.getByLabel('Totals').waitFor();
  });

  it('prices a model, and what it cost is there at once', async () => {
    await admin.getByRole('button', { name: 'Set price of house-7b' }).click();
    await admin.getByLabel('Input').fill('0.1');
    await admin.getByLabel('Output').fill('1.000001');
    expect(await violations(admin)).toEqual([]);
    await admin.getByRole('button', { name: 'Save the price' }).click();
    await admin.getByRole('dialog').waitFor({ state: 'detached' });
    await admin
      .getByRole('button', { name: 'Set price of house-7b' })
      .waitFor({ state: 'detached' });
    expect((await cells(admin, 'house-7b'))[4]).toBe('$0.00060');
    const [stored] = await console.app.query('SELECT * FROM costs');
    expect(stored).toMatchObject({ llm_id: 'house-7b', completion_token_cost: '0.000001000001' });
  });

  it('shows a reader the costs and no way to change them', async () => {
    await console.app.query('DELETE FROM costs');
    const key = await console.app.aKey('reader', [PROJECT]);
    const page = await console.open(PATH, { key, theme: 'dark' });
    await page.getByText('1,500 tokens').waitFor();
    expect(await page.getByRole('tabpanel').getByRole('button', { name: 'Set' }).count()).toBe(0);
    expect(await violations(page)).toEqual([]);
  });

  it('shows what people and scorers said over time', async () => {
    const svc_ref = `svc:///${PROJECT}/call/c1`;
    for (const [feedback_type, payload, more] of [
      [
        'svc.runnable.correct',
        { output: { score: 0.5, ok: true } },
        { runnable_ref: `svc:///${PROJECT}/object/correct:1` },
      ],
      [
        'svc.runnable.correct',
        { output: { score: 1, ok: false } },
        { runnable_ref: `svc:///${PROJECT}/object/correct:1` },
      ],
      ['svc.note.1', { note: 'No number' }, {}],
    ] as const)
      expect(
        await console.app.post('/feedback/create', {
          project_id: PROJECT,
          svc_ref,
          feedback_type,
          payload,
          ...more,
        }),
      ).toMatchObject({ status: 200 });
    const page = await console.open(PATH);
    const scores = page.getByRole('region', { name: 'Scores' });
    await scores.locator('canvas').waitFor();
    expect(await scores.getByRole('heading').allInnerTexts()).toEqual(['Scores', 'correct']);
    const legend = (await scores.innerText()).replaceAll(/\s+/g, ' ');
    expect(legend).toMatch(/ok ?0\.5/);
    expect(legend).toMatch(/score ?0\.75/);
    expect(await violations(page)).toEqual([]);
  });

  it('says what is wrong, and works again when it is not', async () => {
    const page = await console.open('/connect');
    const problem = { code: 'internal', detail: 'the disk is full' };
    await page.route('**/calls/stats', (route) =>
      route.fulfill({ status: 500, json: problem, headers: { 'x-request-id': 'r-17' } }),
    );
    await page.goto(`${console.app.url}/console${PATH}`);
    await page.getByRole('alert').getByText('the disk is full').waitFor();
    await page.getByRole('alert').getByText('r-17').waitFor();
    await page.unroute('**/calls/stats');
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByLabel('Totals').waitFor();
    expect(await violations(page)).toEqual([]);
  });
});
