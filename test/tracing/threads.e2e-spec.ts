import { randomUUID } from 'node:crypto';
import http from 'node:http';
import pg from 'pg';
import { Database } from '../../src/platform/database/database.js';
import { threadsQuery } from '../../src/tracing/threads/threads.query.js';
import { ThreadsRefresher } from '../../src/tracing/threads/threads.refresher.js';
import { unlessCluster } from '../support/database.js';
import { basic, linesOf, useApp } from '../support/app.js';
import { refreshed } from '../support/refreshed.js';
import { until } from '../support/until.js';

const PATH = '/threads/stream_query';

describe('threads/stream_query', () => {
  const app = useApp({ DATABASE_POOL_SIZE: '8' });

  let projects = 0;
  const aProject = () => `acme/threads${projects++}`;

  /** Stores turns. Each gives its id, its thread and the members that differ from a turn of two seconds. */
  async function store(project_id: string, ...turns: Record<string, unknown>[]): Promise<void> {
    const batch = turns.flatMap(({ ended_at = '2026-01-05T00:00:02Z', ...turn }) => [
      {
        mode: 'start',
        req: {
          start: {
            project_id,
            op_name: 'chat',
            started_at: '2026-01-05T00:00:00Z',
            turn_id: turn['id'],
            ...turn,
          },
        },
      },
      ...(ended_at
        ? [{ mode: 'end', req: { end: { project_id, id: turn['id'], ended_at } } }]
        : []),
    ]);
    const { body } = await app.post('/call/upsert_batch', { batch });
    expect(body.res.filter((answer: any) => answer.error)).toEqual([]);
  }
  const threads = async (project_id: string, query: object = {}) =>
    linesOf(await app.post(PATH, { project_id, ...query }));
  const refresh = () => refreshed(app, 'threads');

  it('counts the turns of the sources that the filter names, stored and not', async () => {
    const project_id = aProject();
    const of = (source: string) => ({ attributes: { 'skein.source': source } });
    const until = (second: number) => ({ ended_at: `2026-01-05T00:00:${second}Z` });
    await store(
      project_id,
      { id: 'p1', thread_id: 'served' },
      { id: 'p2', thread_id: 'served', ...until(10) },
      { id: 'm1', thread_id: 'mixed' },
      { id: 'm2', thread_id: 'mixed', ...of('evaluation'), ...until(30) },
      { id: 'e1', thread_id: 'tried', ...of('evaluation'), ...until(20) },
      { id: 'g1', thread_id: 'played', ...of('playground'), ...until(40) },
    );
    // number of turns, median in seconds, and last turn; the median of p1 and p2 is (2 + 10) / 2
    const served = ['served', 2, 6, 'p2'];
    const expected = {
      production: [served, ['mixed', 1, 2, 'm1']],
      evaluation: [
        ['mixed', 1, 30, 'm2'],
        ['tried', 1, 20, 'e1'],
      ],
      playground: [['played', 1, 40, 'g1']],
      'production,evaluation': [['mixed', 2, 16, 'm2'], ['tried', 1, 20, 'e1'], served],
      'evaluation,playground': [
        ['played', 1, 40, 'g1'],
        ['mixed', 1, 30, 'm2'],
        ['tried', 1, 20, 'e1'],
      ],
      all: [['played', 1, 40, 'g1'], ['mixed', 2, 16, 'm2'], ['tried', 1, 20, 'e1'], served],
    };
    const shown = async (query: object) =>
      (await threads(project_id, query)).map((row) => [
        row.thread_id,
        row.turn_count,
        row.p50_turn_duration_ms / 1000,
        row.last_turn_id,
      ]);
    const sort_by = [{ field: 'p50_turn_duration_ms', direction: 'desc' }];
    for (const isStored of [false, true]) {
      if (isStored) await refresh();
      expect(await shown({})).toEqual(expected.all);
      for (const [name, rows] of Object.entries(expected)) {
        const sources = name === 'all' ? [] : name.split(',');
        expect(await shown({ filter: { sources } })).toEqual(rows);
        const window = { after_datetime: '2026-01-04T00:00:00Z' };
        expect(await shown({ filter: { sources, ...window } })).toEqual(rows);
        const named = { filter: { sources, thread_ids: ['mixed'] } };
        expect(await shown(named)).toEqual(rows.filter(([thread]) => thread === 'mixed'));
        const ordered = rows.toSorted(([, , a], [, , b]) => Number(b) - Number(a));
        const first = await threads(project_id, { filter: { sources }, sort_by, limit: 1 });
        expect(first.map(({ thread_id }) => thread_id)).toEqual([ordered[0]![0]]);
        const after = [first[0].p50_turn_duration_ms, first[0].thread_id];
        expect(await shown({ filter: { sources }, sort_by, after })).toEqual(ordered.slice(1));
      }
    }
    const bad = await app.post(PATH, { project_id, filter: { sources: ['tests'] } });
    expect([bad.status, JSON.stringify(bad.body)]).toEqual([
      400,
      expect.stringContaining('filter.sources'),
    ]);
  });

  it('answers one line a thread, times with microseconds, durations in milliseconds', async () => {
    const project_id = aProject();
    await store(
      project_id,
      { id: 'a', thread_id: 'x' },
      {
        id: 'b',
        thread_id: 'x',
        started_at: '2026-01-05T00:00:01.000001',
        ended_at: '2026-01-05T00:01:01.500001Z',
      },
      { id: 'c', thread_id: 'y', started_at: '2026-01-04T00:00:00+02:00', ended_at: null },
    );
    const answer = await app.post(PATH, { project_id });
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toMatch('application/jsonl');
    expect(linesOf(answer)).toEqual([
      {
        thread_id: 'x',
        turn_count: 2,
        start_time: '2026-01-05T00:00:00.000000Z',
        last_updated: '2026-01-05T00:01:01.500001Z',
        first_turn_id: 'a',
        last_turn_id: 'b',
        p50_turn_duration_ms: 31250,
        p99_turn_duration_ms: 59915,
      },
      {
        thread_id: 'y',
        turn_count: 1,
        start_time: '2026-01-03T22:00:00.000000Z',
        last_updated: '2026-01-03T22:00:00.000000Z',
        first_turn_id: 'c',
        last_turn_id: 'c',
        p50_turn_duration_ms: null,
        p99_turn_duration_ms: null,
      },
    ]);
  });

  it('answers 200 with an empty body when there is no thread', async () => {
    const answer = await app.post(
      PATH,
      { project_id: aProject() },
      { headers: { accept: 'application/x-ndjson' } },
    );
    expect(answer).toMatchObject({ status: 200, text: '' });
    expect(answer.headers.get('content-type')).toMatch('application/x-ndjson');
  });

  it.each([
    ['a nested call', { id: 'n', turn_id: 't', thread_id: 'x' }],
    ['a call without a turn', { id: 'n', turn_id: null, thread_id: 'x' }],
    ['a turn without a thread', { id: 'n', thread_id: null }],
    ['a turn of the thread ""', { id: 'n', thread_id: '' }],
  ])('does not count %s', async (_, call) => {
    const project_id = aProject();
    await store(project_id, call);
    expect(await threads(project_id)).toEqual([]);
    await refresh();
    expect(await threads(project_id)).toEqual([]);
  });

  it('does not count an end whose start is still on its way, and counts it from then on', async () => {
    const project_id = aProject();
    await app.post('/call/end', { end: { project_id, id: 't', ended_at: '2026-01-09T00:00:00Z' } });
    expect(await threads(project_id)).toEqual([]);
    await store(project_id, { id: 't', thread_id: 'x', ended_at: null });
    expect(await threads(project_id)).toMatchObject([
      { thread_id: 'x', last_updated: '2026-01-09T00:00:00.000000Z' },
    ]);
  });

  // Each change follows a refresh, so that it becomes visible only through its own mark.
  it.each<[string, (project_id: string) => Promise<unknown>, object[]]>([
    [
      'a turn that moves to another thread',
      (project_id) => store(project_id, { id: 'b', thread_id: 'y' }),
      [
        { thread_id: 'x', turn_count: 1 },
        { thread_id: 'y', turn_count: 1 },
      ],
    ],
    [
      'a call that is no turn any more',
      (project_id) => store(project_id, { id: 'b', thread_id: 'x', turn_id: 'a' }),
      [{ thread_id: 'x', turn_count: 1 }],
    ],
    [
      'a turn that leaves its thread',
      (project_id) => store(project_id, { id: 'b', thread_id: null }),
      [{ thread_id: 'x', turn_count: 1 }],
    ],
    [
      'a deleted turn',
      (project_id) => app.post('/calls/delete', { project_id, call_ids: ['b'] }),
      [{ thread_id: 'x', turn_count: 1 }],
    ],
    [
      'a thread whose turns are all deleted',
      (project_id) => app.post('/calls/delete', { project_id, call_ids: ['a', 'b'] }),
      [],
    ],
    [
      'a turn removed by SQL',
      (project_id) =>
        app.query(`DELETE FROM calls WHERE project_id = $1 AND id = 'b'`, [project_id]),
      [{ thread_id: 'x', turn_count: 1 }],
    ],
    [
      'an end that arrives days later',
      (project_id) =>
        app.post('/call/end', { end: { project_id, id: 'a', ended_at: '2026-01-09T00:00:00Z' } }),
      [{ thread_id: 'x', last_updated: '2026-01-09T00:00:00.000000Z', last_turn_id: 'a' }],
    ],
    [
      'a start that is repeated with another time',
      (project_id) => store(project_id, { id: 'b', thread_id: 'x', started_at: '2026-01-01' }),
      [{ thread_id: 'x', start_time: '2026-01-01T00:00:00.000000Z', first_turn_id: 'b' }],
    ],
  ])('sees %s at once', async (_, change, expected) => {
    const project_id = aProject();
    await store(project_id, { id: 'a', thread_id: 'x' }, { id: 'b', thread_id: 'x' });
    await refresh();
    await change(project_id);
    const sort_by = [{ field: 'thread_id', direction: 'asc' }];
    expect(await threads(project_id, { sort_by })).toMatchObject(expected);
    expect(await threads(project_id, { sort_by })).toHaveLength(expected.length);
    await refresh();
    expect(await threads(project_id, { sort_by })).toMatchObject(expected);
    expect(await threads(project_id, { sort_by })).toHaveLength(expected.length);
  });

  it('marks no thread for a change that no statistic shows', async () => {
    const project_id = aProject();
    await store(project_id, { id: 'a', thread_id: 'x' });
    await refresh();
    await app.post('/call/update', { project_id, call_id: 'a', display_name: 'renamed' });
    await store(project_id, { id: 'a', thread_id: 'x' }, { id: 'n', thread_id: 'x', turn_id: 'a' });
    expect(
      await app.query('SELECT * FROM thread_marks WHERE project_id = $1', [project_id]),
    ).toEqual([]);
  });

  it('keeps projects apart', async () => {
    const [mine, theirs] = [aProject(), aProject()];
    await store(mine, { id: 'a', thread_id: 'x' });
    await store(theirs, { id: 'a', thread_id: 'x' }, { id: 'b', thread_id: 'x' });
    expect(await threads(mine)).toMatchObject([{ turn_count: 1 }]);
    await refresh();
    expect(await threads(mine)).toMatchObject([{ turn_count: 1 }]);
  });

  it('takes null and empty for absent, and names of fields it does not know', async () => {
    const project_id = aProject();
    await store(project_id, { id: 'a', thread_id: 'x' });
    const nothing = { after_datetime: null, before_datetime: null, thread_ids: [], else: 1 };
    for (const query of [
      { filter: null, sort_by: null, limit: null, offset: null, else: 1 },
      { filter: nothing, sort_by: [], offset: 0 },
      { filter: { ...nothing, thread_ids: null } },
    ])
      expect(await threads(project_id, query)).toHaveLength(1);
    expect(await threads(project_id, { limit: 0, offset: 0 })).toEqual([]);
    expect(await threads(project_id, { limit: 2147483647, offset: 2147483647 })).toEqual([]);
  });

  it('bounds the start of turns strictly', async () => {
    const project_id = aProject();
    await store(project_id, { id: 'a', thread_id: 'x', started_at: '2026-01-05T00:00:00.000001Z' });
    const inside = (filter: object) => threads(project_id, { filter });
    expect(await inside({ after_datetime: '2026-01-05T00:00:00.000001Z' })).toEqual([]);
    expect(await inside({ before_datetime: '2026-01-05T00:00:00.000001' })).toEqual([]);
    expect(
      await inside({
        after_datetime: '2026-01-05T00:00:00Z',
        before_datetime: '2026-01-05T01:00:00.000002+01:00',
        thread_ids: ['x'],
      }),
    ).toHaveLength(1);
  });

  it.each<[object, string]>([
    [{ project_id: 'nothing' }, 'project_id'],
    [{ sort_by: [{ field: 'first_turn_id', direction: 'asc' }] }, 'sort_by[0].field'],
    [{ sort_by: [{ field: 'thread_id', direction: 'up' }] }, 'sort_by[0].direction'],
    [{ sort_by: 'thread_id' }, 'sort_by'],
    [{ limit: -1 }, 'limit'],
    [{ offset: 1.5 }, 'offset'],
    [{ filter: 7 }, 'filter'],
    [{ filter: { after_datetime: '2026-02-30' } }, 'filter.after_datetime'],
    [{ filter: { before_datetime: 7 } }, 'filter.before_datetime'],
    [{ filter: { thread_ids: 'x' } }, 'filter.thread_ids'],
    [{ filter: { thread_ids: ['x', 'a\0'] } }, 'filter.thread_ids'],
    [{ filter: { thread_ids: Array(1001).fill('x') } }, 'filter.thread_ids'],
  ])('refuses %j', async (body, path) => {
    const answer = await app.post(PATH, { project_id: 'acme/demo', ...body });
    expect(answer).toMatchObject({ status: 400, body: { code: 'invalid_request' } });
    expect(answer.body.errors[0].path.startsWith(path)).toBe(true);
  });

  it('asks for a key that reaches the project, of any role of tracing', async () => {
    const body = { project_id: 'acme/demo' };
    expect(await app.post(PATH, body, { key: 'wrong' })).toMatchObject({ status: 401 });
    const elsewhere = await app.aKey('reader', ['other/*']);
    expect(await app.post(PATH, body, { key: elsewhere })).toMatchObject({ status: 403 });
    const trainer = await app.aKey('trainer');
    expect(await app.post(PATH, body, { key: trainer })).toMatchObject({ status: 403 });
    const reader = await app.aKey('reader', ['acme/demo']);
    expect(await app.post(PATH, body, { key: reader })).toMatchObject({ status: 200 });
  });

  it('takes 200 concurrent writers of one thread without a deadlock or a lost turn', async () => {
    const project_id = aProject();
    const write = async (writer: number) => {
      for (let i = 0; i < 2; i++) {
        const id = `${writer}-${i}`;
        const start = {
          project_id,
          id,
          turn_id: id,
          thread_id: 'hot',
          op_name: 'chat',
          started_at: '2026-01-05',
        };
        expect(await app.post('/call/start', { start })).toMatchObject({ status: 200 });
        const end = { project_id, id, ended_at: '2026-01-05T00:00:01Z' };
        expect(await app.post('/call/end', { end })).toMatchObject({ status: 200 });
      }
    };
    await Promise.all([
      ...Array.from({ length: 200 }, (_, writer) => write(writer)),
      refresh(),
      refresh(),
    ]);
    const expected = [{ turn_count: 400, p50_turn_duration_ms: 1000 }];
    expect(await threads(project_id)).toMatchObject(expected);
    await refresh();
    expect(await threads(project_id)).toMatchObject(expected);
    const [{ deadlocks }] = await app.query(
      'SELECT deadlocks::int FROM pg_stat_database WHERE datname = current_database()',
    );
    expect(deadlocks).toBe(0);
  });

  it('refreshes every marked thread of every project, in as many statements as it takes', async () => {
    const many = [aProject(), aProject()];
    for (const project_id of many) await storeBySql(project_id, 6000);
    await refresh();
    expect(await app.query('SELECT * FROM thread_marks')).toEqual([]);
    for (const project_id of many)
      expect(
        await app.query('SELECT count(*)::int FROM threads WHERE project_id = $1', [project_id]),
      ).toEqual([{ count: 6000 }]);
  });

  it('leaves a project alone that another process refreshes', async () => {
    const project_id = aProject();
    const other = new pg.Client(app.databaseUrl);
    await other.connect();
    await other.query('SELECT pg_advisory_lock(1953002084, hashtext($1))', [project_id]);
    await store(project_id, { id: 'a', thread_id: 'x' });
    await app.app.get(ThreadsRefresher).refresh();
    expect(
      await app.query('SELECT thread_id FROM thread_marks WHERE project_id = $1', [project_id]),
    ).not.toEqual([]);
    expect(await threads(project_id)).toMatchObject([{ turn_count: 1 }]);
    await other.end();
  });

  unlessCluster('its trigger would have to be made on each shard').it(
    'goes on to the other projects when one cannot be refreshed',
    async () => {
      const [bad, good] = [aProject(), aProject()].toSorted() as [string, string];
      await app.query(`
      CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no threads here'; END $$;
      CREATE TRIGGER refuse BEFORE INSERT ON threads FOR EACH ROW WHEN (NEW.project_id = '${bad}') EXECUTE FUNCTION refuse()`);
      for (const project_id of [bad, good]) await store(project_id, { id: 'a', thread_id: 'x' });
      const marked = async () =>
        (
          await app.query(
            'SELECT DISTINCT project_id FROM thread_marks WHERE project_id = ANY($1)',
            [[bad, good]],
          )
        ).map(({ project_id }) => project_id);
      const failure = () =>
        app.app
          .get(ThreadsRefresher)
          .refresh()
          .then(() => '', String);
      await until(async () => (await failure()).includes('no threads here')); // the service's own refresh may have the mark at the moment
      await until(async () => !(await marked()).includes(good));
      expect(await marked()).toEqual([bad]);
      expect(await threads(bad)).toMatchObject([{ turn_count: 1 }]);
      await app.query('DROP FUNCTION refuse CASCADE');
      await refresh();
      expect(await marked()).toEqual([]);
    },
  );

  unlessCluster('plans are those of one node').it(
    'looks for each turn by its thread, also in a project loaded since the last ANALYZE',
    async () => {
      for (let n = 0; n < 20; n++) await storeBySql(`acme/small${n}`, 10);
      await app.query('ANALYZE calls, threads, thread_marks');
      const project_id = aProject();
      await storeBySql(project_id, 5000);
      const { text, values } = threadsQuery({ project_id }).toQuery();
      const plan = await app.query(`EXPLAIN (ANALYZE, TIMING off) ${text}`, values);
      const lines = plan.map((line) => line['QUERY PLAN'] as string);
      const looks = lines.filter((line) => line.includes(' on calls c'));
      expect(looks.length).toBeGreaterThan(0);
      for (const look of looks) expect(look).toContain('calls_turns_idx');
      expect(lines.filter((line) => line.includes('Rows Removed by Filter'))).toEqual([]);
    },
  );

  unlessCluster('plans are those of one node').it(
    'reads the threads of a page in order, however many the project has',
    async () => {
      const project_id = aProject();
      await app.query(
        `INSERT INTO threads (project_id, thread_id, turn_count, start_time, last_updated, first_turn_id, last_turn_id)
       SELECT $1, n, 1, now(), now() + n * interval '1 s', n, n FROM generate_series(1, 20000) n`,
        [project_id],
      );
      await app.query('VACUUM ANALYZE threads');
      const { text, values } = threadsQuery({ project_id, limit: 100 }).toQuery();
      const plan = await app.query(`EXPLAIN ${text}`, values);
      const reads = plan.map((line) => line['QUERY PLAN'] as string);
      expect(reads.filter((line) => line.includes(' on threads t'))).toEqual([
        expect.stringContaining('Index Scan using threads_updated_idx'),
      ]);
    },
  );

  describe('as a stream', () => {
    const project_id = 'acme/long';
    const THREADS = 100_000;
    beforeAll(async () => {
      await storeBySql(project_id, THREADS);
    });

    const pool = () => app.app.get(Database).pool;
    /** Opens a request and returns the response before its body has arrived. */
    const open = (body: object) =>
      new Promise<http.IncomingMessage>((resolve, reject) => {
        const headers = { authorization: basic(app.key), 'content-type': 'application/json' };
        const request = http.request(app.url + PATH, { method: 'POST', headers }, resolve);
        request.on('error', reject);
        request.end(JSON.stringify(body));
      });
    const backend = async (condition: string) => {
      for (;;) {
        const [found] = await app.query(
          `SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND query LIKE '%row_to_json%'
           AND query NOT LIKE '%pg_stat_activity%' AND ${condition}`,
        );
        if (found) return found.pid as number;
      }
    };

    it('sends 100,000 threads with flat memory', async () => {
      const response = await open({ project_id });
      globalThis.gc?.();
      const before = process.memoryUsage();
      let most = 0;
      let lines = 0;
      for await (const chunk of response) {
        for (const byte of chunk as Buffer) if (byte === 10) lines++;
        const { heapUsed, external } = process.memoryUsage();
        most = Math.max(most, heapUsed + external - before.heapUsed - before.external);
      }
      expect(lines).toBe(THREADS);
      // The answer has 25 MB of text. Its objects would take more than the limit if they were held at once.
      expect(most).toBeLessThan(100 * 1024 * 1024);
    });

    it('frees the connections of 30 readers who leave early', async () => {
      const readers = Array.from({ length: 30 }, async () => {
        const response = await open({ project_id });
        await new Promise((resolve) => response.once('data', resolve));
        response.destroy();
      });
      await Promise.all(readers);
      expect(await threads(project_id, { limit: 1 })).toHaveLength(1);
      while (pool().totalCount > pool().idleCount) await new Promise(setImmediate);
      expect(app.app.get(Database).waitingCount).toBe(0);
    });

    it('answers 503 when the database fails before the first row', async () => {
      const locker = new pg.Client(app.databaseUrl);
      await locker.connect();
      await locker.query('BEGIN; LOCK TABLE threads');
      const answering = app.post(PATH, { project_id: `acme/${randomUUID()}` });
      await app.query('SELECT pg_terminate_backend($1::int)', [
        await backend(`wait_event_type = 'Lock'`),
      ]);
      const answer = await answering;
      await locker.end();
      expect(answer).toMatchObject({ status: 503, body: { code: 'unavailable' } });
      expect(answer.headers.get('retry-after')).toBe('1');
    });

    it('cuts the connection when the database fails after the first row', async () => {
      const response = await open({ project_id });
      expect(response.statusCode).toBe(200);
      await new Promise((resolve) => response.once('readable', resolve));
      await app.query('SELECT pg_terminate_backend($1::int)', [await backend(`state <> 'idle'`)]);
      const read = (async () => {
        for await (const _ of response);
      })();
      await expect(read).rejects.toThrow('aborted');
    });
  });

  /** Stores threads with one turn each by SQL; the triggers mark them. */
  async function storeBySql(project_id: string, count: number): Promise<void> {
    await app.query(
      `INSERT INTO calls (project_id, id, turn_id, thread_id, op_name, started_at)
       SELECT $1, n::text, n::text, 'thread ' || n, 'chat', '2026-01-05'::timestamptz + n * interval '1 s'
       FROM generate_series(1, $2::int) AS n`,
      [project_id, count],
    );
  }
});
