import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, statSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import pg from 'pg';
import { MIGRATIONS } from '../../src/platform/database/migrate.js';
import { isSecret, newSecret } from '../../src/platform/auth/keys/secret.js';
import { basic, linesOf, send } from '../support/app.js';
import { openTestDatabase, testServers } from '../support/database.js';
import { aStart } from '../support/factories.js';
import { aFolder, npmStart, run, type Server, startServer } from '../support/server.js';
import { until } from '../support/until.js';

const isAlive = async (url: string) =>
  (await fetch(`${url}/health`).catch(() => null))?.status === 200;

/** The output without its first line, which names the build. */
const withoutBuild = (output: string) => output.trimEnd().split('\n').slice(1);

describe('the service in its own folder', () => {
  const folder = aFolder();
  const env = { DATA_DIR: folder.path };
  const servers: Server[] = [];
  const started = async (more: Record<string, string> = {}) => {
    const server = await startServer({ ...env, ...more });
    servers.push(server);
    return server;
  };
  afterAll(async () => {
    for (const server of servers) await server.stop('SIGKILL');
    folder.remove();
  });

  let key: string;

  it('keeps the key of its first start in a file for its owner alone, and names it in the log', async () => {
    const first = run('main.js', env);
    await until(() => first.output().includes('listens on'));
    const file = join(folder.path, 'first-key');
    expect(first.output()).toContain(file);
    expect(first.output()).not.toContain('skn_');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    key = readFileSync(file, 'utf8').trim();
    const [, url] = /listens on (http:\S+?)"/.exec(first.output())!;
    const start = aStart({ op_name: 'hello', inputs: { question: 'What is a thread?' } });
    const answer = await send(`${url}/call/start`, { start }, { authorization: basic(key) });
    expect(answer.status).toBe(200);
    first.process.kill('SIGTERM');
    expect(await first.exit).toBe(0);
  });

  it('keeps what it stored, and shows no key again', async () => {
    const server = await started({ BOOTSTRAP_API_KEY: '' });
    expect(server.output()).not.toContain('skn_');
    const calls = linesOf(
      await send(
        `${server.url}/calls/stream_query`,
        { project_id: 'acme/demo' },
        { authorization: basic(key) },
      ),
    );
    expect(calls).toMatchObject([{ op_name: 'hello', inputs: { question: 'What is a thread?' } }]);
    expect(await server.stop()).toBe(0);
    expect(server.output()).not.toMatch(/error|warn/i);
  });

  it('loses nothing acknowledged to a kill -9', async () => {
    const authorization = basic(key);
    const server = await started({ BOOTSTRAP_API_KEY: '' });
    const acknowledged: string[] = [];
    const write = async () => {
      for (;;) {
        const answer = await send(
          `${server.url}/call/start`,
          { start: aStart({ project_id: 'acme/kill' }) },
          { authorization },
        );
        if (answer.status !== 200) return;
        acknowledged.push(answer.body.id);
      }
    };
    const writers = Array.from({ length: 8 }, () => write().catch(() => {}));
    await until(() => acknowledged.length > 200);
    await server.stop('SIGKILL');
    await Promise.all(writers);
    const next = await started({ BOOTSTRAP_API_KEY: '' });
    const calls = linesOf(
      await send(
        `${next.url}/calls/stream_query`,
        { project_id: 'acme/kill', columns: ['id'] },
        { authorization },
      ),
    );
    const stored = new Set(calls.map(({ id }) => id));
    expect(acknowledged.filter((id) => !stored.has(id))).toEqual([]);
    await next.stop();
  });

  it('refuses a second start on a folder in use, and leaves the first alone', async () => {
    const server = await started({ BOOTSTRAP_API_KEY: '' });
    const second = run('main.js', env);
    expect(await second.exit).toBe(1);
    expect(second.output()).toContain(folder.path);
    expect(second.output()).not.toContain('    at ');
    expect(
      (
        await send(
          `${server.url}/call/read`,
          { project_id: 'a/b', id: 'x' },
          { authorization: basic(key) },
        )
      ).status,
    ).toBe(200);
    await server.stop();
  });

  it('npm run keys works beside a running server and without one', async () => {
    const keys = async (...args: string[]) => {
      const command = run('server/commands/keys.cli.js', env, args);
      return { code: await command.exit, output: command.output() };
    };
    const server = await started({ BOOTSTRAP_API_KEY: '' });
    const created = await keys(
      'create',
      '--user',
      'ada',
      '--role',
      'writer',
      '--scope',
      'acme/*',
      '--scope',
      'b/c',
    );
    expect(created.code).toBe(0);
    const [secret] = /skn_\w+/.exec(created.output)!;
    const [id] = /[\da-f-]{36}/.exec(created.output)!;
    const use = () =>
      send(`${server.url}/call/start`, { start: aStart() }, { authorization: basic(secret) });
    expect((await use()).status).toBe(200);
    const list = await keys('list');
    expect(list.output).toMatch(new RegExp(`${id}.*ada.*writer.*acme/\\* b/c.*active`));
    expect(list.output).not.toContain(secret);
    expect(await keys('revoke', id)).toMatchObject({
      code: 0,
      output: expect.stringContaining(id),
    });
    await until(async () => (await use()).status === 401);
    expect(isSecret((await keys('generate')).output.trim())).toBe(true);
    for (const wrong of [
      ['create', '--user', 'x'],
      ['revoke', id],
      ['create', '--color', 'red'],
      [],
    ]) {
      const { code, output } = await keys(...wrong);
      expect(code).toBe(1);
      expect(output).not.toContain('    at ');
    }
    await server.stop();
    expect((await keys('list')).output).toMatch(/revoked/);
  });

  it('npm run keys lists more keys than fit in its memory', async () => {
    const database = await openTestDatabase();
    const client = new pg.Client(database.url);
    await client.connect();
    await client.query(
      `INSERT INTO api_keys (id, user_name, role, scopes, secret_hash, hint)
       SELECT gen_random_uuid(), 'u' || n, 'reader', ARRAY['acme/' || repeat('p', 8000)], sha256(n::text::bytea), 'h'
       FROM generate_series(1, 12500) n`,
    );
    await client.end();
    const list = run(
      'server/commands/keys.cli.js',
      { DATABASE_URL: database.url, NODE_OPTIONS: '--max-old-space-size=128' },
      ['list'],
    );
    expect(await list.exit).toBe(0);
    const users = list.output().matchAll(/ u(\d+) /g);
    expect(new Set([...users].map(([, n]) => n)).size).toBe(12_500);
    expect(list.output().match(/^id /gm)).toHaveLength(1);
    await database.drop();
  });

  it('makes no key that it cannot keep, and says so', async () => {
    const { url, drop } = await openTestDatabase({ isEmpty: true });
    const server = run('main.js', { DATABASE_URL: url, DATA_DIR: '/proc/nowhere' });
    expect(await server.exit).toBe(1);
    expect(server.output()).toMatch(/\/proc\/nowhere\/first-key.*BOOTSTRAP_API_KEY/);
    const again = run('main.js', { DATABASE_URL: url, DATA_DIR: '/proc/nowhere' });
    expect(await again.exit).toBe(1);
    await drop();
  });

  it('npm run migrate says when there is nothing to do', async () => {
    const migrate = run('server/commands/migrate.cli.js', env);
    expect(await migrate.exit).toBe(0);
    expect(migrate.output()).toContain('up to date');
  });
});

describe('settings', () => {
  it.each<[Record<string, string>, string]>([
    [{ PORT: 'http' }, 'PORT'],
    [{ DATABASE_URL: 'postgres://user:hunter2@host:99999/x' }, 'DATABASE_URL'],
    [{ HOST: '192.0.2.1' }, 'HOST'],
    [{ BOOTSTRAP_API_KEY: 'hunter2' }, 'BOOTSTRAP_API_KEY'],
    [{ DATABASE_POOL_SIZE: '1000' }, 'DATABASE_POOL_SIZE 1000 need 1002 connections'],
    [{ DATABASE_POOL_SIZE: '15', WORKERS: '64' }, 'WORKERS 64 and DATABASE_POOL_SIZE 15 need 1090'],
  ])('%j stops the start by the name of the variable', async (env, name) => {
    const { url, drop } = await openTestDatabase();
    const server = run('main.js', { DATABASE_URL: url, ...env });
    expect(await server.exit).toBe(1);
    expect(server.output()).toContain(name);
    expect(server.output()).not.toMatch(/hunter2| {4}at /);
    await drop();
  });

  it('a port in use stops the start, which then has made no key', async () => {
    const { url, drop } = await openTestDatabase();
    const other = await openTestDatabase({ isEmpty: true });
    const server = await startServer({ DATABASE_URL: url });
    const { port } = new URL(server.url);
    const second = run('main.js', { DATABASE_URL: other.url, PORT: port });
    expect(await second.exit).toBe(1);
    expect(second.output()).toContain(`PORT ${port}`);
    expect(second.output()).not.toContain('    at ');
    const folder = aFolder();
    const third = run('main.js', { DATABASE_URL: other.url, DATA_DIR: `${folder.path}/new` });
    await until(() => third.output().includes('listens on'));
    expect(readFileSync(`${folder.path}/new/first-key`, 'utf8')).toMatch(/^skn_\w{36}\n$/);
    folder.remove();
    for (const { process, exit } of [server, third]) {
      process.kill('SIGTERM');
      await exit;
    }
    await drop();
    await other.drop();
  });

  it.each([
    ['PORT', '1'],
    ['PORT', '2'],
    ['OPERATIONS_PORT', '1'],
    ['OTLP_GRPC_PORT', '2'],
  ])(
    'a %s in use stops the start with WORKERS=%s in one line, before a database is made',
    async (name, WORKERS) => {
      const folder = aFolder();
      const other = createServer().listen(0, '127.0.0.1').unref();
      await once(other, 'listening');
      const { port } = other.address() as { port: number };
      const DATA_DIR = join(folder.path, 'new');
      const server = run('main.js', { DATA_DIR, WORKERS, [name]: String(port) });
      expect(await server.exit).toBe(1);
      expect(withoutBuild(server.output())).toEqual([
        `skein cannot start: ${name} ${port} cannot be used (EADDRINUSE)`,
      ]);
      expect(existsSync(DATA_DIR)).toBe(false);
      other.close();
      folder.remove();
    },
  );

  it.each(['1', '2'])(
    'what fails once the app runs stops the start with WORKERS=%s in one line',
    async (WORKERS) => {
      const folder = aFolder();
      mkdirSync(join(folder.path, 'first-key'));
      const server = run('main.js', { DATA_DIR: folder.path, WORKERS });
      expect(await server.exit).toBe(1);
      expect(server.output()).not.toMatch(/"level":[456]0| {4}at /);
      expect(withoutBuild(server.output()).at(-1)).toMatch(/^skein cannot start: .*first-key/);
      folder.remove();
    },
  );

  it('a DATA_DIR that may not be made stops the start in one line', async () => {
    const server = run('main.js', { DATA_DIR: '/proc/nowhere/data' });
    expect(await server.exit).toBe(1);
    expect(withoutBuild(server.output())).toEqual([
      expect.stringMatching(
        /^skein cannot start: cannot use \/proc\/nowhere\/data as DATA_DIR: \w+/,
      ),
    ]);
  });

  it.each([
    ['server/commands/keys.cli.js', { PORT: 'http' }, 'PORT'],
    [
      'server/commands/migrate.cli.js',
      { DATABASE_URL: 'postgres://u:hunter2@127.0.0.1:1/x%ss' },
      'DATABASE_URL',
    ],
  ])('stop %s in one line too', async (program, env: Record<string, string>, name) => {
    const command = run(program, env, ['list']);
    expect(await command.exit).toBe(1);
    expect(command.output()).toContain(name);
    expect(command.output()).not.toMatch(/hunter2| {4}at /);
  });

  it('a database that is not there stops the start by DATABASE_URL', async () => {
    const nowhere = testServers()[0]!.replace(/\/[^/?]*(\?|$)/, '/skein_test_nowhere$1');
    const stopped = run('main.js', { DATABASE_URL: nowhere });
    expect(await stopped.exit).toBe(1);
    expect(stopped.output()).toContain('DATABASE_URL');
    expect(stopped.output()).not.toContain('    at ');
  });
});

describe('the service on an external database', () => {
  it('is alive and not ready while its schema waits, and takes calls afterwards', async () => {
    const { url, drop } = await openTestDatabase({ isEmpty: true });
    const migrating = new pg.Client(url);
    await migrating.connect();
    await migrating.query('SELECT pg_advisory_lock($1)', [MIGRATIONS.number]);
    const free = createServer().listen(0, '127.0.0.1');
    await once(free, 'listening');
    const { port } = free.address() as AddressInfo;
    free.close();
    const address = `http://127.0.0.1:${port}`;
    const key = newSecret();
    const server = run('main.js', {
      DATABASE_URL: url,
      PORT: String(port),
      BOOTSTRAP_API_KEY: key,
    });
    await until(() => isAlive(address));
    const ready = await fetch(`${address}/ready`);
    expect(ready.status).toBe(503);
    expect(ready.headers.get('retry-after')).toBe('1');
    expect(await ready.json()).toMatchObject({
      code: 'unavailable',
      detail: 'the service is starting',
    });
    await migrating.end();
    await until(async () => (await fetch(`${address}/ready`)).ok);
    const start = { start: aStart() };
    const stored = await send(`${address}/call/start`, start, { authorization: basic(key) });
    expect(stored.status).toBe(200);
    server.process.kill('SIGTERM');
    expect(await server.exit).toBe(0);
    await drop();
  });

  it('two processes that start on the same empty one both come up, with one key between them', async () => {
    const { url, drop } = await openTestDatabase({ isEmpty: true });
    const folders = [aFolder(), aFolder()];
    const runs = folders.map(({ path }) => run('main.js', { DATABASE_URL: url, DATA_DIR: path }));
    for (const { output, process } of runs) {
      await until(() => output().includes('listens on') || process.exitCode !== null);
      expect(output()).toContain('listens on');
    }
    expect(folders.filter(({ path }) => existsSync(join(path, 'first-key')))).toHaveLength(1);
    for (const folder of folders) folder.remove();
    for (const { process, exit } of runs) {
      process.kill('SIGTERM');
      expect(await exit).toBe(0);
    }
    await drop();
  });

  it('finishes what is under way at SIGTERM, takes nothing new, and exits 0', async () => {
    const { url, drop } = await openTestDatabase();
    const server = await startServer({ DATABASE_URL: url, BOOTSTRAP_API_KEY: newSecret() });
    const body = JSON.stringify({ start: aStart({ id: 'in flight' }) });
    const answer = new Promise<number>((resolve, reject) => {
      const slow = request(
        `${server.url}/call/start`,
        {
          method: 'POST',
          headers: {
            authorization: basic(server.key),
            'content-type': 'application/json',
            'content-length': Buffer.byteLength(body),
          },
        },
        (response) => resolve(response.resume().statusCode!),
      );
      slow.on('error', reject);
      slow.write(body.slice(0, 10));
      void until(() => server.output().includes('under way')).then(async () => {
        await until(async () => !(await isAlive(server.url)));
        slow.end(body.slice(10));
      });
    });
    await until(
      async () => (await server.post('/call/read', { project_id: 'a/b', id: 'x' })).status === 200,
    );
    const exit = server.stop();
    expect(await answer).toBe(200);
    expect(await exit).toBe(0);
    const again = await startServer({ DATABASE_URL: url, BOOTSTRAP_API_KEY: server.key });
    expect(
      (await again.post('/call/read', { project_id: 'acme/demo', id: 'in flight' })).body.call,
    ).not.toBeNull();
    await again.stop();
    await drop();
  });

  it('does not wait for clients that keep their connections', async () => {
    const { url, drop } = await openTestDatabase();
    const server = await startServer({ DATABASE_URL: url });
    const agent = new Agent({ keepAlive: true });
    const get = () =>
      new Promise<string | undefined>((resolve, reject) => {
        request(`${server.url}/health`, { agent }, (answer) =>
          answer.resume().once('end', () => resolve(answer.headers.connection)),
        )
          .once('error', reject)
          .end();
      });
    expect(await get()).toBe('keep-alive');
    expect(await server.stop()).toBe(0);
    agent.destroy();
    await drop();
  });

  it('ends with the npm that started it, though the shell between them passes no signal on', async () => {
    const { url, drop } = await openTestDatabase();
    const npm = npmStart({ DATABASE_URL: url, BOOTSTRAP_API_KEY: newSecret() });
    await until(() => npm.output().includes('listens on'));
    const [, address] = /listens on (http:\S+?)["\s]/.exec(npm.output())!;
    npm.process.kill('SIGTERM');
    await until(async () => !(await isAlive(address!)));
    await npm.exit;
    await drop();
  });

  it('never writes a secret, a body or a header to its log', async () => {
    const { url, drop } = await openTestDatabase();
    const server = await startServer({ DATABASE_URL: url, LOG_LEVEL: 'trace' });
    await server.post('/call/start', { start: aStart({ inputs: { password: 'hunter2' } }) });
    await server.post('/call/start', '{"hunter2":');
    await send(
      `${server.url}/call/read?access_token=${server.key}`,
      {},
      { authorization: 'Basic hunter2' },
    );
    await until(() => server.output().includes('"status":401'));
    await server.stop();
    expect(server.output()).not.toContain('hunter2');
    expect(server.output()).not.toContain(server.key);
    await drop();
  });
});
