import type { Locator, Page } from 'playwright-core';
import { aRun } from '../../test/support/evaluations.js';
import { type Console, describeConsole, openConsole, violations } from './support/console.js';

const PROJECT = 'acme/exams';
const PATH = `/p/${PROJECT}/evaluations`;
/** The polite prompt fails on the last city only. The terse prompt is right on the last but one only. */
const CITIES = Array.from({ length: 12 }, (_, n) => `City ${n}`);

describeConsole('evaluations', () => {
  let console: Console;
  let page: Page;
  const made: { evaluation: string; runs: string[] } = { evaluation: '', runs: [] };
  beforeAll(async () => {
    console = await openConsole();
    page = await console.open(PATH);
  });
  afterAll(() => console.close());
  afterEach(() => expect(console.faults).toEqual([]));

  const post = async (path: string, body: object = {}) => {
    const answer = await console.app.post(`/v2/${PROJECT}/${path}`, body);
    if (answer.status !== 200) throw new Error(answer.text);
    return answer.body;
  };

  /**
   * Records an evaluation as docs/evaluations.md does: one prompt is wrong on the last row, the other on all rows but
   * one.
   */
  async function recordExam() {
    const rows = CITIES.map((city) => ({ question: `In which country is ${city}?` }));
    const dataset = await post('datasets', { name: 'countries', rows });
    const { scorer: right } = await post('scorers', {
      name: 'right',
      op_source_code: 'def f(): 1',
    });
    const { scorer: judge } = await post('scorers', {
      name: 'judge',
      op_source_code: 'def f(): 2',
    });
    const { evaluation_ref: evaluation } = await post('evaluations', {
      name: 'exam',
      dataset: `svc:///${PROJECT}/object/${dataset.object_id}:${dataset.digest}`,
      scorers: [right, judge],
    });
    made.evaluation = evaluation;
    for (const name of ['polite', 'terse']) {
      const { model_ref: model } = await post('models', { name, source_code: `class ${name}: 1` });
      const { evaluation_run_id } = await post('evaluation_runs', { evaluation, model });
      for (const [n, inputs] of rows.entries()) {
        const isRight = name === 'polite' ? n < 11 : n === 10;
        const place = isRight ? `country ${n}` : 'nowhere';
        const { prediction_id } = await post('predictions', {
          ...{ evaluation_run_id, model, inputs },
          output: `It is in ${place}${name === 'polite' ? ', I think.' : '.'}`,
        });
        await post('scores', { prediction_id, scorer: right, value: isRight });
        await post('scores', { prediction_id, scorer: judge, value: { mark: isRight ? 0.75 : 0 } });
        await post(`predictions/${prediction_id}/finish`);
      }
      await post(`evaluation_runs/${evaluation_run_id}/finish`);
      made.runs.push(evaluation_run_id);
    }
  }

  const cells = async (row: Locator) =>
    (await row.getByRole('cell').allInnerTexts()).map((cell) => cell.trim());

  it('answers which of two prompts is better, and on what the worse one fails', async () => {
    await page.getByText('No evaluations').waitFor();
    expect(await violations(page)).toEqual([]);
    await recordExam(); // while the page is open
    const runs = page.getByRole('table', { name: 'Runs' }).getByRole('row');
    await runs.filter({ hasText: 'terse' }).getByText('8.3 % n 12').waitFor();
    const polite = await cells(runs.filter({ hasText: 'polite' }));
    expect(polite).toEqual(expect.arrayContaining(['Success', '91.7 % n 12', '0.6875 n 12']));
    await page.getByRole('combobox', { name: 'Score' }).selectOption('judge.mark');
    await page.getByRole('slider', { name: 'judge.mark over run' }).waitFor();
    await page.getByRole('combobox', { name: 'Score' }).selectOption('right');
    await page.getByText('Choose 2 to 5 runs').waitFor();
    expect(await violations(page)).toEqual([]);
    await runs.filter({ hasText: 'terse' }).getByRole('checkbox').check();
    await runs.filter({ hasText: 'polite' }).getByRole('checkbox').check();
    await page.getByRole('link', { name: 'Compare 2 runs' }).click();

    const scores = page
      .getByRole('table', { name: 'Scores of B compared with A' })
      .getByRole('row');
    await scores.nth(1).waitFor();
    const [score, finding, n, a, b, difference, interval, p, holm, ...rest] = await cells(
      scores.nth(1),
    );
    expect([score, finding, n]).toEqual(['right', 'lower', '12']);
    expect([a, b, difference]).toEqual(['91.7 %', '8.3 %', '−83.3 pts']);
    expect(interval).toMatch(/^−\d+(\.\d)? pts to −\d+(\.\d)? pts$/);
    expect([p, ...rest]).toEqual(['0.001953', '0, 10, 2', 'exact McNemar test']);
    expect(Number(holm)).toBeGreaterThan(Number(p));
    expect(await violations(page)).toEqual([]);

    const rows = page.getByRole('region', { name: 'Rows' });
    await rows.getByText('12 rows').waitFor();
    const items = rows.getByRole('listitem');
    // rows that differ come first
    expect(await items.nth(0).getByText('worse').count()).toBe(1);
    expect(await items.nth(11).getByText('worse').count()).toBe(0);
    await page
      .getByRole('combobox', { name: 'Show' })
      .selectOption('only rows that got worse in B');
    await rows.getByText('10 rows').waitFor();
    await items.nth(10).waitFor({ state: 'detached' });
    await items.nth(9).waitFor();
    expect(await items.getByText('worse', { exact: true }).count()).toBe(10);
    // an error rate gets better when it falls: the reader selects this, and the address keeps it
    await page.getByRole('combobox', { name: 'Better is' }).selectOption('lower');
    await rows.getByText('0 rows').waitFor();
    expect(page.url()).toContain('low=right');
    await page.getByRole('combobox', { name: 'Better is' }).selectOption('higher');
    await rows.getByText('10 rows').waitFor();
    const worst = items.nth(0);
    expect(await worst.innerText()).toContain('In which country is City');
    const terse = worst.getByRole('group', { name: 'B, terse' });
    expect(await terse.locator('ins').allInnerTexts()).toEqual(['nowhere']);
    expect((await terse.locator('del').allInnerTexts()).join('')).toMatch(/country \d+, I think/);
    expect(await terse.locator('strong').innerText()).toBe('false');
    expect(await violations(page)).toEqual([]);
    const there = page.url();
    await worst.getByRole('link', { name: 'Trace of B' }).click();
    await page.getByText('It is in nowhere.').first().waitFor();
    expect(page.url()).toContain(`/traces/${made.runs[1]}?call=`);

    // the address keeps all choices; with B as the baseline, A is better
    const dark = await console.open(there.split('/console')[1], { theme: 'dark' });
    await dark.getByText('10 rows').waitFor();
    expect(await violations(dark)).toEqual([]);
    await dark.getByRole('button', { name: 'Make baseline: B' }).click();
    await dark
      .getByRole('table', { name: 'Scores of B compared with A' })
      .getByText('+83.3 pts')
      .waitFor();
    await dark.getByText('12 rows').first().waitFor();
    await dark.getByRole('link', { name: 'All runs' }).click();
    await dark.getByRole('table', { name: 'Runs' }).getByText('polite').waitFor();
    expect(await dark.getByRole('checkbox', { checked: true }).count()).toBe(2);
    expect(await violations(dark)).toEqual([]);
    await dark.context().close();
  });

  it('ranks models by a leaderboard', async () => {
    const column = (
      scorer_name: string,
      summary_metric_path: string,
      should_minimize: boolean,
    ) => ({
      ...{ evaluation_object_ref: made.evaluation, scorer_name, summary_metric_path },
      should_minimize,
    });
    const val = {
      _type: 'Leaderboard',
      _class_name: 'Leaderboard',
      _bases: ['Object', 'BaseModel'],
      name: 'countries',
      description: 'Who knows countries?',
      columns: [column('judge', 'mark.mean', true), column('right', 'true_fraction', false)],
    };
    await page.goto(`${console.app.url}/console${PATH}/leaderboards`);
    await page.getByText('No leaderboards').waitFor();
    const obj = { project_id: PROJECT, object_id: 'countries', val };
    expect((await console.app.post('/obj/create', { obj })).status).toBe(200);
    const models = page.getByRole('table', { name: 'Models' }).getByRole('row');
    await models.nth(2).waitFor();
    expect(await models.nth(0).innerText()).toContain('judge.mark.mean, low is best');
    const ranked = async () => [await cells(models.nth(1)), await cells(models.nth(2))];
    expect(await ranked()).toEqual([
      [expect.stringContaining('terse'), '0.0625 best', '0.08333'],
      [expect.stringContaining('polite'), '0.6875', '0.9167 best'],
    ]);
    await page.getByRole('button', { name: 'exam: right.true_fraction' }).click();
    expect((await ranked())[0]![0]).toContain('polite');
    expect(await violations(page)).toEqual([]);
    const dark = await console.open(new URL(page.url()).pathname.split('/console')[1], {
      theme: 'dark',
    });
    await dark.getByRole('table', { name: 'Models' }).waitFor();
    expect(await violations(dark)).toEqual([]);
    await dark.context().close();
    await models.nth(1).getByRole('link', { name: '0.9167 best' }).click();
    await page.waitForURL(new RegExp(`/traces/${made.runs[0]}`));
  });

  it('pages rows, also those that got worse in one of three runs', async () => {
    const project = 'acme/large';
    const trials = (better: (n: number) => number) =>
      Array.from({ length: 50 }, (_, n) => ({
        example: { n },
        output: { answer: n },
        scores: { judge: { mark: 0.5 + better(n) } },
      }));
    await aRun(
      console.app,
      project,
      'first',
      trials(() => 0),
    );
    await aRun(
      console.app,
      project,
      'second',
      trials(() => 0.25),
    );
    // 25 rows get worse, later rows more than earlier ones
    await aRun(
      console.app,
      project,
      'third',
      trials((n) => (n % 2 === 0 ? 0.1 : -n / 1000)),
    );
    const search = `runs=${encodeURIComponent('["first","second","third"]')}`;
    await page.goto(`${console.app.url}/console/p/${project}/evaluations/compare?${search}`);
    await page.getByText('50 rows, page 1 of 3').waitFor();
    await page.getByRole('button', { name: 'Next' }).click();
    await page.getByText('50 rows, page 2 of 3').waitFor();
    await page
      .getByRole('combobox', { name: 'Show' })
      .selectOption('only rows that got worse in C');
    await page.getByText('25 rows, page 1 of 2').waitFor();
    const rows = page.getByRole('region', { name: 'Rows' }).getByRole('listitem');
    const marks = () => rows.getByRole('group', { name: /^C/ }).locator('strong').allInnerTexts();
    expect((await marks()).slice(0, 2)).toEqual(['0.451', '0.453']);
    await page.getByRole('button', { name: 'Next' }).click();
    await page.getByText('25 rows, page 2 of 2').waitFor();
    await rows.nth(5).waitFor({ state: 'detached' });
    await rows.nth(4).waitFor();
    expect(await marks()).toEqual(['0.491', '0.493', '0.495', '0.497', '0.499']);
    expect(page.url()).toContain('worse=third');
  });
});
