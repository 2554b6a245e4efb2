import type { Page } from 'playwright-core';
import { type Console, describeConsole, openConsole } from './support/console.js';
import { at, record } from './support/record.js';

describeConsole('traces of which no root is stored', () => {
  let console: Console;
  beforeAll(async () => void (console = await openConsole()));
  afterAll(() => console.close());
  afterEach(() => expect(console.faults).toEqual([]));

  const rows = (page: Page) => page.getByRole('table', { name: 'Traces' }).getByRole('row');

  it('stand among the others, a row for each topmost call, as far as one scrolls', async () => {
    const root = (n: number) => ({ id: `r${n}`, op_name: `root ${n}`, started_at: at(n), ms: 1 });
    const orphan = (n: number, trace_id: string) => ({
      ...root(n),
      id: `o${n}`,
      op_name: `orphan ${n}`,
      trace_id,
      parent_id: 'a gateway',
    });
    await record(console.app, 'acme/orphans', [
      ...Array.from({ length: 250 }, (_, n) => root(2 * n)),
      orphan(401, 'two'),
      orphan(405, 'two'),
      { ...root(402), id: 'below', op_name: 'below', trace_id: 'two', parent_id: 'o401' },
      orphan(15, 'old'),
      { ...root(410), id: 'lost', trace_id: 'r301', parent_id: 'lost in between' },
      { ...root(301), trace_id: 'r301' },
    ]);
    const page = await console.open('/p/acme/orphans/traces');
    await page.getByRole('link', { name: 'root 498' }).waitFor();
    const list = page.getByRole('table').locator('[tabindex="0"]').last();
    const seen = new Set<string>();
    const last = page.locator('[aria-rowindex="256"]');
    while (!(await last.isVisible())) {
      for (const text of await rows(page).getByRole('link').allInnerTexts()) seen.add(text);
      await list.evaluate((body) => body.scrollBy(0, 600));
    }
    for (const text of await rows(page).getByRole('link').allInnerTexts()) seen.add(text);
    expect([...seen].filter((name) => !name.startsWith('root')).toSorted()).toEqual([
      'orphan 15',
      'orphan 401',
      'orphan 405',
    ]);
    const orphan401 = page.getByRole('link', { name: 'orphan 401' });
    while (!(await orphan401.isVisible())) await list.evaluate((body) => body.scrollBy(0, -600));
    await orphan401.click();
    await page.getByRole('treeitem', { name: 'below' }).waitFor();
  });

  it('are all that there is of a project, and come as they are stored', async () => {
    const orphan = (n: number) => ({
      id: `only${n}`,
      trace_id: `t${n}`,
      parent_id: `g${n}`,
      op_name: `only ${n}`,
      started_at: at(n),
      ms: 1,
    });
    await record(
      console.app,
      'acme/only',
      Array.from({ length: 130 }, (_, n) => orphan(n)),
    );
    const page = await console.open('/p/acme/only/traces');
    await page.getByRole('link', { name: 'only 129' }).waitFor();
    await record(console.app, 'acme/only', [orphan(130)]);
    await page.getByRole('link', { name: 'only 130' }).waitFor();
    const list = page.getByRole('table').locator('[tabindex="0"]').last();
    while (!(await page.getByRole('link', { name: 'only 0', exact: true }).isVisible()))
      await list.evaluate((body) => body.scrollBy(0, 600));
    await page.locator('[aria-rowindex="132"]').waitFor();
  });

  it('are found behind many calls, and have a list of their own', async () => {
    await console.app.query(`
      INSERT INTO calls (project_id, id, op_name, trace_id, parent_id, is_orphan, started_at, ended_at, attributes, inputs)
      SELECT 'acme/deep', 'n' || n, CASE WHEN n = 9 THEN 'deep orphan' ELSE 'step' END, CASE WHEN n = 9 THEN 'x' ELSE 'n0' END,
        CASE WHEN n = 9 THEN 'gone' WHEN n > 0 THEN 'n0' END, n = 9, at, at, '{}', '{}'
      FROM (SELECT n, '2026-01-01'::timestamptz + n * interval '1 second' AS at FROM generate_series(0, 6000) n) t`);
    const page = await console.open('/p/acme/deep/traces');
    await page.getByRole('link', { name: 'step' }).first().waitFor();
    await page.getByRole('link', { name: 'deep orphan' }).waitFor();
    expect(await rows(page).count()).toBe(3);
    await page.goto(`${page.url()}?orphans=true`);
    await page.getByRole('link', { name: 'deep orphan' }).waitFor();
    await page.getByRole('button', { name: 'All traces' }).click();
    await page.getByRole('link', { name: 'step' }).first().waitFor();
  });
});
