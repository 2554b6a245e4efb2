import { linesOf, useApp } from '../support/app.js';
import { ran } from '../support/background.js';

const app = useApp();

let projects = 0;
let project_id = '';
beforeEach(() => {
  project_id = `acme/roots-${++projects}`;
});

const at = (second: number) => new Date(Date.UTC(2026, 0, 5, 12, 0, second)).toISOString();
const call = (id: string, parent_id: string | null, second: number, more: object = {}) => ({
  project_id,
  id,
  trace_id: 't',
  parent_id,
  op_name: 'work',
  started_at: at(second),
  ...more,
});
const start = async (...of: Parameters<typeof call>) => {
  const answer = await app.post('/call/start', { start: call(...of) });
  expect(answer.status).toBe(200);
};
const startAll = (...calls: ReturnType<typeof call>[]) =>
  app.post('/call/upsert_batch', {
    batch: calls.map((one) => ({ mode: 'start', req: { start: one } })),
  });
const list = async (filter: object, more: object = {}) =>
  linesOf(await app.post('/calls/stream_query', { project_id, filter, ...more })).map(
    ({ id }: { id: string }) => id,
  );
const roots = (more: object = {}) => list({ trace_roots_only: true }, more);
const orphans = () => list({ orphans_only: true });
const purge = async (body: object) => {
  const answer = await app.post('/calls/purge', { project_id, ...body });
  expect(answer.body).toMatchObject({ is_done: true });
};

describe('the topmost call that is stored', () => {
  it('is a root until its parent comes, in every list of roots', async () => {
    await start('b', 'a', 2);
    await start('c', 'b', 3);
    expect(await roots()).toEqual(['b']);
    expect(await orphans()).toEqual(['b']);
    const slowest = { sort_by: [{ field: 'summary.svc.latency_ms', direction: 'desc' }] };
    const newest = { sort_by: [{ field: 'started_at', direction: 'desc' }], limit: 5 };
    for (const order of [slowest, newest, { offset: 0, limit: 1 }])
      expect(await roots(order)).toEqual(['b']);
    const filter = { trace_roots_only: true };
    const counted = await app.post('/calls/query_stats', { project_id, filter });
    expect(counted.body.count).toBe(1);
    await app.post('/call/end', { end: { project_id, id: 'a', ended_at: at(9) } });
    expect(await roots()).toEqual(['b']); // of the parent only the end is stored
    await start('a', null, 1);
    expect(await roots()).toEqual(['a']);
    expect(await orphans()).toEqual([]);
  });

  it('is a root in one batch, and beside a parent in another trace', async () => {
    await startAll(call('b', 'a', 2), call('c', 'b', 3), call('x', 'c', 4, { trace_id: 'other' }));
    expect(await roots()).toEqual(['b', 'x']);
    await startAll(call('a', null, 1), call('b', 'a', 2), call('c', 'b', 3));
    expect(await roots()).toEqual(['a', 'x']);
  });

  it('is a root when the parent was deleted before it came', async () => {
    await start('a', null, 1);
    await start('b', 'a', 2);
    await app.post('/calls/delete', { project_id, call_ids: ['b'] });
    await start('c', 'b', 3);
    expect(await roots()).toEqual(['a', 'c']);
    await startAll(call('d', 'b', 4), call('b', 'a', 2)); // a deleted call stays deleted
    expect(await roots()).toEqual(['a', 'c', 'd']);
  });

  it('is a root when its parent alone is purged', async () => {
    await startAll(call('a', null, 1), call('b', 'a', 2), call('c', 'b', 3), call('d', 'b', 4));
    await purge({ filter: { call_ids: ['b'] } });
    expect(await roots()).toEqual(['a', 'c', 'd']);
    await purge({ before: at(4) });
    expect(await roots()).toEqual(['d']);
  });

  it('stays no root where the parent goes with it', async () => {
    await startAll(call('a', null, 1), call('b', 'a', 2), call('c', 'b', 3));
    await app.post('/calls/delete', { project_id, call_ids: ['b'] });
    expect(await roots()).toEqual(['a']);
    await purge({ call_ids: ['a'] });
    expect(await list({})).toEqual([]);
  });

  it('is a root when its parent moves to another trace', async () => {
    await startAll(call('a', null, 1), call('b', 'a', 2));
    await start('a', null, 1, { trace_id: 'other' });
    expect(await roots()).toEqual(['a', 'b']);
  });
});

describe('a parent that is none', () => {
  it.each(['0000000000000000', '0'.repeat(32), '00000000-0000-0000-0000-000000000000', '', '  '])(
    'is the id %j',
    async (parent_id) => {
      await start('one', parent_id, 1);
      await startAll(call('two', parent_id, 2));
      const [entity, project] = project_id.split('/');
      await app.post(`/v2/${entity}/${project}/calls/complete`, {
        batch: [call('three', parent_id, 3, { ended_at: at(4) })],
      });
      expect(await roots()).toEqual(['one', 'two', 'three']);
      const { body } = await app.post('/call/read', { project_id, id: 'one' });
      expect(body.call.parent_id).toBeNull();
    },
  );

  it('is the call itself', async () => {
    await start('a', 'a', 1);
    await start('b', 'a', 2);
    expect(await roots()).toEqual(['a']);
  });

  it.each([2, 3, 7])('is found in a circle of %d calls, in one batch or in many', async (size) => {
    const circle = Array.from({ length: size }, (_, i) =>
      call(`c${i}`, `c${(i + 1) % size}`, i + 1),
    );
    for (const [i, of] of [circle, circle.toReversed()].entries()) {
      project_id = `acme/circle-${size}-${i}-one`;
      await startAll(...of.map((one) => ({ ...one, project_id })));
      await start('below', 'c1', 50);
      expect(await roots()).toEqual(['c0']);
      project_id = `acme/circle-${size}-${i}-many`;
      for (const one of of) await startAll({ ...one, project_id });
      await start('below', 'c1', 50);
      expect(await roots()).toHaveLength(1);
    }
  });

  it('is found in a circle that a later start closes', async () => {
    await startAll(call('a', null, 1), call('b', 'a', 2), call('c', 'b', 3));
    await start('a', 'c', 1);
    expect(await roots()).toEqual(['a']);
  });
});

describe('the background', () => {
  const marked = async () =>
    (
      await app.query('SELECT id FROM calls WHERE project_id = $1 AND is_orphan ORDER BY id', [
        project_id,
      ])
    ).map(({ id }) => id);

  it('forgets of calls that they were orphans, once their parents are there', async () => {
    await start('c', 'b', 3);
    await start('b', 'a', 2);
    await start('y', 'x', 3);
    await start('x', 'y', 4);
    expect(await marked()).toEqual(['b', 'c', 'y']);
    await start('a', null, 1);
    await ran(app.url, 'parents of calls');
    expect(await marked()).toEqual(['y']);
    expect(await roots()).toEqual(['a', 'y']);
  });

  it('finds the orphans among the calls of an older build, and the turns of its threads', async () => {
    const rows = [
      ['a', null, null],
      ['b', 'a', null],
      ['c', 'gone', 'talk'],
      ['d', 'c', 'talk'],
      ['e', 'e', null],
      ['f', 'g', null],
      ['g', 'f', null],
    ];
    for (const [i, [id, parent, thread]] of rows.entries())
      await app.query(
        `INSERT INTO calls (project_id, id, trace_id, parent_id, thread_id, op_name, started_at, otel_dump)
         VALUES ($1, $2, 't', $3, $4, 'op', $5, '{}')`,
        [project_id, id, parent, thread, at(i)],
      );
    expect(await roots()).toEqual(['a']);
    for (const [project, until] of [
      ['acme/nothing-yet', '2999-01-01T00:00:00Z'],
      [project_id, at(50)],
    ])
      await app.query('INSERT INTO orphan_walks (project_id, until) VALUES ($1, $2)', [
        project,
        until,
      ]);
    await ran(app.url, 'parents of calls');
    expect(await roots()).toEqual(['a', 'c', 'e', 'f']);
    const threads = await app.post('/threads/stream_query', { project_id });
    expect(linesOf(threads)).toMatchObject([
      { thread_id: 'talk', turn_count: 1, first_turn_id: 'c' },
    ]);
    expect(await app.query('SELECT project_id FROM orphan_walks')).toEqual([
      { project_id: 'acme/nothing-yet' },
    ]);
    await ran(app.url, 'parents of calls');
    expect(await marked()).toEqual(['c', 'e', 'f']);
    const ready = (await (await fetch(`${app.url}/ready`)).json()) as any;
    expect(ready.unfilled_rows).toMatchObject({ parents: 0 });
  });
});
