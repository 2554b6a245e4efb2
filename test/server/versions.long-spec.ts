import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import pg from 'pg';
import { MIGRATIONS } from '../../src/platform/database/migrate.js';
import { VERSION } from '../../src/platform/config/version.js';
import { openTestDatabase, type TestDatabase } from '../support/database.js';
import { aStart } from '../support/factories.js';
import { aFolder, run, startServer, watched } from '../support/server.js';
import { until } from '../support/until.js';

const LATER = 'Later9999999999999';

describe('a database with a migration that the build does not know', () => {
  const folder = aFolder();
  const file = join(folder.path, 'file.skein');
  let database: TestDatabase;
  let client: pg.Client;
  beforeEach(async () => {
    database = await openTestDatabase();
    client = new pg.Client(database.url);
    await client.connect();
  });
  afterEach(async () => {
    await client.end();
    await database.drop();
  });
  afterAll(() => folder.remove());

  /** Does what a newer build does: it runs a migration, and applies other functions. */
  const migrateLater = () =>
    client.query(`INSERT INTO migrations (timestamp, name) VALUES (9999999999999, '${LATER}');
      UPDATE sql_files SET hash = 'newer';
      CREATE OR REPLACE FUNCTION skein_is_trial(op_name text) RETURNS boolean LANGUAGE sql AS 'SELECT true'`);
  const hasNewerFunctions = async () => {
    const { rows } = await client.query(`SELECT array_agg(DISTINCT hash) AS hashes,
      skein_is_trial('') AS is_newer FROM sql_files`);
    expect(rows).toEqual([{ hashes: ['newer'], is_newer: true }]);
  };
  const keys = async () => (await client.query('SELECT 1 FROM api_keys')).rowCount;
  const env = (more: Record<string, string> = {}) => ({
    DATABASE_URL: database.url,
    DATA_DIR: folder.path,
    ...more,
  });
  const linesOf = (output: string) => output.trimEnd().split('\n');
  const refusal = expect.stringMatching(
    new RegExp(
      `the database has run a migration that this build does not know: ${LATER}\\. This build is Skein ${VERSION} ` +
        String.raw`\(commit \S+, schema \w+\d{13}\): run the newer build`,
    ),
  );

  it.each<[string, string[], Record<string, string>]>([
    ['main.js', [], {}],
    ['main.js', [], { WORKERS: '2' }],
    [
      'server/commands/keys.cli.js',
      ['create', '--user', 'a', '--role', 'admin', '--scope', '*'],
      {},
    ],
    ['server/commands/migrate.cli.js', [], {}],
    ['server/commands/distribute.cli.js', [], {}],
    ['server/commands/backup.cli.js', [file], {}],
  ])('stops %s %j with %j in one line, which has written nothing', async (program, args, more) => {
    await migrateLater();
    const command = run(program, env(more), args);
    await until(() => command.process.exitCode !== null || command.output().includes('listens on'));
    command.process.kill('SIGTERM'); // ends a program that has not refused to start
    expect(await command.exit).toBe(1);
    const said = linesOf(command.output()).filter((line) => !line.startsWith('{'));
    expect(said).toEqual([refusal]);
    expect(said[0]).toContain('ALLOW_NEWER_SCHEMA=1');
    expect(await keys()).toBe(0);
    expect(existsSync(file)).toBe(false);
    expect(existsSync(join(folder.path, 'first-key'))).toBe(false);
  });

  it('stops a start that waits while a newer one migrates', async () => {
    await client.query('SELECT pg_advisory_lock($1)', [MIGRATIONS.number]);
    const server = run('main.js', env());
    await until(async () => {
      const { rowCount } = await client.query(`SELECT 1 FROM pg_locks
        WHERE locktype = 'advisory' AND NOT granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`);
      return rowCount === 1;
    });
    await migrateLater();
    await client.query('SELECT pg_advisory_unlock_all()');
    expect(await server.exit).toBe(1);
    expect(server.output()).toEqual(refusal);
    expect(await keys()).toBe(0);
  });

  it('takes no backup of an older schema, whatever is allowed', async () => {
    const source = await openTestDatabase();
    const from = { DATABASE_URL: source.url };
    const key = ['create', '--user', 'a', '--role', 'admin', '--scope', '*'];
    expect(await run('server/commands/keys.cli.js', from, key).exit).toBe(0);
    const older = join(folder.path, 'older.skein');
    expect(await run('server/commands/backup.cli.js', from, [older]).exit).toBe(0);
    await source.drop();
    await migrateLater();
    const restore = run('server/commands/restore.cli.js', env({ ALLOW_NEWER_SCHEMA: '1' }), [
      older,
    ]);
    expect(await restore.exit).toBe(1);
    expect(linesOf(restore.output())).toEqual([
      `the database has run a migration that this build does not know: ${LATER}: restore into a new DATA_DIR or an empty database`,
    ]);
    expect(await keys()).toBe(0);
  });

  it('is served with ALLOW_NEWER_SCHEMA=1, which the log and /ready tell', async () => {
    await migrateLater();
    const allowed = env({ ALLOW_NEWER_SCHEMA: '1' });
    const server = await startServer(allowed);
    expect(server.output()).toMatch(
      new RegExp(`"level":40.*${LATER}.*ALLOW_NEWER_SCHEMA=1 lets it run`),
    );
    expect((await server.post('/call/start', { start: aStart() })).status).toBe(200);
    const ready = await fetch(`${server.url}/ready`);
    expect([ready.status, await ready.json()]).toEqual([
      200,
      expect.objectContaining({ migrations: 'newer' }),
    ]);
    const metrics = await (await fetch(`${server.url}/metrics`)).text();
    expect(metrics).toContain('skein_ready{what="migrations"} 0');
    const backup = run('server/commands/backup.cli.js', allowed, [file]);
    expect(await backup.exit).toBe(0);
    expect(backup.output()).toContain(`schema ${LATER}`);
    await server.stop();
    await hasNewerFunctions();
  });

  it('lets a service that runs go on, also with a worker in the place of a dead one, and refuses a reload', async () => {
    const server = await startServer(env({ WORKERS: '2' }));
    await migrateLater();
    const works = async () => {
      const ready = await fetch(`${server.url}/ready`);
      expect(ready.status).toBe(200);
      expect(await ready.json()).toMatchObject({ migrations: 'newer' });
      expect((await server.post('/call/start', { start: aStart() })).status).toBe(200);
    };
    await works();
    const { pid } = server.process;
    const workers = () =>
      readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').map(Number);
    const [first, second] = workers() as [number, number];
    process.kill(first, 'SIGKILL');
    await until(() => server.output().includes('lets it run'));
    process.kill(second, 'SIGKILL'); // from now on all workers have started with the newer schema
    await until(() => (server.output().match(/lets it run/g) ?? []).length === 2);
    await works();
    server.process.kill('SIGHUP');
    await until(() => server.output().includes('the running workers stay'));
    expect(server.output()).toEqual(refusal);
    await works();
    await hasNewerFunctions();
    expect(await server.stop()).toBe(0);
  });
});

describe('the version and the commit', () => {
  const folder = aFolder();
  const at = (name: string) => join(folder.path, name);
  afterAll(() => folder.remove());

  /** Writes a build stamp in a folder that has the parts of a clone that the stamp reads. */
  const stamped = (env: Record<string, string> = {}) => {
    const stamp = [resolve('scripts/build-stamp.mjs'), '--write'];
    execFileSync(process.execPath, stamp, {
      cwd: folder.path,
      env: { PATH: process.env['PATH'], ...env },
    });
    return JSON.parse(readFileSync(at('dist/build.json'), 'utf8')).commit;
  };
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b.example', ...args], {
      cwd: folder.path,
      encoding: 'utf8',
    }).trim();

  beforeAll(() => {
    cpSync('dist', at('dist'), { recursive: true });
    mkdirSync(at('console'));
    for (const name of ['src', 'scripts', 'node_modules', 'ormconfig.ts', 'nest-cli.json'])
      symlinkSync(resolve(name), at(name));
    for (const name of ['src', 'public', 'index.html', 'vite.config.ts'])
      symlinkSync(resolve('console', name), at(`console/${name}`));
    symlinkSync(resolve('package-lock.json'), at('package-lock.json'));
    cpSync('package.json', at('package.json'));
  });

  it('comes from SOURCE_COMMIT, or from git, or is unknown', () => {
    expect(stamped()).toBe('unknown');
    expect(stamped({ SOURCE_COMMIT: 'v2-rc.1' })).toBe('v2-rc.1');
    expect(() => stamped({ SOURCE_COMMIT: 'a b"' })).toThrow('SOURCE_COMMIT');
    git('init', '--quiet');
    git('add', 'package.json');
    git('commit', '--quiet', '--message', 'first');
    const commit = git('rev-parse', '--short=12', 'HEAD');
    expect(stamped()).toBe(commit);
    writeFileSync(at('package.json'), `${readFileSync(at('package.json'), 'utf8')}\n`);
    expect(stamped()).toBe(`${commit}-dirty`);
    expect(stamped({ SOURCE_COMMIT: 'given' })).toBe('given');
  });

  it.each(['1', '2'])('are told by a service with WORKERS=%s', async (WORKERS) => {
    const commit = stamped({ SOURCE_COMMIT: '721c2bcf39f4' });
    const database = await openTestDatabase();
    const env = { DATABASE_URL: database.url, DATA_DIR: at('data'), WORKERS };
    const server = watched(process.execPath, [at('dist/src/main.js')], env);
    await until(() => server.output().includes('listens on'));
    const { version } = JSON.parse(readFileSync('package.json', 'utf8'));
    const schema = String.raw`\w+\d{13}`;
    expect(server.output().split('\n')[0]).toMatch(
      new RegExp(
        `"Skein ${version} \\(commit ${commit}, schema ${schema}\\), Node ${process.version}"`,
      ),
    );
    const [, url] = /listens on (http:\S+?)"/.exec(server.output())!;
    const info: any = await (await fetch(`${url}/server_info`)).json();
    expect(info).toMatchObject({
      trace_server_version: version,
      commit,
      schema: expect.stringMatching(new RegExp(`^${schema}$`)),
    });
    expect(info.trace_server_version).toMatch(/^\d+\.\d+\.\d+$/);
    const metrics = await (await fetch(`${url}/metrics`)).text();
    expect(metrics).toContain(
      `skein_build_info{version="${version}",commit="${commit}",node="${process.version}",schema="${info.schema}"} 1\n`,
    );
    server.process.kill('SIGTERM');
    expect(await server.exit).toBe(0);
    await database.drop();
  });
});
