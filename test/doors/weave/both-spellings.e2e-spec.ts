import { useApp } from '../../support/app.js';
import { aStart } from '../../support/factories.js';

const project_id = 'acme/demo';
const CALL = `weave:///${project_id}/call/c1`;
const OWN = `svc:///${project_id}/call/c1`;

const is = (field: string, literal: string) => ({
  $expr: { $eq: [{ $getField: field }, { $literal: literal }] },
});

/** A client of the dialect `weave` writes to a service with the neutral dialect. */
describe('requests in the other dialect', () => {
  const app = useApp();
  const foundBy = async (query: object, fields?: string[]) =>
    (await app.post('/feedback/query', { project_id, query, fields })).body.result;

  beforeAll(async () => {
    const start = aStart({
      id: 'c1',
      op_name: `weave:///${project_id}/op/predict:abc`,
      wb_run_id: 'run 1',
      wb_run_step: 3,
    });
    await app.post('/call/start', { start });
    const end = { project_id, id: 'c1', ended_at: '2026-01-02', wb_run_step_end: 4 };
    await app.post('/call/upsert_batch', { batch: [{ mode: 'end', req: { end } }] });
  });

  it('store what the names of calls say', async () => {
    const { call } = (await app.post('/call/read', { project_id, id: 'c1' })).body;
    expect(call).toMatchObject({ svc_run_id: 'run 1', svc_run_step: 3, svc_run_step_end: 4 });
    expect(call.summary.svc.trace_name).toBe('predict');
  });

  it('refuse a bad value under the name in force', async () => {
    const { status, body } = await app.post('/call/start', { start: aStart({ wb_run_step: -1 }) });
    expect([status, body.errors[0].path]).toEqual([400, 'start.svc_run_step']);
  });

  it('lets the name in force win over the other', async () => {
    await app.post('/call/start', {
      start: aStart({ id: 'c2', svc_run_id: 'own', wb_run_id: 'other' }),
    });
    const { call } = (await app.post('/call/read', { project_id, id: 'c2' })).body;
    expect(call.svc_run_id).toBe('own');
  });

  it.each([
    { filter: { wb_run_ids: ['run 1'] } },
    { query: is('wb_run_id', 'run 1') },
    {
      query: {
        $expr: {
          $and: [
            is('summary.weave.status', 'success').$expr,
            is('summary.weave.trace_name', 'predict').$expr,
          ],
        },
      },
    },
  ])('find calls by %j', async (wanted) => {
    const { body } = await app.post('/calls/query', {
      ...{ project_id, sort_by: [{ field: 'wb_run_step', direction: 'asc' }] },
      ...wanted,
    });
    expect(body.calls.map(({ id }: { id: string }) => id)).toEqual(['c1']);
  });

  it('keep feedback, which either spelling finds, and which belongs to its call', async () => {
    const created = await app.post('/feedback/batch/create', {
      batch: [
        {
          ...{ project_id, id: 'f1', weave_ref: CALL, feedback_type: 'wandb.reaction.1' },
          payload: { emoji: '👍' },
        },
        {
          ...{ project_id, id: 'f2', weave_ref: CALL, feedback_type: 'wandb.note.1' },
          payload: { note: 'good' },
        },
        {
          ...{ project_id, id: 'f3', svc_ref: OWN, feedback_type: 'svc.note.1' },
          payload: { note: 'better' },
        },
      ],
    });
    expect(created.body.res.map(({ id }: { id: string }) => id)).toEqual(['f1', 'f2', 'f3']);
    for (const query of [
      is('svc_ref', OWN),
      is('weave_ref', CALL),
      is('svc_ref', CALL),
      { $expr: { $in: [{ $getField: 'weave_ref' }, [{ $literal: CALL }, { $literal: 'x' }]] } },
    ])
      expect(await foundBy(query)).toMatchObject([
        { id: 'f1', svc_ref: OWN, feedback_type: 'svc.reaction.1' },
        { id: 'f2', svc_ref: OWN, feedback_type: 'svc.note.1' },
        { id: 'f3', svc_ref: OWN, feedback_type: 'svc.note.1' },
      ]);
    expect(await foundBy(is('feedback_type', 'wandb.note.1'), ['id', 'weave_ref'])).toEqual([
      { id: 'f2', weave_ref: OWN },
      { id: 'f3', weave_ref: OWN },
    ]);
    const { body } = await app.post('/calls/query', {
      ...{ project_id, include_feedback: true },
      query: is('feedback.[wandb.note.1].payload.note', 'better'),
    });
    expect(body.calls).toHaveLength(1);
    expect(body.calls[0].summary.svc.feedback).toHaveLength(3);
  });

  it('keep the rules of types', async () => {
    const { status, body } = await app.post('/feedback/create', {
      ...{ project_id, weave_ref: CALL, feedback_type: 'wandb.reaction.1', payload: {} },
    });
    expect([status, body.errors[0].path]).toEqual([400, 'payload.emoji']);
  });

  it('read what refs of the other scheme lead to', async () => {
    const { digest } = (
      await app.post('/obj/create', { obj: { project_id, object_id: 'o', val: { lr: 1 } } })
    ).body;
    const refs = ['weave', 'svc'].map((scheme) => `${scheme}:///${project_id}/object/o:${digest}`);
    expect((await app.post('/refs/read_batch', { refs })).body.vals).toEqual([
      { lr: 1 },
      { lr: 1 },
    ]);
  });

  it('name the door where only the other dialect could answer', async () => {
    const hint = expect.stringContaining('WF_TRACE_SERVER_URL=<service>/weave');
    const asked = await app.post('/calls/query', { project_id, columns: ['wb_run_id'] });
    expect(asked).toMatchObject({ status: 400, body: { detail: hint } });
    const headers = { 'user-agent': 'WeaveTrace/Python 0.3.1' };
    for (const [path, body] of [
      ['/calls/stream_query', { project_id }],
      ['/calls/query', { project_id }],
      ['/call/read', { project_id, id: 'c1' }],
      ['/feedback/query', { project_id }],
      [`/v2/${project_id}/ops`, {}],
    ] as const)
      expect(await app.post(path, body, { headers })).toMatchObject({
        status: 400,
        body: { detail: hint },
      });
    const stranger = await app.aKey('reader', ['other/*']);
    expect(
      (await app.post('/calls/query', { project_id }, { headers, key: stranger })).status,
    ).toBe(403);
    const written = await app.post('/call/start', { start: aStart({ id: 'c3' }) }, { headers });
    expect(written.status).toBe(200);
  });
});
