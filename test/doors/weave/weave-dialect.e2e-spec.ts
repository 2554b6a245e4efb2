import { basic, send, useWeaveDoor } from '../../support/app.js';
import { aStart } from '../../support/factories.js';

describe('/weave', () => {
  const app = useWeaveDoor();

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

  it('names them in its refusals', async () => {
    const { body } = await app.post('/call/start', { start: aStart({ wb_run_step: -1 }) });
    expect(body.errors).toEqual([{ path: 'start.wb_run_step', message: expect.any(String) }]);
  });

  it('groups statistics by its own name of the user alone', async () => {
    const ask = (url: string, user: string) =>
      send(
        `${url}/calls/stats`,
        {
          project_id,
          start: '2026-01-01T00:00:00Z',
          call_metrics: [{ metric: 'call_count' }],
          group_by: [user],
        },
        { authorization: basic(app.key) },
      );
    const root = app.url.replace('/weave', '');
    const [own, neutral] = [await ask(app.url, 'wb_user_id'), await ask(root, 'svc_user_id')];
    expect(own.body.call_buckets).toContainEqual(expect.objectContaining({ wb_user_id: 'ada' }));
    expect(neutral.body.call_buckets).toContainEqual(
      expect.objectContaining({ svc_user_id: 'ada' }),
    );
    for (const [url, user, known] of [
      [app.url, 'svc_user_id', 'wb_user_id'],
      [root, 'wb_user_id', 'svc_user_id'],
    ] as const)
      expect(await ask(url, user)).toMatchObject({
        status: 400,
        body: { errors: [{ path: 'group_by[0]', message: expect.stringContaining(known) }] },
      });
  });

  it('is served beside the neutral names, on one service', async () => {
    const root = app.url.replace('/weave', '');
    const read = (url: string) =>
      send(`${url}/call/read`, { project_id, id: 'a' }, { authorization: basic(app.key) });
    const [neutral, weave] = await Promise.all([read(root), read(app.url)]);
    expect(neutral.body.call).toMatchObject({
      svc_run_id: 'r',
      summary: { svc: { status: 'success' } },
    });
    expect(weave.body.call).toMatchObject({
      wb_run_id: 'r',
      summary: { weave: { status: 'success' } },
    });
    const dialects = [root, app.url].map(
      async (url) => ((await (await fetch(`${url}/server_info`)).json()) as any).wire_dialect,
    );
    expect(await Promise.all(dialects)).toEqual(['svc', 'weave']);
  });
});
