import { linesOf, useWeaveDoor } from '../../support/app.js';

const PROJECT = 'acme/demo';
const OBJECT = `weave:///${PROJECT}/object/quality:abc`;
const CALL = `weave:///${PROJECT}/call/c1`;

/** Feedback and costs in the names of weave clients. */
describe('in the dialect weave', () => {
  const app = useWeaveDoor();

  const create = (fields: object) =>
    app.post('/feedback/create', {
      project_id: PROJECT,
      weave_ref: CALL,
      feedback_type: 'custom',
      payload: {},
      ...fields,
    });

  it('takes the body that fills every field with an example', async () => {
    const answer = await create({
      id: 'id',
      creator: 'creator',
      annotation_ref: OBJECT,
      runnable_ref: `weave:///${PROJECT}/op/name:digest`,
      call_ref: CALL,
      trigger_ref: OBJECT,
      wb_user_id: 'wb_user_id',
    });
    expect(answer.status).toBe(200);
    expect(Object.keys(answer.body)).toEqual(['id', 'created_at', 'wb_user_id', 'payload']);
    expect(answer.body.wb_user_id).toBe('ada');
  });

  it.each([
    ['wandb.reaction.1', { emoji: '👍👍' }, 'payload.emoji'],
    ['wandb.note.1', {}, 'payload.note'],
    ['wandb.annotation.quality', { value: 1 }, 'annotation_ref'],
    ['wandb.runnable.score', { output: 1 }, 'runnable_ref'],
  ])('keeps the rules of %s', async (feedback_type, payload, path) => {
    expect(await create({ feedback_type, payload })).toMatchObject({
      status: 400,
      body: { errors: [{ path }] },
    });
  });

  it.each([
    'agent_turn/0af7651916cd43dd8448eb211c80319c',
    'agent_span/b7ad6b7169203331',
    `agent_conversation/${encodeURIComponent('ü/'.repeat(100))}`,
  ])('takes feedback on %s, and finds it', async (item) => {
    const weave_ref = `weave:///${PROJECT}/${item}`;
    const { status, body } = await create({ weave_ref, payload: { n: 1 } });
    expect(status).toBe(200);
    const query = { $expr: { $eq: [{ $getField: 'weave_ref' }, { $literal: weave_ref }] } };
    const found = await app.post('/feedback/query', { project_id: PROJECT, query });
    expect(found.body.result).toMatchObject([{ id: body.id, weave_ref, payload: { n: 1 } }]);
  });

  describe('a batch', () => {
    const item = (id: string | undefined, fields: object = {}) => ({
      ...{ project_id: PROJECT, weave_ref: CALL, feedback_type: 'batched', payload: {} },
      ...{ ...fields, id },
    });
    const large = { payload: { a: 'x'.repeat(1024 * 1024) } };
    const send = (batch: object[]) => app.post('/feedback/batch/create', { batch });
    const idsOf = async (...ids: string[]) =>
      (await app.post('/feedback/query', { project_id: PROJECT })).body.result
        .map(({ id }: { id: string }) => id)
        .filter((id: string) => ids.includes(id));

    it('answers 422 when elements are refused, at which clients look, and stores the others', async () => {
      const batch = [item('good 1'), item('bad', { weave_ref: 'x' }), item('good 2')];
      for (let i = 0; i < 2; i++) {
        const { status, body } = await send(batch);
        expect([status, body.code]).toEqual([422, 'items_refused']);
        expect(body.errors).toEqual([
          {
            path: 'batch[1]',
            id: 'bad',
            code: 'invalid_request',
            message: expect.stringMatching(/^weave_ref must be a ref/),
          },
        ]);
        expect(body.detail).toContain(
          '1 of 3 items refused, the others are stored: batch[1] (id bad)',
        );
      }
      expect(await idsOf('good 1', 'bad', 'good 2')).toEqual(['good 1', 'good 2']);
    });

    it('answers 413 when all that is refused is too large, so that clients halve it to the end', async () => {
      const { status, body } = await send([item('small'), item('large', large)]);
      expect([status, body.code]).toEqual([413, 'too_large']);
      expect(body.errors).toMatchObject([
        { path: 'batch[1]', message: 'payload holds 1048584 bytes, over the limit of 1048576' },
      ]);
      expect(await idsOf('small', 'large')).toEqual(['small']);
    });

    it('answers in place what was stored when elements have no ids, since a second one would double them', async () => {
      const { status, body } = await send([item(undefined), item('bad', { weave_ref: 'x' })]);
      expect(status).toBe(200);
      expect(body.res).toEqual([
        expect.objectContaining({ id: expect.any(String) }),
        { error: { code: 'invalid_request', detail: expect.stringMatching(/weave_ref/) } },
      ]);
    });

    it('of more than 1000 elements is too large, so that clients halve it', async () => {
      expect((await send(Array.from({ length: 1001 }, () => item('x')))).status).toBe(413);
    });
  });

  it('takes refs of the other scheme and finds them by its own, and names its own to what is no ref', async () => {
    const { body } = await create({ weave_ref: `svc:///${PROJECT}/call/other scheme` });
    const weave_ref = `weave:///${PROJECT}/call/other scheme`;
    const query = { $expr: { $eq: [{ $getField: 'weave_ref' }, { $literal: weave_ref }] } };
    const found = await app.post('/feedback/query', { project_id: PROJECT, query });
    expect(found.body.result).toMatchObject([{ id: body.id, weave_ref }]);
    expect(await create({ weave_ref: `x:///${PROJECT}/call/c1` })).toMatchObject({
      status: 400,
      body: { errors: [{ path: 'weave_ref', message: expect.stringContaining('weave:///') }] },
    });
  });

  it('shows feedback and costs of a call under its own names', async () => {
    await app.post('/call/start', {
      start: { project_id: PROJECT, id: 'c1', op_name: 'op', started_at: '2026-01-01' },
    });
    await app.post('/call/end', {
      end: {
        project_id: PROJECT,
        id: 'c1',
        ended_at: '2026-01-01',
        summary: { usage: { m: { prompt_tokens: 2 } } },
      },
    });
    await create({ id: 'note', feedback_type: 'wandb.note.1', payload: { note: 'good' } });
    const query = {
      $expr: {
        $eq: [{ $getField: 'feedback.[wandb.note.1].payload.note' }, { $literal: 'good' }],
      },
    };
    const [call] = linesOf(
      await app.post('/calls/stream_query', {
        project_id: PROJECT,
        query,
        include_costs: true,
        include_feedback: true,
      }),
    );
    expect(call.summary.weave.costs.m).toMatchObject({ prompt_tokens: 2, total_cost: null });
    const { body } = await app.post('/feedback/query', {
      project_id: PROJECT,
      query: { $expr: { $eq: [{ $getField: 'weave_ref' }, { $literal: CALL }] } },
    });
    expect(call.summary.weave.feedback).toEqual(body.result);
    expect(body.result[0]).toMatchObject({ weave_ref: CALL, wb_user_id: 'ada' });
  });
});
