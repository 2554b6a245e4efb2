/** @jest-environment-options {"env": {"WIRE_DIALECT": "weave"}} */
import { useApp } from '../support/app.js';
import { aStart } from '../support/factories.js';
import { startServer } from '../support/server.js';

describe('WIRE_DIALECT=weave', () => {
  const app = useApp();

  const project_id = 'acme/demo';

  it('spells the names with a product prefix in its own way, both in and out', async () => {
    const op_name = `weave:///${project_id}/op/run:abc`;
    const start = aStart({
      id: 'a',
      op_name,
      wb_run_id: 'r',
      wb_run_step: 3,
      svc_run_id: 'ignored',
    });
    expect((await app.post('/call/start', { start })).status).toBe(200);
    await app.post('/call/end', {
      end: { project_id, id: 'a', ended_at: '2026-01-02', wb_run_step_end: 4 },
    });
    const { call } = (await app.post('/call/read', { project_id, id: 'a' })).body;
    expect(call).toMatchObject({
      wb_user_id: 'ada',
      wb_run_id: 'r',
      wb_run_step: 3,
      wb_run_step_end: 4,
      summary: { weave: { status: 'success', trace_name: 'run' } },
    });
    expect(JSON.stringify(call)).not.toContain('svc');
  });

  it('filters, sorts and queries by those names', async () => {
    const count = async (query: object) =>
      (await app.post('/calls/query_stats', { project_id, ...query })).body.count;
    expect(await count({ filter: { wb_run_ids: ['r'] } })).toBe(1);
    expect(await count({ filter: { wb_user_ids: ['nobody'] } })).toBe(0);
    expect(
      await count({
        query: { $expr: { $eq: [{ $getField: 'summary.weave.status' }, { $literal: 'success' }] } },
      }),
    ).toBe(1);
    const sorted = await app.post('/calls/query', {
      project_id,
      sort_by: [{ field: 'svc_run_id', direction: 'asc' }],
    });
    expect(sorted.body.calls).toHaveLength(1);
  });

  it('names them in its refusals and its description', async () => {
    const { body } = await app.post('/call/start', { start: aStart({ wb_run_step: -1 }) });
    expect(body.errors).toEqual([{ path: 'start.wb_run_step', message: expect.any(String) }]);
    const server = await startServer({ DATABASE_URL: app.databaseUrl, WIRE_DIALECT: 'weave' });
    const document = await (await fetch(`${server.url}/openapi.json`)).text();
    expect(document).toContain('wb_run_step');
    expect(document).not.toContain('svc_run_step');
    await server.stop();
  });
});
