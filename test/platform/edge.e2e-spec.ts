import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import { connect } from 'node:net';
import { brotliCompressSync, createGzip, deflateSync, gzipSync } from 'node:zlib';
import { ERRORS } from '../../src/platform/errors.js';
import { VERSION } from '../../src/platform/config/version.js';
import { refuseConnections } from '../support/database.js';
import { basic, send, startApp, type TestApp, useApp } from '../support/app.js';
import { aStart } from '../support/factories.js';
import { until } from '../support/until.js';
import { metrics } from '../../src/platform/process/metrics.js';

const MIB = 1024 * 1024;

describe('the edge', () => {
  const app = useApp();

  const startOf = (bytes: number) =>
    JSON.stringify({ start: aStart({ inputs: { x: 'x'.repeat(bytes) } }) });

  it('answers errors as problem details with the request id', async () => {
    const answer = await app.post(
      '/call/read',
      {},
      { headers: { 'x-request-id': 'my-request:1' } },
    );
    expect(answer.headers.get('content-type')).toContain('application/problem+json');
    expect(answer.headers.get('x-request-id')).toBe('my-request:1');
    expect(answer.body).toEqual({
      type: expect.stringContaining('#invalid_request'),
      title: 'The request is not valid',
      status: 400,
      detail: expect.stringContaining('project_id'),
      code: 'invalid_request',
      errors: [
        expect.objectContaining({ path: 'project_id' }),
        expect.objectContaining({ path: 'id' }),
      ],
      request_id: 'my-request:1',
    });
  });

  it.each(['', 'a b', 'x'.repeat(200), '<script>'])(
    'makes a request id of its own instead of %j',
    async (sent) => {
      const answer = await app.post('/call/read', {}, { headers: { 'x-request-id': sent } });
      expect(answer.headers.get('x-request-id')).toMatch(/^[\da-f-]{36}$/);
    },
  );

  it('refuses what is no HTTP in the same form', async () => {
    const socket = connect(Number(new URL(app.url).port), '127.0.0.1');
    socket.end('NO HTTP AT ALL\r\n\r\n');
    const answer = Buffer.concat(await socket.toArray()).toString();
    expect(answer).toMatch(
      /^HTTP\/1\.1 400 [^]*x-request-id: [\da-f-]{36}[^]*"code":"invalid_request"/,
    );
  });

  it('refuses headers over the limit by 431', async () => {
    const answer = await fetch(`${app.url}/health`, { headers: { long: 'x'.repeat(17_000) } });
    expect([answer.status, await answer.json()]).toEqual([
      431,
      expect.objectContaining({ code: 'headers_too_large', status: 431 }),
    ]);
  });

  it('answers 408 to a request that takes too long', async () => {
    const server = app.app.getHttpServer();
    const socket = connect(Number(new URL(app.url).port), '127.0.0.1');
    const [connection] = await once(server, 'connection');
    const late = Object.assign(new Error('Request timeout'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' });
    server.emit('clientError', late, connection); // as Node does when the head of a request is late
    const answer = Buffer.concat(await socket.toArray()).toString();
    expect(answer).toMatch(/^HTTP\/1\.1 408 Request Timeout[^]*"code":"request_timeout"/);
  });

  it('answers 404 for what is not there', async () => {
    expect(await app.post('/nope', {})).toMatchObject({ status: 404, body: { code: 'not_found' } });
    expect((await fetch(`${app.url}/call/start`)).status).toBe(404);
  });

  it.each([
    ['', 'empty'],
    ['{"a":', 'not valid JSON, at byte 5'],
    ['{"é":NaN}', 'not valid JSON, at byte 6'],
    [`[${'1,'.repeat(MIB)}NaN]`, 'not valid JSON'],
    ['{"a":1}}', 'not valid JSON, at byte 7'],
    ['\ufeff{}', 'not valid JSON, at byte 0'],
    [Buffer.from([0x7b, 0xff, 0x7d]), 'UTF-8'],
  ])('refuses the body %j as invalid_json', async (body, why) => {
    const answer = await app.post('/call/read', body);
    expect(answer).toMatchObject({
      status: 400,
      body: { code: 'invalid_json', detail: expect.stringContaining(why) },
    });
  });

  it('never repeats the body in an error', async () => {
    const { text } = await app.post('/call/read', '{"password":"hunter2" oops');
    expect(text).not.toContain('hunter2');
  });

  it.each([
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/jsonx',
  ])('refuses the media type %s', async (type) => {
    const answer = await app.post('/call/read', '{}', { headers: { 'content-type': type } });
    expect(answer).toMatchObject({ status: 415, body: { code: 'unsupported_media_type' } });
  });

  it.each([
    'application/json',
    'application/json; charset=utf-8',
    'application/vnd.skein+json',
    'APPLICATION/JSON',
  ])('takes the media type %s', async (type) => {
    const answer = await app.post('/call/read', '{"project_id":"a/b","id":"x"}', {
      headers: { 'content-type': type },
    });
    expect(answer.status).toBe(200);
  });

  it('refuses another charset and another encoding', async () => {
    expect(
      (await app.post('/call/read', '{}', { headers: { 'content-encoding': 'zip' } })).status,
    ).toBe(415);
    expect(
      (
        await app.post('/call/read', '{}', {
          headers: { 'content-type': 'application/json; charset=latin1' },
        })
      ).status,
    ).toBe(415);
  });

  it.each([
    ['gzip', gzipSync],
    ['deflate', deflateSync],
    ['br', brotliCompressSync],
  ])('inflates %s', async (encoding, compress) => {
    const answer = await app.post('/call/start', compress(startOf(100)), {
      headers: { 'content-encoding': encoding },
    });
    expect(answer.status).toBe(200);
  });

  it('refuses what does not inflate', async () => {
    for (const body of ['no gzip', gzipSync(startOf(10_000)).subarray(0, 60)])
      expect(
        await app.post('/call/start', body, { headers: { 'content-encoding': 'gzip' } }),
      ).toMatchObject({ status: 400, body: { code: 'invalid_json' } });
  });

  it('takes a call of 20 MiB and gives it back', async () => {
    const { status, body } = await app.post('/call/start', startOf(20 * MIB));
    expect(status).toBe(200);
    const { body: read } = await app.post('/call/read', { project_id: 'acme/demo', id: body.id });
    expect(read.call.inputs.x).toHaveLength(20 * MIB);
  });

  it.each<[string, Record<string, string>]>([
    ['a body of 33 MiB', {}],
    ['33 MiB under gzip', { 'content-encoding': 'gzip' }],
  ])('refuses %s and names the limit', async (_, headers) => {
    const body = startOf(33 * MIB);
    const answer = await app.post(
      '/call/start',
      headers['content-encoding'] ? gzipSync(body) : body,
      { headers },
    );
    expect(answer).toMatchObject({
      status: 413,
      body: { code: 'too_large', detail: `the body is over the limit of ${32 * MIB} bytes` },
    });
  });

  it('refuses a gzip bomb while inflating it', async () => {
    const before = process.memoryUsage().rss;
    let peak = before;
    const watch = setInterval(() => (peak = Math.max(peak, process.memoryUsage().rss)), 5);
    const bomb = await gzipOf(200 * MIB);
    peak = before;
    const answer = await app.post('/call/start', bomb, { headers: { 'content-encoding': 'gzip' } });
    clearInterval(watch);
    expect(answer).toMatchObject({ status: 413, body: { code: 'too_large' } });
    expect(peak - before).toBeLessThan(150 * MIB);
  });

  it('survives a client that leaves in the middle of its body', async () => {
    for (let i = 0; i < 5; i++) {
      await new Promise<void>((resolve) => {
        const half = request(`${app.url}/call/start`, {
          method: 'POST',
          headers: {
            authorization: basic(app.key),
            'content-type': 'application/json',
            'content-length': 1000,
          },
        });
        half.on('error', () => resolve());
        half.write('{"start":');
        setImmediate(() => half.destroy());
      });
    }
    expect((await app.post('/call/read', { project_id: 'a/b', id: 'x' })).status).toBe(200);
  });

  it('answers the operations of a probe without a key', async () => {
    const get = async (path: string) => (await fetch(app.url + path)).json();
    expect(await get('/health')).toEqual({ status: 'ok' });
    expect(await get('/ready')).toMatchObject({
      database: 'reachable',
      migrations: 'at_head',
      writes: 'taken',
      draining: false,
    });
    expect(await get('/server_info')).toEqual({
      otlp_fold: expect.stringContaining('codex*'),
      min_required_weave_python_version: '0.0.1',
      trace_server_version: VERSION,
      commit: expect.any(String),
      schema: expect.stringMatching(/^\w+\d{13}$/),
      wire_dialect: 'svc',
      sign_in: [],
      key_sign_in: true,
    });
    const metrics = await (await fetch(`${app.url}/metrics`)).text();
    expect(metrics).toMatch(
      /skein_http_request_duration_seconds_count\{method="POST",route="\/call\/start",status="200"\} \d+/,
    );
    expect(metrics).toContain('skein_calls_waiting 0');
    expect(metrics).toMatch(/skein_database_connections\{state="idle"\} \d/);
    expect(metrics).toContain('process_resident_memory_bytes');
  });

  it('describes itself', async () => {
    const document: any = await (await fetch(`${app.url}/openapi.json`)).json();
    expect(document.info).toMatchObject({ title: 'Skein', version: VERSION });
    expect((await fetch(`${app.url}/docs`)).headers.get('content-type')).toContain('text/html');
  });

  it('serves the page that the type of an error leads to', async () => {
    const { body } = await app.post('/call/start', {});
    expect(body.type).toBe('/errors#invalid_request');
    const response = await fetch(new URL(body.type, `${app.url}/call/start`));
    expect([response.status, response.headers.get('content-type')]).toEqual([
      200,
      'text/html; charset=utf-8',
    ]);
    expect(response.headers.get('content-security-policy')).toContain("default-src 'none'");
    const ids = [...(await response.text()).matchAll(/id="(\w+)"/g)].map(([, id]) => id);
    expect(ids).toEqual(Object.keys(ERRORS));
  });

  it('docs/errors.md says of every code its status and what to do', () => {
    const page = readFileSync('docs/errors.md', 'utf8');
    const listed = page.matchAll(/^## `(\w+)` \((\d{3})\)$[^]*?^\*\*What to do[.]\*\* (.+)$/gm);
    expect(
      Object.fromEntries(
        [...listed].map(([, code, status, todo]) => [code, { status: Number(status), todo }]),
      ),
    ).toEqual(
      Object.fromEntries(
        Object.entries(ERRORS).map(([code, { status, todo }]) => [code, { status, todo }]),
      ),
    );
  });

  it('docs/operate.md says of every metric what it means, and alerts and dashboard are about metrics that there are', async () => {
    const names = metrics.getMetricsAsArray().map(({ name }) => name);
    const table = readFileSync('docs/operate.md', 'utf8').split('## Metrics')[1]!;
    const listed = [...table.matchAll(/`((?:skein|nodejs|process)_\w+)`/g)].map(
      ([, name]) => name!,
    );
    expect(listed.toSorted()).toEqual(names.toSorted());
    for (const file of ['prometheus/alerts.yaml', 'grafana/skein.json'])
      for (const [name] of readFileSync(`deploy/${file}`, 'utf8').matchAll(
        /\b(skein|nodejs|process)_\w+/g,
      ))
        expect(names).toContain(name.replace(/_(count|bucket)$/, ''));
  });

  const hasPromtool = spawnSync('promtool', ['--version']).status === 0;
  (hasPromtool ? it : it.skip)('has metrics that promtool has nothing against', async () => {
    const input = await (await fetch(`${app.url}/metrics`)).text();
    const { stdout, stderr } = spawnSync('promtool', ['check', 'metrics'], { input });
    expect(stdout.toString() + stderr.toString()).toBe('');
  });

  it('tells the size of the database and changes that statistics lack, and no disk but its own', async () => {
    const page = await (await fetch(`${app.url}/metrics`)).text();
    const valueOf = (name: string) => Number(new RegExp(`^${name} (.+)$`, 'm').exec(page)?.[1]);
    const [{ bytes }] = await app.query('SELECT pg_database_size(current_database()) AS bytes');
    expect(valueOf('skein_database_size_bytes')).toBeGreaterThan(Number(bytes) / 2);
    expect(page).toMatch(/^skein_marks\{table="thread_marks"\} \d+$/m);
    expect(page).not.toMatch(/^skein_disk_/m); // the disk of an external database is unknown
  });

  it('lives through lost connections: of transactions, of statements, of streams nobody reads', async () => {
    const batch = {
      batch: Array.from({ length: 50 }, () => ({ mode: 'start', req: { start: aStart() } })),
    };
    const stalled = request(`${app.url}/calls/stream_query`, {
      method: 'POST',
      headers: { authorization: basic(app.key), 'content-type': 'application/json' },
    });
    stalled.on('error', () => {}).end('{"project_id":"acme/demo"}');
    for (let i = 0; i < 20; i++) {
      const [, ...answers] = await Promise.all([
        loseConnections(app),
        app.post('/call/upsert_batch', batch, { headers: { 'idempotency-key': `lost-${i}` } }),
        app.post('/call/start', { start: aStart() }),
        app
          .post('/calls/query', { project_id: 'acme/lost', limit: 1 })
          .catch(() => ({ status: 'cut' })),
      ]);
      for (const { status } of answers) expect([200, 503, 'cut']).toContain(status);
    }
    stalled.destroy();
    await until(async () => (await app.post('/call/start', { start: aStart() })).status === 200);
  });

  it('says unavailable, and nothing else, when the database is gone', async () => {
    const other = await startApp();
    const { body } = await other.post('/call/start', { start: aStart({ id: 'a' }) });
    expect(body.id).toBe('a');
    await refuseConnections(other.databaseUrl);
    const headers = { authorization: basic(other.key) };
    const answer = await send(`${other.url}/call/start`, { start: aStart() }, headers);
    expect(answer).toMatchObject({ status: 503, body: { code: 'unavailable' } });
    expect(answer.headers.get('retry-after')).toBe('1');
    expect(answer.text).not.toMatch(/select|insert|skein_test/i);
    const stream = await send(`${other.url}/calls/stream_query`, { project_id: 'a/b' }, headers);
    expect(stream.status).toBe(503);
    expect((await fetch(`${other.url}/health`)).status).toBe(200);
    expect((await fetch(`${other.url}/ready`)).status).toBe(503);
    await other.close();
  });
});

/** Ends all other connections to the database. */
async function loseConnections(app: TestApp): Promise<void> {
  const { Client } = await import('pg');
  const client = new Client(app.databaseUrl);
  await client.connect();
  await client.query(
    'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
  );
  await client.end();
}

async function gzipOf(bytes: number): Promise<Buffer> {
  const gzip = createGzip();
  const chunks: Buffer[] = [];
  gzip.on('data', (chunk: Buffer) => chunks.push(chunk));
  const block = Buffer.alloc(MIB, ' ');
  for (let i = 0; i < bytes / MIB; i++)
    if (!gzip.write(block)) await new Promise((resolve) => gzip.once('drain', resolve));
  gzip.end();
  await new Promise((resolve) => gzip.once('end', resolve));
  return Buffer.concat(chunks);
}
