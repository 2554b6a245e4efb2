import { once } from 'node:events';
import { type ClientRequest, request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { Transform } from 'node:stream';
import { text } from 'node:stream/consumers';
import zlib from 'node:zlib';
import { basic, startApp, type TestApp } from '../support/app.js';
import { anEnd, aStart } from '../support/factories.js';
import { Database } from '../../src/platform/database/database.js';
import { aTrajectory, groupsOf, type Preview, previewOf } from '../support/preview.js';
import { until } from '../support/until.js';

const MIB = 1024 * 1024;
const NO_BODY = Buffer.alloc(0);
let app: TestApp;
let preview: Preview;
/** Counts events of all transform streams of the process, which include the service's inflaters. */
const emitted = jest.spyOn(Transform.prototype, 'emit');

beforeAll(async () => {
  app = await startApp({
    MAX_BODY_BYTES: String(MIB),
    MAX_TRAINING_BODY_BYTES: String(4 * MIB),
    BODY_BUDGET_BYTES: String(64 * MIB),
    BODY_TIMEOUT_SECONDS: '5',
  });
  preview = previewOf(app);
});
afterAll(() => app.close());

/** The used part of the budget, from `/metrics`. */
async function held(): Promise<number> {
  const page = await (await fetch(`${app.url}/metrics`)).text();
  return Number(/^skein_body_bytes (\d+)$/m.exec(page)![1]);
}
const nothingIsHeld = () => until(async () => (await held()) === 0);

const COMPRESS: Record<string, (bytes: Buffer) => Buffer> = {
  gzip: (bytes) => zlib.gzipSync(bytes, { level: 1 }),
  deflate: (bytes) => zlib.deflateSync(bytes, { level: 1 }),
  br: (bytes) =>
    zlib.brotliCompressSync(bytes, { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 1 } }),
};
const ENCODINGS = Object.keys(COMPRESS);

const BOUNDARY = 'x-boundary';
const part = (name: string, body: string | Buffer, isFile = false) =>
  Buffer.concat([
    Buffer.from(
      `--${BOUNDARY}\r\ncontent-disposition: form-data; name="${name}"${isFile ? '; filename="blob"' : ''}\r\n\r\n`,
    ),
    Buffer.from(body),
    Buffer.from('\r\n'),
  ]);
const formOf = (...parts: Buffer[]) =>
  Buffer.concat([...parts, Buffer.from(`--${BOUNDARY}--\r\n`)]);

const BLANKS = Buffer.alloc(16 * MIB, ' ');
const FILE_BLANKS = Buffer.alloc(104 * MIB, ' ');
const READERS: [name: string, path: string, type: string, body: Buffer, isBearer: boolean][] = [
  ['a JSON body', '/call/start', 'application/json', BLANKS, false],
  ['OTLP', '/v1/traces', 'application/x-protobuf', BLANKS, false],
  [
    'the file of a form',
    '/file/create',
    `multipart/form-data; boundary=${BOUNDARY}`,
    formOf(part('project_id', 'acme/demo'), part('file', FILE_BLANKS, true)),
    false,
  ],
  [
    'what stands before the parts of a form',
    '/file/create',
    `multipart/form-data; boundary=${BOUNDARY}`,
    Buffer.concat([FILE_BLANKS, Buffer.from('\r\n'), formOf(part('file', 'x', true))]),
    false,
  ],
  ['a training body', '/v1/preview/training-jobs', 'application/json', BLANKS, true],
];

describe.each(READERS)('%s', (_, path, ...[type, body, isBearer]) => {
  it.each(ENCODINGS)(
    'that is a bomb of %s is refused, and its inflater is destroyed',
    async (encoding) => {
      emitted.mockClear();
      const bomb = COMPRESS[encoding]!(body);
      const response = await fetch(app.url + path, {
        method: 'POST',
        headers: {
          authorization: isBearer ? `Bearer ${app.key}` : basic(app.key),
          'content-type': type,
          'content-encoding': encoding,
        },
        body: bomb as never,
      });
      expect([response.status, ((await response.json()) as { code: string }).code]).toEqual([
        413,
        'too_large',
      ]);
      const inflaters = [...new Set(emitted.mock.contexts)].filter(({ constructor }) =>
        /^(Gunzip|Inflate|BrotliDecompress)$/.test(constructor.name),
      ) as unknown as zlib.Gunzip[];
      expect(inflaters).toHaveLength(1);
      expect(inflaters[0]!.destroyed).toBe(true);
      expect(inflaters[0]!.bytesWritten).toBeLessThan(bomb.length);
      await nothingIsHeld();
    },
  );
});

/** Sends the head of a request with a declared body, and no body. */
function begun(path: string, key: string, headers: Record<string, string | number>): ClientRequest {
  const sent = httpRequest(app.url + path, {
    method: 'POST',
    headers: { authorization: basic(key), 'content-type': 'application/json', ...headers },
  });
  sent.on('error', () => {});
  sent.flushHeaders();
  return sent;
}

const closed = (sent: ClientRequest) =>
  new Promise<void>((resolve) => sent.once('close', () => resolve()));

async function answerTo(sent: ClientRequest) {
  const [response] = await once(sent, 'response');
  return {
    status: response.statusCode,
    headers: response.headers,
    body: JSON.parse(await text(response)),
  };
}

describe('the budget of bodies', () => {
  it('answers 503 to the key that fills it, and 200 to another one', async () => {
    const [greedy, modest] = [await app.aKey(), await app.aKey()];
    // one key may hold 28 MiB, and each request takes 2
    const requests = Array.from({ length: 20 }, () =>
      begun('/call/start', greedy, { 'content-length': MIB }),
    );
    const refused = requests.map((sent) => answerTo(sent).catch(() => null));
    await until(async () => (await held()) === 28 * MIB);
    const large = { start: aStart({ inputs: { x: 'x'.repeat(MIB / 2) } }) };
    expect((await app.post('/call/start', large, { key: modest })).status).toBe(200);
    expect((await app.post('/call/start', { start: aStart() }, { key: greedy })).status).toBe(200);
    const first = await Promise.race(refused);
    expect(first).toMatchObject({
      status: 503,
      headers: { 'retry-after': '1' },
      body: { code: 'unavailable', detail: 'the memory for bodies is in use' },
    });
    for (const sent of requests) sent.destroy();
    await nothingIsHeld();
  });

  it('reads no large call of a key that has no room for the answer, and that of another one', async () => {
    const [greedy, modest] = [await app.aKey(), await app.aKey()];
    const [project_id, id] = ['acme/demo', 'large'];
    const large = { x: 'x'.repeat(0.9 * MIB) };
    await app.post('/call/start', { start: aStart({ project_id, id, inputs: large }) });
    await app.post('/call/end', { end: anEnd({ project_id, id, output: large }) });
    const requests = Array.from({ length: 14 }, () =>
      begun('/call/start', greedy, { 'content-length': MIB }),
    );
    await until(async () => (await held()) === 28 * MIB);
    const streams = jest.spyOn(app.app.get(Database), 'stream');
    const read = (key: string) => app.post('/call/read', { project_id, id }, { key });
    expect(await read(greedy)).toMatchObject({
      status: 503,
      body: { detail: 'the memory for bodies is in use' },
    });
    expect(streams).not.toHaveBeenCalled();
    expect((await read(modest)).body.call.output).toEqual(large);
    expect(streams).toHaveBeenCalledTimes(1);
    for (const sent of requests) sent.destroy();
    await nothingIsHeld();
  });

  it('lets in who waits when another one has left', async () => {
    const key = await app.aKey();
    const requests = Array.from({ length: 14 }, () =>
      begun('/call/start', key, { 'content-length': MIB }),
    );
    await until(async () => (await held()) === 28 * MIB);
    const large = { start: aStart({ inputs: { x: 'x'.repeat(MIB / 2) } }) };
    const waiting = app.post('/call/start', large, { key });
    for (const sent of requests) sent.destroy();
    expect((await waiting).status).toBe(200);
    await nothingIsHeld();
  });

  it('gets everything back, however a request ends', async () => {
    const start = { start: aStart() };
    expect((await app.post('/call/start', start)).status).toBe(200);
    expect((await app.post('/call/start', '{')).status).toBe(400);
    expect((await app.post('/call/start', ' '.repeat(MIB + 1))).status).toBe(413);
    expect(
      (await app.post('/call/start', {}, { headers: { 'content-encoding': 'zip' } })).status,
    ).toBe(415);
    await app.query('ALTER TABLE costs RENAME TO hidden');
    const costs = {
      project_id: 'acme/demo',
      costs: { m: { prompt_token_cost: 1, completion_token_cost: 1 } },
    };
    expect((await app.post('/cost/create', costs)).status).toBe(500);
    await app.query('ALTER TABLE hidden RENAME TO costs');
    const model = await preview.aModel();
    await preview.aJob(model, groupsOf([aTrajectory()]));
    await app.post('/calls/stream_query', { project_id: 'acme/demo' });
    await nothingIsHeld();
  });

  it('gets back what a client asked for that left while its key was looked up', async () => {
    for (let i = 0; i < 20; i++) {
      const key = await app.aKey('writer'); // a key that is not in the cache
      const socket = connect(Number(new URL(app.url).port), '127.0.0.1');
      socket.write(
        `POST /call/start HTTP/1.1\r\nhost: x\r\nauthorization: ${basic(key)}\r\ncontent-type: application/json\r\ncontent-length: ${MIB - 1}\r\n\r\n`,
        () => socket.resetAndDestroy(),
      );
      await once(socket, 'close');
    }
    await app.post('/calls/query', { project_id: 'acme/demo' });
    await nothingIsHeld();
  });

  it('keeps what a handler still has when its client leaves, and then gets it back', async () => {
    const lock = app.dataSource.createQueryRunner();
    await lock.startTransaction();
    await lock.query('LOCK TABLE costs');
    const costs = {
      project_id: 'acme/demo',
      costs: { m: { prompt_token_cost: 1, completion_token_cost: 1 } },
    };
    const body = JSON.stringify(costs);
    const sent = begun('/cost/create', app.key, { 'content-length': body.length });
    sent.end(body);
    await until(async () => (await blocked()) === 1);
    const before = await held();
    sent.destroy();
    await closed(sent);
    expect(before).toBeGreaterThan(0);
    expect(await held()).toBe(before);
    await lock.rollbackTransaction();
    await lock.release();
    await nothingIsHeld();
  });

  const blocked = async (): Promise<number> =>
    (
      await app.query(
        `SELECT count(*)::int AS n FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
      )
    )[0].n;
});

describe('the rows of a table', () => {
  const tableOf = (count: number) =>
    `{"table":{"project_id":"acme/demo","rows":[{}${',{}'.repeat(count - 1)}]}}`;

  it('are part of what a body takes', async () => {
    expect((await app.post('/table/create', tableOf(10_000))).status).toBe(200);
    expect(await app.post('/table/create', tableOf(300_000))).toMatchObject({
      status: 413,
      body: { code: 'too_large', detail: expect.stringContaining(`limit of ${56 * MIB}`) },
    });
    await nothingIsHeld();
  });
});

describe('a slow or broken request', () => {
  it('gets 408 when its body trickles', async () => {
    const sent = begun('/call/start', app.key, { 'content-length': 1000 });
    sent.write('{');
    expect(await answerTo(sent)).toMatchObject({ status: 408, body: { code: 'request_timeout' } });
    sent.destroy();
    await nothingIsHeld();
  });

  it.each(['/v1/preview/training-jobs'])('gets 408 on %s too', async (path) => {
    const sent = begun(path, app.key, {
      'transfer-encoding': 'chunked',
      authorization: `Bearer ${app.key}`,
    });
    sent.write('{');
    expect(await answerTo(sent)).toMatchObject({ status: 408, body: { code: 'request_timeout' } });
    sent.destroy();
    await nothingIsHeld();
  });

  const raw = async (head: string, body = NO_BODY, { url } = app): Promise<string> => {
    const socket = connect(Number(new URL(url).port), '127.0.0.1');
    socket.on('error', () => {});
    socket.write(head);
    socket.write(body);
    return Buffer.concat(await socket.toArray()).toString();
  };

  it('gets 408 when its head does not end', async () => {
    expect(await raw('GET /health HTTP/1.1\r\nhost: x\r\n')).toMatch(
      /^HTTP\/1\.1 408 Request Timeout\r\n[^]*problem\+json[^]*"code":"request_timeout"/,
    );
  });

  it('is cut when it is refused and goes on for too long', async () => {
    const socket = connect(Number(new URL(app.url).port), '127.0.0.1');
    socket.on('error', () => {});
    socket.write(`POST /call/start HTTP/1.1\r\nhost: x\r\ncontent-length: ${1000 * MIB}\r\n\r\n`);
    const [answer] = await once(socket, 'data');
    expect(String(answer)).toMatch(/^HTTP\/1\.1 401 /);
    const chunk = Buffer.alloc(MIB);
    let sentBytes = 0;
    const send = (error?: Error | null) => {
      if (error) return;
      sentBytes += chunk.length;
      socket.write(chunk, send);
    };
    send();
    await new Promise((resolve) => socket.once('close', resolve));
    expect(sentBytes).toBeGreaterThan(60 * MIB); // closed by its size, not by its time
    expect(sentBytes).toBeLessThan(500 * MIB);
  });

  /** An app that waits long: single bytes are many events, which a busy machine handles slowly. */
  let patient: TestApp;
  beforeAll(async () => {
    patient = await startApp({ BODY_TIMEOUT_SECONDS: '300' });
  });
  afterAll(() => patient.close());

  const byteByByte = (size: number, headers = '', encoded = (bytes: Buffer) => bytes) => {
    const json = JSON.stringify({ start: aStart({ inputs: { x: 'x'.repeat(size) } }) });
    const chunks = [...encoded(Buffer.from(json))].map((byte) =>
      Buffer.concat([Buffer.from('1\r\n'), Buffer.from([byte]), Buffer.from('\r\n')]),
    );
    return raw(
      `POST /call/start HTTP/1.1\r\nhost: x\r\nauthorization: ${basic(patient.key)}\r\n${headers}` +
        'content-type: application/json\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n',
      Buffer.concat([...chunks, Buffer.from('0\r\n\r\n')]),
      patient,
    );
  };

  it('may come byte by byte, and then takes little memory', async () => {
    const joined = jest.spyOn(Buffer, 'concat');
    const sent = byteByByte(40_000);
    joined.mockClear();
    const answer = await sent;
    const kept = joined.mock.calls.map(([list]) => list.length);
    joined.mockRestore();
    expect(answer).toMatch(/^HTTP\/1\.1 200 /);
    expect(Math.max(0, ...kept)).toBeLessThan(1000);
  });

  it.each([
    ['as it is', 60_000, '', undefined],
    [
      'compressed',
      60_000,
      'content-encoding: gzip\r\n',
      (bytes: Buffer) => zlib.gzipSync(bytes, { level: 0 }),
    ],
  ] as const)(
    'is refused when it comes in very many tiny chunks, %s',
    async (_, size, headers, encoded) => {
      const answer = await byteByByte(size, headers, encoded);
      expect(answer).toMatch(/^HTTP\/1\.1 400 /);
      expect(answer).toContain('more than 50000 chunks of less than 16 bytes');
      await nothingIsHeld();
    },
  );

  // the parser reads short texts before the check of their depth
  it.each([0, 70_000])('is refused when it is nested too deep, with %d blanks', async (blanks) => {
    const deep = '['.repeat(30_000) + ' '.repeat(blanks) + ']'.repeat(30_000);
    const start = JSON.stringify({ start: aStart({ inputs: { x: 'deep' } }) });
    for (const body of [deep, start.replace('"deep"', deep)])
      expect(await app.post('/call/start', body)).toMatchObject({
        status: 400,
        body: { code: 'invalid_request' },
      });
  });
});
