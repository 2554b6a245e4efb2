import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import { DataSource } from 'typeorm';
import { dataSourceOptions } from '../../ormconfig.js';
import { withClient } from '../../src/platform/backup/client.js';
import { BackupProgress } from '../../src/platform/backup/progress.js';
import { restore } from '../../src/platform/backup/restore.js';
import type { ReadinessDto } from '../../src/platform/operations/operations.dto.js';
import { prepareSchema } from '../../src/platform/backup/schema.js';
import { startApp } from '../support/app.js';
import { openFile } from '../support/backups.js';
import { openTestDatabase, type TestDatabase } from '../support/database.js';
import { plant } from '../support/planted.js';
import { storeBuild } from '../support/released.js';
import { freePort, run, startServer } from '../support/server.js';
import { until } from '../support/until.js';

const FIXTURES = 'test/fixtures/721c2bc';
const BACKUP = join(FIXTURES, 'backup.skein');
/**
 * Released versions besides 0.1.0, which is 721c2bc. Each has a backup of a service with all kinds of rows and its
 * schema.
 */
const RELEASES = ['0.2.0', '0.3.0'];
const releaseBackup = (version: string) => join('test/fixtures', version, 'backup.skein');
const SCHEMA = readFileSync('scripts/schema.query.sql', 'utf8');
/** Tables that background tasks change at any time. */
const MOVING =
  /^(migrations|sql_files|projects|project_marks|threads|thread_marks|call_slot\w*|call_text_\w*|kept_trials|trial_marks|uploads)$/;

const connected = (url: string) => new DataSource(dataSourceOptions(url)).initialize();

/** Makes a database with the tables of 721c2bc. */
async function oldTables(): Promise<TestDatabase> {
  const database = await openTestDatabase({ isEmpty: true });
  const dataSource = await connected(database.url);
  await dataSource.query(readFileSync(join(FIXTURES, 'schema.sql'), 'utf8'));
  await dataSource.destroy();
  return database;
}

/** Makes a database with rows that a service of 721c2bc has recorded. */
async function oldDatabase(): Promise<TestDatabase> {
  const database = await oldTables();
  const dataSource = await connected(database.url);
  const opened = await openFile(BACKUP);
  await withClient(dataSource, (client) =>
    restore(client, opened, new BackupProgress('restore', () => {}, 0)),
  );
  await dataSource.destroy();
  return database;
}

/** The rows of each table of the backup as text, limited to columns that still exist. */
async function rowsOf(url: string, backup = BACKUP): Promise<Record<string, string[]>> {
  const dataSource = await connected(url);
  const { header } = await openFile(backup);
  const rows: Record<string, string[]> = {};
  for (const { name, columns } of header.tables.filter((table) => !MOVING.test(table.name))) {
    const { columns: left } = dataSource.getMetadata(name);
    const both = columns.filter((column) => left.some((one) => one.databaseName === column));
    const found = await dataSource.query<{ row: string }[]>(
      `SELECT ROW(${both.join(', ')})::text AS row FROM ${name}`,
    );
    rows[name] = found.map(({ row }) => row).toSorted();
  }
  await dataSource.destroy();
  return rows;
}

/** The usage that the service read from calls, with the reported usage. */
async function usagesOf(url: string): Promise<{ said: Said; usage: unknown }[]> {
  const dataSource = await connected(url);
  const rows = await dataSource.query<{ said: Said; usage: unknown }[]>(
    `SELECT summary -> 'usage' AS said, usage FROM calls WHERE summary -> 'usage' IS NOT NULL`,
  );
  await dataSource.destroy();
  return rows;
}
type Said = Record<string, any>;

/** The expected usage of the backup's calls. OpenAI's prompt tokens include cached ones, Anthropic's do not. */
const usageByHand = (said: Said): object[] =>
  Object.entries(said).map(([llm_id, one], place) => {
    const reader = place === 0 && { reader: 1 };
    const openai = one.prompt_tokens - (one.prompt_tokens_details?.cached_tokens ?? 0);
    const prompt_tokens = one.input_tokens ?? openai;
    const completion_tokens = one.output_tokens ?? one.completion_tokens;
    const cache = one.cache_read_input_tokens ?? one.prompt_tokens_details?.cached_tokens;
    if (Number.isNaN(prompt_tokens)) return { llm_id, unknown_kinds: 3, ...reader };
    return {
      llm_id,
      prompt_tokens,
      completion_tokens,
      ...(cache && { cache_read_input_tokens: cache }),
      ...reader,
    };
  });

async function schemaOf(url: string): Promise<string> {
  const dataSource = await connected(url);
  const [row] = await dataSource.query<{ text: string }[]>(SCHEMA);
  await dataSource.destroy();
  return row!.text;
}

/** Waits until the service has read the usage of older calls. */
const filled = (url: string) =>
  until(async () => {
    const ready = (await (await fetch(`${url}/ready`)).json()) as ReadinessDto;
    return ready.unfilled_rows?.['usage'] === 0;
  });

describe('a database of 721c2bc', () => {
  let database: TestDatabase;
  let before: Record<string, string[]>;
  beforeAll(async () => {
    database = await oldDatabase();
    before = await rowsOf(database.url);
  });
  afterAll(() => database.drop());

  it('is taken over by the start of the service: every row stays, and the schema is that of a new one', async () => {
    const empty = Object.keys(before).filter((name) => before[name]!.length === 0);
    expect(empty).toEqual(['erasings']); // a running erasing would go on
    const server = await startServer({ DATABASE_URL: database.url });
    await filled(server.url);
    await server.stop();
    const read = await usagesOf(database.url);
    expect(read.length).toBeGreaterThan(10);
    for (const { said, usage } of read) expect(usage).toEqual(usageByHand(said));
    expect(await rowsOf(database.url)).toEqual(before);
    const fresh = await openTestDatabase();
    expect(await schemaOf(database.url)).toBe(await schemaOf(fresh.url));
    await fresh.drop();
  });

  it.each([
    ['an empty database', () => openTestDatabase({ isEmpty: true })],
    ['the empty tables of 721c2bc', oldTables],
  ])('restores from its backup into %s: every row of every table', async (_, made) => {
    const target = await made();
    const env = { DATABASE_URL: target.url };
    expect(await run('server/commands/restore.cli.js', env, [BACKUP]).exit).toBe(0);
    expect(await rowsOf(target.url)).toEqual(before);
    await target.drop();
  });

  it('tells in the log which migration is under way, while the service answers that it is alive', async () => {
    const older = await oldDatabase();
    const client = new Client(older.url);
    await client.connect();
    await client.query('BEGIN; LOCK TABLE calls IN ACCESS EXCLUSIVE MODE');
    const port = await freePort();
    const start = run('main.js', { DATABASE_URL: older.url, PORT: String(port) });
    const underWay = /"migration (\d+) of (\d+) \(\w+\d{13}\) is under way, for \d+ s"/;
    await until(() => underWay.test(start.output()));
    expect((await fetch(`http://127.0.0.1:${port}/health`)).status).toBe(200);
    expect((await fetch(`http://127.0.0.1:${port}/ready`)).status).toBe(503);
    const [, done, all] = underWay.exec(start.output())!;
    expect(Number(done)).toBeLessThan(Number(all));
    await client.query('COMMIT');
    await until(() => start.output().includes('listens on'));
    start.process.kill('SIGTERM');
    expect(await start.exit).toBe(0);
    await client.end();
    await older.drop();
  });

  it('is refused when a build before it was the last to migrate it', async () => {
    const older = await oldDatabase();
    const dataSource = await connected(older.url);
    await dataSource.query(`DELETE FROM migrations WHERE name LIKE 'FirstPlans%'`);
    await dataSource.destroy();
    const start = run('main.js', { DATABASE_URL: older.url, PORT: '0' });
    expect(await start.exit).toBe(1);
    expect(start.output()).toContain('was last used by a build before commit 721c2bc');
    await older.drop();
  });
});

/**
 * Stores the backup and the build of a version, once for each:
 * `STORE_RELEASE=0.3.0 npx jest --selectProjects long platform/upgrade`.
 */
async function storeRelease(version: string): Promise<void> {
  const app = await startApp();
  await plant(app, 'acme/demo');
  mkdirSync(join('test/fixtures', version), { recursive: true });
  const file = releaseBackup(version);
  rmSync(file, { force: true });
  const env = { DATABASE_URL: app.databaseUrl };
  expect(await run('server/commands/backup.cli.js', env, [file]).exit).toBe(0);
  await app.close();
  storeBuild(version);
}

/** Makes a database with the tables and rows of a released version, without later migrations. */
async function releasedDatabase(version: string): Promise<TestDatabase> {
  const database = await openTestDatabase({ isEmpty: true });
  const opened = await openFile(releaseBackup(version));
  const dataSource = await connected(database.url);
  await prepareSchema(dataSource, opened.header.schema);
  await withClient(dataSource, (client) =>
    restore(client, opened, new BackupProgress('restore', () => {}, 0)),
  );
  await dataSource.destroy();
  return database;
}

describe.each(RELEASES)('a database of %s', (version) => {
  let database: TestDatabase;
  let before: Record<string, string[]>;
  beforeAll(async () => {
    if (process.env['STORE_RELEASE'] === version) await storeRelease(version);
    database = await releasedDatabase(version);
    before = await rowsOf(database.url, releaseBackup(version));
  });
  afterAll(() => database.drop());

  it('is upgraded by the start of the service: every row stays, and the schema is that of a new one', async () => {
    const stored = Object.values(before).filter((rows) => rows.length > 0);
    expect(stored.length).toBeGreaterThan(20);
    const server = await startServer({ DATABASE_URL: database.url });
    await filled(server.url);
    expect(await server.stop()).toBe(0);
    const readAnew = (rows: string[]) => rows.map((row) => row.replaceAll(',""reader"":1', ''));
    const { calls, ...others } = await rowsOf(database.url, releaseBackup(version));
    expect({ ...others, calls: readAnew(calls!) }).toEqual({
      ...before,
      calls: readAnew(before['calls']!),
    });
    const fresh = await openTestDatabase();
    expect(await schemaOf(database.url)).toBe(await schemaOf(fresh.url));
    await fresh.drop();
  });

  it('restores from its backup into an empty database: every row of every table', async () => {
    const target = await openTestDatabase({ isEmpty: true });
    const env = { DATABASE_URL: target.url };
    const file = releaseBackup(version);
    expect(await run('server/commands/restore.cli.js', env, [file]).exit).toBe(0);
    expect(await rowsOf(target.url, file)).toEqual(before);
    await target.drop();
  });
});
