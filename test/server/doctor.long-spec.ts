import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { openTestDatabase, type TestDatabase } from '../support/database.js';
import { refuse, startS3 } from '../support/s3-server.js';
import { aFolder, run, startServer, watched } from '../support/server.js';

const folder = aFolder();
afterAll(() => folder.remove());
const at = (name: string) => join(folder.path, name);

async function ended(program: string, env: Record<string, string>, args: string[] = []) {
  const command = run(`server/commands/${program}.cli.js`, env, args);
  const code = await command.exit;
  const lines = command.output().trimEnd().split('\n');
  return { code, said: lines.filter((line) => !line.startsWith('{"level"')) };
}
const examined = (env: Record<string, string>) => ended('doctor', { DATA_DIR: at('data'), ...env });

describe('doctor', () => {
  it('finds nothing to correct before the first start, and makes nothing', async () => {
    const { code, said } = await examined({ PORT: '0', WORKER: '2' });
    expect(said).toEqual([
      'warn  WORKER is not a setting and is ignored: did you mean WORKERS?',
      `warn  ${at('data')} (DATA_DIR) is not there: npm start makes it`,
      expect.stringMatching(
        /^ok {4}no service runs on http:\/\/127\.0\.0\.1:0, and the port is free$/,
      ),
      'warn  there is no database yet: npm start makes it',
    ]);
    expect(code).toBe(0);
  });

  it('tells of a folder that is none, and of a port that another program has', async () => {
    writeFileSync(at('file'), '');
    const other = createServer((_, response) => response.writeHead(404).end()).listen(
      0,
      '127.0.0.1',
    );
    await once(other, 'listening');
    const { port } = other.address() as AddressInfo;
    const { code, said } = await examined({ DATA_DIR: at('file'), PORT: String(port) });
    other.close();
    expect(said).toEqual(
      expect.arrayContaining([
        `FIX   ${at('file')} (DATA_DIR) is not a folder`,
        `FIX   something that is not Skein answers on http://127.0.0.1:${port} (404): set PORT`,
      ]),
    );
    expect(code).toBe(1);
  });

  it('asks the port of the operations, when there is one', async () => {
    const service = await startServer({ OPERATIONS_PORT: '0' });
    const [, port] = /operations are answered on http:\/\/[^:]+:(\d+)/.exec(service.output())!;
    const env = { PORT: new URL(service.url).port, OPERATIONS_PORT: port! };
    const { said } = await examined(env);
    expect(said).toContain(`ok    the service on ${service.url} is ready`);
    await service.stop();
  });

  it('lists the backups, or tells why it cannot', async () => {
    const s3 = await startS3();
    const listed = async (place: Record<string, string>) => {
      const keys = { AWS_ACCESS_KEY_ID: 'skein', AWS_SECRET_ACCESS_KEY: 'of the bucket' };
      const env = { PORT: '0', BACKUP_URL: 's3://bucket/of/skein', BACKUP_S3_STYLE: 'path' };
      const { said } = await examined({ ...env, ...keys, AWS_ENDPOINT_URL: s3.url, ...place });
      return said.filter((line) => line.includes('BACKUP_URL'));
    };
    const name = 's3://bucket/of/skein (BACKUP_URL)';
    expect(await listed({})).toEqual([`ok    backups are stored in ${name}: it has no backup yet`]);
    s3.objects.set('of/skein/skein-20261124T020000Z.skein', Buffer.from('x'));
    expect(await listed({})).toEqual([
      `ok    backups are stored in ${name}: the newest backup is of 2026-11-24T02:00:00.000Z`,
    ]);
    s3.fail = (_, response) => {
      refuse(response, 404, 'NoSuchBucket');
      return true;
    };
    expect(await listed({})).toEqual([
      expect.stringMatching(/^FIX {3}backups cannot be stored in .*\(BACKUP_URL\): .*NoSuchBucket/),
    ]);
    s3.stop();
  });

  it('ends when the reader of its output has ended', async () => {
    const doctor = `${process.execPath} dist/src/server/commands/doctor.cli.js`;
    const shell = `set -o pipefail; ${doctor} | head -n 1`;
    const piped = watched('bash', ['--norc', '-c', shell], { DATA_DIR: at('data') });
    expect([await piped.exit, piped.output()]).toEqual([
      0,
      expect.stringMatching(/^ok {4}settings .*\n$/),
    ]);
  });

  it('tells of a setting that cannot be, in the line of the start', async () => {
    const { code, said } = await examined({ PORT: 'http' });
    expect(said).toEqual([expect.stringMatching(/^skein cannot start: PORT must/)]);
    expect(code).toBe(1);
  });

  describe('on a database', () => {
    let database: TestDatabase;
    let client: pg.Client;
    beforeAll(async () => {
      database = await openTestDatabase();
      client = new pg.Client(database.url);
      await client.connect();
    });
    afterAll(async () => {
      await client.end();
      await database.drop();
    });
    const checked = async (env: Record<string, string> = {}) => {
      const { code, said } = await examined({ PORT: '0', DATABASE_URL: database.url, ...env });
      return { code, fix: said.filter((line) => line.startsWith('FIX')) };
    };

    it('tells all that is wrong with it, and how to correct it', async () => {
      await client.query(`
        INSERT INTO migrations (timestamp, name) VALUES (9999999999999, 'Later9999999999999');
        UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'calls_op_idx'::regclass`);
      const { code, fix } = await checked({ DATABASE_POOL_SIZE: '1000' });
      expect(fix).toEqual([
        `FIX   the index calls_op_idx was not finished: npm run psql -- -c 'REINDEX INDEX CONCURRENTLY calls_op_idx'`,
        expect.stringMatching(
          /^FIX {3}WORKERS 1 and DATABASE_POOL_SIZE 1000 need 1002 connections/,
        ),
        expect.stringContaining('a migration that this build does not know: Later9999999999999'),
      ]);
      expect(code).toBe(1);
      await client.query(`DELETE FROM migrations WHERE name LIKE 'Later%'`);
      const repaired = ['-c', 'REINDEX INDEX CONCURRENTLY calls_op_idx'];
      expect(await ended('psql', { DATABASE_URL: database.url }, repaired)).toEqual({
        code: 0,
        said: ['REINDEX'],
      });
    });

    it('tells that nobody could make keys any more, until there is one', async () => {
      const { fix } = await checked();
      expect(fix).toEqual([
        `FIX   no key of the role admin and the scope * is active: npm run keys -- create --user you --role admin --scope '*'`,
      ]);
      const key = ['create', '--user', 'ada', '--role', 'admin', '--scope', '*'];
      expect((await ended('keys', { DATABASE_URL: database.url }, key)).code).toBe(0);
      expect(await checked()).toEqual({ code: 0, fix: [] });
    });

    it('tells of a role that may not do what the service does', async () => {
      const role = `skein_doctor_${process.pid}`;
      await client.query(`
        CREATE ROLE ${role} LOGIN PASSWORD 'reads';
        GRANT SELECT ON ALL TABLES IN SCHEMA public TO ${role};
        GRANT INSERT ON calls TO ${role}`);
      const url = new URL(database.url.replace('@/', '@localhost/'));
      Object.assign(url, { username: role, password: 'reads' });
      const asRole = () => checked({ DATABASE_URL: url.href.replace('@localhost/', '@/') });
      expect((await asRole()).fix[0]).toBe(
        `FIX   the role ${role} may not read and write annotation_progress, annotation_queue_items, annotation_queues, api_keys, audit_events and others`,
      );
      const { rows } = await client.query(
        `DELETE FROM migrations WHERE id = (SELECT max(id) FROM migrations) RETURNING *`,
      );
      expect((await asRole()).fix[0]).toBe(
        `FIX   the role ${role} may not make tables: GRANT CREATE ON SCHEMA public TO it, or run npm run migrate with a role that may`,
      );
      const started = await ended('migrate', {
        DATABASE_URL: url.href.replace('@localhost/', '@/'),
      });
      expect(started.code).toBe(1);
      expect(started.said.at(-1)).toMatch(
        /^the schema is not that of this build, and the role of DATABASE_URL may not change it \(.*\): run npm run migrate with a role that may/,
      );
      const { id, timestamp, name } = rows[0];
      await client.query('INSERT INTO migrations VALUES ($1, $2, $3)', [id, timestamp, name]);
      await client.query(`DROP OWNED BY ${role}; DROP ROLE ${role}`);
    });

    it('tells of one that is not there, without its password', async () => {
      const url = new URL(database.url.replace(/\/[^/?]*(\?|$)/, '/skein_nowhere$1'));
      const { code, said } = await examined({ PORT: '0', DATABASE_URL: url.href });
      expect(said.at(-2)).toMatch(
        /^FIX {3}DATABASE_URL does not lead to a database: .*skein_nowhere/,
      );
      expect(said.join()).not.toContain(`:${url.password}@`);
      expect(code).toBe(1);
    });
  });
});

describe('psql', () => {
  it('prints rows as JSON, and what is wrong with a statement in a line', async () => {
    const { url, drop } = await openTestDatabase();
    const asked = (text: string) => ended('psql', { DATABASE_URL: url }, ['-c', text]);
    expect(await asked(`SELECT 1 AS one, 'a' AS a; SELECT 2 AS two`)).toEqual({
      code: 0,
      said: ['{"one":1,"a":"a"}', '{"two":2}'],
    });
    expect(await asked('SELECT nothing')).toEqual({
      code: 1,
      said: ['column "nothing" does not exist'],
    });
    await drop();
  });

  it('says how to get psql where it is not installed', async () => {
    const { url, drop } = await openTestDatabase();
    const { code, said } = await ended('psql', { DATABASE_URL: url, PATH: at('nowhere') }, ['-l']);
    expect(said).toEqual([
      expect.stringMatching(/^psql is not installed: .*npm run psql -- -c STATEMENT/),
    ]);
    expect(code).toBe(1);
    await drop();
  });
});
