import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { generateIdentity, identityToRecipient } from 'age-encryption';
import { newSecret } from '../../src/platform/auth/keys/secret.js';
import { aStart } from '../support/factories.js';
import { aFolder, run, type Server, startServer } from '../support/server.js';
import { until } from '../support/until.js';

/**
 * The WAL of the embedded PostgreSQL is archived in BACKUP_URL. It restores any second after the data folder is lost.
 */
describe('a point in time', () => {
  const folder = aFolder();
  const data = join(folder.path, 'data');
  const target = join(folder.path, 'far');
  let env: Record<string, string>;
  let server: Server;
  const acknowledged: string[] = [];
  const times: { at: string; ids: string[] }[] = [];

  beforeAll(async () => {
    const identity = await generateIdentity();
    writeFileSync(join(folder.path, 'identity'), identity);
    env = {
      BACKUP_URL: pathToFileURL(target).href,
      BACKUP_RECIPIENT: await identityToRecipient(identity),
      BOOTSTRAP_API_KEY: newSecret(),
    };
  });
  afterAll(() => {
    server.process.kill('SIGKILL');
    folder.remove();
  });

  const kept = {
    BACKUP_WAL: '1',
    BACKUP_KEEP: 'daily=1,weekly=0,monthly=0',
    POSTGRES_SETTINGS: 'archive_timeout=1',
    DATA_DIR: data,
  };
  const names = (path = target) => (existsSync(path) ? readdirSync(path).toSorted() : []);
  const bases = () => names().filter((name) => name.endsWith('.base.age'));
  const segments = () =>
    names(
      join(
        target,
        names().find((name) => name.startsWith('wal-'))!,
      ),
    );

  const write = async (count: number) => {
    for (let n = 0; n < count; n++) {
      const id = `call-${acknowledged.length}`;
      const { status } = await server.post('/call/start', { start: aStart({ id }) });
      if (status === 200) acknowledged.push(id);
      else n--; // PostgreSQL is not running
    }
  };
  const nextMillisecond = async () => {
    const now = Date.now();
    await until(() => Date.now() > now);
    return new Date().toISOString();
  };
  const note = async () => {
    times.push({ at: await nextMillisecond(), ids: [...acknowledged] });
    await nextMillisecond();
  };
  /** Waits until all writes up to now are in an archived segment. */
  const untilKept = async () => {
    const now = Date.now();
    await until(async () => {
      await write(1);
      const wal = join(
        target,
        names().find((name) => name.startsWith('wal-'))!,
      );
      return readdirSync(wal).filter((name) => statSync(join(wal, name)).mtimeMs > now).length > 2;
    });
  };
  const restore = async (args: string[], DATA_DIR: string, more = {}) => {
    const command = run('server/commands/restore.cli.js', { ...env, DATA_DIR, ...more }, args);
    return { code: await command.exit, said: command.output() };
  };
  const identity = ['--identity', join(folder.path, 'identity')];
  const callsIn = async (DATA_DIR: string) => {
    const restored = await startServer({ BOOTSTRAP_API_KEY: env['BOOTSTRAP_API_KEY']!, DATA_DIR });
    const { body } = await restored.post('/calls/query', {
      project_id: 'acme/demo',
      limit: 10_000,
      fields: ['id'],
    });
    expect(await restored.stop()).toBe(0);
    return body.calls.map(({ id }: { id: string }) => id).toSorted();
  };

  it('is kept by the service, through the death of its PostgreSQL', async () => {
    server = await startServer({ ...env, ...kept });
    await until(() => bases().length === 1);
    await write(20);
    await note();
    await write(10);
    const [pid] = readFileSync(join(data, 'pgdata/postmaster.pid'), 'utf8').split('\n');
    process.kill(Number(pid), 'SIGKILL');
    await write(20);
    await note();
    await write(5);
    await untilKept();
    const metrics = await (await fetch(`${server.url}/metrics`)).text();
    expect(metrics).toMatch(/^skein_backup_timestamp_seconds\{kind="base"\} [1-9]/m);
    expect(metrics).toMatch(/^skein_backup_wal_waiting_seconds\{kind="oldest"\} \d/m);
    server.process.kill('SIGKILL');
    await server.exit;
    rmSync(data, { recursive: true, force: true });
  });

  it.each([0, 1])('comes back with exactly the rows acknowledged before it (%i)', async (which) => {
    const { at, ids } = times[which]!;
    const DATA_DIR = join(folder.path, `restored-${which}`);
    const restored = await restore(['--to-time', at, ...identity], DATA_DIR);
    expect(restored).toEqual({ code: 0, said: expect.stringContaining(`as it was at ${at}`) });
    expect(names(DATA_DIR)).toEqual(['pgdata']);
    expect(await callsIn(DATA_DIR)).toEqual(ids.toSorted());
  });

  it('is refused in one line where there is none', async () => {
    const into = join(folder.path, 'none');
    const said = async (args: string[], more = {}) => {
      const { code, said } = await restore(args, into, more);
      expect(code).toBe(1);
      expect(names(folder.path)).not.toContain('none/pgdata');
      return said;
    };
    const [, second] = times;
    expect(await said(['--to-time', '2020-01-01T00:00:00Z'])).toMatch(
      /^the oldest state that can be restored is of [^\n]+\n$/,
    );
    expect(await said(['--to-time', '2999-01-01T00:00:00Z', ...identity])).toMatch(
      /^from [^\n]+\nthe stored WAL ends before that time, with a transaction of [^\n]+\n$/,
    );
    expect(await said(['--to-time', 'yesterday'])).toMatch(/^--to-time must be a time[^\n]+\n$/);
    expect(await said(['--to-time', second!.at])).toMatch(/\nthe backup is encrypted: [^\n]+\n$/);
    expect(await said(['--to-time', 'latest'], { BACKUP_URL: '' })).toMatch(/needs BACKUP_URL/);
    expect((await restore(['--to-time', 'latest'], join(folder.path, 'restored-0'))).said).toMatch(
      /^there is a database in /,
    );
  });

  it('goes on behind a restore, on a timeline of its own', async () => {
    const restored = await restore(['--to-time', times[1]!.at, ...identity], data);
    expect(restored.code).toBe(0);
    acknowledged.length = times[1]!.ids.length;
    server = await startServer({ ...env, ...kept });
    await write(7);
    await note();
    await untilKept();
    expect(await server.stop()).toBe(0);
    const DATA_DIR = join(folder.path, 'restored-again');
    const { at, ids } = times.at(-1)!;
    expect((await restore(['--to-time', at, ...identity], DATA_DIR)).code).toBe(0);
    expect(await callsIn(DATA_DIR)).toEqual(ids.toSorted());
  });

  it('needs no log from before the oldest base that is kept', async () => {
    const before = segments();
    server = await startServer({ ...env, ...kept });
    const base = run('server/commands/backup.cli.js', { ...env, ...kept }, ['--base']);
    expect(await base.exit).toBe(0);
    expect(base.output()).toMatch(/^removed skein-.*\.base\.age$/m);
    expect(bases()).toHaveLength(1);
    expect(segments()).not.toContain(before.find((name) => /^[0-9A-F]{24}/.test(name)));
    await write(3);
    await untilKept();
    expect(await server.stop()).toBe(0);
    const DATA_DIR = join(folder.path, 'restored-latest');
    const latest = await restore(['--to-time', 'latest', ...identity], DATA_DIR);
    expect(latest.said).toMatch(/its last transaction is of \d/);
    expect(await callsIn(DATA_DIR)).toEqual([...acknowledged].toSorted());
  });

  it('does not wait for the log of a folder that a file is restored into', async () => {
    server = await startServer({ ...env, ...kept });
    const file = join(folder.path, 'by-hand.skein.age');
    const made = run('server/commands/backup.cli.js', { ...env, ...kept }, [file]);
    expect(await made.exit).toBe(0);
    expect(await server.stop()).toBe(0);
    const DATA_DIR = join(folder.path, 'restored-file');
    const { code, said } = await restore([file, ...identity], DATA_DIR, { BACKUP_WAL: '1' });
    expect({ code, said }).toEqual({ code: 0, said: expect.stringContaining('restored ') });
    expect(said).not.toContain('archiv');
    expect(await callsIn(DATA_DIR)).toEqual([...acknowledged].toSorted());
  });
});
