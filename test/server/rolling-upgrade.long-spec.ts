import { randomUUID } from 'node:crypto';
import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { newSecret } from '../../src/platform/auth/keys/secret.js';
import { basic, send } from '../support/app.js';
import { openTestDatabase, type TestDatabase } from '../support/database.js';
import { aStart } from '../support/factories.js';
import { aFolder, type Run, watched } from '../support/server.js';
import { until } from '../support/until.js';

const PROJECT = 'acme/rolling';
const CLIENTS = 6;
const NEXT = 'Next9999999999999';
/** A migration by the rules of the project: it only adds, and its index accepts all existing rows. */
const MIGRATION = `export class ${NEXT} {
  name = '${NEXT}';
  async up(runner) {
    await runner.query('ALTER TABLE calls ADD COLUMN next_note text');
    await runner.query('ALTER TABLE projects ADD COLUMN next_count int NOT NULL DEFAULT 0');
    await runner.query('CREATE INDEX next_note_idx ON calls (project_id, next_note) WHERE next_note IS NOT NULL');
  }
  async down() {}
}
`;
/** The folder of the old build: this build, or a folder with the dist/ of an older commit (TEST_OLD_BUILD). */
const OLD = process.env['TEST_OLD_BUILD'] ?? '.';

const folder = aFolder();
const key = newSecret();
let database: TestDatabase;
const running: Replica[] = [];
beforeAll(async () => {
  database = await openTestDatabase({ isEmpty: true });
});
afterAll(async () => {
  for (const { process, exit } of running) {
    process.kill('SIGTERM');
    await exit;
  }
  await database.drop();
  folder.remove();
});

interface Replica extends Run {
  url: string;
}

/** Makes a copy of this build with one more migration. */
function nextBuild(): string {
  const at = (name: string) => join(folder.path, name);
  cpSync('dist', at('dist'), { recursive: true });
  for (const name of ['node_modules', 'package.json']) symlinkSync(resolve(name), at(name));
  writeFileSync(at('dist/next.js'), MIGRATION);
  const ormconfig = readFileSync('dist/ormconfig.js', 'utf8');
  const patched = ormconfig.replace(/(migrations: \[[^\]]*?),?\s*\]/, `$1, ${NEXT}]`);
  expect(patched).not.toBe(ormconfig);
  writeFileSync(at('dist/ormconfig.js'), `import { ${NEXT} } from './next.js';\n${patched}`);
  return folder.path;
}

async function replica(build: string): Promise<Replica> {
  const run = watched(process.execPath, [join(build, 'dist/src/main.js')], {
    DATABASE_URL: database.url,
    DATA_DIR: folder.path,
    BOOTSTRAP_API_KEY: key,
    SHUTDOWN_DELAY_SECONDS: '1',
  });
  const url = () => /listens on (http:\S+?)["\s]/.exec(run.output())?.[1];
  await until(() => url() !== undefined || run.process.exitCode !== null);
  if (!url()) throw new Error(run.output());
  const started = { ...run, url: url()! };
  running.push(started);
  return started;
}

/** Stops a replica, and takes it out of rotation when `/ready` is no longer 200, as a load balancer does. */
async function retire(replica: Replica): Promise<void> {
  replica.process.kill('SIGTERM');
  await until(async () => {
    const ready = await fetch(`${replica.url}/ready`).catch(() => undefined);
    return ready?.status !== 200;
  });
  running.splice(running.indexOf(replica), 1);
  expect(await replica.exit).toBe(0);
}

/** Sends requests to the replicas in turn. A temporary refusal is sent again, as SDKs do. */
let turn = 0;
const failures: string[] = [];
async function ask(path: string, body: object): Promise<any> {
  for (let tries = 0; ; tries++) {
    const { url } = running[turn++ % running.length]!;
    const answer = await send(url + path, body, { authorization: basic(key) }).catch(
      (error: Error) => ({ status: 0, text: String(error.cause), body: undefined }),
    );
    if (answer.status === 200) return answer.body;
    if (![0, 503].includes(answer.status) || tries >= 5) {
      failures.push(`${path}: ${answer.status} ${answer.text}`);
      return undefined;
    }
    await sleep(100 * 2 ** tries);
  }
}

/** Writes and reads calls until `isOver`. Adds the ids of acknowledged calls to `stored`. */
async function load(isOver: () => boolean, stored: Set<string>): Promise<void> {
  while (!isOver()) {
    const id = randomUUID();
    const about = { project_id: PROJECT, id };
    const ended_at = new Date().toISOString();
    if (!(await ask('/call/start', { start: aStart({ ...about, inputs: { id } }) }))) continue;
    if (!(await ask('/call/end', { end: { ...about, ended_at, output: id, summary: {} } })))
      continue;
    stored.add(id);
    const read = await ask('/call/read', about);
    if (read?.call?.output !== id) failures.push(`${id} was not read back`);
    await ask('/calls/query_stats', { project_id: PROJECT });
  }
}

it('processes of two versions on one database fail no request and lose nothing, while one version replaces the other', async () => {
  const old = [await replica(OLD), await replica(OLD)];
  let isOver = false;
  const stored = new Set<string>();
  const clients = Array.from({ length: CLIENTS }, () => load(() => isOver, stored));
  const more = async () => {
    const before = stored.size;
    await until(() => stored.size > before + 20 || failures.length > 0);
  };
  await more();
  const next = nextBuild();
  for (const one of old) {
    const upgraded = await replica(next);
    expect(upgraded.output().includes(`migrated to ${NEXT}`)).toBe(one === old[0]);
    await more(); // while both versions run
    const ready = await (await fetch(`${one.url}/ready`)).json();
    expect(ready).toMatchObject({ migrations: 'newer' });
    await retire(one);
    await more();
  }
  isOver = true;
  await Promise.all(clients);
  expect(failures).toEqual([]);
  const calls = await ask('/calls/query', { project_id: PROJECT });
  const read = new Map(calls.calls.map((call: any) => [call.id, call.output]));
  expect([...stored].filter((id) => read.get(id) !== id)).toEqual([]);
  for (const { output } of running) expect(output()).not.toMatch(/"level":[56]0/);
});
