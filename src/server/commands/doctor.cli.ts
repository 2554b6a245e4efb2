import 'reflect-metadata';
import { once } from 'node:events';
import { connect as connectHttp2 } from 'node:http2';
import { accessSync, constants, existsSync, statfsSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { DataSource } from 'typeorm';
import { serviceUrl } from '../../platform/config/config.js';
import { config, ownMisspeltSettings } from '../../platform/config/process-config.js';
import {
  assertConnectionsSuffice,
  durabilityWarning,
  serverSettings,
} from '../../platform/database/start-checks.js';
import {
  describeBuild,
  listMigrations,
  schemaState,
} from '../../platform/database/schema-state.js';
import { SQL_FILES } from '../../platform/database/sql-files.js';
import { driverPool } from '../../platform/pg/driver.js';
import { storageAt } from '../../platform/backup/storage-location.js';
import { storedBackups } from '../../platform/backup/stored-backups.js';
import { readDisk } from '../../platform/postgres/disk-watch.js';
import { fileSystemProblem } from '../../platform/postgres/file-system.js';
import { commandText } from '../../platform/command-text.js';
import { runCommand, errorText, printOutput, withPostgres } from './command.js';
import { assertFree } from '../listener.js';
import { connectDatabase } from '../database-connection.js';

const USAGE = `${commandText('doctor')}

Checks the settings, the folder, the disk, the clock, the ports and the database of the service, beside a running service too, and
says what to correct. Changes nothing. Exits with 1 when something must be corrected.`;

const GIB = 1024 ** 3;
/** With less free disk space, or a smaller free part, the embedded database soon refuses writes. */
const LEAST_FREE = 2 * GIB;
const LEAST_FREE_PART = 0.05;
/** Largest clock difference. Times of calls come from clients, but leases and keys end by the clock of the database. */
const MOST_SECONDS_APART = 2;
/** PostgreSQL refuses writes at 2,100 million. */
const MOST_TRANSACTIONS = 1.5e9;
const ANSWER_MS = 5000;

let bad = 0;
const good = (what: string) => printOutput(`ok    ${what}`);
const warn = (what: string) => printOutput(`warn  ${what}`);
function reportFault(what: string): void {
  bad++;
  printOutput(`FIX   ${what}`);
}
const gib = (bytes: number) => `${(bytes / GIB).toFixed(1)} GiB`;

function checkSettings(): void {
  const names = ownMisspeltSettings();
  for (const { name, meant } of names)
    warn(`${name} is not a setting and is ignored: did you mean ${meant}?`);
  if (names.length === 0) good(`settings (Node ${process.versions.node})`);
  if (config.publicUrl?.startsWith('https:') && config.trustProxy === 0)
    warn(
      'PUBLIC_URL is behind a proxy with TLS, and TRUST_PROXY is not set: all clients count as the proxy’s address',
    );
}

function checkFolder(): void {
  const folder = resolve(config.dataDir);
  if (!existsSync(folder))
    return warn(`${folder} (DATA_DIR) is not there: ${commandText('start')} makes it`);
  try {
    if (!statSync(folder).isDirectory()) return reportFault(`${folder} (DATA_DIR) is not a folder`);
    accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    const who = `user ${process.getuid?.()}, group ${process.getgid?.()}`;
    return reportFault(
      `${folder} (DATA_DIR) cannot be used by ${who} (${(error as NodeJS.ErrnoException).code}): give it to them`,
    );
  }
  const problem =
    process.platform === 'linux' ? fileSystemProblem(statfsSync(folder).type) : undefined;
  if (problem?.isNetwork)
    reportFault(`${folder} (DATA_DIR) is on ${problem.name}: it must be on a local disk`);
  else if (problem)
    warn(`${folder} (DATA_DIR) is on ${problem.name}: make sure that it writes what it is told to`);
  const { freeBytes, sizeBytes } = readDisk(folder);
  const room = `${gib(freeBytes)} of ${gib(sizeBytes)} are free on the disk of ${folder} (DATA_DIR)`;
  if (freeBytes < Math.max(LEAST_FREE, sizeBytes * LEAST_FREE_PART))
    reportFault(`${room}: make room, or erase (docs/erasing.md)`);
  else good(room);
  if (existsSync(join(folder, 'first-key')))
    warn(
      `the first admin key still is in ${join(folder, 'first-key')}: store it elsewhere, and remove the file`,
    );
}

async function checkService(): Promise<void> {
  const address = serviceUrl(config);
  const asked = new Date();
  const answer = await fetch(`${operationsUrl()}/ready`, {
    signal: AbortSignal.timeout(ANSWER_MS),
  }).catch(() => undefined);
  if (!answer) {
    try {
      await assertFree(config);
      if (config.operationsPort !== undefined)
        await assertFree({ port: config.operationsPort, host: config.host });
      good(`no service runs on ${address}, and the port is free`);
      await checkGrpcPort();
    } catch (error) {
      reportFault(
        `Skein does not answer on ${address}, and a port cannot be used (${(error as Error).message}): set PORT, OPERATIONS_PORT or HOST`,
      );
    }
    return;
  }
  const state = await answer.text();
  if (answer.ok) good(`the service on ${address} is ready`);
  else if (answer.status === 503)
    reportFault(`the service on ${address} is not ready: ${state.slice(0, 500)}`);
  else
    return reportFault(
      `something that is not Skein answers on ${operationsUrl()} (${answer.status}): set ${config.operationsPort === undefined ? 'PORT' : 'OPERATIONS_PORT'}`,
    );
  await checkGrpc();
  const drift = Math.abs(Date.parse(answer.headers.get('date') ?? '') - asked.getTime()) / 1000;
  if (drift > MOST_SECONDS_APART + 1)
    warn(`the clock of the service is ${drift.toFixed(0)} s away from this one`);
}

/** URL of `/ready`, which moves to `OPERATIONS_PORT` when it is set. */
const operationsUrl = () => serviceUrl({ ...config, port: config.operationsPort ?? config.port });

async function checkGrpcPort(): Promise<void> {
  const { otlpGrpcPort: port, host } = config;
  if (port === undefined) return;
  try {
    await assertFree({ port, host });
    good(`the port for OTLP over gRPC, ${port}, is free`);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    warn(
      `OTLP over gRPC will not be accepted: port ${port} cannot be used (${code}): set OTLP_GRPC_PORT`,
    );
  }
}

/** Checks that the service answers on the gRPC port: it requires a key. */
async function checkGrpc(): Promise<void> {
  const { otlpGrpcPort: port } = config;
  if (port === undefined) return;
  const address = serviceUrl({ ...config, port });
  if (await asksForKey(address)) good(`OTLP over gRPC is accepted on ${address}`);
  else
    warn(
      `OTLP over gRPC is not accepted on ${address}: exporters that use it by default fail. Set OTLP_GRPC_PORT, or to off`,
    );
}

async function asksForKey(address: string): Promise<boolean> {
  const session = connectHttp2(address);
  session.on('error', () => {});
  try {
    const stream = session.request({ ':method': 'POST', ':path': GRPC_EXPORT, ...GRPC_TYPE });
    const signal = AbortSignal.timeout(ANSWER_MS);
    const [headers] = (await once(stream.end(), 'response', { signal })) as [
      Record<string, unknown>,
    ];
    return headers['grpc-status'] === UNAUTHENTICATED && headers['x-request-id'] !== undefined;
  } catch {
    return false;
  } finally {
    session.destroy();
  }
}

const GRPC_EXPORT = '/opentelemetry.proto.collector.trace.v1.TraceService/Export';
const GRPC_TYPE = { 'content-type': 'application/grpc', te: 'trailers' };
const UNAUTHENTICATED = '16';

interface ServerFacts {
  version: string;
  encoding: string;
  is_standby: boolean;
  seconds_apart: number;
  transactions: number;
  bytes: string;
  broken_indexes: string[];
  autovacuum: string;
}

const FOUND = `SELECT current_setting('server_version') AS version, current_setting('server_encoding') AS encoding,
  pg_is_in_recovery() AS is_standby, abs(extract(epoch FROM clock_timestamp() - $1::timestamptz))::float8 AS seconds_apart,
  (SELECT max(age(datfrozenxid)) FROM pg_database)::float8 AS transactions, pg_database_size(current_database())::text AS bytes,
  coalesce((SELECT array_agg(i.indexrelid::regclass::text ORDER BY 1) FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid
    WHERE NOT i.indisvalid AND c.relnamespace = current_schema()::regnamespace
      AND NOT EXISTS (SELECT FROM pg_stat_progress_create_index p WHERE p.index_relid = i.indexrelid)), '{}') AS broken_indexes,
  current_setting('autovacuum') AS autovacuum`;

async function checkServer(dataSource: DataSource): Promise<void> {
  const [found] = await dataSource.query<[ServerFacts]>(FOUND, [new Date()]);
  const what = `PostgreSQL ${found.version}, ${gib(Number(found.bytes))}`;
  if (found.encoding !== 'UTF8')
    reportFault(`the database is encoded in ${found.encoding}: it must be UTF8`);
  else if (found.is_standby)
    reportFault(`${what} is a standby, which takes no writes: name the primary`);
  else good(what);
  if (found.seconds_apart > MOST_SECONDS_APART)
    reportFault(
      `the clock of the database is ${found.seconds_apart.toFixed(0)} s away from this one: leases and keys end by it`,
    );
  if (found.transactions > MOST_TRANSACTIONS)
    reportFault(
      `the oldest transaction is ${Math.round(found.transactions / 1e6)} million ago: run VACUUM (FREEZE), PostgreSQL stops at 2,100 million`,
    );
  if (found.autovacuum !== 'on')
    reportFault('autovacuum is off: the tables grow and plans become wrong');
  for (const index of found.broken_indexes)
    reportFault(
      `the index ${index} was not finished: ${commandText('psql', `-c 'REINDEX INDEX CONCURRENTLY ${index}'`)}`,
    );
  const settings = await serverSettings(driverPool(dataSource));
  const durability = durabilityWarning(settings);
  if (durability) warn(durability);
  try {
    assertConnectionsSuffice(settings, config);
  } catch (error) {
    reportFault((error as Error).message);
  }
}

/** Checks that the role may make tables, if it has to, and may use those that are there. */
async function checkRole(dataSource: DataSource, mustMake: boolean): Promise<void> {
  const [role] = await dataSource.query<[{ name: string; makes: boolean; lacks: string[] }]>(ROLE);
  if (mustMake && !role.makes)
    reportFault(
      `the role ${role.name} may not make tables: GRANT CREATE ON SCHEMA public TO it, or run ${commandText('migrate')} with a role that may`,
    );
  if (role.lacks.length > 0)
    reportFault(`the role ${role.name} may not read and write ${listed(role.lacks)}`);
}
const listed = (names: readonly string[]) =>
  names.slice(0, 5).join(', ') + (names.length > 5 ? ' and others' : '');
const ROLE = `SELECT current_user AS name, has_schema_privilege(current_schema(), 'CREATE') AS makes,
  coalesce((SELECT array_agg(c.relname::text ORDER BY 1) FROM pg_class c
    WHERE c.relkind IN ('r', 'p') AND c.relnamespace = current_schema()::regnamespace
      AND c.relname NOT IN ('migrations', '${SQL_FILES}') -- only those who change the schema write them
      AND NOT (has_table_privilege(c.oid, 'SELECT') AND has_table_privilege(c.oid, 'INSERT'))), '{}') AS lacks`;

async function checkSchema(dataSource: DataSource): Promise<void> {
  const { hasTables, pending, unknown } = await schemaState(dataSource);
  if (unknown.length > 0)
    return reportFault(
      `the database has run ${listMigrations(unknown)}; this is ${describeBuild(dataSource)}: run the newer build`,
    );
  await checkRole(dataSource, !hasTables || pending.length > 0);
  if (!hasTables) return warn(`the database has no tables yet: ${commandText('start')} makes them`);
  if (pending.length > 0)
    return warn(
      `${pending.length} migrations wait: ${commandText('migrate')}, or the next start, runs them`,
    );
  good(describeBuild(dataSource));
  const [{ admins }] = await dataSource.query<[{ admins: number }]>(
    `SELECT count(*)::int AS admins FROM api_keys WHERE role = 'admin' AND '*' = ANY(scopes) AND revoked_at IS NULL
       AND (expires_at IS NULL OR expires_at > now())`,
  );
  if (admins === 0)
    reportFault(
      `no key of the role admin and the scope * is active: ${commandText('keys', "create --user you --role admin --scope '*'")}`,
    );
}

/** Checks that BACKUP_URL can be listed. It writes nothing there. */
async function checkBackups(): Promise<void> {
  const { backupUrl, s3 } = config;
  if (backupUrl === undefined) return;
  try {
    const [newest] = await storedBackups(storageAt(backupUrl, s3));
    const what = newest
      ? `the newest backup is of ${newest.at.toISOString()}`
      : 'it has no backup yet';
    good(`backups are stored in ${backupUrl} (BACKUP_URL): ${what}`);
  } catch (error) {
    reportFault(
      `backups cannot be stored in ${backupUrl} (BACKUP_URL): ${(error as Error).message}`,
    );
  }
}

async function checkDatabase(): Promise<void> {
  const hasNone = !config.databaseUrl && !existsSync(join(resolve(config.dataDir), 'pgdata'));
  if (hasNone) return warn(`there is no database yet: ${commandText('start')} makes it`);
  await withPostgres({ mustExist: true }, async (url) => {
    const dataSource = await connectDatabase(url);
    try {
      await checkServer(dataSource);
      await checkSchema(dataSource);
    } finally {
      await dataSource.destroy();
    }
  });
}

await runCommand(USAGE, async () => {
  checkSettings();
  checkFolder();
  await checkService();
  await checkBackups();
  await checkDatabase().catch((error: unknown) => reportFault(errorText(error)));
  if (bad > 0) throw new Error(`${bad} to correct`);
});
