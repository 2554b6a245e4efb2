import { execFileSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { linkSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

/** Who holds a lock: a process id alone is reused, together with the time the process started it is not. */
interface Holder {
  pid: number;
  started: string;
}

/** A lock file as found; `holder` is missing when the file is empty or not ours. */
interface LockFile {
  holder?: Holder;
  /** Differs between any two lock files ever written. */
  id: string;
}

const NAME = 'skein.lock';

/**
 * Takes the folder for this process and returns what gives it back.
 * Throws, naming the holder, while another process that still runs has it; a lock whose process is gone is taken over.
 *
 * A file and not a kernel lock because Node offers none. Processes in different PID namespaces (two containers on one
 * volume) cannot see each other: there the later one takes over, as it must after a container was killed.
 */
export async function lockDataDir(dataDir: string): Promise<() => void> {
  const path = join(dataDir, NAME);
  const mine = newLockFile();
  const other = await acquire(path, mine);
  if (other) {
    throw new Error(
      `${dataDir} is in use by process ${other.pid}: stop that one first, or set another DATA_DIR`,
    );
  }
  sweep(path);
  return () => {
    if (readLock(path)?.id === lockId(mine)) rmSync(path, { force: true });
  };
}

/** The process that has the folder now, if one does. */
export function dataDirHolder(dataDir: string): number | undefined {
  const holder = readLock(join(dataDir, NAME))?.holder;
  return holder && isRunning(holder) ? holder.pid : undefined;
}

/**
 * When a process started, in a form that only serves to be compared; undefined when there is no such process.
 * Zombies count as gone: they hold nothing any more, and nobody may ever reap them in a container.
 */
export function processStart(pid: number): string | undefined {
  if (process.platform === 'linux') return linuxProcessStart(pid);
  if (process.platform === 'win32') return isSignallable(pid) ? 'unknown' : undefined;
  try {
    const env = { LC_ALL: 'C', TZ: 'UTC', PATH: '/bin:/usr/bin' };
    const args = ['-o', 'lstart=', '-p', String(pid)];
    const stdio: ['ignore', 'pipe', 'ignore'] = ['ignore', 'pipe', 'ignore'];
    const lstart = execFileSync('ps', args, { env, encoding: 'utf8', stdio });
    return lstart.trim() || undefined;
  } catch {
    return undefined;
  }
}

/** Field 22 of proc(5) stat counts clock ticks since boot, so the boot is part of the answer. */
function linuxProcessStart(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // the second field is the name in brackets, which may itself hold blanks and brackets
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    if (fields[0] === 'Z' || fields[0] === 'X') return undefined;
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    return `${boot} ${fields[19]}`;
  } catch {
    return undefined;
  }
}

function isSignallable(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    const { code }: NodeJS.ErrnoException = Object(error);
    return code === 'EPERM';
  }
}

function isRunning(holder: Holder): boolean {
  return processStart(holder.pid) === holder.started;
}

/**
 * Creates `path` with `content`, or says who runs and has it.
 *
 * The content appears with the name (`link`), so a reader never meets half a file. A stale file is removed under a
 * second lock named after that very file: without it, a slow taker could remove what a faster one has just put there.
 */
async function acquire(path: string, content: string): Promise<Holder | undefined> {
  for (;;) {
    if (tryCreate(path, content)) return undefined;
    const found = readLock(path);
    if (!found) continue;
    if (found.holder && isRunning(found.holder)) return found.holder;
    await removeStale(path, found.id);
  }
}

async function removeStale(path: string, id: string): Promise<void> {
  const guard = `${path}.${id}`;
  // a guard is held for two system calls; one left by a killed process is stale like any lock
  if (await acquire(guard, newLockFile())) {
    await delay(2);
    return;
  }
  if (readLock(path)?.id === id) rmSync(path, { force: true });
  rmSync(guard, { force: true });
}

function tryCreate(path: string, content: string): boolean {
  const draft = `${path}.${randomBytes(8).toString('hex')}`;
  try {
    writeFileSync(draft, content, { flag: 'wx', flush: true });
    linkSync(draft, path);
    return true;
  } catch (error) {
    const { code, syscall, message }: NodeJS.ErrnoException = Object(error);
    // ENOENT: the new owner of the folder has swept our draft away; the next attempt will meet its lock
    if (syscall === 'link' && (code === 'EEXIST' || code === 'ENOENT')) return false;
    throw new Error(`cannot write ${path}: ${message}`, { cause: error });
  } finally {
    rmSync(draft, { force: true });
  }
}

/** What killed processes left. Nothing here matters to anybody while the lock itself is held. */
function sweep(path: string): void {
  for (const name of readdirSync(dirname(path))) {
    if (name.startsWith(`${basename(path)}.`)) rmSync(join(dirname(path), name), { force: true });
  }
}

function newLockFile(): string {
  const holder: Holder = { pid: process.pid, started: processStart(process.pid) ?? 'unknown' };
  return JSON.stringify({ ...holder, nonce: randomBytes(8).toString('hex') });
}

function readLock(path: string): LockFile | undefined {
  let content: string;
  try {
    content = readFileSync(path, 'utf8');
  } catch (error) {
    const { code }: NodeJS.ErrnoException = Object(error);
    if (code === 'ENOENT') return undefined;
    throw error;
  }
  return { holder: parseHolder(content), id: lockId(content) };
}

function parseHolder(content: string): Holder | undefined {
  try {
    const { pid, started }: Partial<Holder> = JSON.parse(content);
    if (!pid || !Number.isInteger(pid) || typeof started !== 'string') return undefined;
    return { pid, started };
  } catch {
    return undefined;
  }
}

function lockId(content: string): string {
  return createHash('sha256').update(content).digest('hex').slice(0, 16);
}
