import { until } from '../../test/support/until.js';
import { type Console, describeConsole, openConsole, violations } from './support/console.js';
import { at, record } from './support/record.js';

const PROJECT = 'acme/kept';
const PAGE = `/p/${PROJECT}/retention`;

describeConsole('retention', () => {
  let console: Console;
  beforeAll(async () => {
    console = await openConsole({
      RETENTION_INTERVAL_SECONDS: '1',
      RETENTION_DEFAULT: 'calls=36500',
    });
    await record(console.app, PROJECT, [
      { id: 'a', trace_id: 'claimed', op_name: 'claim', started_at: at(0), ms: 1 },
      { id: 'b', trace_id: 'other', op_name: 'other', started_at: at(1), ms: 1 },
    ]);
  });
  afterAll(() => console.close());
  afterEach(() => expect(console.faults).toEqual([]));

  const traces = async () =>
    (await console.app.post('/calls/query', { project_id: PROJECT })).body.calls.map(
      ({ trace_id }: { trace_id: string }) => trace_id,
    );

  it('sets the policy, and a hold keeps a trace from retention and from deletion until it is released', async () => {
    const page = await console.open(PAGE);
    const button = (name: string) => page.getByRole('button', { name, exact: true });
    const dialog = page.getByRole('dialog');
    const days = page.getByLabel('Days for calls');
    await page.getByText('this is the default of the service').waitFor();
    expect(await days.inputValue()).toBe('36500');
    expect(await violations(page)).toEqual([]);

    await days.fill('many');
    await button('Save the policy').click();
    await dialog.getByRole('button', { name: 'Save and erase' }).click();
    await page.getByText('must be an integer number').waitFor();
    expect(await days.getAttribute('aria-invalid')).toBe('true');

    await button('Place a hold').click();
    await dialog.getByLabel('Name').fill('case 7');
    await dialog.getByLabel('Hold', { exact: true }).selectOption('trace_id');
    await dialog.getByLabel('Id of the trace').fill('claim');
    await dialog.getByLabel('Reason').fill('a claim');
    await button('Place the hold').click();
    await dialog.getByText('must name a trace with a call').waitFor();
    expect(await violations(page)).toEqual([]);
    await dialog.getByLabel('Id of the trace').fill('claimed');
    await button('Place the hold').click();
    const hold = page.getByRole('row', { name: 'case 7' });
    await hold.getByText('a claim').waitFor();
    await hold.getByText('ada').waitFor();

    await days.fill('30');
    await page.getByText('Older calls now: 2').waitFor();
    await button('Save the policy').click();
    await dialog.getByText('Calls will be kept for 30 days.').waitFor();
    await dialog.getByRole('button', { name: 'Save and erase' }).click();
    await page.getByText('The project has a policy of its own.').waitFor();
    await until(async () => (await traces()).length === 1);

    await page.goto(`${console.app.url}/console/p/${PROJECT}/traces`);
    await page.getByRole('checkbox').nth(1).check();
    await button('Delete').click();
    await dialog.getByRole('button', { name: 'Delete' }).click();
    await dialog
      .getByRole('alert')
      .getByText('acme/kept has the legal hold "case 7" of the trace "claimed"')
      .waitFor();
    expect(await traces()).toEqual(['claimed']);

    await page.goto(`${console.app.url}/console${PAGE}`);
    await hold.getByRole('link', { name: 'trace claimed' }).waitFor();
    expect(await days.inputValue()).toBe('30');
    await button('Release case 7').click();
    await dialog.getByLabel('Reason').fill('settled');
    expect(await violations(page)).toEqual([]);
    await button('Release the hold').click();
    await page.getByText('No legal holds').waitFor();
    await until(async () => (await traces()).length === 0);
    const { body } = await console.app.post('/audit/query', { project_id: PROJECT });
    expect(body.events[0]).toMatchObject({
      action: 'retention.release',
      target: 'case 7',
      detail: { trace_id: 'claimed', reason: 'settled' },
    });
  });

  it('shows all of it to readers, who change nothing', async () => {
    const project_id = 'acme/read';
    await console.app.post('/retention/set', { project_id, payload_days: 7 });
    await console.app.post('/retention/hold', { project_id, name: 'case 8' });
    const key = await console.app.aKey('reader', [project_id]);
    const page = await console.open(`/p/${project_id}/retention`, { key, theme: 'dark' });
    await page.getByRole('row', { name: 'case 8' }).getByText('the project').waitFor();
    const days = page.getByLabel('Days for payloads');
    expect([await days.inputValue(), await days.isEditable()]).toEqual(['7', false]);
    for (const name of ['Save the policy', 'Place a hold', 'Release case 8'])
      expect(await page.getByRole('button', { name }).count()).toBe(0);
    expect(await violations(page)).toEqual([]);
  });
});
