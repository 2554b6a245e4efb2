import { basic, send, useApp } from '../support/app.js';

const app = useApp();
const project = 'acme/demo';

const ask = (method: string, path: string, body?: object) =>
  send(
    `${app.url}/api/public/v2/prompts${path}`,
    body,
    { authorization: basic(app.key, project) },
    method,
  );

it('numbers versions, moves labels, and deletes', async () => {
  const name = 'f o/p%';
  const path = `/${encodeURIComponent(name)}`;
  const first = await ask('POST', '', {
    ...{ name, prompt: 'Hi {{x}}', labels: ['production'], tags: ['t'] },
    ...{ type: null, config: null, commitMessage: null },
  });
  expect(first).toMatchObject({
    status: 201,
    body: { name, type: 'text', version: 1, labels: ['latest', 'production'], config: {} },
  });
  const second = await ask('POST', '', { name, prompt: 'Hi {{x}}', labels: [] });
  expect(second.body).toMatchObject({ version: 2, tags: ['t'], labels: ['latest'] });
  const read = await ask('GET', path);
  expect(read).toMatchObject({
    status: 200,
    body: {
      ...{ projectId: project, version: 1, prompt: 'Hi {{x}}', tags: ['t'], commitMessage: null },
      createdAt: expect.stringMatching(/^\d{4}-.*Z$/),
    },
  });
  expect(read.headers.get('cache-control')).toBe('no-store');
  expect((await ask('GET', `${path}?label=latest`)).body.version).toBe(2);
  const moved = await ask('PATCH', `${path}/versions/2`, { newLabels: ['production', 'v1'] });
  expect(moved.body.labels).toEqual(['latest', 'production', 'v1']);
  expect((await ask('GET', `${path}?version=1`)).body.labels).toEqual([]);
  expect((await ask('PATCH', `${path}/versions/2`, { newLabels: ['latest'] })).status).toBe(400);
  expect((await ask('DELETE', `${path}?version=2`)).status).toBe(204);
  expect((await ask('GET', `${path}?label=latest`)).body.version).toBe(1);
  expect(await ask('GET', path)).toMatchObject({
    status: 404,
    body: {
      message: 'there is no prompt f o/p% with the label production',
      error: 'LangfuseNotFoundError',
    },
  });
  expect((await ask('DELETE', path)).status).toBe(204);
  expect((await ask('DELETE', path)).status).toBe(404);
});

it('reads a name whose slashes are not encoded', async () => {
  await ask('POST', '', { name: 'a/versions/b', prompt: 'x', labels: ['production'] });
  expect((await ask('GET', '/a/versions/b')).body.name).toBe('a/versions/b');
  expect(
    (await ask('PATCH', '/a/versions/b/versions/1', { newLabels: ['x'] })).body.labels,
  ).toEqual(['latest', 'production', 'x']);
});

it('lists a page of prompts', async () => {
  for (const name of ['list/a', 'list/b'])
    await ask('POST', '', { name, prompt: 'x', tags: ['listed'], config: { a: [1] } });
  const { body } = await ask('GET', '?tag=listed&page=2&limit=1');
  expect(body.meta).toEqual({ page: 2, limit: 1, totalItems: 2, totalPages: 2 });
  expect(body.data).toEqual([
    {
      ...{ name: 'list/b', type: 'text', versions: [1], labels: ['latest'], tags: ['listed'] },
      lastUpdatedAt: expect.any(String),
      lastConfig: { a: [1] },
    },
  ]);
});

it.each([
  ['POST', '', { name: 'x|y', prompt: 'x' }],
  ['POST', '', { name: 'x' }],
  ['GET', '/x?version=1&label=a', undefined],
  ['GET', '/x?version=0', undefined],
  ['GET', '/x?version=one', undefined],
  ['GET', '?limit=101', undefined],
  ['GET', '?page=0', undefined],
  ['PATCH', '/x/versions/one', { newLabels: ['a'] }],
  ['PATCH', '/x/versions/1', { newLabels: [] }],
])('refuses %s %s %j', async (method, path, body) => {
  expect(await ask(method, path, body)).toMatchObject({
    status: 400,
    body: { message: expect.any(String), error: 'InvalidRequestError' },
  });
});
