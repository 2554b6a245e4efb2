import type { Page } from 'playwright-core';
import { type Console, describeConsole, openConsole, violations } from './support/console.js';
import { at, record } from './support/record.js';

const PROJECT = 'acme/tags';
const MANY = 'acme/many-tags';
const HOSTILE = 'a\u202eb<img src=x onerror=alert(1)>].[\\c';

describeConsole('tags', () => {
  let console: Console;
  beforeAll(async () => {
    console = await openConsole();
    const named = (id: string, n: number) => ({
      id,
      trace_id: id,
      op_name: id,
      started_at: at(n),
      ms: 1,
    });
    await record(console.app, PROJECT, ['one', 'two', 'three'].map(named));
    await record(
      console.app,
      MANY,
      Array.from({ length: 510 }, (_, n) => named(`call ${n}`, n)),
    );
  });
  afterAll(() => console.close());
  afterEach(() => expect(console.faults).toEqual([]));

  const list = (search: Record<string, unknown> = {}, project = PROJECT) => {
    const all = new URLSearchParams();
    for (const [name, value] of Object.entries({ cols: ['name', 'feedback', 'tags'], ...search }))
      all.set(name, typeof value === 'string' ? value : JSON.stringify(value));
    return `/p/${project}/traces?${all}`;
  };
  const row = (page: Page, name: string) =>
    page.getByRole('row').filter({ has: page.getByRole('link', { name, exact: true }) });
  const names = (page: Page) =>
    page.getByRole('table', { name: 'Traces' }).getByRole('link').allInnerTexts();
  const stored = async (project = PROJECT) =>
    console.app.query(
      `SELECT split_part(ref, '/', 7) AS call, payload::jsonb->>'tag' AS tag FROM feedback
       WHERE project_id = '${project}' AND feedback_type LIKE 'tag.%' ORDER BY 1, 2`,
    );
  const tagOne = async (call: string, tag: string) => {
    const svc_ref = `svc:///${PROJECT}/call/${call}`;
    const body = { project_id: PROJECT, svc_ref, feedback_type: `tag.${tag}`, payload: { tag } };
    expect((await console.app.post('/feedback/create', body)).status).toBe(200);
  };
  const choose = async (page: Page, ...calls: string[]) => {
    for (const call of calls) await page.getByRole('checkbox', { name: `Select ${call}` }).check();
    await page.getByRole('button', { name: 'Tag', exact: true }).click();
    return page.getByRole('dialog', { name: /^Tag \d+ calls?$/ });
  };

  it('are given to chosen calls and taken from them, each stored once', async () => {
    const page = await console.open(list());
    await row(page, 'three').waitFor();
    const dialog = await choose(page, 'one', 'two');
    expect(await violations(page)).toEqual([]);
    const box = dialog.getByLabel('Tag', { exact: true });
    expect(await dialog.getByRole('button', { name: 'Add' }).isDisabled()).toBe(true);
    await box.fill('x'.repeat(65));
    await dialog.getByText('A tag has at most 64 characters. This one has 65.').waitFor();
    expect(await dialog.getByRole('button', { name: 'Add' }).isDisabled()).toBe(true);
    expect(await dialog.getByRole('button', { name: 'Remove' }).isDisabled()).toBe(true);
    expect(await violations(page)).toEqual([]);
    await box.fill(`  ${'🦜'.repeat(64)}`);
    expect(await dialog.getByRole('button', { name: 'Add' }).isEnabled()).toBe(true);

    const both = ['one', 'two'].map((call) => ({ call, tag: 'wrong tool' }));
    for (let n = 0; n < 2; n++) {
      await box.fill(' wrong tool ');
      await box.press('Enter');
      await dialog.getByText('Added to 2 calls: wrong tool').waitFor();
      expect(await stored()).toEqual(both);
    }
    expect(await violations(page)).toEqual([]);
    expect(
      await dialog.locator('option').evaluateAll((all: any[]) => all.map((o) => o.value)),
    ).toEqual(['wrong tool']);
    await dialog.getByRole('button', { name: 'Close' }).click();
    await row(page, 'one').getByText('wrong tool', { exact: true }).waitFor();
    await row(page, 'two').getByText('wrong tool', { exact: true }).waitFor();
    expect(await row(page, 'three').getByText('wrong tool').count()).toBe(0);
    expect(await page.getByTitle('Other remarks').count()).toBe(0);
    expect(await violations(page)).toEqual([]);

    // the same tag of a colleague is not stored again, and the colleague may remove it
    const other = await console.open(list(), { key: await console.app.aKey('writer') });
    await row(other, 'two').getByText('wrong tool', { exact: true }).waitFor();
    const second = await choose(other, 'two', 'three');
    await second.getByLabel('Tag', { exact: true }).fill('wrong tool');
    await second.getByRole('button', { name: 'Add' }).click();
    await second.getByText('Added to 2 calls: wrong tool').waitFor();
    expect(await stored()).toEqual([both[0], { call: 'three', tag: 'wrong tool' }, both[1]]);
    await second.getByLabel('Tag', { exact: true }).fill('wrong tool');
    await second.getByRole('button', { name: 'Remove' }).click();
    await second.getByText('Removed from 2 calls: wrong tool').waitFor();
    expect(await stored()).toEqual([both[0]]);
    // the tab opened first updates itself
    await row(page, 'two').getByText('wrong tool').waitFor({ state: 'detached' });
    await row(page, 'one').getByText('wrong tool', { exact: true }).waitFor();
  });

  it('are found by a filter, whatever they hold, also over HTTP', async () => {
    await tagOne('two', 'two words');
    await tagOne('two', HOSTILE);
    await tagOne('three', 'latest');
    const page = await console.open(list());
    await row(page, 'two').getByText('two words', { exact: true }).waitFor();
    await row(page, 'two').getByText('a‹U+202E›b<img src=x onerror=alert(1)>].[\\c').waitFor();
    expect(await page.locator('main img').count()).toBe(0);
    const box = page.getByRole('combobox', { name: 'Filter' });
    await box.pressSequentially('tag=two');
    await page.getByRole('option', { name: 'tag="two words"', exact: true }).click();
    await box.press('Enter');
    await row(page, 'three').waitFor({ state: 'detached' });
    await row(page, 'two').waitFor(); // the table is empty while rows are read
    expect(await names(page)).toEqual(['two']);
    expect(new URL(page.url()).searchParams.get('q')).toBe('tag="two words"');
    const quoted = `"${HOSTILE.replaceAll(/["\\]/g, String.raw`\$&`)}"`;
    for (const [q, found] of [
      [`tag=${quoted}`, ['two']],
      ['tag!="two words"', ['three', 'one']],
      ['tag=latest OR tag="two words"', ['three', 'two']],
      ['tag=two', []],
    ] as const) {
      const filtered = await console.open(list({ q }));
      if (found.length === 0) await filtered.getByText('No trace matches').waitFor();
      else await row(filtered, found.at(-1)!).waitFor();
      expect(await names(filtered)).toEqual(found);
    }
    const { text } = await console.app.post('/calls/stream_query', {
      project_id: PROJECT,
      query: {
        $expr: {
          $convert: { input: { $getField: 'feedback.[tag.two words].payload' }, to: 'exists' },
        },
      },
    });
    expect(
      text
        .trim()
        .split('\n')
        .map((line: string) => JSON.parse(line).id),
    ).toEqual(['two']);
  });

  it('are given and taken on the page of a trace, and only shown to a reader', async () => {
    await tagOne('three', 'from elsewhere');
    const page = await console.open(`/p/${PROJECT}/traces/three?tab=feedback`);
    const tags = page.getByRole('list', { name: 'Tags' });
    await tags.getByText('from elsewhere').waitFor();
    const box = page.getByLabel('Tag', { exact: true });
    await box.fill('y'.repeat(65));
    await page.getByText('A tag has at most 64 characters. This one has 65.').waitFor();
    await box.fill('seen');
    await box.press('Enter');
    await tags.getByText('seen', { exact: true }).waitFor();
    expect(await violations(page)).toEqual([]);
    expect(await page.getByRole('list', { name: 'Feedback given' }).innerText()).toBe('');
    await page.getByRole('button', { name: 'Remove the tag from elsewhere' }).click();
    await tags.getByText('from elsewhere').waitFor({ state: 'detached' });
    expect(await stored()).toContainEqual({ call: 'three', tag: 'seen' });
    expect(await stored()).not.toContainEqual({ call: 'three', tag: 'from elsewhere' });

    const key = await console.app.aKey('reader');
    const reader = await console.open(`/p/${PROJECT}/traces/three?tab=feedback`, { key });
    await reader.getByRole('list', { name: 'Tags' }).getByText('seen', { exact: true }).waitFor();
    expect(await reader.getByLabel('Tag', { exact: true }).count()).toBe(0);
    expect(await reader.getByRole('button', { name: /^Remove the tag/ }).count()).toBe(0);
    await reader.goto(`${console.app.url}/console${list()}`);
    await row(reader, 'three').getByText('seen', { exact: true }).waitFor();
    expect(await reader.getByRole('checkbox').count()).toBe(0);
  });

  it('go to more calls than one request takes', async () => {
    const page = await console.open(list({}, MANY));
    const rows = page.getByRole('table').locator('[tabindex="0"]').last();
    await row(page, 'call 509').waitFor();
    while (!(await row(page, 'call 0').isVisible()))
      await rows.evaluate((body) => body.scrollBy(0, 3000));
    await page.getByRole('checkbox', { name: 'Select all that are loaded' }).check();
    await page.getByRole('button', { name: 'Tag', exact: true }).click();
    const dialog = page.getByRole('dialog', { name: 'Tag 510 calls' });
    await dialog.getByLabel('Tag', { exact: true }).fill('all');
    await dialog.getByRole('button', { name: 'Add' }).click();
    await dialog.getByText('Added to 510 calls: all').waitFor();
    expect(await stored(MANY)).toHaveLength(510);
    await dialog.getByLabel('Tag', { exact: true }).fill('all');
    await dialog.getByRole('button', { name: 'Remove' }).click();
    await dialog.getByText('Removed from 510 calls: all').waitFor();
    expect(await stored(MANY)).toHaveLength(0);
  });
});
