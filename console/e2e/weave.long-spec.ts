/** @jest-environment-options {"env": {"WIRE_DIALECT": "weave"}} */
import { type Console, describeConsole, openConsole } from './support/console.js';

describeConsole('the console in the dialect of weave', () => {
  let console: Console;
  beforeAll(async () => {
    console = await openConsole();
  });
  afterAll(() => console.close());
  afterEach(() => expect(console.faults).toEqual([]));

  it('filters, shows and remarks on calls by the names in force', async () => {
    const start = { project_id: 'acme/w', trace_id: 't', started_at: '2026-01-01T00:00:00Z' };
    for (const id of ['a', 'b'])
      await console.app.post('/call/start', {
        start: { ...start, id, trace_id: id, op_name: `op ${id}` },
      });
    await console.app.post('/call/end', {
      end: { project_id: 'acme/w', id: 'b', ended_at: '2026-01-01T00:00:01Z', output: 1 },
    });
    const page = await console.open('/p/acme/w/traces?q=status%3Dsuccess%20user%3Dada');
    await page.getByRole('link', { name: 'op b' }).click();
    await page.getByRole('tab', { name: 'Feedback' }).click();
    await page.getByRole('button', { name: 'Good' }).click();
    await page
      .getByRole('list', { name: 'Feedback given' })
      .getByRole('img', { name: 'Good' })
      .waitFor();
    expect(await console.app.query('SELECT feedback_type, ref FROM feedback')).toEqual([
      { feedback_type: 'wandb.reaction.1', ref: 'weave:///acme/w/call/b' },
    ]);
    await page.goto(`${console.app.url}/console/connect`);
    await page.getByText('pip install weave').waitFor();
  });
});
