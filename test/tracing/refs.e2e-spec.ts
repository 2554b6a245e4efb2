import { objectDigest } from '../../src/tracing/objects/digests/digest.js';
import { useApp } from '../support/app.js';

const PROJECT = 'acme/demo';
const app = useApp();

/** Publishes JSON text and returns its ref. */
async function publish(object_id: string, text: string, project_id = PROJECT): Promise<string> {
  const { body } = await app.post(
    '/obj/create',
    `{"obj":{"project_id":"${project_id}","object_id":"${object_id}","val":${text}}}`,
  );
  return `svc:///${project_id}/object/${object_id}:${body.digest}`;
}

const read = (refs: unknown, options = {}) => app.post('/refs/read_batch', { refs }, options);

describe('POST /refs/read_batch', () => {
  it('answers values in the order of the refs, as they were sent', async () => {
    const texts = ['{"x":1.0,"__proto__":2}', String.raw`"\u0000\ud800"`, 'null', '[1, 2]'];
    const refs: string[] = [];
    for (const [i, text] of texts.entries()) refs.push(await publish(`value-${i}`, text));
    const elsewhere = await publish('value', '"elsewhere"', 'acme/other');
    const answer = await read([refs[1], elsewhere, ...refs, elsewhere.replace('/object/', '/op/')]);
    expect(answer.text).toBe(
      `{"vals":[${[texts[1], '"elsewhere"', ...texts, '"elsewhere"'].join(',')}]}`,
    );
  });

  it('answers an empty list for no refs', async () => {
    expect((await read([])).text).toBe('{"vals":[]}');
  });

  it.each([
    ['/attr/a', '{"b": [1.0, {"c/d e%": "x"}], "50%": 2, "1": true}'],
    ['/key/a/key/b', '[1.0, {"c/d e%": "x"}]'],
    ['/attr/a/key/b/index/0', '1.0'],
    ['/attr/a/attr/b/index/1/key/c%2Fd%20e%25', '"x"'],
    ['/attr/a/attr/50%', '2'],
    ['/attr/a/attr/1', 'true'],
    ['/attr/__proto__', '{"y":1e2}'],
    ['/attr/__proto__/key/y', '1e2'],
    ['/attr/toString', 'null'],
    ['/attr/none', 'null'],
    ['/attr/none/key/b', 'null'],
    ['/index/0', 'null'],
    ['/attr/a/key/b/index/2', 'null'],
    ['/attr/a/key/b/key/0', 'null'],
    ['/attr/a/key/b/key/length', 'null'],
    ['/attr/text/index/0', 'null'],
    ['/attr/text/id/x', 'null'],
    ['/attr/table/id/%00', 'null'],
    [`/attr/odd/id/${'0'.repeat(43)}`, 'null'],
    ['/attr/twice', '2'],
  ])('goes on into the value by %s', async (path, expected) => {
    const ref = await publish(
      'nested',
      '{"a": {"b": [1.0, {"c/d e%": "x"}], "50%": 2, "1": true},"__proto__":{"y":1e2},"text":"abc","table":"svc:///a/b/table/x","odd":"svc:///\\u0000/b/table/x","twice":1,"twice":2}',
    );
    expect((await read([ref + path])).text).toBe(`{"vals":[${expected}]}`);
  });

  it('goes on into the rows of a table that the value refers to', async () => {
    const rows = ['{"q":1.50}', '{"q":"\\u0000"}'];
    const table = (
      await app.post(
        '/table/create',
        `{"table":{"project_id":"${PROJECT}","rows":[${rows.join()}]}}`,
      )
    ).body;
    const hidden = (
      await app.post('/table/create', '{"table":{"project_id":"acme/hidden","rows":[{"h":1}]}}')
    ).body;
    const ref = await publish(
      'dataset',
      `{"rows":"svc:///${PROJECT}/table/${table.digest}","hidden":"svc:///acme/hidden/table/${hidden.digest}"}`,
    );
    const refs = [
      `${ref}/attr/rows/id/${table.row_digests[0]}`,
      `${ref}/attr/rows/id/${table.row_digests[1]}/key/q`,
      `${ref}/attr/rows/id/${objectDigest('{"h":1}')}`,
      `${ref}/attr/hidden/id/${hidden.row_digests[0]}`,
    ];
    expect((await read(refs)).text).toBe(
      `{"vals":[${rows[0]},${String.raw`"\u0000"`},null,{"h":1}]}`,
    );
    const key = await app.aKey('reader', [PROJECT]);
    expect((await read(refs, { key })).body.vals[3]).toBeNull();
  });

  it('answers null for a deleted version, and the value when it is published again', async () => {
    const ref = await publish('deleted', '1');
    await app.post('/obj/delete', { project_id: PROJECT, object_id: 'deleted' });
    expect((await read([ref, `${ref}/attr/x`])).text).toBe('{"vals":[null,null]}');
    await publish('deleted', '1');
    expect((await read([ref])).text).toBe('{"vals":[1]}');
  });

  it('answers 1000 refs into large values', async () => {
    const element = (i: number) => `{"i":${i},"text":"${'x'.repeat(1000)}"}`;
    const text = `[${Array.from({ length: 6000 }, (_, i) => element(i)).join()}]`;
    const one = await publish('large-1', text);
    const two = await publish('large-2', `${text} `.replace('"i":0', '"i":-1'));
    const refs = Array.from({ length: 1000 }, (_, i) => `${i < 500 ? one : two}/index/${i}/attr/i`);
    expect((await read(refs)).body.vals).toEqual(Array.from({ length: 1000 }, (_, i) => i));
  });

  it('answers 404 for a version that does not exist, naming it', async () => {
    const ref = await publish('there', '1');
    for (const missing of [
      `svc:///${PROJECT}/object/none:x`,
      `svc:///${PROJECT}/object/there:x`,
      `svc:///${PROJECT}/object/there:production`,
      ref.replace(PROJECT, 'acme/none'),
    ]) {
      const answer = await read([ref, missing]);
      expect(answer).toMatchObject({ status: 404, body: { code: 'not_found' } });
      expect(answer.body.detail).toContain(missing.split('/').at(-1));
    }
  });

  const object = `svc:///${PROJECT}/object/name:digest`;
  it.each<[string, unknown]>([
    ['refs', undefined],
    ['refs', null],
    ['refs', object],
    ['refs', Array(1001).fill(object)],
    ['refs[0]', [7]],
    ['refs[0]', ['x'.repeat(4097)]],
    ['refs[0]', ['name:digest']],
    ['refs[0]', [`wandb:///${PROJECT}/object/name:digest`]],
    ['refs[0]', [`svc:///${PROJECT}/table/digest`]],
    ['refs[1]', [object, `svc:///${PROJECT}/call/id`]],
    ['refs[0]', [`${object}/attr`]],
    ['refs[0]', [`${object}/item/a`]],
    ['refs[0]', [`${object}/index/a`]],
    ['refs[0]', [`${object}/index/-1`]],
  ])('refuses a bad %s', async (path, refs) => {
    const answer = await read(refs);
    expect(answer).toMatchObject({ status: 400, body: { code: 'invalid_request' } });
    expect(answer.body.errors[0].path).toBe(path);
  });

  it('needs a key that reaches every project', async () => {
    const ref = await publish('mine', '1');
    const other = await publish('theirs', '1', 'acme/other');
    expect((await read([ref], { headers: { authorization: '' } })).status).toBe(401);
    const key = await app.aKey('reader', [PROJECT]);
    expect((await read([ref], { key })).status).toBe(200);
    for (const foreign of [other, 'svc:///acme/none/object/a:b'])
      expect(await read([ref, foreign], { key })).toMatchObject({
        status: 403,
        body: { code: 'forbidden' },
      });
  });
});
