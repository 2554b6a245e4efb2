import type { Page } from 'playwright-core';
import { type Console, describeConsole, openConsole, violations } from './support/console.js';

const PROJECT = 'acme/imported';

describeConsole('a file that is imported', () => {
  let console: Console;
  beforeAll(async () => {
    console = await openConsole();
  });
  afterAll(() => console.close());

  const open = (path: string, look = {}) => console.open(`/p/${PROJECT}/${path}`, look);
  const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
  const choose = (page: Page, name: string, text: string) =>
    page
      .getByLabel('File of CSV or JSON lines')
      .setInputFiles({ name, mimeType: 'text/plain', buffer: Buffer.from(text) });

  it('becomes a dataset as its preview shows it, with columns that are mapped', async () => {
    const page = await open('objects');
    await button(page, 'Import a dataset').click();
    await choose(
      page,
      'golden set.csv',
      'q;n;junk\n"why; ""now""?";12345678901234567890.10;x\nhow?;;y',
    );
    expect(await page.getByLabel('Dataset', { exact: true }).inputValue()).toBe('golden-set');
    await page.getByLabel('Delimiter').selectOption('semicolon');
    const first = page.getByRole('region', { name: 'First rows' });
    await first.getByRole('row', { name: 'why; "now"? 12345678901234567890.10 x' }).waitFor();
    await page.getByLabel('Path of q').fill('question');
    await page.getByLabel('Type of n').selectOption('number');
    await page.getByLabel('junk', { exact: true }).uncheck();
    await first.getByRole('row', { name: 'question n' }).waitFor();
    await first.getByRole('row', { name: 'how? null' }).waitFor();
    expect(await violations(page)).toEqual([]);
    await page.getByRole('dialog').getByRole('button', { name: 'Import' }).click();
    await page.getByText('2 rows added, 0 there before or twice in the file.').waitFor();
    expect(await violations(page)).toEqual([]);
    await page.getByRole('link', { name: 'Open the dataset' }).click();
    const rows = page.getByRole('region', { name: 'Rows' });
    await rows.getByRole('row', { name: 'why; "now"? 12345678901234567890.10' }).waitFor();
    expect(console.faults).toEqual([]);
  });

  it('shows its faults by line, and stores nothing', async () => {
    const page = await open('objects/golden-set');
    await button(page, 'Import').click();
    const line = (n: number) => `{"question": "q${n}", "n": ${n}}\n`;
    const head = Array.from({ length: 20_000 }, (_, n) => line(n)).join('');
    await choose(page, 'more.jsonl', `${head}{"question"\n`);
    const first = page.getByRole('region', { name: 'First rows' });
    await first.getByRole('row', { name: 'q7 7' }).waitFor();
    const send = page.getByRole('dialog').getByRole('button', { name: 'Import' });
    await send.click();
    // the preview was made of the first part of the file, which is good
    await page.getByText('Line 20001: is not valid JSON').waitFor();
    expect(await violations(page)).toEqual([]);
    await choose(page, 'more.jsonl', '{"question": 1}\n[]\n');
    await page.getByText('Line 2: is not a JSON object').waitFor();
    await choose(page, 'more.jsonl', head);
    await page.getByText('Line 2').waitFor({ state: 'detached' });
    await page
      .getByRole('dialog')
      .getByLabel('Rows', { exact: true })
      .selectOption('Replace all rows');
    await send.click();
    await page.getByText('Version 1 has 20,000 rows.').waitFor();
    await button(page, 'Done').click();
    await page.getByRole('button', { name: /^v1/ }).waitFor();
  });

  it('is not offered to a reader', async () => {
    const key = await console.app.aKey('reader');
    const page = await open('objects', { key, theme: 'dark' });
    await page.getByRole('table', { name: 'Objects' }).waitFor();
    expect(await button(page, 'Import a dataset').count()).toBe(0);
  });
});
