import fc from 'fast-check';
import pg from 'pg';
import { ThreadsRefresher } from '../../src/tracing/threads/threads.refresher.js';
import { threadsQuery } from '../../src/tracing/threads/threads.query.js';
import { linesOf, useApp } from '../support/app.js';
import { refreshed } from '../support/refreshed.js';
import {
  STORED_CALLS,
  type StoredCall,
  type ThreadsRequest,
  threadsOf,
} from '../support/threads-oracle.js';

/** Few ids, threads and times, so that collisions are likely: repeated starts, moves, ties. */
const TURN_IDS = Array.from({ length: 12 }, (_, i) => `t${i}`);
const THREAD_IDS = ['a', 'B', 'ab', 'é', '\u{1f9f5}', '\ufffd'];
const instant = fc
  .record({
    ms: fc.constantFrom(-86_400_000, 0, 1, 1000, 60_000, 86_400_000),
    micros: fc.constantFrom('', '001', '999'),
  })
  .map(({ ms, micros }) =>
    new Date(Date.UTC(2026, 0, 5) + ms).toISOString().replace('Z', `${micros}Z`),
  );
/** Times without microseconds, which the oracle's `Date.parse` reads exactly. */
const bound = fc.option(
  fc
    .constantFrom(-86_400_000, 0, 1000, 86_400_000)
    .map((ms) => new Date(Date.UTC(2026, 0, 5) + ms).toISOString()),
);
const turnId = fc.constantFrom(...TURN_IDS);

const start = fc
  .record({
    id: turnId,
    thread_id: fc.option(fc.constantFrom('', ...THREAD_IDS), { freq: 8 }),
    isTurn: fc.integer({ min: 0, max: 9 }).map((n) => n > 0),
    started_at: instant,
  })
  .map(({ isTurn, ...call }) => ({
    mode: 'start' as const,
    call: { ...call, op_name: 'chat', turn_id: isTurn ? call.id : 'other' },
  }));
const end = fc
  .record({ id: turnId, ended_at: instant })
  .map((call) => ({ mode: 'end' as const, call }));
const batch = fc.array(fc.oneof({ weight: 3, arbitrary: start }, { weight: 2, arbitrary: end }), {
  minLength: 1,
  maxLength: 8,
});

const request: fc.Arbitrary<ThreadsRequest> = fc.record(
  {
    filter: fc.record(
      {
        after_datetime: bound,
        before_datetime: bound,
        thread_ids: fc.option(fc.subarray([...THREAD_IDS, 'nowhere'])),
      },
      { requiredKeys: [] },
    ),
    sort_by: fc.array(
      fc.record({
        field: fc.constantFrom(
          'thread_id',
          'turn_count',
          'start_time',
          'last_updated',
          'p50_turn_duration_ms',
          'p99_turn_duration_ms',
        ),
        direction: fc.constantFrom('asc' as const, 'desc' as const),
      }),
      { maxLength: 3 },
    ),
    limit: fc.integer({ min: 0, max: 7 }),
    offset: fc.integer({ min: 0, max: 5 }),
  },
  { requiredKeys: [] },
);

const step = fc.oneof(
  { weight: 6, arbitrary: batch.map((items) => ({ kind: 'write' as const, items })) },
  {
    weight: 1,
    arbitrary: fc
      .uniqueArray(turnId, { minLength: 1, maxLength: 3 })
      .map((ids) => ({ kind: 'delete' as const, ids })),
  },
  { weight: 1, arbitrary: turnId.map((id) => ({ kind: 'rename' as const, id })) },
  { weight: 2, arbitrary: fc.constant({ kind: 'refresh' as const }) },
  { weight: 3, arbitrary: request.map((query) => ({ kind: 'read' as const, query })) },
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

describe('thread statistics', () => {
  const app = useApp();

  let projects = 0;
  const aProject = () => `acme/p${projects++}`;
  const calls = (project_id: string) => app.query<StoredCall>(STORED_CALLS, [project_id]);

  async function run(project_id: string, { ...given }: Step): Promise<void> {
    if (given.kind === 'write') {
      const { status, body } = await app.post('/call/upsert_batch', {
        batch: given.items.map(({ mode, call }) => ({
          mode,
          req: { [mode]: { project_id, ...call } },
        })),
      });
      expect(status).toBe(200);
      expect(body.res.filter((answer: any) => answer.error)).toEqual([]);
    } else if (given.kind === 'delete')
      await app.post('/calls/delete', { project_id, call_ids: given.ids });
    else if (given.kind === 'rename')
      await app.post('/call/update', { project_id, call_id: given.id, display_name: 'renamed' });
    else if (given.kind === 'refresh') await app.app.get(ThreadsRefresher).refresh();
    else await expectExact(project_id, given.query);
  }

  async function expectExact(project_id: string, query: ThreadsRequest): Promise<void> {
    const answer = await app.post('/threads/stream_query', { project_id, ...query });
    expect(answer.status).toBe(200);
    expect(linesOf(answer)).toEqual(threadsOf(await calls(project_id), query));
  }

  it('equal those of a look at every call, whatever arrives in whatever order', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 1, maxLength: 25 }),
        fc.array(request, { minLength: 3, maxLength: 3 }),
        async (steps, queries) => {
          const project_id = aProject();
          for (const each of steps) await run(project_id, each);
          for (const query of queries) await expectExact(project_id, query);
          await app.app.get(ThreadsRefresher).refresh();
          for (const query of queries) await expectExact(project_id, query);
        },
      ),
      { numRuns: 60 },
    );
  });

  it('are exact in every snapshot while writers and refreshers race', async () => {
    const project_id = aProject();
    const clients = Array.from({ length: 4 }, () => new pg.Client(app.databaseUrl));
    await Promise.all(clients.map((client) => client.connect()));
    const written = new AbortController();
    const read = async (client: pg.Client) => {
      let reads = 0;
      while (!written.signal.aborted) {
        await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
        const [query] = fc.sample(request, 1);
        const { text, values } = threadsQuery({ project_id, ...query }).toQuery();
        const answered = await client.query<{ json: string }>(text, values);
        const stored = await client.query<StoredCall>(STORED_CALLS, [project_id]);
        await client.query('COMMIT');
        expect(answered.rows.map(({ json }) => JSON.parse(json))).toEqual(
          threadsOf(stored.rows, query),
        );
        reads++;
      }
      return reads;
    };
    const refresh = async () => {
      while (!written.signal.aborted) await app.app.get(ThreadsRefresher).refresh();
    };
    const write = async () => {
      for (const each of fc.sample(step, 60)) if (each.kind !== 'read') await run(project_id, each);
    };
    const [reads] = await Promise.all([
      Promise.all(clients.map(read)),
      Promise.all([refresh(), refresh(), refresh()]),
      Promise.all(Array.from({ length: 8 }, write)).finally(() => written.abort()),
    ]);
    expect(Math.min(...reads)).toBeGreaterThan(0);
    await Promise.all(clients.map((client) => client.end()));
    await refreshed(app, 'threads');
    for (const query of fc.sample(request, 50)) await expectExact(project_id, query);
  });
});
