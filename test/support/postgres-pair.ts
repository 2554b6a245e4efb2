import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { postgresAccount, postgresBinaries } from '../../src/platform/postgres/postgres-account.js';
import { aFolder, freePort } from './server.js';
import { until } from './until.js';

/**
 * Starts a primary and a synchronous standby. A commit is acknowledged when both have it. The standby is a copy of the
 * primary's folder from before its first start.
 */
export async function startPair() {
  const folder = aFolder();
  const account = postgresAccount(folder.path);
  const { initdb, postgres } = postgresBinaries(account);
  const as = account ? { uid: account.uid, gid: account.gid } : {};
  const [first, second] = [join(folder.path, 'first'), join(folder.path, 'second')];
  mkdirSync(first, { mode: 0o700 });
  if (account) chownSync(first, account.uid, account.gid);
  const args = ['-D', first, '-U', 'skein', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync'];
  execFileSync(initdb, args, { ...as, stdio: 'ignore', cwd: '/' });
  cpSync(first, second, { recursive: true });
  writeFileSync(join(second, 'standby.signal'), '');
  if (account) execFileSync('chown', ['-R', `${account.uid}:${account.gid}`, second]);
  const ports = [await freePort(), await freePort()] as const;
  const running: ChildProcess[] = [];
  const start = async (data: string, port: number, settings: string[]) => {
    const all = [
      `port=${port}`,
      'listen_addresses=127.0.0.1',
      `unix_socket_directories=${data}`,
      'fsync=off',
      ...settings,
    ];
    const server = spawn(postgres, ['-D', data, ...all.flatMap((setting) => ['-c', setting])], {
      ...as,
      stdio: 'ignore',
      cwd: '/',
    });
    running.push(server);
    await until(() =>
      query(port, 'SELECT 1').then(
        () => true,
        () => false,
      ),
    );
    return server;
  };
  const primary = await start(first, ports[0], ['synchronous_standby_names=standby']);
  await start(second, ports[1], [
    `primary_conninfo=host=127.0.0.1 port=${ports[0]} user=skein application_name=standby`,
  ]);
  await until(async () => {
    const [row] = await query(ports[0], 'SELECT sync_state FROM pg_stat_replication');
    return row?.sync_state === 'sync';
  });
  return {
    ports,
    async killPrimary() {
      primary.kill('SIGKILL');
      await until(() =>
        query(ports[0], 'SELECT 1').then(
          () => false,
          () => true,
        ),
      );
    },
    promote: () => query(ports[1], 'SELECT pg_promote()'),
    async close() {
      for (const server of running) {
        if (server.exitCode !== null || server.signalCode !== null) continue;
        server.kill('SIGINT');
        await once(server, 'exit');
      }
      folder.remove();
    },
  };
}

async function query(port: number, text: string): Promise<any[]> {
  const client = new pg.Client(`postgres://skein@127.0.0.1:${port}/postgres`);
  client.on('error', () => {});
  await client.connect();
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}
