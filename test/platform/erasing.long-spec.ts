import fc from 'fast-check';
import { ExportsKeeper } from '../../src/doors/export/exports.keeper.js';
import { ThreadsRefresher } from '../../src/tracing/threads/threads.refresher.js';
import { linesOf, useApp } from '../support/app.js';
import { byWork } from '../support/background.js';
import { openTestDatabase } from '../support/database.js';
import { anEnd, aStart, at } from '../support/factories.js';
import { OBJECT, plant, refOf } from '../support/planted.js';
import { refreshed } from '../support/refreshed.js';
import { tablesHolding } from '../support/tables.js';
import { startServer } from '../support/server.js';
import { STORED_CALLS, type StoredCall, threadsOf } from '../support/threads-oracle.js';
import { until } from '../support/until.js';
import { DataSource } from 'typeorm';
import { dataSourceOptions } from '../../ormconfig.js';

/** Tables without `project_id`, and what they hold. */
const WITHOUT_PROJECT = {
  api_keys: 'keys with their scopes, which stay',
  console_sessions: 'sessions of people',
  gateway_uses: 'requests and costs of a key, and no name of a model',
  memberships: 'roles of people, which stay',
  migrations: 'names of migrations',
  project_uses: 'counts of a day, and the name of the project',
  quotas: 'numbers, and the name of the project',
  retention_clock: 'a time',
  sql_files: 'hashes of the functions of the schema',
  users: 'people, who stay',
};

describe('erasing', () => {
  const app = useApp();

  let projects = 0;
  const aProject = () => `acme/e${projects++}`;

  async function done(path: string, body: unknown, headers: Record<string, string> = {}) {
    const answer = await app.post(path, body, { headers });
    expect([answer.status, answer.text]).toEqual([200, expect.anything()]);
    return answer.body;
  }

  async function aCall(project_id: string, id: string, fields: object = {}): Promise<void> {
    await done('/call/start', { start: aStart({ project_id, id, trace_id: 'trace', ...fields }) });
  }
  const aRemark = (project_id: string, ref: string) =>
    done('/feedback/create', {
      project_id,
      svc_ref: refOf(project_id, ref),
      feedback_type: 'custom',
      payload: {},
    });

  const idsIn = async (project: string): Promise<string[]> =>
    (await app.query(`SELECT id FROM calls WHERE project_id = $1 ORDER BY id`, [project])).map(
      ({ id }: { id: string }) => id,
    );
  const remarksIn = async (project: string): Promise<string[]> =>
    (await app.query(`SELECT ref FROM feedback WHERE project_id = $1 ORDER BY ref`, [project])).map(
      ({ ref }: { ref: string }) => ref,
    );

  const tablesWith = (text: string) => tablesHolding(app, text);

  const refreshAll = () => refreshed(app, 'threads', 'slots', 'texts', 'trials', 'projects');

  describe('POST /calls/purge', () => {
    it('erases calls by id with their descendants, the deleted ones too, and the feedback on them', async () => {
      const project_id = aProject();
      await aCall(project_id, 'root');
      await aCall(project_id, 'child', { parent_id: 'root' });
      await aCall(project_id, 'grandchild', { parent_id: 'child' });
      await aCall(project_id, 'elsewhere', { parent_id: 'root', trace_id: 'another' });
      await aCall(project_id, 'other');
      await done('/call/end', { end: anEnd({ project_id, id: 'ended only' }) });
      for (const ref of [
        'call/root',
        'call/grandchild/attr/x',
        'call/root-2',
        'call/root0',
        'call/other',
      ])
        await aRemark(project_id, ref);
      await done('/calls/delete', { project_id, call_ids: ['child'] });
      const body = { project_id, call_ids: ['root', 'ended only', 'unknown'] };
      expect(await done('/calls/purge', body)).toEqual({
        erasing_id: expect.any(String),
        is_done: true,
        num_erased: { calls: 4, feedback: 2 },
      });
      expect(await idsIn(project_id)).toEqual(['elsewhere', 'other']);
      expect(await remarksIn(project_id)).toEqual([
        refOf(project_id, 'call/other'),
        refOf(project_id, 'call/root-2'),
        refOf(project_id, 'call/root0'),
      ]);
    });

    it('erases the calls that a filter and a query match, and no others', async () => {
      const [project_id, neighbour] = [aProject(), aProject()];
      for (const project of [project_id, neighbour])
        for (let i = 0; i < 6; i++)
          await aCall(project, `c${i}`, { op_name: `op${i % 2}`, inputs: { n: i } });
      await done('/calls/delete', { project_id, call_ids: ['c3'] });
      const query = { $expr: { $gt: [{ $getField: 'inputs.n' }, { $literal: 2 }] } };
      const body = { project_id, filter: { op_names: ['op1'] }, query };
      expect((await done('/calls/purge', body)).num_erased).toEqual({ calls: 2 });
      expect(await idsIn(project_id)).toEqual(['c0', 'c1', 'c2', 'c4']);
      expect((await done('/calls/purge', { project_id, filter: {} })).num_erased).toEqual({
        calls: 4,
      });
      expect(await idsIn(neighbour)).toHaveLength(6);
    });

    it('erases the calls that started before an instant, and ends alone by their end', async () => {
      const project_id = aProject();
      for (const second of [0, 10, 20])
        await aCall(project_id, `s${second}`, { started_at: at(second) });
      for (const second of [1, 11])
        await done('/call/end', {
          end: anEnd({ project_id, id: `e${second}`, ended_at: at(second) }),
        });
      const body = { project_id, before: at(10) };
      expect((await done('/calls/purge', body)).num_erased).toEqual({ calls: 2 });
      expect(await idsIn(project_id)).toEqual(['e11', 's10', 's20']);
    });

    it('erases more than one batch of calls, of feedback and of bytes', async () => {
      const project_id = aProject();
      await app.query(
        `INSERT INTO calls (project_id, id, op_name, trace_id, started_at, attributes, inputs)
         SELECT $1, 'c' || n, 'op', 't', now(), '{}', '{}' FROM generate_series(1, 1200) n`,
        [project_id],
      );
      await app.query(
        `INSERT INTO calls (project_id, id, op_name, trace_id, started_at, attributes, inputs)
         SELECT $1, 'large' || n, 'op', 't', now(), '{}', to_json((SELECT string_agg(md5(random()::text), '')
           FROM generate_series(1, 100000) WHERE n > 0)) FROM generate_series(1, 4) n`,
        [project_id],
      );
      await app.query(
        `INSERT INTO feedback (project_id, id, feedback_type, ref, user_id, payload)
         SELECT $1, 'f' || n, 'custom', $2, 'ada', '{}' FROM generate_series(1, 2500) n`,
        [project_id, refOf(project_id, 'call/c7')],
      );
      const headers = { 'idempotency-key': 'batches' };
      const purge = () => done('/calls/purge', { project_id, filter: {} }, headers);
      await until(async () => (await purge()).is_done);
      expect((await purge()).num_erased).toEqual({ calls: 1204, feedback: 2500 });
      expect(await idsIn(project_id)).toEqual([]);
    });

    it.each([
      [{}],
      [{ call_ids: ['a'], before: at(0) }],
      [{ filter: {}, before: at(0) }],
      [{ call_ids: ['a'], query: { $expr: { $literal: true } } }],
    ])('refuses %j: not exactly one way to say which', async (fields) => {
      const { status, body } = await app.post('/calls/purge', {
        project_id: aProject(),
        ...fields,
      });
      expect([status, body.code]).toEqual([400, 'invalid_request']);
      expect(body.detail).toContain('exactly one');
    });

    it('refuses a query that names no field before anything is written down', async () => {
      const project_id = aProject();
      const query = { $expr: { $eq: [{ $getField: 'nothing' }, { $literal: 1 }] } };
      expect((await app.post('/calls/purge', { project_id, query })).status).toBe(400);
      expect(await app.query('SELECT FROM erasings WHERE project_id = $1', [project_id])).toEqual(
        [],
      );
    });

    it('answers the same erasing to the same Idempotency-Key, and erases nothing twice', async () => {
      const project_id = aProject();
      await aCall(project_id, 'a');
      const body = { project_id, filter: {} };
      const headers = { 'idempotency-key': 'one' };
      const first = await done('/calls/purge', body, headers);
      await aCall(project_id, 'b');
      expect(await done('/calls/purge', body, headers)).toEqual(first);
      expect(await idsIn(project_id)).toEqual(['b']);
    });

    it('leaves nothing of what was asked for when it has ended', async () => {
      const project_id = aProject();
      const query = {
        $expr: { $eq: [{ $getField: 'inputs.mail' }, { $literal: 'eve@secret.example' }] },
      };
      await done('/calls/purge', { project_id, query });
      expect(await tablesWith('eve@secret.example')).toEqual([]);
    });

    it('goes on after a failure, where it was', async () => {
      const project_id = aProject();
      for (let i = 0; i < 3; i++) await aCall(project_id, `c${i}`);
      // an erasing that a process abandoned after its first call
      await app.query(
        `INSERT INTO erasings (project_id, id, kind, request, cursor, counts, key_id, user_name, touched_at)
         VALUES ($1, gen_random_uuid(), 'calls', '{"filter":{}}', '{"after":"c0"}', '{"calls":1}',
           gen_random_uuid(), 'ada', now() - interval '1 hour')`,
        [project_id],
      );
      const erasing = async () =>
        (await app.query(`SELECT * FROM erasings WHERE project_id = $1`, [project_id]))[0];
      await until(async () => (await erasing()).ended_at !== null);
      expect(await idsIn(project_id)).toEqual(['c0']);
      const ended = { counts: { calls: 3 }, request: null, cursor: null };
      expect(await erasing()).toMatchObject(ended);
    });

    it('counts a failure among those of the background, and does not let it stop the others', async () => {
      const project_id = aProject();
      await aCall(project_id, 'c');
      const left = `INSERT INTO erasings (project_id, id, kind, request, counts, key_id, user_name, touched_at)
         VALUES ($1, gen_random_uuid(), $2, '{"filter":{}}', '{}', gen_random_uuid(), 'ada', now() - interval '1 hour')`;
      await app.query(left, ['acme/a-newer-version', 'kind of a newer version']);
      await app.query(left, [project_id, 'calls']);
      const failures = () => byWork(app.url, 'skein_background_runs_total', 'failed');
      await until(async () => ((await failures()).get('erasings') ?? 0) > 0);
      await until(async () => (await idsIn(project_id)).length === 0);
      await app.query(`DELETE FROM erasings WHERE project_id = 'acme/a-newer-version'`);
    });

    it('keeps the statistics of threads exact while others write', async () => {
      const project_id = aProject();
      const turn = fc.record({
        id: fc.constantFrom(...Array.from({ length: 30 }, (_, i) => `t${i}`)),
        thread_id: fc.constantFrom('a', 'b', 'c', 'd'),
        second: fc.integer({ min: 0, max: 1000 }),
      });
      const write = async () => {
        for (const { id, thread_id, second } of fc.sample(turn, 30)) {
          const times = { started_at: at(second), turn_id: id, thread_id };
          await aCall(project_id, id, times);
          if (second % 2)
            await done('/call/end', { end: anEnd({ project_id, id, ended_at: at(second + 7) }) });
        }
      };
      const purge = async () => {
        for (const { id, thread_id, second } of fc.sample(turn, 8)) {
          const which = [
            { call_ids: [id] },
            { filter: { thread_ids: [thread_id] } },
            { before: at(second) },
          ];
          await done('/calls/purge', { project_id, ...which[second % 3] });
        }
      };
      const expectExact = async () => {
        const answer = await app.post('/threads/stream_query', { project_id });
        expect(linesOf(answer)).toEqual(
          threadsOf(await app.query<StoredCall>(STORED_CALLS, [project_id])),
        );
      };
      for (let round = 0; round < 2; round++) {
        await Promise.all([
          write(),
          write(),
          purge(),
          purge(),
          app.app.get(ThreadsRefresher).refresh(),
        ]);
        await expectExact();
        await refreshAll();
        await expectExact();
      }
      await done('/calls/purge', { project_id, filter: {} });
      await refreshAll();
      expect(await app.query('SELECT FROM threads WHERE project_id = $1', [project_id])).toEqual(
        [],
      );
    });
  });

  describe('POST /objs/purge', () => {
    const publish = async (project_id: string, val: unknown): Promise<string> =>
      (await done('/obj/create', { obj: { project_id, object_id: 'o', val } })).digest;
    const versions = (project: string) =>
      app.query(
        `SELECT version_index, is_latest FROM object_versions WHERE project_id = $1 ORDER BY version_index`,
        [project],
      );

    it('erases versions by word, the deleted ones too, with their feedback; the newest left becomes the latest', async () => {
      const project_id = aProject();
      const [first, second, third] = [
        await publish(project_id, 1),
        await publish(project_id, 2),
        await publish(project_id, 3),
      ];
      for (const digest of [first, second]) await aRemark(project_id, `object/o:${digest}`);
      await done('/obj/delete', { project_id, object_id: 'o', digests: [first] });
      const body = { project_id, object_id: 'o', digests: [first, 'latest'] };
      expect((await done('/objs/purge', body)).num_erased).toEqual({
        object_versions: 2,
        feedback: 1,
      });
      expect(await versions(project_id)).toEqual([{ version_index: 1, is_latest: true }]);
      expect(await remarksIn(project_id)).toEqual([refOf(project_id, `object/o:${second}`)]);
      expect(third).not.toBe(second);
    });

    it('keeps feedback on a digest that has another version', async () => {
      const project_id = aProject();
      const digest = await publish(project_id, 1);
      await done('/obj/delete', { project_id, object_id: 'o' });
      await publish(project_id, 1);
      await aRemark(project_id, `object/o:${digest}`);
      await done('/objs/purge', { project_id, object_id: 'o', digests: ['v0'] });
      expect(await remarksIn(project_id)).toHaveLength(1);
      expect(await versions(project_id)).toEqual([{ version_index: 1, is_latest: true }]);
    });

    it('erases all versions without digests, in more than one batch', async () => {
      const project_id = aProject();
      for (let i = 0; i < 25; i++) await publish(project_id, i);
      const body = { project_id, object_id: 'o' };
      expect((await done('/objs/purge', body)).num_erased).toEqual({ object_versions: 25 });
      expect(await versions(project_id)).toEqual([]);
      expect((await app.post('/objs/purge', body)).status).toBe(404);
    });

    it('erases none when one of the words means none', async () => {
      const project_id = aProject();
      await publish(project_id, 1);
      const body = { project_id, object_id: 'o', digests: ['v0', 'v7'] };
      const { status, body: problem } = await app.post('/objs/purge', body);
      expect([status, problem.detail]).toEqual([404, 'there is no object o:v7']);
      expect(await versions(project_id)).toHaveLength(1);
    });
  });

  describe('POST /project/delete', () => {
    it('leaves nothing of a project but the audit, keys and people, and its neighbour as it was', async () => {
      const [own, neighbour] = [await plant(app, aProject()), await plant(app, aProject())];
      const { project: project_id, marker } = own;
      await done(
        '/feedback/create',
        {
          project_id,
          svc_ref: refOf(project_id, 'call/call'),
          feedback_type: 'x',
          payload: { marker },
        },
        { 'idempotency-key': 'keeps the payload' },
      );
      await done('/retention/set', { project_id, calls_days: 30 });
      const before = await contentsOf(neighbour.project);
      const headers = { 'idempotency-key': 'delete' };
      let answer: unknown;
      await until(async () => {
        answer = await done('/project/delete', { project_id }, headers);
        return (answer as { is_done: boolean }).is_done;
      });
      // on a busy machine the first request answers before the end, and the next one erases the rest
      const erased = await app.query<{ what: string; rows: number }>(
        `SELECT what, sum(rows::int)::int AS rows FROM erasings, json_each_text(counts::json) AS e (what, rows)
         WHERE project_id = $1 GROUP BY what`,
        [project_id],
      );
      expect(Object.fromEntries(erased.map(({ what, rows }) => [what, rows]))).toMatchObject({
        calls: 21, // one call waits for its span
        models: 1,
        files: 5, // one file is a medium of Langfuse
        builds: 1,
      });
      await refreshAll();
      expect(await tablesWith(marker)).toEqual([
        'api_keys',
        'audit_events',
        'gateway_uses',
        'users',
      ]);
      app.app.get(ExportsKeeper).look();
      await until(async () => !(await tablesOf(project_id)).includes('exported_files'));
      const left = await tablesOf(project_id); // marks of the last five minutes are not processed yet
      expect(left.filter((name) => name !== 'call_slot_marks')).toEqual([
        'audit_events',
        'erasings',
        'idempotency_keys',
      ]);
      expect(await contentsOf(neighbour.project)).toEqual(before);
      expect(
        (await app.post('/obj/read', { project_id, object_id: OBJECT, digest: 'latest' })).status,
      ).toBe(404);
      expect(await done('/project/delete', { project_id }, headers)).toEqual(answer);
    });

    it('finds its rows in every table, except those that hold no text of a project', async () => {
      const tables = await app.query<{ name: string }>(`
        SELECT c.relname AS name FROM pg_class c WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace
        AND NOT EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'project_id') ORDER BY 1`);
      expect(tables.map(({ name }) => name)).toEqual(Object.keys(WITHOUT_PROJECT));
    });

    /** The rows of one project in all tables except the audit. */
    async function contentsOf(project: string) {
      const { contents } = await import('../support/planted.js');
      return contents(app, project);
    }

    async function tablesOf(project: string): Promise<string[]> {
      const tables = await app.query<{ name: string }>(`
        SELECT c.relname AS name FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'project_id'
        WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace ORDER BY 1`);
      const found: string[] = [];
      for (const { name } of tables)
        if (
          (await app.query(`SELECT FROM "${name}" WHERE project_id = $1 LIMIT 1`, [project]))
            .length > 0
        )
          found.push(name);
      return found;
    }

    it('ends an upload that is under way', async () => {
      const project_id = aProject();
      await app.query(`INSERT INTO uploads (project_id, id) VALUES ($1, gen_random_uuid())`, [
        project_id,
      ]);
      expect((await done('/project/delete', { project_id })).num_erased).toEqual({ uploads: 1 });
    });
  });

  it('runs VACUUM twice after many calls were erased, so that the indexes use their room again', async () => {
    const project_id = aProject();
    await app.query(
      `INSERT INTO calls (project_id, id, op_name, trace_id, started_at, attributes, inputs)
       SELECT $1, n, 'op', 't', now(), '{}', '{}' FROM generate_series(1, 10000) n`,
      [project_id],
    );
    const statistics = async () =>
      (await app.query(`SELECT vacuum_count FROM pg_stat_user_tables WHERE relname = 'calls'`))[0];
    const before = Number((await statistics()).vacuum_count);
    await done('/calls/purge', { project_id, filter: {} });
    const vacuumed = (times: number) =>
      until(async () => Number((await statistics()).vacuum_count) === before + times);
    await vacuumed(1);
    const now = performance.now.bind(performance);
    jest.spyOn(performance, 'now').mockImplementation(() => now() + 10_000); // skips the pause between two vacuums
    await vacuumed(2);
    jest.restoreAllMocks();
    expect(await idsIn(project_id)).toEqual([]);
  });

  it('counts what it has erased in /metrics', async () => {
    const project_id = aProject();
    await aCall(project_id, 'a');
    const count = async () =>
      Number(
        /skein_erased_rows_total\{what="calls",by="request"\} (\d+)/.exec(
          await (await fetch(`${app.url}/metrics`)).text(),
        )?.[1] ?? 0,
      );
    const before = await count();
    await done('/calls/purge', { project_id, call_ids: ['a'] });
    expect(await count()).toBe(before + 1);
  });
});

it('an erasing whose process is killed in the middle is ended by the next one', async () => {
  const database = await openTestDatabase();
  const env = { DATABASE_URL: database.url };
  const source = await new DataSource(dataSourceOptions(database.url)).initialize();
  const project_id = 'acme/killed';
  await source.query(
    `INSERT INTO calls (project_id, id, op_name, trace_id, started_at, attributes, inputs, turn_id, thread_id)
     SELECT $1, 'c' || n, 'op', 't', now(), '{}', json_build_object('text', repeat(md5(n::text), 10)), 'c' || n, 'th' || n % 9
     FROM generate_series(1, 40000) n`,
    [project_id],
  );
  const left = async () =>
    Number(
      (
        await source.query(`SELECT count(*) AS left FROM calls WHERE project_id = $1`, [project_id])
      )[0].left,
    );
  const first = await startServer(env);
  const answer = first.post('/project/delete', { project_id }).catch(() => undefined);
  await until(async () => (await left()) < 40_000);
  await first.stop('SIGKILL');
  await answer;
  const rest = await left();
  expect(rest).toBeGreaterThan(0);
  const second = await startServer({ ...env, BOOTSTRAP_API_KEY: first.key });
  await source.query(`UPDATE erasings SET touched_at = now() - interval '1 minute'`);
  const ended = `SELECT counts FROM erasings WHERE ended_at IS NOT NULL`;
  await until(async () => (await source.query(ended)).length > 0);
  expect(await source.query(ended)).toEqual([{ counts: { calls: 40_000 } }]);
  expect(await left()).toBe(0);
  await until(
    async () =>
      (await source.query('SELECT 1 FROM thread_marks UNION ALL SELECT 1 FROM threads')).length ===
      0,
  );
  await second.stop();
  await source.destroy();
  await database.drop();
});
