import type { Page } from 'playwright-core';
import { type Preview, previewOf } from '../../test/support/preview.js';
import { feedbackOf, PROJECT, record, user } from '../../test/support/rollouts.js';
import { type Console, describeConsole, openConsole, violations } from './support/console.js';

const BASE = 'base';
const PROVIDER = 'engine';
/** Score of step 1 minus score of step 0, one number a row. */
const BETTER = [0.5, 0.4, 0.5, 0.3, -0.1, 0.5, 0.4, 0.6];

describeConsole('promoting a checkpoint', () => {
  let console: Console;
  let preview: Preview;
  let model: string;
  let page: Page;

  beforeAll(async () => {
    const provider = { name: PROVIDER, base_url: 'http://127.0.0.1:9', engine: 'vllm' };
    console = await openConsole({ GATEWAY_PROVIDERS: JSON.stringify([provider]) });
    preview = previewOf(console.app);
    model = await preview.aModel({ name: 'agent', base_model: BASE });
    for (const _ of [1, 2]) {
      const job = await preview.aJob(model);
      const { lease_token } = (await preview.claim({ base_models: [BASE] })).body;
      await preview.start(job, lease_token);
      await preview.complete(job, lease_token, { reward: 0.5 });
    }
    page = await console.open('/connect');
  });
  afterAll(() => console.close());
  afterEach(() => expect(console.faults).toEqual([]));

  const aliases = async () => {
    const body = { project_id: PROJECT, model_id: model };
    return (await console.app.post('/models/aliases/query', body)).body.aliases as object[];
  };
  const checkpoint = (step: number, tab = 'promotion') =>
    `${console.app.url}/console/p/${PROJECT}/training/models/${model}/checkpoints/${step}?tab=${tab}`;
  const moves = () => page.getByRole('table', { name: 'Promotions' }).getByRole('row');

  it('compares with the current step row by row, and promotes what passes the gate', async () => {
    const scored = [0, 1].flatMap((step) =>
      BETTER.map((better, row) => ({
        rollout: {
          id: `s${step}r${row}`,
          asks: [{ messages: [user(`row ${row}`)], model: `agent:step${step}` }],
        },
        score: step === 0 ? 0.2 : 0.2 + better,
      })),
    );
    await record(
      console.app,
      scored.map(({ rollout }) => rollout),
    );
    const batch = scored.map(({ rollout: { id, asks }, score }) =>
      feedbackOf({ id: `${id}.0`, asks, score }),
    );
    expect((await console.app.post('/feedback/batch/create', { batch })).status).toBe(200);
    await page.goto(checkpoint(1));
    await page.getByText('No step of the model is current yet.').waitFor();
    const gate = page.getByRole('form', { name: 'Gate' });
    const score = gate.getByLabel('Score: feedback');
    await gate.getByRole('button', { name: 'Compare' }).click();
    await page.getByText('Not passed.').waitFor(); // the gate needs 20 rows by default, and has 8
    expect(await page.getByRole('button', { name: 'Promote step 1' }).isDisabled()).toBe(true);
    await gate.getByLabel('Minimum of rows').fill('8');
    await gate.getByRole('button', { name: 'Compare' }).click();
    await page.getByText('Passed.', { exact: true }).waitFor();
    const rows = page.getByRole('table', { name: 'Rows', exact: true }).getByRole('row');
    const worst = await rows.nth(1).getByRole('cell').allInnerTexts();
    expect(worst[0]).toContain('row 4');
    expect(worst.slice(1)).toEqual(['0.1', '0.2', '-0.1', '1 : 1']);
    const statistics = page.getByLabel('Statistics').locator('div');
    expect(await statistics.filter({ hasText: 'n, rows paired' }).innerText()).toContain('8');
    expect(await statistics.filter({ hasText: 'Better, worse, equal' }).innerText()).toContain(
      '7, 1, 0',
    );
    expect(await violations(page)).toEqual([]);
    await gate.getByLabel('Filter of the calls').fill('[');
    expect(await gate.getByRole('button', { name: 'Compare' }).isDisabled()).toBe(true);
    await gate.getByLabel('Filter of the calls').fill('{"op_names":["nothing"]}');
    await gate.getByRole('button', { name: 'Compare' }).click();
    await page.getByText('no rows are paired').waitFor();
    await gate.getByLabel('Filter of the calls').fill('');
    await gate.getByLabel('Against step').fill('2');
    await gate.getByRole('button', { name: 'Compare' }).click();
    await page.getByText('of step 2').first().waitFor();
    expect(await page.getByRole('button', { name: 'Promote step 1' }).isDisabled()).toBe(true);
    await gate.getByLabel('Against step').fill('');
    await gate.getByRole('button', { name: 'Compare' }).click();
    await page.getByText('Passed.', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Promote step 1' }).click();
    await page.getByText('This step is current').waitFor();
    await moves().getByText('gate passed: 8 rows').waitFor();
    expect(await aliases()).toMatchObject([{ alias: 'current', step: 1, by_hand: false }]);
    expect(await score.count()).toBe(0);
  });

  it('promotes by hand once that is confirmed, and rolls back from the history', async () => {
    await page.goto(checkpoint(2));
    await page.getByText('Step 1 is current.').waitFor();
    await page.getByRole('button', { name: 'Promote by hand' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
    expect(await aliases()).toMatchObject([{ step: 1 }]);
    await page.getByRole('button', { name: 'Promote by hand' }).click();
    expect(await violations(page)).toEqual([]);
    await page.getByRole('dialog').getByRole('button', { name: 'Make it current' }).click();
    await page.getByText('This step is current').waitFor();
    expect(await aliases()).toMatchObject([{ step: 2, by_hand: true }]);
    await page.getByRole('link', { name: 'All checkpoints' }).click();
    const checkpoints = page.getByRole('table', { name: 'Checkpoints' });
    await checkpoints.getByRole('row', { name: /^2 current/ }).waitFor();
    await page.getByRole('tab', { name: 'Promotions' }).click();
    expect(await violations(page)).toEqual([]);
    await page.getByRole('button', { name: 'Roll back to 1' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Make it current' }).click();
    await moves().nth(3).waitFor();
    expect(await aliases()).toMatchObject([{ step: 1 }]);
    await page.getByRole('button', { name: 'Roll back to 2' }).waitFor();
  });

  it('says who serves a checkpoint', async () => {
    await page.goto(checkpoint(1, 'files'));
    await page.getByText('not served now').waitFor();
    const body = { model_id: model, step: 1, provider: PROVIDER, upstream_model: 'lora-1' };
    await preview.call('POST', '/trainer/serving', { ...body, ttl_seconds: 600 });
    await page.reload();
    await page.getByText(`serving by ${PROVIDER}`).waitFor();
  });

  it('shows a reader the history and the comparison, and no button that would be refused', async () => {
    const key = await console.app.aKey('reader', [PROJECT]);
    const reader = await console.open('/connect', { key, theme: 'dark', width: 390 });
    const changes = reader.getByRole('button', { name: /^(Promote|Roll back)/ });
    await reader.goto(checkpoint(2));
    await reader.getByRole('table', { name: 'Promotions' }).waitFor();
    const gate = reader.getByRole('form', { name: 'Gate' });
    await gate.getByRole('button', { name: 'Compare' }).click();
    await reader.getByText('Not passed.').waitFor();
    expect(await changes.count()).toBe(0);
    expect(await violations(reader)).toEqual([]);
  });

  it('marks what was trained on calls that are gone, and trains it again without them', async () => {
    await record(
      console.app,
      [1, 0, 0.5].map((score, n) => ({
        id: `gone${n}`,
        task: 'gone',
        score,
        root: { op_name: 'gone' },
        asks: [{ messages: [user('Forget me')], content: `No ${n}` }],
      })),
    );
    const recipe = {
      _class_name: 'Recipe',
      _bases: ['Object', 'BaseModel'],
      version: 1,
      select: { filter: { op_names: ['gone'] }, settle_s: 0 },
      reward: { sum: [{ feedback: 'svc.runnable.score', path: 'output.score' }] },
    };
    const post = async (path: string, body: object) =>
      (await console.app.post(path, { project_id: PROJECT, ...body })).body;
    const obj = { project_id: PROJECT, object_id: 'gone', val: recipe };
    await console.app.post('/obj/create', { obj });
    const recipe_ref = `svc:///${PROJECT}/object/gone:latest`;
    const { build_id } = await post('/build/create', { recipe_ref, mode: 'all' });
    const { job_id } = await post('/build/submit', { build_id, model_id: model });
    const { lease_token } = (await preview.claim({ base_models: [BASE] })).body;
    await preview.start(job_id, lease_token);
    await preview.complete(job_id, lease_token);
    await page.goto(`${console.app.url}/console/p/${PROJECT}/training?tab=tainted`);
    await page.getByText('Nothing is tainted').waitFor();
    const reach = page.getByRole('form', { name: 'Effect of a purge' });
    await reach.getByLabel('Or calls').fill('gone0');
    await reach.getByRole('button', { name: 'Show the effect of a purge' }).click();
    const made = page
      .getByRole('table', { name: 'Checkpoints' })
      .getByRole('row', { name: 'agent:step3' });
    await made.waitFor();
    await page.getByText('Nothing is changed yet.').waitFor();
    expect(await page.getByRole('button', { name: 'Train again' }).count()).toBe(0);
    await post('/calls/purge', { call_ids: ['gone0'] });
    await reach.getByLabel('Or calls').fill('');
    await reach.getByRole('button', { name: 'Show what is tainted' }).click();
    await made.getByRole('button', { name: 'Train again' }).click();
    expect(await violations(page)).toEqual([]);
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Queue the jobs' }).click();
    await dialog.getByRole('link', { name: 'is queued' }).waitFor();
    await page.getByText('from step 2').waitFor();
    expect(await violations(page)).toEqual([]);
    await page.goto(checkpoint(3, 'files'));
    await page.getByText('trained on calls that were purged').waitFor();
    expect(await violations(page)).toEqual([]);
    await page.getByRole('link', { name: 'All checkpoints' }).click();
    const checkpoints = page.getByRole('table', { name: 'Checkpoints' });
    await checkpoints.getByRole('row', { name: /^3 tainted/ }).waitFor();
  });
});
