// Clients that are slow, that are many, or that break the protocol.
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { aBatch, FORM, many, PROJECT, times } from '../client.mjs';

const JSON_BODY = { 'content-type': 'application/json' };
/** Connections that this process may open. Some file descriptors stay free for its other work. */
const MAX_OPEN = 10_000;
const CLAIM = '/v1/preview/trainer/claims';
const STREAM = { project_id: PROJECT };

/** Stores rows whose stream is too large for the buffers between service and client. */
async function fillProject(it) {
  const text = 'z'.repeat(100_000);
  for (let i = 0; i < 4; i++)
    await it.send(
      '/call/upsert_batch',
      aBatch(times(100, (n) => ({ id: `stream-${i}-${n}`, inputs: { text } }))),
    );
}

/** Starts streams and does not read them. */
async function unreadStreams(it, count, as) {
  const body = JSON.stringify(STREAM);
  const sockets = times(count, () => {
    const socket = it.open();
    socket.write(
      it.head('/calls/stream_query', { ...JSON_BODY, 'content-length': body.length }, as) + body,
    );
    socket.once('data', () => socket.pause());
    return socket;
  });
  await pause(1000);
  return sockets;
}

/** Starts uploads. After a first part larger than one chunk they send a little every 100 ms. */
function tricklingUploads(it, count, as) {
  return times(count, () => {
    const socket = it.open();
    socket.write(it.head('/file/create', { ...FORM, 'transfer-encoding': 'chunked' }, as));
    const write = (bytes) => socket.write(`${bytes.length.toString(16)}\r\n${bytes}\r\n`);
    write(
      `--attack\r\ncontent-disposition: form-data; name="project_id"\r\n\r\n${PROJECT}\r\n--attack\r\ncontent-disposition: form-data; name="file"; filename="f"\r\n\r\n${'x'.repeat(600_000)}`,
    );
    const timer = setInterval(() => write('x'.repeat(100)), 100);
    socket.on('close', () => clearInterval(timer));
    socket.end = () => {
      clearInterval(timer);
      write('\r\n--attack--\r\n');
      socket.write('0\r\n\r\n');
    };
    return socket;
  });
}

export const cases = [
  {
    name: 'connections: trickling uploads and unread streams, 6 and then 30 of each',
    isQuick: true,
    async attack(it) {
      await fillProject(it);
      for (const count of [6, 30]) {
        await unreadStreams(it, count);
        tricklingUploads(it, count);
        await pause(2000);
      }
      const { status } = await it.send('/call/start', {
        start: { project_id: PROJECT, op_name: 'x', started_at: '2026-01-31T12:00:00Z' },
      });
      it.must(status === 200, `a start of the same key answered ${status}`);
    },
  },
  {
    name: 'connections: a key that is revoked in claims, streams and uploads under way',
    async attack(it) {
      await fillProject(it);
      const trainer = await it.service.makeKey('trainer', 'acme/*');
      const writer = await it.service.makeKey('writer', 'acme/*');
      const model = JSON.parse(
        (
          await it.send('/v1/preview/models', {
            entity: 'acme',
            project: 'attack',
            name: `m${Date.now()}`,
            base_model: 'Q',
          })
        ).text,
      );
      const claim = it.send(CLAIM, { worker_id: 'w', wait_s: 30 }, { as: trainer.secret });
      const [stream] = await unreadStreams(it, 1, writer.secret);
      const [upload] = tricklingUploads(it, 1, writer.secret);
      await pause(1000);
      await it.service.asAdmin('/keys/revoke', { id: trainer.id });
      await it.service.asAdmin('/keys/revoke', { id: writer.id });
      await pause(6000); // a revocation takes effect within 5 s
      await it.send('/v1/preview/training-jobs', {
        model_id: model.id,
        trajectory_groups: [{ trajectories: [{ reward: 1 }] }],
      });
      upload.end();
      stream.resume();
      const { status } = await claim;
      it.must(status === 401, `a claim that waited answered ${status}`);
      await Promise.race([once(stream, 'close'), pause(5000)]);
      it.must(
        stream.destroyed && !stream.seen.endsWith('0\r\n\r\n'),
        'a stream went on to its end',
      );
      await Promise.race([once(upload, 'data'), once(upload, 'close'), pause(3000)]);
      it.must(!upload.seen.includes(' 200 '), 'an upload was stored');
    },
  },
  {
    name: 'connections: 500 claims that wait',
    isQuick: true,
    async attack(it) {
      await Promise.all(
        times(500, (i) => it.send(CLAIM, { worker_id: `w${i}`, wait_s: 2 }, { as: 'trainer' })),
      );
    },
    answers: [200, 204, 429, 503],
  },
  {
    name: 'connections: 10,000 that stay idle',
    async attack(it) {
      await many(MAX_OPEN, 200, async () => {
        const socket = it.open();
        await Promise.race([once(socket, 'connect'), once(socket, 'close')]);
      });
      await pause(3000);
    },
  },
  {
    name: 'connections: 1,000 slow heads and 1,000 slow bodies',
    async attack(it) {
      const heads = times(1000, () => it.open());
      const bodies = times(1000, () => it.open());
      for (const socket of heads) socket.write('POST /call/start HTTP/1.1\r\nhost: x\r\n');
      for (const socket of bodies)
        socket.write(it.head('/call/start', { ...JSON_BODY, 'content-length': 1_000_000 }));
      for (let i = 0; i < 10; i++) {
        await pause(300);
        for (const socket of heads) socket.write(`x-${i}: y\r\n`);
        for (const socket of bodies) socket.write(' ');
      }
    },
  },
  {
    name: 'connections: a head that never ends is answered 408',
    deadlineMs: 120_000,
    async attack(it) {
      const socket = it.open();
      socket.write('POST /call/start HTTP/1.1\r\nhost: x\r\n');
      await Promise.race([once(socket, 'close'), pause(110_000)]);
      it.must(socket.seen.includes('HTTP/1.1 408'), `it was answered ${socket.seen.slice(0, 30)}`);
    },
  },
  {
    name: 'connections: bodies that announce 31 MiB and stand still, 200 of them',
    async attack(it) {
      const half = Buffer.alloc(8 * 1024 * 1024, ' ');
      await many(200, 20, async () => {
        const socket = it.open();
        socket.write(it.head('/call/start', { ...JSON_BODY, 'content-length': 31 * 1024 * 1024 }));
        await Promise.race([new Promise((resolve) => socket.write(half, resolve)), pause(2000)]);
      });
      await pause(3000);
    },
  },
  {
    name: 'connections: 2,000 pipelined requests on one, 20 of those',
    async attack(it) {
      const body = JSON.stringify({ project_id: PROJECT });
      const one = it.head('/calls/query', { ...JSON_BODY, 'content-length': body.length }) + body;
      await Promise.all(times(20, () => it.raw(one.repeat(2000), 4000)));
    },
  },
  {
    name: 'connections: heads that are too large, too many and odd',
    isQuick: true,
    async attack(it) {
      const line = (name, value) =>
        `GET /health HTTP/1.1\r\nhost: x\r\n${name}: ${value}\r\nconnection: close\r\n\r\n`;
      const large = await it.raw(line('x', 'y'.repeat(100_000)), 3000);
      it.must(large.statuses[0] === '431', `a large header was answered ${large.statuses[0]}`);
      await it.raw(
        `GET /health HTTP/1.1\r\nhost: x\r\n${'a: b\r\n'.repeat(2500)}connection: close\r\n\r\n`,
        3000,
      );
      await it.raw(`GET /health?${'x'.repeat(100_000)} HTTP/1.1\r\nhost: x\r\n\r\n`, 3000);
      for (const bytes of [
        '\0'.repeat(10_000),
        'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
        'GET / HTTP/9.9\r\n\r\n',
        '\r\n'.repeat(10_000),
        'CONNECT a:1 HTTP/1.1\r\nhost: x\r\n\r\n',
        'GET /health HTTP/1.1\r\nhost: x\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n',
        'POST /call/start HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\n{}',
        'POST /call/start HTTP/1.1\r\nhost: x\r\ncontent-length: -1\r\n\r\n{}',
        'POST /call/start HTTP/1.1\r\nhost: x\r\ncontent-length: 99999999999999999999\r\n\r\n{}',
        'POST /call/start HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\ncontent-length: 3\r\n\r\n0\r\n\r\n',
        'POST /call/start HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\nffffffffffffffff\r\n',
        'POST /call/start HTTP/1.1\r\nhost: x\r\ntransfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n',
      ])
        await it.raw(bytes, 300);
    },
  },
  {
    name: 'connections: methods, ranges, encodings and addresses that nobody expects',
    async attack(it) {
      for (const method of [
        'HEAD',
        'OPTIONS',
        'PUT',
        'PATCH',
        'DELETE',
        'TRACE',
        'PROPFIND',
        'SEARCH',
        'M-SEARCH',
      ])
        for (const path of [
          '/health',
          '/call/start',
          '/docs',
          '/openapi.json',
          '/file/content',
          '/v1/preview/models',
        ])
          await it.send(path, undefined, { method });
      for (const headers of [
        { range: 'bytes=0-1' },
        { range: `bytes=${'0-1,'.repeat(3000)}0-1` },
        { 'if-none-match': `"${'x'.repeat(8000)}"` },
        { accept: 'a/b;q=0.1,'.repeat(800) },
        { 'accept-encoding': 'gzip;q=0.1,'.repeat(800) },
        { 'x-request-id': 'x'.repeat(8000) },
        { 'x-forwarded-for': '1.2.3.4,'.repeat(1000) },
        { expect: '100-continue' },
        { expect: 'something' },
        { 'content-encoding': 'gzip, '.repeat(500) },
        { 'content-type': `application/json${';a=b'.repeat(3000)}` },
      ])
        for (const [path, method] of [
          ['/health', 'GET'],
          ['/openapi.json', 'GET'],
          ['/docs', 'GET'],
          ['/calls/query', 'POST'],
        ])
          await it.send(path, method === 'POST' ? { project_id: PROJECT } : undefined, {
            method,
            headers,
          });
      for (const path of [
        '/%',
        '/%00',
        '/..%2f..%2fetc/passwd',
        '/docs/../../package.json',
        '/docs/%2e%2e%2f%2e%2e%2fpackage.json',
        '/v2/%00/x/call/start',
        `/v2/${'%25'.repeat(2000)}/x/call/start`,
        `/v1/preview/models?${'limit=1&'.repeat(1500)}`,
        '/v1/preview/models?limit[a][b][c]=1',
        '/v1/preview/models?limit=1e999',
        '/v1/preview/models/%00/checkpoints',
        '/v1/preview/training-jobs/x/events?after[]=1&__proto__[x]=1',
        `/${'/'.repeat(8000)}`,
      ]) {
        await it.send(path, undefined, { method: 'GET' });
        await it.send(path, {});
      }
    },
    answers: [200, 204, 400, 401, 403, 404, 405, 413, 415, 417],
  },
  {
    name: 'connections: 500 times each public page at 200 connections',
    async attack(it) {
      await many(2000, 200, (i) =>
        it.send(['/docs', '/openapi.json', '/metrics', '/ready'][i % 4], undefined, {
          method: 'GET',
        }),
      );
    },
  },
];
