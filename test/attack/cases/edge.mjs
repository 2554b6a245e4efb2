// Attacks without a key: connections, and the two routes for operators.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { PROJECT, times } from '../client.mjs';

const ASK = ['/ready', '/metrics'].map((path) => `GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n`);

/** Opens half request heads in its own process, because this one may have too few file descriptors. */
const HALF_HEADS = `
const [count, port, host, localAddress] = process.argv.slice(1);
for (let i = 0; i < count; i++) setTimeout(() => require('net').connect({ port, host, localAddress })
  .on('error', () => {}).write('POST /call/start HTTP/1.1\\r\\nhost: x\\r\\n'), i / 5);`;

const aStart = {
  start: { project_id: PROJECT, op_name: 'x', started_at: '2026-01-31T12:00:00Z' },
};

export const cases = [
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
