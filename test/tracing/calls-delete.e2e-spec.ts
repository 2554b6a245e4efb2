import { deleteQuery } from '../../src/tracing/calls/read/calls.query.js';
import { sql } from '../../src/platform/query/sql.js';
import { useApp } from '../support/app.js';
import { useCalls } from '../support/calls.js';
import { unlessCluster } from '../support/database.js';
import { aStart } from '../support/factories.js';

describe('POST /calls/delete', () => {
  const app = useApp();
  const calls = useCalls(app);

  const remove = (call_ids: unknown) =>
    app.post('/calls/delete', { project_id: calls.project_id, call_ids });

  it('removes a call with its descendants in the trace, and only those', async () => {
    await calls.start({ id: 'root', trace_id: 't' });
    await calls.start({ id: 'child', trace_id: 't', parent_id: 'root' });
    await calls.start({ id: 'grandchild', trace_id: 't', parent_id: 'child' });
    await calls.start({ id: 'other trace', trace_id: 'u', parent_id: 'root' });
    await calls.start({ id: 'sibling', trace_id: 't' });
    expect((await remove(['root'])).body).toEqual({ num_deleted: 3 });
    expect(await calls.idsOf()).toEqual(['other trace', 'sibling']);
    expect((await remove(['root', 'nope'])).body).toEqual({ num_deleted: 0 });
    expect(await calls.read('child')).toBeNull();
  });

  unlessCluster('plans are those of one node').it(
    'looks children up by their parent, in a trace of any size',
    async () => {
      await app.query(
        `INSERT INTO calls (project_id, id, trace_id, parent_id, op_name, started_at)
       SELECT $1, 'link ' || n, 'chain', 'link ' || n - 1, 'op', now() FROM generate_series(1, 2000) n`,
        [calls.project_id],
      );
      await app.query('ANALYZE calls');
      const { text, values } = deleteQuery(
        calls.project_id,
        ['link 1'],
        () => sql`'[]'::json`,
      ).toQuery();
      const plan = await app.query(`EXPLAIN ${text}`, values);
      const looks = plan
        .map((line) => line['QUERY PLAN'] as string)
        .filter((line) => / on calls(_parent_idx| c)/.test(line));
      expect(looks.join('\n')).toContain('calls_parent_idx');
      expect(looks.join('\n')).not.toContain('calls_trace_idx');
      expect((await remove(['link 1'])).body).toEqual({ num_deleted: 2000 });
    },
  );

  it('is not undone by a late start or end', async () => {
    await calls.start({ id: 'a' });
    await remove(['a']);
    await calls.start({ id: 'a' });
    await calls.end({ id: 'a' });
    expect(await calls.read('a')).toBeNull();
  });

  it('ends for parents that go round in a circle', async () => {
    await calls.start({ id: 'x', trace_id: 't', parent_id: 'y' });
    await calls.start({ id: 'y', trace_id: 't', parent_id: 'x' });
    expect((await remove(['x'])).body).toEqual({ num_deleted: 2 });
  });

  it('answers a resend with the same number under an Idempotency-Key', async () => {
    await calls.start({ id: 'a' });
    const send = () =>
      app.post(
        '/calls/delete',
        { project_id: calls.project_id, call_ids: ['a'] },
        { headers: { 'idempotency-key': 'del' } },
      );
    expect([(await send()).body, (await send()).body]).toEqual([
      { num_deleted: 1 },
      { num_deleted: 1 },
    ]);
  });

  it('touches no other project', async () => {
    await calls.start({ id: 'shared' });
    const other = `${calls.project_id}-other`;
    await app.post('/call/start', { start: aStart({ project_id: other, id: 'shared' }) });
    await remove(['shared']);
    expect(
      (await app.post('/call/read', { project_id: other, id: 'shared' })).body.call,
    ).not.toBeNull();
  });

  it.each([[[]], ['a'], [[5]], [Array.from({ length: 1001 }, String)]])(
    'refuses call_ids %#',
    async (ids) => {
      expect(await remove(ids)).toMatchObject({ status: 400, body: { code: 'invalid_request' } });
    },
  );

  it('deletes while others write the same calls, without a deadlock', async () => {
    const ids = Array.from({ length: 30 }, (_, i) => `c${i}`);
    const write = () =>
      app.post('/call/upsert_batch', {
        batch: ids.toReversed().map((id) => ({
          mode: 'start',
          req: { start: aStart({ project_id: calls.project_id, id, trace_id: 't' }) },
        })),
      });
    await write();
    const answers = await Promise.all(
      Array.from({ length: 30 }, (_, i) => (i % 3 ? write() : remove(ids))),
    );
    for (const { status } of answers) expect(status).toBe(200);
  });
});
