import type { AddressInfo } from 'node:net';
import { KeysService } from '../../src/platform/auth/keys/keys.service.js';
import { basic, openApp, send } from '../support/app.js';
import { ran } from '../support/background.js';
import { openTestDatabase, type TestDatabase, unlessCluster } from '../support/database.js';
import { withConnection } from '../../src/platform/pg/driver.js';
import { until } from '../support/until.js';

const DAY_MS = 86_400_000;
const project_id = 'acme/clock';

/*
 * The clock of the database is set through functions of the same names, which its sessions find first. The processes of
 * the tests are real apps, so that a restart forgets what a restart forgets.
 */
unlessCluster('the functions would be needed on each node').describe('a clock that jumps', () => {
  let database: TestDatabase;
  let service: Awaited<ReturnType<typeof start>>;

  async function start() {
    const { app } = await openApp(database.url, { RETENTION_INTERVAL_SECONDS: '1' });
    await app.listen(0, '127.0.0.1');
    const url = `http://127.0.0.1:${(app.getHttpServer().address() as AddressInfo).port}`;
    const by = { keyId: null, userName: 'test' };
    const made = await app
      .get(KeysService)
      .create({ userName: 'ada', role: 'admin', scopes: ['*'] }, by);
    const post = (path: string, body: unknown) =>
      send(url + path, body, { authorization: basic(made.secret) });
    return { url, post, stop: () => app.close() };
  }

  async function restart(): Promise<void> {
    await service.stop();
    service = await start();
  }

  const run = (text: string) => withConnection(database.url, (client) => client.query(text));

  /** Sets the clock of the database, for new sessions and for those that have seen it set before. */
  async function setClock(days: number): Promise<void> {
    const clock = (name: string) => `CREATE OR REPLACE FUNCTION public.${name}() RETURNS timestamptz
      LANGUAGE sql AS 'SELECT pg_catalog.${name}() + interval ''${days} days'''`;
    for (const name of ['now', 'clock_timestamp', 'statement_timestamp']) await run(clock(name));
    const [row] = (await run('SELECT current_database() AS name')).rows as { name: string }[];
    await run(`ALTER DATABASE ${row!.name} SET search_path = public, pg_catalog`);
  }

  const ids = async () => {
    const { body } = await service.post('/calls/query', { project_id });
    return body.calls.map(({ id }: { id: string }) => id);
  };

  async function store(id: string, days: number): Promise<void> {
    const started_at = new Date(Date.now() - days * DAY_MS).toISOString();
    const call = { project_id, id, op_name: 'chat', started_at, ended_at: started_at };
    const { status } = await service.post('/v2/acme/clock/calls/complete', { batch: [call] });
    expect(status).toBe(200);
  }

  beforeEach(async () => {
    database = await openTestDatabase();
    await setClock(0);
    service = await start();
    await store('fresh', 1);
    await service.post('/retention/set', { project_id, calls_days: 5 });
    await ran(service.url, 'retention');
  });
  afterEach(async () => {
    await service.stop();
    await database.drop();
  });

  it('erases nothing after a restart either, and goes on when the clock is right again', async () => {
    await store('old', 6);
    await until(async () => (await ids()).length === 1);
    await service.stop();
    await setClock(10);
    service = await start();
    await ran(service.url, 'retention', 'failed');
    await restart();
    await ran(service.url, 'retention', 'failed');
    expect(await ids()).toEqual(['fresh']);
    await setClock(0);
    await ran(service.url, 'retention');
    await store('old', 6);
    await until(async () => (await ids()).length === 1);
    expect(await ids()).toEqual(['fresh']);
  });

  it.each([
    ['an operator says that the clock is right', 'DELETE FROM retention_clock'],
    ['three days have passed', `UPDATE retention_clock SET waits_until = seen_at`],
  ])('erases nothing after a jump under way, until %s', async (_, end) => {
    await setClock(10);
    await ran(service.url, 'retention', 'failed');
    expect(await ids()).toEqual(['fresh']);
    const rows = await run(
      `SELECT waits_until - clock_timestamp() > interval '71 hours' AS is_long FROM retention_clock`,
    );
    expect(rows.rows).toEqual([{ is_long: true }]);
    await run(end);
    await until(async () => (await ids()).length === 0);
  });
});
