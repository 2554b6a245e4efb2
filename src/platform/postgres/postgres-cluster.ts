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

/** Where the cluster goes when the account cannot reach DATA_DIR. */
const CLUSTERS = '/var/lib/skein';
const PASSWORD_FILE = 'skein.password';
const DRAFT = 'pgdata.new-';
/** An initdb whose application was killed may write for some more milliseconds; retries for about a second. */
const REMOVAL = { recursive: true, force: true, maxRetries: 10, retryDelay: 20 };
/** How many of a program's last lines an error message shows. */
const TAIL_LINES = 30;

export interface PostgresTools {
  account: ServerAccount | undefined;
  binaries: PostgresBinaries;
  /** A private folder the account can reach: for sockets, and for the password while a cluster is made. */
  scratch: string;
  log: (line: string) => void;
  /** The descriptor of a lock that a program is to hold as long as it runs. */
  lock?: number;
  /** Gives up a start. */
  signal?: AbortSignal;
  /** On Linux, what each process of a program may take beside shared memory; without it, as much as ours. */
  processBytes?: number | undefined;
  /** More than every program is given. */
  env?: Record<string, string>;
}

/** A program that ends when we end, however that happens. */
export interface TiedProcess {
  child: ChildProcess;
  exited: Promise<void>;
  /** Its exit code and the end of its output, once it is complete. */
  result: Promise<{ code: number | null; output: string }>;
}

/**
 * The program runs beside a watcher that reads from a pipe only we hold: when we are gone, even by `kill -9`, the
 * read ends and the program is interrupted (for a server: a fast shutdown). Both are in a session of their own, so
 * Ctrl-C in a terminal reaches us alone. The watcher is killed with the program, before its process id is reused.
 * The program inherits descriptor 3, the lock; the watcher does not.
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
 * RLIMIT_DATA counts what a process has for itself, and not the cache that all share. It needs no right and holds in every container:
 * PostgreSQL gets no memory, fails the statement with 53200 and goes on, where the kernel would kill the process and so all sessions.
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
          // an environment of its own: the user's PGDATA, PGPORT, PGOPTIONS and LANG must not reach the server
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
  child.stdin!.on('error', () => {}); // EPIPE when it ended first; `exited` tells
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
 * The cluster of a data folder, made when there is none, as the real path of its folder.
 * `DATA_DIR/pgdata` is that folder, or a link to it; it appears by a rename when the cluster is complete, so a start
 * killed half-way leaves only a draft, which the next one removes.
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

/** The password is kept inside the cluster: the two are made, moved and lost together. */
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

/** Makes the account able to use a folder that came from elsewhere: a copy made by root, a restored backup. */
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

/** `draft` is what becomes `pgdata`: the folder itself, or a link to one outside DATA_DIR. */
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
      // its name is its own, so it is in nobody's way; the next start tries again
      log(`cannot remove ${draft}, left by an interrupted start: ${String(error)}`);
    }
  }
}

/** Text sorts by code point, the same on every machine, and `lower()` still knows all of Unicode. */
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

/** Makes the rename of the new cluster survive a power cut, as everything committed to it later does. */
function flushFolder(folder: string): void {
  if (process.platform === 'win32') return;
  const descriptor = openSync(folder, 'r');
  fsyncSync(descriptor);
  closeSync(descriptor);
}
