import { responseJson, responseProtobuf, spansOfJson, spansOfProtobuf } from './otlp.js';

const TRACE_ID = '0AF7651916CD43DD8448EB211C80319C';
const asRequest = (...spans: unknown[]) =>
  JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans }] }] });
const readAll = (text: string) => [...spansOfJson(text)].map((span) => span.read());

it('reads OTLP/JSON: ids in hexadecimal, 64-bit numbers in both spellings, enums as numbers', () => {
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
  expect(readAll(asRequest(span))).toEqual([
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

it('keeps the text of each span, with its resource and scope', () => {
  const texts = ['{"name" : "a", "x":1.0}', '{"name":"b"}', '{ "name":"c\\ud800" }'];
  const text = `{"resourceSpans":[
    {"resource":{"attributes":[{"key":"r","value":{"stringValue":"1"}}],"extra":1},
     "scopeSpans":[{"scope":{"name":"s"},"spans":[${texts[0]}, ${texts[1]}]},{"spans":[]},{}]},
    {},
    {"resource":null,"scopeSpans":[{"spans":[${texts[2]}]}]}]}`;
  const spans = [...spansOfJson(text)];
  expect(spans.map((span) => span.text())).toEqual(texts);
  expect(
    spans.map(({ origin }) => [origin.resource.attributes?.[0]?.key, origin.scope.name]),
  ).toEqual([
    ['r', 's'],
    ['r', 's'],
    [undefined, undefined],
  ]);
  expect(spans[2]!.read().name).toBe('c\ufffd');
});

it.each([
  { name: 5 },
  { links: [{ traceId: 5 }] },
  { attributes: {} },
  { traceId: 'xyz' },
  { startTimeUnixNano: 'soon' },
  { attributes: [{ key: 'a', value: { intValue: '1', stringValue: '2' } }] },
])('finds fault with the span %j by itself', (span) => {
  const [bad, good] = [...spansOfJson(asRequest(span, { name: 'good' }))];
  expect(() => bad!.read()).toThrow(/\w/);
  expect(good!.read().name).toBe('good');
});

it.each([
  '[]',
  'null',
  '{"resourceSpans":{}}',
  '{"resourceSpans":[{"scopeSpans":5}]}',
  '{"resourceSpans":[{"resource":{"attributes":1}}]}',
  '{',
])('refuses the request %s', (text) => {
  expect(() => [...spansOfJson(text)]).toThrow(expect.objectContaining({ status: 400 }));
});

it('takes an empty request', () => {
  for (const text of ['{}', '{"resourceSpans":[]}', '{"resourceSpans":null}'])
    expect([...spansOfJson(text)]).toEqual([]);
  expect([...spansOfProtobuf(new Uint8Array())]).toEqual([]);
});

it('refuses bytes that are no request', () => {
  const bytes = Buffer.from('{"resourceSpans":[]}');
  expect(() => [...spansOfProtobuf(bytes)]).toThrow(expect.objectContaining({ status: 400 }));
});

it('answers in both forms, with nothing when all is well', () => {
  expect(String(responseJson(null))).toBe('{}');
  expect(responseProtobuf(null)).toHaveLength(0);
  const partialSuccess = { rejectedSpans: 2, errorMessage: 'why' };
  expect(JSON.parse(String(responseJson(partialSuccess)))).toEqual({
    partialSuccess: { rejectedSpans: '2', errorMessage: 'why' },
  });
  expect(Buffer.from(responseProtobuf(partialSuccess)).toString('hex')).toBe('0a0708021203776879');
});
