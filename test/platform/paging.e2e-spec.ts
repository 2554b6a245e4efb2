import fc from 'fast-check';
import { callRows } from '../../src/tracing/calls/read/call-lists.query.js';
import { objectsQuery } from '../../src/tracing/objects/objects.query.js';
import type { CallsQueryDto } from '../../src/tracing/calls/calls.dto.js';
import type { ThreadsFilterDto } from '../../src/tracing/threads/threads.dto.js';
import { ThreadsRefresher } from '../../src/tracing/threads/threads.refresher.js';
import { threadsQuery } from '../../src/tracing/threads/threads.query.js';
import type { ListPosition } from '../../src/platform/query/keyset.js';
import type { Sort } from '../../src/platform/query/columns.js';
import type { Sql } from '../../src/platform/query/sql.js';
import { unlessCluster } from '../support/database.js';
import { linesOf, useApp } from '../support/app.js';
import { STORED_CALLS, type StoredCall, threadsOf } from '../support/threads-oracle.js';

const app = useApp();

let projects = 0;
const aProject = () => `acme/p${projects++}`;

type Row = Record<string, any>;
interface List {
  path: string;
  project_id: string;
  sorts: Sort[];
  /** The sorts and the tie-breakers: the fields of the values in `after`. */
  order: Sort[];
  filter?: object;
}

async function read(list: List, page: object = {}): Promise<Row[]> {
  const { path, project_id, sorts, filter } = list;
  const answer = await app.post(path, { project_id, filter, sort_by: sorts, ...page });
  if (answer.status !== 200) throw new Error(answer.text);
  return path === '/objs/query' ? answer.body.objs : linesOf(answer);
}

const valueIn = (row: Row, field: string) =>
  field.split('.').reduce<any>((value, step) => value?.[step], row) ?? null;
/** The position as a client makes it after `JSON.parse` of the row. */
const positionOf = ({ order }: List, row: Row): ListPosition =>
  order.map(({ field }) => {
    const value = valueIn(row, field);
    return typeof value === 'object' && value !== null ? JSON.stringify(value) : value;
  });

/** Reads all pages in turn. `between` runs before each page but the first. */
async function walked(
  list: List,
  limit: number,
  between: (read: Row[]) => Promise<void> = async () => {},
): Promise<Row[]> {
  const rows = await read(list, { limit });
  for (let size = rows.length; size === limit;) {
    await between(rows);
    const page = await read(list, { limit, after: positionOf(list, rows.at(-1)!) });
    size = page.length;
    rows.push(...page);
    if (rows.length > 1000) throw new Error('pages repeat');
  }
  return rows;
}

const direction = fc.constantFrom('asc' as const, 'desc' as const);
const sortsOf = (fields: readonly string[], maxLength = 3): fc.Arbitrary<Sort[]> =>
  fc.array(fc.record({ field: fc.constantFrom(...fields), direction }), { maxLength });
const limit = fc.integer({ min: 1, max: 7 });

/** JSON texts in sort order. Each group is a tie. Null and missing values come last. */
const RANKED = [
  ['-5e-3'],
  ['0', '-0', '0.00'],
  ['0.1', '0.10', '"0.1"', '1e-1'],
  ['0.10000000000000001'],
  ['1', '1.0', '1e0', '"1.00"'],
  ['9007199254740992'],
  ['9007199254740993', '9007199254740993.0'],
  ['12345678901234567890'],
  ['12345678901234567891', '"12345678901234567891"'],
  ['""', `"${'9'.repeat(401)}"`],
  ['" 1"'],
  ['"B"'],
  ['[1,"x"]'],
  ['"a"'],
  ['"a\\u0000b"', '"a\\ud800b"', '"a\\ufffdb"'],
  ['false', '"false"'],
  ['true'],
  ['{"a":1.5}'],
  ['"\\ue000"'],
  ['"\\ud83d\\ude00"'],
];
const rankOf = new Map(RANKED.flatMap((group, rank) => group.map((text) => [text, rank])));
const jsonText = fc.option(fc.constantFrom(...RANKED.flat(), 'null'), { freq: 8 });

const aCall = fc.record({
  id: fc.string({
    unit: fc.constantFrom('a', 'B', 'é', '\u{1f600}', '0'),
    minLength: 1,
    maxLength: 6,
  }),
  v: jsonText,
  w: jsonText,
  started_at: fc.constantFrom<string>(
    '2026-01-01T00:00:00.000001Z',
    '2026-01-01T00:00:00.000002Z',
    '2026-01-02',
  ),
  seconds: fc.option(fc.constantFrom(0, 1, 1.000333, 0.1)),
  display_name: fc.option(fc.constantFrom('', 'b', 'B', '1')),
  svc_run_step: fc.option(fc.constantFrom(0, 9, 10)),
});
type Call = typeof aCall extends fc.Arbitrary<infer T> ? T : never;

const CALL_FIELDS = [
  'id',
  'started_at',
  'ended_at',
  'display_name',
  'svc_run_step',
  'summary.svc.latency_ms',
  'summary.svc.status',
  'inputs.v',
  'inputs.w',
];

const SLOWEST: Sort = { field: 'summary.svc.latency_ms', direction: 'desc' };

function itemsOf(project_id: string, { id, v, w, started_at, seconds, ...more }: Call): string[] {
  const members = Object.entries({ v, w }).flatMap(([name, text]) =>
    text === null ? [] : [`"${name}":${text}`],
  );
  const start = JSON.stringify({ project_id, id, op_name: 'op', started_at, ...more });
  const ended_at = new Date(Date.parse(started_at) + 1000 * (seconds ?? 0)).toISOString();
  const end = { mode: 'end', req: { end: { project_id, id, ended_at } } };
  return [
    `{"mode":"start","req":{"start":${start.slice(0, -1)},"inputs":{${members.join(',')}}}}}`,
    ...(seconds === null ? [] : [JSON.stringify(end)]),
  ];
}

async function store(project_id: string, calls: Call[]): Promise<void> {
  const items = calls.flatMap((call) => itemsOf(project_id, call));
  const { body } = await app.post('/call/upsert_batch', `{"batch":[${items.join(',')}]}`);
  expect(body.res.filter((answer: any) => answer.error)).toEqual([]);
}

/** A list in an order that ends with `ties`. Without sorts it begins with `usual`. */
function aList(path: string, project_id: string, sorts: Sort[]): List {
  const [usual, ties] = USUAL[path]!;
  const given = sorts.length > 0 ? sorts : [usual];
  const missing = ties.filter((field) => given.every((sort) => sort.field !== field));
  const order = [...given, ...missing.map((field) => ({ field, direction: 'asc' as const }))];
  return { path, project_id, sorts, order };
}
const USUAL: Record<string, [Sort, string[]]> = {
  '/calls/stream_query': [{ field: 'started_at', direction: 'asc' }, ['id']],
  '/objs/query': [{ field: 'created_at', direction: 'asc' }, ['version_index', 'object_id']],
  '/threads/stream_query': [{ field: 'last_updated', direction: 'desc' }, ['thread_id']],
};
const callsList = (project_id: string, sorts: Sort[]) =>
  aList('/calls/stream_query', project_id, sorts);

/** The rank of the first text in `RANKED`. */
const TEXTS = rankOf.get('""')!;

/** Compares rows by every sort key: null comes last, and inside JSON texts come after numbers. */
function inOrder(order: Sort[], rankIn?: (row: Row, field: string) => number | null | undefined) {
  return (a: Row, b: Row): number => {
    for (const { field, direction } of order) {
      const rank = rankIn?.(a, field);
      const [x, y] =
        rank === undefined ? [valueIn(a, field), valueIn(b, field)] : [rank, rankIn!(b, field)];
      if (x === null || y === null) {
        if (x !== y) return x === null ? 1 : -1;
      } else if (rank !== undefined && x >= TEXTS !== y >= TEXTS) return x - y;
      else {
        const found =
          typeof x === 'string' ? Buffer.compare(Buffer.from(x), Buffer.from(y)) : x - y;
        if (found !== 0) return direction === 'asc' ? found : -found;
      }
    }
    return 0;
  };
}

describe('pages of calls', () => {
  it('are together the list, whatever it is sorted by, while rows come and go before them', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(aCall, { minLength: 1, maxLength: 25, selector: ({ id }) => id }),
        fc.oneof(
          { weight: 4, arbitrary: sortsOf(CALL_FIELDS) },
          { weight: 1, arbitrary: sortsOf(CALL_FIELDS, 2).map((more) => [SLOWEST, ...more]) },
        ),
        limit,
        async (calls, sorts, size) => {
          const project_id = aProject();
          await store(project_id, calls);
          const sent = new Map(calls.map((call) => [call.id, call]));
          const list = { ...callsList(project_id, sorts), filter: { trace_roots_only: true } };
          const order = inOrder(list.order, ({ id }, field) => {
            if (!field.startsWith('inputs.')) return undefined;
            return rankOf.get(sent.get(id)![field.slice(7) as 'v' | 'w']!) ?? null;
          });
          const all = await read(list);
          const ids = all.map(({ id }) => id);
          expect(ids).toEqual(all.toSorted(order).map(({ id }) => id));
          const rows = await walked(list, size, async (sofar) => {
            const [last, copied] = [sofar.at(-1)!, sofar[Math.floor(sofar.length / 2)]!];
            await app.post('/calls/delete', { project_id, call_ids: [last.id] });
            const copy = { ...sent.get(copied.id)!, id: `0${copied.id}${sent.size}` };
            sent.set(copy.id, copy);
            if (order({ ...copied, id: copy.id }, last) < 0) await store(project_id, [copy]);
          });
          expect(rows.map(({ id }) => id)).toEqual(ids);
        },
      ),
      { numRuns: 25 },
    );
  });

  it('go on behind a row that has been purged', async () => {
    const project_id = aProject();
    const calls = ['1.0', '1', '1e0', '"1.00"', '0.10', '"x"'].map((v, i) => ({ id: `${i}`, v }));
    const rest = {
      w: null,
      started_at: '2026-01-01',
      seconds: null,
      display_name: null,
      svc_run_step: null,
    };
    for (const direction of ['asc', 'desc'] as const) {
      await store(
        project_id,
        calls.map((call) => ({ ...rest, ...call })),
      );
      const list = callsList(project_id, [{ field: 'inputs.v', direction }]);
      const rows = await walked(list, 1, async (sofar) => {
        await app.query('DELETE FROM calls WHERE project_id = $1 AND id = $2', [
          project_id,
          sofar.at(-1)!.id,
        ]);
      });
      expect(rows.map(({ id }) => id).join('')).toBe(direction === 'asc' ? '401235' : '012345');
    }
  });

  it('take numbers as text, with all their digits', async () => {
    const project_id = aProject();
    const digits = ['12345678901234567890', '12345678901234567891', '12345678901234567892'];
    const rest = {
      w: null,
      started_at: '2026-01-01',
      seconds: null,
      display_name: null,
      svc_run_step: null,
    };
    await store(
      project_id,
      digits.map((v) => ({ ...rest, id: v, v })),
    );
    const list = callsList(project_id, [{ field: 'inputs.v', direction: 'asc' }]);
    const after = [digits[1]!, 'none'];
    expect((await read(list, { after })).map(({ id }) => id)).toEqual([digits[2]]);
    const answer = await app.post('/calls/query', {
      project_id,
      sort_by: list.sorts,
      after,
      include_costs: true,
    });
    expect(answer.body.calls.map(({ id }: any) => id)).toEqual([digits[2]]);
  });

  const INVALID: [string, object, string][] = [
    ['after', { after: [] }, 'must have the 2 values of "started_at", "id"'],
    ['after', { after: ['2026-01-01', 'a', 'b'] }, 'must have the 2 values of "started_at", "id"'],
    ['after', { after: 'a' }, 'must be an array'],
    ['after', { after: Array(35).fill(1) }, 'must contain no more than 34 elements'],
    ['after', { after: ['2026-01-01', 'a'], offset: 1 }, 'must not be given together with offset'],
    ['after[0]', { after: [['x'], 'a'] }, 'must be a string, a finite number, a boolean or null'],
    ['after[0]', { after: ['12', 'a'] }, 'must be a date-time'],
    ['after[0]', { after: [12, 'a'] }, 'must be a date-time'],
    ['after[0]', { after: [null, 'a'] }, 'must be a date-time'],
    ['after[1]', { after: ['2026-01-01', null] }, 'must be a string without \\u0000'],
    ['after[1]', { after: ['2026-01-01', 'a\0'] }, 'must be a string without \\u0000'],
    ['after[0]', { field: 'svc_run_step', after: ['1.5', 'a'] }, 'must be a whole number, or null'],
    ['after[0]', { field: 'ended_at', after: ['x', 'a'] }, 'must be a date-time, or null'],
    ...['1e400', '1e-400', 'x', true].map((value): [string, object, string] => [
      'after[0]',
      { field: 'summary.svc.latency_ms', after: [value, 'a'] },
      'must be a number, or its digits as a string, or null',
    ]),
    [
      'after[0]',
      { field: 'inputs', after: ['x'.repeat(4_194_305), 'a'] },
      'exceeds the limit of 4194304 bytes for all values',
    ],
  ];
  it.each(INVALID)('refuse %s', async (path, { field, ...page }: any, message) => {
    const sort_by = field && [{ field, direction: 'asc' }];
    const answer = await app.post('/calls/stream_query', {
      project_id: 'acme/p',
      sort_by,
      ...page,
    });
    expect([answer.status, answer.body.errors]).toEqual([400, [{ path, message }]]);
  });

  it('take an offset of 0, and null', async () => {
    const project_id = aProject();
    for (const page of [
      { after: ['2026-01-01', 'a'], offset: 0 },
      { after: null, offset: 1 },
    ])
      expect((await app.post('/calls/stream_query', { project_id, ...page })).status).toBe(200);
  });
});

describe('pages of objects', () => {
  it('are together the list, in each order', async () => {
    const project_id = aProject();
    await app.query(
      `INSERT INTO object_versions (project_id, object_id, version_index, digest, created_at, is_latest, kind, size_bytes, val)
       SELECT $1, (ARRAY['b', 'B', 'a', 'c'])[1 + n % 4], n / 4, n, '2026-01-01'::timestamptz + n * n % 5 * interval '1 us',
         n >= 20, 'object', 2, '{}' FROM generate_series(0, 23) n`,
      [project_id],
    );
    const direction = ['asc', 'desc'] as const;
    const orders: Sort[][] = [
      [],
      ...direction.flatMap((one) => [
        [{ field: 'created_at', direction: one }],
        [{ field: 'object_id', direction: one }],
        ...direction.map((other) => [
          { field: 'object_id', direction: one },
          { field: 'created_at', direction: other },
        ]),
      ]),
    ];
    for (const sorts of orders)
      for (const filter of [{}, { latest_only: true }])
        for (const size of [3, 24]) {
          const list = {
            ...aList('/objs/query', project_id, sorts),
            filter,
          };
          const all = await read(list);
          expect(all).toHaveLength('latest_only' in filter ? 4 : 24);
          expect(all).toEqual(all.toSorted(inOrder(list.order)));
          expect(await walked(list, size)).toEqual(all);
        }
  });
});

describe('pages of threads', () => {
  const FIELDS = [
    'thread_id',
    'turn_count',
    'start_time',
    'last_updated',
    'p50_turn_duration_ms',
    'p99_turn_duration_ms',
  ];
  const turn = fc.record({
    thread_id: fc.constantFrom('a', 'B', 'ab', 'é', '\u{1f9f5}', '\ufffd', 'c', 'd', 'e'),
    second: fc.integer({ min: 0, max: 3 }),
    ms: fc.option(fc.constantFrom(0, 0.333, 1, 1000)),
  });
  type Turn = typeof turn extends fc.Arbitrary<infer T> ? T : never;
  const insert = (project_id: string, turns: Turn[]) =>
    app.query(
      `INSERT INTO calls (project_id, id, turn_id, op_name, trace_id, thread_id, started_at, ended_at)
       SELECT $1, t.id, t.id, 'chat', 't', t.thread_id, t.at, t.at + t.ms * interval '1 ms'
       FROM (SELECT gen_random_uuid()::text AS id, x->>'thread_id' AS thread_id, (x->>'ms')::float8 AS ms,
         '2026-01-01'::timestamptz + (x->>'second')::int * interval '1 s' AS at FROM json_array_elements($2) x) t`,
      [project_id, JSON.stringify(turns)],
    );

  it('are together the list, stored, marked or of a window, while other threads come and go', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.tuple(fc.array(turn, { minLength: 1, maxLength: 15 }), fc.array(turn, { maxLength: 6 })),
        sortsOf(FIELDS),
        fc.constantFrom<ThreadsFilterDto>(
          {},
          { after_datetime: '2026-01-01T00:00:00Z' },
          { thread_ids: ['a', 'B', 'c', 'd', 'e'] },
        ),
        limit,
        async ([stored, marked], sorts, filter, size) => {
          const project_id = aProject();
          await insert(project_id, stored);
          await app.app.get(ThreadsRefresher).refresh();
          if (marked.length > 0) await insert(project_id, marked);
          const list = {
            ...aList('/threads/stream_query', project_id, sorts),
            filter,
          };
          const calls = await app.query<StoredCall>(STORED_CALLS, [project_id]);
          const expected = threadsOf(calls, { filter, sort_by: sorts as any });
          const rows = await walked(list, size, async (sofar) => {
            await app.query('DELETE FROM calls WHERE project_id = $1 AND thread_id = $2', [
              project_id,
              sofar.at(-1)!.thread_id,
            ]);
          });
          expect(rows).toEqual(expected);
        },
      ),
      { numRuns: 40 },
    );
  });
});

unlessCluster('plans are those of one node').describe('the plans of pages', () => {
  const project_id = 'acme/planned';
  beforeAll(async () => {
    await app.query(
      `INSERT INTO calls (project_id, id, trace_id, parent_id, op_name, started_at)
       SELECT $1, 'c' || n, 't' || n / 10, nullif(n % 10, 0), 'op', '2026-01-01'::timestamptz + n * interval '1 s'
       FROM generate_series(1, 5000) n`,
      [project_id],
    );
    await app.query(
      `INSERT INTO threads (project_id, thread_id, turn_count, start_time, last_updated, first_turn_id, last_turn_id)
       SELECT $1, n, n % 3, now(), now() + n * interval '1 s', n, n FROM generate_series(1, 20000) n`,
      [project_id],
    );
    await app.query(
      `INSERT INTO object_versions (project_id, object_id, version_index, digest, created_at, is_latest, kind, size_bytes, val)
       SELECT $1, 'name-' || n % 1000, n / 1000, n, '2026-01-01'::timestamptz + n * interval '1 ms', n >= 9000, 'object', 2, '{}'
       FROM generate_series(0, 9999) n`,
      [project_id],
    );
    await app.query('VACUUM ANALYZE calls, threads, object_versions');
  });

  async function readsOf(query: Sql, table: RegExp): Promise<string[]> {
    const { text, values } = query.toQuery();
    const plan = await app.query(
      `EXPLAIN (ANALYZE, TIMING OFF, SUMMARY OFF, BUFFERS OFF) ${text}`,
      values,
    );
    const lines = plan.map((line) => line['QUERY PLAN'] as string);
    return lines.flatMap((line, i) => (table.test(line) ? [line, lines[i + 1]!] : []));
  }

  it.each(['asc', 'desc'] as const)('begin at the position: calls %s', async (direction) => {
    const after = ['2026-01-01T00:50:00.000000Z', 'c3000'];
    const sort_by = [{ field: 'started_at', direction }];
    const reads = await readsOf(
      callRows({ project_id, limit: 50, sort_by, after }).query,
      / on calls c/,
    );
    expect(reads).toEqual([
      expect.stringMatching(
        /Index Scan (Backward )?using calls_started_idx on calls c.*\(actual rows=5[01]\b/,
      ),
      expect.stringMatching(
        direction === 'asc'
          ? /Index Cond: .*ROW\(started_at, id\) > ROW/
          : /Index Cond: .*started_at <= /,
      ),
    ]);
  });

  it('begin at the position: the slowest roots', async () => {
    await app.query(
      `UPDATE calls SET ended_at = CASE WHEN substr(id, 2)::int % 50 > 0 THEN started_at + substr(id, 2)::int * interval '1 ms' END
       WHERE project_id = $1`,
      [project_id],
    );
    await app.query('VACUUM ANALYZE calls');
    const query = {
      project_id,
      limit: 20,
      filter: { trace_roots_only: true },
      sort_by: [SLOWEST],
    };
    const reads = await readsOf(
      callRows({ ...query, after: [3000, 'c3000'] }).query,
      / on calls c/,
    );
    expect(reads.slice(0, 4)).toEqual([
      expect.stringMatching(
        /Index Scan using calls_root_latency_idx on calls c.*\(actual rows=0\b/,
      ),
      expect.stringMatching(/Index Cond: .* = '3000'::double precision\) AND \(id > 'c3000'/),
      expect.stringMatching(
        /Index Scan using calls_root_latency_idx on calls c.*\(actual rows=20\b/,
      ),
      expect.stringMatching(/Index Cond: .* < '3000'::double precision/),
    ]);
    expect(reads.slice(4).join('\n')).not.toContain('actual rows');

    const roots = await app.query(
      `SELECT id FROM calls WHERE project_id = $1 AND parent_id IS NULL ORDER BY ended_at - started_at DESC NULLS LAST, id`,
      [project_id],
    );
    const ids = roots.map(({ id }) => id as string);
    const running = ids.length - 10;
    const found = async (more: Partial<CallsQueryDto>) => {
      const { text, values } = callRows({ ...query, ...more }).query.toQuery();
      return (await app.query(text, values)).map(({ id }) => id as string);
    };
    expect(await found({})).toEqual(ids.slice(0, 20));
    expect(await found({ offset: 380, limit: 120 })).toEqual(ids.slice(380, 500));
    expect(await found({ limit: null })).toEqual(ids);
    expect(await found({ after: [null, ids[running]!] })).toEqual(ids.slice(running + 1));
    expect(await found({ after: [1990, 'c1990'], limit: 500 })).toEqual(
      ids.slice(ids.indexOf('c1990') + 1),
    );
  });

  it('begin at the position: objects', async () => {
    const after = ['2026-01-01T00:00:05.000000Z', 5, 'name-0'];
    const reads = await readsOf(
      objectsQuery({ project_id, limit: 50, after }),
      / on object_versions v/,
    );
    expect(reads).toEqual([
      expect.stringContaining('Index Scan using object_versions_created_idx'),
      expect.stringContaining('Index Cond: ((project_id = '),
    ]);
    expect(reads[1]).toContain('ROW(created_at, version_index, object_id) > ROW');
  });

  it('begin at the position, also within many ties: threads by their turns', async () => {
    const sort_by = [{ field: 'turn_count', direction: 'desc' } as const];
    const reads = await readsOf(
      threadsQuery({ project_id, limit: 50, sort_by, after: [1, '5'] }),
      / on threads t/,
    );
    // the part of the query for the ties of the position fills the page
    expect(reads).toEqual([
      expect.stringMatching(
        /Index Scan using threads_turns(_asc)?_idx on threads t.*\(actual rows=50\b/,
      ),
      expect.stringMatching(/turn_count = '1'::bigint\) AND \(thread_id > '5'/),
      expect.stringMatching(/Index Scan using threads_turns_idx on threads t.*\(actual rows=1\b/),
      expect.stringMatching(/turn_count < '1'::bigint/),
    ]);
  });
});
