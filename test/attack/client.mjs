// The client that a case attacks with.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import http from 'node:http';
import { connect } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { brotliCompressSync, constants, deflateSync, gzipSync } from 'node:zlib';
import { basic } from './service.mjs';

const KEPT_BYTES = 8_000_000;
export const PROJECT = 'acme/attack';
export const AT = '2026-01-31T12:00:00Z';

/** Functions that compress a body, keyed by `Content-Encoding`. */
export const COMPRESS = {
  gzip: gzipSync,
  deflate: deflateSync,
  br: (bytes) => brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } }),
};

/** Calls `work(i)` `count` times, `width` at a time. */
export async function many(count, width, work) {
  let next = 0;
  const lane = async () => {
    while (next < count) await work(next++);
  };
  await Promise.all(Array.from({ length: Math.min(width, count) }, lane));
}

/** Opens connections, writes the same bytes to each, reads or not, and opens again what it sees closed. */
const LEAVING = `
const [count, port, host, localAddress, reads] = process.argv.slice(1);
const parts = [];
let connected = 0;
process.stdin.on('data', (part) => parts.push(part)).on('end', () => {
  const bytes = Buffer.concat(parts);
  const open = () => {
    const socket = require('net').connect({ port, host, localAddress }).on('error', () => {});
    socket.once('connect', () => ++connected == count && console.log('all'));
    socket.once('close', () => setTimeout(open, 500)).write(bytes);
    if (reads === 'reads') socket.resume();
    else socket.pause();
  };
  for (let i = 0; i < count; i++) setTimeout(open, i / 2);
});
setInterval(() => {}, 1000);`; // a socket that does not read keeps no process alive

export const times = (count, make) => Array.from({ length: count }, (_, i) => make(i));

/** One attack on a service. It counts the answers by status and collects the problems. */
export class Client {
  /** @type {Record<string, number>} */
  statuses = {};
  problems = [];
  sockets = new Set();
  children = new Set();
  agent = new http.Agent({ keepAlive: true, maxSockets: 512 });

  constructor(service, options = {}) {
    this.service = service;
    this.options = options;
    const { hostname, port } = new URL(service.url);
    this.host = hostname;
    this.port = Number(port);
  }

  count(status) {
    this.statuses[status] = (this.statuses[status] ?? 0) + 1;
  }

  /** Records a problem unless the condition holds. */
  must(holds, problem) {
    if (!holds && !this.problems.includes(problem)) this.problems.push(problem);
  }

  authorization(path, as = 'attacker') {
    const secret = this.service.keys[as] ?? as;
    return path.startsWith('/v1/preview') ? `Bearer ${secret}` : basic(secret);
  }

  /**
   * Sends a request. Returns the status, the headers, the first bytes as text, and the number of bytes.
   * @param {string} path
   * @param {unknown} [body]
   * @param {{ method?: string, headers?: object, as?: string, compress?: string, timeoutMs?: number }} [options]
   * @returns {Promise<{ status: number | string, headers: any, text: string, size: number }>}
   */
  send(path, body, { method = 'POST', headers = {}, as, compress, timeoutMs = 60_000 } = {}) {
    let bytes = typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body);
    if (compress) bytes = COMPRESS[compress](bytes);
    return new Promise((resolve) => {
      const done = (status, answer, text = '', size = 0) => {
        clearTimeout(timer);
        this.count(status);
        if (status === 503) this.must(answer.headers['retry-after'], '503 must carry Retry-After');
        resolve({ status, headers: answer?.headers ?? {}, text, size });
      };
      const request = http.request({
        host: this.host,
        port: this.port,
        path,
        method,
        agent: this.agent,
        headers: {
          'content-type': 'application/json',
          authorization: this.authorization(path, as),
          ...(compress && { 'content-encoding': compress }),
          ...(bytes !== undefined && { 'content-length': Buffer.byteLength(bytes) }),
          ...headers,
        },
      });
      const timer = setTimeout(() => request.destroy(new Error('timeout')), timeoutMs);
      request.on('error', ({ message }) => done(message === 'timeout' ? 'timeout' : 'cut'));
      request.on('response', (answer) => {
        let text = '';
        let size = 0;
        answer.on('data', (chunk) => {
          size += chunk.length;
          if (text.length < KEPT_BYTES) text += chunk;
        });
        answer.on('end', () => done(answer.statusCode, answer, text, size));
        answer.on('error', () => done('cut'));
      });
      request.end(bytes);
    });
  }

  /** Opens a TCP connection. `seen` is the received text. The end of the case closes it. */
  open(localAddress, port = this.port) {
    const at = { port, host: this.host, localAddress };
    const socket = Object.assign(connect(at), { seen: '' });
    socket.on('data', (chunk) => (socket.seen = (socket.seen + chunk).slice(-KEPT_BYTES)));
    socket.on('error', () => {});
    this.sockets.add(socket);
    socket.on('close', () => this.sockets.delete(socket));
    return socket;
  }

  /**
   * Opens connections in a process of its own, writes the bytes to each, and leaves them open. It opens 2,000 a second.
   * Resolves when so many have been connected.
   */
  async leave(count, bytes, { localAddress = '127.0.0.2', port = this.port, reads = true } = {}) {
    const how = reads ? 'reads' : 'reads nothing';
    const args = ['-e', LEAVING, count, port, this.host, localAddress, how].map(String);
    const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] });
    child.stdin.end(bytes);
    this.children.add(child);
    await once(child.stdout, 'data');
  }

  /** Writes bytes on a new connection, and counts the statuses that come back in time. */
  async raw(bytes, ms = 2000) {
    const socket = this.open();
    socket.write(bytes);
    await Promise.race([new Promise((resolve) => socket.on('close', resolve)), pause(ms)]);
    socket.destroy();
    const found = [...socket.seen.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) => status);
    for (const status of found) this.count(status);
    return { statuses: found, text: socket.seen };
  }

  /** Returns the head of a request. The caller writes the body. */
  head(path, headers, as) {
    const all = { host: 'attacked', authorization: this.authorization(path, as), ...headers };
    const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
    return `POST ${path} HTTP/1.1\r\n${lines.join('')}\r\n`;
  }

  close() {
    for (const socket of this.sockets) socket.destroy();
    for (const child of this.children) child.kill('SIGKILL');
    this.agent.destroy();
  }
}

/** Returns the start of a call as JSON text. */
export const aStart = (more = {}) => ({
  project_id: PROJECT,
  op_name: 'attack',
  started_at: AT,
  ...more,
});

/** Returns a body of `/call/upsert_batch` with these starts. */
export const aBatch = (starts) => ({
  batch: starts.map((start) => ({ mode: 'start', req: { start: aStart(start) } })),
});

/** A protobuf field of the wire type "length-delimited". */
export function field(number, bytes) {
  const length = [];
  for (let rest = bytes.length; ; rest = Math.floor(rest / 128)) {
    length.push((rest % 128) + (rest >= 128 ? 128 : 0));
    if (rest < 128) break;
  }
  return Buffer.concat([Buffer.from([number * 8 + 2, ...length]), bytes]);
}

/** Returns a multipart body from `[name, value]` pairs. A value that is a Buffer becomes a file. */
export function multipart(parts, boundary = 'attack') {
  const chunks = parts.map(([name, value]) =>
    Buffer.concat([
      Buffer.from(
        `--${boundary}\r\ncontent-disposition: form-data; name="${name}"` +
          `${Buffer.isBuffer(value) ? '; filename="f"' : ''}\r\n\r\n`,
      ),
      Buffer.from(value),
      Buffer.from('\r\n'),
    ]),
  );
  return Buffer.concat([...chunks, Buffer.from(`--${boundary}--\r\n`)]);
}
export const FORM = { 'content-type': 'multipart/form-data; boundary=attack' };
