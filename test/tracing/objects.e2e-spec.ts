import { objectDigest } from '../../src/tracing/objects/digests/digest.js';
import type { ObjectsQueryDto } from '../../src/tracing/objects/objects.dto.js';
import { unlessCluster } from '../support/database.js';
import { basic, send, startApp, type TestApp } from '../support/app.js';
import { type Server, startServer } from '../support/server.js';
import { lockQuery, objectsQuery } from '../../src/tracing/objects/objects.query.js';
import { ObjectsService } from '../../src/tracing/objects/objects.service.js';

const PROJECT = 'acme/demo';
let app: TestApp;
let names = 0;

beforeAll(async () => {
  app = await startApp();
});
afterAll(() => app.close());

const aName = () => `object-${names++}`;
const aProject = () => `acme/p${names++}`;

/** Publishes a value given as JSON text. */
async function publish(text: string, { object_id = aName(), project_id = PROJECT } = {}) {
  const answer = await app.post(
    '/obj/create',
    `{"obj":{"project_id":"${project_id}","object_id":"${object_id}","val":${text}}}`,
  );
  expect(answer.status).toBe(200);
  return answer.body as { digest: string; object_id: string; version_index: number };
}

const read = (object_id: string, digest: string, project_id = PROJECT, more = {}) =>
  app.post('/obj/read', { project_id, object_id, digest, ...more });

const remove = (object_id: string, digests?: string[] | null, project_id = PROJECT) =>
  app.post('/obj/delete', { project_id, object_id, digests });

async function list(project_id: string, body: object = {}) {
  const answer = await app.post('/objs/query', { project_id, ...body });
  expect(answer.status).toBe(200);
  return answer.body.objs as any[];
}

const indexes = (objs: any[]) => objs.map(({ version_index }) => version_index);
const latest = (objs: any[]) =>
  objs.filter(({ is_latest }) => is_latest === 1).map(({ version_index }) => version_index);

const OP = '{"_type":"CustomWeaveType","weave_type":{"type":"Op"},"files":{"obj.py":"x"}}';

it('gives a large value the digest that a small one would get', async () => {
  const val = `{"b":"${'\u00fc'.repeat(300_000)}","a":1.0}`;
  expect(val.length).toBeGreaterThan(256 * 1024);
  const text = `{"obj":{"project_id":"acme/large","object_id":"o","val":${val}}}`;
  const { body } = await app.post('/obj/create', text);
  expect(body.digest).toBe(objectDigest(val));
});

it('refuses a value of more members than a digest is computed of', async () => {
  const val = `[${'{},'.repeat(1_000_000)}{}]`;
  const text = `{"obj":{"project_id":"acme/large","object_id":"o","val":${val}}}`;
  expect(await app.post('/obj/create', text)).toMatchObject({
    status: 413,
    body: { detail: 'a value holds more than 1000000 arrays, objects and members' },
  });
});

describe('POST /obj/create', () => {
  it('answers the digest, the name and the index of the version', async () => {
    expect(await publish('{"x":1.0}', { object_id: 'first' })).toEqual({
      digest: 'hXYo5CD9tT04YhwV9Lb3Yn20n4eGfwZO2DFpPCvifmA',
      object_id: 'first',
      version_index: 0,
    });
  });

  it.each([
    ['{"a": 2, "b": 1}', 'IVAduvcYUiOTTSIoPwHKY0EyvB3kqVUMHtDfYrOXoyM'],
    ['{"b":1,"a":2}', 'IVAduvcYUiOTTSIoPwHKY0EyvB3kqVUMHtDfYrOXoyM'],
    ['{"x":1.0}', 'hXYo5CD9tT04YhwV9Lb3Yn20n4eGfwZO2DFpPCvifmA'],
    ['{"x": 1e-07}', '0fYzVbSMsPisyY4M8yc07JWyLUcehk90qogTwi7hCrg'],
    ['{"x": 12345678901234567890}', 'Aj9x6D1bXQCSpQXKYnqQn3FYn4SeJrDqAPgq5YzJ5W4'],
    ['{"k": "\u00e9"}', 'zZjU1kzUeU30twHX86DnQMD03UIkKKG3dPt4I1OeKsc'],
    ['{"\u{1f600}": 1, "\uff5e": 2}', 'lg1qR8C2js9D4Wfv83LfOYHonRepvcvX47nTGWb2Ulk'],
    ['"hello"', 'WqdirjgYu3J688ejbUlApbjECpiUUtIwT8lYYz81Tno'],
    ['null', 'dCNOmKYnSYX12vHzasLXiswzlGT5UHA7jAGYkvmCuQs'],
  ])('computes the digest of %s as clients do', async (text, digest) => {
    expect((await publish(text)).digest).toBe(digest);
  });

  it.each([
    '{"x":1.0,"y":12345678901234567890}',
    '[-0.0, 1e22, 0.1e1, 5e-324, 1.7976931348623157e308, -0]',
    '{"__proto__":{"a":1},"constructor":2,"toString":3}',
    String.raw`{"\u0000":"\u0000","half":"\ud83d","whole":"\ud83d\ude00"}`,
    '{"b":1,  "a" : [ 1,2 ],\n"b":2}',
    '"text"',
    'null',
    'false',
    '0',
    '[]',
  ])('keeps %s byte for byte', async (text) => {
    const { object_id, digest } = await publish(text);
    const answer = await read(object_id, digest);
    expect(answer.text).toContain(`"val":${text},"deleted_at"`);
    expect(digest).toBe(objectDigest(text));
    const [row] = await app.query('SELECT val::text FROM object_versions WHERE object_id = $1', [
      object_id,
    ]);
    expect(row.val).toBe(text);
  });

  it('makes a new version the latest one', async () => {
    const object_id = aName();
    expect((await publish('1', { object_id })).version_index).toBe(0);
    expect((await publish('2', { object_id })).version_index).toBe(1);
    const objs = await list(PROJECT, { filter: { object_ids: [object_id] } });
    expect(objs.map(({ val, is_latest }) => [val, is_latest])).toEqual([
      [1, 0],
      [2, 1],
    ]);
  });

  it('stores a live digest once, keeps its first spelling, and makes it the latest again', async () => {
    const object_id = aName();
    await publish('{"a": 1}', { object_id });
    await publish('2', { object_id });
    expect((await publish('{"a":1}', { object_id })).version_index).toBe(0);
    const objs = await list(PROJECT, { filter: { object_ids: [object_id] } });
    expect(indexes(objs)).toEqual([0, 1]);
    expect(latest(objs)).toEqual([0]);
    expect((await read(object_id, 'latest')).text).toContain('"val":{"a": 1},');
  });

  it('makes a new version of a digest that was deleted', async () => {
    const object_id = aName();
    const { digest } = await publish('1', { object_id });
    await publish('2', { object_id });
    await remove(object_id, [digest]);
    expect((await publish('1', { object_id })).version_index).toBe(2);
    const objs = await list(PROJECT, { filter: { object_ids: [object_id] } });
    expect(indexes(objs)).toEqual([1, 2]);
    expect(latest(objs)).toEqual([2]);
    expect((await read(object_id, digest)).body.obj.version_index).toBe(2);
  });

  it('derives kind and classes from the value', async () => {
    const op = await publish(OP);
    const model = await publish(
      '{"_class_name":"Chat\\u0000","_bases":["Prompt","Object","BaseModel"]}',
    );
    expect((await read(op.object_id, 'v0')).body.obj).toMatchObject({
      kind: 'op',
      base_object_class: null,
      leaf_object_class: null,
    });
    expect((await read(model.object_id, 'v0')).body.obj).toMatchObject({
      kind: 'object',
      base_object_class: 'Prompt',
      leaf_object_class: 'Chat\ufffd',
    });
  });

  it('sets the user from the key, whatever the client says', async () => {
    const key = await app.aKey('writer', [PROJECT], 'grace');
    const object_id = aName();
    await app.post(
      '/obj/create',
      { obj: { project_id: PROJECT, object_id, val: 1, svc_user_id: 'mallory', wb_user_id: 'm' } },
      { key },
    );
    expect((await read(object_id, 'v0')).body.obj.svc_user_id).toBe('grace');
  });

  it('takes null for every optional field, and ignores unknown ones', async () => {
    const object_id = aName();
    const answer = await app.post('/obj/create', {
      obj: { project_id: PROJECT, object_id, val: {}, expected_digest: null, odd: 1 },
      more: true,
    });
    expect(answer.status).toBe(200);
  });

  it('takes a value of 20 MiB', async () => {
    const text = `"${'x'.repeat(20 * 1024 * 1024)}"`;
    const { object_id } = await publish(text);
    const answer = await read(object_id, 'latest');
    expect(answer.text).toContain(text);
    const [obj] = await list(PROJECT, {
      filter: { object_ids: [object_id] },
      metadata_only: true,
      include_storage_size: true,
    });
    expect(obj).toMatchObject({ val: {}, size_bytes: text.length });
  });

  it('answers 409 when the digest is not the expected one, and stores nothing', async () => {
    const object_id = aName();
    const obj = { project_id: PROJECT, object_id, val: { x: 1 } };
    const refused = await app.post('/obj/create', { obj: { ...obj, expected_digest: 'other' } });
    expect(refused).toMatchObject({ status: 409, body: { code: 'conflict' } });
    expect((await read(object_id, 'latest')).status).toBe(404);
    const expected_digest = 'YTYlqmU0Pbsbmr5qusZ3P1yRvWDT8vX34urmnh24sic';
    expect((await app.post('/obj/create', { obj: { ...obj, expected_digest } })).status).toBe(200);
  });

  it.each([
    ['obj', {}],
    ['obj', { obj: null }],
    ['obj', { obj: [] }],
    ['obj.project_id', { obj: { object_id: 'a', val: 1 } }],
    ['obj.project_id', { obj: { project_id: 'acme', object_id: 'a', val: 1 } }],
    ['obj.object_id', { obj: { project_id: PROJECT, val: 1 } }],
    ['obj.object_id', { obj: { project_id: PROJECT, object_id: '', val: 1 } }],
    ['obj.object_id', { obj: { project_id: PROJECT, object_id: 'a/b', val: 1 } }],
    ['obj.object_id', { obj: { project_id: PROJECT, object_id: 'a\n', val: 1 } }],
    ['obj.object_id', { obj: { project_id: PROJECT, object_id: 'é', val: 1 } }],
    ['obj.object_id', { obj: { project_id: PROJECT, object_id: 'x'.repeat(129), val: 1 } }],
    ['obj.object_id', { obj: { project_id: PROJECT, object_id: 7, val: 1 } }],
    ['obj.val', { obj: { project_id: PROJECT, object_id: 'a' } }],
    [
      'obj.expected_digest',
      { obj: { project_id: PROJECT, object_id: 'a', val: 1, expected_digest: 7 } },
    ],
  ])('refuses a bad %s: %j', async (path, body) => {
    const answer = await app.post('/obj/create', body);
    expect(answer).toMatchObject({ status: 400, body: { code: 'invalid_request' } });
    expect(answer.body.errors[0].path).toBe(path);
  });

  it('refuses a value nested too deeply', async () => {
    const val = '['.repeat(1001) + ']'.repeat(1001);
    const answer = await app.post(
      '/obj/create',
      `{"obj":{"project_id":"${PROJECT}","object_id":"deep","val":${val}}}`,
    );
    expect(answer).toMatchObject({ status: 400, body: { code: 'invalid_request' } });
  });
});

describe('64 clients of two processes that publish to one name', () => {
  let other: Server;
  beforeAll(async () => {
    other = await startServer({ DATABASE_URL: app.databaseUrl });
  });
  afterAll(() => other.stop());

  it('make dense versions, one of them the latest, and no error', async () => {
    const object_id = aName();
    const project_id = aProject();
    const answers = await Promise.all(
      Array.from({ length: 64 }, async (_, client) => {
        const own = [];
        for (let i = 0; i < 4; i++) {
          const obj = { project_id, object_id, val: [client >> 1, i] };
          const url = client % 2 ? app.url : other.url;
          own.push(await send(`${url}/obj/create`, { obj }, { authorization: basic(app.key) }));
        }
        return own;
      }),
    );
    const objs = await list(project_id);
    expect(indexes(objs)).toEqual(Array.from({ length: 128 }, (_, i) => i));
    expect(latest(objs)).toHaveLength(1);
    const byDigest = new Map(objs.map(({ digest, version_index }) => [digest, version_index]));
    for (const { status, body } of answers.flat()) {
      expect(status).toBe(200);
      expect(body.version_index).toBe(byDigest.get(body.digest));
    }
  });

  it('keep one latest version while others delete', async () => {
    const object_id = aName();
    const project_id = aProject();
    const statuses = await Promise.all(
      Array.from({ length: 64 }, async (_, client) => {
        const { digest } = await publish(String(client % 8), { object_id, project_id });
        if (client % 2) return (await remove(object_id, [digest], project_id)).status;
        return 200;
      }),
    );
    expect(statuses.filter((status) => status !== 200 && status !== 404)).toEqual([]);
    const rows = await app.query(
      'SELECT version_index, is_latest, deleted_at FROM object_versions WHERE project_id = $1 ORDER BY version_index',
      [project_id],
    );
    expect(indexes(rows)).toEqual(rows.map((_, i) => i));
    const live = rows.filter(({ deleted_at }) => deleted_at === null);
    expect(rows.filter(({ is_latest }) => is_latest)).toHaveLength(live.length > 0 ? 1 : 0);
  });
});

describe('POST /obj/read', () => {
  it('finds a version by digest, index and latest', async () => {
    const object_id = aName();
    const { digest } = await publish('"a"', { object_id });
    await publish('"b"', { object_id });
    for (const [word, val] of [
      [digest, 'a'],
      ['v0', 'a'],
      ['v1', 'b'],
      ['latest', 'b'],
    ] as const)
      expect((await read(object_id, word)).body.obj.val).toBe(val);
  });

  it('answers every field', async () => {
    const { object_id, digest } = await publish('{"a":1}');
    const { obj } = (await read(object_id, digest)).body;
    expect(obj).toEqual({
      project_id: PROJECT,
      object_id,
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/),
      digest,
      version_index: 0,
      is_latest: 1,
      kind: 'object',
      base_object_class: null,
      leaf_object_class: null,
      val: { a: 1 },
      deleted_at: null,
      svc_user_id: 'ada',
    });
    expect((await read(object_id, digest, PROJECT, { metadata_only: true })).body.obj).toEqual({
      ...obj,
      val: {},
    });
    expect((await read(object_id, digest, PROJECT, { metadata_only: null })).body.obj).toEqual(obj);
  });

  it.each(['latest', 'v1', 'v01', 'v99999999999', 'nothing', ''])(
    'answers 404 for the version %j that does not exist',
    async (word) => {
      await publish('1', { object_id: 'only-v0', project_id: 'acme/other' });
      const answer = await read(word === 'latest' ? 'none' : 'only-v0', word, 'acme/other');
      expect(answer).toMatchObject({ status: 404, body: { code: 'not_found' } });
      expect(answer.body).not.toHaveProperty('deleted_at');
    },
  );

  it('answers 404 with deleted_at for a deleted version', async () => {
    const { object_id, digest } = await publish('1');
    await remove(object_id);
    for (const word of [digest, 'v0', 'latest'])
      expect(await read(object_id, word)).toMatchObject({
        status: 404,
        body: {
          code: 'not_found',
          deleted_at: expect.stringMatching(/^\d{4}-.*\.\d{6}Z$/),
        },
      });
  });

  it.each([
    ['project_id', { object_id: 'a', digest: 'v0' }],
    ['object_id', { project_id: PROJECT, digest: 'v0' }],
    ['digest', { project_id: PROJECT, object_id: 'a' }],
    ['digest', { project_id: PROJECT, object_id: 'a', digest: 0 }],
    ['digest', { project_id: PROJECT, object_id: 'a', digest: '\0' }],
    ['metadata_only', { project_id: PROJECT, object_id: 'a', digest: 'v0', metadata_only: 1 }],
  ])('refuses a bad %s: %j', async (path, body) => {
    const answer = await app.post('/obj/read', body);
    expect(answer.status).toBe(400);
    expect(answer.body.errors[0].path).toBe(path);
  });
});

describe('POST /obj/delete', () => {
  it('deletes the versions named, by digest, index and latest; the newest left is the latest', async () => {
    const object_id = aName();
    const { digest } = await publish('0', { object_id });
    for (const text of ['1', '2', '3', '4']) await publish(text, { object_id });
    const answer = await remove(object_id, [digest, 'v2', 'latest', 'v4']);
    expect(answer).toMatchObject({ status: 200, body: { num_deleted: 3 } });
    const objs = await list(PROJECT, { filter: { object_ids: [object_id] } });
    expect(indexes(objs)).toEqual([1, 3]);
    expect(latest(objs)).toEqual([3]);
  });

  it('leaves the latest version the latest when others go', async () => {
    const object_id = aName();
    for (const text of ['0', '1', '2', '0']) await publish(text, { object_id });
    await remove(object_id, ['v1']);
    expect(latest(await list(PROJECT, { filter: { object_ids: [object_id] } }))).toEqual([0]);
  });

  it.each([undefined, null])('deletes all versions when digests is %s', async (digests) => {
    const object_id = aName();
    for (const text of ['0', '1']) await publish(text, { object_id });
    expect((await remove(object_id, digests)).body).toEqual({ num_deleted: 2 });
    expect(await list(PROJECT, { filter: { object_ids: [object_id] } })).toEqual([]);
    expect((await remove(object_id, digests)).status).toBe(404);
  });

  it('deletes nothing for an empty list, or when one of the versions is not there', async () => {
    const object_id = aName();
    await publish('0', { object_id });
    expect((await remove(object_id, [])).body).toEqual({ num_deleted: 0 });
    expect(await remove(object_id, ['v0', 'v1'])).toMatchObject({
      status: 404,
      body: { code: 'not_found', detail: expect.stringContaining('v1') },
    });
    expect((await read(object_id, 'v0')).status).toBe(200);
  });

  it('answers a resend with the same Idempotency-Key as the first time', async () => {
    const { object_id } = await publish('0');
    const body = { project_id: PROJECT, object_id };
    const headers = { 'idempotency-key': object_id };
    for (let i = 0; i < 2; i++)
      expect(await app.post('/obj/delete', body, { headers })).toMatchObject({
        status: 200,
        body: { num_deleted: 1 },
      });
  });

  it.each([
    ['object_id', { project_id: PROJECT }],
    ['digests', { project_id: PROJECT, object_id: 'a', digests: 'v0' }],
    ['digests[0]', { project_id: PROJECT, object_id: 'a', digests: [0] }],
    ['digests', { project_id: PROJECT, object_id: 'a', digests: Array(101).fill('v0') }],
  ])('refuses a bad %s', async (path, body) => {
    const answer = await app.post('/obj/delete', body);
    expect(answer.status).toBe(400);
    expect(answer.body.errors[0].path).toBe(path);
  });
});

describe('POST /objs/query', () => {
  const project_id = 'acme/listed';
  beforeAll(async () => {
    await publish('{"n":0}', { project_id, object_id: 'b' });
    await publish(OP, { project_id, object_id: 'op' });
    await publish('{"_class_name":"Chat","_bases":["Prompt","Object","BaseModel"]}', {
      project_id,
      object_id: 'a',
    });
    await publish('{"n":"é"}', { project_id, object_id: 'b' });
    await publish('{"_class_name":"Model","_bases":["Object","BaseModel"]}', {
      project_id,
      object_id: 'B',
    });
    await publish('"gone"', { project_id, object_id: 'gone' });
    await remove('gone', null, project_id);
  });

  const found = async (body: object) =>
    (await list(project_id, body)).map(
      ({ object_id, version_index }) => `${object_id}${version_index}`,
    );
  const by = (field: string, direction: string) => ({ sort_by: [{ field, direction }] });

  it.each([
    ['the oldest first', {}, 'b0 op0 a0 b1 B0'],
    ['with nulls', { filter: null, limit: null, offset: null, sort_by: null }, 'b0 op0 a0 b1 B0'],
    ['with an empty sort', { sort_by: [] }, 'b0 op0 a0 b1 B0'],
    ['by created_at', by('created_at', 'asc'), 'b0 op0 a0 b1 B0'],
    ['by created_at, backwards', by('created_at', 'desc'), 'B0 b1 a0 op0 b0'],
    ['by object_id', by('object_id', 'asc'), 'B0 a0 b0 b1 op0'],
    ['by object_id, backwards', by('object_id', 'desc'), 'op0 b0 b1 a0 B0'],
    [
      'by both',
      {
        sort_by: [
          { field: 'object_id', direction: 'asc' },
          { field: 'created_at', direction: 'desc' },
        ],
      },
      'B0 a0 b1 b0 op0',
    ],
    ['a page', { limit: 2, offset: 1 }, 'op0 a0'],
    ['limit 0', { limit: 0, offset: 0 }, ''],
    ['past the end', { offset: 99 }, ''],
    ['the latest only', { filter: { latest_only: true } }, 'op0 a0 b1 B0'],
    ['also older ones', { filter: { latest_only: false } }, 'b0 op0 a0 b1 B0'],
    ['by names', { filter: { object_ids: ['b', 'op', 'none', 'gone'] } }, 'b0 op0 b1'],
    ['by a part of a name, in any case', { filter: { object_id_contains: 'B' } }, 'b0 b1 B0'],
    ['by a part inside of a name', { filter: { object_id_contains: 'p' } }, 'op0'],
    ['by a part of no name', { filter: { object_id_contains: '.*' } }, ''],
    ['ops', { filter: { is_op: true } }, 'op0'],
    ['no ops', { filter: { is_op: false } }, 'b0 a0 b1 B0'],
    ['a base class', { filter: { base_object_classes: ['Prompt', 'Model'] } }, 'a0 B0'],
    ['not a base class', { filter: { exclude_base_object_classes: ['Prompt'] } }, 'b0 op0 b1 B0'],
    ['a leaf class', { filter: { leaf_object_classes: ['Chat'] } }, 'a0'],
    [
      'empty and null filters',
      {
        filter: {
          object_ids: [],
          base_object_classes: [],
          exclude_base_object_classes: [],
          leaf_object_classes: [],
          latest_only: null,
          is_op: null,
        },
      },
      'b0 op0 a0 b1 B0',
    ],
    [
      'all filters at once',
      {
        filter: {
          object_ids: ['a', 'b'],
          base_object_classes: ['Prompt'],
          exclude_base_object_classes: ['Model'],
          leaf_object_classes: ['Chat'],
          latest_only: true,
          is_op: false,
        },
      },
      'a0',
    ],
  ])('lists %s', async (_, body, expected) => {
    expect((await found(body)).join(' ')).toBe(expected);
  });

  it('answers the values as they were sent, and every field', async () => {
    const answer = await app.post('/objs/query', { project_id, filter: { object_ids: ['b'] } });
    expect(answer.headers.get('content-type')).toBe('application/json');
    expect(answer.text).toContain('"val":{"n":"é"},');
    expect(Object.keys(answer.body.objs[0])).toEqual([
      'project_id',
      'object_id',
      'created_at',
      'digest',
      'version_index',
      'is_latest',
      'kind',
      'base_object_class',
      'leaf_object_class',
      'val',
      'deleted_at',
      'svc_user_id',
    ]);
  });

  it('answers size_bytes when asked: bytes, not characters', async () => {
    const objs = await list(project_id, {
      filter: { object_ids: ['b'] },
      include_storage_size: true,
    });
    expect(objs.map(({ size_bytes }) => size_bytes)).toEqual([7, 10]);
    const [odd] = await app.query(
      'SELECT count(*)::int AS n FROM object_versions WHERE size_bytes <> octet_length(val::text)',
    );
    expect(odd.n).toBe(0);
    expect((await list(project_id, { include_storage_size: null }))[0]).not.toHaveProperty(
      'size_bytes',
    );
  });

  it('answers {} for the value under metadata_only, and everything else', async () => {
    const whole = await list(project_id, { include_storage_size: true });
    const metadata = await list(project_id, { include_storage_size: true, metadata_only: true });
    expect(metadata).toEqual(whole.map((obj) => ({ ...obj, val: {} })));
  });

  it('answers an empty list for a project without objects', async () => {
    expect((await app.post('/objs/query', { project_id: 'acme/none' })).text).toBe('{"objs":[]}');
  });

  it.each([
    ['project_id', { project_id: undefined }],
    ['project_id', { project_id: 'acme/' }],
    ['limit', { limit: -1 }],
    ['limit', { limit: 1.5 }],
    ['limit', { limit: '1' }],
    ['offset', { offset: -1 }],
    ['sort_by', { sort_by: { field: 'object_id', direction: 'asc' } }],
    ['sort_by[0].field', { sort_by: [{ field: 'digest', direction: 'asc' }] }],
    ['sort_by[0].field', { sort_by: [{ direction: 'asc' }] }],
    ['sort_by[0].direction', { sort_by: [{ field: 'object_id', direction: 'up' }] }],
    ['metadata_only', { metadata_only: 'yes' }],
    ['include_storage_size', { include_storage_size: 1 }],
    ['filter', { filter: [] }],
    ['filter.latest_only', { filter: { latest_only: 1 } }],
    ['filter.is_op', { filter: { is_op: 'true' } }],
    ['filter.object_ids', { filter: { object_ids: 'b' } }],
    ['filter.object_ids[1]', { filter: { object_ids: ['b', 1] } }],
    ['filter.object_ids', { filter: { object_ids: Array(1001).fill('b') } }],
    ['filter.object_id_contains', { filter: { object_id_contains: 'x'.repeat(129) } }],
    ['filter.base_object_classes[0]', { filter: { base_object_classes: ['\0'] } }],
    ['filter.exclude_base_object_classes', { filter: { exclude_base_object_classes: {} } }],
    ['filter.leaf_object_classes', { filter: { leaf_object_classes: 7 } }],
  ])('refuses a bad %s: %j', async (path, body) => {
    const answer = await app.post('/objs/query', { project_id, ...body });
    expect(answer).toMatchObject({ status: 400, body: { code: 'invalid_request' } });
    expect(answer.body.errors[0].path).toBe(path);
  });

  it('answers an error status when the database fails before the first row', async () => {
    await app.query('ALTER TABLE object_versions RENAME TO away');
    try {
      const answer = await app.post('/objs/query', { project_id });
      expect(answer).toMatchObject({ status: 500, body: { code: 'internal' } });
    } finally {
      await app.query('ALTER TABLE away RENAME TO object_versions');
    }
  });
});

unlessCluster('plans are those of one node').describe('the plans of /objs/query', () => {
  const project_id = 'acme/planned';
  beforeAll(async () => {
    await app.query(
      `INSERT INTO object_versions (project_id, object_id, version_index, digest, created_at, is_latest, kind, size_bytes, val)
       SELECT $1, 'name-' || i % 1000, i / 1000, i, now() + i * interval '1 ms', i >= 19000, 'object', 2, '{}'
       FROM generate_series(0, 19999) i`,
      [project_id],
    );
    await app.query('ANALYZE object_versions');
  });

  async function plan(query: Partial<ObjectsQueryDto>): Promise<string> {
    const { text, values } = objectsQuery({ project_id, ...query }).toQuery();
    const rows = await app.query(`EXPLAIN (VERBOSE, COSTS OFF) ${text}`, values);
    return rows.map((row) => row['QUERY PLAN']).join('\n');
  }

  it.each([
    ['created_at', 'asc', 'Index Scan using object_versions_latest_created_idx'],
    ['created_at', 'desc', 'Index Scan Backward using object_versions_latest_created_idx'],
    ['object_id', 'asc', 'Index Scan using object_versions_latest_idx'],
    ['object_id', 'desc', 'Index Scan Backward using object_versions_latest_idx'],
  ] as const)('walk an index for the latest 50 by %s %s', async (field, direction, scan) => {
    const text = await plan({
      filter: { latest_only: true },
      limit: 50,
      sort_by: [{ field, direction }],
    });
    expect(text).toContain(scan);
    expect(text.replaceAll('Incremental Sort', '')).not.toMatch(/Sort\n/);
  });

  it('walk an index for a page of all versions', async () => {
    const text = await plan({ limit: 50 });
    expect(text).toContain('Index Scan using object_versions_created_idx');
    expect(text).not.toContain('Sort');
  });

  it('read no value under metadata_only', async () => {
    expect(await plan({})).toContain('v.val');
    expect(await plan({ metadata_only: true, include_storage_size: true })).not.toContain('v.val');
  });

  it('read few values at a time, since one may be as large as a body', async () => {
    const largest = async (query: object) => {
      let rows = 0;
      for await (const batch of await app.app.get(ObjectsService).stream({ project_id, ...query }))
        rows = Math.max(rows, (batch as string[]).length);
      return rows;
    };
    expect(await largest({})).toBe(8);
    expect(await largest({ metadata_only: true })).toBeGreaterThan(100);
  });
});

describe('64 clients that publish to one name, with a pool of 10,', () => {
  it('leave connections for others', async () => {
    const object_id = aName();
    const holder = app.dataSource.createQueryRunner();
    await holder.query('BEGIN');
    const { text, values } = lockQuery(PROJECT, object_id).toQuery();
    await holder.query(text, values);
    const waiting = Array.from({ length: 64 }, (_, i) => publish(String(i), { object_id }));
    await publish('"another name"');
    await holder.query('COMMIT');
    await holder.release();
    const indexes = (await Promise.all(waiting)).map(({ version_index }) => version_index);
    expect(indexes.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 64 }, (_, i) => i));
  });

  it('wait without a deadlock for deletes that hold a connection already', async () => {
    const object_id = aName();
    await publish('0', { object_id });
    const statuses = await Promise.all(
      Array.from({ length: 40 }, async (_, i) => {
        if (i % 2) return (await publish(String(i), { object_id })) && 200;
        const body = { project_id: PROJECT, object_id };
        const headers = { 'idempotency-key': `${object_id}-${i}` };
        return (await app.post('/obj/delete', body, { headers })).status;
      }),
    );
    expect(statuses.filter((status) => status !== 200 && status !== 404)).toEqual([]);
  });
});

describe('the stream of /objs/query', () => {
  it('reads large values one at a time from the first on', async () => {
    const project_id = aProject();
    for (let i = 0; i < 8; i++) await publish(`"${'x'.repeat(300_000)}"`, { project_id });
    const batches: number[] = [];
    for await (const lines of await app.app.get(ObjectsService).stream({ project_id }))
      batches.push(lines.length);
    expect(batches).toEqual(Array(8).fill(1));
  });
});

describe('the keys of the object operations', () => {
  const bodies = {
    '/obj/create': { obj: { project_id: PROJECT, object_id: 'k', val: 1 } },
    '/obj/read': { project_id: PROJECT, object_id: 'k', digest: 'v0' },
    '/obj/delete': { project_id: PROJECT, object_id: 'k' },
    '/objs/query': { project_id: PROJECT },
  };

  it.each(Object.entries(bodies))('%s needs one, for the project', async (path, body) => {
    const nobody = await app.post(path, body, { headers: { authorization: '' } });
    expect(nobody).toMatchObject({ status: 401, body: { code: 'unauthenticated' } });
    const elsewhere = await app.aKey('admin', ['acme/else']);
    expect(await app.post(path, body, { key: elsewhere })).toMatchObject({
      status: 403,
      body: { code: 'forbidden' },
    });
  });

  it.each(['/obj/create', '/obj/delete'] as const)('%s needs a writer', async (path) => {
    const reader = await app.aKey('reader');
    expect((await app.post(path, bodies[path], { key: reader })).status).toBe(403);
  });

  it.each(['/obj/read', '/objs/query'] as const)('%s needs a reader only', async (path) => {
    await publish('1', { object_id: 'k' });
    const reader = await app.aKey('reader', [PROJECT]);
    expect((await app.post(path, bodies[path], { key: reader })).status).toBe(200);
  });
});
