import type { Download } from 'playwright-core';
import { type Console, describeConsole, openConsole, violations } from './support/console.js';
import { record, type Recorded } from './support/record.js';

const PROJECT = 'acme/oncall';

async function textOf(download: Download): Promise<string[]> {
  let text = '';
  for await (const chunk of await download.createReadStream()) text += String(chunk);
  return text.trimEnd().split('\n');
}

describeConsole('a session of debugging', () => {
  let console: Console;
  beforeAll(async () => {
    console = await openConsole();
    const ago = (seconds: number) => new Date(Date.now() - seconds * 1000).toISOString();
    const turns = Array.from({ length: 8 }, (_, n): Recorded[] => [
      {
        id: `turn${n}`,
        trace_id: `turn${n}`,
        turn_id: `turn${n}`,
        thread_id: `ticket-${n}`,
        op_name: 'agent',
        started_at: ago(600 - n),
        ms: 900,
        inputs: { question: `Where is parcel ${n}?` },
        output: { answer: n < 6 ? 'I cannot say.' : 'In Rome.' },
        ...(n < 6 && { summary: { status_counts: { success: 1, error: 1 } } }),
      },
      {
        id: `find${n}`,
        trace_id: `turn${n}`,
        parent_id: `turn${n}`,
        op_name: 'find_parcel',
        started_at: ago(599 - n),
        ms: 200,
        inputs: { number: n },
        ...(n < 6
          ? { exception: `ValueError: no parcel ${n}\n  at find_parcel (tools.py:41)` }
          : { output: 'Rome' }),
      },
    ]).flat();
    await record(console.app, PROJECT, turns);
  });
  afterAll(() => console.close());
  afterEach(() => expect(console.faults).toEqual([]));

  it('leads from an alert of errors to the op, the exception, the thread, a note, and a dataset of five', async () => {
    const page = await console.open(`/p/${PROJECT}/metrics?range=1h&by=op`);
    // opens the calls of the op that fails
    await page.getByRole('link', { name: '6 errors of find_parcel' }).click();
    const rows = page.getByRole('table', { name: 'Traces' }).getByRole('link');
    await rows.nth(5).waitFor();
    expect(await rows.count()).toBe(6);
    // reads the whole exception of one call
    await rows.first().click();
    const pane = page.getByRole('region', { name: 'Call', exact: true });
    await pane.getByText('at find_parcel (tools.py:41)').waitFor();
    expect(await violations(page)).toEqual([]);
    // reads the answer that the user got
    await page.getByRole('link', { name: 'ticket-5' }).click();
    const turns = page.getByRole('list', { name: 'Turns' });
    await turns.getByText('Where is parcel 5?').waitFor();
    await turns.getByText('I cannot say.').waitFor();
    await turns.getByText('ValueError: no parcel 5').waitFor();
    expect(await violations(page)).toEqual([]);
    // leaves a note for colleagues
    await page.goBack();
    await page.getByRole('tab', { name: 'Feedback' }).click();
    await page.getByLabel('Note').fill('The tool refuses numbers.');
    await page.keyboard.press('Enter');
    await page
      .getByRole('list', { name: 'Feedback given' })
      .getByText('The tool refuses numbers.')
      .waitFor();
    // adds five failed calls to a dataset, to try them again
    await page.goto(`${console.app.url}/console/p/${PROJECT}/traces?q=status%3Ddescendant_error`);
    const boxes = page.getByRole('checkbox', { name: 'Select agent' });
    await boxes.nth(5).waitFor();
    for (let n = 0; n < 5; n++) await boxes.nth(n).check();
    await page.getByText('5 selected').waitFor();
    await page.getByRole('button', { name: 'Add to dataset' }).click();
    await page.getByLabel('Dataset', { exact: true }).fill('lost-parcels');
    await page.getByRole('button', { name: 'Add to the dataset' }).click();
    await page
      .getByText('5 rows added, 0 already in the dataset, 0 not found. Version 0 has 5 rows.')
      .waitFor();
    await page.getByRole('link', { name: 'Open the dataset' }).click();
    await page.getByRole('region', { name: 'Rows' }).getByText('Where is parcel 5?').waitFor();
  });

  it('exports all calls of a list', async () => {
    const page = await console.open(`/p/${PROJECT}/traces?q=status%3Dsuccess`);
    await page.getByRole('button', { name: 'Export', exact: true }).click();
    const dialog = page.getByRole('dialog', { name: 'Export all calls' });
    await dialog.waitFor();
    expect(await violations(page)).toEqual([]);
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      dialog.getByRole('button', { name: 'JSON lines' }).click(),
    ]);
    const lines = await textOf(download);
    expect(lines.map((line) => JSON.parse(line).id).toSorted()).toEqual(['turn6', 'turn7']);
    await dialog.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Export', exact: true }).click();
    const [parquet] = await Promise.all([
      page.waitForEvent('download'),
      dialog.getByRole('button', { name: 'Parquet' }).click(),
    ]);
    expect([parquet.suggestedFilename(), (await textOf(parquet))[0]!.slice(0, 4)]).toEqual([
      `${PROJECT.replace('/', '_')}-calls.parquet`,
      'PAR1',
    ]);
  });

  it('exports and deletes what is selected', async () => {
    const page = await console.open(`/p/${PROJECT}/traces?q=status%3Dsuccess`);
    const boxes = page.getByRole('checkbox', { name: 'Select agent' });
    await boxes.nth(1).waitFor();
    for (let n = 0; n < 2; n++) await boxes.nth(n).check();
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Export as JSONL' }).click(),
    ]);
    const lines = await textOf(download);
    expect(lines.map((line) => JSON.parse(line).id).toSorted()).toEqual(['turn6', 'turn7']);
    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    const dialog = page.getByRole('dialog', { name: 'Delete 2 calls?' });
    expect(await violations(page)).toEqual([]);
    await dialog.getByRole('button', { name: 'Delete' }).click();
    await page.getByText('No trace matches').waitFor();
  });

  it('goes anywhere by the palette, and tells its keys', async () => {
    const page = await console.open(`/p/${PROJECT}/traces`);
    await page.getByRole('table', { name: 'Traces' }).waitFor();
    await page.keyboard.press('Control+k');
    const box = page.getByRole('combobox', { name: 'Go to' });
    await box.fill('thre');
    await page.getByRole('option', { name: 'Threads' }).waitFor();
    expect(await violations(page)).toEqual([]);
    await box.press('Enter');
    await page.getByRole('heading', { name: 'Threads' }).waitFor();
    await page.getByRole('button', { name: /^Go to/ }).click();
    await box.fill('turn6');
    await page.getByRole('option', { name: /Trace turn6/ }).click();
    await page.waitForURL(/traces\/turn6/);
    await page.keyboard.press('Control+k');
    await box.fill('no parcel 3');
    await page.getByRole('option', { name: /Search all texts for no parcel 3/ }).click();
    await page.getByRole('link', { name: 'find_parcel' }).waitFor();
    await page.locator('body').press('?');
    await page
      .getByRole('dialog', { name: 'Keyboard shortcuts' })
      .getByText('Go to the next call that failed')
      .waitFor();
    expect(await violations(page)).toEqual([]);
  });
});
