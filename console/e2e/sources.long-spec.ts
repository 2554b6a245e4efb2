import type { Page } from 'playwright-core';
import { type Console, describeConsole, openConsole, violations } from './support/console.js';
import { record } from './support/record.js';

const PROJECT = 'acme/school';

/**
 * The project has two production questions, an evaluation of one row whose model calls a model, and a playground call.
 */
describeConsole('pages of calls of several sources', () => {
  let console: Console;
  let page: Page;
  const start = Date.now() - 600_000;

  const post = async (path: string, body: object = {}) => {
    const answer = await console.app.post(`/v2/${PROJECT}/${path}`, body);
    if (answer.status !== 200) throw new Error(answer.text);
    return answer.body;
  };
  const spent = (tokens: number) => ({ usage: { 'gpt-4o-mini': { prompt_tokens: tokens } } });
  const aTurn = (id: string, thread_id: string, tokens: number, rest: object = {}) => ({
    ...{ id, trace_id: id, turn_id: id, thread_id, op_name: id, inputs: { question: 'Where?' } },
    ...{ started_at: new Date(start).toISOString(), ms: 1000, output: 'There.' },
    summary: spent(tokens),
    ...rest,
  });

  async function evaluate() {
    const rows = [{ question: 'Where is it?' }];
    const dataset = await post('datasets', { name: 'places', rows });
    const { scorer } = await post('scorers', { name: 'right', op_source_code: 'def f(): 1' });
    const { evaluation_ref: evaluation } = await post('evaluations', {
      name: 'exam',
      dataset: `svc:///${PROJECT}/object/${dataset.object_id}:${dataset.digest}`,
      scorers: [scorer],
    });
    const { model_ref: model } = await post('models', { name: 'terse', source_code: 'class T: 1' });
    const { evaluation_run_id } = await post('evaluation_runs', { evaluation, model });
    const { prediction_id } = await post('predictions', {
      ...{ evaluation_run_id, model, inputs: rows[0], output: 'There.' },
    });
    await record(console.app, PROJECT, [
      aTurn('ask the model', 'exam', 700, {
        trace_id: evaluation_run_id,
        parent_id: prediction_id,
      }),
    ]);
    await post('scores', { prediction_id, scorer, value: true });
    await post(`predictions/${prediction_id}/finish`);
    await post(`evaluation_runs/${evaluation_run_id}/finish`);
    return evaluation_run_id as string;
  }

  let run = '';
  beforeAll(async () => {
    console = await openConsole();
    await record(console.app, PROJECT, [
      aTurn('serve one', 'served', 20),
      aTurn('serve two', 'served', 22),
      aTurn('try it', 'played', 5, { attributes: { 'skein.source': 'playground' } }),
    ]);
    run = await evaluate();
    page = await console.open(`/p/${PROJECT}/traces`);
  });
  afterAll(() => console.close());
  afterEach(() => expect(console.faults).toEqual([]));

  const choose = (name: string) =>
    page.getByRole('combobox', { name: 'Source' }).selectOption({ label: name });
  /** Waits until the table has exactly these links. */
  const shows = async (table: string, names: (string | RegExp)[]) => {
    const links = page.getByRole('table', { name: table }).getByRole('link');
    await links.nth(names.length).waitFor({ state: 'detached' });
    for (const name of names) await links.filter({ hasText: name }).first().waitFor();
    expect(await links.count()).toBe(names.length);
  };
  const total = async (name: string, value: string) =>
    page
      .getByLabel('Totals')
      .locator('div')
      .filter({ hasText: name })
      .filter({ hasText: value })
      .waitFor();

  it('shows traces of production, and others when they are asked for', async () => {
    await shows('Traces', ['serve one', 'serve two']);
    expect(await violations(page)).toEqual([]);
    await choose('Evaluations');
    await shows('Traces', [/Evaluation|exam/]);
    expect(page.url()).toContain('source=evaluation');
    await choose('Playground');
    await shows('Traces', ['try it']);
    await choose('All');
    await shows('Traces', ['serve one', 'serve two', 'try it', /Evaluation|exam/]);
    await page.reload();
    await shows('Traces', ['serve one', 'serve two', 'try it', /Evaluation|exam/]);
    await choose('Production');
    await shows('Traces', ['serve one', 'serve two']);
    expect(page.url()).not.toContain('source');
    await page.getByRole('button', { name: 'All calls' }).click();
    await shows('Traces', ['serve one', 'serve two']);
  });

  it('shows what a filter names, whatever its source', async () => {
    await page.goto(
      `${console.app.url}/console/p/${PROJECT}/traces?all=true&q=source%3Dplayground`,
    );
    await shows('Traces', ['try it']);
    const source = page.getByRole('combobox', { name: 'Source' });
    expect(await source.inputValue()).toBe('all');
    await page.goto(`${console.app.url}/console/p/${PROJECT}/traces?all=true&q=thread%3Dexam`);
    await shows('Traces', ['ask the model']);
    await page.goto(`${console.app.url}/console/p/${PROJECT}/traces/${run}`);
    await page.getByRole('treeitem', { name: 'ask the model' }).waitFor();
  });

  it('adds up the calls of a source', async () => {
    await page.goto(`${console.app.url}/console/p/${PROJECT}/metrics`);
    await total('Calls', '2');
    await total('Tokens in', '42');
    await choose('Playground');
    await total('Tokens in', '5');
    await total('Calls', '1');
    await choose('Evaluations');
    await total('Tokens in', '700');
    await page.getByRole('link', { name: 'gpt-4o-mini' }).click();
    await shows('Traces', ['ask the model']);
    await page.goBack();
    await choose('All');
    await total('Tokens in', '747');
    expect(await violations(page)).toEqual([]);
  });

  it('lists the threads of a source, which goes along from page to page', async () => {
    await page.getByRole('navigation').getByRole('link', { name: 'Threads' }).click();
    await shows('Threads', ['served', 'played', 'exam']);
    expect(page.url()).toContain('source=all');
    await choose('Evaluations');
    await shows('Threads', ['exam']);
    await page.getByRole('button', { name: 'Sort by Turns' }).click();
    await page.waitForURL(/sort=turn_count/);
    await shows('Threads', ['exam']);
    await choose('Production');
    await shows('Threads', ['served']);
    expect(await violations(page)).toEqual([]);
  });
});
