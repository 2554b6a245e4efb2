import { readFile } from 'node:fs/promises';
import type { Page } from 'playwright-core';
import { type Console, describeConsole, openConsole, violations } from './support/console.js';

const PROJECT = 'acme/things';
const PATH = `/p/${PROJECT}/objects`;

describeConsole('objects', () => {
  let console: Console;
  beforeAll(async () => {
    console = await openConsole();
  });
  afterAll(() => console.close());
  afterEach(() => expect(console.faults).toEqual([]));

  const created = async (object_id: string, val: string) => {
    const { status, body } = await console.app.post(
      '/obj/create',
      `{"obj":{"project_id":"${PROJECT}","object_id":"${object_id}","val":${val}}}`,
    );
    expect(status).toBe(200);
    return body.digest as string;
  };
  const downloaded = async (page: Page, button: string) => {
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: button }).click(),
    ]);
    return [download.suggestedFilename(), await readFile(await download.path(), 'utf8')];
  };

  it('says what makes an object while there is none', async () => {
    const page = await console.open(PATH);
    await page.getByText('No objects').waitFor();
    expect(await violations(page)).toEqual([]);
  });

  it('shows the versions of a name, each digit as it was sent, and what has changed', async () => {
    const first = await created('prompt', '{"text":"Be helpful.","n":12345678901234567890}');
    const second = await created('prompt', '{"text":"Be brief.","n":12345678901234567890}');
    const ref = `svc:///${PROJECT}/object/prompt:${first}`;
    const start = {
      project_id: PROJECT,
      id: 'c1',
      trace_id: 'c1',
      op_name: 'answer',
      started_at: '2026-01-01T00:00:00Z',
      inputs: { prompt: ref },
      attributes: {},
    };
    expect((await console.app.post('/call/start', { start })).status).toBe(200);

    const page = await console.open(PATH);
    await page.getByRole('link', { name: 'prompt' }).click();
    await page.getByText('"Be brief."').waitFor();
    await page.getByText('12345678901234567890').waitFor();
    expect(await violations(page)).toEqual([]);
    await page.getByRole('tab', { name: 'Changes' }).click();
    const changes = page.getByLabel('Differences').locator('[data-state="changed"]');
    await changes.waitFor();
    expect((await changes.innerText()).split(/\s*\n\s*/)).toEqual([
      'text',
      '"Be helpful."',
      '"Be brief."',
    ]);
    await page.getByRole('tab', { name: 'Used by' }).click();
    await page.getByText('No call uses this version').waitFor();
    await page.getByRole('button', { name: 'v0' }).click();
    await page.getByRole('row', { name: 'answer in its inputs' }).waitFor();
    expect(page.url()).toContain(`tab=calls&version=${first}`);
    expect(await violations(page)).toEqual([]);
    await page.getByRole('button', { name: 'v1' }).click();
    expect(page.url()).toContain(second);
    await page.getByRole('button', { name: 'Copy ref' }).click();
    expect(await page.evaluate(() => navigator.clipboard.readText())).toContain(`:${second}`);

    // a third version is published while the page is open
    await created('prompt', JSON.stringify({ text: `${'word '.repeat(12_000)}\nThe end.` }));
    await page.getByRole('button', { name: 'v2' }).click();
    await page.getByRole('tab', { name: 'Value' }).click();
    await page.getByRole('button', { name: 'show all' }).click();
    await page.getByLabel('Text').press('End');
    await page.getByLabel('Text').getByText('The end.', { exact: true }).waitFor();
  });

  it('pages and sorts a dataset, and saves it whole and exactly', async () => {
    const rows = Array.from(
      { length: 60 },
      (_, n) => `{"n":${n}.0,"word":"w${n % 7}, \\"${n}\\""${n === 59 ? ',"late":true' : ''}}`,
    );
    const { body } = await console.app.post(
      '/table/create',
      `{"table":{"project_id":"${PROJECT}","rows":[${rows.join()}]}}`,
    );
    const ref = `svc:///${PROJECT}/table/${body.digest}`;
    await created('questions', `{"_type":"Dataset","rows":"${ref}"}`);
    const page = await console.open(`${PATH}/questions`, { theme: 'dark' });
    await page.getByRole('status').getByText('60 rows, page 1 of 2').waitFor();
    const cell = () => page.getByLabel('Rows').getByRole('cell').nth(1).innerText();
    expect(await cell()).toBe('0.0');
    await page.getByRole('button', { name: 'Next' }).click();
    await page.getByRole('cell', { name: '50.0' }).waitFor();
    await page.getByRole('button', { name: 'n', exact: true }).click();
    await page.getByRole('button', { name: 'n ↑' }).click();
    await page.locator('tr:first-child > td:text-is("59.0")').waitFor();
    expect(page.url()).toMatch(/sort=-n/);
    expect(await violations(page)).toEqual([]);
    expect(await downloaded(page, 'Download JSONL')).toEqual([
      'questions.jsonl',
      rows.map((row) => `${row}\n`).join(''),
    ]);
    const [name, csv] = await downloaded(page, 'Download CSV');
    expect(name).toBe('questions.csv');
    expect(csv!.split('\r\n').slice(0, 2)).toEqual(['n,word,late', '0.0,"w0, ""0""",']);
  });

  it('searches the rows of a dataset, marks what they say, and finds datasets by name', async () => {
    const nested = JSON.stringify(String.raw`{"city":"\u5317\u4eac"}`);
    const rows = Array.from({ length: 200 }, (_, n) =>
      n % 3 === 0 ? `{"n":${n},"said":"${'x'.repeat(900)} Refund"}` : `{"n":${n},"said":"none"}`,
    );
    rows[199] = String.raw`{"n":199,"said":"\u5317\u4eac","tool":${nested}}`;
    const { body } = await console.app.post(
      '/table/create',
      `{"table":{"project_id":"${PROJECT}","rows":[${rows.join()}]}}`,
    );
    const ref = `svc:///${PROJECT}/table/${body.digest}`;
    await created('Refund.Questions', `{"_type":"Dataset","rows":"${ref}"}`);
    await created('answers', '1');

    const page = await console.open(PATH);
    const names = page.getByRole('table', { name: 'Objects' }).getByRole('link');
    await page.getByRole('link', { name: 'answers' }).waitFor();
    await page.getByRole('searchbox', { name: 'Search names' }).fill('refund');
    await page.keyboard.press('Enter');
    await page.waitForURL(/q=refund/);
    await page.getByRole('link', { name: 'answers' }).waitFor({ state: 'detached' });
    expect(await names.allInnerTexts()).toEqual(['Refund.Questions']);
    expect(await violations(page)).toEqual([]);
    await names.first().click();

    await page.getByRole('status').getByText('200 rows, page 1 of 4').waitFor();
    const box = page.getByRole('searchbox', { name: 'Search rows' });
    const marks = page.getByRole('region', { name: 'Rows' }).locator('mark');
    await box.fill('refund');
    await box.press('Enter');
    await page.getByRole('status').getByText('67 rows, page 1 of 2').waitFor();
    expect(await marks.allInnerTexts()).toEqual(Array.from({ length: 50 }, () => 'Refund'));
    await page.getByRole('button', { name: 'Next' }).click();
    await page.getByRole('cell', { name: '198', exact: true }).waitFor();
    expect(await marks.count()).toBe(17);
    expect(await violations(page)).toEqual([]);
    await box.fill('北京');
    await box.press('Enter');
    await page.getByRole('status').getByText('1 row').waitFor();
    expect(await marks.allInnerTexts()).toEqual(['北京', '北京']);
    await page.reload();
    await marks.first().waitFor();
    await box.fill('nowhere');
    await box.press('Enter');
    await page.getByText('No row says this').waitFor();
    await box.fill('');
    await box.press('Enter');
    await page.getByRole('status').getByText('200 rows, page 1 of 4').waitFor();
    expect(await marks.count()).toBe(0);
  });

  it('keeps files away from the page: they are downloaded, whatever they are', async () => {
    const html = '<script>alert(1)</script>';
    const form = new FormData();
    form.set('project_id', PROJECT);
    form.set('file', new Blob([html], { type: 'text/html' }), 'x.html');
    const answer = await fetch(`${console.app.url}/file/create`, {
      method: 'POST',
      body: form,
      headers: { authorization: `Basic ${btoa(`me:${console.app.key}`)}` },
    });
    const { digest } = (await answer.json()) as { digest: string };
    await created('page', `{"files":{"../x.html":"${digest}","gone.bin":"nothing"}}`);
    const page = await console.open(`${PATH}/page`);
    expect(await downloaded(page, 'Download ../x.html')).toEqual(['_x.html', html]);
    await page.getByRole('button', { name: 'Download gone.bin' }).click();
    await page.getByRole('alert').waitFor();
  });

  it('lists ops apart, and tells of names that are not there', async () => {
    await created('run', '{"_type":"CustomWeaveType","weave_type":{"type":"Op"}}');
    const page = await console.open(PATH, { theme: 'dark' });
    await page.getByLabel('Kind').selectOption('Ops only');
    await page.waitForURL(/kind=op/);
    await page.getByRole('link', { name: 'run' }).waitFor();
    expect(await page.getByRole('table').getByRole('link').allInnerTexts()).toEqual(['run']);
    expect(await violations(page)).toEqual([]);
    await page.getByRole('button', { name: 'Name' }).click();
    await page.waitForURL(/sort=object_id/);
    await page.goto(`${console.app.url}/console${PATH}/nobody`);
    await page.getByText('No such object').waitFor();
  });
});
