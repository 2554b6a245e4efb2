import { useApp } from '../support/app.js';
import { until } from '../support/until.js';

const MAX_OPEN = 100;
const app = useApp({ RETENTION_INTERVAL_SECONDS: '1' });

/** Stores calls whose texts have `size` characters. */
const fill = (projectId: string, calls: number, size: number) =>
  app.query(
    `INSERT INTO calls (project_id, id, op_name, trace_id, started_at, attributes, inputs)
     SELECT $1, 'c' || n, 'op', 't', now() - interval '3 days', '{}', json_build_object('text', repeat('x', $3))
     FROM generate_series(1, $2) n`,
    [projectId, calls, size],
  );
const countOf = async (projectId: string): Promise<number> =>
  (await app.query('SELECT count(*)::int AS n FROM calls WHERE project_id = $1', [projectId]))[0].n;

/** A query of 21 KB that reads the text of a call 120 times, and matches none. */
const EXPENSIVE = {
  $expr: {
    $or: Array.from({ length: 120 }, (_, i) => ({
      $contains: {
        input: { $getField: 'inputs.text' },
        substr: { $literal: `${i} ${'y'.repeat(60)}` },
      },
    })),
  },
};

it('as many expensive purges as an entity may have delay no erasing of another entity', async () => {
  await fill('greedy/app', 1000, 100_000);
  await fill('other/app', 400, 10);
  await fill('third/app', 400, 10);
  const key = await app.aKey('admin', ['greedy/*']);
  const purge = () =>
    app.post('/calls/purge', { project_id: 'greedy/app', query: EXPENSIVE }, { key });
  const greedy = Array.from({ length: MAX_OPEN }, purge);
  await until(async () => (await app.query('SELECT FROM erasings')).length === MAX_OPEN);
  const refused = await app.post('/project/delete', { project_id: 'greedy/other' }, { key });
  expect(refused).toMatchObject({ status: 429, body: { code: 'rate_limited' } });
  expect(refused.body.detail).toMatch(/^greedy has 100 erasings that have not ended.* have 100$/);
  expect(refused.headers.get('retry-after')).toBe('10');

  const other = await app.post('/calls/purge', { project_id: 'other/app', filter: {} });
  expect(other.body).toMatchObject({ is_done: true, num_erased: { calls: 400 } });
  for (const { status, body } of await Promise.all(greedy))
    expect([status, body.is_done]).toEqual([200, false]);
  await app.post('/retention/set', { project_id: 'third/app', calls_days: 1 });
  await until(async () => (await countOf('third/app')) === 0);
  expect(await app.query('SELECT FROM erasings WHERE ended_at IS NULL')).toHaveLength(MAX_OPEN);

  await app.query(`UPDATE erasings SET ended_at = now() WHERE project_id = 'greedy/app'`);
  expect((await app.post('/project/delete', { project_id: 'greedy/other' }, { key })).status).toBe(
    200,
  );
}, 60_000);

it('a purge with an expensive query ends, in small steps', async () => {
  await fill('patient/app', 30, 50_000);
  const body = { project_id: 'patient/app', query: { $expr: { $not: [EXPENSIVE.$expr] } } };
  const headers = { 'idempotency-key': 'patient' };
  await until(async () => (await app.post('/calls/purge', body, { headers })).body.is_done);
  expect(await countOf('patient/app')).toBe(0);
}, 60_000);
