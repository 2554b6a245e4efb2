import { type Console, describeConsole, openConsole, violations } from './support/console.js';
import { at, record } from './support/record.js';

const PROJECT = 'acme/filters';

describeConsole('filters', () => {
  let console: Console;
  beforeAll(async () => {
    console = await openConsole();
    const { app } = console;
    const house = {
      prompt_token_cost: 0.0001,
      completion_token_cost: 0.001,
      effective_date: '2020-01-01',
    };
    await app.post('/cost/create', { project_id: PROJECT, costs: { house } });
    await record(app, PROJECT, [
      { id: 'slow', op_name: 'slow', started_at: at(1), ms: 1500, output: 'A refund of 3 €' },
      {
        id: 'failed',
        op_name: 'failed',
        started_at: at(2),
        ms: 200,
        exception: 'Timeout: the tool did not answer',
        thread_id: 'two words',
      },
      {
        id: 'large',
        op_name: 'large',
        started_at: at(3),
        ms: 20,
        attributes: { 'user.id': 'ada' },
        summary: { usage: { house: { prompt_tokens: 12_000, completion_tokens: 30 } } },
      },
    ]);
    const { status } = await app.post(
      '/call/start',
      `{"start":{"project_id":"${PROJECT}","id":"exact","op_name":"exact","started_at":"${at(4)}","inputs":{"n":9007199254740993}}}`,
    );
    expect(status).toBe(200);
    const svc_ref = `svc:///${PROJECT}/call/slow`;
    for (const said of [
      { feedback_type: 'svc.reaction.1', payload: { emoji: '👎' } },
      { feedback_type: 'svc.note.1', payload: { note: 'Wrong currency' } },
      {
        feedback_type: 'svc.runnable.correct',
        runnable_ref: `svc:///${PROJECT}/object/correct:1`,
        payload: { output: { score: 0.25 } },
      },
    ])
      expect(
        await app.post('/feedback/create', { project_id: PROJECT, svc_ref, ...said }),
      ).toMatchObject({
        status: 200,
      });
  });
  afterAll(() => console.close());
  afterEach(() => expect(console.faults).toEqual([]));

  const open = (q: string, look = {}) =>
    console.open(`/p/${PROJECT}/traces?q=${encodeURIComponent(q)}`, look);

  it.each([
    ['latency>1s', ['slow']],
    ['latency > 1.4s', ['slow']],
    ['op = slow', ['slow']],
    ['op=slow OR status=error', ['failed', 'slow']],
    ['(op=slow OR op=failed) NOT exception~timeout', ['slow']],
    ['inputs.n=9007199254740993', ['exact']],
    ['inputs.n=9007199254740992', []],
    ['tokens>10k', ['large']],
    ['cost>$1.2', ['large']],
    ['cost=1.23', ['large']],
    ['NOT cost<=1.23', ['exact', 'failed', 'slow']],
    ['thread="two words"', ['failed']],
    ['end_user=ada', ['large']],
    ['text~refund', ['slow']],
    ['thumbs=down', ['slow']],
    ['note~currency', ['slow']],
    ['score.correct.score<0.5', ['slow']],
    ['started<2026-01-02 status=running', ['exact']],
  ])('%s finds %j', async (q, names) => {
    const page = await open(q);
    const found = page.getByRole('table', { name: 'Traces' }).getByRole('link');
    if (names.length === 0) await page.getByText('No trace matches').waitFor();
    else await found.nth(names.length - 1).waitFor();
    expect(await found.allInnerTexts()).toEqual(names);
  });

  it('says of a link with an unreadable filter what is wrong and where, and shows no rows', async () => {
    const page = await open('status=error latncy>1s');
    await page.getByText('There is no field latncy. Did you mean latency?').waitFor();
    expect(await page.locator('mark').innerText()).toBe('latncy');
    await page.getByRole('heading', { name: 'The filter cannot be read' }).waitFor();
    expect(await page.getByRole('table').count()).toBe(0);
    expect(await violations(page)).toEqual([]);
    await page.getByRole('button', { name: 'Show all traces' }).click();
    await page.getByRole('link', { name: 'exact' }).waitFor();
  });

  it('keeps the rows while a filter cannot be read, and the place is selected', async () => {
    const page = await open('');
    await page.getByRole('link', { name: 'slow' }).waitFor();
    const box = page.getByRole('combobox', { name: 'Filter' });
    await box.fill('latency>fast');
    expect(await page.getByText('Write a duration').count()).toBe(0); // no fault is shown while the user types
    await box.press('Enter');
    await page.getByText('Write a duration like 500ms, 1.5s or 2m.').waitFor();
    await page.keyboard.type('1s');
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: 'failed' }).waitFor({ state: 'detached' });
    expect(await box.inputValue()).toBe('latency>1s');
    expect(await box.evaluate((one) => one === document.activeElement)).toBe(true);
  });

  it('completes fields, operators and values with units', async () => {
    const page = await open('');
    await page.getByRole('link', { name: 'slow' }).waitFor();
    const box = page.getByRole('combobox', { name: 'Filter' });
    await box.pressSequentially('laten');
    await page.getByRole('option', { name: 'latency', exact: true }).getByText('500ms').waitFor();
    for (const key of ['ArrowDown', 'Tab']) await box.press(key);
    await page.getByRole('option', { name: 'latency>', exact: true }).waitFor();
    for (const key of ['ArrowDown', 'Tab']) await box.press(key);
    await page.getByRole('option', { name: 'latency>1s', exact: true }).click();
    await box.press('Enter');
    await page.getByRole('link', { name: 'failed' }).waitFor({ state: 'detached' });
    expect(new URL(page.url()).searchParams.get('q')).toBe('latency>1s');
  });
});
