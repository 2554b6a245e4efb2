import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { openTestDatabase, type TestDatabase } from '../support/database.js';
import { aStart } from '../support/factories.js';
import { type Server, startServer } from '../support/server.js';
import { until } from '../support/until.js';

describe('WORKERS=3', () => {
  let database: TestDatabase;
  let server: Server;
  beforeAll(async () => {
    database = await openTestDatabase();
    server = await startServer({ DATABASE_URL: database.url, WORKERS: '3' });
  });
  afterAll(async () => {
    await server.stop('SIGKILL');
    await database.drop();
  });

  const pids = () => childrenOf(server.process.pid!);
  const write = (id: string) => server.post('/call/start', { start: aStart({ id }) });

  it('shares one port among three processes and counts their requests together', async () => {
    expect(pids()).toHaveLength(3);
    const ids = Array.from({ length: 60 }, (_, i) => `c${i}`);
    for (const { status } of await Promise.all(ids.map(write))) expect(status).toBe(200);
    const metrics = await (await fetch(`${server.url}/metrics`)).text();
    expect(metrics).toMatch(
      /skein_http_request_duration_seconds_count\{method="POST",route="\/call\/start",status="200"\} 60\n/,
    );
    expect((await server.post('/calls/query_stats', { project_id: 'acme/demo' })).body.count).toBe(
      60,
    );
  });

  it('replaces a worker that dies', async () => {
    const [victim] = pids();
    process.kill(victim!, 'SIGKILL');
    await until(() => pids().length === 3 && !pids().includes(victim!));
    await until(async () => (await write('after').catch(() => null))?.status === 200);
  });

  it('stops all of them at SIGTERM, and exits 0', async () => {
    const before = pids();
    expect(await server.stop()).toBe(0);
    for (const pid of before) expect(() => process.kill(pid, 0)).toThrow();
  });

  it('ends with a primary that was killed', async () => {
    server = await startServer({ DATABASE_URL: database.url, WORKERS: '2' });
    const before = pids();
    await server.stop('SIGKILL');
    const isAlive = (pid: number) => {
      try {
        return process.kill(pid, 0);
      } catch {
        return false;
      }
    };
    await until(() => !before.some(isAlive));
  });
});

function childrenOf(pid: number): number[] {
  const list = existsSync('/proc/self/task')
    ? readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
    : execFileSync('pgrep', ['-P', String(pid)], { encoding: 'utf8' });
  return list.split(/\s+/).filter(Boolean).map(Number);
}
