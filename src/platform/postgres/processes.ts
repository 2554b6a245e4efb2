import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import { hostname } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';

const POLL_MS = 10;

/** A process with a unique identity. A process id alone is reused, and means another process in another namespace. */
export interface ProcessIdentity {
  pid: number;
  started: string;
  host: string;
  /** The PID namespace on Linux, empty elsewhere. */
  namespace: string;
}

export function ownIdentity(): ProcessIdentity {
  const started = processStart(process.pid) ?? 'unknown';
  return { pid: process.pid, started, host: hostname(), namespace: pidNamespace() };
}

/** Returns true when the process can be looked up here. Another host or PID namespace has its own process ids. */
export function isVisible(identity: ProcessIdentity): boolean {
  return identity.host === hostname() && identity.namespace === pidNamespace();
}

export function isRunning(identity: ProcessIdentity): boolean {
  return processStart(identity.pid) === identity.started;
}

function pidNamespace(): string {
  return process.platform === 'linux' ? readlinkSync('/proc/self/ns/pid') : '';
}

/**
 * Returns the start of a process, in a form that can only be compared. Undefined when it does not exist. Zombies count
 * as ended: they hold no resources, and in a container nobody may ever reap them.
 */
function processStart(pid: number): string | undefined {
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

/** Reads field 22 of proc(5) stat. It counts clock ticks since boot, so the result includes the boot id. */
function linuxProcessStart(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // the second field is the name in brackets, which may itself contain spaces and brackets
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

/**
 * Returns the server processes that work in this folder, including a session that is still busy after its postmaster
 * was killed.
 */
export function serverProcesses(pgdata: string): number[] {
  if (process.platform !== 'linux') return [];
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => pid > 0 && isServerProcess(pid, pgdata));
}

/**
 * Compares the folder itself, not its path: the same path is another folder in a container whose processes are visible.
 */
function isServerProcess(pid: number, pgdata: string): boolean {
  try {
    if (readFileSync(`/proc/${pid}/comm`, 'utf8') !== 'postgres\n') return false;
    const [theirs, ours] = [statSync(`/proc/${pid}/cwd`), statSync(pgdata)];
    return theirs.dev === ours.dev && theirs.ino === ours.ino;
  } catch {
    return false; // it ended meanwhile, or may not be inspected
  }
}

/** Returns true when the process is the server of this folder. Its id may have passed to another PostgreSQL. */
export function isPostmaster(pid: number, pgdata: string): boolean {
  const folder = /^\S.*?\/postgres -D (.*?) -p /.exec(commandLine(pid))?.[1];
  return process.platform === 'linux'
    ? folder !== undefined && isServerProcess(pid, pgdata)
    : folder === pgdata;
}

/** Returns the arguments separated by spaces. Empty when the process does not exist. */
export function commandLine(pid: number): string {
  try {
    if (process.platform === 'linux') {
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
    }
    const stdio: ['ignore', 'pipe', 'ignore'] = ['ignore', 'pipe', 'ignore'];
    const args = ['-ww', '-o', 'command=', '-p', String(pid)];
    return execFileSync('ps', args, { encoding: 'utf8', stdio });
  } catch {
    return '';
  }
}

export function signal(pid: number, name: 'SIGHUP' | 'SIGINT' | 'SIGKILL'): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    const { code }: NodeJS.ErrnoException = Object(error);
    if (code !== 'ESRCH') throw error;
  }
}

export async function waitForEnd(pid: number, timeoutMs: number): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  const started = processStart(pid);
  if (started === undefined) return;
  while (processStart(pid) === started && performance.now() < deadline) await delay(POLL_MS);
}
