import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, statSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { openTestDatabase, unlessCluster } from '../support/database.js';
import { aStart } from '../support/factories.js';
import { aFolder, run, startServer } from '../support/server.js';
import { until } from '../support/until.js';

const hasPgbouncer = (() => {
  try {
    execFileSync('pgbouncer', ['--version']);
    return true;
  } catch {
    process.stderr.write('skipped: pgbouncer is not installed\n');
    return false;
  }
})();

/**
 * pgbouncer refuses to run as root and needs another account. Only the account of the server may enter its socket
 * folder.
 */
function accountFor(host: string): string[] {
  if (process.getuid?.() !== 0) return [];
  const owner = host.startsWith('/') ? String(statSync(host).uid) : 'nobody';
  return ['-u', execFileSync('id', ['-nu', owner]).toString().trim()];
}

(hasPgbouncer ? unlessCluster('a pooler stands before one server').describe : describe.skip)(
  'PgBouncer',
  () => {
    const folder = aFolder();
    const poolers: ChildProcess[] = [];
    afterAll(async () => {
      for (const pooler of poolers) {
        pooler.kill('SIGTERM');
        if (pooler.exitCode === null) await once(pooler, 'exit');
      }
      folder.remove();
    });

    /** Starts a pooler in front of the database and returns its URL. */
    async function pooled(url: string, settings: string[]): Promise<string> {
      const free = createServer().listen(0, '127.0.0.1');
      await once(free, 'listening');
      const { port } = free.address() as { port: number };
      free.close();
      const { hostname, port: to, username, password, searchParams, pathname } = new URL(url);
      const host = searchParams.get('host') ?? hostname;
      const file = join(folder.path, `${port}.ini`);
      writeFileSync(
        file,
        [
          '[databases]',
          `* = host=${host} port=${to || 5432} user=${username} password=${decodeURIComponent(password)}`,
          '[pgbouncer]',
          'listen_addr = 127.0.0.1',
          `listen_port = ${port}`,
          'unix_socket_dir =',
          'auth_type = any',
          'default_pool_size = 20',
          ...settings,
        ].join('\n'),
      );
      chmodSync(file, 0o644);
      const pooler = spawn('pgbouncer', [...accountFor(host), file], { stdio: 'ignore' });
      poolers.push(pooler);
      await until(
        () =>
          new Promise<boolean>((resolve) => {
            const socket = connect(port, '127.0.0.1');
            socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
            socket.once('connect', () => socket.destroy());
          }),
      );
      return `postgres://skein@127.0.0.1:${port}${pathname}`;
    }

    it.each([
      [['server_round_robin = 0']],
      [['server_round_robin = 1']],
      [['default_pool_size = 1']],
    ])('with a session for each transaction (%j) is refused at the start', async (settings) => {
      const database = await openTestDatabase();
      const url = await pooled(database.url, ['pool_mode = transaction', ...settings]);
      const server = run('main.js', { DATABASE_URL: url });
      expect(await server.exit).toBe(1);
      expect(server.output()).toContain('pool_mode=session');
      expect(server.output()).not.toContain('    at ');
      await database.drop();
    });

    it('with a session for each client is as good as none', async () => {
      const database = await openTestDatabase();
      const url = await pooled(database.url, ['pool_mode = session']);
      const server = await startServer({ DATABASE_URL: url });
      const start = aStart({ project_id: 'acme/pooled', id: 'c' });
      expect((await server.post('/call/start', { start })).status).toBe(200);
      const { body } = await server.post('/calls/query', { project_id: 'acme/pooled' });
      expect(body.calls).toMatchObject([{ id: 'c' }]);
      expect(await server.stop()).toBe(0);
      await database.drop();
    });
  },
);
