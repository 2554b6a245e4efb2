import { createHash } from 'node:crypto';
import type { CallsQueryDto } from '../../src/tracing/calls/calls.dto.js';
import { linesOf, startApp, type TestApp } from '../support/app.js';
import { unlessCluster } from '../support/database.js';
import { callRows } from '../../src/tracing/calls/read/call-lists.query.js';

const PROJECT = 'acme/lists';
/** More calls than are read in order (`NEAR` in src/tracing/calls/read/call-lists.query.ts). */
const CALLS = 2600;

interface Row {
  id: string;
  op_name: string;
  parent_id: string | null;
  svc_user_id: string;
  thread_id: string | null;
  turn_id: string | null;
  started_at: string;
  ended_at: string | null;
  exception: string | null;
  inputs: { n: number; word: string };
  summary: { svc: { status: string; latency_ms: number | null } };
}

let app: TestApp;
/** All calls, oldest first. */
let rows: Row[];
beforeAll(async () => {
  app = await startApp();
  await app.query(
    `INSERT INTO calls (project_id, id, op_name, trace_id, parent_id, thread_id, turn_id, user_id, started_at, ended_at, exception,
       has_descendant_error, attributes, inputs)
     SELECT project, md5(n::text), CASE WHEN n % 900 = 5 THEN 'rare:1' WHEN n % 700 = 9 THEN 'rare:2' ELSE 'op' || n % 7 || ':1' END, 't' || n / 5,
       CASE WHEN n % 5 > 0 THEN md5((n - n % 5)::text) END, CASE WHEN n % 4 = 0 THEN 'thread-' || n / 400 END,
       CASE WHEN n % 4 = 0 THEN md5(n::text) END, CASE WHEN n % 800 = 3 THEN 'rarely' ELSE 'user' || n % 3 END,
       '2026-01-01'::timestamptz + n / 3 * interval '1 second',
       CASE WHEN n % 850 > 0 THEN '2026-01-01'::timestamptz + n / 3 * interval '1 second' + n * 7919 % 1000 * interval '1 ms' END,
       CASE WHEN n % 1200 = 1 THEN 'no' END, n % 1000 = 7, '{}', json_build_object('n', n % 7, 'word', CASE WHEN n % 700 = 9 THEN 'rare' ELSE 'frequent' END)
     FROM generate_series(0, $1 - 1) n, unnest(ARRAY['acme/lists', 'acme/beside']) project`,
    [CALLS],
  );
  rows = linesOf(await app.post('/calls/stream_query', { project_id: PROJECT }));
});
afterAll(() => app.close());

const hasStatus = (...names: string[]) => ({
  query: {
    $expr: {
      $in: [{ $getField: 'summary.svc.status' }, names.map((name) => ({ $literal: name }))],
    },
  },
});
const contains = (word: string) => ({
  query: {
    $expr: { $contains: { input: { $getField: 'inputs.word' }, substr: { $literal: word } } },
  },
});
const statusOf = ({ summary }: Row) => summary.svc.status;

/** Queries, each with a function that is true for the expected calls. */
const QUESTIONS: Record<string, [Partial<CallsQueryDto>, (row: Row) => boolean]> = {
  roots: [{ filter: { trace_roots_only: true } }, ({ parent_id }) => parent_id === null],
  'an op': [{ filter: { op_names: ['op3:1'] } }, ({ op_name }) => op_name === 'op3:1'],
  'all versions of a rare op': [
    { filter: { op_names: ['rare:*'] } },
    ({ op_name }) => op_name.startsWith('rare:'),
  ],
  'a rare op and another': [
    { filter: { op_names: ['rare:1', 'op:*'] } },
    ({ op_name }) => op_name === 'rare:1',
  ],
  'a user': [{ filter: { svc_user_ids: ['user1'] } }, ({ svc_user_id }) => svc_user_id === 'user1'],
  'a rare user': [
    { filter: { svc_user_ids: ['rarely'] } },
    ({ svc_user_id }) => svc_user_id === 'rarely',
  ],
  'a thread': [
    { filter: { thread_ids: ['thread-2'] } },
    ({ thread_id }) => thread_id === 'thread-2',
  ],
  errors: [hasStatus('error'), (row) => statusOf(row) === 'error'],
  'running calls': [hasStatus('running'), (row) => statusOf(row) === 'running'],
  'calls with failed descendants': [
    hasStatus('descendant_error'),
    (row) => statusOf(row) === 'descendant_error',
  ],
  successes: [hasStatus('success'), (row) => statusOf(row) === 'success'],
  'what failed or runs': [
    hasStatus('error', 'running'),
    (row) => ['error', 'running'].includes(statusOf(row)),
  ],
  'what has not failed': [
    {
      query: {
        $expr: { $not: [{ $eq: [{ $getField: 'summary.svc.status' }, { $literal: 'error' }] }] },
      },
    },
    (row) => statusOf(row) !== 'error',
  ],
  'a number in a document': [
    { query: { $expr: { $eq: [{ $getField: 'inputs.n' }, { $literal: 3 }] } } },
    ({ inputs }) => inputs.n === 3,
  ],
  'a rare word in a document': [contains('rare'), ({ inputs }) => inputs.word === 'rare'],
  'a rare word of a user': [
    { ...contains('rare'), filter: { svc_user_ids: ['user0', 'user1'] } },
    ({ inputs, svc_user_id }) => inputs.word === 'rare' && /[01]$/.test(svc_user_id),
  ],
  'a word within a time': [
    {
      query: {
        $expr: {
          $and: [
            contains('frequent').query.$expr,
            { $gte: [{ $getField: 'started_at' }, { $literal: '2026-01-01T00:01:00Z' }] },
          ],
        },
      },
    },
    ({ inputs, started_at }) => inputs.word === 'frequent' && started_at >= '2026-01-01T00:01:00',
  ],
  nothing: [{ filter: { op_names: ['nothing'] } }, () => false],
};

const idsOf = (found: Row[]) => found.map(({ id }) => id);
async function ask(more: object): Promise<string[]> {
  const answer = await app.post('/calls/stream_query', { project_id: PROJECT, ...more });
  if (answer.status !== 200) throw new Error(answer.text);
  return idsOf(linesOf(answer));
}

describe.each(Object.entries(QUESTIONS))('%s', (_, [question, isMeant]) => {
  const ordered = (direction: 'asc' | 'desc') => {
    const found = rows.filter(isMeant);
    if (direction === 'asc') return idsOf(found);
    // ties are sorted by id, ascending
    return idsOf(
      found.toSorted((a, b) =>
        a.started_at === b.started_at
          ? a.id < b.id
            ? -1
            : 1
          : a.started_at < b.started_at
            ? 1
            : -1,
      ),
    );
  };

  it('are the same, page by page, whether they are near or far', async () => {
    for (const direction of ['asc', 'desc'] as const) {
      const all = ordered(direction);
      const sort_by = [{ field: 'started_at', direction }];
      expect(await ask({ ...question, sort_by })).toEqual(all);
      for (const [limit, offset] of [
        [0, 0],
        [1, 0],
        [3, 1],
        [50, 0],
        [50, 40],
        [1900, 90],
        [2000, 1000],
      ] as const)
        expect(await ask({ ...question, sort_by, limit, offset })).toEqual(
          all.slice(offset, offset + limit),
        );
      const at = rows.find(({ id }) => id === all[2])?.started_at;
      if (at)
        expect(await ask({ ...question, sort_by, limit: 5, after: [at, all[2]] })).toEqual(
          all.slice(3, 8),
        );
    }
  });

  it('are as many as are counted', async () => {
    const { filter, query } = question;
    const answer = await app.post('/calls/query_stats', { project_id: PROJECT, filter, query });
    expect(answer.body).toEqual({ count: ordered('asc').length, has_more: false });
  });
});

it.each([
  ['calls_op_idx', { filter: { op_names: ['rare:1'] } }],
  ['calls_user_idx', { filter: { svc_user_ids: ['rarely'] } }],
  ['calls_thread_idx', { filter: { thread_ids: ['thread-2'] } }],
  ['calls_turn_idx', { filter: { turn_ids: [createHash('md5').update('8').digest('hex')] } }],
  ['calls_failed_idx', hasStatus('error')],
  ['calls_failed_idx', hasStatus('descendant_error')],
  ['calls_running_idx', hasStatus('running')],
  [
    'calls_root_latency_idx',
    {
      filter: { trace_roots_only: true },
      sort_by: [{ field: 'summary.svc.latency_ms', direction: 'desc' }],
    },
  ],
] as [string, Partial<CallsQueryDto>][])('%s serves %j', async (index, question) => {
  expect(await planOf(question)).toContain(index);
});

unlessCluster('a shard of so few calls has another plan').it(
  'calls_roots_idx alone serves what a page far behind skips',
  async () => {
    const plan = await planOf({ filter: { trace_roots_only: true }, offset: 2000 });
    expect(plan).toContain('Index Only Scan using calls_roots_idx');
  },
);

async function planOf(question: Partial<CallsQueryDto>): Promise<string> {
  const sort_by = [{ field: 'started_at', direction: 'desc' as const }];
  const { text, values } = callRows({
    project_id: PROJECT,
    sort_by,
    limit: 50,
    ...question,
  }).query.toQuery();
  await app.query('ANALYZE calls');
  const plan = await app.query(`EXPLAIN ${text}`, values);
  return plan.map((line) => line['QUERY PLAN']).join('\n');
}

describe('a search inside documents that takes longer than a read may', () => {
  let hasty: TestApp;
  beforeAll(async () => {
    hasty = await startApp({ READ_TIMEOUT_SECONDS: '1' });
    await hasty.query(
      `INSERT INTO calls (project_id, id, op_name, trace_id, started_at, inputs)
       SELECT 'acme/long', '1', 'op', 't', '2026-01-01', json_build_object('word', repeat('frequent ', 10000))`,
    );
    // copies of a stored text are not compressed again, which takes a slow machine a minute
    await hasty.query(
      `INSERT INTO calls (project_id, id, op_name, trace_id, started_at, inputs)
       SELECT project_id, n::text, op_name, trace_id, started_at + n * interval '1 second', inputs
       FROM calls, generate_series(2, 9000) n`,
    );
  });
  afterAll(() => hasty.close());

  const search = (substr: string, more: object) =>
    hasty.post('/calls/stream_query', {
      project_id: 'acme/long',
      query: {
        $expr: {
          $contains: { input: { $getField: 'inputs.word' }, substr: { $literal: substr }, ...more },
        },
      },
      sort_by: [{ field: 'started_at', direction: 'desc' }],
    });

  it('says how far it came, and which index serves it', async () => {
    const long = `no ${'frequent '.repeat(40)}`;
    const { status, body } = await search(long, {});
    expect({ status, ...body }).toMatchObject({ status: 413, code: 'too_large' });
    expect(body.detail).toMatch(
      /^the search looked at (\d+ calls, as far as those that started at 2026-01-01T0\d:\d\d:\d\d\.000000Z|fewer than 2000 calls), and took longer than its limit: .*; an index of kind substring on inputs\.word \(\/index\/create\) serves it$/,
    );
  });

  it('says when no index would help', async () => {
    const { body } = await search('fr eq '.repeat(40), { case_insensitive: true });
    expect(body.detail).toMatch(/; no index serves this condition$/);
  });
});
