import * as fc from 'fast-check';
import protobuf from 'protobufjs';
import protojson from 'protobufjs/ext/protojson.js';
import { isPlain, type DecodedJson, jsonOfBytes, compileMessage } from './protobuf-json.js';

const root = new protobuf.Root();
root.resolvePath = (_origin, file) => `${__dirname}/proto/${file}`;
root.loadSync('opentelemetry/proto/collector/trace/v1/trace_service.proto');
const lookupType = (name: string) => root.lookupType(`opentelemetry.proto.${name}`);
const [SPAN, RESOURCE] = [lookupType('trace.v1.Span'), lookupType('resource.v1.Resource')];

/** Reads a message with protobufjs only, and converts its ProtoJSON to OTLP/JSON. */
function byProtobufjs(type: protobuf.Type, bytes: Uint8Array): DecodedJson {
  const message = type.decode(bytes) as protobuf.Message & {
    kind?: number;
    status?: { code?: number };
  };
  const json = protojson.toJson(type, message);
  if (type !== SPAN) return json;
  const withHex = (part: any) => {
    for (const name of ['traceId', 'spanId', 'parentSpanId'])
      if (part[name]) part[name] = Buffer.from(part[name], 'base64').toString('hex');
  };
  withHex(json);
  for (const link of json.links ?? []) withHex(link);
  if (message.kind) json.kind = message.kind;
  if (message.status?.code) json.status.code = message.status.code;
  return json;
}

/** Returns the JSON as text, which also shows the order of members and negative zeros; or that reading was refused. */
function outcome(read: () => DecodedJson): string {
  try {
    return JSON.stringify(read());
  } catch (error) {
    return (error as Error).message ? 'refused' : 'refused without a reason';
  }
}

const read = (type: protobuf.Type, bytes: Uint8Array) =>
  outcome(() => jsonOfBytes(compileMessage(type), bytes));
const expected = (type: protobuf.Type, bytes: Uint8Array) =>
  outcome(() => byProtobufjs(type, bytes));

const text = fc.string({ unit: 'grapheme', maxLength: 12 });
const count = fc.integer({ min: 0, max: 2 ** 31 - 1 });
const arbitraryBytes = (length: number) => fc.uint8Array({ minLength: length, maxLength: length });
const nanos = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }).map(String);
const { keyValues } = fc.letrec<{ value: unknown; keyValues: unknown[] }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, depthSize: 'small' },
    fc.record({ stringValue: text }),
    fc.record({ boolValue: fc.boolean() }),
    fc.record({ intValue: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(String) }),
    fc.record({ intValue: fc.integer() }),
    fc.record({ doubleValue: fc.double() }),
    fc.record({ bytesValue: fc.uint8Array({ maxLength: 5 }) }),
    fc.constant({}),
    fc.record({ arrayValue: fc.record({ values: fc.array(tie('value'), { maxLength: 3 }) }) }),
    fc.record({ kvlistValue: fc.record({ values: tie('keyValues') }) }),
  ),
  keyValues: fc.array(fc.record({ key: text, value: tie('value') }, { requiredKeys: [] }), {
    maxLength: 4,
  }),
}));
const span = fc.record(
  {
    traceId: arbitraryBytes(16),
    spanId: arbitraryBytes(8),
    parentSpanId: arbitraryBytes(8),
    traceState: text,
    flags: count,
    name: text,
    kind: fc.integer({ min: 0, max: 9 }),
    startTimeUnixNano: nanos,
    endTimeUnixNano: nanos,
    attributes: keyValues,
    droppedAttributesCount: count,
    events: fc.array(fc.record({ timeUnixNano: nanos, name: text, attributes: keyValues }), {
      maxLength: 2,
    }),
    links: fc.array(
      fc.record({ traceId: arbitraryBytes(16), spanId: arbitraryBytes(8), flags: count }),
      {
        maxLength: 2,
      },
    ),
    status: fc.record(
      { code: fc.integer({ min: 0, max: 4 }), message: text },
      { requiredKeys: [] },
    ),
  },
  { requiredKeys: [] },
);
const encoded = (type: protobuf.Type, json: object) =>
  Buffer.from(type.encode(type.fromObject(json)).finish());

describe('protobuf', () => {
  it('reads spans and resources as protobufjs does', () => {
    fc.assert(
      fc.property(span, keyValues, (aSpan, attributes) => {
        const bytes = encoded(SPAN, aSpan);
        expect(read(SPAN, bytes)).toBe(expected(SPAN, bytes));
        const resource = encoded(RESOURCE, { attributes, entityRefs: [{ idKeys: ['a', ''] }] });
        expect(read(RESOURCE, resource)).toBe(expected(RESOURCE, resource));
      }),
    );
  });

  it('reads parts that come in any order, twice or cut apart as protobufjs does', () => {
    fc.assert(
      fc.property(fc.array(span, { minLength: 2, maxLength: 3 }), (spans) => {
        const bytes = Buffer.concat(spans.map((part) => encoded(SPAN, part)));
        expect(read(SPAN, bytes)).toBe(expected(SPAN, bytes));
      }),
    );
    const value = lookupType('common.v1.AnyValue');
    const oneOfs = [{ stringValue: 'a' }, { arrayValue: { values: [{ intValue: 1 }] } }];
    for (const order of [oneOfs, oneOfs.toReversed(), [oneOfs[1]!, oneOfs[1]!]]) {
      const bytes = Buffer.concat(order.map((part) => encoded(value, part)));
      expect(read(value, bytes)).toBe(expected(value, bytes));
    }
  });

  it('takes or refuses broken bytes as protobufjs does', () => {
    const hit = fc.tuple(fc.nat(), fc.nat({ max: 255 }));
    const damage = fc.record({
      hits: fc.array(hit, { minLength: 1, maxLength: 3 }),
      cut: fc.nat(),
      noise: fc.uint8Array({ maxLength: 40 }),
    });
    fc.assert(
      fc.property(span, damage, (aSpan, { hits, cut, noise }) => {
        const whole = encoded(SPAN, { name: 'n', ...aSpan });
        for (const [at, byte] of hits) whole[at % whole.length] = byte;
        for (const bytes of [whole, whole.subarray(0, cut % whole.length), noise])
          expect(read(SPAN, bytes)).toBe(expected(SPAN, bytes));
      }),
      { numRuns: 400 },
    );
  });
});

/**
 * Returns true when the JSON is read by protobufjs: bytes, numbers as texts, and 64-bit numbers that may be out of
 * range.
 */
const hasRareSpelling = (json: object): boolean =>
  Object.entries(json).some(
    ([name, value]) =>
      name === 'bytesValue' ||
      (name === 'doubleValue' && typeof value === 'string') ||
      (name === 'intValue' && value.replace('-', '').length > 18) ||
      (name.endsWith('Nano') && value.length > 19) ||
      (typeof value === 'object' && hasRareSpelling(value)),
  );

describe('JSON', () => {
  it('is plain when it is spelled as exporters do, and then it is what protobufjs makes of it', () => {
    fc.assert(
      fc.property(span, (aSpan) => {
        const json = JSON.parse(JSON.stringify(byProtobufjs(SPAN, encoded(SPAN, aSpan))));
        expect(isPlain(compileMessage(SPAN), json)).toBe(!hasRareSpelling(json));
      }),
    );
  });

  it.each<[string, unknown]>([
    ['null', null],
    ['a list', []],
    ['an unknown member', { traceid: '' }],
    ['a name of protobuf', { start_time_unix_nano: '1' }],
    ['a null', { parentSpanId: null }],
    ['an id that is none', { traceId: 'xyz' }],
    ['an enum by its name', { kind: 'SPAN_KIND_CLIENT' }],
    ['a number for a text', { name: 5 }],
    ['a text for a number', { droppedAttributesCount: '1' }],
    ['a fraction', { endTimeUnixNano: 0.5 }],
    ['a negative time', { endTimeUnixNano: -1 }],
    ['a time with an exponent', { endTimeUnixNano: '1e3' }],
    ['an object for a list', { attributes: {} }],
    ['a null in a list', { attributes: [null] }],
    ['two values', { attributes: [{ value: { stringValue: '', intValue: 1 } }] }],
    ['a member of that name', JSON.parse('{"__proto__":{}}')],
  ])('%s is not plain', (_, json) => {
    expect(isPlain(compileMessage(SPAN), json)).toBe(false);
  });
});
