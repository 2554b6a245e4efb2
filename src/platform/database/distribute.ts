import type { DataSource } from 'typeorm';
import type { SchemaSource } from './schema-state.js';

/**
 * Settings that workers need so that statements have the same results and plans as on the coordinator. All other
 * settings come from the coordinator's session.
 */
const NODE_SETTINGS = {
  TimeZone: 'UTC',
  DateStyle: 'ISO, MDY',
  jit: 'off',
  random_page_cost: '1.1',
};

export async function isDistributed(dataSource: SchemaSource): Promise<boolean> {
  if (!(await hasCitus(dataSource))) return false;
  const rows = await dataSource.query<unknown[]>(
    `SELECT FROM pg_dist_partition WHERE partmethod = 'h' LIMIT 1`,
  );
  return rows.length > 0;
}

/**
 * Sets what each node needs, and distributes the tables that are not distributed yet. Tables of projects are
 * distributed by `project_id` and colocated; tables without a project stay on the coordinator. Returns the names of the
 * tables that it distributed. It may run again, also after an interruption.
 * @throws Error that names what the cluster lacks
 */
export async function distribute(dataSource: DataSource): Promise<string[]> {
  await assertCluster(dataSource);
  const [database] = await dataSource.query<{ name: string }[]>(
    `SELECT quote_ident(current_database()) AS name`,
  );
  // Citus runs this on every node.
  for (const [name, value] of Object.entries(NODE_SETTINGS))
    await dataSource.query(`ALTER DATABASE ${database!.name} SET ${name} = '${value}'`);
  return distributeTables(dataSource);
}

/** Returns the nodes that the coordinator cannot reach, as `host:port`. */
export async function unreachableNodes(dataSource: SchemaSource): Promise<string[]> {
  const rows = await dataSource.query<{ node: string }[]>(`
    SELECT nodename || ':' || nodeport AS node FROM run_command_on_workers('SELECT 1')
    WHERE NOT success ORDER BY 1`);
  return rows.map(({ node }) => node);
}

/** Distributes the tables and functions that the workers lack. */
export async function distributeTables(dataSource: DataSource): Promise<string[]> {
  await dataSource.query(`
    SELECT create_distributed_function(oid::regprocedure) FROM pg_proc
    WHERE pronamespace = current_schema()::regnamespace AND starts_with(proname, 'skein_')
      AND oid NOT IN (SELECT objid FROM pg_catalog.pg_dist_object WHERE classid = 'pg_proc'::regclass)`);
  const tables = await dataSource.query<{ name: string }[]>(TABLES);
  for (const { name } of tables)
    await dataSource.transaction(async (manager) => {
      // Existing rows are copied. Their marks exist, so the triggers must not write them again.
      await manager.query(`ALTER TABLE "${name}" DISABLE TRIGGER USER`);
      await manager.query(
        `SELECT create_distributed_table($1, 'project_id', colocate_with => coalesce(
           (SELECT min(logicalrelid::text) FROM pg_dist_partition WHERE partmethod = 'h'), 'default'))`,
        [name],
      );
      await manager.query(`ALTER TABLE "${name}" ENABLE TRIGGER USER`);
    });
  await dataSource.query(MOVED);
  return tables.map(({ name }) => name);
}

/** Lists the tables to distribute. A table with a unique index without `project_id` cannot be distributed. */
const TABLES = `
  SELECT c.relname AS name FROM pg_class c
  JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'project_id' AND NOT a.attisdropped
  WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r'
    AND c.oid NOT IN (SELECT logicalrelid FROM pg_dist_partition)
    AND NOT EXISTS (
      SELECT FROM pg_index i WHERE i.indrelid = c.oid AND i.indisunique AND NOT a.attnum = ANY(i.indkey))
  ORDER BY c.relname`;

/** Empties the local tables whose rows were copied into shards. */
const MOVED = `
  SELECT truncate_local_data_after_distributing_table(logicalrelid) FROM pg_dist_partition
  WHERE partmethod = 'h' AND pg_relation_size(logicalrelid) > 0`;

async function hasCitus(dataSource: SchemaSource): Promise<boolean> {
  const rows = await dataSource.query<unknown[]>(
    `SELECT FROM pg_extension WHERE extname = 'citus'`,
  );
  return rows.length > 0;
}

async function assertCluster(dataSource: DataSource): Promise<void> {
  if (!(await hasCitus(dataSource)))
    throw new Error(
      'this database has no Citus: run CREATE EXTENSION citus in it on every node, then ' +
        'SELECT citus_set_coordinator_host(…) and SELECT citus_add_node(…) for each worker on the coordinator',
    );
  const [cluster] = await dataSource.query<{ is_coordinator: boolean; workers: number }[]>(`
    SELECT citus_is_coordinator() AS is_coordinator,
      (SELECT count(*)::int FROM pg_dist_node WHERE noderole = 'primary' AND isactive AND shouldhaveshards) AS workers`);
  if (!cluster!.is_coordinator)
    throw new Error('DATABASE_URL leads to a worker: use the address of the coordinator');
  if (cluster!.workers === 0)
    throw new Error(
      'the coordinator knows no node that may hold shards: run SELECT citus_add_node(host, port) for each worker',
    );
  const inUse = await dataSource.query<unknown[]>(`
    SELECT FROM pg_stat_activity
    WHERE datname = current_database() AND application_name = 'skein'`);
  if (inUse.length > 0) throw new Error('a service runs on this database: stop it first');
}
