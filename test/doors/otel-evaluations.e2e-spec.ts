import { useApp } from '../support/app.js';
import { agentSpan, exportOf, spanId, traceId } from '../support/agents.js';

const app = useApp();
const project_id = 'acme/judged';
const headers = { project_id };

const valueOf = (value: unknown) =>
  typeof value === 'number' ? { doubleValue: value } : { stringValue: value };
const attributesOf = (attributes: Record<string, unknown>) =>
  Object.entries(attributes).map(([key, value]) => ({ key, value: valueOf(value) }));

const VERDICT = {
  'gen_ai.evaluation.name': 'Relevance',
  'gen_ai.evaluation.score.value': 4.5,
  'gen_ai.evaluation.score.label': 'relevant',
  'gen_ai.evaluation.explanation': 'It answers the question.',
};
const EVENT = 'gen_ai.evaluation.result';
const AT = '1767225601000000000';

const aRecord = (id: number, attributes: object = VERDICT, more: object = {}) => ({
  timeUnixNano: AT,
  traceId: traceId(id),
  spanId: spanId(id),
  eventName: EVENT,
  attributes: attributesOf({ ...attributes }),
  ...more,
});
const logs = (...logRecords: object[]) =>
  app.post('/v1/logs', { resourceLogs: [{ scopeLogs: [{ logRecords }] }] }, { headers });
const spans = (id: number, events: object[] = [], attributes = {}) =>
  app.post(
    '/v1/traces',
    exportOf([
      {
        ...agentSpan({
          trace: id,
          id,
          attributes: { 'gen_ai.operation.name': 'chat', ...attributes },
        }),
        events,
      },
    ]),
    { headers },
  );
const anEvent = (attributes: object = VERDICT) => ({
  name: EVENT,
  timeUnixNano: AT,
  attributes: attributesOf({ ...attributes }),
});

const callOf = async (id: number) =>
  (
    await app.post('/calls/query', {
      project_id,
      filter: { call_ids: [spanId(id)] },
      include_feedback: true,
    })
  ).body.calls[0];
const feedbackOn = async (id: number): Promise<any[]> => (await callOf(id)).summary.svc.feedback;

const PAYLOAD = {
  name: 'Relevance',
  value: 4.5,
  label: 'relevant',
  explanation: 'It answers the question.',
};

describe('an evaluation of OpenTelemetry', () => {
  it.each([
    ['an event of the span', 1, ['event']],
    ['an event of the span, twice', 2, ['event', 'event']],
    ['a log record before the span', 3, ['log', 'span']],
    ['a log record after the span', 4, ['span', 'log']],
    ['a log record twice', 5, ['log', 'span', 'log']],
    ['both, told at the same time', 6, ['log', 'event']],
  ])('is feedback on the call of its span, once: %s', async (_title, id, steps) => {
    for (const step of steps) {
      const answer =
        step === 'log'
          ? await logs(aRecord(id))
          : await spans(id, step === 'event' ? [anEvent()] : []);
      expect([answer.status, answer.text]).toEqual([200, '{}']);
    }
    expect(await feedbackOn(id)).toMatchObject([
      {
        feedback_type: 'Relevance',
        payload: PAYLOAD,
        svc_ref: `svc:///${project_id}/call/${spanId(id)}`,
      },
    ]);
  });

  it('is another one where another evaluator or another time says it', async () => {
    await spans(10, [
      anEvent(),
      anEvent({ ...VERDICT, 'gen_ai.evaluation.name': 'Tone' }),
      { ...anEvent(), timeUnixNano: '1767225602000000000' },
    ]);
    expect((await feedbackOn(10)).map(({ feedback_type }) => feedback_type).toSorted()).toEqual([
      'Relevance',
      'Relevance',
      'Tone',
    ]);
  });

  it('may be filtered by and is shown in the chat of its trace', async () => {
    await spans(11, [anEvent()], {
      'gen_ai.output.messages': '[{"role":"assistant","parts":[{"type":"text","content":"hi"}]}]',
    });
    const query = {
      $expr: { $gt: [{ $getField: 'feedback.[Relevance].payload.value' }, { $literal: 4 }] },
    };
    const found = await app.post('/calls/query', {
      project_id,
      query,
      filter: { call_ids: [spanId(11)] },
    });
    expect(found.body.calls).toHaveLength(1);
    const chat = await app.post('/agents/traces/chat', {
      project_id,
      trace_id: traceId(11),
      include_feedback: true,
    });
    expect(chat.body.messages[0].feedback).toMatchObject([{ payload: PAYLOAD }]);
  });

  it('finds its call by the response where it names no span', async () => {
    await spans(12, [], {
      'gen_ai.response.id': 'chatcmpl-12',
      'gen_ai.request.model': 'm',
      'gen_ai.usage.input_tokens': 3,
    });
    const told = { ...VERDICT, 'gen_ai.response.id': 'chatcmpl-12' };
    const body = await logs(aRecord(12, told, { traceId: undefined, spanId: undefined }));
    expect(body.text).toBe('{}');
    expect(await feedbackOn(12)).toMatchObject([
      { payload: { ...PAYLOAD, response_id: 'chatcmpl-12' } },
    ]);
  });

  it('finds the response of a call that tells no tokens', async () => {
    await spans(40, [], { 'gen_ai.response.id': 'chatcmpl-40' });
    const told = { ...VERDICT, 'gen_ai.response.id': 'chatcmpl-40' };
    const { traceId: _trace, spanId: _span, ...record } = aRecord(40, told) as any;
    expect((await logs(record)).text).toBe('{}');
    expect(await feedbackOn(40)).toMatchObject([{ payload: PAYLOAD }]);
  });

  it('has a number for a score that an exporter sent as a text', async () => {
    await spans(41, [anEvent({ ...VERDICT, 'gen_ai.evaluation.score.value': '-0.5' as any })]);
    expect(await feedbackOn(41)).toMatchObject([{ payload: { value: -0.5 } }]);
  });

  it('keeps what else it says, also in its body', async () => {
    const kvlistValue = {
      values: attributesOf({ 'gen_ai.evaluation.score.label': 'pass', judge: 'gpt-5' }),
    };
    await logs(
      aRecord(
        13,
        { 'gen_ai.evaluation.name': 'Tone', 'error.type': 'timeout' },
        { body: { kvlistValue } },
      ),
    );
    await spans(13);
    expect(await feedbackOn(13)).toMatchObject([
      {
        payload: {
          name: 'Tone',
          label: 'pass',
          error_type: 'timeout',
          attributes: { judge: 'gpt-5' },
        },
      },
    ]);
  });

  it.each([
    ['no name', { 'gen_ai.evaluation.score.value': 1 }, {}, 'feedback_type'],
    ['neither a span nor a response', VERDICT, { spanId: undefined }, 'gen_ai.response.id'],
    [
      'an unknown response',
      { ...VERDICT, 'gen_ai.response.id': 'none' },
      { spanId: undefined },
      'no call has the response none',
    ],
  ])('is refused with %s', async (_title, attributes, more, message) => {
    const { body } = await logs(aRecord(14, attributes, more), aRecord(15));
    expect(body.partialSuccess).toEqual({
      rejectedLogRecords: '1',
      errorMessage: expect.stringContaining(message),
    });
    await spans(15);
    expect(await feedbackOn(15)).toHaveLength(1);
  });

  it('that is refused in a span leaves the span, and is told', async () => {
    const { body } = await spans(16, [anEvent({ 'gen_ai.evaluation.score.value': 1 })]);
    expect(body.partialSuccess.errorMessage).toContain('feedback_type');
    expect(body.partialSuccess.rejectedSpans).toBeUndefined();
    expect(await feedbackOn(16)).toEqual([]);
  });
});
