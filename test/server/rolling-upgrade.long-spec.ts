import { randomUUID } from 'node:crypto';
import { cpSync, existsSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import pg from 'pg';
import { newSecret } from '../../src/platform/auth/keys/secret.js';
import { DOCUMENT } from '../support/answers.js';
import { basic, send, type TestApp } from '../support/app.js';
import { openTestDatabase, type TestDatabase } from '../support/database.js';
import { startEngine } from '../support/engine.js';
import { aStart } from '../support/factories.js';
import { sendTo, type Sent } from '../support/operation-rows.js';
import { OPERATIONS } from '../support/operations.js';
import { plant, type Planted } from '../support/planted.js';
import { releasedBuild } from '../support/released.js';
import { contractions, type Schema, schemaParts } from '../support/schema-parts.js';
import { aFolder, type Run, watched } from '../support/server.js';
import { until } from '../support/until.js';

/**
 * Parts of the schema that this build changes, or how their names begin, with the reason why the released build works
 * on: a function answers as before, or a constraint is wider. A release empties the list.
 */
const ACCEPTED: Record<string, string> = {};
/** Routes that this build answers otherwise than the released one, with the reason. A release empties the list. */
const OTHERWISE: Record<string, string> = {};

const PROJECT = 'acme/rolling';
/** Parts of answers that differ from one answer to the next, also of one build. */
const VARYING = [
  /\{"project_id":"acme\/rolling"[^}]*\}/g, // the load goes on
  /recorded-[0-9a-f]{16}/g,
  /"(?:as_of|urlExpiry)":"[^"]*"/g,
  /expires=\d+&signature=[\w-]+/g,
];
const CLIENTS = 2;
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

const folder = aFolder();
const key = newSecret();
const env = {
  DATA_DIR: folder.path,
  BOOTSTRAP_API_KEY: key,
  SHUTDOWN_DELAY_SECONDS: '1',
  TRAINER_LEASE_SECONDS: '600',
  EXPORT_URL: pathToFileURL(join(folder.path, 'exported')).href,
};
let old: string;
let next: string;
beforeAll(() => {
  old = releasedBuild(folder.path);
  next = nextBuild();
});
afterAll(() => folder.remove());

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

/** Compares names that were found with a list of how they may begin. */
function besides(listed: Record<string, string>, found: Record<string, string>) {
  const begins = Object.keys(listed);
  const names = Object.keys(found);
  return {
    unlisted: Object.fromEntries(
      Object.entries(found).filter(([name]) => !begins.some((one) => name.startsWith(one))),
    ),
    stale: begins.filter((one) => !names.some((name) => name.startsWith(one))),
  };
}

let database: TestDatabase;
const running: Replica[] = [];

async function replica(build: string, more: Record<string, string> = {}): Promise<Replica> {
  const run = watched(process.execPath, [join(build, 'dist/src/main.js')], {
    DATABASE_URL: database.url,
    ...env,
    ...more,
  });
  const url = () => /listens on (http:\S+?)["\s]/.exec(run.output())?.[1];
  await until(() => url() !== undefined || run.process.exitCode !== null);
  if (!url()) throw new Error(run.output());
  const started = { ...run, url: url()! };
  running.push(started);
  return started;
}

async function migrated(build: string, { url }: TestDatabase): Promise<string> {
  const program = join(build, 'dist/src/server/commands/migrate.cli.js');
  const command = watched(process.execPath, [program], { ...env, DATABASE_URL: url });
  expect([await command.exit, command.output()]).toEqual([0, expect.anything()]);
  return command.output();
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
let resent = 0;
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
    resent++;
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

/** Adds the answers of `/ready` that are not 200. */
async function probe(isOver: () => boolean): Promise<void> {
  for (; !isOver(); await sleep(50))
    for (const { url } of [...running]) {
      const ready = await fetch(`${url}/ready`);
      if (ready.status !== 200) failures.push(`/ready: ${ready.status} ${await ready.text()}`);
    }
}

describe('the released build on a database that this build has migrated', () => {
  const clients: pg.Client[] = [];
  let isOver = false;
  let stop: () => Promise<void>;
  beforeAll(async () => {
    database = await openTestDatabase({ isEmpty: true });
    const engine = await startEngine();
    const provider = { name: 'engine', base_url: engine.url, models: ['echo'] };
    const loras = { name: 'loras', base_url: engine.url, engine: 'vllm' };
    Object.assign(env, { GATEWAY_PROVIDERS: JSON.stringify([provider, loras]) });
    stop = () => engine.close();
  });
  afterAll(async () => {
    isOver = true;
    for (const client of clients) await client.end();
    for (const { process, exit } of running) {
      process.kill('SIGTERM');
      await exit;
    }
    await database.drop();
    await stop();
  });

  /** An app whose requests go to a replica. */
  async function appOf({ url }: Replica): Promise<TestApp> {
    const client = new pg.Client(database.url);
    await client.connect();
    clients.push(client);
    return {
      url,
      key,
      post: (path, body, options?) =>
        send(url + path, body, { authorization: basic(key), ...options?.headers }),
      bearer: (path, body, options?) =>
        send(url + path, body, { authorization: `Bearer ${key}` }, options?.method),
      query: async (text, values) => (await client.query(text, values)).rows,
    } as TestApp;
  }

  /** Tells which routes a build has, as far as they are documented. */
  async function routesOf({ url }: TestApp): Promise<(route: string) => boolean> {
    const { body } = await send(`${url}/openapi.json`, undefined, {}, 'GET');
    return (route) => {
      const [method, path] = route.replaceAll(/[:*](\w+)/g, '{$1}').split(' ') as [string, string];
      const isIn = ({ paths }: typeof DOCUMENT) =>
        paths[path]?.[method.toLowerCase()] !== undefined;
      return !isIn(DOCUMENT) || isIn(body);
    };
  }

  async function answer(app: TestApp, route: string, sent: Sent) {
    const [scheme] = OPERATIONS[route]!.schemes;
    const authorization = scheme === 'basic' ? basic(key) : `Bearer ${key}`;
    const response = await sendTo(app.url, route, sent, { authorization });
    const isEndless = response.headers.get('content-type') === 'text/event-stream';
    if (isEndless) await response.body!.cancel();
    return { status: response.status, text: isEndless ? '' : await response.text() };
  }

  /** Sends each operation to both builds, and compares the statuses, and what reads answer. */
  async function compare(
    planted: Planted,
    has: (route: string) => boolean,
    [released, current]: [TestApp, TestApp],
  ) {
    const found: Record<string, string> = {};
    const said = (text: string) =>
      VARYING.reduce((left, varying) => left.replaceAll(varying, '…'), text)
        .replaceAll(released.url, '…')
        .replaceAll(current.url, '…');
    for (const [route, { build, role }] of Object.entries(OPERATIONS)) {
      if (!has(route)) continue;
      const sent = await build(planted, released);
      const before = await answer(released, route, sent);
      const isRead = role === 'reader';
      const now = await answer(current, route, isRead ? sent : await build(planted, current));
      if (before.status >= 300 || before.status !== now.status)
        found[route] = `${before.status} ${before.text}, now ${now.status} ${now.text}`;
      else if (isRead && said(before.text) !== said(now.text))
        found[route] = `answered ${before.text}, answers ${now.text}`;
    }
    return found;
  }

  it('answers each operation as this build does, fails no request and loses nothing, until it is replaced', async () => {
    const olds = [await replica(old), await replica(old)];
    const released = await appOf(olds[0]!);
    const has = await routesOf(released);
    const planted = await plant(released, 'acme/planted', has);
    const stored = new Set<string>();
    const users = Array.from({ length: CLIENTS }, () => load(() => isOver, stored));
    let isMigrated = false;
    const probing = probe(() => isMigrated || isOver);
    const more = async () => {
      const before = stored.size;
      await until(() => stored.size > before + 10 || failures.length > 0);
    };
    await more();
    expect(await migrated(next, database)).toContain(NEXT);
    await more(); // the released build alone on the newer schema
    isMigrated = true;
    await probing;
    expect({ failures, resent }).toEqual({ failures: [], resent: 0 });
    let isCompared = false;
    for (const one of olds) {
      const upgraded = await replica(next);
      await more(); // while both builds run
      const ready = await (await fetch(`${one.url}/ready`)).json();
      expect(ready).toMatchObject({ migrations: 'newer' });
      if (!isCompared) {
        const found = await compare(planted, has, [released, await appOf(upgraded)]);
        expect(besides(OTHERWISE, found)).toEqual({ unlisted: {}, stale: [] });
        isCompared = true;
      }
      await retire(one);
      await more();
    }
    isOver = true;
    await Promise.all(users);
    expect(failures).toEqual([]);
    const calls = await ask('/calls/query', { project_id: PROJECT });
    const read = new Map(calls.calls.map((call: any) => [call.id, call.output]));
    expect([...stored].filter((id) => read.get(id) !== id)).toEqual([]);
    for (const { output } of running) expect(output()).not.toMatch(/"level":[56]0/);
  });
});

describe('the schema of the released build', () => {
  let empty: TestDatabase;
  let client: pg.Client;
  let before: Schema;
  let now: Schema;
  let added: string[];
  beforeAll(async () => {
    empty = await openTestDatabase({ isEmpty: true });
    client = new pg.Client(empty.url);
    await client.connect();
    const ran = async () =>
      (await client.query<{ name: string }>('SELECT name FROM migrations')).rows.map(
        ({ name }) => name,
      );
    await migrated(old, empty);
    before = await schemaParts(client);
    const known = await ran();
    await migrated(next, empty);
    now = await schemaParts(client);
    added = (await ran()).filter((name) => ![...known, NEXT].includes(name));
  });
  afterAll(async () => {
    await client.end();
    await empty.drop();
  });

  /** The names of the functions that a build keeps for the version before it. */
  const keptBy = (build: string) => {
    const file = join(build, 'dist/src/platform/database/older-builds.sql');
    const text = existsSync(file) ? readFileSync(file, 'utf8') : '';
    return [...text.matchAll(/FUNCTION (\w+)\(/g)].map(([, name]) => name!);
  };

  it('is still there after this build has migrated it', () => {
    const found = contractions(before, now);
    // the released build did not call these itself
    for (const name of keptBy(old))
      for (const part of Object.keys(found).filter((one) => one.startsWith(`function ${name}(`)))
        delete found[part];
    expect(besides(ACCEPTED, found)).toEqual({ unlisted: {}, stale: [] });
  });

  it('has no function with another body without a migration, so that the released build cannot put its own back', () => {
    const changed = Object.keys(contractions(before, now)).filter((name) =>
      name.startsWith('function'),
    );
    expect(changed.length === 0 || added.length > 0 ? [] : changed).toEqual([]);
  });

  it('is missed when a part of it goes, changes or demands more', async () => {
    const trigger = [...now.keys()].find((name) => name.startsWith('trigger costs.'))!;
    for (const [statement, part] of [
      ['DROP TABLE costs', 'column costs.project_id'],
      ['ALTER TABLE calls DROP COLUMN display_name', 'column calls.display_name'],
      ['ALTER TABLE calls RENAME display_name TO label', 'column calls.display_name'],
      ['ALTER TABLE calls ALTER display_name TYPE varchar(9)', 'column calls.display_name'],
      ['ALTER TABLE calls ALTER display_name SET NOT NULL', 'column calls.display_name'],
      ['ALTER TABLE calls ALTER source DROP DEFAULT', 'column calls.source'],
      ['ALTER TABLE calls ALTER source DROP NOT NULL', 'column calls.source'],
      ['ALTER TABLE calls ADD COLUMN needed text NOT NULL', 'column calls.needed'],
      [`ALTER TABLE calls ADD CONSTRAINT few CHECK (id <> '')`, 'constraint calls.few'],
      ['CREATE UNIQUE INDEX one ON calls (project_id, user_id)', 'unique index calls.one'],
      ['DROP FUNCTION skein_safe_json(json)', 'function skein_safe_json(json)'],
      [
        `CREATE OR REPLACE FUNCTION skein_number(input text) RETURNS numeric LANGUAGE sql AS 'SELECT 1::numeric'`,
        'function skein_number(text)',
      ],
      [`DROP TRIGGER ${trigger.replace('trigger costs.', '')} ON costs`, trigger],
    ] as const) {
      await client.query('BEGIN');
      await client.query(statement);
      expect([statement, ...Object.keys(contractions(now, await schemaParts(client)))]).toContain(
        part,
      );
      await client.query('ROLLBACK');
    }
  });

  it('has functions for older builds that no code of this build calls', () => {
    const sources = readdirSync('src', { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.(ts|sql)$/.test(name) && !/migrations\/|older-builds/.test(name))
      .map((name) => readFileSync(join('src', name), 'utf8'));
    const kept = keptBy('.');
    const called = kept.filter((name) => sources.some((text) => text.includes(`${name}(`)));
    expect(called).toEqual([]);
  });
});
