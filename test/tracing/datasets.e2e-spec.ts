import { linesOf, useApp } from '../support/app.js';
import { aStart, anEnd, at } from '../support/factories.js';

const app = useApp();
let projects = 0;
let project_id: string;
beforeEach(() => {
  project_id = `acme/datasets-${++projects}`;
});

const DIGEST = /^[A-Za-z0-9]{43}$/;
const COLUMNS = { prompt: 'inputs.prompt', answer: 'output.choices[0].message.content' };

/** Stores a call whose output contains the answer as JSON text. */
async function call(id: string, prompt: string, answer = '"a"', fields: object = {}) {
  const start = aStart({ project_id, id, inputs: { prompt }, ...fields });
  await app.post('/call/start', { start });
  const end = JSON.stringify({ end: anEnd({ project_id, id, output: 'OUTPUT' }) });
  const output = `{"choices": [{"message": {"content": ${answer}}}]}`;
  await app.post(
    '/call/end',
    end.replace('"OUTPUT"', () => output),
  );
}
const calls = (...prompts: string[]) =>
  Promise.all(prompts.map((prompt, i) => call(prompt, prompt, '"a"', { started_at: at(i) })));
const add = (body: object, options: { key?: string } = {}) =>
  app.post('/datasets/add_from_calls', { project_id, object_id: 'qa', columns: COLUMNS, ...body }, options); // prettier-ignore
const remove = (row_digests: string[], object_id = 'qa') =>
  app.post('/datasets/remove_rows', { project_id, object_id, row_digests });
const split = (body: object, options: { key?: string } = {}) =>
  app.post('/datasets/split', { project_id, object_id: 'qa', ...body }, options);
const lineage = async (query: object = {}): Promise<any[]> =>
  (await app.post('/datasets/lineage', { project_id, ...query })).body.rows;
const valueOf = async (object_id = 'qa', digest = 'latest') =>
  (await app.post('/obj/read', { project_id, object_id, digest })).body.obj;
async function rowsOf(
  object_id = 'qa',
  digest = 'latest',
): Promise<{ digest: string; val: any }[]> {
  const { val } = await valueOf(object_id, digest);
  const query = { project_id, digest: val.rows.split('/').at(-1) };
  return (await app.post('/table/query', query)).body.rows;
}
const promptsOf = async (object_id = 'qa', digest = 'latest') =>
  (await rowsOf(object_id, digest)).map(({ val }) => val.prompt);

describe('/datasets/add_from_calls', () => {
  it('publishes a dataset of rows as they stand in the calls, and notes where they come from', async () => {
    const key = await app.aKey('writer', [project_id], 'grace');
    await call('one', 'why?', '12345678901234567890', { trace_id: 't', thread_id: 'th' });
    await call('two', 'how?', '{"b": 1.0, "a": "\\ud83d\\u0000"}');
    await app.post('/feedback/create', {
      project_id,
      svc_ref: `svc:///${project_id}/call/two`,
      feedback_type: 'svc.note.1',
      payload: { note: 'good' },
    });
    const columns = { ...COLUMNS, note: 'feedback.[svc.note.1].payload.note', op: 'op_name' };
    const call_ids = ['two', 'nobody', 'one', 'two'];
    const added = await add({ call_ids, columns, description: 'asked' }, { key });
    expect(added.body).toEqual({
      object_id: 'qa',
      digest: expect.stringMatching(DIGEST),
      version_index: 0,
      ref: `svc:///${project_id}/object/qa:${added.body.digest}`,
      num_rows: 2,
      added: 2,
      duplicates: 0,
      missing: 1,
    });
    expect((await valueOf()).val).toEqual({
      _type: 'Dataset',
      name: 'qa',
      description: 'asked',
      rows: expect.stringMatching(new RegExp(`^svc:///${project_id}/table/[0-9a-f]{64}$`)),
      _class_name: 'Dataset',
      _bases: ['Object', 'BaseModel'],
    });
    expect(await valueOf()).toMatchObject({ base_object_class: 'Dataset', svc_user_id: 'grace' });
    const { val } = await valueOf();
    const { text } = await app.post('/table/query', { project_id, digest: val.rows.split('/').at(-1) }); // prettier-ignore
    expect(text).toContain('{"prompt":"how?","answer":{"b": 1.0, "a": "\\ud83d\\u0000"},"note":"good","op":"work"}'); // prettier-ignore
    expect(text).toContain('{"prompt":"why?","answer":12345678901234567890,"note":null,"op":"work"}'); // prettier-ignore
    const [, one] = await rowsOf();
    expect(await lineage({ call_ids: ['one'] })).toEqual([
      {
        object_id: 'qa',
        row_digest: one!.digest,
        call_id: 'one',
        trace_id: 't',
        thread_id: 'th',
        added_at: expect.stringMatching(/^2.*Z$/),
        added_by: 'grace',
        removed_at: null,
        erased: false,
        erased_at: null,
      },
    ]);
  });

  it('adds what the dataset does not have, in a new version', async () => {
    await calls('a', 'b', 'c');
    await call('a again', 'a');
    await add({ call_ids: ['a', 'b'] });
    const more = await add({ call_ids: ['b', 'c', 'a again'] });
    expect(more.body).toMatchObject({ version_index: 1, num_rows: 3, added: 1, duplicates: 2 });
    expect(await promptsOf()).toEqual(['a', 'b', 'c']);
    expect(await promptsOf('qa', 'v0')).toEqual(['a', 'b']);
    const same = await add({ call_ids: ['a again', 'a'] });
    expect(same.body).toMatchObject({ version_index: 1, added: 0, duplicates: 2 });
    expect(same.body.digest).toBe(more.body.digest);
    const [first] = await rowsOf();
    const sources = await lineage({ row_digests: [first!.digest] });
    expect(sources.map(({ call_id }) => call_id)).toEqual(['a', 'a again']);
  });

  it('takes calls by a query, the oldest first', async () => {
    await calls('a', 'b', 'c');
    const query = {
      $expr: { $gt: [{ $getField: 'inputs.prompt' }, { $literal: 'a' }] },
    };
    expect((await add({ query })).body).toMatchObject({ added: 2, missing: 0 });
    expect((await add({ filter: { op_names: ['work'] }, object_id: 'two', limit: 2 })).body.added).toBe(2); // prettier-ignore
    expect([await promptsOf(), await promptsOf('two')]).toEqual([['b', 'c'], ['a', 'b']]); // prettier-ignore
  });

  it('goes on from what a client has published, and keeps what it says', async () => {
    await calls('a');
    const table = await app.post('/table/create', { table: { project_id, rows: [{ prompt: 'own' }] } }); // prettier-ignore
    const rows = `svc:///${project_id}/table/${table.body.digest}`;
    const val = `{"_type":"Dataset","extra":1.0,"name":"mine","rows":"${rows}","_class_name":"Dataset"}`;
    await app.post('/obj/create', `{"obj":{"project_id":"${project_id}","object_id":"qa","val":${val}}}`); // prettier-ignore
    await add({ call_ids: ['a'] });
    expect(await promptsOf()).toEqual(['own', 'a']);
    const { text } = await app.post('/obj/read', { project_id, object_id: 'qa', digest: 'latest' });
    expect(text).toContain('"extra":1.0,"name":"mine"');
  });

  it('loses no rows of adds at once', async () => {
    const names = Array.from({ length: 12 }, (_, i) => `c${i}`);
    await calls(...names);
    const added = await Promise.all(names.map((id) => add({ call_ids: [id, 'c0'] })));
    expect(added.map(({ status }) => status)).toEqual(names.map(() => 200));
    expect((await promptsOf()).toSorted()).toEqual(names.toSorted());
    expect(added.reduce((sum, { body }) => sum + body.added, 0)).toBe(12);
  });

  it.each([
    [{}, ''],
    [{ call_ids: ['a'], filter: {} }, ''],
    [{ call_ids: ['nobody'] }, 'object_id'],
    [{ call_ids: ['a'], columns: {} }, 'columns'],
    [{ call_ids: ['a'], columns: { x: 'nothing' } }, 'columns.x'],
    [{ call_ids: ['a'], object_id: 'a/b' }, 'object_id'],
    [{ call_ids: ['a'], object_id: 'no-dataset' }, 'object_id'],
    [{ call_ids: ['a'], object_id: 'theirs' }, 'object_id'],
    [{ filter: { nonsense: 1 } }, 'filter.nonsense'],
    [{ query: { $expr: 1 } }, 'query.$expr'],
  ])('refuses %j', async (body, path) => {
    await calls('a');
    const rows = 'svc:///acme/other/table/abc';
    const create = (object_id: string, val: object) =>
      app.post('/obj/create', { obj: { project_id, object_id, val } });
    await create('no-dataset', { a: 1 });
    await create('theirs', { _class_name: 'Dataset', rows });
    const refused = await add(body);
    expect([refused.status, refused.body.errors?.[0].path ?? '']).toEqual([400, path]);
  });

  it('refuses a query of more than 1000 calls, and more than 100,000 rows', async () => {
    await app.query(
      `INSERT INTO calls (project_id, id, trace_id, op_name, started_at, inputs)
       SELECT $1, 'c' || n, 't', 'op', now(), '{"prompt":"p"}' FROM generate_series(1, 1001) n`,
      [project_id],
    );
    expect((await add({ filter: {} })).body.code).toBe('too_large');
    const few = await add({ filter: {}, limit: 1000 });
    expect(few.body).toMatchObject({ added: 1, duplicates: 999 });
    const { val } = await valueOf();
    await app.query(
      `UPDATE tables SET row_digests = decode(repeat(encode(row_digests, 'hex'), 100000), 'hex')
       WHERE project_id = $1 AND digest = $2`,
      [project_id, val.rows.split('/').at(-1)],
    );
    await call('last', 'other');
    expect((await add({ call_ids: ['last'] })).body.code).toBe('too_large');
  });
});

describe('/datasets/remove_rows', () => {
  it('publishes a version without the rows, and notes that they are gone', async () => {
    await calls('a', 'b', 'c');
    await add({ filter: {} });
    const [, b] = await rowsOf();
    const removed = await remove([b!.digest, 'x'.repeat(43)]);
    expect(removed.body).toMatchObject({ version_index: 1, num_rows: 2, removed: 1, missing: 1 });
    expect(await promptsOf()).toEqual(['a', 'c']);
    expect(await promptsOf('qa', 'v0')).toEqual(['a', 'b', 'c']);
    const [source] = await lineage({ call_ids: ['b'] });
    expect(source).toMatchObject({ removed_at: expect.any(String) });
    expect((await add({ call_ids: ['b'] })).body.added).toBe(1);
    expect((await lineage({ call_ids: ['b'] }))[0]).toMatchObject({ removed_at: null });
    expect((await remove((await rowsOf()).map(({ digest }) => digest))).body.num_rows).toBe(0);
    expect((await remove([], 'nothing')).status).toBe(404);
    expect((await remove(['short'])).status).toBe(400);
  });
});

describe('/datasets/split', () => {
  const parts = [
    { object_id: 'qa-train', fraction: 0.7 },
    { object_id: 'qa-test', fraction: 0.3 },
  ];

  /** Makes a dataset from calls of `traces` traces. Two neighbouring traces share a thread. */
  async function aDataset(traces: number): Promise<void> {
    await app.query(
      `INSERT INTO calls (project_id, id, trace_id, thread_id, op_name, started_at, inputs)
       SELECT $1, 'c' || n, 't' || n % $2::int, 'th' || (n % $2::int) / 2, 'op', now() + n * interval '1 ms',
         json_build_object('prompt', n, 'customer', json_build_object('id', n % 7))
       FROM generate_series(1, 200) n`,
      [project_id, traces],
    );
    await add({ filter: {}, columns: { prompt: 'inputs.prompt', customer: 'inputs.customer' } });
  }
  const both = () => Promise.all([promptsOf('qa-train'), promptsOf('qa-test')]);

  it('puts each row into one part, the same one for the same seed, also when rows come', async () => {
    await aDataset(200);
    const made = (await split({ parts, seed: '7' })).body.parts;
    expect(made).toMatchObject([{ object_id: 'qa-train' }, { object_id: 'qa-test' }]);
    const [train, test] = await both();
    expect([...train, ...test].toSorted((a, b) => a - b)).toEqual(
      Array.from({ length: 200 }, (_, i) => i + 1),
    );
    expect([train, test].map(({ length }) => length)).toEqual(made.map((part: any) => part.num_rows)); // prettier-ignore
    expect(train.length).toBeGreaterThan(110);
    expect((await split({ parts, seed: '7' })).body.parts).toEqual(made);
    await call('more', 'more');
    await add({ call_ids: ['more'] });
    await split({ parts, seed: '7' });
    const grown = await both();
    expect(grown[0]).toEqual(expect.arrayContaining(train));
    expect(grown[1]).toEqual(expect.arrayContaining(test));
    expect((await split({ parts, seed: '8' })).body.parts[0].digest).not.toBe(made[0].digest);
    expect(await promptsOf('qa', 'v0')).toHaveLength(200);
  });

  it.each<[object, (prompt: number) => number]>([
    [{ group_by: 'trace' }, (n) => n % 20],
    [{ group_by: 'thread' }, (n) => Math.floor((n % 20) / 2)],
    [{ group_path: 'customer.id' }, (n) => n % 7],
  ])('keeps groups on one side: %j', async (body, groupOf) => {
    await aDataset(20);
    for (const seed of ['a', 'b', 'c', 'd', 'e', 'f']) {
      const { status } = await split({ parts, seed, ...body });
      if (status === 400) continue; // refused, because all groups would be on one side
      const [train, test] = (await both()).map((side) => new Set(side.map(groupOf)));
      expect([...train!].filter((group) => test!.has(group))).toEqual([]);
    }
  });

  it('knows where the rows of parts come from', async () => {
    await aDataset(200);
    await split({ parts });
    const sources = await lineage();
    expect(sources).toHaveLength(400);
    const [a, b] = await lineage({ call_ids: ['c5'] });
    expect([a.object_id, b.object_id]).toEqual(['qa', expect.stringMatching(/^qa-t/)]);
    expect(a.row_digest).toBe(b.row_digest);
  });

  it.each([
    [{ parts: parts.slice(1) }, 'parts'],
    [{ parts: [parts[0], parts[0]] }, 'parts'],
    [{ parts: [parts[0], { object_id: 'qa', fraction: 0.3 }] }, 'parts'],
    [{ parts: [parts[0], { ...parts[1], fraction: 0.4 }] }, 'parts'],
    [{ parts, group_by: 'trace', group_path: 'x' }, 'group_path'],
    [{ parts, group_by: 'call' }, 'group_by'],
    [{ parts: [parts[0], { ...parts[1], fraction: 0 }] }, 'parts[1].fraction'],
  ])('refuses %j', async (body, path) => {
    await calls('a', 'b');
    await add({ filter: {} });
    const { status, body: answer } = await split(body);
    expect([status, answer.errors[0].path]).toEqual([400, path]);
  });

  it('refuses a part without rows, and a version that is not there', async () => {
    await calls('a');
    await add({ filter: {} });
    const refused = await split({ parts });
    expect(refused.body.errors[0].path).toMatch(/^parts\[\d\]$/);
    expect((await split({ parts, digest: 'v9' })).status).toBe(404);
    expect((await app.post('/objs/query', { project_id })).body.objs).toHaveLength(1);
  });
});

describe('calls that go', () => {
  it.each([
    ['/calls/delete', {}],
    ['/calls/purge', {}],
  ])('after %s the lineage lists the rows to remove', async (path) => {
    await calls('a', 'b', 'c');
    await call('b too', 'b');
    await add({ filter: {} });
    await add({ call_ids: ['a'], object_id: 'other' });
    await app.post(path, { project_id, call_ids: ['a', 'b'] });
    const gone = await lineage({ erased: true });
    expect(gone.map(({ object_id, call_id }) => [object_id, call_id]).toSorted()).toEqual([
      ['other', 'a'],
      ['qa', 'a'],
      ['qa', 'b'],
    ]);
    expect(gone[0]).toMatchObject({ erased: true, erased_at: expect.any(String) });
    const left = await lineage({ erased: false });
    expect(left.map(({ call_id }) => call_id).toSorted()).toEqual(['b too', 'c']);
    const digests = (await lineage({ erased: true, object_id: 'qa' })).map((row) => row.row_digest);
    expect((await remove(digests)).body).toMatchObject({ removed: 2, num_rows: 1 });
    expect((await lineage({ erased: true })).map(({ object_id }) => object_id)).toEqual(['other']);
  });

  it('are missing to adds at the same time, or noted as gone', async () => {
    for (let round = 0; round < 5; round++) {
      const names = Array.from({ length: 10 }, (_, i) => `r${round}-${i}`);
      await calls(...names);
      const [added] = await Promise.all([
        add({ call_ids: names, object_id: `qa${round}` }),
        app.post('/calls/delete', { project_id, call_ids: names.slice(0, 9) }),
      ]);
      const sources = await lineage({ object_id: `qa${round}` });
      expect(sources).toHaveLength(added.body.added);
      const alive = sources.filter(({ erased }) => !erased).map(({ call_id }) => call_id);
      expect(alive).toEqual([names[9]]);
    }
  });

  it('that are purged by their time are noted too', async () => {
    await call('old', 'old', '"a"', { started_at: '2020-01-01T00:00:00Z' });
    await add({ call_ids: ['old'] });
    await app.post('/calls/purge', { project_id, before: '2021-01-01T00:00:00Z' });
    expect(await lineage({ erased: true })).toHaveLength(1);
  });
});

describe('/datasets/lineage', () => {
  it('has pages, and finds by dataset, row and call', async () => {
    await calls('a', 'b', 'c');
    await add({ filter: {} });
    const all = await lineage();
    const keys = all.map((row) => [row.object_id, row.row_digest, row.call_id]);
    expect(keys).toEqual(keys.toSorted());
    expect(await lineage({ limit: 1, after: keys[0] })).toEqual([all[1]]);
    expect(await lineage({ limit: 1, offset: 2 })).toEqual([all[2]]);
    expect(await lineage({ row_digests: [all[1].row_digest] })).toEqual([all[1]]);
    expect(await lineage({ object_id: 'nothing' })).toEqual([]);
  });
});

describe('who may', () => {
  it('find nothing of another project, and write only as writers', async () => {
    await calls('a', 'b');
    await add({ filter: {} });
    const mine = project_id;
    project_id = 'acme/strangers';
    const key = await app.aKey('writer', [project_id]);
    expect((await add({ call_ids: ['a'] }, { key })).status).toBe(400);
    expect((await split({ parts: [{ object_id: 'x', fraction: 0.5 }, { object_id: 'y', fraction: 0.5 }] }, { key })).status).toBe(404); // prettier-ignore
    expect(await lineage({ call_ids: ['a'] })).toEqual([]);
    project_id = mine;
    expect((await add({ call_ids: ['a'] }, { key })).status).toBe(403);
    const reader = await app.aKey('reader', [mine]);
    expect((await add({ call_ids: ['a'] }, { key: reader })).status).toBe(403);
    const read = await app.post('/datasets/lineage', { project_id }, { key: reader });
    expect(read.body.rows).toHaveLength(2);
  });

  it('erase the project with all of it', async () => {
    await calls('a');
    await add({ filter: {} });
    const queue = await app.post('/annotation_queues', { project_id, name: 'n', scorer_refs: [] });
    const items = { project_id, call_ids: ['a'], display_fields: [] };
    await app.post(`/annotation_queues/${queue.body.id}/items`, items);
    await app.post(`/annotation_queues/${queue.body.id}/items/next`, { project_id });
    await app.post('/project/delete', { project_id });
    expect(await lineage()).toEqual([]);
    expect(linesOf(await app.post('/annotation_queues/query', { project_id }))).toEqual([]);
    for (const table of ['annotation_queue_items', 'annotation_progress'])
      expect(await app.query(`SELECT 1 FROM ${table} WHERE project_id = $1`, [project_id])).toEqual([]); // prettier-ignore
  });
});
