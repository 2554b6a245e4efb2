import { readFileSync } from 'node:fs';
import { readLogPart } from './log-messages.js';
import { lookupType } from './otlp.js';
import { logsOfJson, logsOfProtobuf, logsResponse, type LogRecord } from './otlp-logs.js';
import { MAX_SPANS } from './span-index.js';

const REQUEST = lookupType('collector.logs.v1.ExportLogsServiceRequest');
const TRACE_ID = '0af7651916cd43dd8448eb211c80319c';
const SPAN_ID = 'b7ad6b7169203331';

const ofJson = (...logRecords: unknown[]) =>
  logsOfJson(Buffer.from(JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] })));
const readAll = async (...records: unknown[]) =>
  (await ofJson(...records)).map((one) => one.read());

function asProtobuf(records: readonly LogRecord[]): Uint8Array {
  const bytes = (hex = '') => Buffer.from(hex, 'hex');
  const logRecords = records.map((record) => ({
    ...record,
    traceId: bytes(record.traceId),
    spanId: bytes(record.spanId),
  }));
  const request = { resourceLogs: [{ scopeLogs: [{ logRecords }] }] };
  return REQUEST.encode(REQUEST.fromObject(request)).finish();
}

it.each(['openai-v2-events', 'openai-v2-details'])(
  'reads the records of %s alike in JSON and in protobuf',
  async (name) => {
    const { logs } = JSON.parse(readFileSync(`test/fixtures/otlp/${name}.json`, 'utf8'));
    const records: LogRecord[] = logs.map(({ record }: { record: LogRecord }) => record);
    const found = await logsOfProtobuf(asProtobuf(records));
    expect(found.map((one) => one.read())).toEqual(records);
    expect(await readAll(...records)).toEqual(records);
  },
);

it('reads ids in capitals and the names that protobuf has for members', async () => {
  const record = {
    traceId: TRACE_ID.toUpperCase(),
    spanId: SPAN_ID,
    event_name: 'gen_ai.choice',
    severityNumber: 'SEVERITY_NUMBER_INFO',
    timeUnixNano: 5,
  };
  expect(await readAll(record)).toEqual([
    expect.objectContaining({
      traceId: TRACE_ID,
      spanId: SPAN_ID,
      eventName: 'gen_ai.choice',
      timeUnixNano: '5',
    }),
  ]);
});

it('leaves records unread that cannot be about generative AI, whatever they hold', async () => {
  expect(await readAll({ body: 5 }, { body: { stringValue: 'gen_ai.' } })).toEqual([
    null,
    { body: { stringValue: 'gen_ai.' } },
  ]);
  const [wrong] = await ofJson({ body: 'gen_ai.' });
  expect(() => wrong!.read()).toThrow('expected object');
});

it('refuses too many records by their name', () =>
  expect(ofJson(...Array(MAX_SPANS + 1).fill({}))).rejects.toThrow('too many logRecords'));

it('tells what was refused, and nothing when nothing was', () => {
  const told = { rejectedSpans: 2, errorMessage: 'why' };
  expect(String(logsResponse.json(told))).toBe(
    '{"partialSuccess":{"rejectedLogRecords":"2","errorMessage":"why"}}',
  );
  expect(String(logsResponse.json(null))).toBe('{}');
  expect(Buffer.from(logsResponse.protobuf(told)).toString('hex')).toBe('0a0708021203776879');
});

describe('a log record', () => {
  const record = (overrides: LogRecord): LogRecord => ({
    traceId: TRACE_ID,
    spanId: SPAN_ID,
    eventName: 'gen_ai.user.message',
    body: { kvlistValue: { values: [{ key: 'content', value: { stringValue: '{"a":1}' } }] } },
    ...overrides,
  });
  const said = (overrides: LogRecord) => readLogPart(record(overrides))?.said;

  it('tells a message of which the texts stay texts', () =>
    expect(said({})).toEqual([
      {
        side: 'inputs',
        member: 'messages',
        is_part: true,
        value: String.raw`{"role":"user","content":"{\"a\":1}"}`,
      },
    ]));

  it('is of its own time, else of the one when it was seen', () => {
    const times = { timeUnixNano: '7', observedTimeUnixNano: 8 };
    expect(readLogPart(record(times))?.at).toBe('00000000000000000007');
    expect(readLogPart(record({ ...times, timeUnixNano: '0' }))?.at).toBe('00000000000000000008');
    expect(readLogPart(record({}))?.at).toBe('00000000000000000000');
  });

  it('may have its message as JSON in a text', () =>
    expect(said({ body: { stringValue: '{"content":"hi"}' } })?.[0]?.value).toBe(
      '{"role":"user","content":"hi"}',
    ));

  it('tells of an operation what the table names as a member of inputs and output, and no more', () => {
    const value = { stringValue: '[1]' };
    const attributes = [
      'gen_ai.input.messages',
      'gen_ai.tool.definitions',
      'gen_ai.output.messages',
      'gen_ai.tool.call.arguments',
      'gen_ai.request.model',
    ].map((key) => ({ key, value }));
    const told = said({ eventName: 'gen_ai.client.inference.operation.details', attributes });
    expect(told?.map(({ side, member, is_part }) => [`${side}.${member}`, is_part])).toEqual([
      ['inputs.messages', false],
      ['inputs.tools', false],
      ['output.messages', false],
    ]);
  });

  it.each<[string, LogRecord]>([
    ['is no event', { eventName: '' }],
    ['is an event of something else', { eventName: 'exception' }],
    ['has no span', { spanId: '' }],
    ['has a trace of zeros', { traceId: '0'.repeat(32) }],
    ['has no content', { body: { kvlistValue: { values: [] } } }],
    [
      'tells only about a message',
      {
        eventName: 'gen_ai.choice',
        body: { stringValue: '{"index":0,"finish_reason":"stop","message":{"role":"assistant"}}' },
      },
    ],
  ])('tells nothing that %s', (_, overrides) => expect(readLogPart(record(overrides))).toBeNull());
});
