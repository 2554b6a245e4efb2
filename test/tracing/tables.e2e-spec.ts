import { objectDigest, tableDigest } from '../../src/tracing/objects/digests/digest.js';
import type { Sql } from '../../src/platform/query/sql.js';
import { unlessCluster } from '../support/database.js';
import { startApp, type TestApp } from '../support/app.js';
import { tableRowsQuery, tableStatsQuery } from '../../src/tracing/objects/tables/tables.query.js';

const PROJECT = 'acme/demo';
let app: TestApp;

beforeAll(async () => {
  app = await startApp();
});
afterAll(() => app.close());

/** Stores a table from rows given as JSON texts. */
async function create(texts: string[], project_id = PROJECT) {
  const answer = await app.post(
    '/table/create',
    `{"table":{"project_id":"${project_id}","rows":[${texts.join(',')}]}}`,
  );
  expect(answer.status).toBe(200);
  return answer.body as { digest: string; row_digests: string[] };
}

const numbered = (from: number, count: number) =>
  Array.from({ length: count }, (_, i) => `{"n":${from + i}}`);

async function rowsOf(digest: string, body: object = {}) {
  const answer = await app.post('/table/query', { project_id: PROJECT, digest, ...body });
  expect(answer.status).toBe(200);
  return answer.body.rows as { digest: string; val: any; original_index: number }[];
}
const numbersOf = async (digest: string, body: object = {}) =>
  (await rowsOf(digest, body)).map(({ val }) => val.n);

const by = (field: string, direction: 'asc' | 'desc') => ({ sort_by: [{ field, direction }] });

const digestOf = (texts: string[]) => tableDigest(Buffer.from(texts.map(objectDigest).join('')));

describe('POST /table/create', () => {
  it('answers the digests that clients compute', async () => {
    expect(await create(['{"a":1}', '{"a":2}'])).toEqual({
      digest: '1c95cdc46a75d6e7e971986a80adfcd676dd22f2222a3405c7743f3db8df6785',
      row_digests: [objectDigest('{"a":1}'), objectDigest('{"a":2}')],
    });
  });

  it('stores a row once, however often and in however many tables it stands', async () => {
    await create(['{"once":1}', '{"once":2}', '{"once":1}', '{"once": 1}']);
    const { digest } = await create(['{"once":2}', '{"once":1}']);
    const rows = await app.query(
      `SELECT val::text FROM table_rows WHERE val::text LIKE '{"once"%'`,
    );
    expect(new Set(rows.map(({ val }) => val))).toEqual(new Set(['{"once":1}', '{"once":2}']));
    expect(rows).toHaveLength(2);
    expect((await create(['{"once":2}', '{"once":1}'])).digest).toBe(digest);
    expect(await app.query('SELECT 1 FROM tables WHERE digest = $1', [digest])).toHaveLength(1);
  });

  it.each([
    '{"x":1.0,"y":12345678901234567890}',
    '{"__proto__":{"a":1},"constructor":2}',
    String.raw`{"\u0000":"\u0000","half":"\ud83d"}`,
    '{"b":1,  "a" : [ 1,2 ],\n"b":2}',
  ])('keeps %s byte for byte', async (text) => {
    const { digest } = await create([text]);
    const answer = await app.post('/table/query', { project_id: PROJECT, digest });
    expect(answer.text).toBe(
      `{"rows":[{"digest":"${objectDigest(text)}","val":${text},"original_index":0}]}`,
    );
  });

  it('stores a table without rows', async () => {
    const { digest, row_digests } = await create([]);
    expect(row_digests).toEqual([]);
    expect(await rowsOf(digest)).toEqual([]);
  });

  it('answers 409 when the digest is not the expected one, and stores nothing', async () => {
    const table = { project_id: 'acme/expects', rows: [{ a: 1 }] };
    const refused = await app.post('/table/create', {
      table: { ...table, expected_digest: 'other' },
    });
    expect(refused).toMatchObject({ status: 409, body: { code: 'conflict' } });
    expect(
      await app.query(`SELECT 1 FROM table_rows WHERE project_id = 'acme/expects'`),
    ).toHaveLength(0);
    for (const expected_digest of [digestOf(['{"a":1}']), null])
      expect(
        (await app.post('/table/create', { table: { ...table, expected_digest } })).status,
      ).toBe(200);
  });

  it('lets tables that share rows be created at once', async () => {
    const texts = numbered(5000, 7000);
    const created = await Promise.all(
      Array.from({ length: 8 }, (_, i) =>
        create(i % 2 ? texts : texts.toReversed(), 'acme/together'),
      ),
    );
    expect(new Set(created.map(({ digest }) => digest)).size).toBe(2);
  });

  it.each([
    ['table', {}],
    ['table.project_id', { table: { rows: [] } }],
    ['table.rows', { table: { project_id: PROJECT } }],
    ['table.rows', { table: { project_id: PROJECT, rows: null } }],
    ['table.rows', { table: { project_id: PROJECT, rows: { a: 1 } } }],
    ['table.rows[1]', { table: { project_id: PROJECT, rows: [{}, 1] } }],
    ['table.rows[0]', { table: { project_id: PROJECT, rows: [[]] } }],
    ['table.rows[0]', { table: { project_id: PROJECT, rows: [null] } }],
    ['table.expected_digest', { table: { project_id: PROJECT, rows: [], expected_digest: 1 } }],
  ])('refuses a bad %s: %j', async (path, body) => {
    const answer = await app.post('/table/create', body);
    expect(answer).toMatchObject({ status: 400, body: { code: 'invalid_request' } });
    expect(answer.body.errors[0].path).toBe(path);
  });
});

describe('a table of 100,000 rows', () => {
  it('is created and paged through', async () => {
    const { digest, row_digests } = await create(numbered(0, 100_000));
    expect(row_digests).toHaveLength(100_000);
    const seen: number[] = [];
    for (let offset = 0; offset < 100_000; offset += 10_000)
      seen.push(...(await numbersOf(digest, { limit: 10_000, offset })));
    expect(seen).toEqual(Array.from({ length: 100_000 }, (_, i) => i));
    expect(await numbersOf(digest, { limit: 2, offset: 99_999 })).toEqual([99_999]);
    const [last] = await rowsOf(digest, { filter: { row_digests: [row_digests[77_777]] } });
    expect(last).toEqual({
      digest: row_digests[77_777],
      val: { n: 77_777 },
      original_index: 77_777,
    });
    expect(
      await numbersOf(digest, {
        sort_by: [{ field: 'n', direction: 'desc' }],
        limit: 2,
        offset: 1,
      }),
    ).toEqual([99_998, 99_997]);
    const stats = await app.post('/table/query_stats', { project_id: PROJECT, digest });
    expect(stats.body).toEqual({ count: 100_000 });
  });
});

describe('POST /table/query', () => {
  let digest: string;
  let row_digests: string[];
  beforeAll(async () => {
    ({ digest, row_digests } = await create([
      '{"n":0,"s":"b","deep":{"x":[3]}}',
      '{"n":1,"s":"a","deep":{"x":[20]}}',
      '{"n":2}',
      '{"n":3,"s":"B","deep":{"x":["z"]},"odd":"\\u0000"}',
      '{"n":0,"s":"b","deep":{"x":[3]}}',
    ]));
  });

  it.each([
    ['in its own order', {}, [0, 1, 2, 3, 0]],
    ['with nulls', { filter: null, limit: null, offset: null, sort_by: null }, [0, 1, 2, 3, 0]],
    ['with an empty filter', { filter: { row_digests: [] } }, [0, 1, 2, 3, 0]],
    ['with a filter of null', { filter: { row_digests: null } }, [0, 1, 2, 3, 0]],
    ['a page', { limit: 2, offset: 1 }, [1, 2]],
    ['from an offset on', { offset: 3 }, [3, 0]],
    ['limit 0', { limit: 0 }, []],
    ['past the end', { offset: 5 }, []],
    ['far past the end', { offset: 2_147_483_647, limit: 2_147_483_647 }, []],
    ['by a number', by('n', 'desc'), [3, 2, 1, 0, 0]],
    ['by a text', by('s', 'asc'), [3, 1, 0, 0, 2]],
    ['by a text, backwards, the missing last', by('s', 'desc'), [0, 0, 1, 3, 2]],
    ['by a path', by('deep.x.0', 'asc'), [0, 0, 1, 3, 2]],
    [
      'by two fields',
      {
        sort_by: [
          { field: 's', direction: 'desc' },
          { field: 'n', direction: 'desc' },
        ],
      },
      [0, 0, 1, 3, 2],
    ],
    ['a sorted page', { ...by('n', 'desc'), limit: 2, offset: 1 }, [2, 1]],
  ])('answers rows %s', async (_, body, expected) => {
    expect(await numbersOf(digest, body)).toEqual(expected);
  });

  it('answers the rows of a filter, each where it stands', async () => {
    const rows = await rowsOf(digest, {
      filter: { row_digests: [row_digests[0], row_digests[2]] },
    });
    expect(rows.map(({ original_index }) => original_index)).toEqual([0, 2, 4]);
  });

  it('answers no rows for a table that does not exist, or of another project', async () => {
    const nowhere = await app.post('/table/query', { project_id: PROJECT, digest: 'none' });
    expect(nowhere.text).toBe('{"rows":[]}');
    expect((await app.post('/table/query', { project_id: 'acme/other', digest })).text).toBe(
      '{"rows":[]}',
    );
  });

  it.each([
    ['project_id', { project_id: 7 }],
    ['digest', { digest: null }],
    ['limit', { limit: -1 }],
    ['offset', { offset: -1 }],
    ['filter', { filter: 'x' }],
    ['filter.row_digests', { filter: { row_digests: 'x' } }],
    ['filter.row_digests', { filter: { row_digests: Array(1001).fill('x') } }],
    ['sort_by[0].direction', { sort_by: [{ field: 'n', direction: 'up' }] }],
    ['sort_by[0].field', by('x'.repeat(1001), 'asc')],
  ])('refuses a bad %s', async (path, body) => {
    const answer = await app.post('/table/query', { project_id: PROJECT, digest, ...body });
    expect(answer).toMatchObject({ status: 400, body: { code: 'invalid_request' } });
    expect(answer.body.errors[0].path).toBe(path);
  });
});

describe('POST /table/update', () => {
  const update = (base_digest: string, updates: unknown) =>
    app.post('/table/update', { project_id: PROJECT, base_digest, updates });

  it('makes another table by edits, one after the other', async () => {
    const base = await create(['{"n":0}', '{"n":1}', '{"n":2}']);
    const answer = await update(base.digest, [
      { append: { row: { n: 3 } } },
      { pop: { index: 1 } },
      { insert: { index: 0, row: { n: 4 }, odd: 1 } },
      { pop: { index: 3 } },
      { insert: { index: 3, row: { n: 5 } }, append: null },
    ]);
    expect(answer.status).toBe(200);
    expect(await numbersOf(answer.body.digest)).toEqual([4, 0, 2, 5]);
    expect(await numbersOf(base.digest)).toEqual([0, 1, 2]);
    expect(answer.body).toEqual({
      digest: digestOf(['{"n":4}', '{"n":0}', '{"n":2}', '{"n":5}']),
      updated_row_digests: [3, 1, 4, 3, 5].map((n) => objectDigest(`{"n":${n}}`)),
    });
  });

  it('keeps the text of the rows, and takes no updates for the table as it is', async () => {
    const base = await create([]);
    const row = String.raw`{"n" : 1.0, "\u0000":"\ud800"}`;
    const answer = await app.post(
      '/table/update',
      `{"project_id":"${PROJECT}","base_digest":"${base.digest}","updates":[ {"append" : {"row":${row}}} ]}`,
    );
    const rows = await app.post('/table/query', {
      project_id: PROJECT,
      digest: answer.body.digest,
    });
    expect(rows.text).toContain(`"val":${row},`);
    expect((await update(base.digest, [])).body).toEqual({
      digest: base.digest,
      updated_row_digests: [],
    });
  });

  it('answers 404 for a base that does not exist', async () => {
    expect(await update('none', [])).toMatchObject({ status: 404, body: { code: 'not_found' } });
  });

  it.each([
    ['updates', {}],
    ['updates', null],
    ['updates[0]', [7]],
    ['updates[0]', [{}]],
    ['updates[0]', [{ append: null }]],
    ['updates[1]', [{ pop: { index: 0 } }, { append: { row: {} }, pop: { index: 0 } }]],
    ['updates[0].append.row', [{ append: {} }]],
    ['updates[0].append.row', [{ append: { row: [] } }]],
    ['updates[0].pop.index', [{ pop: {} }]],
    ['updates[0].pop.index', [{ pop: { index: -1 } }]],
    ['updates[0].pop.index', [{ pop: { index: 0.5 } }]],
    ['updates[0].pop.index', [{ pop: { index: 1 } }]],
    ['updates[1].pop.index', [{ pop: { index: 0 } }, { pop: { index: 0 } }]],
    ['updates[0].insert.index', [{ insert: { index: 2, row: {} } }]],
    ['updates[0].insert.row', [{ insert: { index: 0 } }]],
  ])('refuses a bad %s: %j', async (path, updates) => {
    const { digest } = await create(['{"n":0}']);
    const answer = await update(digest, updates);
    expect(answer).toMatchObject({ status: 400, body: { code: 'invalid_request' } });
    expect(answer.body.errors[0].path).toBe(path);
  });

  it('refuses more than 10,000 inserts and pops, not appends', async () => {
    const { digest } = await create(['{"n":0}']);
    const edit = { insert: { index: 0, row: {} } };
    const refused = await update(
      digest,
      Array.from({ length: 10_001 }, () => edit),
    );
    expect(refused).toMatchObject({ status: 413, body: { code: 'too_large' } });
    expect(refused.body.detail).toContain('10000');
    const append = { append: { row: {} } };
    const edits = Array.from({ length: 20_000 }, (_, i) => (i % 2 ? edit : append));
    const answer = await update(digest, edits);
    expect(answer.status).toBe(200);
    const { body } = await app.post('/table/query_stats', {
      project_id: PROJECT,
      digest: answer.body.digest,
    });
    expect(body).toEqual({ count: 20_001 });
  });

  it('refuses a table of more than 2,000,000 rows', async () => {
    await app.query(
      `INSERT INTO tables SELECT project_id, 'huge', convert_to(repeat(digest, 2000000), 'UTF8') FROM table_rows
       WHERE digest = $1 AND project_id = $2`,
      [objectDigest('{"n":0}'), PROJECT],
    );
    const answer = await update('huge', [{ append: { row: { n: 0 } } }]);
    expect(answer).toMatchObject({ status: 413, body: { code: 'too_large' } });
    expect(answer.body.detail).toContain('2000000');
    expect(await numbersOf('huge', { offset: 1_999_999 })).toEqual([0]);
  });
});

describe('POST /table/create_from_digests', () => {
  const fromDigests = (row_digests: unknown, more = {}) =>
    app.post('/table/create_from_digests', { project_id: PROJECT, row_digests, ...more });

  it('makes a table of rows that are stored', async () => {
    const { row_digests } = await create(['{"n":0}', '{"n":1}']);
    const [zero, one] = row_digests;
    const answer = await fromDigests([one, zero, one], { expected_digest: null });
    expect(answer.body).toEqual({ digest: digestOf(['{"n":1}', '{"n":0}', '{"n":1}']) });
    expect(await numbersOf(answer.body.digest)).toEqual([1, 0, 1]);
  });

  it('makes the empty table', async () => {
    expect((await fromDigests([])).body).toEqual({ digest: digestOf([]) });
  });

  it('answers 404 for a row that the project does not hold', async () => {
    await create(['{"elsewhere":1}'], 'acme/other');
    const digest = objectDigest('{"elsewhere":1}');
    const answer = await fromDigests([digest]);
    expect(answer).toMatchObject({ status: 404, body: { code: 'not_found' } });
    expect(answer.body.detail).toContain(digest);
  });

  it('answers 409 when the digest is not the expected one', async () => {
    expect(await fromDigests([], { expected_digest: 'x' })).toMatchObject({
      status: 409,
      body: { code: 'conflict' },
    });
  });

  it.each([
    ['row_digests', undefined],
    ['row_digests', 'x'],
    ['row_digests[0]', [1]],
    ['row_digests[0]', ['short']],
    ['row_digests[0]', [`${'x'.repeat(43)}\n`]],
  ])('refuses a bad %s: %j', async (path, row_digests) => {
    const answer = await fromDigests(row_digests);
    expect(answer.status).toBe(400);
    expect(answer.body.errors[0].path).toBe(path);
  });
});

/** The number of rows that a query reads from `table_rows`, including repeated reads. */
async function rowsRead(query: Sql): Promise<number> {
  const { text, values } = query.toQuery();
  const [explained] = await app.query(`EXPLAIN (ANALYZE, FORMAT JSON) ${text}`, values);
  const read = ({ Plans = [], ...node }: any): number =>
    (node['Relation Name'] === 'table_rows' ? node['Actual Rows'] * node['Actual Loops'] : 0) +
    Plans.reduce((sum: number, plan: object) => sum + read(plan), 0);
  return read(explained['QUERY PLAN'][0].Plan);
}

unlessCluster('plans are those of one node').it(
  'reads each of the different rows of a table once, and no other one',
  async () => {
    await create(numbered(500, 500));
    const { digest } = await create(Array.from({ length: 50 }, (_, i) => `{"odd":${i % 2}}`));
    const sorted = by('odd', 'asc');
    const page = { project_id: PROJECT, digest, limit: 3 };
    expect(await rowsRead(tableRowsQuery({ ...page, ...sorted }))).toBe(2 + 3);
    expect(await rowsRead(tableStatsQuery(PROJECT, [digest], true))).toBe(2);
  },
);

describe('POST /table/query_stats and /table/query_stats_batch', () => {
  it('count rows, and bytes when asked', async () => {
    const { digest } = await create(['{"stat":"é"}', '{"stat":"é"}', '{}']);
    const stats = (body: object) =>
      app.post('/table/query_stats_batch', { project_id: PROJECT, ...body });
    const one = await app.post('/table/query_stats', { project_id: PROJECT, digest });
    expect(one.body).toEqual({ count: 3 });
    expect((await stats({ digests: [digest, 'none'] })).body).toEqual({
      tables: [{ count: 3, digest, storage_size_bytes: null }],
    });
    expect((await stats({ digests: [digest], include_storage_size: true })).body).toEqual({
      tables: [{ count: 3, digest, storage_size_bytes: 2 * 13 + 2 }],
    });
    for (const digests of [[], null, undefined])
      expect((await stats({ digests, include_storage_size: null })).body).toEqual({ tables: [] });
    const empty = await create([]);
    expect((await stats({ digests: [empty.digest], include_storage_size: true })).body).toEqual({
      tables: [{ count: 0, digest: empty.digest, storage_size_bytes: 0 }],
    });
  });

  it('count 0 rows of a table that does not exist', async () => {
    const { body } = await app.post('/table/query_stats', { project_id: PROJECT, digest: 'none' });
    expect(body).toEqual({ count: 0 });
  });

  it.each([
    ['/table/query_stats', 'digest', { project_id: PROJECT }],
    ['/table/query_stats', 'project_id', { digest: 'x' }],
    ['/table/query_stats_batch', 'digests', { project_id: PROJECT, digests: 'x' }],
    [
      '/table/query_stats_batch',
      'digests',
      { project_id: PROJECT, digests: Array(1001).fill('x') },
    ],
    [
      '/table/query_stats_batch',
      'include_storage_size',
      { project_id: PROJECT, include_storage_size: 1 },
    ],
  ])('%s refuses a bad %s', async (path, field, body) => {
    const answer = await app.post(path, body);
    expect(answer.status).toBe(400);
    expect(answer.body.errors[0].path).toBe(field);
  });
});

describe('the keys of the table operations', () => {
  const project_id = PROJECT;
  const bodies = {
    '/table/create': { table: { project_id, rows: [] } },
    '/table/update': { project_id, base_digest: digestOf([]), updates: [] },
    '/table/create_from_digests': { project_id, row_digests: [] },
    '/table/query': { project_id, digest: 'x' },
    '/table/query_stats': { project_id, digest: 'x' },
    '/table/query_stats_batch': { project_id },
  };

  it.each(Object.entries(bodies))('%s needs one, for the project', async (path, body) => {
    const nobody = await app.post(path, body, { headers: { authorization: '' } });
    expect(nobody.status).toBe(401);
    const elsewhere = await app.aKey('admin', ['acme/else']);
    expect((await app.post(path, body, { key: elsewhere })).status).toBe(403);
  });

  it.each(Object.entries(bodies))('%s asks for the right role', async (path, body) => {
    const reader = await app.aKey('reader');
    expect((await app.post(path, body, { key: reader })).status).toBe(
      path.startsWith('/table/query') ? 200 : 403,
    );
  });
});
