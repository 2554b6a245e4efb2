import { useApp } from '../support/app.js';
import { anEnd, aStart, at } from '../support/factories.js';
import { tablesHolding } from '../support/tables.js';
import { until } from '../support/until.js';

const app = useApp({ RETENTION_INTERVAL_SECONDS: '1' });
const LATE = 'what-came-late';
const all = (project_id: string) => ({ project_id, filter: {} });

let projects = 0;

async function done(path: string, body: unknown, headers: Record<string, string> = {}) {
  const answer = await app.post(path, body, { headers });
  expect([answer.status, answer.text]).toEqual([200, expect.anything()]);
  return answer.body;
}

const countOf = async (project: string): Promise<number> =>
  (await app.query('SELECT count(*)::int AS n FROM calls WHERE project_id = $1', [project]))[0].n;

/** Moves the time when the calls were stored into the past. */
const logHoursAgo = (project: string, hours: number) =>
  app.query('UPDATE calls SET logged_at = $2 WHERE project_id = $1', [
    project,
    new Date(Date.now() - hours * 3_600_000),
  ]);

/** Ways to erase the call `c`, which started at the beginning of 2026. */
const ROUTES: [string, (project_id: string) => Promise<unknown>][] = [
  ['/calls/purge by id', (project_id) => done('/calls/purge', { project_id, call_ids: ['c'] })],
  ['/calls/purge by filter', (project_id) => done('/calls/purge', all(project_id))],
  [
    '/calls/purge by time',
    (project_id) => done('/calls/purge', { project_id, before: '2027-01-01T00:00:00Z' }),
  ],
  ['/project/delete', (project_id) => done('/project/delete', { project_id })],
  [
    '/retention/set',
    async (project_id) => {
      await done('/retention/set', { project_id, calls_days: 1 });
      await until(async () => (await countOf(project_id)) === 0);
    },
  ],
];

describe.each(ROUTES)('after %s', (_, erase) => {
  it('an end and a name that come late are kept for a day at most, and nothing is left of them', async () => {
    const project_id = `acme/late${projects++}`;
    await done('/call/start', {
      start: aStart({ project_id, id: 'c', started_at: '2026-01-01T00:00:00Z' }),
    });
    await erase(project_id);
    expect(await countOf(project_id)).toBe(0);

    const end = anEnd({ project_id, id: 'c', output: { text: LATE }, exception: LATE });
    await done('/call/end', { end });
    await done('/call/update', { project_id, call_id: 'c', display_name: LATE });
    await done('/call/update', { project_id, call_id: 'd', display_name: LATE });
    expect(await tablesHolding(app, LATE)).toEqual(['calls']);

    const isNoticed = async () =>
      (
        await app.query('SELECT FROM calls WHERE project_id = $1 AND logged_at IS NULL', [
          project_id,
        ])
      ).length === 0;
    await until(isNoticed);
    expect(await countOf(project_id)).toBeGreaterThan(0); // retention would erase an old end at once
    await logHoursAgo(project_id, 25);
    await until(async () => (await countOf(project_id)) === 0);
    expect(await tablesHolding(app, LATE)).toEqual([]);
  });
});

it('an end that comes hours before its start is joined with it, and stays', async () => {
  const project_id = `acme/late${projects++}`;
  await done('/call/end', { end: anEnd({ project_id, id: 'c', output: { text: 'early' } }) });
  await until(
    async () =>
      (
        await app.query('SELECT FROM calls WHERE project_id = $1 AND logged_at IS NOT NULL', [
          project_id,
        ])
      ).length === 1,
  );
  await logHoursAgo(project_id, 23);
  await done('/call/start', { start: aStart({ project_id, id: 'c', started_at: at(0) }) });
  await logHoursAgo(project_id, 46);
  await done('/call/end', { end: anEnd({ project_id, id: 'd' }) });
  await until(
    async () =>
      (
        await app.query('SELECT FROM calls WHERE project_id = $1 AND logged_at IS NOT NULL', [
          project_id,
        ])
      ).length === 2,
  ); // another round of the sweeper has ended
  const { calls } = await done('/calls/query', { project_id });
  expect(calls).toMatchObject([{ id: 'c', output: { text: 'early' } }]);
});

describe('answers that are kept for an Idempotency-Key', () => {
  const KEPT = 'what-was-answered';
  const bearer = (path: string, body: unknown, key: string, method = 'POST') =>
    fetch(app.url + path, {
      method,
      headers: {
        'content-type': 'application/json',
        authorization: `Bearer ${app.key}`,
        'idempotency-key': key,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    }).then(async (answer) => {
      const text = await answer.text();
      expect([answer.status, text]).toEqual([200, expect.anything()]);
      return JSON.parse(text);
    });

  it('are erased with their project, also where the request names an id only', async () => {
    const [entity, project] = ['acme', KEPT];
    const project_id = `${entity}/${project}`;
    const make = (name: string) =>
      bearer('/v1/preview/models', { entity, project, name, base_model: 'Q' }, `make ${name}`);
    const [one, other] = [await make('one'), await make('other')];
    const job = await bearer(
      '/v1/preview/training-jobs',
      { model_id: one.id, trajectory_groups: [{ trajectories: [{ reward: 1 }] }] },
      'job',
    );
    const cancel = () => bearer(`/v1/preview/training-jobs/${job.id}/cancel`, undefined, 'cancel');
    const canceled = await cancel();
    const steps = { steps: [1] };
    await bearer(`/v1/preview/models/${one.id}/checkpoints`, steps, 'steps', 'DELETE');
    const remove = () => bearer(`/v1/preview/models/${other.id}`, undefined, 'remove', 'DELETE');
    const removed = await remove();
    expect([await cancel(), await remove(), await make('one')]).toEqual([canceled, removed, one]);

    const projectsOf = `SELECT DISTINCT project_id AS p FROM idempotency_keys`;
    expect(await app.query(projectsOf)).toEqual([{ p: project_id }]);
    await done('/project/delete', { project_id });
    expect(await tablesHolding(app, one.id)).toEqual([]);
    expect(await tablesHolding(app, other.id)).toEqual(['audit_events']);
    expect(await app.query('SELECT FROM idempotency_keys')).toEqual([]);
  });
});
