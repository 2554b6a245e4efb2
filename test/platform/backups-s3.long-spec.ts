import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { generateIdentity, identityToRecipient } from 'age-encryption';
import { newSecret } from '../../src/platform/auth/keys/secret.js';
import { FolderStorage } from '../../src/platform/backup/folder-storage.js';
import { S3Storage } from '../../src/platform/backup/s3-storage.js';
import { openTestDatabase, type TestDatabase } from '../support/database.js';
import { aStart } from '../support/factories.js';
import { aFolder, freePort, run, startServer } from '../support/server.js';
import { until } from '../support/until.js';

const SECRET = 'secret-of-the-bucket';

function isInstalled(program: string): boolean {
  try {
    execFileSync(program, ['--version']);
    return true;
  } catch {
    process.stderr.write(`skipped: ${program} is not installed (CONTRIBUTING.md says how)\n`);
    return false;
  }
}

const COMMANDS = ['backup', 'restore'].map((name) => `dist/src/server/commands/${name}.cli.js`);

/** Tests the commands and the service with a real S3 server and the program age. */
(isInstalled('versitygw') ? describe : describe.skip)('backups in a bucket', () => {
  const folder = aFolder();
  let s3: ChildProcess;
  let database: TestDatabase;
  let env: Record<string, string>;
  let place: S3Storage;
  let identity: string;

  beforeAll(async () => {
    const port = await freePort();
    mkdirSync(join(folder.path, 's3/bucket'), { recursive: true });
    s3 = spawn(
      'versitygw',
      ['--port', `127.0.0.1:${port}`, '-q', 'posix', join(folder.path, 's3')],
      {
        env: { PATH: process.env['PATH']!, ROOT_ACCESS_KEY: 'skein', ROOT_SECRET_KEY: SECRET },
        stdio: 'ignore',
      },
    );
    const endpoint = `http://127.0.0.1:${port}`;
    await until(() =>
      fetch(endpoint).then(
        () => true,
        () => false,
      ),
    );
    identity = await generateIdentity();
    writeFileSync(join(folder.path, 'secret'), `${SECRET}\n`);
    writeFileSync(join(folder.path, 'identity'), `# of the backups\n${identity}\n`);
    database = await openTestDatabase();
    env = {
      DATABASE_URL: database.url,
      BACKUP_URL: 's3://bucket/of/skein',
      BACKUP_RECIPIENT: await identityToRecipient(identity),
      AWS_ENDPOINT_URL_S3: endpoint,
      AWS_ACCESS_KEY_ID: 'skein',
      AWS_SECRET_ACCESS_KEY_FILE: join(folder.path, 'secret'),
      BOOTSTRAP_API_KEY: newSecret(),
    };
    place = new S3Storage(env['BACKUP_URL']!, {
      endpoint,
      region: 'us-east-1',
      accessKeyId: 'skein',
      secretAccessKey: SECRET,
      sessionToken: undefined,
      isPathStyle: true,
    });
  });
  afterAll(async () => {
    s3.kill();
    await database.drop();
    folder.remove();
  });

  const command = async (program: string, args: string[], more: Record<string, string> = {}) => {
    const begun = run(`server/commands/${program}.cli.js`, { ...env, ...more }, args);
    return { code: await begun.exit, said: begun.output() };
  };
  const backup = (...args: string[]) => command('backup', args);
  const names = async () => (await place.list()).map(({ name }) => name);
  const NAME = /^skein-\d{8}T\d{6}Z\.skein\.age$/;

  it('are made by the service, encrypted, and told in the metrics', async () => {
    const server = await startServer({ ...env, BACKUP_EVERY: '1m', BACKUP_KEEP: 'daily=1' });
    expect((await server.post('/call/start', { start: aStart() })).status).toBe(200);
    await until(async () =>
      /^skein_backup_bytes\{kind="newest"\} [1-9]/m.test(
        await (await fetch(`${server.url}/metrics`)).text(),
      ),
    );
    expect(await server.stop()).toBe(0);
    expect(await names()).toEqual([expect.stringMatching(NAME)]);
    expect(server.output()).not.toContain(SECRET);
  });

  it('are listed and verified, with the identity only', async () => {
    const [name] = await names();
    expect((await backup('--list')).said).toContain(`MiB  s3://bucket/of/skein/${name}`);
    expect(await backup('--verify')).toEqual({
      code: 1,
      said: 'the backup is encrypted: name its identity with --identity FILE or BACKUP_IDENTITY\n',
    });
    const verified = await backup('--verify', '--identity', join(folder.path, 'identity'));
    expect(verified.said).toMatch(/skein\.age: [1-9]\d* rows of \d+ tables are whole, as of /);
    const other = await command('backup', ['--verify'], {
      BACKUP_IDENTITY: await generateIdentity(),
    });
    expect(other.said).toMatch(/^the identity does not open the backup: [^\n]+\n$/);
  });

  it('are restored from the bucket, and from standard input', async () => {
    const url = `s3://bucket/of/skein/${(await names())[0]}`;
    const DATA_DIR = join(folder.path, 'restored');
    const into = {
      DATABASE_URL: '',
      DATA_DIR,
      BACKUP_IDENTITY_FILE: join(folder.path, 'identity'),
    };
    const restored = await command('restore', [url], into);
    expect(restored).toEqual({ code: 0, said: expect.stringMatching(/^restored [1-9]\d* rows/m) });
    const again = await command('restore', [url], into);
    expect(again.said).toContain('the database is not empty');

    const piped = join(folder.path, 'piped');
    const said = execFileSync(
      'sh',
      ['-c', `"$0" "$1" - | DATA_DIR=${piped} "$0" "$2" -`, process.execPath, ...COMMANDS],
      {
        env: { ...env, PATH: process.env['PATH']!, ...into },
        stdio: ['ignore', 'pipe', 'ignore'],
      },
    );
    expect(said.toString()).toMatch(/^restored [1-9]\d* rows/m);
  });

  it('of which one is made by name, never twice, and none when it is interrupted', async () => {
    const named = 's3://bucket/by/hand.skein';
    expect((await backup(named)).said).toContain(`${named}: `);
    expect((await backup(named)).said).toContain('a backup never replaces a file');
    const cut = run('server/commands/backup.cli.js', env, ['s3://bucket/by/cut.skein']);
    cut.process.kill('SIGTERM');
    expect(await cut.exit).not.toBe(0);
    const by = new S3Storage('s3://bucket/by', { ...(place as any).bucket.s3 });
    expect((await by.list()).map(({ name }) => name)).toEqual(['hand.skein']);
  });

  it('that are damaged or refused say so in one line', async () => {
    await place.write('skein-20200101T000000Z.skein', [Buffer.from('no gzip')] as never);
    const damaged = await backup('--verify', 's3://bucket/of/skein/skein-20200101T000000Z.skein');
    expect(damaged).toEqual({
      code: 1,
      said: 'the file is damaged or is not a backup of Skein: it cannot be decompressed\n',
    });
    const refused = await command('backup', ['--list'], {
      AWS_SECRET_ACCESS_KEY_FILE: '',
      AWS_SECRET_ACCESS_KEY: 'another-secret',
    });
    expect(refused.said).toMatch(/^s3:\/\/bucket\/.*403 SignatureDoesNotMatch[^\n]*\n$/);
    expect(refused.said).not.toContain('another-secret');
    await place.remove('skein-20200101T000000Z.skein');
  });

  (isInstalled('age') ? it : it.skip)(
    'are files of age: its program opens and makes them',
    async () => {
      const [name] = await names();
      const pieces: Uint8Array[] = [];
      for await (const piece of place.read(name!)) pieces.push(piece);
      const age = (args: string[], input: Buffer) =>
        execFileSync('age', args, { input, maxBuffer: 2 ** 30 });
      const plain = age(['-d', '-i', join(folder.path, 'identity')], Buffer.concat(pieces));
      expect(plain.subarray(0, 2)).toEqual(Buffer.from([0x1f, 0x8b]));
      const file = join(folder.path, 'by-age.skein.age');
      writeFileSync(file, age(['-r', env['BACKUP_RECIPIENT']!], plain));
      expect(readFileSync(file, 'latin1')).toMatch(/^age-encryption/);
      const verified = await backup('--verify', '--identity', join(folder.path, 'identity'), file);
      expect(verified.said).toContain('are whole');
      expect(await new FolderStorage(folder.path).has('by-age.skein.age')).toBe(true);
    },
  );
});
