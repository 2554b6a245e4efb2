import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import pg from 'pg';
import { FrameWriter } from '../../src/platform/backup/backup-file.js';
import { openTestDatabase, type TestDatabase } from '../support/database.js';
import { aStart } from '../support/factories.js';
import { aFolder, run, startServer } from '../support/server.js';

/** Runs a command to its end. `said` is its output without the log lines. */
async function ended(program: string, env: Record<string, string>, args: string[] = []) {
  const command = run(program, env, args);
  const code = await command.exit;
  const lines = command.output().trimEnd().split('\n');
  return { code, said: lines.filter((line) => !line.startsWith('{')) };
}

const folder = aFolder();
afterAll(() => folder.remove());
const at = (name: string) => join(folder.path, name);
const file = () => at('file.skein');

const COMMANDS: [string, string[]][] = [
  ['server/commands/keys.cli.js', ['list']],
  ['server/commands/migrate.cli.js', []],
  ['server/commands/distribute.cli.js', []],
  ['server/commands/backup.cli.js', [file()]],
];

describe('without a database in DATA_DIR', () => {
  it.each(COMMANDS)('%s makes none, and says where it looked', async (program, args) => {
    const DATA_DIR = at('mistyped/data');
    const { code, said } = await ended(program, { DATA_DIR }, args);
    expect(said).toEqual([
      `there is no database in ${DATA_DIR} (DATA_DIR): set DATA_DIR, or DATABASE_URL, as for the service; ` +
        'only npm start and npm run restore (in a package: skein start, skein restore) make a database',
    ]);
    expect(code).toBe(1);
    expect(readdirSync(folder.path)).toEqual([]);
  });

  it('backup leaves an empty folder as it is', async () => {
    const [program, args] = ['server/commands/backup.cli.js', [file()]];
    const DATA_DIR = at('empty');
    mkdirSync(join(DATA_DIR, 'pgdata'), { recursive: true });
    const inFolder = await ended(program, { DATA_DIR: join(DATA_DIR, 'pgdata') }, args);
    expect(inFolder).toMatchObject({ code: 1, said: [expect.stringContaining(DATA_DIR)] });
    expect(readdirSync(join(DATA_DIR, 'pgdata'))).toEqual([]);
    const around = await ended(program, { DATA_DIR }, args);
    expect(around).toMatchObject({ code: 1, said: [expect.stringContaining('there is no data')] });
    expect(readdirSync(join(DATA_DIR, 'pgdata'))).toEqual([]);
  });

  it('reload names the folder too', async () => {
    const { code, said } = await ended('server/commands/reload.cli.js', {
      DATA_DIR: at('mistyped'),
    });
    expect(said).toEqual([expect.stringContaining(`${at('mistyped')} (DATA_DIR)`)]);
    expect(code).toBe(1);
    expect(existsSync(at('mistyped'))).toBe(false);
  });
});

describe('on an external database without tables', () => {
  let database: TestDatabase;
  let client: pg.Client;
  beforeEach(async () => {
    database = await openTestDatabase({ isEmpty: true });
    client = new pg.Client(database.url);
    await client.connect();
  });
  afterEach(async () => {
    await client.end();
    await database.drop();
  });
  const tables = async () => {
    const { rows } = await client.query(
      `SELECT tablename FROM pg_tables WHERE schemaname = 'public'`,
    );
    return rows.map(({ tablename }) => tablename);
  };

  it.each(COMMANDS.filter(([program]) => /keys|backup/.test(program)))(
    '%s refuses, and makes none',
    async (program, args) => {
      const { code, said } = await ended(program, { DATABASE_URL: database.url }, args);
      expect(said).toEqual([
        'the database that DATABASE_URL names has no tables of Skein: set DATABASE_URL as for the service; ' +
          'npm start and npm run migrate make the tables',
      ]);
      expect(code).toBe(1);
      expect(await tables()).toEqual([]);
      expect(existsSync(file())).toBe(false);
    },
  );

  it("backup does not take another program's tables for its own", async () => {
    await client.query('CREATE TABLE migrations (id int, migration text); CREATE TABLE users ()');
    const env = { DATABASE_URL: database.url };
    const { code, said } = await ended('server/commands/backup.cli.js', env, [file()]);
    expect(said).toEqual([expect.stringContaining('has no tables of Skein')]);
    expect(code).toBe(1);
  });

  it('migrate makes them; a backup is refused until there is a key or a project', async () => {
    const env = { DATABASE_URL: database.url };
    expect((await ended('server/commands/migrate.cli.js', env)).code).toBe(0);
    expect(await tables()).toContain('calls');
    const nothing = await ended('server/commands/backup.cli.js', env, [file()]);
    expect(nothing.said).toEqual([
      'the database holds no key and no project, so there is nothing to back up: ' +
        'set DATABASE_URL or DATA_DIR as for the service',
    ]);
    expect(nothing.code).toBe(1);
    expect(readdirSync(folder.path).filter((name) => name.includes('skein'))).toEqual([]);
    const key = ['create', '--user', 'ada', '--role', 'admin', '--scope', '*'];
    expect((await ended('server/commands/keys.cli.js', env, key)).code).toBe(0);
    const made = await ended('server/commands/backup.cli.js', env, [at('one-key.skein')]);
    expect(made).toMatchObject({ code: 0, said: [expect.stringMatching(/: [1-9]\d* rows of/)] });
  });
});

describe('npm run restore', () => {
  let good: string;
  beforeAll(async () => {
    good = at('good.skein');
    const server = await startServer({ DATA_DIR: at('data') });
    await server.post('/call/start', { start: aStart({ inputs: { text: 'x'.repeat(5000) } }) });
    expect(
      (await ended('server/commands/backup.cli.js', { DATA_DIR: at('data') }, [good])).code,
    ).toBe(0);
    await server.stop();
  });

  const headerOf = (header: unknown) => gzipSync(new FrameWriter().frame('H', header as object));
  const aHeader = { skein_backup: 1, schema: 'Foundation1764000000000', tables: [] };
  const whole = () => readFileSync(good);
  afterEach(() => rmSync(at('new'), { recursive: true, force: true }));

  it.each<[string, () => Buffer | null, RegExp]>([
    ['is missing', () => null, /cannot read \/.*: ENOENT/],
    ['is empty', () => Buffer.alloc(0), /is damaged or is not a backup/],
    ['holds other bytes', () => Buffer.from('SQLite format 3'), /is damaged or is not a backup/],
    ['ends within its header', () => whole().subarray(0, 200), /is damaged or is not a backup/],
    ['has a header without tables', () => headerOf({ skein_backup: 1 }), /is damaged/],
    ['has null for a header', () => headerOf('null'), /is damaged/],
    ['has another format', () => headerOf({ ...aHeader, skein_backup: 2 }), /has the format 2/],
    [
      'was made of a database without tables, by an earlier version',
      () => headerOf({ ...aHeader, schema: '' }),
      /holds no data: no key and no project/,
    ],
    [
      'has tables without rows',
      () => headerOf({ ...aHeader, tables: [{ name: 'c', columns: [], rows: 0, bytes: 0 }] }),
      /holds no data: no key and no project/,
    ],
    [
      'has a newer schema',
      () =>
        headerOf({
          ...aHeader,
          schema: 'Later9999999999999',
          tables: [{ name: 'c', columns: ['a'], rows: 1, bytes: 1 }],
        }),
      /made by a newer version, or by one before commit 721c2bc \(its schema is Later9999999999999/,
    ],
  ])('refuses a file that %s in one line, and makes no database', async (_, bytes, words) => {
    const content = bytes();
    const path = at('bad.skein');
    rmSync(path, { force: true });
    if (content) writeFileSync(path, content);
    const { code, said } = await ended('server/commands/restore.cli.js', { DATA_DIR: at('new') }, [
      path,
    ]);
    expect(said).toEqual([expect.stringMatching(words)]);
    expect(code).toBe(1);
    expect(existsSync(at('new'))).toBe(false);
  });

  it('refuses a folder', async () => {
    const { said } = await ended('server/commands/restore.cli.js', { DATA_DIR: at('new') }, [
      folder.path,
    ]);
    expect(said).toEqual([expect.stringContaining(`cannot read ${folder.path}`)]);
  });

  it.each([
    ['ends within its rows', () => whole().subarray(0, whole().length - 300)],
    [
      'has a row that no longer fits',
      () => {
        const bytes = gunzipSync(whole());
        bytes.write('x', bytes.indexOf('\t', bytes.indexOf('skn_')));
        return gzipSync(bytes);
      },
    ],
  ])('refuses a file that %s in one line, and stores nothing', async (_, bytes) => {
    writeFileSync(at('cut.skein'), bytes());
    const env = { DATA_DIR: at('new') };
    const { code, said } = await ended('server/commands/restore.cli.js', env, [at('cut.skein')]);
    expect(said).toEqual([
      expect.stringMatching(/^the file is damaged or is not a backup of Skein/),
    ]);
    expect(code).toBe(1);
    expect((await ended('server/commands/restore.cli.js', env, [good])).code).toBe(0);
  });
});
