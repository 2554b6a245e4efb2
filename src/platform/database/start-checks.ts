import { InvalidSetting } from '../config/setting.js';
import type { Pool, PoolClient } from '../pg/driver.js';

/**
 * Checks that connections keep their sessions. A pooler in transaction mode gives each transaction another session.
 * Then the state of a session is lost: time limits, the lock of migrations, prepared statements and LISTEN. Two
 * connections share one backend, or one connection meets several.
 * @throws InvalidSetting when a pooler of this kind is found
 */
export async function assertSessionsLast(pool: Pool): Promise<void> {
  const clients = [await pool.connect()];
  try {
    const first = await backendPid(clients[0]!);
    clients.push(await pool.connect());
    const [one, other] = clients as [PoolClient, PoolClient];
    await other.query('BEGIN');
    const isShared = (await backendPid(other)) === first;
    await other.query('COMMIT');
    // A pooler hands out the backend that became free last, or each backend in turn.
    const later = [await backendPid(one), await backendPid(one), await backendPid(one)];
    if (isShared || later.some((backend) => backend !== first)) throw new InvalidSetting(POOLER);
  } finally {
    for (const client of clients) client.release();
  }
}

const POOLER =
  'DATABASE_URL leads to a pooler that gives each transaction another session (of PgBouncer: pool_mode=transaction); ' +
  'Skein needs sessions of its own: use pool_mode=session, or the address of PostgreSQL itself';

async function backendPid(client: PoolClient): Promise<number> {
  const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  return rows[0]!.pid;
}

type ServerSettings = Partial<Record<string, string>>;

const NAMES = [
  'max_connections',
  'superuser_reserved_connections',
  'reserved_connections', // since PostgreSQL 16
  'fsync',
  'full_page_writes',
  'synchronous_commit',
];

export async function serverSettings(pool: Pool): Promise<ServerSettings> {
  const { rows } = await pool.query<{ name: string; setting: string }>(
    'SELECT name, setting FROM pg_settings WHERE name = ANY($1)',
    [NAMES],
  );
  return Object.fromEntries(rows.map(({ name, setting }) => [name, setting]));
}

/**
 * Connections of the process that starts workers. It checks, migrates and creates the first key while the workers
 * connect.
 */
const PRIMARY_CONNECTIONS = 2;

/** @throws InvalidSetting when the processes may open more connections than the server allows */
export function assertConnectionsSuffice(
  settings: ServerSettings,
  { workers, databasePoolSize }: { workers: number; databasePoolSize: number },
): void {
  const numericSetting = (name: string) => Number(settings[name] ?? 0);
  const free =
    numericSetting('max_connections') -
    numericSetting('superuser_reserved_connections') -
    numericSetting('reserved_connections');
  // Each process also has a connection that listens for jobs, and one that checks the health of the database.
  const needed = workers * (databasePoolSize + 2) + (workers > 1 ? PRIMARY_CONNECTIONS : 0);
  if (needed > free)
    throw new InvalidSetting(
      `WORKERS ${workers} and DATABASE_POOL_SIZE ${databasePoolSize} need ${needed} connections, ` +
        `but the database allows ${free} (max_connections without the reserved ones)`,
    );
}

/** Returns a warning when acknowledged writes may be lost in a crash of the server, otherwise null. */
export function durabilityWarning(settings: ServerSettings): string | null {
  const off = ['synchronous_commit', 'fsync', 'full_page_writes'].filter(
    (name) => settings[name] === 'off',
  );
  if (off.length === 0) return null;
  return `the database may lose writes that were acknowledged: ${off.join(', ')} = off`;
}
