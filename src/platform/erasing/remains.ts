import { setTimeout as sleep } from 'node:timers/promises';
import { listTables, quoteIdentifier } from '../backup/tables.js';
import type { PoolClient } from '../pg/driver.js';

/** A place that may still hold the bytes of erased rows, and why. */
export interface Remain {
  where: string;
  why: string;
}

/** Catalogs that hold samples of values, made by ANALYZE. */
const STATISTICS = ['pg_statistic', 'pg_statistic_ext_data'];

/** Returns the tables in which rows were erased or changed since PostgreSQL began to count. */
export async function changedTables(client: PoolClient): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(`
    SELECT relid::regclass::text AS name FROM pg_stat_user_tables
    WHERE schemaname = current_schema() AND n_tup_del + n_tup_upd > 0
    ORDER BY n_tup_del + n_tup_upd DESC`);
  return rows.map(({ name }) => name);
}

/**
 * Writes each table and its indexes anew, without the bytes of erased rows. A table is locked meanwhile. Calls `done`
 * after each. Returns the tables that could not be written.
 */
export async function rewriteTables(
  client: PoolClient,
  done: (table: string) => void,
): Promise<Remain[]> {
  const remains: Remain[] = [];
  const tables = (await listTables(client)).map(({ name }) => name);
  for (const table of [...tables, ...STATISTICS]) {
    let why = await rewrite(client, table);
    for (let again = 0; why === SEEN && again < MOST_REPEATS; again++) {
      await sleep(REPEAT_AFTER_MS);
      why = await rewrite(client, table);
    }
    if (why === undefined) done(table);
    else remains.push({ where: `table ${table}`, why });
  }
  return remains;
}

const SEEN =
  'a transaction that began before can still see its erased rows: end it, and run this again';
/** Transactions of a running service are short, and see rows that were replaced meanwhile. */
const MOST_REPEATS = 5;
const REPEAT_AFTER_MS = 1000;

type Notice = Partial<Record<'severity' | 'message' | 'detail', string | undefined>>;

/** Returns why the table holds old bytes still. PostgreSQL only warns of a table that it leaves out. */
async function rewrite(client: PoolClient, table: string): Promise<string | undefined> {
  let why: string | undefined;
  const onNotice = ({ severity, message, detail }: Notice) => {
    if (severity === 'WARNING') why = message;
    else if (/^[1-9]\d* dead row versions cannot be removed yet/m.test(detail ?? '')) why = SEEN;
  };
  client.on('notice', onNotice);
  try {
    const options = STATISTICS.includes(table) ? 'FULL, VERBOSE' : 'FULL, VERBOSE, ANALYZE';
    await client.query(`VACUUM (${options}) ${quoteIdentifier(table)}`);
    return why;
  } catch (error) {
    return (error as Error).message;
  } finally {
    client.off('notice', onNotice);
  }
}

/** Returns the names of the segments of the log, and of the one that is being written. */
async function readLog(client: PoolClient): Promise<{ segments: string[]; current: string }> {
  const { rows } = await client.query<{ segments: string[]; current: string }>(`
    SELECT array_agg(name ORDER BY name) AS segments, pg_walfile_name(pg_current_wal_insert_lsn()) AS current
    FROM pg_ls_waldir() WHERE name ~ '^[0-9A-F]{24}$'`);
  return rows[0]!;
}

/** Ends the segment that is being written. PostgreSQL fills the rest of it with zeros. */
async function endSegment(client: PoolClient): Promise<void> {
  await client.query(`SELECT pg_logical_emit_message(false, 'skein', '')`); // an empty segment is not ended
  await client.query('SELECT pg_switch_wal()');
}

/**
 * Overwrites the log of PostgreSQL. A checkpoint keeps old segments for use under a new name, with their bytes. So each
 * segment is used once: its rest is filled with zeros. Returns what is left.
 */
export async function overwriteLog(client: PoolClient): Promise<Remain[]> {
  try {
    // The second checkpoint also releases the segment in which the first one began.
    for (let i = 0; i < 2; i++) {
      await endSegment(client);
      await client.query('CHECKPOINT');
    }
    const { segments, current } = await readLog(client);
    for (let i = 0; i <= segments.length; i++) await endSegment(client);
    await client.query('CHECKPOINT');
    return await oldSegments(client, current);
  } catch (error) {
    return [{ where: 'pg_wal', why: (error as Error).message }];
  }
}

/** Returns the segments that end before the one that was being written when the log was overwritten. */
async function oldSegments(client: PoolClient, began: string): Promise<Remain[]> {
  const { segments } = await readLog(client);
  const old = segments.filter((name) => name < began);
  if (old.length === 0) return [];
  const { rows } = await client.query<{ name: string }>(
    `SELECT slot_name AS name FROM pg_replication_slots WHERE restart_lsn IS NOT NULL`,
  );
  const slots = rows.map(({ name }) => name).join(', ');
  return [
    {
      where: `${old.length} segments of pg_wal, up to ${old.at(-1)}`,
      why: slots
        ? `the replication slots ${slots} hold them`
        : 'they are not archived yet, or wal_keep_size holds them',
    },
  ];
}
