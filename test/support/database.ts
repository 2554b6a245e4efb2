import { randomBytes } from 'node:crypto';
import pg from 'pg';

export interface TestDatabase {
  url: string;
  /** Drops the database even if it has connections. */
  drop: () => Promise<void>;
}

const IS_CLUSTER = Boolean(process.env['TEST_CITUS_URL']);

/** `it` and `describe`, which are skipped on a cluster for the given reason. */
export const unlessCluster = (why: string): Pick<typeof globalThis, 'it' | 'describe'> =>
  IS_CLUSTER
    ? { it: leftOut(it.skip, why), describe: leftOut(describe.skip, why) }
    : { it, describe };

function leftOut<T extends jest.It | jest.Describe>(skip: T, why: string): T {
  const named = (name: string, work: never) =>
    skip(`${name} (left out on a cluster: ${why})`, work);
  return named as T;
}

/** The servers of the tests: one server, or the nodes of a cluster with the coordinator first. */
export const testServers = (): string[] => process.env['SKEIN_TEST_NODES']!.split(' ');

/** Creates a database: a clone of the migrated template, or an empty one. */
export async function openTestDatabase({ isEmpty = false } = {}): Promise<TestDatabase> {
  const servers = testServers();
  const name = `skein_test_${randomBytes(8).toString('hex')}`;
  const template = isEmpty ? 'template0' : process.env['SKEIN_TEST_TEMPLATE'];
  for (const server of servers)
    await onServer(server, `CREATE DATABASE ${name} TEMPLATE ${template}`);
  return {
    url: servers[0]!.replace(/\/[^/?]*(\?|$)/, `/${name}$1`),
    drop: async () => {
      for (const server of servers)
        await onServer(server, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
    },
  };
}

/** Makes the database refuse new connections, and ends the existing ones. */
export async function refuseConnections(databaseUrl: string): Promise<void> {
  const name = new URL(databaseUrl.replace('@/', '@localhost/')).pathname.slice(1);
  const [server] = testServers();
  await onServer(server!, `ALTER DATABASE ${name} ALLOW_CONNECTIONS false`);
  await onServer(
    server!,
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${name}'`,
  );
}

/** Runs a statement. PostgreSQL copies a template for one client at a time; the others try again (error 55006). */
async function onServer(url: string, statement: string): Promise<void> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    for (;;) {
      try {
        await client.query(statement);
        return;
      } catch (error) {
        if ((error as { code?: string }).code !== '55006') throw error;
      }
    }
  } finally {
    await client.end();
  }
}
