import { basic, linesOf, send, useApp } from '../support/app.js';
import { aStart, anEnd, at } from '../support/factories.js';

const PROJECT = 'acme/annotation';
const OTHER = 'acme/elsewhere';
const app = useApp();

interface Options {
  key?: string;
  project_id?: string;
}
const call = async (id: string, project_id = PROJECT, fields: object = {}) => {
  await app.post('/call/start', { start: aStart({ project_id, id, ...fields }) });
};
const ids = (count: number, prefix: string) =>
  Array.from({ length: count }, (_, i) => `${prefix}-${i}`);
const callsOf = async (count: number, prefix: string) => {
  const all = ids(count, prefix);
  await app.post('/call/upsert_batch', {
    batch: all.map((id) => ({
      mode: 'start',
      req: { start: aStart({ project_id: PROJECT, id }) },
    })),
  });
  return all;
};
const post = (path: string, body: object = {}, { key, project_id = PROJECT }: Options = {}) =>
  app.post(`/annotation_queues${path}`, { project_id, ...body }, key === undefined ? {} : { key });
const other = (method: string, id: string, body?: object, project_id = PROJECT) =>
  send(
    `${app.url}/annotation_queues/${id}${body ? '' : `?project_id=${project_id}`}`,
    body && { project_id, ...body },
    { authorization: basic(app.key) },
    method,
  );
const aQueue = async (callIds: string[] = [], fields: object = {}): Promise<string> => {
  const { id } = (await post('', { name: 'queue', scorer_refs: ['r'], ...fields })).body;
  if (callIds.length > 0)
    await post(`/${id}/items`, { call_ids: callIds, display_fields: ['inputs.prompt'] });
  return id;
};
const itemsOf = async (id: string, query: object = {}): Promise<any[]> =>
  (await post(`/${id}/items/query`, query)).body.items;
const stat = async (id: string) => (await post('/stats', { queue_ids: [id] })).body.stats[0];
const step = (queue: string, item: string, annotation_state: string, options: Options = {}) =>
  post(`/${queue}/items/${item}/progress`, { annotation_state }, options);

describe('queues', () => {
  it('are made, read, changed and deleted', async () => {
    const key = await app.aKey('writer', [PROJECT], 'grace');
    const scorer_refs = [`svc:///${PROJECT}/object/quality:abc`];
    const made = await post('', { name: 'Review', scorer_refs, svc_user_id: 'eve' }, { key });
    expect([made.status, Object.keys(made.body)]).toEqual([200, ['id']]);
    const { id } = made.body;
    const queue = {
      id,
      project_id: PROJECT,
      name: 'Review',
      description: '',
      scorer_refs,
      created_at: expect.stringMatching(/^2.*Z$/),
      created_by: 'grace',
      updated_at: expect.stringMatching(/^2.*Z$/),
      deleted_at: null,
    };
    const read = await other('GET', id);
    expect(read).toMatchObject({ status: 200, body: { queue } });
    const kept = (await other('PUT', id, { description: 'how', scorer_refs: null })).body.queue;
    expect(kept).toEqual({ ...queue, description: 'how' });
    expect(kept.updated_at > read.body.queue.updated_at).toBe(true);
    const changed = await other('PUT', id, { name: 'New', scorer_refs: [], description: '' });
    expect(changed.body.queue).toMatchObject({ name: 'New', scorer_refs: [], description: '' });
    const deleted = await other('DELETE', id);
    expect(deleted.body.queue).toMatchObject({ id, deleted_at: expect.stringMatching(/^2.*Z$/) });
    for (const method of ['GET', 'DELETE']) expect((await other(method, id)).status).toBe(404);
    expect((await other('PUT', id, { name: 'x' })).status).toBe(404);
    expect((await post(`/${id}/items/query`)).status).toBe(404);
    expect((await post(`/${id}/items`, { call_ids: ['c'], display_fields: [] })).status).toBe(404);
    expect(linesOf(await post('/query')).map((each) => each.id)).not.toContain(id);
    const { body } = await app.post('/audit/query', { filter: { targets: [id] } });
    expect(body.events).toMatchObject([
      { action: 'annotation_queues.delete', detail: { total_items: 0 } },
    ]);
  });

  it('are listed by name, in an order, by pages', async () => {
    for (const name of ['Straße a', 'STRASSE', 'straße b', '50%_off']) await aQueue([], { name });
    const names = async (query: object) =>
      linesOf(await post('/query', query)).map(({ name }) => name);
    expect(await names({ name: 'STRAß' })).toEqual(['straße b', 'Straße a']);
    expect(await names({ name: '%_' })).toEqual(['50%_off']);
    const sort_by = [
      { field: 'nonsense', direction: 'asc' },
      { field: 'name', direction: 'asc' },
    ];
    expect(await names({ name: 'stra', sort_by, limit: 2, offset: 1 })).toEqual([
      'Straße a',
      'straße b',
    ]);
  });

  it.each([
    [{ name: '' }, 'name'],
    [{ name: 'x'.repeat(257) }, 'name'],
    [{ scorer_refs: null }, 'scorer_refs'],
    [{ scorer_refs: Array(101).fill('r') }, 'scorer_refs'],
    [{ description: 'a\0' }, 'description'],
  ])('refuse %j', async (fields, path) => {
    const { status, body } = await post('', { name: 'n', scorer_refs: [], ...fields });
    expect([status, body.errors[0].path]).toEqual([400, path]);
  });

  it('are at most 1000 in a project', async () => {
    const project_id = 'acme/many';
    await app.query(
      `INSERT INTO annotation_queues (project_id, id, name, description, scorer_refs, created_by)
       SELECT $1, 'q' || n, 'n', '', '[]', 'ada' FROM generate_series(1, 1000) n`,
      [project_id],
    );
    const full = await post('', { name: 'n', scorer_refs: [] }, { project_id });
    expect(full).toMatchObject({ status: 413, body: { code: 'too_large' } });
    await other('DELETE', 'q1', undefined, project_id);
    expect((await post('', { name: 'n', scorer_refs: [] }, { project_id })).status).toBe(200);
  });
});

describe('items', () => {
  it('are calls as they were when added, in the order of the request, each once', async () => {
    const started_at = '2026-01-01T00:00:00.123456Z';
    await call('ended', PROJECT, { op_name: 'svc:///a/b/op/x:1', trace_id: 't', started_at });
    await app.post('/call/end', { end: anEnd({ project_id: PROJECT, id: 'ended' }) });
    await call('running');
    await call('theirs', OTHER);
    const id = await aQueue();
    const display_fields = ['inputs.prompt', 'output.text'];
    const call_ids = ['running', 'nobody', 'ended', 'running', 'theirs'];
    const added = await post(`/${id}/items`, { call_ids, display_fields });
    expect(added.body).toEqual({ added_count: 2, duplicates: 0 });
    const again = await post(`/${id}/items`, { call_ids: ['nobody', 'ended'], display_fields: [] });
    expect(again.body).toEqual({ added_count: 0, duplicates: 1 });
    const items = await itemsOf(id, { include_position: true });
    expect(items.map(({ call_id, position_in_queue }) => [call_id, position_in_queue])).toEqual([
      ['running', 1],
      ['ended', 2],
    ]);
    expect(items[1]).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      project_id: PROJECT,
      queue_id: id,
      call_id: 'ended',
      call_started_at: started_at,
      call_ended_at: at(1).replace('000Z', '000000Z'),
      call_op_name: 'svc:///a/b/op/x:1',
      call_trace_id: 't',
      display_fields,
      added_by: 'ada',
      annotation_state: 'unstarted',
      annotator_user_id: null,
      created_at: expect.any(String),
      created_by: 'ada',
      updated_at: expect.any(String),
      deleted_at: null,
      position_in_queue: 2,
    });
    expect(Object.keys((await itemsOf(id))[0])).not.toContain('position_in_queue');
    expect(await stat(id)).toEqual({ queue_id: id, total_items: 2, completed_items: 0 });
  });

  it('repeat few characters of paths', async () => {
    const id = await aQueue();
    await call('path');
    const paths = (length: number) =>
      Array.from({ length }, (_, i) => `${'p'.repeat(98)}${10 + i}`);
    const add = (length: number) =>
      post(`/${id}/items`, { call_ids: ['path'], display_fields: paths(length) });
    expect(await add(41)).toMatchObject({
      status: 400,
      body: {
        errors: [
          { path: 'display_fields', message: 'must not have more than 4096 characters together' },
        ],
      },
    });
    expect((await add(40)).body).toEqual({ added_count: 1, duplicates: 0 });
  });

  it('are filtered and paged, with their places in the whole queue', async () => {
    const id = await aQueue(await callsOf(6, 'page'));
    const all = await itemsOf(id);
    for (const i of [0, 1, 4]) await step(id, all[i].id, 'completed');
    await step(id, all[2].id, 'skipped');
    await step(id, all[5].id, 'in_progress');
    const places = async (query: object) =>
      (await itemsOf(id, { include_position: true, ...query })).map(
        ({ position_in_queue }) => position_in_queue,
      );
    const states = (...annotation_states: string[]) => ({ filter: { annotation_states } });
    expect(await places(states('unstarted'))).toEqual([4]);
    expect(await places(states('unstarted', 'completed', 'completed'))).toEqual([1, 2, 4, 5]);
    expect(await places({ ...states('completed', 'skipped'), limit: 2, offset: 1 })).toEqual([
      2, 3,
    ]);
    expect(await places(states())).toEqual([1, 2, 3, 4, 5, 6]);
    expect(await places({ filter: { call_id: 'page-3' } })).toEqual([4]);
    expect(await places({ filter: { id: all[1].id, call_op_name: 'work' } })).toEqual([2]);
    expect(await places({ filter: { added_by: 'nobody' } })).toEqual([]);
    const sort_by = [{ field: 'call_id', direction: 'desc' }];
    expect(await places({ sort_by, limit: 2 })).toEqual([6, 5]);
    const refused = await post(`/${id}/items/query`, states('done'));
    expect(refused.status).toBe(400);
    expect(await stat(id)).toEqual({ queue_id: id, total_items: 6, completed_items: 4 });
  });

  it('of a state are found without reading the queue', async () => {
    const id = await aQueue();
    await app.query(
      `INSERT INTO annotation_queue_items (project_id, id, queue_id, position, call_id, call_started_at, call_op_name,
         call_trace_id, display_fields, annotation_state, created_by)
       SELECT $1, 'i' || n, $2, n, 'many-' || n, now(), 'op', 't', '[]',
         CASE WHEN n < 9000 THEN 'completed' ELSE 'unstarted' END, 'ada' FROM generate_series(1, 9990) n`,
      [PROJECT, id],
    );
    await app.query('UPDATE annotation_queues SET total_items = 9990 WHERE id = $1', [id]);
    await app.query('ANALYZE annotation_queue_items');
    const { itemsQuery } = await import('../../src/tracing/annotation/annotation-items.query.js');
    const query = itemsQuery(id, {
      project_id: PROJECT,
      filter: { annotation_states: ['unstarted', 'in_progress'] },
      limit: 3,
      include_position: true,
    });
    const { text, values } = query.toQuery();
    const [row] = await app.query(`EXPLAIN (ANALYZE, FORMAT JSON) ${text}`, values);
    const rowsOf = (node: any): number =>
      node['Actual Loops'] * (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) +
      (node.Plans ?? []).reduce((sum: number, child: any) => sum + rowsOf(child), 0);
    expect(rowsOf(row['QUERY PLAN'][0].Plan)).toBeLessThan(100);
    const full = await post(`/${id}/items`, {
      call_ids: await callsOf(11, 'over'),
      display_fields: [],
    });
    expect(full).toMatchObject({ status: 413, body: { code: 'too_large' } });
    expect((await stat(id)).total_items).toBe(9990);
  });
});

describe('progress', () => {
  const moves = ['in_progress', 'completed', 'skipped'];
  it.each<[string[], string, number]>([
    ...moves.map((to): [string[], string, number] => [[], to, 200]),
    [['in_progress'], 'completed', 200],
    [['in_progress'], 'skipped', 200],
    ...moves.map((to): [string[], string, number] => [[to], to, 200]),
    [['completed'], 'in_progress', 400],
    [['completed'], 'skipped', 400],
    [['skipped'], 'in_progress', 400],
    [['skipped'], 'completed', 400],
    [[], 'unstarted', 400],
  ])('after %j to %s answers %d', async (before, to, status) => {
    await call('moved');
    const queue = await aQueue(['moved']);
    const [item] = await itemsOf(queue);
    for (const each of before) await step(queue, item.id, each);
    const answer = await step(queue, item.id, to);
    expect(answer.status).toBe(status);
    if (status === 400) expect(answer.body.errors[0].path).toBe('annotation_state');
    else
      expect(answer.body.item).toMatchObject({
        id: item.id,
        annotation_state: to,
        annotator_user_id: 'ada',
        position_in_queue: 1,
      });
  });

  it('is each annotator’s own; an item shows the furthest, and who got there first', async () => {
    await call('shared');
    const queue = await aQueue(['shared']);
    const [{ id }] = await itemsOf(queue);
    const [ada, bob] = [await app.aKey('writer'), await app.aKey('writer', ['*'], 'bob')];
    const shown = async (state: string, key: string) => {
      const { item } = (await step(queue, id, state, { key })).body;
      return [item.annotation_state, item.annotator_user_id];
    };
    expect(await shown('in_progress', ada)).toEqual(['in_progress', 'ada']);
    expect(await shown('in_progress', bob)).toEqual(['in_progress', 'ada']);
    expect(await shown('skipped', bob)).toEqual(['skipped', 'bob']);
    expect((await stat(queue)).completed_items).toBe(1);
    expect(await shown('completed', ada)).toEqual(['completed', 'ada']);
    expect((await stat(queue)).completed_items).toBe(1);
    const carol = await app.aKey('writer', ['*'], 'carol');
    expect(await shown('completed', carol)).toEqual(['completed', 'ada']);
    expect(await shown('completed', carol)).toEqual(['completed', 'ada']);
  });

  it('of many at once is counted once for each item', async () => {
    const queue = await aQueue(await callsOf(5, 'busy'));
    const items = await itemsOf(queue);
    const keys = await Promise.all(
      ['u1', 'u2', 'u3'].map((name) => app.aKey('writer', ['*'], name)),
    );
    const answers = await Promise.all(
      keys.flatMap((key) =>
        items.map(({ id }, i) => step(queue, id, i % 2 ? 'skipped' : 'completed', { key })),
      ),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array(15).fill(200));
    expect(await stat(queue)).toMatchObject({ total_items: 5, completed_items: 5 });
    expect(await app.query('SELECT 1 FROM annotation_progress WHERE item_id = ANY($1)', [items.map(({ id }) => id)])).toHaveLength(15); // prettier-ignore
  });

  it('refuses an item of another queue, and of none', async () => {
    await call('one');
    const [a, b] = [await aQueue(['one']), await aQueue(['one'])];
    const [item] = await itemsOf(a);
    expect((await step(b, item.id, 'completed')).status).toBe(404);
    expect((await step(a, 'nothing', 'completed')).status).toBe(404);
    expect((await step(a, '%00', 'completed')).status).toBe(404);
    expect((await step('%00', item.id, 'completed')).status).toBe(404);
  });
});

describe('the next item', () => {
  it('is a different one for each who asks at once, and the same for one who asks again', async () => {
    const queue = await aQueue(await callsOf(4, 'next'));
    const names = ['n1', 'n2', 'n3', 'n4', 'n5'];
    const keys = await Promise.all(names.map((name) => app.aKey('writer', ['*'], name)));
    const next = async (key: string) => (await post(`/${queue}/items/next`, {}, { key })).body.item;
    const given = await Promise.all(keys.map(next));
    const found = given.filter((item) => item !== null);
    expect(found.map(({ position_in_queue }) => position_in_queue).toSorted()).toEqual([
      1, 2, 3, 4,
    ]);
    const mine = given.findIndex((item) => item !== null);
    expect((await next(keys[mine]!)).id).toBe(given[mine].id);
    expect(given[mine]).toMatchObject({
      annotation_state: 'in_progress',
      annotator_user_id: names[mine],
    });
    await step(queue, given[mine].id, 'completed', { key: keys[mine]! });
    expect(await next(keys[mine]!)).toBeNull();
  });
});

describe('a call that goes', () => {
  it.each<[string, (id: string) => Promise<unknown>]>([
    ['is deleted', (id) => app.post('/calls/delete', { project_id: PROJECT, call_ids: [id] })],
    ['is purged', (id) => app.post('/calls/purge', { project_id: PROJECT, call_ids: [id] })],
  ])('takes its items with it when it %s; the others move up', async (_, remove) => {
    const all = await callsOf(4, `gone${_}`);
    const [queue, second] = [await aQueue(all), await aQueue([all[1]!])];
    const items = await itemsOf(queue);
    for (const i of [1, 3]) await step(queue, items[i].id, 'completed');
    await remove(all[1]!);
    const left = await itemsOf(queue, { include_position: true });
    expect(left.map(({ call_id, position_in_queue }) => [call_id, position_in_queue])).toEqual([
      [all[0], 1],
      [all[2], 2],
      [all[3], 3],
    ]);
    expect(await stat(queue)).toMatchObject({ total_items: 3, completed_items: 1 });
    expect(await stat(second)).toMatchObject({ total_items: 0, completed_items: 0 });
    expect(await app.query('SELECT 1 FROM annotation_progress WHERE item_id = $1', [items[1].id])).toEqual([]); // prettier-ignore
    await callsOf(1, `late${_}`);
    await post(`/${queue}/items`, { call_ids: [`late${_}-0`], display_fields: [] });
    expect((await itemsOf(queue, { include_position: true })).at(-1).position_in_queue).toBe(4);
  });

  it('leaves no item behind while it is added', async () => {
    for (let round = 0; round < 5; round++) {
      const all = await callsOf(20, `race${round}`);
      const queue = await aQueue();
      await Promise.all([
        post(`/${queue}/items`, { call_ids: all, display_fields: [] }),
        app.post('/calls/delete', { project_id: PROJECT, call_ids: all.slice(0, 10) }),
      ]);
      const items = await itemsOf(queue, { include_position: true });
      expect(items.map(({ call_id }) => call_id).toSorted()).toEqual(all.slice(10).toSorted());
      expect(items.map((item) => item.position_in_queue)).toEqual(items.map((_, i) => i + 1));
      expect((await stat(queue)).total_items).toBe(10);
    }
  });
});

describe('who may', () => {
  it('find nothing of another project, and write only as writers', async () => {
    await call('mine');
    const queue = await aQueue(['mine']);
    const [item] = await itemsOf(queue);
    const stranger = { key: await app.aKey('writer', [OTHER]), project_id: OTHER };
    expect((await post(`/${queue}/items/query`, {}, stranger)).status).toBe(404);
    expect((await step(queue, item.id, 'completed', stranger)).status).toBe(404);
    expect((await post(`/${queue}/items/next`, {}, stranger)).status).toBe(404);
    const added = { call_ids: ['mine'], display_fields: [] };
    expect((await post(`/${queue}/items`, added, stranger)).status).toBe(404);
    for (const method of ['GET', 'DELETE'])
      expect((await other(method, queue, undefined, OTHER)).status).toBe(404);
    const { stats } = (await post('/stats', { queue_ids: [queue] }, stranger)).body;
    expect(stats).toEqual([{ queue_id: queue, total_items: 0, completed_items: 0 }]);
    expect((await post('/query', {}, { ...stranger, project_id: PROJECT })).status).toBe(403);
    const key = await app.aKey('reader', [PROJECT]);
    expect((await post(`/${queue}/items/query`, {}, { key })).status).toBe(200);
    expect((await step(queue, item.id, 'completed', { key })).status).toBe(403);
    expect((await post('', { name: 'n', scorer_refs: [] }, { key })).status).toBe(403);
  });
});

describe('annotations', () => {
  const ref = (rest: string, project = PROJECT) => `svc:///${project}/${rest}`;
  const aSpec = async (name: string, field_schema: object) => {
    const val = {
      _type: 'AnnotationSpec',
      name,
      field_schema,
      unique_among_creators: false,
      _class_name: 'AnnotationSpec',
      _bases: ['Object', 'BaseModel'],
    };
    const obj = { project_id: PROJECT, object_id: name, val };
    return ref(`object/${name}:${(await app.post('/obj/create', { obj })).body.digest}`);
  };
  const annotate = (callId: string, annotation_ref: string, value: unknown, fields: object = {}) =>
    app.post('/feedback/create', {
      project_id: PROJECT,
      svc_ref: ref(`call/${callId}`),
      feedback_type: `svc.annotation.${annotation_ref.split('/').at(-1)!.split(':')[0]}`,
      annotation_ref,
      payload: { value },
      ...fields,
    });
  const found = async (query: object) =>
    (
      await app.post('/calls/query', { project_id: PROJECT, query: { $expr: query } })
    ).body.calls.map(({ id }: { id: string }) => id);
  const field = (name: string) => ({ $getField: name });
  const literal = (value: unknown) => ({ $literal: value });

  it('keep the queue that they were given in, which must be there', async () => {
    const spec = await aSpec('stars', { type: 'integer', minimum: 1, maximum: 5 });
    await call('rated');
    const queue_id = await aQueue(['rated']);
    expect((await annotate('rated', spec, 4, { queue_id, id: 'f' })).status).toBe(200);
    expect((await annotate('rated', spec, 4, { queue_id, id: 'f' })).status).toBe(200);
    expect((await annotate('rated', spec, 4, { id: 'f' })).status).toBe(409);
    const query = { $expr: { $eq: [field('queue_id'), literal(queue_id)] } };
    const { body } = await app.post('/feedback/query', { project_id: PROJECT, query });
    expect(body.result).toMatchObject([{ id: 'f', queue_id, payload: { value: 4 } }]);
    const [shown] = (await app.post('/calls/query', { project_id: PROJECT, filter: { call_ids: ['rated'] }, include_feedback: true })).body.calls; // prettier-ignore
    expect(shown.summary.svc.feedback).toMatchObject([{ queue_id }]);
    for (const unknown of ['nothing', await aQueueOf(OTHER)]) {
      const refused = await annotate('rated', spec, 4, { queue_id: unknown });
      expect([refused.status, refused.body.errors]).toMatchObject([400, [{ path: 'queue_id' }]]);
    }
    const batch = ['nothing', queue_id].map((each) => ({
      project_id: PROJECT,
      svc_ref: ref('call/rated'),
      feedback_type: 'custom',
      payload: {},
      queue_id: each,
    }));
    const { res } = (await app.post('/feedback/batch/create', { batch })).body;
    expect(res[0].error).toMatchObject({ code: 'invalid_request', detail: expect.stringContaining('batch[0].queue_id') }); // prettier-ignore
    expect(res[1].id).toEqual(expect.any(String));
    await other('DELETE', queue_id);
    expect((await annotate('rated', spec, 4, { queue_id })).status).toBe(400);
  });
  const aQueueOf = async (project_id: string) =>
    (await post('', { name: 'n', scorer_refs: [] }, { project_id })).body.id;

  it.each<[object, unknown[], unknown[]]>([
    [{ type: 'integer', minimum: 1, maximum: 5 }, [1, 5], [0, 6, 1.5, '3', null]],
    [{ type: 'number', minimum: -1 }, [0.5, -1], [-2, 'x']],
    [{ type: 'boolean' }, [true, false], ['true', 1]],
    [{ type: 'string', maxLength: 3 }, ['', 'abc'], ['abcd', 3]],
    [{ type: 'string', enum: ['good', 'bad'] }, ['good'], ['ugly', null]],
  ])('satisfy %j', async (schema, good, bad) => {
    await call('judged');
    const spec = await aSpec('judged', schema);
    for (const value of good) expect((await annotate('judged', spec, value)).status).toBe(200);
    for (const value of bad)
      expect(await annotate('judged', spec, value)).toMatchObject({
        status: 400,
        body: { errors: [{ path: 'payload.value' }] },
      });
  });

  it('name an object of their project', async () => {
    const refused = await annotate('judged', ref('object/x:abc', OTHER), 1);
    expect(refused).toMatchObject({ status: 400, body: { errors: [{ path: 'annotation_ref' }] } });
  });

  it('and queues find their calls', async () => {
    const [a, b, c] = (await callsOf(3, 'seek')) as [string, string, string];
    const [first, second] = [await aQueue([a, b]), await aQueue([b])];
    const spec = await aSpec('seek', { type: 'number' });
    await annotate(b, spec, 2);
    await annotate(c, spec, 3);
    const queue = field('annotation_queue_items.queue_id');
    expect(await found({ $eq: [queue, literal(first)] })).toEqual([a, b]);
    expect(await found({ $eq: [literal(second), queue] })).toEqual([b]);
    expect(await found({ $in: [queue, [literal(first), literal(second)]] })).toEqual([a, b]);
    expect(await found({ $eq: [queue, literal('nothing')] })).toEqual([]);
    const value = field('feedback.[svc.annotation.seek].payload.value');
    const isHigh = { $gt: [value, literal(1)] };
    expect(await found({ $and: [isHigh, { $eq: [queue, literal(first)] }] })).toEqual([b]);
    expect(await found({ $and: [isHigh, { $not: [{ $eq: [queue, literal(first)] }] }] })).toEqual([c]); // prettier-ignore
    expect(await found({ $and: [isHigh, { $eq: [queue, literal(null)] }] })).toEqual([c]);
  });
});
