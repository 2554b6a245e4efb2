import { once } from 'node:events';
import { type ClientHttp2Session, connect, type IncomingHttpHeaders } from 'node:http2';
import { connect as connectTcp } from 'node:net';
import { gzipSync } from 'node:zlib';
import { Metadata } from '@grpc/grpc-js';
import { lookupType } from '../../src/doors/otel/otlp.js';
import { basic, useApp } from '../support/app.js';
import { grpcClient, listenForGrpc } from '../support/grpc.js';
import { until } from '../support/until.js';

const MAX_BODY_BYTES = 120_000;
const app = useApp({
  MAX_BODY_BYTES: String(MAX_BODY_BYTES),
  MAX_CONNECTIONS: '32',
  BODY_TIMEOUT_SECONDS: '2',
});
let door: Awaited<ReturnType<typeof listenForGrpc>>;
let client: ReturnType<typeof grpcClient>;
beforeAll(async () => {
  door = await listenForGrpc(app, 2000);
  client = grpcClient(door.address);
});
afterAll(async () => {
  client.close();
  await door.close();
});

const project_id = 'acme/demo';
const REQUEST = lookupType('collector.trace.v1.ExportTraceServiceRequest');
const RESPONSE = lookupType('collector.trace.v1.ExportTraceServiceResponse');
const LOGS = lookupType('collector.logs.v1.ExportLogsServiceRequest');
const EXPORT = '/opentelemetry.proto.collector.trace.v1.TraceService/Export';

let spans = 0;
const aSpanId = () => (++spans).toString(16).padStart(16, '0');
const text = (key: string, stringValue: string) => ({ key, value: { stringValue } });
const idBytes = (id: string) => Buffer.from(id, 'hex');
const TRACE = '0af7651916cd43dd8448eb211c80319c';

/** Bytes of a request with one span for each id. A null id makes an invalid span. */
const exportOf = (ids: (string | null)[], attributes: object[] = []) =>
  Buffer.from(
    REQUEST.encode(
      REQUEST.fromObject({
        resourceSpans: [
          {
            scopeSpans: [
              {
                spans: ids.map((id) => ({
                  traceId: idBytes(TRACE),
                  ...(id !== null && { spanId: idBytes(id) }),
                  name: 'work',
                  startTimeUnixNano: '1767225600123456789',
                  endTimeUnixNano: '1767225601123456789',
                  attributes,
                })),
              },
            ],
          },
        ],
      }),
    ).finish(),
  );

function metadataOf(entries: Record<string, string>): Metadata {
  const metadata = new Metadata();
  for (const [name, value] of Object.entries(entries)) metadata.set(name, value);
  return metadata;
}
const withKey = (key = app.key) => metadataOf({ authorization: basic(key), project_id });
const readCall = async (id: string) => (await app.post('/call/read', { project_id, id })).body.call;

/** Sends parts over raw HTTP/2 and returns the status. Ends the request after them unless `staysOpen`. */
async function rawAnswer(
  session: ClientHttp2Session,
  parts: Uint8Array[],
  {
    headers = {},
    staysOpen = false,
  }: { headers?: Record<string, string>; staysOpen?: boolean } = {},
) {
  const stream = session.request({
    ':method': 'POST',
    ':path': EXPORT,
    'content-type': 'application/grpc',
    te: 'trailers',
    authorization: basic(app.key),
    project_id,
    ...headers,
  });
  let answer: IncomingHttpHeaders = {};
  stream.on('error', () => {});
  stream.on('response', (given) => (answer = { ...given }));
  stream.on('trailers', (given) => (answer = { ...answer, ...given }));
  stream.resume();
  for (const part of parts) stream.write(part);
  if (!staysOpen) stream.end();
  await once(stream, 'close');
  return {
    status: answer[':status'],
    code: answer['grpc-status'],
    message: answer['grpc-message'],
  };
}

async function withSession<T>(use: (session: ClientHttp2Session) => Promise<T>): Promise<T> {
  const session = connect(`http://${door.address}`);
  session.on('error', () => {});
  try {
    return await use(session);
  } finally {
    session.destroy();
  }
}

function frame(message: Uint8Array, { flag = 0, length = message.length } = {}): Buffer {
  const prefix = Buffer.alloc(5);
  prefix[0] = flag;
  prefix.writeUInt32BE(length, 1);
  return Buffer.concat([prefix, message]);
}

describe('OTLP over gRPC', () => {
  it.each([
    ['Basic', () => basic(app.key)],
    ['Bearer', () => `Bearer ${app.key}`],
  ])('stores spans as calls, with a key by %s', async (_, authorization) => {
    const id = aSpanId();
    const metadata = metadataOf({ authorization: authorization(), project_id });
    const answer = await client.export('Trace', exportOf([id]), metadata);
    expect(answer).toMatchObject({ code: 0, body: Buffer.alloc(0) });
    expect(await readCall(id)).toMatchObject({
      op_name: 'work',
      trace_id: TRACE,
      attributes: { otel_span: { spanId: id } },
    });
  });

  it('stores what two spans of which one is bad have, and says why', async () => {
    const id = aSpanId();
    const { code, body } = await client.export('Trace', exportOf([id, null]), withKey());
    expect(code).toBe(0);
    expect(RESPONSE.decode(body!).toJSON()).toEqual({
      partialSuccess: { rejectedSpans: '1', errorMessage: expect.stringMatching(/spanId/) },
    });
    expect(await readCall(id)).not.toBeNull();
  });

  it('stores the head of a span of too many fields, and says so', async () => {
    const id = aSpanId();
    const many = Array.from({ length: 50_001 }, () => ({}));
    const attributes = [{ key: 'list', value: { arrayValue: { values: many } } }, text('a', 'b')];
    const { code, body } = await client.export('Trace', exportOf([id], attributes), withKey());
    expect(code).toBe(0);
    expect(RESPONSE.decode(body!).toJSON()).toEqual({
      partialSuccess: { errorMessage: expect.stringMatching(/^Skein left out .* limit of 50000$/) },
    });
    expect((await readCall(id)).attributes).toMatchObject({
      a: 'b',
      'skein.left_out': expect.stringContaining('50000'),
    });
  });

  it('gives messages of log records to their calls, and tells of the others and of metrics', async () => {
    const id = aSpanId();
    await client.export('Trace', exportOf([id]), withKey());
    const record = {
      eventName: 'gen_ai.user.message',
      timeUnixNano: '1767225600123456789',
      traceId: idBytes(TRACE),
      spanId: idBytes(id),
      body: { kvlistValue: { values: [text('content', 'hello')] } },
    };
    const logs = LOGS.encode(
      LOGS.fromObject({ resourceLogs: [{ scopeLogs: [{ logRecords: [record] }] }] }),
    ).finish();
    expect((await client.export('Logs', logs, withKey())).code).toBe(0);
    expect(JSON.stringify((await readCall(id)).inputs)).toContain('hello');
    expect((await client.export('Metrics', Buffer.from('any'), withKey())).code).toBe(0);
    const other = LOGS.encode(
      LOGS.fromObject({ resourceLogs: [{ scopeLogs: [{ logRecords: [{}, { flags: 1 }] }] }] }),
    ).finish();
    const toldLogs = await client.export('Logs', other, withKey());
    const LOGS_TOLD = lookupType('collector.logs.v1.ExportLogsServiceResponse');
    expect([toldLogs.code, LOGS_TOLD.decode(toldLogs.body!).toJSON()]).toEqual([
      0,
      { partialSuccess: { rejectedLogRecords: '2', errorMessage: expect.any(String) } },
    ]);
    // resource_metrics { scope_metrics { metrics { sum { data_points {} data_points {} } } } }
    const points = Buffer.from('0a0a120812063a040a000a00', 'hex');
    const toldMetrics = await client.export('Metrics', points, withKey());
    // the fields have the same numbers as in the answer for logs
    expect([toldMetrics.code, LOGS_TOLD.decode(toldMetrics.body!).toJSON()]).toEqual([
      0,
      {
        partialSuccess: {
          rejectedLogRecords: '2',
          errorMessage: expect.stringContaining('does not store metrics'),
        },
      },
    ]);
  });

  it('inflates what is compressed', async () => {
    const [one, other] = [aSpanId(), aSpanId()];
    await withSession(async (session) => {
      const bytes = frame(gzipSync(exportOf([one])), { flag: 1 });
      const answer = await rawAnswer(session, [bytes], { headers: { 'grpc-encoding': 'gzip' } });
      expect(answer).toMatchObject({ status: 200, code: '0' });
      // the header alone does not mean that a message is compressed
      const plain = await rawAnswer(session, [frame(exportOf([other]))], {
        headers: { 'grpc-encoding': 'gzip' },
      });
      expect(plain.code).toBe('0');
    });
    expect(await readCall(one)).not.toBeNull();
    expect(await readCall(other)).not.toBeNull();
  });

  it('takes a message in pieces of any size', async () => {
    const id = aSpanId();
    const bytes = frame(exportOf([id]));
    await withSession(async (session) => {
      const pieces = Array.from(bytes, (byte) => Buffer.from([byte]));
      expect((await rawAnswer(session, pieces)).code).toBe('0');
    });
    expect(await readCall(id)).not.toBeNull();
  });

  it('refuses who has no key, a wrong one, one that may not write, and one for another project', async () => {
    const bytes = exportOf([aSpanId()]);
    const reader = await app.aKey('reader');
    const foreign = await app.aKey('writer', ['other/project']);
    const codes: number[] = [];
    for (const metadata of [
      metadataOf({ project_id }),
      withKey(`skn_${'x'.repeat(40)}`),
      withKey(reader),
      withKey(foreign),
    ])
      codes.push((await client.export('Trace', bytes, metadata)).code);
    expect(codes).toEqual([16, 16, 7, 7]);
  });

  it('names what is wrong when no project is named, or the message is none', async () => {
    const metadata = metadataOf({ authorization: basic(app.key) });
    const none = await client.export('Trace', exportOf([aSpanId()]), metadata);
    expect([none.code, none.details]).toEqual([3, expect.stringMatching(/project_id/)]);
    const broken = await client.export('Trace', Buffer.from('nonsense'), withKey());
    expect(broken.code).toBe(3);
    expect(broken.metadata.get('grpc-status-details-bin')).toEqual([]);
    expect(broken.metadata.get('x-request-id')).toHaveLength(1);
  });

  it('refuses what is no method of OTLP, or no gRPC', async () => {
    await withSession(async (session) => {
      const unknown = { ':path': '/opentelemetry.proto.collector.trace.v1.TraceService/Import' };
      expect((await rawAnswer(session, [], { headers: unknown })).code).toBe('12');
      const inherited = { ':path': '/toString' };
      expect((await rawAnswer(session, [], { headers: inherited })).code).toBe('12');
      const json = { 'content-type': 'application/json' };
      expect((await rawAnswer(session, [], { headers: json })).status).toBe(415);
      const late = { 'grpc-timeout': 'soon' };
      expect((await rawAnswer(session, [], { headers: late })).code).toBe('3');
      const br = { 'grpc-encoding': 'br' };
      expect(
        (await rawAnswer(session, [frame(Buffer.from('x'), { flag: 1 })], { headers: br })).code,
      ).toBe('12');
      expect((await rawAnswer(session, [frame(exportOf([aSpanId()]))])).code).toBe('0');
    });
  });
});

describe('OTLP over gRPC, of clients that mean harm', () => {
  it('refuses a message that is over the limit, by the length that it claims or the bytes that it inflates to', async () => {
    await withSession(async (session) => {
      const tooLarge = /over%20the%20limit|over the limit/;
      const whole = await rawAnswer(session, [frame(Buffer.alloc(MAX_BODY_BYTES + 1))]);
      expect([whole.code, whole.message]).toEqual(['3', expect.stringMatching(tooLarge)]);
      const claimed = await rawAnswer(session, [frame(Buffer.alloc(10), { length: 2 ** 32 - 1 })], {
        staysOpen: true,
      });
      expect([claimed.code, claimed.message]).toEqual(['3', expect.stringMatching(tooLarge)]);
      const bomb = gzipSync(Buffer.alloc(50_000_000));
      const inflated = await rawAnswer(session, [frame(bomb, { flag: 1 })], {
        headers: { 'grpc-encoding': 'gzip' },
      });
      expect([inflated.code, inflated.message]).toEqual(['3', expect.stringMatching(tooLarge)]);
      const damaged = await rawAnswer(session, [frame(Buffer.from('no gzip'), { flag: 1 })], {
        headers: { 'grpc-encoding': 'gzip' },
      });
      expect(damaged.code).toBe('3');
    });
  });

  it('refuses two messages, a part of one, none, and a flag that is none', async () => {
    const id = aSpanId();
    const bytes = frame(exportOf([id]));
    await withSession(async (session) => {
      const codes: unknown[] = [];
      for (const parts of [
        [Buffer.concat([bytes, bytes])],
        [bytes.subarray(0, -1)],
        [bytes.subarray(0, 3)],
        [],
        [frame(exportOf([id]), { flag: 7 })],
      ])
        codes.push((await rawAnswer(session, parts)).code);
      expect(codes).toEqual(['3', '3', '3', '3', '3']);
    });
    expect(await readCall(id)).toBeNull();
  });

  it('keeps no memory of messages that end early', async () => {
    await withSession(async (session) => {
      const part = frame(Buffer.alloc(10), { length: MAX_BODY_BYTES });
      for (let i = 0; i < 5; i++) expect((await rawAnswer(session, [part])).code).toBe('3');
    });
    await until(async () =>
      /^skein_body_bytes 0$/m.test(await (await fetch(`${app.url}/metrics`)).text()),
    );
  });

  it('ends requests that do not come, at their deadline or that of bodies', async () => {
    await withSession(async (session) => {
      const part = frame(exportOf([aSpanId()])).subarray(0, -1);
      const answers = await Promise.all([
        rawAnswer(session, [part], { staysOpen: true, headers: { 'grpc-timeout': '100m' } }),
        rawAnswer(session, [part], { staysOpen: true }),
      ]);
      expect(answers.map(({ code }) => code)).toEqual(['4', '4']);
    });
  });

  it('drops a client without a key without reading what it sends', async () => {
    await withSession(async (session) => {
      const headers = { authorization: 'Basic nonsense' };
      const answer = await rawAnswer(session, [frame(Buffer.alloc(90_000))], { headers });
      expect(answer.code).toBe('16');
    });
  });

  it('tells a client the reason when it sends 30 MB without a key, with a wrong one, or over the limit', async () => {
    const large = Buffer.alloc(30_000_000);
    const answers: unknown[] = [];
    for (const metadata of [metadataOf({ project_id }), withKey('nonsense'), withKey()]) {
      const { code, details } = await client.export('Trace', large, metadata);
      answers.push([code, details]);
    }
    expect(answers).toEqual([
      [16, expect.stringMatching(/key/)],
      [16, expect.stringMatching(/key/)],
      [3, expect.stringMatching(/over the limit/)],
    ]);
    expect((await client.export('Trace', exportOf([aSpanId()]), withKey())).code).toBe(0);
  });

  it('counts each request under way as a connection, and serves others when they have ended', async () => {
    const part = frame(exportOf([aSpanId()])).subarray(0, 20);
    await withSession(async (session) => {
      const many = Array.from({ length: 40 }, () =>
        rawAnswer(session, [part], { staysOpen: true, headers: { 'grpc-timeout': '1S' } }),
      );
      const codes = (await Promise.all(many)).map(({ code }) => code);
      expect(new Set(codes)).toEqual(new Set(['4', '14']));
    });
    const id = aSpanId();
    expect((await client.export('Trace', exportOf([id]), withKey())).code).toBe(0);
    expect(await readCall(id)).not.toBeNull();
  });

  it('closes connections that are too many, and those that say nothing', async () => {
    const { port } = door;
    const sockets = Array.from({ length: 20 }, () => connectTcp(port, '127.0.0.1'));
    let closed = 0;
    for (const socket of sockets)
      socket
        .on('error', () => {})
        .once('close', () => closed++)
        .resume();
    await until(() => closed === sockets.length);
    expect((await client.export('Trace', exportOf([aSpanId()]), withKey())).code).toBe(0);
  });
});

describe('OTLP over gRPC, when messages take all memory for bodies', () => {
  const budget = 16 * 1024 * 1024;
  const small = useApp({ MAX_BODY_BYTES: '1000000', BODY_BUDGET_BYTES: String(budget) });
  it('refuses further ones until there is room, and says when to come again', async () => {
    const other = await listenForGrpc(small);
    const session = connect(`http://${other.address}`);
    const sender = grpcClient(other.address);
    const authorization = basic(small.key);
    // each reserves 2 MB of memory and sends little of it
    const stalled = Array.from({ length: 20 }, () =>
      rawAnswer(session, [frame(Buffer.alloc(1000), { length: 999_000 })], {
        headers: { authorization, 'grpc-timeout': '6S' },
        staysOpen: true,
      }),
    );
    const codes = (await Promise.all(stalled)).map(({ code }) => code);
    expect(new Set(codes)).toEqual(new Set(['4', '14']));
    const answer = await sender.export('Trace', exportOf([aSpanId()]), withKey(small.key));
    expect(answer.code).toBe(0);
    const metrics = async () => (await fetch(`${small.url}/metrics`)).text();
    await until(async () => /^skein_body_bytes 0$/m.test(await metrics()));
    session.destroy();
    sender.close();
    await other.close();
  });
});

describe('OTLP over gRPC, when the service has no room', () => {
  const limited = useApp({ RATE_LIMIT_REQUESTS_PER_MINUTE: '2' });
  it('says that a request may be sent again, and when', async () => {
    const other = await listenForGrpc(limited);
    const sender = grpcClient(other.address);
    const key = await limited.aKey('writer');
    const answers = [];
    for (let i = 0; i < 3; i++)
      answers.push(await sender.export('Trace', exportOf([aSpanId()]), withKey(key)));
    expect(answers.map(({ code }) => code)).toEqual([0, 0, 8]);
    const [details] = answers[2]!.metadata.get('grpc-status-details-bin') as Buffer[];
    expect(details!.toString('latin1')).toContain('type.googleapis.com/google.rpc.RetryInfo');
    sender.close();
    await other.close();
  });

  it('finishes what is under way, and tells its clients to go', async () => {
    const other = await listenForGrpc(app);
    const session = connect(`http://${other.address}`);
    const id = aSpanId();
    const bytes = frame(exportOf([id]));
    const stream = session.request({
      ':method': 'POST',
      ':path': EXPORT,
      'content-type': 'application/grpc',
      authorization: basic(app.key),
      project_id,
    });
    stream.write(bytes.subarray(0, 10));
    const told = once(session, 'goaway');
    await once(session, 'remoteSettings');
    other.door.startDraining();
    await told;
    stream.end(bytes.subarray(10)).resume();
    const [[trailers]] = await Promise.all([once(stream, 'trailers'), once(session, 'close')]);
    expect((trailers as IncomingHttpHeaders)['grpc-status']).toBe('0');
    expect(await readCall(id)).not.toBeNull();
    await other.close();
  });
});
