import { gramsOf } from '../../src/tracing/calls/texts/grams.js';
import { callsWith } from '../../src/tracing/calls/texts/text-segment.js';
import { useApp } from '../support/app.js';
import { at } from '../support/factories.js';
import { randomOf } from '../support/policy.js';
import { refreshed } from '../support/refreshed.js';
import { aSaidProject, randomNeedle } from '../support/said.js';
import { until } from '../support/until.js';

const app = useApp({ RETENTION_INTERVAL_SECONDS: '1' });
const indexed = () => refreshed(app, 'texts');

const contains = (field: string, substr: string, case_insensitive = true) => ({
  $contains: { input: { $getField: field }, substr: { $literal: substr }, case_insensitive },
});
const start = (project_id: string, id: string, more: object = {}) =>
  app.post('/call/start', {
    start: { project_id, id, trace_id: id, op_name: 'op', started_at: at(0), ...more },
  });
const find = async (project_id: string, condition: object, more: object = {}) => {
  const { status, text } = await app.post('/calls/stream_query', {
    project_id,
    query: { $expr: condition },
    columns: ['id'],
    ...more,
  });
  expect([status, text]).toEqual([200, expect.anything()]);
  return text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line).id as string);
};
const idsInIndex = (project_id: string) =>
  app
    .query(`SELECT ids FROM call_text_ids WHERE project_id = $1`, [project_id])
    .then((rows) => rows.flatMap(({ ids }) => ids as string[]));

/** The number of calls of which the index knows all grams of a text. */
async function callsInIndex(project_id: string, text: string): Promise<number> {
  const segments = await app.query<{ segment: string; bits: number }>(
    'SELECT segment::text, bits FROM call_text_segments WHERE project_id = $1',
    [project_id],
  );
  const parts = await app.query<{ segment: string; part: number; bytes: Buffer }>(
    'SELECT segment::text, part, bytes FROM call_text_parts WHERE project_id = $1',
    [project_id],
  );
  return segments
    .map(({ segment, bits }) => {
      const own = parts.filter((part) => part.segment === segment);
      const byPart = new Map(own.map(({ part, bytes }) => [part, bytes]));
      return callsWith(gramsOf(text), bits, byPart).length;
    })
    .reduce((sum, count) => sum + count, 0);
}

it('finds exactly what random documents say, while they are stored and indexed', async () => {
  const random = randomOf(Date.now() % 1e6);
  const project = aSaidProject(app, 'acme/said', random);
  for (let round = 0; round < 10; round++) {
    await project.add(50);
    await project.delete(2);
    for (let i = 0; i < 8; i++)
      await project.check(randomNeedle(random, [...project.calls.values()]), random() < 0.5);
  }
});

it('finds what is indexed by the index, and what is not by looking at it', async () => {
  const project_id = 'acme/used';
  await start(project_id, 'indexed', { inputs: { text: 'a zebra' } });
  await indexed();
  await app.query('DELETE FROM call_text_segments WHERE project_id = $1', [project_id]);
  await app.query(
    `INSERT INTO call_text_marks (project_id, slot, call_ids, is_erasing) VALUES ($1, now(), '{waiting}', false)`,
    [project_id],
  );
  await start(project_id, 'waiting', { inputs: { text: 'a zebra' } });
  expect(await find(project_id, contains('inputs', 'zebra'))).not.toContain('indexed');
  expect(await find(project_id, contains('inputs', 'zebra'))).toEqual(['waiting']);
});

describe('conditions', () => {
  const project_id = 'acme/conditions';
  beforeAll(async () => {
    await start(project_id, 'a', { inputs: { order: 'A-4711', n: 1 }, started_at: at(1) });
    await start(project_id, 'b', { inputs: { order: 'B-4712', said: 'Grüße' }, started_at: at(2) });
    await start(project_id, 'c', { op_name: 'find-flights', started_at: at(3) });
    await app.post('/call/end', {
      end: { project_id, id: 'c', ended_at: at(4), exception: 'TimeoutError', output: 'no flight' },
    });
    await indexed();
  });

  it.each([
    [['a'], { $eq: [{ $getField: 'inputs.order' }, { $literal: 'A-4711' }] }],
    [
      ['a', 'b'],
      {
        $in: [
          { $getField: 'inputs.order' },
          [{ $literal: 'A-4711' }, { $literal: 'B-4712' }, { $literal: 'C-1' }],
        ],
      },
    ],
    [['b'], contains('inputs', 'GRÜSSE'.replace('SS', 'ß'))],
    [[], contains('inputs', 'Grüsse')],
    [['b'], contains('inputs.said', 'grüß')],
    [['c'], contains('exception', 'timeout')],
    [['c'], contains('op_name', 'flights')],
    [['c'], contains('summary.svc.trace_name', 'flights')],
    [['a', 'c'], { $or: [contains('output', 'flight'), contains('inputs', '4711')] }],
    [['a'], { $and: [contains('inputs', '4711'), contains('inputs', 'A-4')] }],
    [['a', 'b'], { $eq: [{ $getField: 'inputs.order' }, { $getField: 'inputs.order' }] }],
    [
      ['a'],
      {
        $eq: [{ $getField: 'inputs.n' }, { $convert: { input: { $literal: '1' }, to: 'double' } }],
      },
    ],
    [['a', 'b'], { $not: [contains('op_name', 'flights')] }],
    [['a', 'b', 'c'], { $or: [contains('op_name', 'flights'), contains('inputs', '{')] }],
    [['a', 'b'], contains('inputs', '7')],
    [['a'], contains('inputs', 'a-4711", "n": 1'.replaceAll(' ', ''))],
    [
      ['b'],
      {
        $and: [
          contains('inputs', '471'),
          { $gte: [{ $getField: 'started_at' }, { $literal: at(2) }] },
        ],
      },
    ],
    [
      ['a'],
      {
        $and: [
          contains('inputs', '471'),
          { $lt: [{ $getField: 'started_at' }, { $literal: at(2) }] },
        ],
      },
    ],
  ])('finds %j', async (ids, condition) => {
    expect(await find(project_id, condition)).toEqual(ids);
    const { body } = await app.post('/calls/query_stats', {
      project_id,
      query: { $expr: condition },
    });
    expect(body.count).toBe(ids.length);
  });
});

it.each(['svc', 'weave'])(
  'finds an indexed call by what the service derives, as %s',
  async (wire) => {
    const project = `acme/derived-${wire}`;
    await start(project, 'derived', { op_name: 'predict' });
    await indexed();
    const is = (name: string, $literal: string) => ({
      $eq: [{ $getField: `summary.${wire}.${name}` }, { $literal }],
    });
    const both = { $and: [is('status', 'running'), is('trace_name', 'predict')] };
    expect(await find(project, both)).toEqual(['derived']);
    expect(await find(project, contains(`summary.${wire}.trace_name`, 'edict'))).toEqual([
      'derived',
    ]);
    expect(await find(project, is('status', 'error'))).toEqual([]);
  },
);

it('finds a call by what its end and its renaming say, and once', async () => {
  const project_id = 'acme/later';
  await start(project_id, 'call', { inputs: { text: 'begins' } });
  await indexed();
  await app.post('/call/end', {
    end: { project_id, id: 'call', ended_at: at(1), output: { text: 'continues' } },
  });
  expect(await find(project_id, contains('output', 'continues'))).toEqual(['call']);
  await indexed();
  await app.post('/call/update', { project_id, call_id: 'call', display_name: 'final chapter' });
  await indexed();
  for (const [field, said] of [
    ['inputs', 'begins'],
    ['output', 'continues'],
    ['display_name', 'chapter'],
  ])
    expect(await find(project_id, contains(field!, said!))).toEqual(['call']);
});

it('pages through many hits in both directions', async () => {
  const project_id = 'acme/pages';
  const random = randomOf(7);
  const seconds = Array.from({ length: 3000 }, () => Math.floor(random() * 2000));
  for (let from = 0; from < seconds.length; from += 300) {
    const batch = seconds.slice(from, from + 300).map((second, i) => ({
      mode: 'start',
      req: {
        start: {
          project_id,
          id: `c${from + i}`,
          trace_id: 't',
          op_name: 'op',
          started_at: at(second),
          inputs: { text: (from + i) % 2 ? 'an odd zebra' : 'an even zebra' },
        },
      },
    }));
    await app.post('/call/upsert_batch', { batch });
    if (from % 900 === 0) await indexed();
  }
  const odd = seconds.flatMap((second, i) => (i % 2 ? [{ second, id: `c${i}` }] : []));
  for (const direction of ['asc', 'desc']) {
    const sign = direction === 'asc' ? 1 : -1;
    const expected = odd
      .toSorted((a, b) => sign * (a.second - b.second) || (a.id < b.id ? -1 : 1))
      .map(({ id }) => id);
    const sort_by = [{ field: 'started_at', direction }];
    const all = await find(project_id, contains('inputs', 'ODD zebra'), { sort_by });
    expect(all.toSorted()).toEqual(expected.toSorted());
    expect(all.map((id) => seconds[Number(id.slice(1))])).toEqual(
      expected.map((id) => seconds[Number(id.slice(1))]),
    );
    const page = await find(project_id, contains('inputs', 'odd zebra'), { sort_by, limit: 70 });
    expect(page).toEqual(all.slice(0, 70));
  }
});

it('keeps few segments, and each call in one place of a segment', async () => {
  const project_id = 'acme/merged';
  for (let i = 0; i < 20; i++) {
    await start(project_id, `c${i % 12}`, { inputs: { text: `number ${i}` } });
    await indexed();
  }
  const segments = await app.query(
    'SELECT segment::text, calls FROM call_text_segments WHERE project_id = $1',
    [project_id],
  );
  expect(segments.length).toBeLessThan(10);
  expect(new Set(await idsInIndex(project_id)).size).toBe(12);
  expect(await find(project_id, contains('inputs', 'number 19'))).toEqual(['c7']);
  expect(await find(project_id, contains('inputs', 'number 15'))).toEqual(['c3']);
  expect(await find(project_id, contains('inputs', 'number 3"'))).toEqual([]);
});

describe('what is erased', () => {
  it('leaves the index when only payloads are erased', async () => {
    const project_id = 'acme/payloads';
    await start(project_id, 'old', { inputs: { text: 'a secret zebra' } });
    await indexed();
    expect(await callsInIndex(project_id, 'secret zebra')).toBe(1);
    await app.post('/retention/set', { project_id, payload_days: 1 });
    await until(async () => (await find(project_id, contains('inputs', 'zebra'))).length === 0);
    await indexed();
    expect(await callsInIndex(project_id, 'secret zebra')).toBe(0);
  });

  it('leaves the index with a purge, a deletion and the project', async () => {
    const project_id = 'acme/erased';
    for (const id of ['purged', 'deleted', 'kept'])
      await start(project_id, id, { inputs: { text: `a secret of ${id}` } });
    await indexed();
    expect(new Set(await idsInIndex(project_id))).toEqual(new Set(['purged', 'deleted', 'kept']));
    await app.post('/calls/purge', { project_id, call_ids: ['purged'] });
    await app.post('/calls/delete', { project_id, call_ids: ['deleted'] });
    await until(async () => (await idsInIndex(project_id)).join() === 'kept');
    const parts = await app.query(
      'SELECT count(*)::int FROM call_text_parts p WHERE project_id = $1 AND NOT EXISTS (SELECT FROM call_text_segments s WHERE s.project_id = $1 AND s.segment = p.segment)',
      [project_id],
    );
    expect(parts).toEqual([{ count: 0 }]);
    expect(await find(project_id, contains('inputs', 'secret'))).toEqual(['kept']);
    expect(await callsInIndex(project_id, 'secret')).toBe(1);
    expect(await callsInIndex(project_id, 'purged')).toBe(0);
    await app.post('/project/delete', { project_id });
    const left = () =>
      Promise.all(
        ['marks', 'segments', 'parts', 'ids', 'walks'].map((name) =>
          app.query(`SELECT FROM call_text_${name} WHERE project_id = $1`, [project_id]),
        ),
      );
    await until(async () => (await left()).every((rows) => rows.length === 0));
  });
});

it.each(['0001-01-01T00:00:00Z', '9999-12-31T23:59:59.999999Z'])(
  'indexes, finds and erases calls that started at %s',
  async (started_at) => {
    const project_id = `acme/${started_at.slice(0, 4)}`;
    await start(project_id, 'end', { inputs: { text: 'a zebra' }, started_at });
    await start(project_id, 'now', { inputs: { text: 'a zebra' } });
    const zebra = contains('inputs', 'zebra');
    const times = [{ $getField: 'started_at' }, { $literal: started_at }];
    const query = { $and: [zebra, { $gte: times }, { $lte: times }] };
    const sorted = (direction: string) => ({ sort_by: [{ field: 'started_at', direction }] });
    const isFirst = started_at < '2';
    for (let round = 0; round < 2; round++) {
      expect(await find(project_id, query)).toEqual(['end']);
      for (const direction of ['asc', 'desc']) {
        const found = await find(project_id, zebra, { ...sorted(direction), limit: 1 });
        expect(found).toEqual([isFirst === (direction === 'asc') ? 'end' : 'now']);
      }
      await indexed();
    }
    expect((await idsInIndex(project_id)).toSorted()).toEqual(['end', 'now']);
    await app.post('/calls/purge', { project_id, call_ids: ['end'] });
    expect(await find(project_id, zebra)).toEqual(['now']);
    await until(async () => (await idsInIndex(project_id)).join() === 'now');
    expect(await callsInIndex(project_id, 'zebra')).toBe(1);
  },
);

it('finds calls that an older build stored, before and after they are indexed', async () => {
  const project_id = 'acme/older';
  for (const n of [1, 2, 3])
    await start(project_id, `c${n}`, { inputs: { text: 'a zebra' }, started_at: at(n) });
  await indexed();
  const tables = ['segments', 'parts', 'ids'].map((name) => `call_text_${name}`);
  for (const table of tables)
    await app.query(`DELETE FROM ${table} WHERE project_id = $1`, [project_id]);
  await app.query(`INSERT INTO call_text_walks VALUES ($1, 'infinity')`, [project_id]);
  expect(await find(project_id, contains('inputs', 'zebra'))).toEqual(['c1', 'c2', 'c3']);
  await until(
    async () =>
      (await app.query('SELECT FROM call_text_walks WHERE project_id = $1', [project_id]))
        .length === 0,
  );
  await indexed();
  expect((await idsInIndex(project_id)).toSorted()).toEqual(['c1', 'c2', 'c3']);
  expect(await find(project_id, contains('inputs', 'zebra'))).toEqual(['c1', 'c2', 'c3']);
});

it.each([
  ['ten thousand characters', 'x'.repeat(10_000), 400],
  ['one letter', 'z', 200],
  ['punctuation only', '!?., ', 200],
  ['half of a surrogate pair', '\ud83d', 200],
  ['signs of regular expressions', '(.*)+[z]{9}\\', 200],
  ['NUL', '\u0000zebra', 200],
])('answers a search for %s', async (_, substr, status) => {
  const { status: got } = await app.post('/calls/stream_query', {
    project_id: 'acme/used',
    query: { $expr: contains('inputs', substr) },
  });
  expect(got).toBe(status);
});

it.each([
  ['without an expression', '{}'],
  ['with null as its expression', '{"$expr":null}'],
  ['of 20,000 levels', `{"$expr":${'{"$and":['.repeat(20_000)}true${']}'.repeat(20_000)}}`],
])('refuses a query %s', async (_, query) => {
  const body = `{"project_id":"acme/used","query":${query}}`;
  const { status, body: answer } = await app.post('/calls/stream_query', body);
  expect([status, answer.code]).toEqual([400, 'invalid_request']);
});

it('finds what a call says that is too large for the index', async () => {
  const project_id = 'acme/too-large';
  const text = String.raw`\u4f60\u597d\\`.repeat(700_000);
  for (let i = 0; i < 9; i++) {
    await app.post(
      '/call/start',
      `{"start":{"project_id":"${project_id}","id":"large","trace_id":"t","op_name":"op",
        "started_at":"${at(0)}","inputs":{"text":"${text}${i} zebra"}}}`,
    );
    await indexed();
  }
  expect((await idsInIndex(project_id)).length).toBeLessThan(8);
  await start(project_id, 'small', { inputs: { text: 'a lion' } });
  await indexed();
  expect(new Set(await idsInIndex(project_id))).toEqual(new Set(['large', 'small']));
  expect(await find(project_id, contains('inputs', 'zebra'))).toEqual(['large']);
  await app.post('/calls/purge', { project_id, call_ids: ['large'] });
  await until(async () => (await idsInIndex(project_id)).join() === 'small');
});

it('indexes a document of a million words, and a word of a megabyte', async () => {
  const project_id = 'acme/large';
  const words = Array.from({ length: 1e6 }, (_, i) => `w${i.toString(36)}`).join(' ');
  await start(project_id, 'words', { inputs: { text: words } });
  await start(project_id, 'word', { inputs: { text: `${'ab'.repeat(500_000)}zebra` } });
  await indexed();
  expect(await find(project_id, contains('inputs', 'ababzebra'))).toEqual(['word']);
  expect(await find(project_id, contains('inputs', 'wlflq wlflr'))).toEqual(['words']);
});
