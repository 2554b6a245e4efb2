/** @jest-environment-options {"isApart": true} */
import { execFileSync, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFileSync, rmSync, statfsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { newSecret } from '../../src/platform/auth/keys/secret.js';
import { testServers, unlessCluster } from '../support/database.js';
import { type Answer, startApp, type TestApp } from '../support/app.js';
import { aFolder, type Server, startServer } from '../support/server.js';
import { until } from '../support/until.js';
import { aStart } from '../support/factories.js';

/*
 * Tests a database that cannot write. First with errors of a real PostgreSQL that need no special disk: read-only
 * transactions, and SQLSTATEs of a full disk and of no memory. Then on a full disk, if the tests may mount one.
 */

const PROJECT = 'acme/disk';
const call = (id: string, inputs: object = {}) => ({
  start: aStart({ project_id: PROJECT, id, inputs }),
});
const AFTER_ALL = { project_id: PROJECT, before: '2100-01-01T00:00:00Z' };

describe('a database that refuses writes', () => {
  let app: TestApp;
  let name: string;
  beforeAll(async () => {
    app = await startApp();
    [{ name }] = (await app.query('SELECT current_database() AS name')) as [{ name: string }];
  });
  afterAll(() => app.close());

  const ready = async () => {
    const answer = await fetch(`${app.url}/ready`);
    return { status: answer.status, body: (await answer.json()) as { writes: string } };
  };
  const metric = async () =>
    /skein_ready\{what="writes"\} (\d)/.exec(await (await fetch(`${app.url}/metrics`)).text())?.[1];

  /** Only new sessions use the setting, so the existing ones are ended. */
  async function setReadOnly(value: 'on' | 'off'): Promise<void> {
    await onServer(`ALTER DATABASE ${name} SET default_transaction_read_only = ${value}`);
    await onServer(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${name}' AND pid <> pg_backend_pid()`,
    );
    await until(async () => (await ready()).body.writes === (value === 'on' ? 'refused' : 'taken'));
  }

  async function onServer(statement: string): Promise<void> {
    const { Client } = await import('pg');
    const client = new Client(testServers()[0]);
    await client.connect();
    await client.query(statement);
    await client.end();
  }

  it('answers reads, refuses writes, erases, revokes keys, and recovers by itself', async () => {
    const kept = await app.post('/call/start', call('kept'));
    expect(kept.status).toBe(200);
    const revoked = await app.aKey();
    expect((await app.post('/call/start', call('gone'), { key: revoked })).status).toBe(200);
    expect(await metric()).toBe('1');
    await setReadOnly('on');

    expect(await ready()).toMatchObject({
      status: 200,
      body: { database: 'reachable', writes: 'refused' },
    });
    expect(await metric()).toBe('0');
    expectRefusal(await app.post('/call/start', call('new')), /takes no writes now/);
    const keyed = { headers: { 'idempotency-key': 'disk' } };
    expectRefusal(await app.post('/call/start', call('new'), keyed), /takes no writes now/);
    const read = await app.post('/call/read', { project_id: PROJECT, id: 'kept' });
    expect(read.body.call.id).toBe('kept');

    const purge = { project_id: PROJECT, call_ids: ['gone'] };
    const purged = await app.post('/calls/purge', purge, keyed);
    expect(purged.body).toMatchObject({ is_done: true, num_erased: { calls: 1 } });
    const { keys } = (await app.post('/keys/list', {})).body;
    const { id } = keys.find((one: { role: string }) => one.role === 'writer');
    expect((await app.post('/keys/revoke', { id })).status).toBe(200);
    expect((await app.post('/calls/query', AFTER_ALL, { key: revoked })).status).toBe(401);

    await setReadOnly('off');
    expect((await app.post('/call/start', call('new'))).status).toBe(200);
    expect(await metric()).toBe('1');
  });

  unlessCluster('its trigger would have to be made on each shard').describe(
    'when a statement fails',
    () => {
      it.each([
        ['53100', /disk of the database is full/, 'refused'],
        ['58030', /cannot read or write its disk/, 'refused'],
        ['53200', /no memory left/, null],
        ['57P03', /starting, stopping or recovering/, null],
      ])('answers 503 to a write that fails with SQLSTATE %s', async (state, detail, writes) => {
        await app.query(`CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN RAISE EXCEPTION 'planted' USING ERRCODE = '${state}'; END $$`);
        await app.query(
          'CREATE TRIGGER planted BEFORE INSERT ON calls FOR EACH STATEMENT EXECUTE FUNCTION fail()',
        );
        expectRefusal(await app.post('/call/start', call(state)), detail);
        if (state === '53100') await pause(15_000); // a client that tries again later
        if (writes) expect((await ready()).body.writes).toBe(writes);
        await app.query('DROP FUNCTION fail CASCADE');
        const answer = await app.post('/call/read', { project_id: PROJECT, id: state });
        expect(answer.body).toEqual({ call: null });
        expect((await app.post('/call/start', call(state))).status).toBe(200);
      });
    },
  );
});

/** `node bench/disk.mjs` tries more sizes, and fills the disk by writes alone. */
const DISK_MB = 300;
const disk = aFolder();
const isMounted =
  process.platform === 'linux' &&
  process.getuid?.() === 0 &&
  spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${DISK_MB}m,mode=755`, 'tmpfs', disk.path])
    .status === 0;
if (!isMounted) console.log('no test of a full disk: mount(8) is not permitted here');
const onDisk = isMounted ? describe : describe.skip;

onDisk('a disk of its own', () => {
  let server: Server;
  const ballast = join(disk.path, 'ballast');
  const env = { DATA_DIR: join(disk.path, 'data'), BOOTSTRAP_API_KEY: newSecret() };
  /** The texts of acknowledged calls that were not erased, in their order. */
  const acknowledged = new Map<string, string>();
  let written = 0;

  beforeAll(async () => {
    server = await startServer(env);
  });
  afterAll(async () => {
    await server.stop();
    execFileSync('umount', [disk.path]);
    disk.remove();
  });

  /** Stores a call with 1 MB that does not compress, each at a second of its own. */
  const write = async (): Promise<Answer> => {
    const id = `c${written}`;
    const text = randomBytes(500_000).toString('hex');
    const started_at = timeOf(written++);
    const start = { ...call(id, { text }).start, started_at };
    const answer = await server.post('/call/start', { start });
    if (answer.status === 200) acknowledged.set(id, text);
    return answer;
  };
  const timeOf = (second: number) => new Date(Date.UTC(2026, 0, 1) + second * 1000).toISOString();
  const fillByWrites = async () => {
    let answer: Answer;
    do answer = await write();
    while (answer.status === 200);
    expectRefusal(answer, /takes no writes now/);
  };
  const purge = (before: string) => server.post('/calls/purge', { project_id: PROJECT, before });
  const ready = async () =>
    (await (await fetch(`${server.url}/ready`)).json()) as { writes: string };
  /** Fills the disk as another program would, except for `leftMb`. */
  const fill = (leftMb: number) => {
    const count = ['bash', '-c', `df --output=avail -m ${disk.path} | tail -1`];
    const free = Number(execFileSync(count[0]!, count.slice(1)).toString());
    const args = ['if=/dev/zero', `of=${ballast}`, 'bs=1M', 'oflag=append', 'conv=notrunc'];
    spawnSync('dd', [...args, ...(leftMb > 0 ? [`count=${free - leftMb}`] : [])]);
  };
  const postmaster = () =>
    Number(readFileSync(join(disk.path, 'data/pgdata/postmaster.pid'), 'utf8').split('\n')[0]);

  async function expectAllThere(): Promise<void> {
    for (const [id, text] of acknowledged) {
      const read = await server.post('/call/read', { project_id: PROJECT, id });
      expect(read.body.call.inputs.text === text).toBe(true);
    }
  }

  it('filled by writes, killed, filled again and erased: new rows take the room of the erased ones', async () => {
    fill(130);
    await fillByWrites();
    expect(await ready()).toMatchObject({ database: 'reachable', writes: 'refused' });
    expect(server.output()).toContain('is nearly full: writes are refused until there is room');
    const { blocks, bsize } = statfsSync(disk.path);
    expect(await (await fetch(`${server.url}/metrics`)).text()).toContain(
      `skein_disk_size_bytes ${blocks * bsize}\n`,
    );
    await expectAllThere();

    await server.stop('SIGKILL');
    server = await startServer(env);
    await expectAllThere();
    await fillByWrites();

    const before = Math.floor(written / 2);
    const purged = await purge(timeOf(before));
    expect(purged.body).toMatchObject({ is_done: true });
    for (let n = 0; n < before; n++) acknowledged.delete(`c${n}`);
    await until(async () => (await write()).status === 200);
    expect(server.output()).toContain('writes are taken while they fit into the room');
    for (let i = 0; i < before / 2; i++) await until(async () => (await write()).status === 200);
    await expectAllThere();
  });

  it('filled by a tenant whose project is then deleted: others write again, also while a third erases all the time', async () => {
    const aCall = (project_id: string, id: string) => aStart({ project_id, id });
    const others = Array.from({ length: 500 }, (_, n) => ({
      mode: 'start',
      req: { start: aCall('third/app', `${n}`) },
    }));
    const store = () => server.post('/call/upsert_batch', { batch: others });
    await until(async () => (await store()).status === 200);
    await fillByWrites();
    const other = () => server.post('/call/start', { start: aCall('other/app', 'c') });
    expectRefusal(await other(), /takes no writes now/);
    const over = new AbortController();
    const purges = (async () => {
      for (let n = 0; !over.signal.aborted; n++)
        await server.post('/calls/purge', { project_id: 'third/app', call_ids: [`${n}`] });
    })();
    expect((await server.post('/project/delete', { project_id: PROJECT })).status).toBe(200);
    acknowledged.clear();
    await until(async () => (await other()).status === 200).finally(() => over.abort());
    await purges;
  });

  it('full to the last byte, and PostgreSQL killed: it is started again, and all goes on when there is room', async () => {
    fill(0);
    await until(async () => (await ready()).writes === 'refused');
    await expectAllThere();
    expectRefusal(await purge(timeOf(0)), /needs room before anything is erased/);
    process.kill(postmaster(), 'SIGKILL');
    await until(() => server.output().includes('PostgreSQL has ended unexpectedly'));
    rmSync(ballast);
    await until(async () => (await write()).status === 200);
    expect(await ready()).toMatchObject({ database: 'reachable', writes: 'taken' });
    await expectAllThere();
  });
});

function expectRefusal(answer: Answer, detail: RegExp): void {
  expect(answer).toMatchObject({
    status: 503,
    body: { code: 'unavailable', detail: expect.stringMatching(detail) },
  });
  expect(answer.headers.get('retry-after')).toBe('1');
}
