import pg from 'pg';
import { makersOfCalls } from '../../src/training/builds/lineage/lineage.query.js';
import type { Recipe } from '../../src/training/builds/recipe/recipe.js';
import { unitsQuery } from '../../src/training/builds/units/units.query.js';
import { childrenMark } from '../../src/tracing/calls/ingest/orphans.query.js';
import type { TurnChange } from '../../src/tracing/calls/ingest/turns.js';
import { turnsQuery, turnsSet } from '../../src/tracing/calls/ingest/turns.query.js';
import {
  threadedTracesQuery,
  turnRootsQuery,
} from '../../src/tracing/calls/ingest/turn-roots.query.js';
import { searchedSpans } from '../../src/doors/weave/agents/search.query.js';
import { agentsQuery, spansQuery } from '../../src/doors/weave/agents/spans.query.js';
import { statsQuery } from '../../src/doors/weave/agents/span-stats.query.js';
import { TimeBuckets } from '../../src/tracing/statistics/time-buckets.js';
import { callRows } from '../../src/tracing/calls/read/call-lists.query.js';
import { tracesQuery } from '../../src/tracing/calls/read/calls.query.js';
import { callsOfHold, heldAmong } from '../../src/tracing/held-parts.query.js';
import { threadsQuery } from '../../src/tracing/threads/threads.query.js';
import { Caller } from '../../src/platform/auth/caller.js';
import { objectsQuery } from '../../src/tracing/objects/objects.query.js';
import { nextJobs } from '../../src/training/jobs/queue.query.js';
import { findOpenJob } from '../../src/training/jobs/training-jobs.query.js';
import { type Sql, sql } from '../../src/platform/query/sql.js';
import { openTestDatabase, type TestDatabase, unlessCluster } from '../support/database.js';

const PROJECT = 'acme/demo';
const MODEL = '00000000-0000-7000-8000-000000000001';
/** Below about 2,000 calls all indexes cost the same, and PostgreSQL may read a whole index for each call. */
const CALLS = 4000;
/** With this many jobs, or models of a few calls, PostgreSQL has chosen to compare each row with every other. */
const JOBS = 800;
/** Numbers of calls that are stored when a kept plan is made. */
const BEFORE = [0, 1000, 5000];
/** Rows that a statement may read or compare per item. Comparing each row with every other takes hundreds. */
const MOST = 25;

interface Node {
  'Actual Rows': number;
  'Actual Loops': number;
  'Rows Removed by Filter'?: number;
  'Rows Removed by Join Filter'?: number;
  Plans?: Node[];
}

/** The rows that all nodes of a plan returned or removed. */
const rowsOf = (node: Node): number =>
  node['Actual Loops'] *
    (node['Actual Rows'] +
      (node['Rows Removed by Filter'] ?? 0) +
      (node['Rows Removed by Join Filter'] ?? 0)) +
  (node.Plans ?? []).reduce((rows, child) => rows + rowsOf(child), 0);

/**
 * The tables were just filled and never analysed. PostgreSQL expects few rows, and may compare each row with every
 * other.
 */
unlessCluster('the coordinator does not see the plans of its shards').describe(
  'the work of a statement grows in proportion to its items',
  () => {
    let database: TestDatabase;
    let client: pg.Client;
    beforeEach(async () => {
      database = await openTestDatabase();
      client = new pg.Client(database.url);
      await client.connect();
      await client.query('BEGIN'); // autovacuum does not see rows of an open transaction
    });
    afterEach(async () => {
      await client.end();
      await database.drop();
    });

    async function rowsPerItem(items: number, query: Sql): Promise<number> {
      const { text, values } = query.toQuery();
      const { rows } = await client.query(`EXPLAIN (ANALYZE, FORMAT JSON) ${text}`, values);
      return rowsOf(rows[0]['QUERY PLAN'][0].Plan) / items;
    }
    const storeCalls = (count: number, columns: string, values: string) =>
      client.query(
        `INSERT INTO calls (project_id, id, op_name, started_at, ${columns})
         SELECT '${PROJECT}', 'c' || i, 'op', now() + i * interval '1 s', ${values} FROM generate_series(1, $1::int) i`,
        [count],
      );
    const storeModels = (count: number) =>
      client.query(
        `INSERT INTO models (project_id, id, name, base_model, user_id)
         SELECT '${PROJECT}', ('00000000-0000-7000-8000-' || lpad(i::text, 12, '0'))::uuid, 'm' || i, 'base', 'ada'
         FROM generate_series(1, $1::int) i`,
        [count],
      );
    const storeJobs = (status: string) =>
      client.query(
        `WITH jobs AS (
           INSERT INTO training_jobs (project_id, id, model_id, batch_id, status, user_id, created_at)
           SELECT '${PROJECT}', ('00000000-0000-7000-9000-' || lpad(i::text, 12, '0'))::uuid, '${MODEL}', gen_random_uuid(),
             ${status}, 'ada', now() + i * interval '1 s' FROM generate_series(1, ${JOBS}) i
           RETURNING project_id, batch_id, model_id)
         INSERT INTO trajectory_batches (project_id, id, model_id, step, num_groups, num_trajectories, body_bytes, body_sha256,
           payload_bytes, payload_sha256)
         SELECT project_id, batch_id, model_id, 0, 1, 1, 1, '', 1, '' FROM jobs`,
      );

    it('finds what is held among some of many calls, of which a thread holds others', async () => {
      await storeCalls(
        20_000,
        'trace_id, thread_id',
        `'t' || i / 2, CASE WHEN i > 19900 THEN 'thread' END`,
      );
      const holds = [{ traceId: null, threadId: 'thread' }];
      const ids = Array.from({ length: 500 }, (_, i) => `c${i}`);
      expect(await rowsPerItem(500, heldAmong(PROJECT, ids, holds))).toBeLessThan(MOST);
      const isHit = callsOfHold(PROJECT, sql`c.op_name = 'other'`)(holds[0]!);
      expect(await rowsPerItem(100, isHit)).toBeLessThan(MOST);
    });

    it('finds the roots of many traces whose spans name threads', async () => {
      await storeCalls(
        CALLS,
        'trace_id, parent_id, thread_id, otel_dump',
        `'t' || i / 2, CASE WHEN i % 2 = 1 THEN 'c' || i - 1 END, CASE WHEN i % 2 = 1 THEN 'thread' END, '{}'`,
      );
      const traces = Array.from({ length: CALLS / 2 }, (_, i) => `t${i}`);
      expect(await rowsPerItem(CALLS, turnRootsQuery(PROJECT, traces))).toBeLessThan(MOST);
      expect(await rowsPerItem(CALLS, turnsQuery(PROJECT, traces, CALLS))).toBeLessThan(MOST);
      const changes = Array.from({ length: CALLS / 2 }, (_, i) => ({
        before: { id: `c${2 * i + 1}`, thread_id: 'thread', turn_id: null, thread_source: null },
        thread_id: 'thread',
        turn_id: `c${2 * i + 1}`,
        thread_source: '',
      }));
      const set = turnsSet(PROJECT, changes as TurnChange[]);
      expect(await rowsPerItem(CALLS / 2, set)).toBeLessThan(MOST);
      const parents = Array.from({ length: CALLS / 2 }, (_, i) => `c${2 * i}`);
      const marked = childrenMark(PROJECT, parents);
      expect(await rowsPerItem(CALLS / 2, marked)).toBeLessThan(MOST);
    });

    it('finds the traces of a batch among the calls of a table that was never analysed', async () => {
      await storeCalls(CALLS, 'trace_id', `'t' || i`);
      const ids = Array.from({ length: 100 }, (_, i) => (i % 2 ? `c${i}` : `new${i}`));
      expect(await rowsPerItem(ids.length, tracesQuery(PROJECT, ids))).toBeLessThan(MOST);
    });

    it('finds the turns of threads that came after statistics of calls without any', async () => {
      await client.query(
        `INSERT INTO calls (project_id, id, trace_id, op_name, started_at)
         SELECT 'acme/before', 'c' || i, 't' || i, 'op', now() FROM generate_series(1, 50000) i`,
      );
      await client.query('ANALYZE calls');
      await storeCalls(
        CALLS,
        'trace_id, thread_id, turn_id',
        `'t' || i, 'thread' || i % ${CALLS / 10}, 'c' || i`,
      );
      expect(await rowsPerItem(CALLS, threadsQuery({ project_id: PROJECT }))).toBeLessThan(MOST);
    });

    const oneRoot = { project_id: PROJECT, filter: { trace_roots_only: true }, limit: 1000 };
    const USAGE = `'[{"llm_id":"m","prompt_tokens":3,"completion_tokens":2,"requests":1}]'`;
    const totalsRows = (items: number) =>
      rowsPerItem(items, callRows({ ...oneRoot, include_trace_totals: true }).query);

    it('adds up a trace once for its many roots', async () => {
      await storeCalls(CALLS, 'trace_id, usage', `'t', CASE WHEN i > 1000 THEN ${USAGE}::json END`);
      expect(await totalsRows(CALLS)).toBeLessThan(4 * MOST);
    });

    it('adds up a chain of calls that tell of the same response', async () => {
      await storeCalls(
        CALLS,
        'trace_id, parent_id, response_id, usage',
        `'t', CASE WHEN i > 1 THEN 'c' || i - 1 END, 'same', CASE WHEN i > 1 THEN ${USAGE}::json END`,
      );
      // for each call the first twenty calls of the response are checked, as itself and below another call
      expect(await totalsRows(CALLS)).toBeLessThan(10 * MOST);
    });

    it('finds a page of spans by an attribute that many have', async () => {
      await storeCalls(
        CALLS * 10,
        'trace_id, operation, attributes',
        `'t' || i, 'chat', '{"a":"b"}'`,
      );
      await client.query('ANALYZE calls');
      const query = { $expr: { $eq: [{ $getField: 'custom_attrs_string.a' }, { $literal: 'b' }] } };
      const page = spansQuery(
        { project_id: PROJECT, query, limit: 100 },
        { project_id: PROJECT },
        null,
      );
      expect(await rowsPerItem(2000, page)).toBeLessThan(MOST / 2);
    });

    it('adds up one agent of many by the spans below its own', async () => {
      await storeCalls(
        CALLS,
        'trace_id, parent_id, operation, agent_name, usage',
        `'t' || i / 4, CASE WHEN i % 4 > 0 THEN 'c' || i - i % 4 END, 'chat', CASE WHEN i % 4 = 0 THEN 'agent' || i / 4 % 100 END, ${USAGE}`,
      );
      const one = {
        project_id: PROJECT,
        agent_name: 'agent7',
        sources: [],
        hasVersions: false,
        limit: 1,
        offset: 0,
      };
      expect(await rowsPerItem(CALLS / 100, agentsQuery(one))).toBeLessThan(MOST);
    });

    it('finds the spans of the largest of many groups', async () => {
      await storeCalls(CALLS, 'trace_id, operation', `'t' || i, 'chat'`);
      const asked = {
        project_id: PROJECT,
        start: '2020-01-01T00:00:00Z',
        group_by: [{ key: 'span_id' }],
        group_limit: 1000,
      };
      const window = { since: asked.start, until: '2100-01-01T00:00:00Z' };
      const buckets = new TimeBuckets(window, [new Date(asked.start)]);
      expect(await rowsPerItem(CALLS, statsQuery(asked, buckets, null))).toBeLessThan(MOST);
    });

    it('searches the messages of the newest spans, whatever their model is', async () => {
      await storeCalls(
        10 * CALLS,
        'trace_id, operation, attributes, inputs',
        `'t' || i, 'chat', '{"gen_ai.request.model":"a"}', '{}'`,
      );
      await client.query('ANALYZE calls');
      const asked = { project_id: PROJECT, query: 'x', request_model: 'b' };
      expect(await rowsPerItem(100, searchedSpans(asked, 100))).toBeLessThan(MOST);
    });

    it('finds the first turns of many threads', async () => {
      await storeCalls(CALLS, 'trace_id, thread_id, turn_id', `'t' || i, 'thread' || i, 'c' || i`);
      const select = { unit: 'thread', since: null, until: null, limit: CALLS };
      const query = unitsQuery({
        projectId: PROJECT,
        recipe: { select } as Recipe,
        condition: sql`TRUE`,
        untrained: null,
      });
      expect(await rowsPerItem(CALLS, query)).toBeLessThan(MOST);
    });

    it('finds the next of many jobs of a model of which as many have ended', async () => {
      await storeModels(1);
      await storeJobs(`CASE WHEN i <= ${JOBS / 2} THEN 'cancelled' ELSE 'queued' END`);
      const trainer = new Caller(
        {
          id: MODEL,
          userName: 'ada',
          grants: [{ role: 'trainer', scopes: ['acme/*'] }],
          expiresAt: null,
          by: 'key',
          person: null,
        },
        { challenge: 'Bearer', grants: async () => null },
      );
      expect(await rowsPerItem(JOBS, nextJobs(trainer, [], ['rl']))).toBeLessThan(MOST);
    });

    it('finds the job of a body among many jobs of a model', async () => {
      await storeModels(1);
      await storeJobs(`'queued'`);
      const model = { projectId: PROJECT, id: MODEL };
      expect(await rowsPerItem(JOBS, findOpenJob(model, Buffer.alloc(32)))).toBeLessThan(MOST);
    });

    it('finds versions of an object by many tags', async () => {
      const versions = 1000;
      await client.query(
        `INSERT INTO object_versions (project_id, object_id, version_index, digest, created_at, is_latest, kind, size_bytes, val)
         SELECT '${PROJECT}', 'prompt', i, 'digest' || i, now(), false, 'object', 2, '{}' FROM generate_series(1, $1::int) i`,
        [versions],
      );
      await client.query(
        `INSERT INTO object_tags (project_id, object_id, version_index, tag)
         SELECT '${PROJECT}', 'prompt', i, 'tag' || i || '-' || k FROM generate_series(1, $1::int) i, generate_series(1, 20) k`,
        [versions],
      );
      const tags = Array.from({ length: 1000 }, (_, i) => `tag${i + 1}-1`);
      const query = objectsQuery({ project_id: PROJECT, filter: { tags } });
      expect(await rowsPerItem(versions, query)).toBeLessThan(MOST);
    });

    it('finds the checkpoints that made many calls among many models', async () => {
      await storeModels(JOBS);
      await storeCalls(JOBS, 'trace_id, inputs', `'t' || i, '{"model":"other:step1"}'`);
      const calls = Array.from({ length: JOBS }, (_, i) => `c${i + 1}`);
      expect(await rowsPerItem(JOBS, makersOfCalls(PROJECT, calls))).toBeLessThan(MOST);
    });

    /** A connection keeps its plans, and makes the first ones for small or empty tables. */
    describe('plans that are kept', () => {
      const store = (name: string, count: number) =>
        client.query(
          `INSERT INTO calls (project_id, id, trace_id, parent_id, op_name, started_at)
         SELECT '${PROJECT}', $1 || n, $1 || n, 'p', 'op', now() FROM generate_series(1, $2) n`,
          [name, count],
        );
      const allReads = async () => {
        const { rows } = await client.query(
          `SELECT seq_tup_read + idx_tup_fetch AS reads FROM pg_stat_xact_user_tables WHERE relname = 'calls'`,
        );
        return Number(rows[0].reads);
      };

      /** The number of calls that 100 look-ups read with a plan made for `before` calls. */
      async function readsOf(
        before: number,
        look: (id: string) => Promise<unknown>,
      ): Promise<number> {
        await store('early', before);
        for (let i = 0; i < 10; i++) await look(`early${i}`);
        await store('c', 1000);
        const reads = await allReads();
        for (let i = 1; i <= 100; i++) await look(`c${i}`);
        return (await allReads()) - reads;
      }

      it.each(BEFORE)('find the trace of a call by its id (made for %d calls)', async (before) => {
        const reads = await readsOf(before, (id) =>
          client.query(`SELECT skein_traces('${PROJECT}', ARRAY[$1], ARRAY[$1], ARRAY['new'])`, [
            id,
          ]),
        );
        expect(reads).toBe(100);
      });

      it.each(BEFORE)(
        'read no call of a trace in which no span names a thread (made for %d calls)',
        async (before) => {
          const reads = await readsOf(before, (id) =>
            client.query(threadedTracesQuery(PROJECT, [id]).toQuery()),
          );
          expect(reads).toBe(0);
        },
      );
    });
  },
);
