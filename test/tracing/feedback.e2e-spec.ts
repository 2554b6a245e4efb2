import { linesOf, useApp } from '../support/app.js';

const PROJECT = 'acme/feedback';
const OBJECT = `svc:///${PROJECT}/object/dataset:abc`;
const OP = `svc:///${PROJECT}/op/score:abc`;
const CALL = `svc:///${PROJECT}/call/c1`;

const app = useApp();

/** A body with all required members, overridden by the test. */
const body = (fields: object = {}) => ({
  project_id: PROJECT,
  svc_ref: OBJECT,
  feedback_type: 'custom',
  payload: { ok: true },
  ...fields,
});
const create = (fields: object = {}, options = {}) =>
  app.post('/feedback/create', body(fields), options);
const query = (fields: object = {}) =>
  app.post('/feedback/query', { project_id: PROJECT, ...fields });
const equals = (field: string, literal: unknown) => ({
  $expr: { $eq: [{ $getField: field }, { $literal: literal }] },
});
const isId = (id: string) => equals('id', id);
const rowOf = async (id: string) => (await query({ query: isId(id) })).body.result[0];

/** Scorer columns of feedback without scores: clients of weave accept no null here. */
const WITHOUT_SCORES = {
  scorer_tags: [],
  scorer_tag_reasons: {},
  scorer_tag_confidences: {},
  scorer_ratings: {},
  scorer_rating_reasons: {},
  scorer_rating_confidences: {},
  span_agent_name: '',
  span_agent_version: '',
  span_status_code: 'UNSET',
  span_conversation_id: '',
  span_trace_id: '',
  scorer_trace_id: '',
};

describe('/feedback/create', () => {
  it('answers id, created_at, user and payload, and nothing else', async () => {
    const key = await app.aKey('writer', ['*'], 'grace');
    const answer = await create({ svc_user_id: 'somebody else' }, { key });
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(answer.body).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7/),
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/),
      svc_user_id: 'grace',
      payload: { ok: true },
    });
  });

  it('takes the body that fills every field with an example', async () => {
    const fields = {
      id: 'id',
      creator: 'creator',
      annotation_ref: OBJECT,
      runnable_ref: OP,
      call_ref: CALL,
      trigger_ref: OBJECT,
    };
    const answer = await create({ ...fields, svc_user_id: 'svc_user_id' });
    expect(answer).toMatchObject({ status: 200, body: { id: 'id', svc_user_id: 'ada' } });
    expect(await rowOf('id')).toEqual({
      project_id: PROJECT,
      svc_ref: OBJECT,
      feedback_type: 'custom',
      payload: { ok: true },
      svc_user_id: 'ada',
      created_at: answer.body.created_at,
      queue_id: null,
      ...WITHOUT_SCORES,
      ...fields,
    });
  });

  it.each([
    '{"n": 12345678901234567890, "f": 1.0,\n "e": 1e400}',
    '{"__proto__": {"a": 1}, "constructor": 2, "toString": 3, "a": 1, "a": 2}',
    '{"nul": "\\u0000", "half": "\\ud83d", "whole": "\\ud83d\\ude00"}',
    '{}',
  ])('gives the payload back byte for byte: %s', async (payload) => {
    const id = `bytes ${payload.length}`;
    const text = JSON.stringify(body({ id })).replace('{"ok":true}', () => payload);
    const answer = await app.post('/feedback/create', text);
    expect(answer.status).toBe(200);
    expect(answer.text).toContain(`"payload":${payload}}`);
    expect((await query({ query: isId(id), fields: ['payload'] })).text).toBe(
      `{"result":[{"payload":${payload}}],"total_count":1}`,
    );
  });

  it('answers the stored row when an id comes again with the same body', async () => {
    const first = await create({ id: 'twice', creator: 'a' });
    const second = await create({ id: 'twice', creator: 'a' });
    expect(second).toMatchObject({ status: 200, text: first.text });
    expect((await query({ query: isId('twice') })).body.total_count).toBe(1);
  });

  it.each([
    ['payload', { payload: { ok: false } }],
    ['type', { feedback_type: 'other' }],
    ['ref', { svc_ref: OP }],
    ['creator', { creator: 'b' }],
    ['call_ref', { call_ref: CALL }],
    ['annotation_ref', { annotation_ref: OBJECT }],
    ['runnable_ref', { runnable_ref: OP }],
    ['trigger_ref', { trigger_ref: OBJECT }],
  ])('answers 409 when an id comes again with another %s', async (name, change) => {
    const id = `differs in ${name}`;
    await create({ id });
    const answer = await create({ id, ...change });
    expect(answer).toMatchObject({ status: 409, body: { code: 'conflict' } });
    expect(await rowOf(id)).toMatchObject(body());
  });

  it('keeps one id apart in two projects', async () => {
    const other = { project_id: 'acme/other', payload: { of: 'other' } };
    expect((await create({ id: 'shared' })).status).toBe(200);
    expect(await create({ id: 'shared', ...other })).toMatchObject({
      status: 200,
      body: { payload: other.payload },
    });
  });

  it('stores one row for many requests with one id at the same time', async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, () => create({ id: 'at once' })));
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    expect(answers[0]!.status).toBe(200);
  });

  it('answers the first row again to an Idempotency-Key, byte for byte', async () => {
    const headers = { 'idempotency-key': 'once' };
    const text = JSON.stringify(body({ feedback_type: 'retried' })).replace('true', '1.0');
    const first = await app.post('/feedback/create', text, { headers });
    const second = await app.post('/feedback/create', text, { headers });
    expect(second.text).toBe(first.text);
    expect(second.headers.get('content-type')).toBe(first.headers.get('content-type'));
    expect((await query({ query: equals('feedback_type', 'retried') })).body.total_count).toBe(1);
  });

  it.each([
    ['project_id', { project_id: 'acme' }, 'project_id'],
    ['svc_ref', { svc_ref: undefined }, 'svc_ref'],
    ['svc_ref', { svc_ref: 'wandb:///acme/demo/object/a:b' }, 'svc_ref'],
    ['svc_ref', { svc_ref: `svc:///${PROJECT}/object/a\0:b` }, 'svc_ref'],
    ['svc_ref', { svc_ref: `${OBJECT}/${'a'.repeat(2048)}` }, 'svc_ref'],
    ['feedback_type', { feedback_type: '' }, 'feedback_type'],
    ['feedback_type', { feedback_type: 'a'.repeat(256) }, 'feedback_type'],
    ['payload', { payload: [] }, 'payload'],
    ['payload', { payload: null }, 'payload'],
    ['id', { id: '' }, 'id'],
    ['annotation_ref', { annotation_ref: OP }, 'annotation_ref'],
    ['annotation_ref', { annotation_ref: 'x' }, 'annotation_ref'],
    ['runnable_ref', { runnable_ref: CALL }, 'runnable_ref'],
    ['call_ref', { call_ref: OBJECT }, 'call_ref'],
    ['trigger_ref', { trigger_ref: CALL }, 'trigger_ref'],
  ])('refuses a bad %s: %j', async (_, fields, path) => {
    const answer = await create(fields);
    expect(answer).toMatchObject({
      status: 400,
      body: { code: 'invalid_request', errors: [{ path }] },
    });
  });

  it('takes a payload of 1 MiB, and names the limit to a larger one', async () => {
    const payload = (bytes: number) => ({ payload: { a: 'x'.repeat(bytes - 8) } });
    expect((await create(payload(1024 * 1024))).status).toBe(200);
    expect(await create(payload(1024 * 1024 + 1))).toMatchObject({
      status: 413,
      body: { code: 'too_large', detail: 'payload holds 1048577 bytes, over the limit of 1048576' },
    });
  });
});

describe('reserved types', () => {
  it('names the emoji of a reaction behind what was sent', async () => {
    const sent = '{"by":"me", "emoji":"👍🏽" }';
    const text = JSON.stringify(body({ feedback_type: 'svc.reaction.1' })).replace(
      '{"ok":true}',
      sent,
    );
    const answer = await app.post('/feedback/create', text);
    expect(answer.text).toContain(
      '"payload":{"by":"me", "emoji":"👍🏽" ,"alias":":thumbs_up_medium_skin_tone:","detoned":"👍","detoned_alias":":thumbs_up:"}',
    );
  });

  it('counts a family as one emoji', async () => {
    const answer = await create({ feedback_type: 'svc.reaction.1', payload: { emoji: '👨‍👩‍👧‍👦' } });
    expect(answer).toMatchObject({
      status: 200,
      body: { payload: { alias: ':family_man_woman_girl_boy:' } },
    });
  });

  it('does not repeat what a reaction already says of its emoji', async () => {
    const first = await create({ feedback_type: 'svc.reaction.1', payload: { emoji: '🎉' } });
    const { payload } = first.body;
    const second = await create({ feedback_type: 'svc.reaction.1', payload });
    expect(second.text).toContain(`"payload":${JSON.stringify(payload)}}`);
  });

  const annotation = { feedback_type: 'svc.annotation.dataset', annotation_ref: OBJECT };
  const runnable = { feedback_type: 'svc.runnable.score', runnable_ref: OP, call_ref: CALL };
  it.each([
    ['a note', { feedback_type: 'svc.note.1', payload: { note: '😀'.repeat(1024) } }],
    ['an annotation', { ...annotation, payload: { value: null } }],
    ['a runnable', { ...runnable, payload: { output: 0 } }],
    [
      'a runnable object without a call',
      { ...runnable, runnable_ref: OBJECT, call_ref: null, payload: { output: 0 } },
    ],
    ['a type that only looks reserved', { feedback_type: 'svc.reaction.2', payload: {} }],
    ['a type of the other dialect', { feedback_type: 'wandb.note.1', payload: { note: 'x' } }],
  ])('take %s', async (_, fields) => {
    expect((await create(fields)).status).toBe(200);
  });

  it.each([
    ['two emoji', { feedback_type: 'svc.reaction.1', payload: { emoji: '👍👍' } }, 'payload.emoji'],
    ['a word', { feedback_type: 'svc.reaction.1', payload: { emoji: 'up' } }, 'payload.emoji'],
    ['no emoji', { feedback_type: 'svc.reaction.1', payload: {} }, 'payload.emoji'],
    ['an empty note', { feedback_type: 'svc.note.1', payload: { note: '' } }, 'payload.note'],
    [
      'a long note',
      { feedback_type: 'svc.note.1', payload: { note: 'a'.repeat(1025) } },
      'payload.note',
    ],
    [
      'an annotation without ref',
      { ...annotation, annotation_ref: null, payload: { value: 1 } },
      'annotation_ref',
    ],
    [
      'an annotation under another name',
      { ...annotation, feedback_type: 'svc.annotation.other', payload: { value: 1 } },
      'annotation_ref',
    ],
    ['an annotation without value', { ...annotation, payload: {} }, 'payload.value'],
    [
      'a runnable without ref',
      { ...runnable, runnable_ref: null, payload: { output: 1 } },
      'runnable_ref',
    ],
    ['an op without call', { ...runnable, call_ref: null, payload: { output: 1 } }, 'call_ref'],
    ['a runnable without output', { ...runnable, payload: {} }, 'payload.output'],
  ])('refuse %s', async (_, fields, path) => {
    expect(await create(fields)).toMatchObject({ status: 400, body: { errors: [{ path }] } });
  });
});

describe('an annotation of an object that is stored', () => {
  const publish = async (object_id: string, val: unknown) =>
    (await app.post('/obj/create', { obj: { project_id: PROJECT, object_id, val } })).body.digest;
  const annotate = (name: string, digest: string, value: unknown, options = {}) =>
    create(
      {
        feedback_type: `svc.annotation.${name}`,
        annotation_ref: `svc:///${PROJECT}/object/${name}:${digest}`,
        payload: { value },
      },
      options,
    );
  const refused = { status: 400, body: { errors: [{ path: 'payload.value' }] } };

  it('satisfies the field_schema of that version', async () => {
    const old = await publish('rating', { field_schema: { type: 'integer', maximum: 5 } });
    const digest = await publish('rating', { field_schema: { type: 'integer', maximum: 10 } });
    expect((await annotate('rating', old, 5)).status).toBe(200);
    expect(await annotate('rating', old, 9)).toMatchObject(refused);
    expect((await annotate('rating', digest, 9)).status).toBe(200);
    expect((await annotate('rating', 'unknown', 'anything')).status).toBe(200);
  });

  it('names the element of a batch that does not', async () => {
    const digest = await publish('flag', { field_schema: { type: 'boolean' } });
    const element = (value: unknown) =>
      body({
        feedback_type: 'svc.annotation.flag',
        annotation_ref: `svc:///${PROJECT}/object/flag:${digest}`,
        payload: { value },
      });
    const batch = [element(1), element(true), element('x')];
    const { body: answer } = await app.post('/feedback/batch/create', { batch });
    const refusal = {
      error: { code: 'invalid_request', detail: expect.stringMatching(/boolean/) },
    };
    expect(answer.res).toEqual([
      refusal,
      expect.objectContaining({ payload: { value: true } }),
      refusal,
    ]);
  });

  it.each([[{}], [{ field_schema: null }], ['text'], [null], [[1]]])(
    'may be anything where the object is %j',
    async (val) => {
      expect((await annotate('free', await publish('free', val), 'x')).status).toBe(200);
    },
  );

  it('is judged with all others of its batch', async () => {
    const digest = await publish('batched', { field_schema: { type: 'integer' } });
    const item = (value: unknown) =>
      body({
        feedback_type: 'svc.annotation.batched',
        annotation_ref: `svc:///${PROJECT}/object/batched:${digest}`,
        payload: { value },
      });
    const send = (last: unknown) =>
      app.post('/feedback/batch/create', {
        batch: [...Array.from({ length: 999 }, (_, i) => item(i)), item(last)],
      });
    const { res } = (await send('x')).body;
    expect(res.findIndex((row: object) => 'error' in row)).toBe(999);
  });

  it('is refused where the field_schema is none', async () => {
    const digest = await publish('broken', { field_schema: { type: 'nonsense' } });
    expect(await annotate('broken', digest, 1)).toMatchObject(refused);
  });

  it('holds up no other key, and is refused when its key has used up its time', async () => {
    const slow = await publish('slow', { field_schema: { pattern: '^(a+)+$' } });
    const quick = await publish('quick', { field_schema: { type: 'integer' } });
    const [attacker, other] = [await app.aKey('writer'), await app.aKey('writer')];
    let answered = 0;
    const send = async () => {
      const answer = await annotate('slow', slow, `${'a'.repeat(60)}b`, { key: attacker });
      answered++;
      return answer;
    };
    const attack = Array.from({ length: 12 }, send);
    expect((await annotate('quick', quick, 1, { key: other })).status).toBe(200);
    expect(answered).toBeLessThan(12);
    const answers = await Promise.all(attack);
    while (answers.at(-1)!.status === 400) answers.push(await send()); // the budget of time recovers more slowly than it is used
    expect(answers).toContainEqual(
      expect.objectContaining({
        status: 400,
        body: expect.objectContaining({
          detail: expect.stringMatching(/^payload.value could not be checked .* within \d+ ms/),
        }),
      }),
    );
    expect(answers).toContainEqual(
      expect.objectContaining({
        status: 429,
        body: expect.objectContaining({ code: 'rate_limited' }),
      }),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([400, 429]));
    expect((await annotate('quick', quick, 1, { key: other })).status).toBe(200);
  });

  it.each([
    ['an object that is too large', { a: 'x'.repeat(1024 * 1024) }, 413, '1048576 bytes'],
    [
      'a field_schema that is too long',
      { field_schema: { const: 'x'.repeat(128 * 1024) } },
      413,
      '131072',
    ],
    [
      'a field_schema that is too deep',
      `{"field_schema":${'{"not":'.repeat(101)}{}${'}'.repeat(101)}}`,
      400,
      'deeper than 100 levels',
    ],
  ])('refuses %s', async (_, val, status, detail) => {
    const json = typeof val === 'string' ? JSON.parse(val) : val;
    const digest = await publish('large', json);
    expect(await annotate('large', digest, 1)).toMatchObject({
      status,
      body: { detail: expect.stringContaining(detail) },
    });
  });

  it('names no object of another project, whether the key reaches it or not', async () => {
    const digest = await publish('hidden', { field_schema: { type: 'boolean' } });
    const fields = {
      project_id: 'acme/elsewhere',
      feedback_type: 'svc.annotation.hidden',
      annotation_ref: `svc:///${PROJECT}/object/hidden:${digest}`,
      payload: { value: 1 },
    };
    const key = await app.aKey('writer', ['acme/elsewhere']);
    const elsewhere = { status: 400, body: { errors: [{ path: 'annotation_ref' }] } };
    expect(await create(fields, { key })).toMatchObject(elsewhere);
    expect(await create(fields)).toMatchObject(elsewhere);
  });
});

describe('/feedback/batch/create', () => {
  const send = (batch: object[], options = {}) =>
    app.post('/feedback/batch/create', { batch }, options);

  it('answers every row in the order of the batch, whatever the order of their ids', async () => {
    const answer = await send([
      body({ id: 'batch z', payload: { n: 1 } }),
      body({ id: 'batch a', payload: { n: 2 } }),
      body({ payload: { n: 3 } }),
    ]);
    expect(answer.status).toBe(200);
    expect(answer.body.res.map((row: any) => row.payload.n)).toEqual([1, 2, 3]);
    expect(answer.body.res[0]).toEqual({
      id: 'batch z',
      created_at: expect.any(String),
      svc_user_id: 'ada',
      payload: { n: 1 },
    });
  });

  it('takes an empty batch, and the same row twice', async () => {
    expect(await send([])).toMatchObject({ status: 200, body: { res: [] } });
    const { body: answer } = await send([body({ id: 'dup' }), body({ id: 'dup' })]);
    expect(answer.res[0]).toEqual(answer.res[1]);
  });

  it.each<[string, object | null, string, RegExp]>([
    ['is not valid', { svc_ref: 'x' }, 'invalid_request', /batch\[1\].svc_ref/],
    ['breaks the rules of its type', { feedback_type: 'svc.note.1' }, 'invalid_request', /note/],
    ['contradicts what is stored', { id: 'taken', payload: { other: 1 } }, 'conflict', /differs/],
    ['is of a foreign project', { project_id: 'acme/secret' }, 'forbidden', /no access/],
    ['is none', null, 'invalid_request', /batch\[1\]/],
  ])('refuses an element in its place that %s', async (name, fields, code, detail) => {
    await create({ id: 'taken' });
    const ids = [`${name} 1`, `${name} 2`];
    const [first, last] = ids.map((id) => body({ id }));
    const key = await app.aKey('writer', [PROJECT]);
    const element = fields === null ? null : body(fields);
    const answer = await app.post(
      '/feedback/batch/create',
      { batch: [first, element, last] },
      { key },
    );
    expect(answer.body.res[1]).toEqual({ error: { code, detail: expect.stringMatching(detail) } });
    for (const id of ids) expect(await rowOf(id)).toBeDefined();
  });

  it('takes batches with the same ids in opposite orders at the same time', async () => {
    const rows = Array.from({ length: 60 }, (_, i) => body({ id: `crossing ${i}` }));
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, i) => send(i % 2 ? rows : rows.toReversed())),
    );
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
  });

  it('refuses more than 1000 elements', async () => {
    expect(await send(Array.from({ length: 1001 }, () => body()))).toMatchObject({
      status: 413,
      body: { detail: 'batch holds 1001 items, over the limit of 1000' },
    });
  });
});

describe('/feedback/query', () => {
  const project = { project_id: 'acme/query' };
  const ask = (fields: object = {}) => app.post('/feedback/query', { ...project, ...fields });
  beforeAll(async () => {
    for (const [id, payload] of [
      ['q1', { value: 1, tags: ['a'], long: { ['k'.repeat(80)]: 1, ['k'.repeat(81)]: 2 } }],
      ['q2', { value: 2.5 }],
      ['q3', { value: '\0' }],
      ['q4', {}],
    ] as const)
      await create({ ...project, id, payload, feedback_type: `type of ${id}` });
  });
  const idsOf = ({ body }: any) => body.result.map(({ id }: any) => id);

  it('lists the oldest first, and counts all pages', async () => {
    expect(idsOf(await ask())).toEqual(['q1', 'q2', 'q3', 'q4']);
    const page = await ask({ limit: 2, offset: 1 });
    expect(idsOf(page)).toEqual(['q2', 'q3']);
    expect(page.body.total_count).toBe(4);
    expect((await ask({ limit: 0, offset: 0 })).body).toEqual({ result: [], total_count: 4 });
    expect((await app.post('/feedback/query', { project_id: 'acme/empty' })).text).toBe(
      '{"result":[],"total_count":0}',
    );
  });

  it('filters and sorts by columns and inside the payload', async () => {
    const above1 = { $expr: { $gt: [{ $getField: 'payload.value' }, { $literal: 1 }] } };
    expect(idsOf(await ask({ query: above1 }))).toEqual(['q2']);
    expect(idsOf(await ask({ query: equals('svc_ref', OBJECT) }))).toHaveLength(4);
    expect(idsOf(await ask({ query: equals('feedback_type', 'type of q3') }))).toEqual(['q3']);
    const sort_by = [{ field: 'payload.value', direction: 'desc' }];
    expect(idsOf(await ask({ sort_by }))).toEqual(['q2', 'q1', 'q3', 'q4']);
  });

  it('answers the fields asked for, also inside the payload', async () => {
    const long = [`payload.long.${'k'.repeat(80)}`, `payload.long.${'k'.repeat(81)}`];
    const fields = ['feedback_type', 'payload.value', 'payload.tags.0', ...long];
    const { body } = await ask({ fields, limit: 2 });
    expect(body.result).toEqual([
      {
        feedback_type: 'type of q1',
        'payload.value': 1,
        'payload.tags.0': 'a',
        [long[0]!]: 1,
        [long[1]!]: 2,
      },
      {
        feedback_type: 'type of q2',
        'payload.value': 2.5,
        'payload.tags.0': null,
        [long[0]!]: null,
        [long[1]!]: null,
      },
    ]);
    expect((await ask({ fields: ['payload.value'], limit: 1 })).body.result).toEqual([
      { 'payload.value': 1 },
    ]);
    expect((await ask({ fields: [], limit: 1 })).body.result[0].id).toBe('q1');
  });

  it('answers no part of a payload more than 4 times', async () => {
    const message = 'must not ask for the same part of the payload more than 4 times';
    const refused = { status: 400, body: { errors: [{ path: 'fields', message }] } };
    const four = ['payload', 'payload.tags', 'payload.[tags]', 'payload.tags.0', 'payload.value'];
    expect((await ask({ fields: four, limit: 1 })).body.result).toEqual([
      expect.objectContaining({ 'payload.tags.0': 'a', 'payload.[tags]': ['a'] }),
    ]);
    for (const fifth of [
      'payload.tags.[0]',
      'payload.tags.00',
      'payload.tags.0.x',
      'payload.[tags].0',
    ])
      expect(await ask({ fields: [...four, fifth] })).toMatchObject(refused);
    const nested = Array.from({ length: 240 }, (_, i) => `payload${'.a'.repeat(i % 60)}.[b]`);
    expect(await ask({ fields: nested })).toMatchObject({ status: 200 });
    const chain = Array.from({ length: 60 }, (_, i) => `payload${'.a'.repeat(i + 1)}`);
    expect(await ask({ fields: chain })).toMatchObject(refused);
  });

  it('takes 32 KiB of paths, of 64 steps each', async () => {
    const long = Array.from({ length: 34 }, (_, i) => `payload.${'k'.repeat(980)}${i}`);
    expect(await ask({ fields: long })).toMatchObject({
      status: 400,
      body: {
        errors: [
          { path: 'fields', message: 'exceeds the limit of 32768 bytes for all field names' },
        ],
      },
    });
    expect(await ask({ fields: [`payload${'.a'.repeat(64)}`] })).toMatchObject({
      status: 400,
      body: { errors: [{ path: 'fields', message: 'must not have more than 64 steps' }] },
    });
  });

  it('answers up to 250 fields inside the payload', async () => {
    const fields = ['id', ...Array.from({ length: 251 }, (_, i) => `payload.f${i}`)];
    const { body } = await ask({ fields: fields.slice(0, -1), limit: 1 });
    expect(Object.keys(body.result[0])).toEqual(fields.slice(0, -1));
    expect(await ask({ fields })).toMatchObject({
      status: 400,
      body: { errors: [{ path: 'fields' }] },
    });
  });

  it.each([
    [{ fields: ['id', 'secret'] }, 'fields[1]'],
    [{ fields: ['__proto__'] }, 'fields[0]'],
    [{ query: { $expr: { $getField: 'secret' } } }, 'query.$expr.$getField'],
    [{ query: {} }, 'query.$expr'],
    [{ sort_by: [{ field: 'secret', direction: 'asc' }] }, 'sort_by[0].field'],
    [{ limit: -1 }, 'limit'],
    [{ project_id: undefined }, 'project_id'],
  ])('refuses %j', async (fields, path) => {
    expect(await ask(fields)).toMatchObject({ status: 400, body: { errors: [{ path }] } });
  });
});

describe('/feedback/stats', () => {
  const project_id = 'acme/stats';
  const trigger = 'svc:///acme/stats/object/judge';
  const ask = (fields: object) =>
    app.post('/feedback/stats', {
      project_id,
      start: '2026-03-01',
      end: '2026-03-03',
      granularity: 86_400,
      ...fields,
    });
  beforeAll(async () => {
    const score = async (day: number, payload: object, more = {}) => {
      const { id } = (
        await app.post('/feedback/create', {
          ...body({ payload, feedback_type: 'score', ...more }),
          project_id,
        })
      ).body;
      await app.query(`UPDATE feedback SET created_at = $1 WHERE id = $2`, [
        `2026-03-0${day}T12:00Z`,
        id,
      ]);
    };
    await score(
      1,
      { output: { score: 1, ok: true, label: 'a' } },
      { trigger_ref: `${trigger}:v0` },
    );
    await score(
      1,
      { output: { score: 4.5, ok: false, label: 'b' } },
      { trigger_ref: `${trigger}:v1` },
    );
    await score(1, { output: { score: 'no number', ok: true } }, { trigger_ref: `${trigger}2:v0` });
    await score(2, { output: { score: -2, note: '\u0000' } }, { feedback_type: 'other' });
    await score(3, { output: { score: 100 } });
  });

  it('answers numbers, booleans and words by bucket and of the window', async () => {
    const answer = await ask({
      metrics: [
        { json_path: 'output.score', aggregations: ['avg', 'count', 'sum'], percentiles: [50] },
        { json_path: 'output.ok', value_type: 'boolean' },
        { json_path: 'output.label', value_type: 'categorical' },
      ],
    });
    const first = { avg: 2.75, count: 2, sum: 5.5, p50: 2.75 };
    expect(answer.body).toEqual({
      start: '2026-03-01T00:00:00.000000Z',
      end: '2026-03-03T00:00:00.000000Z',
      granularity: 86_400,
      timezone: 'UTC',
      buckets: [
        {
          timestamp: '2026-03-01T00:00:00.000000Z',
          count: 3,
          ...Object.fromEntries(
            Object.entries(first).map(([name, n]) => [`${name}_output_score`, n]),
          ),
          count_true_output_ok: 2,
          count_false_output_ok: 1,
          count_output_label: 2,
        },
        {
          timestamp: '2026-03-02T00:00:00.000000Z',
          count: 1,
          avg_output_score: -2,
          count_output_score: 1,
          sum_output_score: -2,
          p50_output_score: -2,
          count_true_output_ok: 0,
          count_false_output_ok: 0,
          count_output_label: 0,
        },
      ],
      window_stats: {
        output_score: { avg: 3.5 / 3, count: 3, sum: 3.5, p50: 1 },
        output_ok: { count_true: 2, count_false: 1 },
        output_label: { count: 2 },
      },
    });
  });

  it.each([
    [20, 'a'],
    [1, 'a'.repeat(1000)],
  ])('refuses an answer of too many values, or of too long names: %d', async (count, path) => {
    const metrics = Array.from({ length: count }, () => ({
      json_path: path,
      aggregations: ['sum', 'avg'],
    }));
    const window = { start: '2026-01-01', end: '2026-03-01', granularity: 600 };
    expect(await ask({ ...window, metrics })).toMatchObject({ status: 413 });
    expect((await ask({ ...window, metrics: [{ json_path: 'a' }] })).status).toBe(200);
  });

  it('looks at a type, and at a trigger or all of its versions', async () => {
    const metrics = [{ json_path: 'output.score' }];
    const window = async (fields: object) =>
      (await ask({ metrics, ...fields })).body.window_stats.output_score;
    expect(await window({ feedback_type: 'other' })).toEqual({ avg: -2, min: -2, max: -2 });
    expect(await window({ trigger_ref: `${trigger}:v1` })).toMatchObject({ max: 4.5, min: 4.5 });
    expect(await window({ trigger_ref: `${trigger}:*` })).toMatchObject({ max: 4.5, min: 1 });
    expect(await window({ feedback_type: 'none' })).toEqual({ avg: null, min: null, max: null });
    const plain = (await ask({ timezone: 'Europe/Berlin' })).body;
    expect(plain.buckets.map(({ count }: any) => count)).toEqual([3, 1, 0]);
    expect(plain.window_stats).toEqual({});
  });

  it.each([
    [{ end: '2026-03-01' }, 'end'],
    [{ start: 'yesterday' }, 'start'],
    [{ timezone: 'Mars/Olympus' }, 'timezone'],
    [{ metrics: [{ json_path: '' }] }, 'metrics[0].json_path'],
    [{ metrics: [{ json_path: 'a', value_type: 'text' }] }, 'metrics[0].value_type'],
    [{ metrics: [{ json_path: 'a', percentiles: [101] }] }, 'metrics[0].percentiles[0]'],
    [{ metrics: [{ json_path: 'a.'.repeat(70) }] }, 'metrics[0].json_path'],
  ])('refuses %j', async (sent, path) => {
    const { status, body: problem } = await ask(sent);
    expect([status, problem.errors[0].path]).toEqual([400, path]);
  });
});

describe('/feedback/purge', () => {
  const purge = (fields: object, options = {}) =>
    app.post('/feedback/purge', { project_id: PROJECT, ...fields }, options);

  it('deletes what the query holds for', async () => {
    for (const id of ['purge 1', 'purge 2', 'purge 3'])
      await create({ id, feedback_type: 'purged' });
    const oneOf = { $expr: { $or: ['purge 1', 'purge 3'].map((id) => isId(id).$expr) } };
    expect(await purge({ query: oneOf })).toMatchObject({ status: 200, text: '{}' });
    const left = await query({ query: equals('feedback_type', 'purged') });
    expect(left.body.result).toMatchObject([{ id: 'purge 2' }]);
  });

  it.each([[{}], [{ query: null }], [{ query: { $expr: { $nothing: 1 } } }]])(
    'refuses %j',
    async (fields) => {
      expect((await purge(fields)).status).toBe(400);
    },
  );
});

describe('/feedback/replace', () => {
  const replace = (fields: object, options = {}) =>
    app.post('/feedback/replace', body(fields), options);

  it('deletes one row and stores another', async () => {
    await create({ id: 'old' });
    const answer = await replace({ feedback_id: 'old', id: 'new', payload: { n: 2 } });
    expect(answer).toMatchObject({ status: 200, body: { id: 'new', payload: { n: 2 } } });
    expect(await rowOf('old')).toBeUndefined();
    expect(await replace({ feedback_id: 'new', id: 'new', payload: { n: 3 } })).toMatchObject({
      status: 200,
    });
    expect(await rowOf('new')).toMatchObject({ payload: { n: 3 } });
  });

  it('keeps the old row when the new one is refused', async () => {
    await create({ id: 'kept' });
    await create({ id: 'in the way' });
    expect(await replace({ feedback_id: 'kept', id: 'in the way', payload: {} })).toMatchObject({
      status: 409,
    });
    expect(await replace({ feedback_id: 'kept', feedback_type: 'svc.note.1' })).toMatchObject({
      status: 400,
    });
    expect(await rowOf('kept')).toBeDefined();
  });

  it.each(['a row', 'no row'])('leaves one row of many at once that replace %s', async (what) => {
    const feedback_id = `raced for, ${what}`;
    if (what === 'a row') await create({ id: feedback_id, feedback_type: what });
    const payloads = Array.from({ length: 20 }, (_, n) => ({ n }));
    const answers = await Promise.all(
      payloads.map((payload) => replace({ feedback_id, feedback_type: what, payload })),
    );
    expect(answers.map(({ body }) => body)).toEqual(
      payloads.map((payload) => expect.objectContaining({ id: feedback_id, payload })),
    );
    const { body: left } = await query({ query: equals('feedback_type', what) });
    expect(left.result).toMatchObject([{ id: feedback_id }]);
  });

  it('may be repeated after the old row is gone', async () => {
    const fields = { feedback_id: 'gone', id: 'here' };
    const first = await replace(fields);
    expect(await replace(fields)).toMatchObject({ status: 200, text: first.text });
  });
});

describe('calls and their feedback', () => {
  const project_id = 'acme/called';
  const onCall = (call: string, fields: object) =>
    create({ project_id, svc_ref: `svc:///${project_id}/call/${call}`, ...fields });
  const calls = (fields: object) => app.post('/calls/stream_query', { project_id, ...fields });
  const idsOf = (answer: any) => linesOf(answer).map(({ id }) => id);
  const score = (literal: number) => ({
    $expr: { $gte: [{ $getField: 'feedback.[svc.score.1].payload.n' }, { $literal: literal }] },
  });

  beforeAll(async () => {
    for (const id of ['a', 'b', 'c'])
      await app.post('/call/start', {
        start: { project_id, id, op_name: 'op', started_at: '2026-01-01', inputs: {} },
      });
    await onCall('a', { feedback_type: 'svc.score.1', payload: { n: 9 } });
    await onCall('a', { feedback_type: 'svc.score.1', payload: { n: 1, nul: '\0' } });
    await onCall('b', { feedback_type: 'svc.score.1', payload: { n: 5 } });
    await onCall('b', { feedback_type: 'other', payload: { n: 10 } });
    await create({
      project_id: 'acme/elsewhere',
      svc_ref: `svc:///${project_id}/call/c`,
      feedback_type: 'svc.score.1',
      payload: { n: 99 },
    });
  });

  it('are found by the latest feedback of a type, of their own project', async () => {
    expect(idsOf(await calls({ query: score(1) }))).toEqual(['a', 'b']);
    expect(idsOf(await calls({ query: score(2) }))).toEqual(['b']);
    expect((await app.post('/calls/query_stats', { project_id, query: score(1) })).body.count).toBe(
      2,
    );
    const any = { $expr: { $eq: [{ $getField: 'feedback.[*].payload.n' }, { $literal: 10 }] } };
    expect(idsOf(await calls({ query: any }))).toEqual(['b']);
  });

  it('are sorted by it, calls without it last', async () => {
    const sort_by = [{ field: 'feedback.[svc.score.1].payload.n', direction: 'desc' }];
    expect(idsOf(await calls({ sort_by }))).toEqual(['b', 'a', 'c']);
  });

  it('have no feedback of a type that PostgreSQL cannot hold', async () => {
    const query = { $expr: { $eq: [{ $getField: 'feedback.[a\0].payload.n' }, { $literal: 1 }] } };
    expect(await calls({ query })).toMatchObject({ status: 200, text: '' });
  });

  it.each(['feedback', 'feedback.[x]', 'feedback.[x].creator'])(
    'have no field %s',
    async (field) => {
      expect((await calls({ query: equals(field, 1) })).status).toBe(400);
      expect((await calls({ columns: [field] })).status).toBe(400);
    },
  );

  it('bring it along as /feedback/query shows it', async () => {
    const [a, b, c] = linesOf(await calls({ include_feedback: true, columns: ['id'] }));
    const ofCall = async (call: string) =>
      (
        await app.post('/feedback/query', {
          project_id,
          query: equals('svc_ref', `svc:///${project_id}/call/${call}`),
        })
      ).body.result;
    expect(a.summary.svc.feedback).toEqual(await ofCall('a'));
    expect(a.summary.svc.feedback).toHaveLength(2);
    expect(b.summary.svc.feedback).toEqual(await ofCall('b'));
    expect(c.summary.svc.feedback).toEqual([]);
    expect(linesOf(await calls({}))[0].summary.svc).not.toHaveProperty('feedback');
  });

  it('bring along the newest 1000 pieces, and of these 8 MiB of payload', async () => {
    for (const id of ['large', 'many'])
      await app.post('/call/start', {
        start: { project_id, id, op_name: 'op', started_at: '2026-01-01', inputs: {} },
      });
    for (let i = 0; i < 10; i++)
      await onCall('large', { id: `large ${i}`, payload: { text: 'é'.repeat(500_000) } });
    const svc_ref = `svc:///${project_id}/call/many`;
    await onCall('many', { id: 'the oldest' });
    const batch = Array.from({ length: 1000 }, () => body({ project_id, svc_ref }));
    await app.post('/feedback/batch/create', { batch });
    const filter = { call_ids: ['large', 'many'] };
    const [large, many] = linesOf(await calls({ include_feedback: true, filter })).map(
      (call: any) => call.summary.svc.feedback.map(({ id }: any) => id),
    );
    expect(large).toEqual(Array.from({ length: 8 }, (_, i) => `large ${i + 2}`));
    expect(many).toHaveLength(1000);
    expect(many).not.toContain('the oldest');
  });
});

describe('feedback on deleted calls', () => {
  const project_id = 'acme/feedback-deleted';
  const ref = (id: string, kind = 'call') => `svc:///${project_id}/${kind}/${id}`;
  const ask = async (path: string, more: object = {}) => {
    const answer = await app.post(path, { project_id, ...more });
    expect([answer.status, answer.text]).toEqual([200, expect.anything()]);
    return answer.body;
  };
  const start = Date.now() - 60_000;
  /** Reads the feedback through every operation that returns it, and expects that they agree. */
  const answered = async () => {
    const { result, total_count } = await ask('/feedback/query');
    const ids = result.map(({ payload }: any) => payload.on);
    expect(total_count).toBe(ids.length);
    const { buckets } = await ask('/feedback/aggregate', {
      after_ms: start,
      before_ms: Date.now() + 60_000,
    });
    const counted = buckets.reduce((sum: number, bucket: any) => sum + bucket.total_count, 0);
    const window = { start: new Date(start).toISOString(), end: new Date().toISOString() };
    const metrics = [{ json_path: 'n', aggregations: ['count', 'sum'] }];
    const { window_stats } = await ask('/feedback/stats', { ...window, metrics });
    return { ids, counted, sum: window_stats?.n?.sum ?? null };
  };

  it('is answered by no reader, and comes back with nothing', async () => {
    const call = (id: string, more = {}) => ({
      mode: 'start',
      req: {
        start: {
          project_id,
          id,
          trace_id: 't1',
          op_name: 'op',
          started_at: new Date(start).toISOString(),
          attributes: {},
          inputs: {},
          ...more,
        },
      },
    });
    const batch = [
      call('kept'),
      call('parent'),
      call('child', { parent_id: 'parent' }),
      call('alone', { trace_id: 't2' }),
    ];
    await app.post('/call/upsert_batch', { batch });
    const on = [
      [1, ref('kept')],
      [2, ref('parent')],
      [4, `wandb:///${project_id}/call/child`.replace('wandb', 'weave')],
      [8, `${ref('child')}/output`],
      [16, ref('unknown')],
      [32, ref('t1', 'agent_turn')],
      [64, ref('t2', 'agent_turn')],
      [128, ref('alone', 'agent_span')],
      [256, `svc:///acme/elsewhere/call/parent`],
    ] as const;
    for (const [n, svc_ref] of on)
      await app.post('/feedback/create', {
        project_id,
        svc_ref,
        feedback_type: 'custom',
        payload: { on: n, n },
      });
    const before = await answered();
    expect(before).toMatchObject({ ids: [1, 2, 4, 8, 16, 32, 64, 128, 256], sum: 511 });
    await ask('/calls/delete', { call_ids: ['parent', 'alone'] });
    const after = await answered();
    expect(after).toEqual({ ids: [1, 16, 32, 256], sum: 305, counted: before.counted - 5 });
    // later feedback on deleted calls is not returned either
    await app.post('/feedback/create', {
      project_id,
      svc_ref: ref('child'),
      feedback_type: 'custom',
      payload: { on: 'late' },
    });
    expect((await answered()).ids).toEqual([1, 16, 32, 256]);
    // a purge removes it too
    await ask('/feedback/purge', {
      query: { $expr: { $eq: [{ $getField: 'feedback_type' }, { $literal: 'custom' }] } },
    });
    const [{ count }] = await app.query(
      'SELECT count(*)::int AS count FROM feedback WHERE project_id = $1',
      [project_id],
    );
    expect(count).toBe(0);
  });
});
