import type { Page } from 'playwright-core';
import {
  aChoice,
  aTrajectory,
  groupsOf,
  type Preview,
  previewOf,
} from '../../test/support/preview.js';
import { aRecipe, PROJECT, publish, record, user } from '../../test/support/rollouts.js';
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
    await page.getByText('Nothing is reported yet').waitFor();
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

  it('tries a recipe, keeps the build, says what it is worth, and trains a model on it', async () => {
    await record(
      console.app,
      [0, 0.2, 1, 1, undefined].map((score, n) => ({
        id: `r${n}`,
        task: `task ${n % 2}`,
        score,
        asks: [{ messages: [user('The same?')], content: `No ${n}`, inputs: { temperature: 0.2 } }],
      })),
    );
    await publish(console.app, aRecipe({ group: { by: ['attributes.task_id'] } }));
    await go(`${PATH}/preview`);
    const rewards = page.getByRole('list', { name: 'Rewards' }).getByRole('listitem');
    await rewards.first().waitFor();
    const bins = ['1\n0', '0\n0.1', '1\n0.2', '0\n0.3', '0\n0.4', '0\n0.5', '0\n0.6', '0\n0.7'];
    expect(await rewards.allInnerTexts()).toEqual([...bins, '0\n0.8', '2\n0.9']);
    await page.getByText('reward.missing leaves out 1 unit; 0 would not.').waitFor();
    await page.getByRole('button', { name: 'Keep this build' }).click();
    await page.getByRole('heading', { name: 'Build of recipe' }).waitFor();
    const lint = page.getByRole('table', { name: 'Lints' }).getByRole('row', { name: /sampling/ });
    await lint.getByRole('link').first().waitFor();
    expect((await lint.getByRole('cell').allInnerTexts()).at(-1)).toBe('4');
    await page.getByRole('tab', { name: 'Samples' }).click();
    await page.getByRole('button', { name: 'Trajectory 2 of group 1, reward 1' }).click();
    await page.getByRole('list', { name: 'Conversation' }).getByText('No 2').waitFor();
    await page.getByRole('button', { name: 'Train a model on it' }).click();
    await page.getByRole('dialog').getByLabel('Model').selectOption('agent');
    await page.getByRole('button', { name: 'Submit the job' }).click();
    await page.getByRole('heading', { name: /^Job / }).waitFor();
    await page.getByRole('tab', { name: 'Lineage' }).click();
    const chain = page.getByRole('region', { name: 'Lineage' });
    await chain.getByText('Calls 8').waitFor();
    await chain.getByText('Feedback 4').waitFor();
    await page.getByRole('button', { name: 'Cancel the job' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel the job' }).click();
    await page.getByText('Cancelled', { exact: true }).waitFor();
  });

  it('shows a reader all of it, and no button that would be refused', async () => {
    const job = await preview.aJob(model);
    const key = await console.app.aKey('reader', [PROJECT]);
    const reader = await console.open(`${PATH}?tab=builds`, { key, theme: 'dark' });
    const changes = reader.getByRole('button', { name: /^(Keep|Train|Cancel)/ });
    await reader.getByRole('link', { name: 'recipe', exact: true }).click();
    await reader.getByRole('list', { name: 'Rewards' }).waitFor();
    expect(await changes.count()).toBe(0);
    expect(await violations(reader)).toEqual([]);
    await reader.getByRole('link', { name: 'All builds' }).click();
    await reader.getByRole('tab', { name: 'Jobs' }).click();
    await reader.getByRole('link', { name: job.slice(-12) }).click();
    await reader.getByText('Nothing is reported yet').waitFor();
    expect(await changes.count()).toBe(0);
    await reader.goto(`${console.app.url}/console${PATH}/preview`);
    await reader.getByRole('button', { name: 'Look again' }).waitFor();
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
    for (const path of [`jobs/${model}`, `models/${PROJECT.length}`, `builds/${model}`]) {
      await go(`${PATH}/${path}`);
      await page
        .getByText(/No such (model|training job|build)/)
        .first()
        .waitFor();
    }
  });
});
