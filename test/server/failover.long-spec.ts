import { join } from 'node:path';
import { unlessCluster } from '../support/database.js';
import { PROJECT, readiness, writers } from '../support/outage.js';
import { startPair } from '../support/postgres-pair.js';
import { relayTo } from '../support/relay.js';
import { aFolder, run, type Server, startServer } from '../support/server.js';
import { until } from '../support/until.js';

/* Drills of a failover: the primary is lost while clients write, and its synchronous standby is promoted. */

const RECOVERED_WITHIN_MS = 15_000;

unlessCluster('a pair of servers stands beside it').describe('after a failover', () => {
  let pair: Awaited<ReturnType<typeof startPair>>;
  let relay: Awaited<ReturnType<typeof relayTo>>;
  let server: Server;
  let env: Record<string, string>;
  beforeEach(async () => {
    pair = await startPair();
    relay = await relayTo(`postgres://skein:@127.0.0.1:${pair.ports[0]}/postgres`);
    const hosts = `127.0.0.1:${new URL(relay.url).port},127.0.0.1:${pair.ports[1]}`;
    env = { DATABASE_URL: `postgres://skein@${hosts}/postgres?target_session_attrs=read-write` };
    server = await startServer(env);
  });
  afterEach(async () => {
    await server.stop('SIGKILL');
    await relay.close();
    await pair.close();
  });

  it.each([
    ['is killed', async () => pair.killPrimary()],
    [
      'dies without a reset',
      async () => {
        relay.swallow();
        await pair.killPrimary();
      },
    ],
  ])('every acknowledged write is there when the primary %s', async (how, lose) => {
    const load = writers(server);
    await until(() => load.acknowledged.length > 200);
    const lostAt = performance.now();
    await lose();
    await until(async () => (await readiness(server)).status === 503);
    const noticedMs = performance.now() - lostAt;
    const before = load.acknowledged.length;
    const promotedAt = performance.now();
    await pair.promote();
    await until(() => load.acknowledged.length > before + 100);
    const recoveredMs = performance.now() - promotedAt;
    await until(async () => (await readiness(server)).status === 200);
    await load.stop();

    const figures = {
      how,
      noticed_ms: Math.round(noticedMs),
      recovered_ms: Math.round(recoveredMs),
    };
    process.stdout.write(
      `${JSON.stringify({ ...figures, acknowledged: load.acknowledged.length, refused: load.refused.length })}\n`,
    );
    expect(load.problems).toEqual([]);
    expect(recoveredMs).toBeLessThan(RECOVERED_WITHIN_MS);
    for (const id of load.acknowledged)
      expect((await server.post('/call/read', { project_id: PROJECT, id })).status).toBe(200);
    for (const id of load.refused.slice(0, 200)) expect(await load.write(id)).toBe(200);

    const folder = aFolder();
    const file = join(folder.path, 'backup');
    for (const [command, args] of [
      ['migrate', []],
      ['keys', ['list']],
      ['backup', [file]],
      ['psql', ['-c', 'SELECT 1']],
    ] as const) {
      const ran = run(`server/commands/${command}.cli.js`, env, [...args]);
      expect([command, await ran.exit, ran.output()]).toEqual([command, 0, expect.anything()]);
    }
    const doctor = run('server/commands/doctor.cli.js', { ...env, PORT: new URL(server.url).port });
    await doctor.exit;
    expect(doctor.output()).toMatch(/^ok {4}PostgreSQL \d+/m);
    folder.remove();
  });
});

it('without a primary among its hosts, a command says which host is what', async () => {
  const env = {
    DATABASE_URL: 'postgres://skein@127.0.0.1:1,127.0.0.1:2/x?target_session_attrs=primary',
  };
  const ran = run('server/commands/psql.cli.js', env, ['-c', 'SELECT 1']);
  expect(await ran.exit).toBe(1);
  expect(ran.output()).toMatch(
    /no host of the database is primary \(127.0.0.1:1: .*; 127.0.0.1:2: .*\)/,
  );
  expect(ran.output()).not.toContain('    at ');
});
