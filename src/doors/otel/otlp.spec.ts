import * as fc from 'fast-check';
import protobuf from 'protobufjs';
import type { ApiError } from '../../platform/errors.js';
import { type ReceivedSpan, spansResponse, spansOfJson, spansOfProtobuf } from './otlp.js';
import {
  MAX_FIELDS,
  MAX_ORIGIN_BYTES,
  MAX_SPAN_BYTES,
  MAX_SPAN_FIELDS,
  MAX_SPANS,
} from './span-index.js';

const TRACE_ID = '0AF7651916CD43DD8448EB211C80319C';
const asRequest = (...spans: unknown[]) =>
  JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans }] }] });
const ofJson = (text: string) => spansOfJson(Buffer.from(text));
const readAll = async (text: string) => (await ofJson(text)).map((span) => span.read().span);

it('reads OTLP/JSON: ids in hexadecimal, 64-bit numbers in both spellings, enums as numbers', async () => {
  const span = {
    traceId: TRACE_ID,
    spanId: 'b7ad6b7169203331',
    name: 'n',
    kind: 3,
    startTimeUnixNano: '18446744073709551615',
    endTimeUnixNano: 1000,
    attributes: [{ key: 'a', value: { intValue: 7 } }],
    links: [{ traceId: TRACE_ID, spanId: 'b7ad6b7169203331' }],
    status: { code: 2, message: 'm' },
    madeUp: { anything: [1] },
    parentSpanId: null,
  };
  expect(await readAll(asRequest(span))).toEqual([
    {
      traceId: TRACE_ID.toLowerCase(),
      spanId: 'b7ad6b7169203331',
      name: 'n',
      kind: 3,
      startTimeUnixNano: '18446744073709551615',
      endTimeUnixNano: '1000',
      attributes: [{ key: 'a', value: { intValue: '7' } }],
      links: [{ traceId: TRACE_ID.toLowerCase(), spanId: 'b7ad6b7169203331' }],
      status: { code: 2, message: 'm' },
    },
  ]);
});

it('keeps the text of each span, with its resource and scope', async () => {
  const texts = ['{"name" : "a", "x":1.0}', '{"name":"b"}', '{ "name":"c\\ud800" }'];
  const text = `{"resourceSpans":[
    {"resource":{"attributes":[{"key":"r","value":{"stringValue":"1"}}],"extra":1},
     "scopeSpans":[{"scope":{"name":"s"},"spans":[${texts[0]}, ${texts[1]}]},{"spans":[]},{}]},
    {},
    {"resource":null,"scopeSpans":[{"spans":[${texts[2]}]}]}]}`;
  const spans = await ofJson(text);
  expect(spans.map((span) => span.read().text)).toEqual(texts);
  expect(
    spans.map(({ origin }) => [origin.resource.attributes?.[0]?.key, origin.scope.name]),
  ).toEqual([
    ['r', 's'],
    ['r', 's'],
    [undefined, undefined],
  ]);
  expect(spans[2]!.read().span.name).toBe('c\ufffd');
});

it.each([
  { name: 5 },
  { links: [{ traceId: 5 }] },
  { attributes: {} },
  { traceId: 'xyz' },
  { startTimeUnixNano: 'soon' },
  { attributes: [{ key: 'a', value: { intValue: '1', stringValue: '2' } }] },
])('finds fault with the span %j by itself', async (span) => {
  const [bad, good] = await ofJson(asRequest(span, { name: 'good' }));
  expect(() => bad!.read()).toThrow(/\w/);
  expect(good!.read().span.name).toBe('good');
});

it.each([
  '[]',
  'null',
  '{"resourceSpans":{}}',
  '{"resourceSpans":[{"scopeSpans":5}]}',
  '{"resourceSpans":[{"resource":{"attributes":1},"scopeSpans":[{}]}]}',
  '{',
])('refuses the request %s', async (text) => {
  await expect(ofJson(text)).rejects.toThrow(expect.objectContaining({ status: 400 }));
});

it('takes an empty request', async () => {
  for (const text of ['{}', '{"resourceSpans":[]}', '{"resourceSpans":null}'])
    expect(await ofJson(text)).toEqual([]);
  expect(await spansOfProtobuf(new Uint8Array())).toEqual([]);
});

it('refuses bytes that are no request', async () => {
  const bytes = Buffer.from('{"resourceSpans":[]}');
  await expect(spansOfProtobuf(bytes)).rejects.toThrow(expect.objectContaining({ status: 400 }));
});

it('answers in both forms, with nothing when all is well', () => {
  expect(String(spansResponse.json(null))).toBe('{}');
  expect(spansResponse.protobuf(null)).toHaveLength(0);
  const partialSuccess = { rejectedSpans: 2, errorMessage: 'why' };
  expect(JSON.parse(String(spansResponse.json(partialSuccess)))).toEqual({
    partialSuccess: { rejectedSpans: '2', errorMessage: 'why' },
  });
  expect(Buffer.from(spansResponse.protobuf(partialSuccess)).toString('hex')).toBe(
    '0a0708021203776879',
  );
});

describe('of both forms', () => {
  const proto = new protobuf.Root();
  proto.resolvePath = (_origin, file) => `${__dirname}/proto/${file}`;
  proto.loadSync('opentelemetry/proto/collector/trace/v1/trace_service.proto');
  const REQUEST = proto.lookupType(
    'opentelemetry.proto.collector.trace.v1.ExportTraceServiceRequest',
  );
  const forms: [string, (request: object) => Promise<ReceivedSpan[]>][] = [
    [
      'protobuf',
      (request) => spansOfProtobuf(REQUEST.encode(REQUEST.fromObject(request)).finish()),
    ],
    ['JSON', (request) => spansOfJson(Buffer.from(JSON.stringify(request)))],
  ];
  const withSpans = (spans: unknown[], resource = {}) => ({
    resourceSpans: [{ resource, scopeSpans: [{ spans }] }],
  });
  const many = (count: number, item: unknown = {}) => Array.from({ length: count }, () => item);
  const withValues = (count: number) => ({
    name: 'large',
    attributes: [{ key: 'a', value: { arrayValue: { values: many(count) } } }],
  });
  const tooLarge = (limit: number) =>
    expect.objectContaining({ code: 'too_large', message: expect.stringContaining(`${limit}`) });

  it.each(forms)('%s: finds the spans of all scopes and resources', async (_, readSpans) => {
    const request = {
      resourceSpans: [
        {
          resource: { attributes: [{ key: 'r', value: { stringValue: '1' } }] },
          scopeSpans: [
            { scope: { name: 's' }, spans: [{ name: 'a' }, { name: 'b' }] },
            { spans: [{ name: 'c' }] },
          ],
        },
        {},
        { scopeSpans: [{}, { scope: { name: 't' }, spans: [{ name: 'd' }] }] },
      ],
    };
    const spans = await readSpans(request);
    expect(
      spans.map((span) => [
        span.origin.resource.attributes?.[0]?.key,
        span.origin.scope.name,
        span.read().span.name,
      ]),
    ).toEqual([
      ['r', 's', 'a'],
      ['r', 's', 'b'],
      ['r', undefined, 'c'],
      [undefined, 't', 'd'],
    ]);
  });

  it.each(forms)('%s: takes the most spans, and refuses one more', async (_, readSpans) => {
    expect(await readSpans(withSpans(many(MAX_SPANS)))).toHaveLength(MAX_SPANS);
    await expect(readSpans(withSpans(many(MAX_SPANS + 1)))).rejects.toThrow(tooLarge(MAX_SPANS));
  });

  it.each(forms)('%s: refuses too many fields', async (_, readSpans) => {
    const resources = { resourceSpans: many(MAX_FIELDS + 1) };
    await expect(readSpans(resources)).rejects.toThrow(tooLarge(MAX_FIELDS));
  });

  it.each(forms)('%s: keeps the head of a span of too many fields', async (_, readSpans) => {
    const long = { name: 'x'.repeat(MAX_SPAN_BYTES), kind: 1 };
    const model = { key: 'm', value: { stringValue: 'gpt' } };
    const wide = {
      ...{ name: 'wide', kind: 3, events: [{ name: 'e' }], links: [{}], status: { code: 2 } },
      attributes: [...withValues(MAX_SPAN_FIELDS).attributes, model],
    };
    const spans = await readSpans(withSpans([wide, long, { name: 'good' }]));
    const { span: head, text: headText, note } = spans[0]!.read();
    expect(note).toContain(`over the limit of ${MAX_SPAN_FIELDS}`);
    const attributes = [model, { key: 'skein.left_out', value: { stringValue: note } }];
    expect(head).toEqual({ name: 'wide', kind: 3, attributes, status: { code: 2 } });
    expect(JSON.parse(headText)).toEqual(head);
    const { span: whole, text } = spans[1]!.read(); // a long one is kept, without its long texts
    expect(whole.name).toHaveLength(MAX_SPAN_BYTES);
    expect(JSON.parse(text)).toEqual({
      name: '[left out by Skein: 8,388,608 characters]',
      kind: 1,
    });
    expect(spans[2]!.read().span.name).toBe('good');
  });

  it.each([
    ['JSON', 80],
    ['protobuf', 80],
    ['protobuf', 10_000],
  ])('%s: keeps the head of a span that is %d lists deep', async (form, levels) => {
    let json: object = {};
    let bytes: Uint8Array = new Uint8Array();
    const field = (id: number, content: Uint8Array) =>
      protobuf.Writer.create()
        .uint32((id << 3) | 2)
        .bytes(content)
        .finish();
    for (let i = 0; i < levels; i++) {
      json = { arrayValue: { values: [json] } };
      bytes = field(5, field(1, bytes));
    }
    const deep = field(2, field(9, field(2, bytes)));
    const good = field(2, field(5, Buffer.from('good')));
    const spans =
      form === 'JSON'
        ? await ofJson(asRequest({ attributes: [{ key: 'a', value: json }] }, { name: 'good' }))
        : await spansOfProtobuf(field(1, field(2, Buffer.concat([deep, good]))));
    const { span, note } = spans[0]!.read();
    expect(note).toMatch(/depth/);
    expect(span.attributes).toEqual([{ key: 'skein.left_out', value: { stringValue: note } }]);
    expect(spans[1]!.read().span.name).toBe('good');
  });

  it.each(forms)('%s: bounds what its spans repeat', async (_, readSpans) => {
    const resource = { attributes: [{ key: 'x'.repeat(MAX_ORIGIN_BYTES / 1000) }] };
    expect(await readSpans(withSpans(many(900), resource))).toHaveLength(900);
    await expect(readSpans(withSpans(many(1000), resource))).rejects.toThrow(
      tooLarge(MAX_ORIGIN_BYTES),
    );
    const large = { attributes: many(MAX_SPAN_FIELDS + 1) };
    await expect(readSpans(withSpans([{}], large))).rejects.toThrow(tooLarge(MAX_SPAN_FIELDS));
  });

  const request = {
    resourceSpans: [
      {
        resource: { attributes: [{ key: 'r', value: { stringValue: 'ü' } }] },
        scopeSpans: [{ scope: { name: 's' }, spans: [{ name: 'a', kind: 3 }, { links: [{}] }] }],
      },
      {},
    ],
  };
  it.each<[string, Uint8Array, (bytes: Buffer) => Promise<ReceivedSpan[]>]>([
    ['protobuf', REQUEST.encode(REQUEST.fromObject(request)).finish(), spansOfProtobuf],
    ['JSON', Buffer.from(JSON.stringify(request)), spansOfJson],
  ])('%s: refuses what is broken, the request or a span', async (_, sent, readSpans) => {
    const damage = fc.array(fc.tuple(fc.nat(), fc.nat({ max: 127 })), {
      minLength: 1,
      maxLength: 4,
    });
    await fc.assert(
      fc.asyncProperty(damage, async (hits) => {
        const bytes = Buffer.from(sent);
        for (const [at, byte] of hits) bytes[at % bytes.length] = byte;
        const refusals: unknown[] = [];
        const spans = await readSpans(bytes).catch((error: ApiError) => {
          refusals.push(error.status);
          return [];
        });
        expect(refusals).toEqual(refusals.map(() => 400));
        for (const span of spans) {
          let text: string;
          try {
            ({ text } = span.read());
          } catch (error) {
            text = (error as Error).message;
          }
          expect(text).toMatch(/\w|^{}$/);
        }
      }),
      { numRuns: 500 },
    );
  });

  it('protobuf: counts what it does not know', async () => {
    const unknown = Buffer.alloc(2 * MAX_FIELDS + 2, Uint8Array.of(0x78, 0));
    await expect(spansOfProtobuf(unknown)).rejects.toThrow(tooLarge(MAX_FIELDS));
  });

  it('JSON: takes the last of lists that come twice', async () => {
    const spans = (name: string) => `"spans":[{"name":"${name}"}]`;
    const text = `{"resourceSpans":[{"scopeSpans":[{${spans('a')}}]}],"resourceSpans":[
      {"scopeSpans":[{${spans('b')},${spans('c')}}]},
      {"scopeSpans":[{${spans('d')}}],"scopeSpans":[{${spans('e')}}]}]}`;
    expect((await readAll(text)).map(({ name }) => name)).toEqual(['c', 'e']);
  });
});
