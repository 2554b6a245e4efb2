import { type Console, describeConsole, openConsole, violations } from './support/console.js';
import { at, record } from './support/record.js';

const PROJECT = 'acme/said';
const SENTENCE = '请问明天北京会下雨吗';
const escaped = (text: string) =>
  Array.from(text, (one) => `\\u${one.charCodeAt(0).toString(16)}`).join('');

describeConsole('what a call says', () => {
  let console: Console;
  beforeAll(async () => {
    console = await openConsole();
    const { app } = console;
    const start = (id: string, parent: string | null, inputs: string) =>
      app.post(
        '/call/start',
        `{"start":{"project_id":"${PROJECT}","id":"${id}","trace_id":"t","parent_id":${JSON.stringify(parent)},"op_name":"${id}","started_at":"${at(1)}","inputs":${inputs}}}`,
      );
    const filler = Array.from({ length: 90 }, (_, n) => `{"role":"user","content":"line ${n}"}`);
    const messages = [...filler, `{"role":"user","content":"Hi. ${escaped(SENTENCE)}?"}`];
    expect((await start('weather', null, `{"messages":[${messages.join(',')}]}`)).status).toBe(200);
    const nested = JSON.stringify(`{"city":"${escaped('上海')}","note":"Sunny ALL day"}`);
    expect((await start('tool', 'weather', `{"a.b":${nested}}`)).status).toBe(200);
    await record(app, PROJECT, [
      { id: 'other', op_name: 'other', started_at: at(2), ms: 20, output: '明天' },
      { id: 'rain', op_name: 'rain', started_at: at(3), ms: 20, output: 'nothing' },
    ]);
  });
  afterAll(() => console.close());
  afterEach(() => expect(console.faults).toEqual([]));

  it.each([1440, 390])('is found, marked and opened, %i px wide', async (width) => {
    const page = await console.open(`/p/${PROJECT}/traces`, { width });
    await page.getByRole('link', { name: 'rain', exact: true }).waitFor();
    expect(await page.getByRole('columnheader', { name: 'Match' }).count()).toBe(0);
    const box = page.getByRole('combobox', { name: 'Filter' });
    await box.fill(SENTENCE);
    await box.press('Enter');
    const table = page.getByRole('table', { name: 'Traces' });
    await table.locator('mark').waitFor();
    expect(await table.getByRole('link').allInnerTexts()).toEqual(['weather']);
    const cell = table.getByRole('cell').filter({ has: page.locator('mark') });
    expect(await cell.innerText()).toBe(`Hi. ${SENTENCE}?`);
    expect(await cell.locator('mark').innerText()).toBe(SENTENCE);
    expect(await cell.locator('[title]').getAttribute('title')).toBe('inputs.messages.90.content');
    expect(await violations(page)).toEqual([]);

    await table.getByRole('link', { name: 'weather' }).click();
    const place = page.getByRole('region', { name: 'Documents' }).locator('mark');
    await place.waitFor();
    expect(await place.innerText()).toBe(SENTENCE);
    await page.waitForFunction(
      (one) => {
        const { top, bottom } = one.getBoundingClientRect();
        const box = one.closest('[role="region"]')!.getBoundingClientRect();
        return top >= box.top && bottom <= box.bottom;
      },
      await place.elementHandle(),
    );
    const matches = page.getByRole('list', { name: 'Matches' });
    expect(await matches.locator('code').allInnerTexts()).toEqual(['inputs.messages.90.content']);
    expect(new URL(page.url()).searchParams.get('call')).toBe('weather');
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(
      width,
    );
    expect(await violations(page)).toEqual([]);
  });

  it('is marked for each of several words, at the place of the first that the call says', async () => {
    const page = await console.open(`/p/${PROJECT}/traces`);
    await page.getByRole('link', { name: 'rain', exact: true }).waitFor();
    const box = page.getByRole('combobox', { name: 'Filter' });
    await box.fill('NOT absent (missing OR 北京) "LINE 7" hi');
    await box.press('Enter');
    const table = page.getByRole('table', { name: 'Traces' });
    await table.locator('mark').first().waitFor();
    expect(await table.locator('mark').allInnerTexts()).toEqual(['Hi', '北京']);
    expect(await violations(page)).toEqual([]);
    await table.getByRole('link', { name: 'weather' }).click();
    const documents = page.getByRole('region', { name: 'Documents' });
    const place = documents.locator('mark', { hasText: '北京' });
    await place.waitFor();
    expect(await documents.locator('mark').allInnerTexts()).toEqual(
      expect.arrayContaining(['Hi', '北京']),
    );
    const matches = page.getByRole('list', { name: 'Matches' });
    expect(await matches.locator('code').allInnerTexts()).toEqual([
      'inputs.messages.90.content',
      'inputs.messages.7.content',
      'inputs.messages.70.content',
      'inputs.messages.71.content',
      'inputs.messages.90.content',
    ]);
    await matches.getByRole('button').nth(1).click();
    await documents.locator('mark', { hasText: 'line 7' }).first().waitFor();
    expect(await violations(page)).toEqual([]);
  });

  it('is found inside JSON that a string holds, in another case, and in names', async () => {
    const page = await console.open(`/p/${PROJECT}/traces?all=true&q=${encodeURIComponent('上海 "sunny all"')}`); // prettier-ignore
    const table = page.getByRole('table', { name: 'Traces' });
    await table.locator('mark').first().waitFor();
    expect(await table.locator('mark').allInnerTexts()).toEqual(['上海', 'Sunny ALL']);
    await table.getByRole('link', { name: 'tool' }).click();
    const documents = page.getByRole('region', { name: 'Documents' });
    await documents.locator('mark').first().waitFor();
    expect(await documents.locator('mark').allInnerTexts()).toEqual(['上海', 'Sunny ALL']);
    const matches = page.getByRole('list', { name: 'Matches' });
    expect(await matches.locator('code').allInnerTexts()).toEqual([
      String.raw`inputs.a\.b`,
      String.raw`inputs.a\.b`,
    ]);
    await page.goto(`${console.app.url}/console/p/${PROJECT}/traces?q=RAIN`);
    await table.locator('mark').waitFor();
    expect(await table.locator('mark').allInnerTexts()).toEqual(['rain']);
  });
});
