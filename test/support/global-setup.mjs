// Runs as plain Node, so it imports the service from dist/, which `npm test` builds first.
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { DataSource } from 'typeorm';

/** A test database is dropped after the run, so it may trade safety for speed. */
const FAST = [
  'fsync=off',
  'synchronous_commit=off',
  'full_page_writes=off',
  'max_connections=300',
].flatMap((setting) => ['-c', setting]);

/**
 * Starts one PostgreSQL for the run (`TEST_DATABASE_URL` or an embedded one) with a migrated template. Each test file
 * clones the template.
 *
 * With `TEST_CITUS_URL`, the coordinator of a cluster, the template is distributed and every node has each database.
 */
export default async function setup() {
  if (globalThis.stopTestServer) return; // another Jest project of the run has done it
  process.env.LOG_LEVEL ??= 'silent';
  const { TEST_CITUS_URL, TEST_DATABASE_URL } = process.env;
  const url = TEST_CITUS_URL ?? TEST_DATABASE_URL;
  const server = url ? { url, stop: async () => {} } : await startServer();
  const nodes = TEST_CITUS_URL ? await nodesOf(TEST_CITUS_URL) : [server.url];
  const template = `skein_template_${process.pid}`;
  for (const node of nodes) await run(node, `CREATE DATABASE ${template}`);
  if (TEST_CITUS_URL) await joinNodes(nodes.map((node) => databaseOn(node, template)));
  await migrateTemplate(databaseOn(server.url, template), Boolean(TEST_CITUS_URL));
  // Citus processes in the template would block its cloning
  if (TEST_CITUS_URL)
    for (const node of nodes)
      await run(
        node,
        `ALTER DATABASE ${template} ALLOW_CONNECTIONS false`,
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${template}'`,
      );
  process.env.SKEIN_TEST_NODES = nodes.join(' ');
  process.env.SKEIN_TEST_TEMPLATE = template;
  globalThis.stopTestServer = async () => {
    globalThis.stopTestServer = () => {};
    for (const node of nodes) await run(node, `DROP DATABASE ${template}`);
    await server.stop();
  };
}

const databaseOn = (url, name) => url.replace(/\/[^/?]*(\?|$)/, `/${name}$1`);

/** The URLs of all nodes, coordinator first. */
async function nodesOf(url) {
  const rows = await run(url, `SELECT nodename, nodeport FROM pg_dist_node ORDER BY groupid`);
  return rows.map(({ nodename, nodeport }) => {
    const node = new URL(url);
    Object.assign(node, { hostname: nodename, port: String(nodeport) });
    return String(node);
  });
}

async function joinNodes([coordinator, ...workers]) {
  for (const node of [coordinator, ...workers]) await run(node, `CREATE EXTENSION citus`);
  const address = (node) => `'${new URL(node).hostname}', ${new URL(node).port}`;
  await run(
    coordinator,
    `SELECT citus_set_coordinator_host(${address(coordinator)})`,
    ...workers.map((node) => `SELECT citus_add_node(${address(node)})`),
  );
}

async function startServer() {
  const { openEmbeddedPostgres } =
    await import('../../dist/src/platform/postgres/embedded-postgres.js');
  const dataDir = mkdtempSync(join(tmpdir(), 'skein-test-'));
  chmodSync(dataDir, 0o755); // PostgreSQL runs as another account, which must reach the folder
  const server = await openEmbeddedPostgres({ dataDir, flags: FAST });
  return {
    url: server.url,
    async stop() {
      await server.stop();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

async function migrateTemplate(url, isCluster) {
  const { dataSourceOptions } = await import('../../dist/ormconfig.js');
  const { changingSchema, migrate } = await import('../../dist/src/platform/database/migrate.js');
  const { distribute } = await import('../../dist/src/platform/database/distribute.js');
  const { UNLIMITED_SESSION } = await import('../../dist/src/platform/database/limits.js');
  const dataSource = await new DataSource(dataSourceOptions(url, UNLIMITED_SESSION)).initialize();
  await migrate(dataSource);
  if (isCluster) await changingSchema(dataSource, distribute);
  await dataSource.destroy();
}

/** Runs statements and returns the rows of the last one. */
async function run(url, ...statements) {
  const client = new pg.Client(url);
  await client.connect();
  let rows;
  for (const statement of statements) ({ rows } = await client.query(statement));
  await client.end();
  return rows;
}
