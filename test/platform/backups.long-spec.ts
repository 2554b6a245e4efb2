import { mkdirSync, readdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import pg from 'pg';
import { newSecret } from '../../src/platform/auth/keys/secret.js';
import { openTestDatabase, type TestDatabase } from '../support/database.js';
import { aStart } from '../support/factories.js';
import { aFolder, run, startServer } from '../support/server.js';
import { until } from '../support/until.js';

/** Tests backups that the service makes by itself, and the output of the command about them. */
describe('backups in BACKUP_URL', () => {
  const folder = aFolder();
  const target = join(folder.path, 'far/backups');
  let database: TestDatabase;
  let env: Record<string, string>;
  beforeAll(async () => {
    database = await openTestDatabase();
    env = {
      DATABASE_URL: database.url,
      BACKUP_URL: pathToFileURL(target).href,
      BOOTSTRAP_API_KEY: newSecret(),
    };
  });
  afterAll(async () => {
    await database.drop();
    folder.remove();
  });
  const backup = async (args: string[], more: Record<string, string> = {}) => {
    const command = run('server/commands/backup.cli.js', { ...env, ...more }, args);
    return { code: await command.exit, said: command.output() };
  };
  const files = () => readdirSync(target).toSorted();
  const OLD = 'skein-20260101T020000Z.skein';
  const DRAFT = 'skein-20260102T020000Z.skein.partial-1';

  it('are made by one of the processes, told in metrics and the audit, and the old ones removed', async () => {
    mkdirSync(target, { recursive: true });
    for (const name of [OLD, DRAFT, 'other.txt']) writeFileSync(join(target, name), '');
    utimesSync(join(target, DRAFT), 0, 0);
    const server = await startServer({
      ...env,
      WORKERS: '2',
      BACKUP_KEEP: 'daily=1',
      BACKUP_EVERY: '1m',
    });
    expect((await server.post('/call/start', { start: aStart() })).status).toBe(200);
    await until(() => files().length === 2);
    expect(files()).toEqual(['other.txt', expect.stringMatching(/^skein-\d{8}T\d{6}Z\.skein$/)]);
    const metrics = async () => (await fetch(`${server.url}/metrics`)).text();
    await until(async () => /^skein_backup_bytes\{kind="newest"\} [1-9]/m.test(await metrics()));
    const [, seconds] = /^skein_backup_timestamp_seconds\{kind="newest"\} (.+)$/m.exec(
      await metrics(),
    )!;
    expect(Math.abs(Date.now() / 1000 - Number(seconds))).toBeLessThan(600);
    expect(await metrics()).toMatch(/^skein_backup_bytes\{kind="newest"\} [1-9]\d+$/m);
    expect(await server.stop()).toBe(0);

    const client = new pg.Client(database.url);
    await client.connect();
    const { rows } = await client.query(
      `SELECT count(*)::int AS told FROM audit_events WHERE action = 'backup.create'`,
    );
    await client.end();
    expect(rows).toEqual([{ told: 1 }]);
  });

  it('are listed and verified against a database that is gone afterwards', async () => {
    const [name] = files().filter((one) => one.endsWith('.skein'));
    const path = join(target, name!);
    const listed = await backup(['--list']);
    expect(listed.said).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z +\d+\.\d MiB {2}\//);
    expect(listed.said).toContain(path);
    const verified = await backup(['--verify']);
    expect(verified).toEqual({
      code: 0,
      said: expect.stringMatching(/skein: [1-9]\d* rows of \d+ tables are whole, as of /),
    });
    const client = new pg.Client(database.url);
    await client.connect();
    const { rows } = await client.query(
      `SELECT datname FROM pg_database WHERE datname LIKE 'skein\\_verify%'`,
    );
    await client.end();
    expect(rows).toEqual([]);
  });

  it('are not verified by a role that may make no database, which the command says', async () => {
    const client = new pg.Client(database.url);
    await client.connect();
    const role = `skein_rows_${process.pid}`;
    const [{ name }] = (await client.query('SELECT current_database() AS name')).rows;
    await client.query(`CREATE ROLE ${role}; ALTER DATABASE ${name} SET role = ${role}`);
    const verified = await backup(['--verify']);
    await client.query(`ALTER DATABASE ${name} RESET role; DROP ROLE ${role}`);
    await client.end();
    expect(verified).toEqual({
      code: 1,
      said:
        'no temporary database can be made: permission denied to create database. ' +
        'Without DATABASE_URL and with an empty DATA_DIR, --verify makes a server\n',
    });
  });

  it('are verified without the database of the service, by a server that leaves nothing', async () => {
    const DATA_DIR = join(folder.path, 'job');
    const before = files();
    const job = { DATABASE_URL: '', DATA_DIR, BACKUP_WAL: '1', LOG_LEVEL: 'warn' };
    const verified = await backup(['--verify'], job);
    expect(verified).toEqual({
      code: 0,
      said: expect.stringMatching(/^\S+skein: [1-9]\d* rows of \d+ tables are whole, as of \S+\n$/),
    });
    expect(readdirSync(DATA_DIR)).toEqual([]);
    expect(files()).toEqual(before);
  });

  it('are made when they are due, and when they are asked for', async () => {
    const before = files();
    expect(await backup(['--due'])).toEqual({ code: 0, said: '' });
    expect(files()).toEqual(before);
    expect(await backup([], { BACKUP_KEEP: 'daily=2,weekly=0,monthly=0' })).toMatchObject({
      code: 0,
    });
    expect(files().length).toBe(before.length); // of two backups of one day the newer one is kept
    expect(files()).not.toEqual(before);
  });

  it.each([
    [{ BACKUP_URL: 'http://bucket' }, /BACKUP_URL must name a folder as file:/],
    [{ BACKUP_RECIPIENT: 'age2x' }, /BACKUP_RECIPIENT must be public keys of age/],
    [{ BACKUP_WAL: '1' }, /BACKUP_WAL=1 is for the embedded PostgreSQL/],
    [
      { AWS_ENDPOINT_URL_S3: 's3.example.com' },
      /AWS_ENDPOINT_URL_S3 \(or AWS_ENDPOINT_URL\) must be/,
    ],
    [{ BACKUP_URL: '' }, /there is no FILE, and BACKUP_URL is not set/],
    [{ BACKUP_EVERY: '0d' }, /BACKUP_EVERY must be a time such as/],
    [{ BACKUP_KEEP: 'yearly=1' }, /BACKUP_KEEP must be counts of daily, weekly, monthly/],
  ])('%j is refused by its name', async (more: Record<string, string>, why) => {
    const { code, said } = await backup([], more);
    expect(said).toMatch(why);
    expect(code).toBe(1);
  });

  it('that fail are counted and logged, and the service goes on', async () => {
    writeFileSync(join(folder.path, 'none'), '');
    const server = await startServer({
      ...env,
      BACKUP_URL: pathToFileURL(join(folder.path, 'none')).href,
      BACKUP_EVERY: '2s',
    });
    await until(() => server.output().includes('"work":"backup"'));
    const metrics = await (await fetch(`${server.url}/metrics`)).text();
    expect(metrics).toMatch(
      /^skein_background_runs_total\{work="backup",outcome="failed"\} [1-9]/m,
    );
    expect((await server.post('/call/start', { start: aStart() })).status).toBe(200);
    expect(await server.stop()).toBe(0);
  });
});
