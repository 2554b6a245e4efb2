import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  constants,
  accessSync,
  existsSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
} from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join, resolve as absolute } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type FileLock, lockFile, visibleHolder, withOwner } from './data-dir-lock.js';
import { readDisk, DiskWatch } from './disk-watch.js';
import { assertLocal } from './file-system.js';
import { type SupervisedServer, superviseServer } from './supervised-server.js';
import {
  isPermitted,
  isReachable,
  postgresAccount,
  postgresBinaries,
  type ServerAccount,
} from './postgres-account.js';
import {
  clusterPassword,
  openCluster,
  spawnTied,
  type TiedProcess,
  type PostgresTools,
} from './postgres-cluster.js';
import { ownResources, settingsFor } from './settings.js';
import { type LogLevel, serverLog } from './server-log.js';
import { commandLine, waitForEnd, isPostmaster, serverProcesses, signal } from './processes.js';

export interface EmbeddedPostgresOptions {
  /** Created when it is missing. Only one process at a time may use it. */
  dataDir: string;
  /** True to refuse a folder without a database, and to create nothing. */
  mustExist?: boolean;
  /** Additional arguments of `postgres`, which override ours: `['-c', 'fsync=off']`. */
  flags?: string[];
  /** On Linux, memory that each of its processes may use in addition to shared memory. 0 or undefined is no limit. */
  processBytes?: number;
  /** Receives the output of the server, and warnings for operators that do not stop the start. */
  log?: (line: string, level: LogLevel) => void;
  /** Aborts the start. It has no effect once the server runs. */
  signal?: AbortSignal;
}

export interface EmbeddedPostgres {
  /** `postgres://…` for `pg` and TypeORM: through a Unix socket, on Windows through the loopback interface. */
  url: string;
  /**
   * Folder of the database: in DATA_DIR, or elsewhere when the account that PostgreSQL runs as cannot enter DATA_DIR.
   */
  folder: string;
  disk: DiskWatch;
  /** Resolves when the server has ended for good. A server that ends by itself is restarted. */
  exited: Promise<void>;
  /** Ends open sessions, writes a checkpoint and releases the data folder. It may be called again. */
  stop(): Promise<void>;
}

const LOCK_FILE = 'skein.lock';
const SOCKET_PORT = 5432;
const SOCKET_NAME = `.s.PGSQL.${SOCKET_PORT}`;
/** Limit of sun_path: 104 bytes on macOS and 108 on Linux, including the closing zero. */
const MAX_SOCKET_PATH_BYTES = 103;
const POLL_MS = 10;
/** Time for an orphaned server to write its checkpoint. Then it is killed, and recovers from its WAL. */
const LEFTOVER_STOP_MS = 30_000;
/** A folder that was just taken or released may not name its holder yet. */
const LOCK_PATIENCE_MS = 1000;
/** Time to wait until another process releases a port or a memory segment. */
const RETRY_START_MS = 10_000;

/**
 * Starts PostgreSQL on a data folder. Without a database it creates one first (about 1 s; later starts take 0.1 s).
 *
 * The server belongs to this process: it ends within 0.1 s when this process is killed, and ignores Ctrl-C in the
 * terminal. A server that was left behind, or was killed itself, is stopped or recovered here.
 *
 * Two kernel locks keep every other process away, whatever its container, namespace or path to the folder. Only the
 * service holds the lock on `DATA_DIR/skein.lock`, which shows that a service runs. PostgreSQL inherits the lock on
 * `pgdata/skein.lock`, so it lasts until the last process of the server has ended. Only the holder of both may judge a
 * status file as stale.
 *
 * @throws Error with a message for the user (FolderInUse when another process has the folder). No process remains then,
 * and the folder is free again.
 */
export async function openEmbeddedPostgres(
  options: EmbeddedPostgresOptions,
): Promise<EmbeddedPostgres> {
  const { log: report = () => {}, signal } = options;
  const log = (line: string) => report(line, 'debug');
  const warn = (line: string) => report(line, 'warn');
  if (options.mustExist) assertDatabase(options.dataDir);
  const dataDir = usableFolder(options.dataDir);
  assertLocal(dataDir, warn);
  const releases: (() => void)[] = [];
  const release = () => {
    for (const one of releases.splice(0).toReversed()) one();
  };
  try {
    const service = await lockFile(join(dataDir, LOCK_FILE), {
      patienceMs: LOCK_PATIENCE_MS,
      signal,
    });
    releases.push(service.release);
    const account = postgresAccount(join(dataDir, 'pgdata'));
    const binaries = postgresBinaries(account);
    const scratch = privateFolder(dataDir, account);
    releases.push(() => rmSync(scratch, { recursive: true, force: true }));
    const tools = { account, binaries, scratch, log, signal };
    const pgdata = await openCluster(dataDir, tools);
    assertLocal(pgdata, warn);
    const cluster = await lockCluster(pgdata, tools, warn);
    releases.push(cluster.release);
    const file = join(scratch, 'postgresql.conf');
    const settings = settingsFor({ ...ownResources(), diskBytes: readDisk(pgdata).sizeBytes });
    const reload = () => reloadServer(pgdata, tools);
    const disk = new DiskWatch(pgdata, file, settings, { reload, warn });
    const listen = await listenArguments(scratch);
    const args = ['-D', pgdata, ...listen, '-c', `config_file=${file}`, ...(options.flags ?? [])];
    const lock = cluster.descriptor;
    const { processBytes } = options;
    const start = async (begun: (server: TiedProcess) => void) => {
      await removeLeftover(pgdata, tools);
      const log = serverLog(report);
      const server = await startServer(pgdata, args, { ...tools, lock, processBytes, log, begun });
      // After a recovery the checkpointer sleeps for minutes, and closes no segment by archive_timeout. A reload wakes
      // it.
      reload();
      return server;
    };
    const server = await superviseServer(
      start,
      (process) => interrupt(process, pgdata, tools),
      warn,
    );
    disk.start();
    releases.push(() => disk.stop());
    let stopped: Promise<void> | undefined;
    const stop = () => (stopped ??= stopServer(server, pgdata, tools).finally(release));
    return { url: serverUrl(pgdata)!, folder: pgdata, disk, exited: server.exited, stop };
  } catch (error) {
    release();
    throw error;
  }
}

/**
 * Returns the URL of the server that another Skein process runs on that folder. Undefined when none runs, when it does
 * not accept connections yet, and when it cannot be reached from this container.
 */
export async function embeddedPostgresUrl(dataDir: string): Promise<string | undefined> {
  if (!existsSync(dataDir)) return undefined;
  const pgdata = join(realpathSync(dataDir), 'pgdata');
  const url = serverUrl(pgdata);
  return url && (await isListening(readPostmaster(pgdata)!)) ? url : undefined;
}

/** Returns the visible process that holds the data folder, if its command line ends as `program` requires. */
export function folderHolder(dataDir: string, program: RegExp): number | undefined {
  const pid = visibleHolder(join(absolute(dataDir), LOCK_FILE));
  return pid !== undefined && program.test(commandLine(pid).trim()) ? pid : undefined;
}

function isListening({ port, socketFolder }: Postmaster): Promise<boolean> {
  const path = join(socketFolder, `.s.PGSQL.${port}`);
  const socket = socketFolder ? connect({ path }) : connect({ port, host: '127.0.0.1' });
  return new Promise<boolean>((resolve) => {
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
  }).finally(() => socket.destroy());
}

/**
 * @throws Error when the folder contains no database. An unreadable folder passes, because its use reports the reason.
 */
function assertDatabase(dataDir: string): void {
  const path = absolute(dataDir);
  try {
    if (statSync(join(path, 'pgdata', 'PG_VERSION'), { throwIfNoEntry: false })) return;
  } catch {
    return;
  }
  throw new Error(
    `there is no database in ${path} (DATA_DIR): set DATA_DIR, or DATABASE_URL, as for the service; ` +
      'only npm start and npm run restore (in a package: skein start, skein restore) make a database',
  );
}

function usableFolder(dataDir: string): string {
  const path = absolute(dataDir);
  try {
    if (!existsSync(path)) {
      makeFolder(path);
      // running as root, so the account must be able to pass through
      chmodSync(path, process.getuid?.() === 0 ? 0o711 : 0o700);
    }
    if (!statSync(path).isDirectory()) throw new Error('it is not a folder');
    accessSync(path, constants.R_OK | constants.W_OK | constants.X_OK);
    return realpathSync(path);
  } catch (error) {
    throw new Error(`cannot use ${path} as DATA_DIR: ${withOwner(error, path)}`, { cause: error });
  }
}

/** Creates a folder with its parents. Node's `recursive` never ends in /proc. */
function makeFolder(path: string): void {
  if (existsSync(path)) return;
  makeFolder(dirname(path));
  mkdirSync(path);
}

/** Creates an empty folder that only the account may enter, with a path short enough for a socket. */
function privateFolder(dataDir: string, account: ServerAccount | undefined): string {
  // containers that share a folder for temporary files may have other folders under the same path
  const identity = `${statSync(dataDir).ino} ${dataDir}`;
  const name = `skein-${createHash('sha256').update(identity).digest('hex').slice(0, 12)}`;
  // DATA_DIR itself is the last choice: on a read-only root it is the only writable folder
  const parent = [tmpdir(), '/tmp', '/var/tmp', dataDir].find((folder) => {
    const length = Buffer.byteLength(join(folder, name, SOCKET_NAME));
    if (process.platform !== 'win32' && length > MAX_SOCKET_PATH_BYTES) return false;
    return isWritable(folder) && isReachable(folder, account) && isPermitted(folder, account, 1);
  });
  if (!parent) throw new Error('no folder for temporary files can be used: set TMPDIR');
  const folder = join(parent, name);
  const found = lstatSync(folder, { throwIfNoEntry: false });
  const owners = [process.getuid?.() ?? 0, account?.uid];
  if (found && !owners.includes(found.uid)) {
    throw new Error(`${folder} belongs to user ${found.uid}: have it removed, or set TMPDIR`);
  }
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { mode: 0o700 });
  if (account) lchownSync(folder, account.uid, account.gid);
  return folder;
}

function isWritable(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK | constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

interface StartTools extends PostgresTools {
  /** Called with each process that is started. */
  begun: (server: TiedProcess) => void;
}

/** Starts the server and waits until it accepts connections, through a recovery of any length. */
async function startServer(
  pgdata: string,
  args: string[],
  tools: StartTools,
): Promise<TiedProcess> {
  const deadline = performance.now() + RETRY_START_MS;
  for (;;) {
    const server = spawnTied(tools.binaries.postgres, args, tools);
    tools.begun(server);
    const giveUp = () => server.child.stdin?.end(); // its watcher then ends the server
    tools.signal?.addEventListener('abort', giveUp);
    if (tools.signal?.aborted) giveUp();
    const isReady = await becomesReady(pgdata, server);
    tools.signal?.removeEventListener('abort', giveUp);
    if (isReady) return server;
    const { output } = await server.result;
    tools.signal?.throwIfAborted();
    const isTransient = /could not bind|shared memory block|lock file .* already exists/.test(
      output,
    );
    if (!isTransient || performance.now() > deadline) {
      throw new Error(`the embedded PostgreSQL did not start on ${pgdata}:\n${output}`);
    }
    await delay(200);
  }
}

async function listenArguments(socketFolder: string): Promise<string[]> {
  if (process.platform === 'win32') {
    return ['-p', String(await freePort()), '-c', 'listen_addresses=127.0.0.1'];
  }
  const folder = ['-c', `unix_socket_directories=${socketFolder}`];
  return ['-p', String(SOCKET_PORT), '-c', 'listen_addresses=', ...folder];
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer().once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      const port = typeof address === 'object' ? address?.port : undefined;
      server.close(() => resolve(port ?? 0));
    });
  });
}

/** Waits for the server's own status file. Its messages can be silenced by settings. */
async function becomesReady(pgdata: string, server: TiedProcess): Promise<boolean> {
  while (isAlive(server)) {
    if (readPostmaster(pgdata)?.isReady) return true;
    await delay(POLL_MS);
  }
  return false;
}

function isAlive({ child }: TiedProcess): boolean {
  return child.pid !== undefined && child.exitCode === null && child.signalCode === null;
}

/** Interrupts the server: it ends its sessions and writes a checkpoint. */
function interrupt(server: TiedProcess, pgdata: string, tools: PostgresTools): void {
  if (isAlive(server)) {
    const postmaster = readPostmaster(pgdata);
    if (process.platform === 'win32') pgCtlStop(pgdata, tools);
    else if (postmaster) signal(postmaster.pid, 'SIGINT');
  }
  // the watcher reads the end of this pipe, which also works without a status file
  server.child.stdin?.end();
}

async function stopServer(
  server: SupervisedServer,
  pgdata: string,
  tools: PostgresTools,
): Promise<void> {
  await server.stop();
  await removeLeftover(pgdata, tools);
}

/** Makes a running server read its settings again. */
function reloadServer(pgdata: string, { binaries }: PostgresTools): void {
  const pid = readPostmaster(pgdata)?.pid;
  if (pid === undefined || !isPostmaster(pid, pgdata)) return; // it reads them when it starts
  if (process.platform === 'win32') execFileSync(binaries.pgCtl, ['reload', '-D', pgdata, '-s']);
  else signal(pid, 'SIGHUP');
}

/**
 * Waits for the server that a killed service left behind, and ends it when that service was in this PID namespace. A
 * server from elsewhere is only waited for: its own watcher ends it.
 */
function lockCluster(
  pgdata: string,
  tools: PostgresTools,
  warn: (line: string) => void,
): Promise<FileLock> {
  const onLeftover = async (isOurs: boolean) => {
    warn(`waiting for PostgreSQL on ${pgdata}, which another service has left behind`);
    if (isOurs) await endServer(pgdata, tools);
  };
  return lockFile(join(pgdata, LOCK_FILE), {
    patienceMs: LEFTOVER_STOP_MS,
    onLeftover,
    signal: tools.signal,
  });
}

/** Ends a server that was started by hand or by a version without locks, and removes a stale status file. */
async function removeLeftover(pgdata: string, tools: PostgresTools): Promise<void> {
  const pid = readPostmaster(pgdata)?.pid;
  await endServer(pgdata, tools);
  // its process id may belong to another process by now, which PostgreSQL would mistake for a running server
  if (pid === undefined || !/^(.*\/)?postgres[: ]/.test(commandLine(pid))) {
    rmSync(join(pgdata, 'postmaster.pid'), { force: true });
  }
}

async function endServer(pgdata: string, tools: PostgresTools): Promise<void> {
  if (!existsSync(join(pgdata, 'postmaster.pid'))) return;
  if (process.platform === 'win32') return pgCtlStop(pgdata, tools);
  const pid = readPostmaster(pgdata)?.pid;
  if (pid !== undefined && isPostmaster(pid, pgdata)) {
    tools.log(`stopping PostgreSQL ${pid}, left behind on ${pgdata}`);
    signal(pid, 'SIGINT');
    await waitForEnd(pid, LEFTOVER_STOP_MS);
  }
  for (const left of serverProcesses(pgdata)) {
    signal(left, 'SIGKILL');
    await waitForEnd(left, LEFTOVER_STOP_MS);
  }
}

function pgCtlStop(pgdata: string, { binaries }: PostgresTools): void {
  try {
    execFileSync(binaries.pgCtl, ['stop', '-D', pgdata, '-m', 'fast', '-w'], { stdio: 'ignore' });
  } catch {
    // it had ended already
  }
}

interface Postmaster {
  pid: number;
  port: number;
  socketFolder: string;
  isReady: boolean;
}

/** Reads the server's status file: process, folder, time, port, socket folder, address, memory key, state. */
function readPostmaster(pgdata: string): Postmaster | undefined {
  const path = join(pgdata, 'postmaster.pid');
  if (!existsSync(path)) return undefined;
  const lines = readFileSync(path, 'utf8').split('\n');
  const pid = Number(lines[0]);
  if (!(pid > 1)) return undefined;
  const [port, socketFolder] = [Number(lines[3]), lines[4] ?? ''];
  return { pid, port, socketFolder, isReady: lines[7]?.trim() === 'ready' };
}

function serverUrl(pgdata: string): string | undefined {
  const postmaster = readPostmaster(pgdata);
  if (!postmaster?.isReady) return undefined;
  const credentials = `skein:${clusterPassword(pgdata)}`;
  const { port, socketFolder } = postmaster;
  if (!socketFolder) return `postgres://${credentials}@127.0.0.1:${port}/postgres`;
  // the host parameter wins; `localhost` is for parsers that require a host
  return `postgres://${credentials}@localhost:${port}/postgres?host=${encodeURIComponent(socketFolder)}`;
}
