import { randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { basic, send } from '../support/app.js';
import { openTestDatabase, unlessCluster } from '../support/database.js';
import { aStart } from '../support/factories.js';
import { aFolder, run, type Server, startServer } from '../support/server.js';
import { until } from '../support/until.js';

const MARKER = `marker-${randomBytes(12).toString('hex')}`;
const GONE = 'acme/gone';
const KEPT = 'acme/kept';

const folder = aFolder();
afterAll(() => folder.remove());
const dataDir = join(folder.path, 'data');
const backups = join(folder.path, 'backups');
mkdirSync(backups);

/** Counts how often the files below a folder contain a text. */
function occurrences(text: string, path: string): number {
  let count = 0;
  for (const entry of readdirSync(path, { withFileTypes: true, recursive: true })) {
    if (!entry.isFile()) continue;
    const bytes = readFileSync(join(entry.parentPath, entry.name));
    for (let at = bytes.indexOf(text); at >= 0; at = bytes.indexOf(text, at + 1)) count++;
  }
  return count;
}

async function erased(env: Record<string, string>, ...args: string[]) {
  const command = run('server/commands/erased.cli.js', env, args);
  return { code: await command.exit, output: command.output() };
}

/** Stores a text as names, inputs, feedback, objects and table rows of a project. */
async function fill(server: Server, projectId: string, text: string): Promise<void> {
  for (let part = 0; part < 10; part++) {
    const batch = Array.from({ length: 100 }, (_, n) => ({
      mode: 'start',
      req: {
        start: aStart({
          project_id: projectId,
          id: `${part}-${n}`,
          op_name: `${text}-${n % 5}`,
          inputs: { text, other: randomBytes(20).toString('hex') },
        }),
      },
    }));
    expect((await server.post('/call/upsert_batch', { batch })).status).toBe(200);
  }
  const ofTwoProjects = ['acme/third', projectId].map((project_id) => ({
    mode: 'start',
    req: {
      start: {
        ...aStart({ project_id, trace_id: project_id === projectId ? text : 'another' }),
        id: undefined,
      },
    },
  }));
  const headers = { authorization: basic(server.key), 'idempotency-key': projectId };
  const sent = await send(`${server.url}/call/upsert_batch`, { batch: ofTwoProjects }, headers);
  expect([sent.status, sent.body.res[1].trace_id]).toEqual([200, text]);
  const object = { project_id: projectId, object_id: 'one', val: { text } };
  expect((await server.post('/obj/create', { obj: object })).status).toBe(200);
  const feedback = { project_id: projectId, feedback_type: 'note', payload: { note: text } };
  const weave_ref = `weave:///${projectId}/call/0-0`;
  expect((await server.post('/feedback/create', { ...feedback, weave_ref })).status).toBe(200);
}

it('leaves no byte of a deleted project in the data folder, and says which backups hold it', async () => {
  const env = { DATA_DIR: dataDir, BACKUP_URL: `file://${backups}` };
  const server = await startServer(env);
  await fill(server, GONE, MARKER);
  await fill(server, KEPT, 'kept');
  expect(await run('server/commands/backup.cli.js', env).exit).toBe(0);
  // stores names of calls as samples
  expect(await run('server/commands/psql.cli.js', env, ['-c', 'ANALYZE']).exit).toBe(0);
  await until(async () => {
    const answer = await server.post('/project/delete', { project_id: GONE });
    expect(answer.status).toBe(200);
    return answer.body.is_done;
  });
  const pgdata = join(dataDir, 'pgdata');
  expect(occurrences(MARKER, pgdata)).toBeGreaterThan(1000);

  let looked = await erased(env);
  // PostgreSQL counts changes up to a second later
  while (!/^left: the files of \d+ tables \(.*\bcalls\b/m.test(looked.output))
    looked = await erased(env);
  expect(looked.code).toBe(0);
  expect(looked.output).toMatch(/^left: pg_wal: /m);
  expect(looked.output).toMatch(/^left: 1 backups in file:.*, the oldest of 20/m);

  const removed = await erased(env, '--remove');
  expect([removed.code, removed.output]).toEqual([0, expect.stringMatching(/^left: 1 backups/m)]);
  expect(removed.output).not.toMatch(/^left: (table|pg_wal|\d+ segments)/m);
  const { body } = await server.post('/calls/query_stats', { project_id: KEPT });
  expect(body.count).toBe(1001);
  expect(await server.stop()).toBe(0);
  expect(occurrences(MARKER, pgdata)).toBe(0);
  expect(occurrences('kept', pgdata)).toBeGreaterThan(1000);
});

unlessCluster('roles are made on one server').it(
  'says what a role may not remove, and ends with 1',
  async () => {
    const database = await openTestDatabase();
    const admin = new pg.Client(database.url);
    await admin.connect();
    const role = `skein_erased_${randomBytes(4).toString('hex')}`;
    await admin.query(`CREATE ROLE ${role} LOGIN PASSWORD 'x'`);
    await admin.query(`GRANT SELECT ON ALL TABLES IN SCHEMA public TO ${role}`);
    const url = new URL(database.url.replace('@/', '@localhost/'));
    url.username = role;
    url.password = 'x';
    try {
      const { code, output } = await erased({ DATABASE_URL: url.href }, '--remove');
      expect(output).toMatch(/^left: table calls: /m);
      expect(output).toMatch(/^left: pg_wal: permission denied/m);
      expect(output).not.toMatch(/^wrote /m);
      expect(code).toBe(1);
    } finally {
      await admin.query(`DROP OWNED BY ${role}`);
      await admin.query(`DROP ROLE ${role}`);
      await admin.end();
      await database.drop();
    }
  },
);
