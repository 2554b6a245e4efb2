// Runs as plain Node, so it takes what it needs of the service from dist/, which `npm test` builds first.
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { DataSource } from 'typeorm';

/** A database of a test run does not outlive it, so it may trade safety for speed. */
const FAST = [
  'fsync=off',
  'synchronous_commit=off',
  'full_page_writes=off',
  'max_connections=300',
].flatMap((setting) => ['-c', setting]);

/**
 * One PostgreSQL for the run, `TEST_DATABASE_URL` or an embedded one, with a migrated template that each test file
 * clones.
 */
export default async function setup() {
  if (globalThis.stopTestServer) return; // another project of the run has done it
  process.env.LOG_LEVEL ??= 'silent';
  const server = process.env.TEST_DATABASE_URL
    ? { url: process.env.TEST_DATABASE_URL, stop: async () => {} }
    : await startServer();
  const template = `skein_template_${process.pid}`;
  await run(server.url, `CREATE DATABASE ${template}`);
  await migrateTemplate(server.url.replace(/\/[^/?]*(\?|$)/, `/${template}$1`));
  process.env.SKEIN_TEST_SERVER = server.url;
  process.env.SKEIN_TEST_TEMPLATE = template;
  globalThis.stopTestServer = async () => {
    globalThis.stopTestServer = () => {};
    await run(server.url, `DROP DATABASE ${template}`);
    await server.stop();
  };
}

async function startServer() {
  const { openEmbeddedPostgres } = await import('../../dist/src/postgres/embedded-postgres.js');
  const dataDir = mkdtempSync(join(tmpdir(), 'skein-test-'));
  chmodSync(dataDir, 0o755); // the account that PostgreSQL runs as must reach it
  const server = await openEmbeddedPostgres({ dataDir, flags: FAST });
  return {
    url: server.url,
    async stop() {
      await server.stop();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

async function migrateTemplate(url) {
  const { dataSourceOptions } = await import('../../dist/ormconfig.js');
  const { migrate } = await import('../../dist/src/database/migrate.js');
  const dataSource = await new DataSource(dataSourceOptions(url)).initialize();
  await migrate(dataSource);
  await dataSource.destroy();
}

async function run(url, statement) {
  const client = new pg.Client(url);
  await client.connect();
  await client.query(statement);
  await client.end();
}
