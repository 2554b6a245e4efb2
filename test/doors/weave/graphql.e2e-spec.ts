import { useApp } from '../../support/app.js';

const app = useApp();

const ask = async (query: string, variables?: object, key?: string) =>
  app.post('/graphql', { query, variables }, key ? { key } : {});

const VIEWER = 'query DefaultEntity { viewer { username defaultEntity { name } } }';
const PROJECT =
  'query Project($name: String!, $entityName: String!) { project(name: $name, entityName: $entityName) { name } }';
const UPSERT = `mutation UpsertModel($name: String!, $id: String, $entity: String!, $description: String, $repo: String) {
  upsertModel(input: { id: $id, name: $name, entityName: $entity, description: $description, repo: $repo }) {
    model { name description }
  }
}`;

describe('POST /graphql', () => {
  it('tells who the key belongs to', async () => {
    expect((await ask(VIEWER)).body.data.viewer).toEqual({
      username: 'ada',
      defaultEntity: { name: 'ada' },
    });
  });

  it.each([
    [['acme/*'], 'ada', 'acme'],
    [['acme/demo', 'acme/other'], 'ada', 'acme'],
    [['acme/*', 'else/*'], 'ada', 'ada'],
    [['*'], 'ada', 'ada'],
    [['*'], 'Ada Lovelace', undefined],
  ])('takes the default entity of a key for %j of %s to be %s', async (scopes, user, name) => {
    const key = await app.aKey('reader', scopes, user);
    expect((await ask(VIEWER, undefined, key)).body.data.viewer.defaultEntity?.name).toBe(name);
  });

  it('finds every project that the key reaches, and no other', async () => {
    const key = await app.aKey('reader', ['acme/*']);
    const project = async (entityName: string, name: string) =>
      (await ask(PROJECT, { entityName, name }, key)).body.data.project;
    expect(await project('acme', 'demo')).toEqual({ name: 'demo' });
    expect(await project('else', 'demo')).toBeNull();
    expect(await project('acme', 'not a name')).toBeNull();
  });

  it('lets a client make a project, which is there already', async () => {
    const variables = { entity: 'acme', name: 'demo', description: 'd' };
    expect((await ask(UPSERT, variables)).body.data).toEqual({
      upsertModel: { model: { name: 'demo', description: 'd' } },
    });
    const key = await app.aKey('writer', ['else/*']);
    expect((await ask(UPSERT, variables, key)).body.errors[0].message).toContain('no access');
    expect((await ask(UPSERT, { entity: 'a b', name: 'x' })).body.errors).toHaveLength(1);
  });

  it.each([
    ['fields', `{${'viewer{username}'.repeat(600)}}`],
    ['levels', `{project(name:${'['.repeat(4900)}`],
    [
      'fragments that spread each other',
      `{...f0}${Array.from({ length: 150 }, (_, i) => `fragment f${i} on Query{...f${(i + 1) % 150} ...f${(i * 7) % 150}}`).join('')}`,
    ],
  ])('refuses a query of many %s', async (_, query) => {
    const { status, body } = await ask(query);
    expect(status).toBe(200);
    expect(body.errors[0].message).toContain('500 tokens');
  });

  it('answers a query it does not understand with GraphQL errors', async () => {
    for (const query of ['{', '{ everything }', 'subscription { viewer { username } }']) {
      const { status, body } = await ask(query);
      expect(status).toBe(200);
      expect(body.errors[0].message).toEqual(expect.any(String));
    }
  });

  it('needs a key, and a query of sane length', async () => {
    expect((await app.post('/graphql', { query: VIEWER }, { key: 'nonsense' })).status).toBe(401);
    expect((await app.post('/graphql', {})).status).toBe(400);
    expect((await ask(' '.repeat(10_001))).status).toBe(400);
  });
});
