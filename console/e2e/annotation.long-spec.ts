import type { Page } from 'playwright-core';
import { type Console, describeConsole, openConsole, violations } from './support/console.js';

const PROJECT = 'acme/judged';
const REPLY = 'Dear Ada,\n\nyour parcel comes tomorrow.';

describeConsole('queues, and datasets made of traces', () => {
  let console: Console;
  beforeAll(async () => {
    console = await openConsole();
    await post(`/v2/${PROJECT}/calls/complete`, {
      batch: Array.from({ length: 5 }, (_, n) => ({
        project_id: PROJECT,
        id: `c${n}`,
        trace_id: `c${n}`,
        op_name: `answer ${n}`,
        started_at: `2026-01-01T00:00:0${n}Z`,
        ended_at: `2026-01-01T00:00:0${n + 1}Z`,
        inputs: { question: `Question ${n}`, more: { n: 12345678901234567890n.toString() } },
        output: REPLY,
        attributes: {},
      })),
    });
  });
  afterAll(() => console.close());
  afterEach(() => expect(console.faults).toEqual([]));

  async function post(path: string, body: unknown) {
    const answer = await console.app.post(path, body);
    if (answer.status !== 200) throw new Error(answer.text);
    return answer.body;
  }

  const open = (path: string, look = {}) => console.open(`/p/${PROJECT}/${path}`, look);
  const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
  const select = async (page: Page, names: string[]) => {
    for (const name of names) await page.getByLabel(`Select ${name}`, { exact: true }).check();
    await page.getByText(`${names.length} selected`).waitFor();
  };
  const press = async (page: Page, keys: string[]) => {
    for (const key of keys) await page.keyboard.press(key);
  };

  it('makes a queue of selected traces, which is then judged by keyboard alone', async () => {
    const page = await open('traces');
    await select(page, ['answer 4', 'answer 3']);
    expect(page.url()).toMatch(/traces$/); // a click on a box opens no trace
    await button(page, 'Add to queue').click();
    await page.getByRole('dialog').getByLabel('Name').fill('Review');
    await page.getByLabel('Description').fill('How good is the answer?');
    for (const [name, kind] of [
      ['Stars', 'number'],
      ['Is it true?', 'boolean'],
      ['Why', 'text'],
    ]) {
      await button(page, 'New question').click();
      await page.getByLabel('Question text').fill(name!);
      await page.getByLabel('Answer', { exact: true }).selectOption(kind!);
      await button(page, 'Create question').click();
      await page.getByLabel(name!, { exact: true }).and(page.locator(':checked')).waitFor();
    }
    expect(
      await page.getByLabel(/^Field \d/).evaluateAll((all) => all.map((one: any) => one.value)),
    ).toEqual(['inputs.question', 'inputs.more', 'output']);
    await page.getByText('Question 4', { exact: true }).waitFor();
    expect(await violations(page)).toEqual([]);
    await button(page, 'Add to the queue').click();
    await page.getByText('2 calls added.').waitFor();
    await page.getByRole('link', { name: 'Open the queue' }).click();

    await page.getByText('1 of 2', { exact: true }).waitFor();
    const fields = page.getByRole('region', { name: 'Fields' });
    await fields.getByText('Question 4').waitFor();
    expect(await fields.getByText('Dear Ada').innerText()).toBe(REPLY);
    expect(await violations(page)).toEqual([]);

    // another person gets another item
    const other = await open(new URL(page.url()).pathname.replace(/.*\/(queues\/)/, '$1'), {
      key: await console.app.aKey('writer', ['*'], 'bob'),
      theme: 'dark',
    });
    await other.getByText('2 of 2', { exact: true }).waitFor();
    expect(await violations(other)).toEqual([]);
    await press(other, ['2', 'Enter']);
    await other.getByText('No item is waiting').waitFor();

    await press(page, ['Enter']);
    await page.getByText('Answer a question first').waitFor();
    await press(page, ['4', 'y', 't']);
    await page.keyboard.type('Because s is no key here.');
    // while the service is away nothing is lost, and afterwards nothing is stored twice
    await page.route('**/progress', (route) => route.abort());
    await press(page, ['Enter']);
    await page.getByText('Your answer is not saved yet').waitFor();
    await page.unroute('**/progress');
    await page.getByText('No item is waiting').waitFor();
    await page.getByText('2 of 2 done').waitFor();
    expect(
      await console.app
        .query(`SELECT f.feedback_type AS type, f.payload->'value' AS value, f.user_id AS by
        FROM feedback f JOIN annotation_queues q ON q.id = f.queue_id AND q.name = 'Review'
        WHERE f.project_id = '${PROJECT}' ORDER BY f.user_id COLLATE "C", f.feedback_type COLLATE "C"`),
    ).toEqual([
      { type: 'svc.annotation.Is-it-true', value: true, by: 'ada' },
      { type: 'svc.annotation.Stars', value: 4, by: 'ada' },
      { type: 'svc.annotation.Why', value: 'Because s is no key here.', by: 'ada' },
      { type: 'svc.annotation.Stars', value: 2, by: 'bob' },
    ]);

    // the arrow keys lead back to the item with its stored answers
    await page.goBack();
    await page.getByText('completed by you').waitFor();
    await page.locator('button[aria-pressed="true"]', { hasText: '4' }).waitFor();
    await press(page, ['ArrowRight']);
    await page.getByText('completed by bob').waitFor();
    await button(page, 'Progress').click();
    await page.getByRole('row', { name: 'bob 1 0 0' }).waitFor();
    await button(page, 'Close').click();
    await page.getByRole('link', { name: 'answer 3' }).click();
    await page.getByRole('region', { name: 'Call', exact: true }).waitFor();
  });

  it('lists queues with their progress, changes and deletes them', async () => {
    const page = await open('queues', { theme: 'dark' });
    await page.getByRole('row', { name: /Review.*2 of 2/ }).waitFor();
    expect(await violations(page)).toEqual([]);
    await button(page, 'Edit Review').click();
    await page.getByLabel('Name').fill('Reviewed');
    await page.getByLabel('Why', { exact: true }).uncheck();
    await button(page, 'Save').click();
    await button(page, 'Delete Reviewed').click();
    expect(await violations(page)).toEqual([]);
    const rows = await console.app.query(
      `SELECT json_array_length(scorer_refs) AS refs FROM annotation_queues WHERE project_id = '${PROJECT}'`,
    );
    expect(rows).toEqual([{ refs: 2 }]);
    await button(page, 'Delete the queue').click();
    await page.getByText('No queues').waitFor();

    const reader = await open('queues', { key: await console.app.aKey('reader') });
    await reader.getByText('No queues').waitFor();
    expect(await button(reader, 'New queue').count()).toBe(0);
  });

  it('makes a dataset of five traces, whose rows tell where they come from', async () => {
    const page = await open('traces');
    await page.getByLabel('Select all that are loaded').check();
    await page.getByText('5 selected').waitFor();
    await button(page, 'Add to dataset').click();
    await page.getByLabel('Dataset', { exact: true }).fill('golden');
    await page.getByText('This makes a new dataset.').waitFor();
    await button(page, 'Remove the column 2').click();
    await page.getByLabel('Column 2', { exact: true }).fill('expected');
    const preview = page.getByRole('region', { name: 'First rows' });
    await preview.getByRole('row', { name: 'Question 2 Dear Ada' }).waitFor();
    await page.getByLabel('Path 1').fill('inputs.nothing');
    await preview.getByRole('row', { name: 'null Dear Ada' }).first().waitFor();
    await page.getByLabel('Path 1').fill('inputs.question');
    expect(await violations(page)).toEqual([]);
    await button(page, 'Add to the dataset').click();
    await page
      .getByText('5 rows added, 0 already in the dataset, 0 not found. Version 0 has 5 rows.')
      .waitFor();
    await page.getByRole('link', { name: 'Open the dataset' }).click();

    const rows = page.getByRole('region', { name: 'Rows' }).getByRole('row');
    const row = (text: string) => rows.filter({ hasText: text });
    await row('Question 1').getByRole('link', { name: 'call c1' }).waitFor();
    expect(await violations(page)).toEqual([]);
    await row('Question 0').getByRole('checkbox').check();
    await button(page, 'Remove from the dataset').click();
    await page.getByRole('status').getByText('4 rows').waitFor();
    await page.getByRole('button', { name: /^v0/ }).waitFor();

    // after a call is deleted, its row reports it and can be removed
    await post('/calls/delete', { project_id: PROJECT, call_ids: ['c1'] });
    await page.reload();
    await row('Question 1').getByText('erased').waitFor();
    await button(page, 'Remove it').click();
    await page.getByRole('status').getByText('3 rows').waitFor();

    await button(page, 'Split').click();
    await page.getByLabel('Percent').first().fill('60');
    await page.getByText('add up to 90 %').waitFor();
    await page.getByLabel('Percent').first().fill('50');
    await page.getByLabel('Percent').nth(1).fill('50');
    await page.getByLabel('Seed').fill('6');
    expect(await violations(page)).toEqual([]);
    await page.getByRole('dialog').getByRole('button', { name: 'Split' }).click();
    await page.getByRole('link', { name: 'golden-test' }).click();
    await page.getByRole('heading', { name: 'golden-test' }).waitFor();
    const dark = await open('objects/golden', { theme: 'dark' });
    await dark.getByRole('link', { name: 'call c2' }).waitFor();
    expect(await violations(dark)).toEqual([]);
  });

  it('adds a single call from its page, and a reader sees nothing of it', async () => {
    const page = await open('traces/c4');
    await button(page, 'Add to dataset').click();
    await page.getByLabel('Dataset', { exact: true }).fill('golden');
    await page.getByText('This dataset exists').waitFor();
    const reader = await open('traces/c4', { key: await console.app.aKey('reader') });
    await reader.getByRole('region', { name: 'Call', exact: true }).waitFor();
    expect(await button(reader, 'Add to dataset').count()).toBe(0);
    await reader.goto(`${console.app.url}/console/p/${PROJECT}/traces`);
    await reader.getByRole('table', { name: 'Traces' }).waitFor();
    expect(await reader.getByRole('checkbox').count()).toBe(0);
  });
});
