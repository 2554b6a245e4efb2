import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import {
  aChoice,
  aTrajectory,
  groupsOf,
  manifestFile,
  type Preview,
  previewOf,
} from '../../test/support/preview.js';
import { PROJECT, record, user } from '../../test/support/rollouts.js';
import { type Console, describeConsole, openConsole, violations } from './support/console.js';

const PATH = `/p/${PROJECT}/training`;

describeConsole('the pages of training', () => {
  let console: Console;
  let preview: Preview;
  let model: string;
  let page: Page;

  beforeAll(async () => {
    console = await openConsole();
    preview = previewOf(console.app);
    model = await preview.aModel({ name: 'agent' });
    page = await console.open('/connect');
  });
  afterAll(() => console.close());
  afterEach(() => expect(console.faults).toEqual([]));

  const go = (path: string) => page.goto(`${console.app.url}/console${path}`);
  const claimed = async () => {
    const { job_id, lease_token } = (await preview.claim()).body;
    const events = (seq: number, data: object) =>
      preview.trainer(job_id, lease_token, 'events', {
        events: [{ seq, type: 'gradient_step', data }],
      });
    return { job: job_id as string, lease: lease_token as string, events };
  };
  const events = () => page.getByRole('table', { name: 'Events' });

  it('shows what a trainer reports as it comes, and forgets an attempt that is tried again', async () => {
    const job = await preview.aJob(model);
    await go(`${PATH}/jobs/${job}`);
    await page.getByText('The trainer has reported no events yet').waitFor();
    const first = await claimed();
    await preview.start(job, first.lease);
    await events().getByText('Training started').waitFor(); // without a reload
    await first.events(1, { loss: 9.75 });
    await events().getByText('loss 9.75').waitFor();
    await preview.trainer(job, first.lease, 'fail', { error_message: 'gone', retryable: true });
    await events().getByText('loss 9.75').waitFor({ state: 'detached' });
    const second = await claimed();
    await page.getByText('attempt 2').waitFor();
    await preview.start(job, second.lease);
    for (const [seq, loss] of [0.5, 0.25].entries()) await second.events(seq + 1, { loss });
    const chart = page.getByRole('slider', { name: 'loss over Gradient step' });
    await events().getByText('loss 0.25').waitFor();
    await chart.focus();
    await page.keyboard.press('Home');
    expect(await chart.getAttribute('aria-valuetext')).toBe('Gradient step 1, trainer 0.5');
    expect(await violations(page)).toEqual([]);
    await preview.complete(job, second.lease, { reward: 0.8 });
    await page.getByText('made step 1').waitFor();
    await events().getByText('Training ended').waitFor();
    await page.getByRole('link', { name: 'agent' }).click();
    const row = page.getByRole('table', { name: 'Checkpoints' }).getByRole('row').nth(1);
    await row.getByText('0.8').waitFor();
    expect(await row.getByRole('cell').allInnerTexts()).toEqual(['1', '0.8']);
  });

  it('reads a trajectory as a conversation, with its reward and every digit of it', async () => {
    const text = JSON.stringify({
      split: 'eval',
      trajectory_groups: groupsOf([
        aTrajectory({ metadata: { weight: '@' } }),
        aTrajectory({
          reward: 0.25,
          messages_and_choices: [user('<b>Is it late?</b>'), aChoice('By a day.')],
        }),
      ]),
    }).replace('"@"', '12345678901234567890');
    expect((await preview.call('POST', `/models/${model}/log`, text)).status).toBe(200);
    await go(`${PATH}/models/${model}`);
    await page.getByRole('slider', { name: 'reward over Step' }).waitFor();
    await page.getByRole('tab', { name: 'Trajectories' }).click();
    await page.getByLabel('Split').selectOption('eval');
    await page.getByLabel('Order').selectOption('Lowest reward first');
    await page.waitForURL(/split=eval&sort=reward/);
    const said = page.getByRole('list', { name: 'Conversation' });
    await said.getByText('<b>Is it late?</b>').waitFor();
    const turns = await said.getByRole('listitem').allInnerTexts();
    expect(turns.map((turn) => turn.split(/\n+/))).toEqual([
      ['user', '<b>Is it late?</b>'],
      ['assistanttrained', 'By a day.'],
    ]);
    const list = page.getByRole('navigation', { name: 'Trajectories' });
    await list.getByRole('button', { name: 'Is it so?' }).click();
    await page.getByRole('tab', { name: 'Data' }).click();
    await page.getByText('12345678901234567890').waitFor();
    expect(await violations(page)).toEqual([]);
  });

  it('shows a checkpoint: its files, which are saved to the byte, the job, and where it came from', async () => {
    const job = await preview.aJob(model);
    const { job_id, lease_token } = (await preview.claim()).body;
    expect(job_id).toBe(job);
    const bytes = Buffer.from('{"r": 16}');
    await preview.start(job, lease_token);
    await preview.part(job, lease_token, bytes);
    const file = manifestFile('adapter/adapter_config.json', bytes);
    const done = await preview.trainer(job, lease_token, 'complete', {
      metrics: { reward: 0.75 },
      checkpoint: { files: [file], config: { lora_rank: 16 } },
    });
    const { step } = done.body;
    await go(`${PATH}/models/${model}`);
    await page
      .getByRole('table', { name: 'Checkpoints' })
      .getByRole('link', { name: `${step}` })
      .click();
    await page.getByRole('heading', { name: `agent, step ${step}` }).waitFor();
    await page.getByText('{ "lora_rank": 16 }').waitFor();
    const row = page.getByRole('table', { name: 'Files' }).getByRole('row').nth(1);
    expect((await row.getByRole('cell').allInnerTexts()).slice(0, 3)).toEqual([
      'adapter/adapter_config.json',
      '9 B',
      file.sha256.slice(0, 16),
    ]);
    const saved = page.waitForEvent('download');
    await row.getByRole('button', { name: 'Download adapter/adapter_config.json' }).click();
    const download = await saved;
    expect(download.suggestedFilename()).toBe('adapter_config.json');
    expect(readFileSync(await download.path())).toEqual(bytes);
    expect(await violations(page)).toEqual([]);
    await page.getByRole('link', { name: job.slice(-12) }).click();
    await page.getByRole('link', { name: `step ${step}` }).waitFor();
  });

  it('says of a job without a step why it made none', async () => {
    const job = await preview.aJob(model);
    const { lease_token } = (await preview.claim()).body;
    await preview.start(job, lease_token);
    const reason = 'the rewards of each group are equal';
    const body = { metrics: {}, made_step: false, reason };
    expect((await preview.trainer(job, lease_token, 'complete', body)).status).toBe(200);
    await go(`${PATH}/jobs/${job}`);
    await page.getByText(`there was nothing to learn: ${reason}`).waitFor();
  });

  it('edits a recipe by form and JSON with its outcome beside it, publishes, builds, and trains on it', async () => {
    await record(
      console.app,
      [0, 0.2, 1, 1, undefined].map((score, n) => ({
        id: `r${n}`,
        task: `task ${n % 2}`,
        score,
        asks: [{ messages: [user('The same?')], content: `No ${n}`, inputs: { temperature: 0.2 } }],
      })),
    );
    await go(`${PATH}?tab=builds`);
    await page.getByRole('link', { name: 'Begin a recipe' }).click();
    await page.getByText('svc.runnable.score at output.score').waitFor();
    expect(await violations(page)).toEqual([]);
    await page.getByLabel('Name').fill('mine');
    await page.getByRole('button', { name: 'Begin' }).click();
    await page.waitForURL(/recipe=mine/);
    const form = page.getByRole('group', { name: 'The recipe as a form' });
    const json = page.getByRole('textbox', { name: 'Recipe' });
    const look = page.getByRole('region', { name: 'Preview' });
    await form.getByLabel('Percent for evaluation').fill('0');
    // one click applies the hint
    await look.getByRole('button', { name: 'Set it to 0' }).click();
    await look.getByText('reward.missing leaves out 1 unit. The value 0 would keep it.').waitFor();
    // a refused value is reported at its field and in the JSON
    await form.getByLabel('Weight').fill('1.x');
    await form.getByText('must be a number').waitFor();
    expect(await form.getByLabel('Weight').getAttribute('aria-invalid')).toBe('true');
    expect(await violations(page)).toEqual([]);
    await page
      .getByRole('list', { name: 'Errors of the recipe' })
      .getByRole('button')
      .first()
      .click();
    const selected = await json.evaluate((box: HTMLTextAreaElement) =>
      box.value.slice(box.selectionStart, box.selectionEnd),
    );
    expect(selected).toBe('"1.x"');
    // the JSON keeps every digit, and a reload loses nothing
    await json.fill((await json.inputValue()).replace('"1.x"', '1.0'));
    expect(await form.getByLabel('Weight').inputValue()).toBe('1.0');
    await json.fill(`${await json.inputValue()} oops`);
    await page.getByText('not JSON at character').waitFor();
    expect(await form.getByLabel('Weight').isDisabled()).toBe(true);
    await json.fill((await json.inputValue()).replace(' oops', ''));
    await page.reload();
    expect(await json.inputValue()).toContain('1.0');
    const rewards = look.getByRole('list', { name: 'Rewards' }).getByRole('listitem');
    const counts = [2, 0, 1, 0, 0, 0, 0, 0, 0, 2];
    const bins = counts.map((found, n) => `${found}\n${n / 10}–${(n + 1) / 10}`);
    await rewards.first().waitFor();
    expect(await rewards.allInnerTexts()).toEqual(bins);
    await look.getByRole('tab', { name: 'Sample' }).click();
    await look.getByRole('list', { name: 'Conversation' }).getByText('No').first().waitFor();
    await page.getByRole('button', { name: 'Publish' }).click();
    await page.getByRole('button', { name: 'Published' }).waitFor();
    const { body } = await console.app.post('/obj/read', {
      project_id: PROJECT,
      object_id: 'mine',
      digest: 'latest',
    });
    expect(body.obj.val.reward.sum[0]).toMatchObject({ feedback: 'svc.runnable.score', weight: 1 });
    await look.getByRole('button', { name: 'Build', exact: true }).click();
    await page.getByRole('heading', { name: 'Build of mine' }).waitFor();
    const lint = page.getByRole('table', { name: 'Lints' }).getByRole('row', { name: /sampling/ });
    await lint.getByRole('link').first().waitFor();
    await page.getByRole('button', { name: 'Train a model on this build' }).click();
    await page.getByRole('dialog').getByLabel('Model').selectOption('agent');
    await page.getByRole('button', { name: 'Submit the job' }).click();
    await page.getByRole('heading', { name: /^Job / }).waitFor();
    await page.getByRole('tab', { name: 'Lineage' }).click();
    const graph = page.getByRole('region', { name: 'Lineage' });
    await graph.getByText('Calls 10').waitFor();
    await graph.getByText('Feedback 4').waitFor();
    // a group opens, and the arrow keys follow the edges
    await graph.getByRole('button', { name: '10 calls' }).click();
    const call = graph.getByRole('link', { name: 'r0.0' });
    await call.focus();
    await page.keyboard.press('ArrowRight');
    const focused = () => page.evaluate(() => document.activeElement?.getAttribute('href') ?? '');
    expect(await focused()).toMatch(/\/training\/builds\//);
    expect(await violations(page)).toEqual([]);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Build of mine' }).waitFor();
    await page.goBack();
    await page.getByRole('button', { name: 'Cancel the job' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel the job' }).click();
    await page.getByText('Cancelled', { exact: true }).waitFor();
  });

  it('asks for the newest text only: an older request is ended', async () => {
    await go(`${PATH}/recipes?recipe=mine`);
    const form = page.getByRole('group', { name: 'The recipe as a form' });
    await page.getByRole('list', { name: 'Rewards' }).waitFor();
    const isOlder = (text: string | null) => /"limit": 1\b/.test(text ?? '');
    await page.route('**/build/preview', async (route) => {
      if (!isOlder(route.request().postData())) await route.continue(); // the older one gets no answer
    });
    const asked = page.waitForRequest((request) => isOlder(request.postData()));
    const ended = page.waitForEvent('requestfailed', (request) => isOlder(request.postData()));
    await form.getByLabel('Newest units, at most').fill('1');
    await asked;
    await form.getByLabel('Newest units, at most').fill('2');
    const units = page.getByLabel('Counts').locator('div', { hasText: 'Units' }).locator('dd');
    await units.getByText('2', { exact: true }).waitFor();
    await ended;
    await page.unroute('**/build/preview');
    await page.getByRole('button', { name: 'Discard changes' }).click();
    await units.getByText('5', { exact: true }).waitFor();
  });

  it('shows a reader all of it, and no button that would be refused', async () => {
    const job = await preview.aJob(model);
    const key = await console.app.aKey('reader', [PROJECT]);
    const reader = await console.open(`${PATH}?tab=builds`, { key, theme: 'dark' });
    const changes = reader.getByRole('button', { name: /^(Publish|Build|Train|Cancel)/ });
    await reader.getByRole('link', { name: 'mine', exact: true }).click();
    await reader.getByRole('list', { name: 'Rewards' }).waitFor();
    expect(await changes.count()).toBe(0);
    expect(await violations(reader)).toEqual([]);
    await reader.getByRole('link', { name: 'All builds' }).click();
    await reader.getByRole('tab', { name: 'Jobs' }).click();
    await reader.getByRole('link', { name: job.slice(-12) }).click();
    await reader.getByText('The trainer has reported no events yet').waitFor();
    expect(await changes.count()).toBe(0);
    await reader.goto(`${console.app.url}/console${PATH}/recipes?recipe=mine`);
    await reader.getByRole('list', { name: 'Rewards' }).waitFor();
    expect(await violations(reader)).toEqual([]);
    expect(await changes.count()).toBe(0);
  });

  it('says what to do where there is nothing, and what is wrong where something is', async () => {
    await go('/p/acme/empty/training');
    await page.getByText('No models yet').waitFor();
    await page.getByRole('tab', { name: 'Jobs' }).click();
    await page.getByText('No training jobs yet').waitFor();
    const problem = { code: 'internal', detail: 'the disk is full' };
    await page.route('**/builds/query', (route) =>
      route.fulfill({ status: 500, json: problem, headers: { 'x-request-id': 'r-18' } }),
    );
    await page.getByRole('tab', { name: 'Builds' }).click();
    await page.getByRole('alert').getByText('r-18').waitFor();
    await page.unroute('**/builds/query');
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByText('No builds yet').waitFor();
    for (const path of [
      `jobs/${model}`,
      `models/${PROJECT.length}`,
      `models/${model}/checkpoints/99`,
      `builds/${model}`,
    ]) {
      await go(`${PATH}/${path}`);
      await page
        .getByText(/No such (model|checkpoint|training job|build)/)
        .first()
        .waitFor();
    }
  });
});
