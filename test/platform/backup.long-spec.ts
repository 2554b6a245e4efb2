import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { DataSource } from 'typeorm';
import { dataSourceOptions } from '../../ormconfig.js';
import { withClient } from '../../src/platform/backup/client.js';
import { BackupProgress } from '../../src/platform/backup/progress.js';
import { restore } from '../../src/platform/backup/restore.js';
import { prepareSchema } from '../../src/platform/backup/schema.js';
import { migrate } from '../../src/platform/database/migrate.js';
import { backUp, openFile } from '../support/backups.js';
import { basic, linesOf, send, startApp, type TestApp } from '../support/app.js';
import { openTestDatabase, type TestDatabase } from '../support/database.js';
import { anEnd, aStart, at } from '../support/factories.js';
import { plant } from '../support/planted.js';
import { aTrajectory, groupsOf, previewOf } from '../support/preview.js';
import { aRecipe, publish, record, user } from '../support/rollouts.js';
import { aFolder, run, startServer } from '../support/server.js';
import { until } from '../support/until.js';

const quiet = (say: (line: string) => void = () => {}, everyMs = 0) =>
  new BackupProgress('backup', say, everyMs);

/** Stores a row in every table, with texts that COPY has to escape. */
async function fill(app: TestApp) {
  const { post, url, key } = app;
  const odd = String.raw`{"n":12345678901234567890,"one":1.0,"__proto__":{},"nul":"\u0000","tab":"a\tb\\N"}`;
  for (let i = 0; i < 20; i++) {
    const id = `call-${i}`;
    const start = JSON.stringify(
      aStart({ id, thread_id: `t${i % 3}`, turn_id: id, started_at: at(i) }),
    );
    await post('/call/start', `{"start":${start.slice(0, -1)},"inputs":${odd}}}`);
    if (i % 2)
      await post('/call/end', { end: anEnd({ id, ended_at: at(i + 60), output: 'a\nb\t\\' }) });
  }
  const project_id = 'acme/demo';
  await post('/obj/create', { obj: { project_id, object_id: 'o', val: { text: '\n\t\\.' } } });
  const authorization = basic(key);
  const put = (path: string, body: object) => send(url + path, body, { authorization }, 'PUT');
  await put('/objs/o/aliases', { project_id, digest: 'v0', aliases: ['my\\alias'] });
  await put('/objs/o/versions/v0/tags', { project_id, tags: ['a tag'] });
  await post('/table/create', { table: { project_id, rows: [{ a: 1 }, { a: '\\N' }] } });
  await post('/feedback/create', {
    project_id,
    svc_ref: 'svc:///acme/demo/call/call-1',
    feedback_type: 'custom',
    payload: { line: '\r\n' },
  });
  const price = { prompt_token_cost: 0.1, completion_token_cost: 1e-7 };
  await post(
    '/cost/create',
    { project_id, costs: { model: price } },
    { headers: { 'idempotency-key': 'k' } },
  );
  const form = new FormData();
  form.set('project_id', project_id);
  form.set('file', new Blob([Uint8Array.from({ length: 700_000 }, (_, i) => i % 256)]), 'blob');
  await fetch(`${url}/file/create`, { method: 'POST', body: form, headers: { authorization } });
  const preview = previewOf(app);
  const model_id = await preview.aModel();
  await preview.aJob(model_id, groupsOf([aTrajectory()], [aTrajectory()]));
  await record(app, [{ id: 'rollout', score: 1, asks: [{ messages: [user('?')] }] }]);
  const recipe = aRecipe({
    select: { filter: { op_names: ['rollout'] } },
    group: { min: 1 },
  });
  const body = { project_id, recipe_ref: await publish(app, recipe), mode: 'all' };
  const { build_id } = (await post('/build/create', body)).body;
  await post('/build/submit', { project_id, build_id, model_id });
  await post('/index/create', { project_id, field: 'inputs.n' });
  const folded = {
    traceId: 'f'.repeat(32),
    spanId: 'f'.repeat(16),
    name: 'internal',
    startTimeUnixNano: '1767225600000000000',
  };
  await post(
    '/v1/traces',
    { resourceSpans: [{ scopeSpans: [{ scope: { name: 'codex_core' }, spans: [folded] }] }] },
    { headers: { project_id } },
  );
}

/** Tables that background tasks of a running service change at any time. */
const MOVING = [
  'thread_marks',
  'threads',
  'call_slot_marks',
  'call_slots',
  'call_slot_models',
  'call_text_marks',
  'call_text_segments',
  'call_text_parts',
  'call_text_ids',
  'kept_trials',
  'trial_marks',
  'projects',
  'project_marks',
  'call_text_walks',
  'orphan_walks',
  'project_uses',
  'retention_clock',
];

/** The rows of all other tables as text. */
async function contentsOf(dataSource: DataSource): Promise<Record<string, string[]>> {
  const tables = await dataSource.query(
    `SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1`,
  );
  const contents: Record<string, string[]> = {};
  for (const { tablename } of tables) {
    if (MOVING.includes(tablename)) continue;
    const rows = await dataSource.query(`SELECT t::text AS row FROM ${tablename} t`);
    contents[tablename] = rows.map(({ row }: { row: string }) => row).toSorted();
  }
  return contents;
}

const connected = (url: string) => new DataSource(dataSourceOptions(url)).initialize();

describe('a backup', () => {
  const folder = aFolder();
  let app: TestApp;
  let file: string;
  beforeAll(async () => {
    app = await startApp();
    await fill(app);
    await plant(app, 'acme/planted');
    await app.query(
      `INSERT INTO legal_holds VALUES ('acme/planted', 'case', 'ada', now(), 'a trace')`,
    );
    file = join(folder.path, 'a.skein');
    await withClient(app.dataSource, (client) => backUp(client, file, { progress: quiet() }));
  });
  afterAll(async () => {
    await app.close();
    folder.remove();
  });

  let target: TestDatabase;
  let empty: DataSource;
  beforeEach(async () => {
    target = await openTestDatabase({ isEmpty: true });
    empty = await connected(target.url);
  });
  afterEach(async () => {
    await empty.destroy();
    await target.drop();
  });

  const restored = async (from: string) => {
    const opened = await openFile(from);
    await prepareSchema(empty, opened.header.schema);
    await withClient(empty, (client) => restore(client, opened, quiet()));
    await migrate(empty);
  };
  const rowsOf = async (table: string) => (await empty.query(`SELECT 1 FROM ${table}`)).length;

  it('comes back as it was, table for table and row for row', async () => {
    await restored(file);
    const contents = await contentsOf(empty);
    expect(contents).toEqual(await contentsOf(app.dataSource));
    const without = Object.keys(contents).filter((name) => contents[name]!.length === 0);
    const rare = [
      'console_sessions',
      'dataset_import_rows',
      'erasings',
      'retention_policies',
      'uploads',
    ];
    // if another table is empty: store a row in `plant` of an operation in its feature's *.operations.ts
    expect(without).toEqual(rare);
  });

  it('serves on: the key, the statistics of threads and the marks of new turns work', async () => {
    await restored(file);
    const server = await startServer({ DATABASE_URL: target.url });
    try {
      const headers = { authorization: `Basic ${Buffer.from(`me:${app.key}`).toString('base64')}` };
      const post = async (path: string, body: object) =>
        (
          await fetch(server.url + path, {
            method: 'POST',
            headers: { ...headers, 'content-type': 'application/json' },
            body: JSON.stringify(body),
          })
        ).text();
      await post('/call/start', {
        start: aStart({ id: 'new', thread_id: 't0', turn_id: 'new', started_at: at(100) }),
      });
      const text = await post('/threads/stream_query', { project_id: 'acme/demo' });
      const counts = linesOf({ text } as never).map((line) => [line.thread_id, line.turn_count]);
      expect(Object.fromEntries(counts)).toEqual({ t0: 8, t1: 7, t2: 6 });
      // the index on a field is built again
      await until(async () =>
        (await post('/index/list', { project_id: 'acme/demo' })).includes('"ready"'),
      );
    } finally {
      await server.stop();
    }
  });

  it('is one snapshot, whatever is written meanwhile', async () => {
    const another = join(folder.path, 'busy.skein');
    const done = new AbortController();
    let stored = 0;
    const writing = (async () => {
      while (!done.signal.aborted) {
        const items = [1, 2].map((n) => ({ id: `pair-${stored}-${n}`, ...aStart() }));
        const batch = items.map((start) => ({ mode: 'start', req: { start } }));
        await app.post('/call/upsert_batch', { batch });
        stored++;
      }
    })();
    const header = await withClient(app.dataSource, (client) =>
      backUp(client, another, { progress: quiet() }),
    );
    done.abort();
    await writing;
    await restored(another);
    const calls = header.tables.find(({ name }) => name === 'calls')!;
    expect(await rowsOf('calls')).toBe(calls.rows);
    const [{ halves }] = await empty.query(
      `SELECT count(*)::int % 2 AS halves FROM calls WHERE id LIKE 'pair-%'`,
    );
    expect(halves).toBe(0);
  });

  it('can be read by its owner only, and never replaces a file', async () => {
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const again = withClient(app.dataSource, (client) =>
      backUp(client, file, { progress: quiet() }),
    );
    await expect(again).rejects.toThrow('a backup never replaces a file');
  });

  it('leaves nothing behind when it is interrupted', async () => {
    const never = join(folder.path, 'never.skein');
    const aborted = AbortSignal.abort(new Error('SIGINT'));
    const cut = withClient(app.dataSource, (client) =>
      backUp(client, never, { progress: quiet(), signal: aborted }),
    );
    await expect(cut).rejects.toThrow(/abort/i);
    expect(execFileSync('ls', [folder.path]).toString()).not.toContain('never');
  });

  const inflated = () => gunzipSync(readFileSync(file));
  const damaged = (name: string, bytes: Buffer) => {
    const path = join(folder.path, name);
    writeFileSync(path, bytes);
    return path;
  };

  it.each([0.02, 0.3, 0.7, 0.999])(
    'is refused whole when it is cut at %d of its length',
    async (share) => {
      const bytes = readFileSync(file);
      const path = damaged('cut.skein', bytes.subarray(0, Math.floor(bytes.length * share)));
      await expect(restored(path)).rejects.toThrow('the file is damaged');
      const [{ tables }] = await empty.query(
        `SELECT count(*)::int AS tables FROM pg_class WHERE relname = 'calls'`,
      );
      if (tables > 0) expect(await rowsOf('calls')).toBe(0); // the file may end within its header
    },
  );

  it.each([0.1, 0.5, 0.9])(
    'is refused whole when a byte at %d of its rows is another',
    async (share) => {
      const bytes = inflated();
      const at = bytes.indexOf('acme/demo', Math.floor(bytes.length * share));
      bytes[at] = 'b'.charCodeAt(0);
      await expect(restored(damaged('changed.skein', gzipSync(bytes)))).rejects.toThrow('damaged');
      expect(await rowsOf('calls')).toBe(0);
      expect(await rowsOf('object_versions')).toBe(0);
    },
  );

  it('is refused when its last frame is gone, or something follows', async () => {
    const bytes = inflated();
    const lastFrame = bytes.lastIndexOf('M\0\0');
    const shorter = damaged('shorter.skein', gzipSync(bytes.subarray(0, lastFrame)));
    await expect(restored(shorter)).rejects.toThrow('it ends early');
    const longer = damaged(
      'longer.skein',
      gzipSync(Buffer.concat([bytes, bytes.subarray(lastFrame)])),
    );
    await expect(restored(longer)).rejects.toThrow('there is data after its end');
    expect(await rowsOf('calls')).toBe(0);
  });

  it('is not restored over rows', async () => {
    await restored(file);
    const before = await contentsOf(empty);
    await expect(restored(file)).rejects.toThrow(
      'the database is not empty (annotation_progress holds rows)',
    );
    expect(await contentsOf(empty)).toEqual(before);
  });

  it('of an older schema is brought up to date', async () => {
    const old = await openTestDatabase({ isEmpty: true });
    const source = await connected(old.url);
    await migrate(source);
    const newest = source.migrations.length;
    for (let n = newest; n > 2; n--) await source.undoLastMigration();
    await source.query('ALTER TABLE calls DISABLE TRIGGER USER'); // their functions are of the newest schema
    await source.query(
      `INSERT INTO calls (project_id, id, op_name, trace_id, started_at) VALUES ('a/b', 'c', 'o', 't', now())`,
    );
    const path = join(folder.path, 'old.skein');
    await withClient(source, (client) => backUp(client, path, { progress: quiet() }));
    await source.destroy();
    await old.drop();
    await migrate(empty); // an empty database with all migrations is accepted like a new one
    await restored(path);
    expect(await rowsOf('calls')).toBe(1);
    expect(await migrate(empty)).toEqual([]);
    expect(await rowsOf('migrations')).toBe(newest);
  });

  it('of a newer schema is refused with its name', async () => {
    const newer = await openTestDatabase();
    const source = await connected(newer.url);
    await source.query(
      `INSERT INTO calls (project_id, id, op_name, trace_id, started_at) VALUES ('a/b', 'c', 'o', 't', now())`,
    );
    await source.query(
      `INSERT INTO migrations (timestamp, name) VALUES (9999999999999, 'Later9999999999999')`,
    );
    const path = join(folder.path, 'newer.skein');
    await withClient(source, (client) => backUp(client, path, { progress: quiet() }));
    await source.destroy();
    await newer.drop();
    await expect(restored(path)).rejects.toThrow('its schema is Later9999999999999');
  });

  it('says how far it is', async () => {
    const lines: string[] = [];
    const path = join(folder.path, 'told.skein');
    await withClient(app.dataSource, (client) =>
      backUp(client, path, { progress: quiet((line) => lines.push(line)) }),
    );
    expect(lines).toContainEqual(
      expect.stringMatching(/^backup calls: \d+ % done, [\d.]+ MiB\/s, about \d+ s left$/),
    );
    expect(lines.at(-1)).toMatch(/: (9\d|100) % done/);
  });
});

it('goes from the database of a running service into a new folder, by the commands', async () => {
  const folder = aFolder();
  const at = (name: string) => join(folder.path, name);
  const server = await startServer({ DATA_DIR: at('data') });
  try {
    await server.post('/call/start', { start: aStart({ id: 'kept' }) });
    const made = run('server/commands/backup.cli.js', { DATA_DIR: at('data') }, [at('b.skein')]);
    expect(await made.exit).toBe(0);
    expect(made.output()).toMatch(/b\.skein: \d+ rows of \d+ tables/);
    const refused = run('server/commands/restore.cli.js', { DATA_DIR: at('data') }, [
      at('b.skein'),
    ]);
    expect(await refused.exit).toBe(1);
    expect(refused.output()).toContain('the database is not empty');
  } finally {
    await server.stop();
  }
  const restored = run('server/commands/restore.cli.js', { DATA_DIR: at('new') }, [at('b.skein')]);
  expect(await restored.exit).toBe(0);
  const again = await startServer({ DATA_DIR: at('new'), BOOTSTRAP_API_KEY: server.key });
  try {
    const { body } = await again.post('/call/read', { project_id: 'acme/demo', id: 'kept' });
    expect(body.call.id).toBe('kept');
  } finally {
    await again.stop();
  }
  expect(existsSync(at('b.skein'))).toBe(true);
  folder.remove();
});
