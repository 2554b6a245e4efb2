/** @jest-environment-options {"env": {"WIRE_DIALECT": "weave"}} */
import { linesOf, useApp } from '../support/app.js';

const PROJECT = 'acme/demo';
const OBJECT = `weave:///${PROJECT}/object/quality:abc`;
const CALL = `weave:///${PROJECT}/call/c1`;

/** Feedback and costs by the names that existing clients use. */
describe('in the dialect weave', () => {
  const app = useApp();

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

  it('refuses refs of the other scheme', async () => {
    expect(await create({ weave_ref: `svc:///${PROJECT}/call/c1` })).toMatchObject({
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
