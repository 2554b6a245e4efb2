import type { Page } from 'playwright-core';
import { type Console, describeConsole, openConsole, violations } from './support/console.js';

const PROJECT = 'acme/runs';
const LARGE = 50_000;
const at = (ms: number) => new Date(Date.UTC(2026, 0, 1) + ms).toISOString();

/** Payloads that try to run code, to hide text or to hang the page. */
const HOSTILE = {
  html: '<img src=x onerror=alert(1)><script>alert(2)</script>',
  link: 'javascript:alert(3)',
  svg: '<svg onload=alert(4)>',
  bidi: 'invoice\u202Egnp.exe',
  ansi: '\u001B[31mred\u001B[0m',
};
const EXACT = '{"big":12345678901234567890,"one":1.0,"one":1e400,"esc":"\\u00e9\\/"}';

describeConsole('the page of a trace', () => {
  let console: Console;
  beforeAll(async () => {
    console = await openConsole();
    await complete([
      aCall('root', null, [0, 1000]),
      aCall('plan', 'root', [10, 300], {
        inputs: { messages: [{ role: 'user', content: 'Where is my parcel?' }] },
        output: { choices: [{ message: { role: 'assistant', content: 'Tomorrow.' } }] },
        summary: { usage: { house: { prompt_tokens: 10, completion_tokens: 5 } } },
      }),
      aCall('search', 'root', [310, 900]),
      aCall('fetch', 'search', [320, 800], { exception: 'TimeoutError: no answer' }),
    ]);
    await post('/cost/create', {
      project_id: PROJECT,
      costs: {
        house: { prompt_token_cost: 0.1, completion_token_cost: 0.2, effective_date: at(-1e9) },
      },
    });
    const start = `{"project_id":"${PROJECT}","id":"exact","trace_id":"exact","op_name":"exact","started_at":"${at(0)}","inputs":${EXACT}}`;
    await post('/call/start', `{"start":${start}}`);
  });
  afterAll(() => console.close());
  afterEach(() => expect(console.faults).toEqual([]));

  async function post(path: string, body: unknown) {
    const answer = await console.app.post(path, body);
    if (answer.status !== 200) throw new Error(answer.text);
    return answer.body;
  }

  const aCall = (
    id: string,
    parent_id: string | null,
    [from, to]: number[],
    rest: object = {},
  ) => ({
    project_id: PROJECT,
    id,
    trace_id: 'root',
    parent_id,
    op_name: id,
    started_at: at(from!),
    ended_at: at(to!),
    inputs: {},
    attributes: {},
    ...rest,
  });
  const complete = (batch: object[]) => post(`/v2/${PROJECT}/calls/complete`, { batch });

  const open = (trace: string, look = {}) => console.open(`/p/${PROJECT}/traces/${trace}`, look);
  const rows = (page: Page) => page.getByRole('treeitem');
  const row = (page: Page, name: string) => rows(page).filter({ hasText: name }).first();
  const pane = (page: Page) => page.getByRole('region', { name: 'Call', exact: true });
  const selected = (page: Page) => page.locator('[role="treeitem"][aria-selected="true"]');
  const clipboard = (page: Page) => page.evaluate(() => navigator.clipboard.readText());

  it('shows the calls as a tree over time, the first error chosen', async () => {
    const page = await open('root');
    await row(page, 'fetch').waitFor();
    expect(
      await rows(page).evaluateAll((all) => all.map((one) => one.getAttribute('aria-level'))),
    ).toEqual(['1', '2', '2', '3']);
    expect(await selected(page).innerText()).toContain('fetch');
    await pane(page).getByText('TimeoutError: no answer').waitFor();
    await page.getByRole('button', { name: 'Critical path' }).click();
    expect(await page.locator('[data-path]').count()).toBe(4);
  });

  it('is walked, folded and searched by keyboard alone', async () => {
    const page = await open('root?call=root');
    await row(page, 'plan').waitFor();
    await page.getByRole('tree').focus();
    await page.keyboard.press('j');
    expect(await selected(page).innerText()).toContain('plan');
    expect(new URL(page.url()).search).toBe('?call=plan');
    for (const key of ['j', 'h']) await page.keyboard.press(key);
    await row(page, 'fetch').waitFor({ state: 'detached' });
    await page.keyboard.press('l');
    await row(page, 'fetch').waitFor();
    await page.keyboard.press('h');
    await page.keyboard.press('/');
    await page.keyboard.type('fet');
    await page.getByText('1 found').waitFor();
    await page.keyboard.press('Enter');
    await row(page, 'fetch').waitFor(); // unfolded
    expect(await selected(page).innerText()).toContain('fetch');
  });

  it('shows a conversation as one, and its cost with the reason', async () => {
    const page = await open('root?call=plan');
    const chat = page.getByRole('list', { name: 'Conversation' });
    await chat.getByText('Where is my parcel?').waitFor();
    await chat.getByText('Tomorrow.').waitFor();
    await page.getByRole('tab', { name: 'Cost' }).click();
    await pane(page).getByRole('row', { name: 'house 10 5 $2.00' }).waitFor();
    await page.getByRole('button', { name: 'Explain' }).click();
    await pane(page).getByText('10 prompt tokens × 0.1 USD = 1 USD').waitFor();
  });

  it('shows and copies documents exactly as they were sent', async () => {
    const page = await open('exact');
    for (const text of ['12345678901234567890', '1.0', '1e400', '"\\u00e9\\/"'])
      await pane(page).getByText(text, { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Copy Inputs' }).click();
    await pane(page).getByText('Copied').waitFor();
    expect(await clipboard(page)).toBe(EXACT);
    await page.getByRole('tab', { name: 'Raw' }).click();
    await page.getByRole('button', { name: 'Copy exact' }).click();
    await pane(page).getByText('Copied').waitFor();
    expect(await clipboard(page)).toContain(`"inputs":${EXACT}`);
  });

  it('stores the feedback that is given, and shows what others give', async () => {
    await post('/obj/create', {
      obj: {
        project_id: PROJECT,
        object_id: 'quality',
        val: {
          _type: 'AnnotationSpec',
          _class_name: 'AnnotationSpec',
          _bases: ['Object', 'BaseModel'],
          name: 'Quality',
          field_schema: { type: 'string', enum: ['poor', 'fine'] },
        },
      },
    });
    const page = await open('root?call=root');
    await page.getByRole('tab', { name: 'Feedback' }).click();
    await pane(page).getByText('This call has no feedback yet').waitFor();
    const given = page.getByRole('list', { name: 'Feedback given' });
    await page.getByRole('button', { name: 'Good' }).click();
    await given.getByRole('img', { name: 'Good' }).waitFor();
    await page.getByLabel('Note').fill('As it should be.');
    await page.keyboard.press('Enter');
    await given.getByText('As it should be.').waitFor();
    await page.getByLabel('Quality').selectOption('fine');
    await page.getByRole('button', { name: 'Save' }).click();
    await given.getByText('"fine"').waitFor();
    expect(
      await console.app
        .query(`SELECT feedback_type AS type, payload::jsonb - 'alias' - 'detoned' - 'detoned_alias' AS said
        FROM feedback WHERE project_id = '${PROJECT}' AND ref LIKE '%/call/root' ORDER BY created_at`),
    ).toEqual([
      { type: 'svc.reaction.1', said: { emoji: '👍' } },
      { type: 'svc.note.1', said: { note: 'As it should be.' } },
      { type: 'svc.annotation.quality', said: { value: 'fine' } },
    ]);
    expect(await violations(page)).toEqual([]);
    await post('/feedback/create', {
      project_id: PROJECT,
      svc_ref: `svc:///${PROJECT}/call/root`,
      feedback_type: 'svc.note.1',
      payload: { note: 'From elsewhere.' },
    });
    await given.getByText('From elsewhere.').waitFor();

    const reader = await open('root?call=root', { key: await console.app.aKey('reader') });
    await reader.getByRole('tab', { name: 'Feedback' }).click();
    await reader.getByText('From elsewhere.').waitFor();
    expect(await pane(reader).getByRole('button').count()).toBe(0);
  });

  it('compares a call with another, line by line', async () => {
    await complete([
      {
        ...aCall('a', null, [0, 1], { inputs: { same: 1, n: 1 } }),
        trace_id: 'ab',
        op_name: 'twin',
      },
      {
        ...aCall('b', null, [2, 3], { inputs: { same: 1, n: 1.5 } }),
        trace_id: 'ab',
        op_name: 'twin',
      },
    ]);
    const page = await open('ab?call=b');
    await page.getByRole('tab', { name: 'Compare' }).click();
    await page.getByRole('button', { name: 'Compare with the previous call' }).click();
    const lines = page.getByRole('region', { name: 'Differences' });
    await lines.getByText('1.5').waitFor();
    const changed = await lines.locator('[data-state="changed"]').allInnerTexts();
    expect(changed.map((text) => text.split(/\s+/))).toContainEqual(['n', '1.5', '1']);
    expect(await violations(page)).toEqual([]);
  });

  it('grows while one looks', async () => {
    const start = {
      project_id: PROJECT,
      trace_id: 'growing',
      started_at: new Date().toISOString(),
    };
    await post('/call/start', { start: { ...start, id: 'g1', op_name: 'agent' } });
    const page = await open('growing');
    await row(page, 'agent').getByText('running', { exact: true }).waitFor();
    await post('/call/start', { start: { ...start, id: 'g2', op_name: 'tool', parent_id: 'g1' } });
    await row(page, 'tool').waitFor();
    for (const id of ['g1', 'g2'])
      await post('/call/end', {
        end: { project_id: PROJECT, id, ended_at: new Date().toISOString(), output: 'done' },
      });
    await row(page, 'agent').getByText('running', { exact: true }).waitFor({ state: 'detached' });
    await pane(page).getByText('"done"').waitFor();
  });

  it('neither runs nor hangs on hostile payloads', async () => {
    const deep = `${'['.repeat(900)}${']'.repeat(900)}`;
    const long = `"${'x'.repeat(5_000_000)}"`;
    const inputs = `{${JSON.stringify(HOSTILE).slice(1, -1)},"deep":${deep},"long":${long}}`;
    const name = '<b onmouseover=alert(5)>bold';
    await post(
      '/call/start',
      `{"start":{"project_id":"${PROJECT}","id":"h","trace_id":"h","op_name":${JSON.stringify(name)},"started_at":"${at(0)}","inputs":${inputs}}}`,
    );
    const messages = [{ role: 'user', content: HOSTILE.html + HOSTILE.bidi }];
    await complete([
      { ...aCall('h2', 'h', [1, 2], { inputs: { messages }, output: null }), trace_id: 'h' },
    ]);
    const page = await open('h?call=h');
    await pane(page).getByText(HOSTILE.html.slice(0, 20)).waitFor();
    await pane(page).getByText('invoice‹U+202E›gnp.exe').waitFor();
    await pane(page).getByText('show all 5 MB').click();
    await page.getByRole('region', { name: 'Text' }).getByText('x'.repeat(160)).first().waitFor();
    await page.getByRole('button', { name: 'Copy JSON' }).click();
    await page.getByText('Copied').waitFor();
    expect((await clipboard(page)).length).toBe(long.length);
    await page.getByRole('button', { name: 'Back' }).click();
    await page.getByRole('tab', { name: 'Raw' }).click();
    await page.getByRole('region', { name: 'Raw call' }).waitFor();
    await row(page, 'h2').click();
    await page.getByRole('tab', { name: 'Chat' }).click();
    await page.getByRole('list', { name: 'Conversation' }).getByText('<script>').waitFor();
    expect(
      await page.locator('main img, main script, main b, main a[href^="javascript"]').count(),
    ).toBe(0);
  });

  it(`opens ${LARGE} calls, and scrolls to the last`, async () => {
    await console.app.query(
      `INSERT INTO calls (project_id, id, trace_id, parent_id, op_name, user_id, started_at, ended_at, inputs, attributes)
      SELECT $1, 'n' || n, 'large', CASE WHEN n > 0 THEN 'n' || CASE WHEN n % 10 = 0 THEN 0 ELSE n - n % 10 END END,
        'step ' || n, 'ada', at, at + interval '5 ms', '{}', '{}'
      FROM (SELECT n, timestamptz '2026-01-01' + n * interval '1 ms' AS at FROM generate_series(0, $2::int - 1) n) t`,
      [PROJECT, LARGE],
    );
    const page = await open('large');
    await row(page, 'step 0').waitFor();
    await page.getByText('50,000+', { exact: true }).waitFor();
    await page.getByRole('tree').evaluate((tree) => tree.scrollTo(0, tree.scrollHeight));
    await row(page, 'step 49999').click();
    await pane(page).getByRole('heading', { name: 'step 49999' }).waitFor();
    expect(await rows(page).count()).toBeLessThan(100);
    await page.getByLabel('Search calls by name').fill('step 12345');
    await page.keyboard.press('Enter');
    await pane(page).getByRole('heading', { name: 'step 12345' }).waitFor();
  });

  it('says so when there is no such trace', async () => {
    const page = await open('nothing');
    await page.getByRole('heading', { name: 'No such trace' }).waitFor();
  });

  it.each(['light', 'dark'] as const)('has no serious violation in the %s theme', async (theme) => {
    const page = await open('root?call=plan', { theme });
    await page.getByRole('list', { name: 'Conversation' }).waitFor();
    expect(await violations(page)).toEqual([]);
    await page.getByRole('tab', { name: 'Data' }).click();
    await page.getByRole('region', { name: 'Documents' }).waitFor();
    expect(await violations(page)).toEqual([]);
  });
});
