import { request } from 'node:http';
import { basic, startApp, type TestApp } from '../support/app.js';
import { until } from '../support/until.js';

const PROJECT = 'acme/rows';
/** 48 of Cyrillic, and 17 of Armenian. */
const CAPITALS = String.fromCharCode(
  ...Array.from({ length: 65 }, (_, i) => (i < 48 ? 0x400 : 0x531 - 48) + i),
);
let app: TestApp;

beforeAll(async () => {
  app = await startApp({ READ_TIMEOUT_SECONDS: '600' });
});
afterAll(() => app.close());

async function create(texts: string[]): Promise<{ digest: string; row_digests: string[] }> {
  const answer = await app.post(
    '/table/create',
    `{"table":{"project_id":"${PROJECT}","rows":[${texts.join(',')}]}}`,
  );
  expect(answer.status).toBe(200);
  return answer.body;
}

const val = { $getField: 'val' };
const says = (text: string) => ({
  $expr: { $contains: { input: val, substr: { $literal: text }, case_insensitive: true } },
});
const ask = (digest: string, query: object, more = {}) =>
  app.post('/table/query', { project_id: PROJECT, digest, query, ...more });
const places = async (...asked: Parameters<typeof ask>): Promise<number[]> => {
  const { status, body } = await ask(...asked);
  expect([status, body]).toEqual([200, expect.anything()]);
  return body.rows.map(({ original_index }: any) => original_index);
};
const count = async (digest: string, query: object) =>
  (await app.post('/table/query_stats', { project_id: PROJECT, digest, query })).body.count;

describe('rows that say a text', () => {
  let digest: string;
  beforeAll(async () => {
    ({ digest } = await create([
      String.raw`{"q":"\u5317\u4eac now"}`,
      String.raw`{"tool":"{\"city\":\"\\u5317\\u4eac\",\"told\":\"he said \\\"no\\\"\"}"}`,
      '{"t":"ПРИВЕТ Мир, ΣΊΣΥΦΟΣ, λόγος, ÜBER"}',
      '{"a":"red","b":"green"}',
      String.raw`{"x":"say \"hi\" in c:\\dir\/new\nline"}`,
      '{"re":"a.b*c(d)[e]^$|?+"}',
      String.raw`{"h":"\ud800!? \u0000"}`,
      '{"Deep":[{"Key":["needle"]}]}',
      '{"pi":3.14159,"yes":true}',
      `{"long":"${'x'.repeat(10_000)} needles"}`,
    ]));
  });

  it.each<[string, string, number[]]>([
    ['Chinese, also inside a string that is JSON', '北京', [0, 1]],
    ['capital letters of Cyrillic', 'привет мир', [2]],
    ['both small forms of sigma', 'σίσυφος', [2]],
    ['a capital sigma for the small one at the end', 'ΛΌΓΟΣ', [2]],
    ['letters with marks', 'über', [2]],
    ['quotes inside a string that is JSON', 'HE SAID "no"', [1]],
    ['quotes', 'say "hi"', [4]],
    ['a backslash', String.raw`c:\dir`, [4]],
    ['a slash and a line break', 'dir/new\nline', [4]],
    ['words of two values', 'red green', []],
    ['a value and the next key', 'red b', []],
    ['signs of regular expressions', 'a.b*c(d)[e]^$|?+', [5]],
    ['a pattern that is no text', 'a.*c', []],
    ['half of a surrogate pair', '\ud800!', [6]],
    ['punctuation only', '!?', [6]],
    ['punctuation of no row', '?!;', []],
    ['a key', 'deep', [7]],
    ['a text in several rows', 'NEEDLE', [7, 9]],
    ['a number', '3.14', [8]],
    ['a word of JSON', 'true', [8]],
    ['one letter', 'п', [2]],
    ['one letter of no row', 'Ж', []],
    ['the end of a long text', 'x needles', [9]],
    ['a text of 4,096 letters', 'X'.repeat(4096), [9]],
  ])('%s', async (_, text, expected) => {
    expect(await places(digest, says(text))).toEqual(expected);
    expect(await count(digest, says(text))).toBe(expected.length);
  });

  it.each<[string, object, string]>([
    ['10,000 letters', says('x'.repeat(10_000)), 'query.$expr.$contains.substr'],
    ['65 capitals', says(CAPITALS), 'query.$expr.$contains.substr'],
    ['an unknown field', { $expr: { $eq: [{ $getField: 'q' }, { $literal: 1 }] } }, 'query.$expr'],
    ['no expression', {}, 'query.$expr'],
    ['a list', [], 'query'],
  ])('%s is refused, with its place', async (_, query, place) => {
    for (const path of ['/table/query', '/table/query_stats']) {
      const answer = await app.post(path, { project_id: PROJECT, digest, query });
      expect([answer.status, answer.text]).toEqual([400, expect.stringContaining(place)]);
    }
  });

  it('nothing for a table of another project', async () => {
    const other = { project_id: 'acme/others', digest, query: says('needle') };
    expect((await app.post('/table/query', other)).body).toEqual({ rows: [] });
    expect((await app.post('/table/query_stats', other)).body).toEqual({ count: 0 });
  });
});

describe('rows that match', () => {
  let digest: string;
  let row_digests: string[];
  beforeAll(async () => {
    ({ digest, row_digests } = await create(
      Array.from({ length: 400 }, (_, n) => `{"n":${n % 100},"word":"${n % 3 ? 'odd' : 'Third'}"}`),
    ));
  });
  const third = says('third');
  const all = Array.from({ length: 134 }, (_, i) => 3 * i);

  it('come in the order of the table, also equal ones, in pages', async () => {
    expect(await places(digest, third)).toEqual(all);
    expect(await count(digest, third)).toBe(134);
    const pages: number[] = [];
    for (let offset = 0; offset < 200; offset += 50)
      pages.push(...(await places(digest, third, { limit: 50, offset })));
    expect(pages).toEqual(all);
  });

  it('come in another order, and only those of a filter', async () => {
    const sort_by = [{ field: 'n', direction: 'desc' }];
    const sorted = all.toSorted((a, b) => (b % 100) - (a % 100) || a - b);
    expect(await places(digest, third, { sort_by })).toEqual(sorted);
    expect(await places(digest, third, { sort_by, limit: 7, offset: 5 })).toEqual(
      sorted.slice(5, 12),
    );
    const filter = { row_digests: [row_digests[0], row_digests[1], row_digests[6]] };
    expect(await places(digest, third, { filter })).toEqual([0, 6, 300, 306]);
  });

  it('are found by their values too', async () => {
    const n = { $getField: 'val.n' };
    const query = { $expr: { $and: [third.$expr, { $gte: [n, { $literal: 98 }] }] } };
    expect(await places(digest, query)).toEqual([99, 198, 399]);
    expect(await count(digest, query)).toBe(3);
  });
});

it.each(['/table/query', '/table/query_stats'])(
  '%s ends its statement when the client leaves',
  async (path) => {
    const { digest } = await create(['{"a":1}']);
    const holder = app.dataSource.createQueryRunner();
    await holder.query('BEGIN');
    await holder.query('LOCK TABLE table_rows IN ACCESS EXCLUSIVE MODE');
    const sent = request(app.url + path, {
      method: 'POST',
      headers: { authorization: basic(app.key), 'content-type': 'application/json' },
    });
    sent.on('error', () => {});
    sent.end(JSON.stringify({ project_id: PROJECT, digest, query: says('b') }));
    const running = () =>
      app.query(
        `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
      );
    await until(async () => (await running()).length > 0);
    sent.destroy();
    await until(async () => (await running()).length === 0);
    await holder.query('ROLLBACK');
    await holder.release();
  },
);
