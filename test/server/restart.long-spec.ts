import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { Agent, get, type IncomingMessage } from 'node:http';
import { connect, createServer } from 'node:net';
import { join, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { send } from '../support/app.js';
import { openTestDatabase, type TestDatabase } from '../support/database.js';
import { aFolder, run, startServer, watched } from '../support/server.js';
import { until } from '../support/until.js';

let database: TestDatabase;
beforeAll(async () => {
  database = await openTestDatabase();
});
afterAll(async () => {
  await database.drop();
});

const answerOf = (url: string, agent: Agent) =>
  new Promise<IncomingMessage & { wasReused: boolean }>((resolveWith, reject) => {
    const request = get(url, { agent }, (answer) => {
      const whole = Object.assign(answer, { wasReused: request.reusedSocket });
      answer.resume().once('end', () => resolveWith(whole));
    }).once('error', reject);
  });

/** Clients that send requests on kept connections, and reconnect when one is closed, until they are refused. */
function loops(url: string, count: number, restMs = 0) {
  const failures: string[] = [];
  const counts = { answers: 0 };
  const over = new AbortController();
  const loop = async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    while (!over.signal.aborted)
      try {
        await answerOf(url, agent);
        counts.answers++;
        if (restMs > 0) await pause(restMs);
      } catch (error) {
        const { code = String(error) } = error as NodeJS.ErrnoException;
        if (code === 'ECONNREFUSED') break;
        failures.push(code);
      }
    agent.destroy();
  };
  const ended = Promise.all(Array.from({ length: count }, loop));
  return {
    failures,
    counts,
    async end() {
      over.abort();
      await ended;
    },
  };
}

describe.each(['1', '2'])('WORKERS=%s at SIGTERM', (WORKERS) => {
  it('is not ready, takes requests for SHUTDOWN_DELAY_SECONDS more, and resets none of 200 busy connections', async () => {
    const env = { DATABASE_URL: database.url, WORKERS, SHUTDOWN_DELAY_SECONDS: '4' };
    const server = await startServer(env);
    const silent = connect(Number(new URL(server.url).port), '127.0.0.1');
    await once(silent, 'connect');
    const [idle, kept] = [new Agent({ keepAlive: true }), new Agent({ keepAlive: true })];
    await answerOf(`${server.url}/health`, idle);
    expect((await answerOf(`${server.url}/health`, kept)).headers.connection).toBe('keep-alive');
    const clients = loops(`${server.url}/health`, 200);
    await until(() => clients.counts.answers > 1000);
    const exit = server.stop();
    // in parallel: on a busy machine one after the other may take longer than the delay
    const lastAnswer = async () => {
      for (;;) {
        const answer = await answerOf(`${server.url}/health`, kept);
        if (answer.headers.connection === 'close') return answer;
      }
    };
    const [last] = await Promise.all([
      lastAnswer(),
      until(async () => (await fetch(`${server.url}/ready`)).status === 503),
    ]);
    expect(last).toMatchObject({ statusCode: 200, wasReused: true });
    expect(await exit).toBe(0);
    await clients.end();
    expect(clients.failures).toEqual([]);
    for (const agent of [idle, kept]) agent.destroy();
    silent.destroy();
  });
});

describe('a reload', () => {
  it('replaces the workers by those of a new build, fails no request, and does nothing when they do not start', async () => {
    const folder = aFolder();
    cpSync('dist', join(folder.path, 'dist'), { recursive: true });
    cpSync('package.json', join(folder.path, 'package.json'));
    symlinkSync(resolve('node_modules'), join(folder.path, 'node_modules'));
    const version = join(folder.path, 'dist/src/platform/config/version.js');
    const env = { DATA_DIR: join(folder.path, 'data'), WORKERS: '2' };
    const server = watched(process.execPath, [join(folder.path, 'dist/src/main.js')], env);
    await until(() => server.output().includes('listens on'));
    const [, url] = /listens on (http:\S+?)"/.exec(server.output())!;
    const versionNow = async () => {
      const headers = { connection: 'close' }; // a kept connection would reach the old worker
      return (await send(`${url}/server_info`, undefined, headers, 'GET')).body as object;
    };

    const clients = loops(`${url}/server_info`, 4, 10);
    await until(() => clients.counts.answers > 100);
    expect(await versionNow()).not.toMatchObject({ trace_server_version: 'new' });
    writeFileSync(version, readFileSync(version, 'utf8').replace(/(VERSION = )'.*'/, "$1'new'"));
    expect(await run('server/commands/reload.cli.js', env).exit).toBe(0);
    await until(() => server.output().includes('replacing 2 workers'));
    const kept = new Agent({ keepAlive: true, maxSockets: 1 });
    await answerOf(`${url}/health`, kept);
    await until(() => server.output().includes('all workers were replaced'));
    for (let i = 0; i < 4; i++)
      expect(await versionNow()).toMatchObject({ trace_server_version: 'new' });

    // a replaced worker keeps an idle connection until its next answer, which still uses the database
    const late = await answerOf(`${url}/ready`, kept);
    expect(late).toMatchObject({ statusCode: 200, headers: { connection: 'close' } });
    expect(late.wasReused).toBe(true);
    await until(() => (server.output().match(/worker \d+ ended with 0/g) ?? []).length === 2);
    await clients.end();
    expect(clients.failures).toEqual([]);

    rmSync(version);
    server.process.kill('SIGHUP');
    await until(() => server.output().includes('the running workers stay'));
    expect((await fetch(`${url}/ready`)).status).toBe(200);
    server.process.kill('SIGTERM');
    expect(await server.exit).toBe(0);
    const noService = run('server/commands/reload.cli.js', env);
    expect(await noService.exit).toBe(1);
    expect(noService.output()).toContain('kill -HUP');
    folder.remove();
  });
});

const NAMESPACE = ['--pid', '--fork', '--kill-child', '--mount-proc'];
const canUnshare = spawnSync('unshare', [...NAMESPACE, 'true']).status === 0;

describe('SIGTERM during the start', () => {
  /** A server that accepts connections and sends nothing. */
  const muteServer = async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as { port: number };
    return { url: `postgres://u@127.0.0.1:${port}/x`, server };
  };

  it.each(['SIGTERM', 'SIGINT'] as const)('%s ends the wait for a database', async (signal) => {
    const { url, server } = await muteServer();
    const service = run('main.js', { DATABASE_URL: url });
    await once(server, 'connection');
    service.process.kill(signal);
    expect(await service.exit).toBe(0);
    server.close();
  });

  (canUnshare ? it : it.skip)('ends it as process 1 of a container too', async () => {
    const { url, server } = await muteServer();
    const args = [...NAMESPACE, process.execPath, 'dist/src/main.js'];
    const service = watched('unshare', args, { DATABASE_URL: url });
    await once(server, 'connection');
    const { pid } = service.process;
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8');
    process.kill(Number(children), 'SIGTERM');
    expect(await service.exit).toBe(0);
    server.close();
  });

  it('leaves a folder that the next start opens, whenever it comes', async () => {
    const folder = aFolder();
    const service = run('main.js', { DATA_DIR: folder.path, LOG_LEVEL: 'debug' });
    await until(() => service.output().includes('starting PostgreSQL'));
    service.process.kill('SIGTERM');
    expect(await service.exit).toBe(0);
    const next = await startServer({ DATA_DIR: folder.path, LOG_LEVEL: 'debug' });
    expect(next.output()).not.toContain('not properly shut down');
    expect(await next.stop()).toBe(0);
    folder.remove();
  });
});

it('WORKERS=1 does nothing at SIGHUP, and LOG_REQUESTS logs requests without the rest of debug', async () => {
  const server = await startServer({ DATABASE_URL: database.url, LOG_REQUESTS: 'true' });
  server.process.kill('SIGHUP');
  await until(() => server.output().includes('WORKERS=1 has none: nothing was done'));
  expect((await fetch(`${server.url}/health`)).status).toBe(200);
  await until(() => server.output().includes('"route":"/health"'));
  expect(server.output()).toMatch(/"level":30.*"route":"\/health"/);
  expect(server.output()).not.toContain('"level":20');
  expect(await server.stop()).toBe(0);
});
