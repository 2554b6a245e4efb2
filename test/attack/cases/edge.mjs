// Attacks without a key: connections, and the two routes for operators.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { newSecret } from '../../../dist/src/platform/auth/keys/secret.js';
import { PROJECT, times } from '../client.mjs';
import { Browser } from '../provider.mjs';
import { basic } from '../service.mjs';

const ASK = ['/ready', '/metrics'].map((path) => `GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n`);

/** Opens half request heads in its own process, because this one may have too few file descriptors. */
const HALF_HEADS = `
const [count, port, host, localAddress] = process.argv.slice(1);
for (let i = 0; i < count; i++) setTimeout(() => require('net').connect({ port, host, localAddress })
  .on('error', () => {}).write('POST /call/start HTTP/1.1\\r\\nhost: x\\r\\n'), i / 5);`;

const aStart = {
  start: { project_id: PROJECT, op_name: 'x', started_at: '2026-01-31T12:00:00Z' },
};

/**
 * Opens connections in its own process, of which each always has a request without a key under way. It writes a line
 * once every connection was answered or closed.
 */
const ASKERS = `
const [count, port, host] = process.argv.slice(1);
let silent = count;
const heard = () => --silent || console.log('all');
for (let i = 0; i < count; i++) setTimeout(() => {
  const socket = require('net').connect({ port, host }).on('error', () => {});
  const ask = () => socket.write('GET /console/ HTTP/1.1\\r\\nhost: x\\r\\n\\r\\n');
  socket.on('connect', ask).on('data', (chunk) => chunk.includes('HTTP/1.1 ') && ask());
  Promise.any(['data', 'close'].map((name) => require('events').once(socket, name))).then(heard, heard);
}, i / 2);`;

/** Sends requests one after the other until then. Returns the largest waiting time. */
async function slowest(it, until, send) {
  let worst = 0;
  do {
    const began = performance.now();
    const status = await send();
    it.count(status);
    it.must(status === 200, `somebody with a key or a session is answered ${status}`);
    worst = Math.max(worst, performance.now() - began);
    await pause(50);
  } while (performance.now() < until);
  return worst;
}

/**
 * Attacks from the address of a person, a key, /health and the console, which begin once the attack resolves. Each of
 * their requests has a new connection.
 */
export async function beside(it, attack) {
  const { publicUrl } = it.service.provider;
  const ada = new Browser(publicUrl);
  await ada.signIn('ada');
  const headers = { 'x-skein-console': '1', connection: 'close' };
  const me = async () => {
    const response = await ada.request(`${publicUrl}/me`, { headers });
    await response.text();
    return response.status;
  };
  const page = async (path) => {
    const response = await fetch(it.service.url + path, { headers: { connection: 'close' } });
    await response.text();
    return response.status;
  };
  const start = async () =>
    (await it.send('/call/start', aStart, { headers: { connection: 'close' } })).status;
  await Promise.race([attack(), pause(30_000)]); // while thousands connect, the kernel drops connections of anybody
  await pause(2000);
  const until = performance.now() + 8000;
  const worst = await Promise.all(
    [me, start, () => page('/health'), () => page('/console/')].map((send) =>
      slowest(it, until, send),
    ),
  );
  const allowedMs = Math.max(1000, 100 * it.options.slowness);
  it.must(Math.max(...worst) < allowedMs, `others waited for ${worst.map(Math.round)} ms`);
}

export const cases = [
  {
    name: 'edge: 20,000 pipelined requests with a made-up key on each of 10 connections',
    isQuick: true,
    async attack(it) {
      const own = () => it.send('/call/start', aStart, { as: 'attacker' });
      const starts = async (ms) => {
        const until = performance.now() + ms;
        let count = 0;
        for (; performance.now() < until; count++) it.must((await own()).status === 200, 'a start');
        return count;
      };
      const alone = await starts(2000);
      const one = `GET /me HTTP/1.1\r\nhost: x\r\nauthorization: ${basic(newSecret())}\r\n\r\n`;
      const sockets = times(10, () => it.open());
      for (const socket of sockets) socket.write(one.repeat(20_000));
      const beside = await starts(2000);
      it.must(beside >= alone / 3, `${beside} starts of another key, and ${alone} before`);
      await pause(3000);
      for (const { seen, destroyed } of sockets) {
        it.must(destroyed, 'a connection is still open');
        it.must(seen.split('HTTP/1.1 ').length <= 20, 'a connection got more than a few answers');
      }
    },
    answers: [200],
  },
  {
    name: 'edge: 4,900 connections without a key beside people and keys of their address',
    isQuick: true,
    attack: (it) =>
      beside(it, async () => {
        const strangers = spawn(process.execPath, ['-e', ASKERS, '4900', it.port, it.host], {
          stdio: ['ignore', 'pipe', 'ignore'],
        });
        it.children.add(strangers);
        await once(strangers.stdout, 'data');
      }),
    answers: [200],
  },
  {
    name: 'edge: /ready and /metrics without a key, asked by 3,000 connections again and again',
    async attack(it) {
      const until = performance.now() + 8000;
      for (const [i, socket] of times(3000, () => it.open('127.0.0.2')).entries()) {
        const ask = () => performance.now() < until && socket.write(ASK[i % 2]);
        socket.on('connect', ask);
        socket.on('data', (chunk) => chunk.includes('HTTP/1.1 ') && ask());
      }
      for (let i = 0; i < 20; i++) {
        await pause(400);
        const started = performance.now();
        const { status } = await it.send('/call/start', aStart, { as: 'attacker' });
        it.must(status === 200, `a start on a new connection answered ${status}`);
        it.must(performance.now() - started < 3000, 'a start on a new connection is slow');
      }
    },
    answers: [200],
  },
  {
    name: 'edge: 21,600 half heads without a key, from two addresses',
    async attack(it) {
      const others = ['127.0.0.2', '127.0.0.3'].map((address) =>
        spawn(process.execPath, ['-e', HALF_HEADS, '10800', it.port, it.host, address], {
          stdio: 'ignore',
        }),
      );
      for (let i = 0; i < 16; i++) {
        await pause(1000);
        const socket = it.open(); // a new connection each time
        socket.write('GET /health HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n');
        await Promise.race([once(socket, 'close'), pause(3000)]);
        it.must(socket.seen.includes(' 200 '), `a new connection saw ${socket.seen.slice(0, 20)}`);
      }
      const { status } = await it.send('/call/start', aStart);
      it.must(status === 200, `a start answered ${status}`);
      for (const other of others) other.kill('SIGKILL');
    },
    answers: [200],
  },
];
