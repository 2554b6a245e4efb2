import { basic, send, useWeaveDoor } from '../../support/app.js';

describe('objects under /weave', () => {
  const app = useWeaveDoor();

  const project_id = 'acme/demo';

  it('name the user and refs in its way', async () => {
    const table = await app.post('/table/create', { table: { project_id, rows: [{ a: 1 }] } });
    const { digest, row_digests } = table.body;
    const val = { rows: `weave:///${project_id}/table/${digest}` };
    const created = await app.post('/obj/create', { obj: { project_id, object_id: 'data', val } });
    const [obj] = (await app.post('/objs/query', { project_id })).body.objs;
    expect(obj).toMatchObject({ val, wb_user_id: 'ada' });
    expect(obj).not.toHaveProperty('svc_user_id');
    const ref = `weave:///${project_id}/object/data:${created.body.digest}`;
    const refs = [ref, `${ref}/attr/rows/id/${row_digests[0]}/key/a`];
    expect((await app.post('/refs/read_batch', { refs })).body).toEqual({ vals: [val, 1] });
    const other = await app.post('/refs/read_batch', { refs: [ref.replace('weave', 'svc')] });
    expect(other.body).toEqual({ vals: [val] }); // requests may contain refs of both dialects
  });

  const put = (path: string, body: object, key = app.key) =>
    send(`${app.url}/objs/${path}`, { project_id, ...body }, { authorization: basic(key) }, 'PUT');
  const post = (path: string, body: object) => app.post(`/objs/${path}`, { project_id, ...body });
  const read = (object_id: string, digest: string, more = { include_tags_and_aliases: true }) =>
    app.post('/obj/read', { project_id, object_id, digest, metadata_only: true, ...more });
  const labelsOf = async (object_id: string, digest: string) => {
    const { tags, aliases } = (await read(object_id, digest)).body.obj;
    return { tags, aliases };
  };
  const namesOf = async (kind: 'tags' | 'aliases') =>
    (
      await send(
        `${app.url}/${kind}?project_id=${project_id}`,
        undefined,
        { authorization: basic(app.key) },
        'GET',
      )
    ).body;
  /** Publishes the values 0 and 1, and returns their digests. */
  const twoOf = async (object_id: string) => {
    const digests: string[] = [];
    for (const val of [`${object_id} 0`, `${object_id} 1`])
      digests.push(
        (await app.post('/obj/create', { obj: { project_id, object_id, val } })).body.digest,
      );
    return digests as [string, string];
  };

  it('have tags by version, sorted, each once', async () => {
    const [first, second] = await twoOf('tagged');
    expect(await put(`tagged/versions/${first}/tags`, { tags: ['b', 'a', 'b'] })).toMatchObject({
      status: 200,
      body: {},
    });
    await put('tagged/versions/v0/tags', { tags: ['c', 'a', 'ünder review'] });
    await put(`tagged/versions/latest/tags`, { tags: [] });
    expect(await labelsOf('tagged', first)).toEqual({
      tags: ['a', 'b', 'c', 'ünder review'],
      aliases: [],
    });
    expect(await labelsOf('tagged', second)).toEqual({ tags: [], aliases: ['latest'] });
    await post(`tagged/versions/${first}/tags/remove`, { tags: ['a', 'c', 'never'] });
    expect((await labelsOf('tagged', first)).tags).toEqual(['b', 'ünder review']);
    expect((await read('tagged', first, {} as never)).body.obj).not.toHaveProperty('tags');
    expect(await namesOf('tags')).toEqual({ tags: ['b', 'ünder review'] });
  });

  it('have aliases, each of one version, which may stand for its digest anywhere', async () => {
    const [first, second] = await twoOf('aliased');
    await put('aliased/aliases', { digest: first, aliases: ['production', 'my deploy.v2'] });
    await put('aliased/aliases', { digest: 'v1', aliases: ['staging', 'production'] });
    expect((await labelsOf('aliased', 'my deploy.v2')).aliases).toEqual(['my deploy.v2']);
    expect((await labelsOf('aliased', second)).aliases).toEqual([
      'latest',
      'production',
      'staging',
    ]);
    expect((await read('aliased', 'production')).body.obj.digest).toBe(second);
    expect(await namesOf('aliases')).toEqual({
      aliases: ['my deploy.v2', 'production', 'staging'],
    });

    const words = ['production', 'my deploy.v2', 'latest', 'v0', first];
    const refs = words.map((word) => `weave:///${project_id}/object/aliased:${word}`);
    expect((await app.post('/refs/read_batch', { refs })).body.vals).toEqual(
      ['1', '0', '1', '0', '0'].map((n) => `aliased ${n}`),
    );
    const missing = await app.post('/refs/read_batch', {
      refs: [refs[0]!.replace('production', 'nowhere')],
    });
    expect(missing).toMatchObject({
      status: 404,
      body: { detail: expect.stringContaining('aliased:nowhere') },
    });

    await post('aliased/aliases/remove', { aliases: ['staging', 'never'] });
    expect((await read('aliased', 'staging')).status).toBe(404);
    // an alias belongs to its object: the same name on another object is another alias
    await twoOf('other');
    await put('other/aliases', { digest: 'v0', aliases: ['production'] });
    expect((await read('aliased', 'production')).body.obj.digest).toBe(second);
  });

  it('are found by tags and aliases', async () => {
    for (const name of ['found', 'lost']) await twoOf(name);
    await put('found/versions/v0/tags', { tags: ['good'] });
    await put('found/versions/v1/tags', { tags: ['fine', 'new'] });
    await put('found/aliases', { digest: 'v0', aliases: ['best'] });
    const found = async (filter: object) => {
      const sent = {
        project_id,
        filter: { object_ids: ['found', 'lost'], ...filter },
        include_tags_and_aliases: true,
      };
      const { objs } = (await app.post('/objs/query', sent)).body;
      return objs.map(
        (o: any) => `${o.object_id}:v${o.version_index} ${[...o.tags, ...o.aliases].join(',')}`,
      );
    };
    expect(await found({ tags: ['good', 'new', 'nothing'] })).toEqual([
      'found:v0 good,best',
      'found:v1 fine,new,latest',
    ]);
    expect(await found({ aliases: ['best'] })).toEqual(['found:v0 good,best']);
    expect(await found({ aliases: ['latest', 'best'], tags: ['fine', 'good'] })).toHaveLength(2);
    expect(await found({ aliases: ['best'], tags: ['fine'] })).toEqual([]);
    expect(await found({ tags: [], aliases: [] })).toHaveLength(4);
  });

  it('lose them with the version, and keep them when it is published again', async () => {
    const [first] = await twoOf('mortal');
    await put('mortal/versions/v0/tags', { tags: ['old'] });
    await put('mortal/aliases', { digest: 'v0', aliases: ['stable'] });
    const obj = { project_id, object_id: 'mortal', val: 'mortal 0' };
    await app.post('/obj/create', { obj });
    expect(await labelsOf('mortal', 'stable')).toEqual({
      tags: ['old'],
      aliases: ['latest', 'stable'],
    });
    const body = { project_id, object_id: 'mortal', digests: ['stable'] };
    expect((await app.post('/obj/delete', body)).body).toEqual({ num_deleted: 1 });
    expect((await read('mortal', 'stable')).status).toBe(404);
    await app.post('/obj/create', { obj });
    expect(await labelsOf('mortal', first)).toEqual({ tags: [], aliases: ['latest'] });

    await put('mortal/aliases', { digest: first, aliases: ['stable'] });
    await app.post('/objs/purge', body);
    expect((await read('mortal', 'stable')).status).toBe(404);
    const rows = await app.query(`SELECT 1 FROM object_aliases WHERE object_id = 'mortal'
      UNION ALL SELECT 1 FROM object_tags WHERE object_id = 'mortal'`);
    expect(rows).toEqual([]);
  });

  it.each<[string, object, number, RegExp]>([
    ['nothing/aliases', { digest: 'latest', aliases: ['a'] }, 404, /nothing:latest/],
    ['nothing/versions/v0/tags', { tags: ['a'] }, 404, /nothing:v0/],
    ['limited/aliases', { digest: 'v0', aliases: ['latest'] }, 400, /^aliases\[0\] must/],
    ['limited/aliases', { digest: 'v0', aliases: ['v12'] }, 400, /^aliases\[0\] must/],
    ['limited/aliases', { digest: 'v0', aliases: ['a/b'] }, 400, /^aliases\[0\] must/],
    ['limited/aliases', { digest: 'v0', aliases: ['a:b'] }, 400, /^aliases\[0\] must/],
    ['limited/aliases', { digest: 'v0', aliases: [' a'] }, 400, /^aliases\[0\] must/],
    ['limited/aliases', { digest: 'v0', aliases: ['a '] }, 400, /^aliases\[0\] must/],
    ['limited/aliases', { digest: 'v0', aliases: ['a'.repeat(43)] }, 400, /^aliases\[0\] must/],
    ['limited/aliases', { digest: 'v0', aliases: ['ä'.repeat(129)] }, 400, /^aliases\[0\] must/],
    ['limited/aliases', { digest: 'v0', aliases: 'a' }, 400, /^aliases must/],
    ['limited/versions/v0/tags', { tags: [''] }, 400, /^tags\[0\] must/],
    ['limited/versions/v0/tags', { tags: ['a'.repeat(257)] }, 400, /^tags\[0\] must/],
    ['limited/versions/v0/tags', { tags: Array(1001).fill('a') }, 413, /1000/],
    ['limited/versions/v0/tags', { tags: ['one more'] }, 413, /1000 tags/],
    ['limited/aliases', { digest: 'v1', aliases: ['one more'] }, 413, /1000 aliases/],
    ['limited%00/aliases', { digest: 'v1', aliases: ['a'] }, 400, /^object_id must/],
  ])('refuse %s %j', async (path, body, status, detail) => {
    const many = Array.from({ length: 1000 }, (_, i) => `n ${i}`);
    if (detail.source.startsWith('1000 ')) {
      await twoOf('limited');
      await put('limited/versions/v0/tags', { tags: many });
      await put('limited/aliases', { digest: 'v0', aliases: many });
    }
    const answer = await put(path, body);
    expect(answer).toMatchObject({ status, body: { detail: expect.stringMatching(detail) } });
  });
});
