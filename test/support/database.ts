import { randomBytes } from 'node:crypto';
import pg from 'pg';

export interface TestDatabase {
  url: string;
  /** Drops it, whoever is still connected. */
  drop: () => Promise<void>;
}

/** A database of its own: a clone of the migrated template, or an empty one. */
export async function openTestDatabase({ isEmpty = false } = {}): Promise<TestDatabase> {
  const server = process.env['SKEIN_TEST_SERVER']!;
  const name = `skein_test_${randomBytes(8).toString('hex')}`;
  const template = isEmpty ? 'template0' : process.env['SKEIN_TEST_TEMPLATE'];
  await onServer(server, `CREATE DATABASE ${name} TEMPLATE ${template}`);
  return {
    url: server.replace(/\/[^/?]*(\?|$)/, `/${name}$1`),
    drop: () => onServer(server, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`),
  };
}

/** PostgreSQL copies a template for one client at a time; others wait by trying again. */
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
