import { send, startApp, type TestApp, useApp } from '../support/app.js';
import { startServer } from '../support/server.js';

const app = useApp();
const project_id = 'acme/demo';

const post = (path: string, body: object, on: Pick<TestApp, 'post'> = app) =>
  on.post(`/prompts/${path}`, { project_id, ...body });
const create = async (body: object) => {
  const answer = await post('create', body);
  expect([answer.status, answer.text]).toEqual([200, expect.anything()]);
  return answer.body;
};
const get = async (body: object) => (await post('get', body)).body;
const problems = ({ status, body }: { status: number; body: any }) => [
  status,
  body.errors?.map(({ path, message }: any) => `${path} ${message}`) ?? body.detail,
];

describe('a version', () => {
  it('comes back as it was sent, under any name', async () => {
    const names = ['plain', 'a/b c', 'zählt/提示/👍', '100%', 'x'.repeat(255), 'a@b', '.'];
    for (const name of names) {
      const body = `{"project_id":"${project_id}","name":${JSON.stringify(name)},"prompt":"\\u4f60 {{x}} \\/","config":{"n":1.50,"big":12345678901234567890}}`;
      const { status } = await app.post('/prompts/create', body);
      expect([name, status]).toEqual([name, 200]);
      const { text, body: read } = await post('get', { name, version: 1 });
      expect(text).toContain('"prompt":"\\u4f60 {{x}} \\/"');
      expect(text).toContain('"config":{"n":1.50,"big":12345678901234567890}');
      expect(read).toMatchObject({ name, type: 'text', version: 1, labels: ['latest'], tags: [] });
    }
    const { body } = await post('query', { limit: 100 });
    expect(body.prompts.map(({ name }: any) => name)).toEqual(expect.arrayContaining(names));
  });

  it('has a number of its own, also with an equal text and where many are made at once', async () => {
    const made = await Promise.all(
      Array.from({ length: 20 }, () => create({ name: 'many', prompt: 'same' })),
    );
    expect(made.map(({ version }) => version).toSorted((a, b) => a - b)).toEqual(
      Array.from({ length: 20 }, (_, i) => i + 1),
    );
    expect((await get({ name: 'many', label: 'latest' })).version).toBe(20);
  });

  it('keeps its number for ever', async () => {
    for (const prompt of ['one', 'two', 'three']) await create({ name: 'numbers', prompt });
    expect((await post('delete', { name: 'numbers', version: 3 })).body).toEqual({
      num_deleted: 1,
    });
    expect((await get({ name: 'numbers', label: 'latest' })).version).toBe(2);
    expect((await create({ name: 'numbers', prompt: 'three' })).version).toBe(4);
    expect((await post('get', { name: 'numbers', version: 3 })).status).toBe(404);
    expect((await post('delete', { name: 'numbers' })).body).toEqual({ num_deleted: 3 });
    expect((await post('delete', { name: 'numbers' })).status).toBe(404);
    expect((await create({ name: 'numbers', prompt: 'new' })).version).toBe(5);
  });

  it('is an object of the class that SDKs publish', async () => {
    const chat = [
      { role: 'user', content: '{{q}}' },
      { type: 'placeholder', name: 'history' },
    ];
    const { ref, object_id, digest } = await create({
      name: 'a chat',
      type: 'chat',
      prompt: chat,
      commit_message: 'why',
    });
    expect(object_id).toMatch(/^a-chat-[0-9a-f]{16}$/);
    expect(ref).toBe(`svc:///${project_id}/object/${object_id}:${digest}`);
    const { vals } = (await app.post('/refs/read_batch', { refs: [ref] })).body;
    expect(vals).toEqual([
      expect.objectContaining({
        _class_name: 'MessagesPrompt',
        _bases: ['Prompt', 'Object', 'BaseModel'],
        name: 'a chat',
        description: 'why',
        messages: chat,
      }),
    ]);
  });

  it('may be one that an SDK published', async () => {
    const val = {
      _type: 'StringPrompt',
      name: null,
      content: 'Be {mood}',
      _class_name: 'StringPrompt',
      _bases: ['Prompt', 'Object', 'BaseModel'],
    };
    await app.post('/obj/create', { obj: { project_id, object_id: 'published', val } });
    expect(await get({ name: 'published', version: 1 })).toMatchObject({
      ...{ name: 'published', type: 'text', prompt: 'Be {mood}', config: {}, version: 1 },
      commit_message: null,
    });
    expect((await create({ name: 'published', prompt: 'Be {{mood}}' })).version).toBe(2);
  });

  it('answers 304 to a client that has it', async () => {
    await create({ name: 'known', prompt: 'a', labels: ['production'] });
    const first = await post('get', { name: 'known' });
    const etag = first.headers.get('etag')!;
    const again = () =>
      app.post(
        '/prompts/get',
        { project_id, name: 'known' },
        { headers: { 'if-none-match': etag } },
      );
    expect(await again()).toMatchObject({ status: 304, text: '' });
    await create({ name: 'known', prompt: 'b', labels: ['production'] });
    expect((await again()).body).toMatchObject({ prompt: 'b', version: 2 });
  });
});

describe('labels', () => {
  it('point to one version, and move', async () => {
    await create({ name: 'l', prompt: '1', labels: ['production', 'v1'] });
    await create({ name: 'l', prompt: '2', labels: ['v1', 'latest'] });
    expect((await get({ name: 'l', version: 1 })).labels).toEqual(['production']);
    expect((await get({ name: 'l', label: 'v1' })).prompt).toBe('2');
    const moved = await post('labels/set', { name: 'l', version: 2, labels: ['production'] });
    expect(moved.body.labels).toEqual(['latest', 'production', 'v1']);
    expect((await get({ name: 'l', version: 1 })).labels).toEqual([]);
    expect(
      (await post('labels/remove', { name: 'l', labels: ['production', 'none'] })).status,
    ).toBe(200);
    expect(problems(await post('get', { name: 'l' }))).toEqual([
      404,
      'there is no prompt l with the label production',
    ]);
  });

  it('move at once, however often the prompt is fetched meanwhile', async () => {
    for (const prompt of ['1', '2']) await create({ name: 'race', prompt, labels: ['production'] });
    const race = { isOver: false };
    const seen: (string | number)[] = [];
    const fetching = Array.from({ length: 8 }, async () => {
      while (!race.isOver) {
        const { status, body } = await post('get', { name: 'race' });
        seen.push(status === 200 ? body.prompt : status);
      }
    });
    for (let i = 0; i < 20; i++) {
      const version = (i % 2) + 1;
      await post('labels/set', { name: 'race', version, labels: ['production'] });
      expect((await get({ name: 'race' })).version).toBe(version);
    }
    race.isOver = true;
    await Promise.all(fetching);
    expect(new Set(seen)).toEqual(new Set(['1', '2']));
  });

  it('leave with the version, and another process sees it within a second', async () => {
    const other = await startServer({ DATABASE_URL: app.databaseUrl });
    try {
      await create({ name: 'far', prompt: '1', labels: ['production'] });
      const there = async () => {
        const authorization = `Basic ${Buffer.from(`me:${app.key}`).toString('base64')}`;
        const body = { project_id, name: 'far' };
        return send(`${other.url}/prompts/get`, body, { authorization });
      };
      expect((await there()).body.prompt).toBe('1');
      await post('delete', { name: 'far', label: 'production' });
      expect((await post('get', { name: 'far' })).status).toBe(404);
      await new Promise((resolve) => setTimeout(resolve, 1000));
      expect((await there()).status).toBe(404);
    } finally {
      await other.stop();
    }
  });
});

describe('tags', () => {
  it('are those of all versions, and stay when none are named', async () => {
    await create({ name: 't', prompt: '1', tags: ['b', 'a'] });
    await create({ name: 't', prompt: '2' });
    expect((await get({ name: 't', version: 2 })).tags).toEqual(['a', 'b']);
    await create({ name: 't', prompt: '3', tags: ['c'] });
    expect((await get({ name: 't', version: 1 })).tags).toEqual(['c']);
    await post('delete', { name: 't', version: 3 });
    expect((await get({ name: 't', version: 2 })).tags).toEqual(['c']);
    await create({ name: 't', prompt: '4', tags: [] });
    expect((await get({ name: 't', version: 1 })).tags).toEqual([]);
  });
});

describe('references to other prompts', () => {
  const include = (name: string, word: string) => `@@@langfusePrompt:name=${name}|${word}@@@`;

  it('are replaced by their texts, at any depth up to a limit', async () => {
    await create({ name: 'p0', prompt: 'end "$&"', labels: ['production'] });
    for (let i = 1; i <= 5; i++)
      await create({
        name: `p${i}`,
        prompt: `${i} ${include(`p${i - 1}`, 'label=production')}`,
        labels: ['production'],
      });
    const read = { name: 'p5' };
    expect((await get(read)).prompt).toBe('5 4 3 2 1 end "$&"');
    expect((await get({ ...read, resolve: false })).prompt).toBe(
      `5 ${include('p4', 'label=production')}`,
    );
    const deep = { name: 'p6', prompt: include('p5', 'version=1') };
    expect(problems(await post('create', deep))).toEqual([
      400,
      ['prompt has references to prompts that lie over 5 levels inside each other'],
    ]);
    const chat = [{ role: 'system', content: `Use: ${include('p0', 'version=1')}` }];
    await create({ name: 'uses', type: 'chat', prompt: chat, labels: ['production'] });
    expect((await get({ name: 'uses' })).prompt[0].content).toBe('Use: end "$&"');
  });

  it('must exist, be texts, and make no circle', async () => {
    await create({ name: 'first', prompt: 'x', labels: ['production'] });
    await create({
      name: 'second',
      prompt: include('first', 'label=production'),
      labels: ['production'],
    });
    const chat = [{ role: 'user', content: 'q' }];
    await create({ name: 'no text', type: 'chat', prompt: chat });
    const refused = async (name: string, prompt: string) =>
      problems(await post('create', { name, prompt }))[1][0];
    expect(await refused('first', include('second', 'label=production'))).toBe(
      'prompt has references to prompts that are a circle: first, second, first',
    );
    expect(await refused('z', include('nobody', 'version=3'))).toBe(
      'prompt there is no prompt nobody with the version 3',
    );
    expect(await refused('z', include('no text', 'version=1'))).toBe(
      'prompt has references to prompts that name no text, which is a chat prompt',
    );
  });

  it('keep the prompt that they name', async () => {
    await create({ name: 'kept', prompt: 'a', labels: ['production'] });
    await create({ name: 'kept', prompt: 'b' });
    await create({ name: 'keeps', prompt: include('kept', 'label=production') });
    const remove = async (body: object) =>
      problems(await post('delete', { name: 'kept', ...body }));
    const refusal = [400, ['name must not be deleted: the prompt keeps refers to it']];
    expect(await remove({})).toEqual(refusal);
    expect(await remove({ version: 1 })).toEqual(refusal);
    expect((await remove({ version: 2 }))[0]).toBe(200);
    await post('delete', { name: 'keeps' });
    expect((await remove({}))[0]).toBe(200);
  });

  it('do not grow without a limit', async () => {
    await create({ name: 'g0', prompt: 'x'.repeat(100_000) });
    await create({ name: 'g1', prompt: include('g0', 'version=1').repeat(10) });
    const body = { name: 'g2', prompt: include('g1', 'version=1').repeat(10) };
    expect(problems(await post('create', body))).toEqual([
      400,
      ['prompt has references to prompts that add over 1048576 characters'],
    ]);
  });
});

describe('what is refused', () => {
  it.each([
    [{ name: '' }, 'name'],
    [{ name: 'a|b' }, 'name'],
    [{ name: 'a//b' }, 'name'],
    [{ name: '/a' }, 'name'],
    [{ name: 'a/' }, 'name'],
    [{ name: 'x'.repeat(256) }, 'name'],
    [{ name: 'a\u0000b' }, 'name'],
    [{ name: '\ud800' }, 'name'],
    [{ prompt: 1 }, 'prompt'],
    [{ prompt: null }, 'prompt'],
    [{ prompt: [] }, 'prompt'],
    [{ type: 'chat', prompt: 'x' }, 'prompt'],
    [{ type: 'chat', prompt: [] }, 'prompt'],
    [{ type: 'chat', prompt: [{ role: 'user' }] }, 'prompt[0]'],
    [{ type: 'chat', prompt: [{ role: 'user', content: 'a' }, { content: 'a' }] }, 'prompt[1]'],
    [{ type: 'chat', prompt: [{ type: 'placeholder' }] }, 'prompt[0]'],
    [
      {
        type: 'chat',
        prompt: [
          { role: 'user', content: 'a {{ h }}' },
          { type: 'placeholder', name: 'h' },
        ],
      },
      'prompt',
    ],
    [{ type: 'picture' }, 'type'],
    [{ labels: ['Production'] }, 'labels[0]'],
    [{ labels: ['x'.repeat(37)] }, 'labels[0]'],
    [{ tags: [''] }, 'tags[0]'],
    [{ commit_message: 'x'.repeat(501) }, 'commit_message'],
  ])('%j', async (body, path) => {
    const answer = await post('create', { name: 'refused', prompt: 'x', ...body });
    expect([answer.status, answer.body.errors?.[0].path]).toEqual([400, path]);
    expect((await post('get', { name: 'refused', version: 1 })).status).toBe(404);
  });

  it('another type, another kind of object, and what is too large', async () => {
    await create({ name: 'typed', prompt: 'x' });
    const chat = { type: 'chat', prompt: [{ role: 'user', content: 'x' }] };
    expect(problems(await post('create', { name: 'typed', ...chat }))).toEqual([
      400,
      ['type must be text, as in the versions of typed that exist'],
    ]);
    await app.post('/obj/create', { obj: { project_id, object_id: 'a-set', val: { rows: 1 } } });
    expect(problems(await post('create', { name: 'a-set', prompt: 'x' }))).toEqual([
      409,
      'a-set is the name of an object that is no prompt',
    ]);
    expect((await post('get', { name: 'a-set', version: 1 })).status).toBe(404);
    expect((await post('create', { name: 'big', prompt: 'x'.repeat(1_100_000) })).status).toBe(413);
    const config = { x: 'x'.repeat(70_000) };
    expect((await post('create', { name: 'big', prompt: 'x', config })).status).toBe(413);
    expect(problems(await post('get', { name: 'typed', version: 1, label: 'latest' }))).toEqual([
      400,
      ['label must be absent beside a version'],
    ]);
    expect(
      problems(await post('labels/set', { name: 'typed', version: 1, labels: ['latest'] })),
    ).toEqual([400, ['labels must not have "latest", which follows the newest version']]);
    expect((await post('labels/set', { name: 'typed', version: 9, labels: ['x'] })).status).toBe(
      404,
    );
  });
});

it('lists prompts by name, label, tag and time', async () => {
  const own = await startApp();
  try {
    const make = (body: object) => post('create', body, own);
    await make({ name: 'a', prompt: '1', labels: ['production'], tags: ['x'], config: { t: 1 } });
    await make({ name: 'a', prompt: '2', config: { t: 2 } });
    await make({ name: 'b/c', prompt: '1' });
    const list = async (body: object) => {
      const { prompts, total } = (await post('query', body, own)).body;
      return [total, ...prompts.map(({ name, versions, labels }: any) => [name, versions, labels])];
    };
    const [a, b] = [
      ['a', [2, 1], ['latest', 'production']],
      ['b/c', [1], ['latest']],
    ];
    expect(await list({})).toEqual([2, a, b]);
    expect(await list({ limit: 1, offset: 1 })).toEqual([2, b]);
    expect(await list({ offset: 2 })).toEqual([2]);
    expect(await list({ name: 'b/c' })).toEqual([1, b]);
    expect(await list({ label: 'production' })).toEqual([1, ['a', [1], ['production']]]);
    expect(await list({ tag: 'x' })).toEqual([1, a]);
    expect(await list({ to: '2020-01-01T00:00:00Z' })).toEqual([0]);
    const { prompts } = (await post('query', { label: 'production' }, own)).body;
    expect(prompts[0]).toMatchObject({ last_config: { t: 1 }, tags: ['x'], type: 'text' });
  } finally {
    await own.close();
  }
});
