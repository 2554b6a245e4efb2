import { useApp } from '../support/app.js';
import { ran } from '../support/background.js';
import { until } from '../support/until.js';

const app = useApp({ RETENTION_INTERVAL_SECONDS: '1', RETENTION_DEFAULT: 'calls=30,feedback=90' });

async function done(path: string, body: unknown) {
  const answer = await app.post(path, body);
  expect([answer.status, answer.text]).toEqual([200, expect.anything()]);
  return answer.body;
}

/** Stores calls that began 31 and 29 days ago. */
async function store(project: string): Promise<string> {
  const batch = [31, 29].map((days) => {
    const started_at = new Date(Date.now() - days * 86_400_000).toISOString();
    return {
      project_id: `acme/${project}`,
      id: `d${days}`,
      op_name: 'chat',
      started_at,
      ended_at: started_at,
    };
  });
  await done(`/v2/acme/${project}/calls/complete`, { batch });
  return `acme/${project}`;
}
const count = async (project_id: string) =>
  (await done('/calls/query', { project_id })).calls.length;
const read = async (project_id: string) => await done('/retention/read', { project_id });

it('applies to projects without a policy of their own, and to no others', async () => {
  const never = 'acme/never';
  await done('/retention/set', { project_id: never });
  await store('never');
  const project_id = await store('default');
  expect(await read(project_id)).toMatchObject({
    ...{ calls_days: 30, payload_days: null, feedback_days: 90, is_default: true },
  });
  await until(async () => (await count(project_id)) === 1);
  expect(await read(project_id)).toMatchObject({ calls_days: 30, is_default: true });
  expect(await count(never)).toBe(2);
  expect(await read(never)).toMatchObject({ calls_days: null, is_default: false });
});

it('ends with a policy of the project', async () => {
  const project_id = await store('own');
  await done('/project/ttl_settings/update', { project_id, retention_days: 40 });
  const own = { calls_days: 40, payload_days: null, feedback_days: 90, is_default: false };
  expect(await read(project_id)).toMatchObject(own);
  await ran(app.url, 'retention');
  expect(await count(project_id)).toBe(2);
});

it('is that of the setting now, also for policies that an older setting has stored', async () => {
  const project_id = 'acme/older';
  await app.query(
    'INSERT INTO retention_policies (project_id, calls_days, is_default) VALUES ($1, 1, true)',
    [project_id],
  );
  expect(await read(project_id)).toMatchObject({ calls_days: 30, feedback_days: 90 });
  const stored = () =>
    app.query('SELECT calls_days, feedback_days FROM retention_policies WHERE project_id = $1', [
      project_id,
    ]);
  await until(async () => (await stored())[0].calls_days === 30);
  expect(await stored()).toEqual([{ calls_days: 30, feedback_days: 90 }]);
});
