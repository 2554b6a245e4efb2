import {
  closeSync,
  constants,
  existsSync,
  fchownSync,
  fstatSync,
  openSync,
  readSync,
  statSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type ProcessIdentity, isRunning, isVisible, ownIdentity } from './processes.js';

/** A lock that the kernel holds on a file, for as long as any process has this descriptor open. */
export interface FileLock {
  /** Descriptor of the file. A program that inherits it holds the lock too, except on Windows. */
  descriptor: number;
  /** Closes this process's descriptor. It may be called again. */
  release: () => void;
}

export interface LockOptions {
  /** How long to wait for a holder that is not known to run: the lock may just have been taken or released. */
  patienceMs: number;
  /** Called once when the lock is held but no service is known to run. `isOurs`: it ended in this PID namespace. */
  onLeftover?: (isOurs: boolean) => Promise<void>;
  signal?: AbortSignal;
}

export class FolderInUse extends Error {
  constructor(
    readonly folder: string,
    readonly who: string,
  ) {
    super(`${folder} is in use by ${who}: stop that one first, or set another DATA_DIR`);
  }
}

/**
 * The locked byte is behind the content, because Windows prevents others from reading a locked range. macOS locks the
 * whole file.
 */
const LOCKED_BYTE = 2 ** 40;
/** Fixed size of the content, so that taking the lock again needs no space on the disk. */
const CONTENT_BYTES = 1024;
const POLL_MS = 10;

/**
 * Takes the lock on the file for this process. The file is created when it is missing. The kernel keeps the lock, so
 * containers, PID namespaces and other paths to the file all see it. It never outlives its holders. The content only
 * names the last holder. The file is never removed: a lock on a removed file is invisible to later processes.
 * @throws FolderInUse naming the holder.
 */
export async function lockFile(path: string, options: LockOptions): Promise<FileLock> {
  const { tryLock } = await lockLibrary();
  const descriptor = open(path);
  const release = once(() => closeSync(descriptor));
  try {
    const deadline = performance.now() + options.patienceMs;
    let { onLeftover } = options;
    while (!tryLock(descriptor, LOCKED_BYTE, 1)) {
      const holder = readHolder(descriptor);
      const hasEnded = holder !== undefined && isVisible(holder) && !isRunning(holder);
      const isKnown = holder !== undefined && isVisible(holder) && !hasEnded;
      if (isKnown || performance.now() > deadline) throw inUse(path, hasEnded ? undefined : holder);
      await onLeftover?.(hasEnded);
      onLeftover = undefined;
      await delay(POLL_MS, undefined, { signal: options.signal });
    }
    writeSync(descriptor, JSON.stringify(ownIdentity()).padEnd(CONTENT_BYTES), 0);
    return { descriptor, release };
  } catch (error) {
    release();
    throw error;
  }
}

/**
 * Loads the library only when it is needed: on platforms without its binary, a service with DATABASE_URL still starts.
 */
async function lockLibrary() {
  try {
    return await import('fs-native-extensions');
  } catch (error) {
    throw new Error(
      `files cannot be locked on ${process.platform}-${process.arch}, which the embedded PostgreSQL needs: set DATABASE_URL`,
      { cause: error },
    );
  }
}

function open(path: string): number {
  try {
    const { O_RDWR, O_CREAT, O_NOFOLLOW } = constants;
    const descriptor = openSync(path, O_RDWR | O_CREAT | O_NOFOLLOW, 0o600);
    if (process.getuid?.() === 0) {
      // the owner of the folder may start the service next
      const { uid, gid } = statSync(dirname(path));
      if (fstatSync(descriptor).uid !== uid) fchownSync(descriptor, uid, gid);
    }
    return descriptor;
  } catch (error) {
    throw new Error(`cannot write ${path}: ${withOwner(error, path)}`, { cause: error });
  }
}

/** Returns the message of an error. If access to another user's path was denied, it names both users. */
export function withOwner(error: unknown, path: string): string {
  const { code, message }: NodeJS.ErrnoException = Object(error);
  const [owner, own] = [ownerId(path), process.getuid?.()];
  if (code !== 'EACCES' || owner === undefined || owner === own) return message;
  return `${message} (it belongs to the user id ${owner}, and the service runs as ${own})`;
}

function ownerId(path: string): number | undefined {
  try {
    return statSync(path).uid;
  } catch {
    return undefined;
  }
}

function inUse(path: string, holder: ProcessIdentity | undefined): FolderInUse {
  if (!holder) return new FolderInUse(dirname(path), 'another process');
  const where = isVisible(holder)
    ? ''
    : ` on ${holder.host}, in another container or PID namespace`;
  return new FolderInUse(dirname(path), `process ${holder.pid}${where}`);
}

/** Returns the process that took the lock last, if it runs in this namespace. */
export function visibleHolder(path: string): number | undefined {
  if (!existsSync(path)) return undefined;
  const descriptor = openSync(path, constants.O_RDONLY);
  try {
    const holder = readHolder(descriptor);
    return holder && isVisible(holder) && isRunning(holder) ? holder.pid : undefined;
  } finally {
    closeSync(descriptor);
  }
}

/** Returns undefined while the holder has not written its identity yet. */
function readHolder(descriptor: number): ProcessIdentity | undefined {
  const buffer = Buffer.alloc(CONTENT_BYTES);
  const content = buffer.toString('utf8', 0, readSync(descriptor, buffer, 0, CONTENT_BYTES, 0));
  try {
    const { pid, started, host, namespace }: ProcessIdentity = JSON.parse(content);
    const isWhole = Number.isInteger(pid) && [started, host, namespace].every(isText);
    return isWhole ? { pid, started, host, namespace } : undefined;
  } catch {
    return undefined;
  }
}

const isText = (value: unknown): boolean => typeof value === 'string';

function once(work: () => void): () => void {
  let isDone = false;
  return () => {
    if (!isDone) work();
    isDone = true;
  };
}
