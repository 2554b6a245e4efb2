import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  closeSync,
  existsSync,
  fsyncSync,
  lstatSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import {
  isPermitted,
  isReachable,
  namelessUserEnv,
  systemFolder,
  type ServerAccount,
  type PostgresBinaries,
} from './postgres-account.js';

/** Folder of clusters whose account cannot reach DATA_DIR. */
const CLUSTERS = '/var/lib/skein';
const PASSWORD_FILE = 'skein.password';
const DRAFT = 'pgdata.new-';
/**
 * Options of the removal. An initdb whose parent was killed may write for some more milliseconds; this retries for
 * about a second.
 */
const REMOVAL = { recursive: true, force: true, maxRetries: 10, retryDelay: 20 };
const TAIL_LINES = 30;

export interface PostgresTools {
  account: ServerAccount | undefined;
  binaries: PostgresBinaries;
  /** A private folder that the account can reach: for sockets, and for the password while a cluster is created. */
  scratch: string;
  log: (line: string) => void;
  /** The descriptor of a lock that a program holds as long as it runs. */
  lock?: number;
  signal?: AbortSignal;
  /**
   * On Linux, memory that each process of a program may use in addition to shared memory. Undefined is the limit of
   * this process.
   */
  processBytes?: number | undefined;
  env?: Record<string, string>;
}

/** A program that ends when this process ends, for any reason. */
export interface TiedProcess {
  child: ChildProcess;
  exited: Promise<void>;
  /** Its exit code and the end of its output, once it is complete. */
  result: Promise<{ code: number | null; output: string }>;
}

/**
 * Runs the program beside a watcher that reads from a pipe whose writing end only this process holds. When this process
 * ends, even by `kill -9`, the read ends and the program is interrupted (for a server: a fast shutdown). Both are in
 * their own session, so Ctrl-C in a terminal reaches only this process. The watcher is killed with the program, before
 * its process id is reused. The program inherits descriptor 3, the lock; the watcher does not.
 */
const WATCHED = `trap '' HUP TERM
[ -z "$SKEIN_KIB" ] || ulimit -d "$SKEIN_KIB" || :
unset SKEIN_KIB
exec 4<&0
"$@" </dev/null 4<&- & program=$!
( exec 3<&-; read -r _ <&4; kill -INT $program ) 2>/dev/null & watcher=$!
wait $program; code=$?
kill -KILL $watcher 2>/dev/null
exit $code`;

/**
 * Returns the memory limit as an environment variable. RLIMIT_DATA counts the private memory of a process, without the
 * shared cache. It needs no privilege and works in every container. At the limit, PostgreSQL fails the statement with
 * 53200 and continues. The kernel would kill the process, and so all sessions.
 */
const memoryLimit = ({ processBytes }: PostgresTools): Record<string, string> =>
  process.platform === 'linux' && processBytes
    ? { SKEIN_KIB: String(Math.floor(processBytes / 1024)) }
    : {};

export function spawnTied(file: string, args: string[], tools: PostgresTools): TiedProcess {
  const stdio: ['pipe', 'ignore', 'pipe'] = ['pipe', 'ignore', 'pipe'];
  const child: ChildProcess =
    process.platform === 'win32'
      ? spawn(file, args, { stdio, windowsHide: true })
      : spawn('/bin/sh', ['-c', WATCHED, 'sh', file, ...args], {
          stdio: ['pipe', 'ignore', 'pipe', tools.lock ?? 'ignore'],
          detached: true,
          cwd: '/',
          // a separate environment: the user's PGDATA, PGPORT, PGOPTIONS and LANG must not reach the server
          env: {
            LC_ALL: 'C',
            TZ: 'UTC',
            PATH: '/usr/bin:/bin',
            ...memoryLimit(tools),
            ...tools.env,
          },
          ...(tools.account && { uid: tools.account.uid, gid: tools.account.gid }),
        });
  const tail: string[] = [];
  createInterface({ input: child.stderr! }).on('line', (line) => {
    if (tail.push(line) > TAIL_LINES) tail.shift();
    tools.log(line);
  });
  child.stdin!.on('error', () => {}); // EPIPE when the program ended first; `exited` reports that
  const exited = new Promise<void>((resolve) => {
    child.once('exit', () => resolve());
    child.once('error', (error) => {
      tail.push(error.message);
      resolve();
    });
  });
  const result = new Promise<{ code: number | null; output: string }>((resolve) => {
    child.once('close', (code) => resolve({ code, output: tail.join('\n') }));
  });
  return { child, exited, result };
}

/**
 * Opens the cluster of a data folder, and creates it when it is missing. Returns the real path of its folder.
 * `DATA_DIR/pgdata` is that folder, or a link to it. A rename publishes the complete cluster, so a start that is killed
 * leaves only a draft, which the next start removes.
 */
export async function openCluster(dataDir: string, tools: PostgresTools): Promise<string> {
  const pgdata = join(dataDir, 'pgdata');
  await removeDrafts(dataDir, tools.log);
  if (isAbsent(pgdata)) await createCluster(dataDir, tools);
  const folder = realpathSync(pgdata);
  assertOwner(folder);
  adopt(folder, tools);
  const version = readFileSync(join(folder, 'PG_VERSION'), 'utf8').trim();
  if (version !== tools.binaries.major) {
    throw new Error(
      `${pgdata} was made by PostgreSQL ${version}, and this version of Skein brings ${tools.binaries.major}. Move the data by a backup:\n` +
        `  with the version of Skein that ran last:  DATA_DIR=${dataDir} npm run backup -- skein.backup\n` +
        `  with this version, into a new folder:     DATA_DIR=${dataDir}-${tools.binaries.major} npm run restore -- skein.backup\n` +
        `and start with DATA_DIR=${dataDir}-${tools.binaries.major}. ${dataDir} is left as it is. A package has skein backup and skein restore.`,
    );
  }
  return folder;
}

/** Returns the password, which is stored inside the cluster: both are created, moved and lost together. */
export function clusterPassword(pgdata: string): string {
  return readFileSync(join(pgdata, PASSWORD_FILE), 'utf8').trim();
}

function isAbsent(pgdata: string): boolean {
  const found = lstatSync(pgdata, { throwIfNoEntry: false });
  if (!found) return true;
  if (!existsSync(pgdata)) {
    throw new Error(
      `${pgdata} points to a folder that is gone: bring it back, or remove ${pgdata} to start empty`,
    );
  }
  assertOwner(realpathSync(pgdata));
  if (existsSync(join(pgdata, 'PG_VERSION'))) return false;
  try {
    rmdirSync(pgdata);
  } catch (error) {
    throw new Error(
      `${pgdata} exists and is not a PostgreSQL cluster: remove it, or set another DATA_DIR`,
      {
        cause: error,
      },
    );
  }
  return true;
}

function assertOwner(folder: string): void {
  const { uid } = statSync(folder);
  const us = process.getuid?.() ?? 0;
  if (us !== 0 && us !== uid) {
    throw new Error(`${folder} belongs to user ${uid}: start Skein as that user, or as root`);
  }
}

/** Gives the account access to a folder from elsewhere: a copy made by root, or a restored backup. */
function adopt(folder: string, { account }: PostgresTools): void {
  if (account && statSync(folder).uid !== account.uid) {
    execFileSync('chown', ['-R', '-h', `${account.uid}:${account.gid}`, folder]);
  }
  // PostgreSQL refuses a cluster that others may enter
  if (process.platform !== 'win32' && (statSync(folder).mode & 0o027) !== 0)
    chmodSync(folder, 0o700);
  if (!isReachable(folder, account)) {
    throw new Error(
      `PostgreSQL runs as ${account!.name}, which cannot reach ${folder}: one of the folders above is closed to it`,
    );
  }
}

async function createCluster(dataDir: string, tools: PostgresTools): Promise<void> {
  const { folder, draft } = newFolder(dataDir, tools);
  try {
    await initdb(folder, tools);
    renameSync(draft, join(dataDir, 'pgdata'));
    flushFolder(dataDir);
  } catch (error) {
    await removeDrafts(dataDir, tools.log);
    throw error;
  }
}

/**
 * Creates the folder of a cluster. `draft` is renamed to `pgdata`: the folder itself, or a link to one outside
 * DATA_DIR.
 */
function newFolder(
  dataDir: string,
  { account, log }: PostgresTools,
): { folder: string; draft: string } {
  const near = isReachable(dataDir, account) && isPermitted(dataDir, account, 1);
  if (near) {
    const folder = mkdtempSync(join(dataDir, DRAFT));
    if (account) chownSync(folder, account.uid, account.gid);
    return { folder, draft: folder };
  }
  const folder = mkdtempSync(join(systemFolder(CLUSTERS, account!), 'pgdata-'));
  const draft = join(dataDir, `${DRAFT}${randomBytes(4).toString('hex')}`);
  symlinkSync(folder, draft);
  chownSync(folder, account!.uid, account!.gid);
  log(
    `${dataDir} is closed to ${account!.name}, which PostgreSQL runs as: its data is in ${folder}`,
  );
  return { folder, draft };
}

async function removeDrafts(dataDir: string, log: (line: string) => void): Promise<void> {
  for (const name of readdirSync(dataDir)) {
    if (!name.startsWith(DRAFT)) continue;
    const draft = join(dataDir, name);
    const isLink = lstatSync(draft).isSymbolicLink();
    const folder = isLink ? readlinkSync(draft) : draft;
    try {
      if (!isLink || dirname(folder) === CLUSTERS) await rm(folder, REMOVAL);
      rmSync(draft, { force: true });
    } catch (error) {
      // its name is unique, so it disturbs nobody; the next start tries again
      log(`cannot remove ${draft}, left by an interrupted start: ${String(error)}`);
    }
  }
}

/** Creates a cluster. Text sorts by code point, the same on every machine, and `lower()` supports all of Unicode. */
async function initdb(folder: string, tools: PostgresTools): Promise<void> {
  const { account, binaries, scratch } = tools;
  const password = randomBytes(24).toString('base64url');
  const passwordFile = writeSecret(join(scratch, PASSWORD_FILE), password, account);
  const args = ['-D', folder, '-U', 'skein', '-A', 'scram-sha-256', `--pwfile=${passwordFile}`];
  args.push('--encoding=UTF8', '--locale=C', '--locale-provider=builtin');
  args.push('--builtin-locale=C.UTF-8', '--data-checksums', '--no-instructions');
  const env = namelessUserEnv(scratch);
  const { child, result } = spawnTied(binaries.initdb, args, { ...tools, env });
  const giveUp = () => child.stdin?.end();
  tools.signal?.addEventListener('abort', giveUp);
  const { code, output } = await result;
  tools.signal?.removeEventListener('abort', giveUp);
  rmSync(passwordFile, { force: true });
  tools.signal?.throwIfAborted();
  if (code !== 0) throw new Error(`cannot make a database in ${dirname(folder)}:\n${output}`);
  writeSecret(join(folder, PASSWORD_FILE), password, account);
}

function writeSecret(path: string, secret: string, account: ServerAccount | undefined): string {
  rmSync(path, { force: true });
  writeFileSync(path, `${secret}\n`, { mode: 0o600, flag: 'wx', flush: true });
  if (account) chownSync(path, account.uid, account.gid);
  return path;
}

/** Makes the rename of the new cluster survive a power failure, like everything that is committed to it later. */
function flushFolder(folder: string): void {
  if (process.platform === 'win32') return;
  const descriptor = openSync(folder, 'r');
  fsyncSync(descriptor);
  closeSync(descriptor);
}
