import type { AddressInfo } from 'node:net';
import { type Answer, basic, openApp, send, useApp } from '../support/app.js';
import { ran } from '../support/background.js';
import { aStart, anEnd } from '../support/factories.js';
import { aFileForm } from '../support/planted.js';
import { until } from '../support/until.js';

const app = useApp();

let entities = 0;
const anEntity = () => `entity${entities++}`;

const set = (scope: string, limits: object, key?: string) =>
  app.post('/quotas/set', { scope, ...limits }, key ? { key } : {});
const start = (project_id: string, more = {}, key = app.key) =>
  app.post('/call/start', { start: aStart({ project_id, ...more }) }, { key });

async function useOf(scope: string) {
  const { body } = await app.post('/quotas/query', { limit: 1000 });
  return body.scopes.find((one: { scope: string }) => one.scope === scope);
}

/** Waits until the process has exchanged its counts. */
const exchanged = () => ran(app.url, 'quotas');

function expectRefusal(answer: Answer, status: 403 | 429, quota: object): void {
  expect(answer.body).toMatchObject({
    status,
    code: status === 429 ? 'rate_limited' : 'quota_exceeded',
    quota: { resets_at: status === 429 ? expect.any(String) : null, ...quota },
  });
  const seconds = answer.headers.get('retry-after');
  if (status === 403) expect(seconds).toBeNull();
  else {
    const { resets_at } = answer.body.quota;
    expect(Math.abs(Date.now() + Number(seconds) * 1000 - Date.parse(resets_at))).toBeLessThan(
      5000,
    );
  }
}

describe('use', () => {
  it('counts requests, bytes, calls and slots by entity and project', async () => {
    const entity = anEntity();
    const key = await app.aKey('admin', [`${entity}/*`]);
    const inputs = { text: 'x'.repeat(10_000) };
    for (const project of ['a', 'a', 'b']) await start(`${entity}/${project}`, { inputs }, key);
    const file = await fetch(`${app.url}/file/create`, {
      method: 'POST',
      headers: { authorization: basic(key) },
      body: aFileForm(`${entity}/a`, 'y'.repeat(500)),
    });
    expect(file.status).toBe(200);
    await app.post('/calls/query', { project_id: `${entity}/a` }, { key });
    await app.post('/projects/query', {}, { key });
    await app.post(
      '/calls/query',
      { project_id: `${entity}/nothing is here`.replaceAll(' ', '-') },
      { key },
    );
    await exchanged();
    const a = await useOf(`${entity}/a`);
    expect(a).toMatchObject({ requests: 4, refused_requests: 0, calls: 2, slot_ms: 0 });
    expect(a.received_bytes).toBeGreaterThan(20_000);
    expect(a.stored_bytes).toBeGreaterThanOrEqual(500);
    const all = await useOf(`${entity}/*`);
    expect(all).toMatchObject({ requests: 7, calls: 3 });
    expect(all.slot_ms).toBeGreaterThan(0);
    expect(all.received_bytes).toBeGreaterThan(a.received_bytes);
    expect(all.stored_bytes).toBeGreaterThanOrEqual(a.stored_bytes);
    expect(await useOf(`${entity}/nothing-is-here`)).toBeUndefined();

    const { body } = await app.post('/quotas/query', {}, { key });
    expect(body.scopes.map(({ scope }: { scope: string }) => scope)).toEqual([
      `${entity}/*`,
      `${entity}/a`,
      `${entity}/b`,
    ]);
    const own = await app.aKey('admin', [`${entity}/b`]);
    const of = await app.post('/quotas/query', {}, { key: own });
    expect(of.body.scopes.map(({ scope }: { scope: string }) => scope)).toEqual([`${entity}/b`]);
    expect((await app.post('/quotas/query', { day: '2000-01-01' }, { key })).body.scopes).toEqual(
      [],
    );
  });

  it('counts requests of a project whose rows are not counted yet', async () => {
    const counting = app.dataSource.createQueryRunner();
    await counting.query('BEGIN; LOCK TABLE projects IN SHARE MODE');
    const project = `${anEntity()}/a`;
    await start(project);
    await exchanged();
    await app.post('/calls/query', { project_id: project });
    await exchanged();
    await counting.query('ROLLBACK');
    await counting.release();
    expect(await useOf(project)).toMatchObject({ requests: 2, calls: 1 });
  });

  it('names the largest entities in metrics, ten at most', async () => {
    const several = Array.from({ length: 12 }, anEntity);
    for (const entity of several) await start(`${entity}/a`); // by a key of all entities
    for (const entity of several)
      await until(async () => (await useOf(`${entity}/a`))?.requests === 1);
    const use = { requests: 1, calls: 1 };
    expect(await useOf(`${several[0]}/*`)).toMatchObject(use);
    expect(await useOf(`${several[0]}/a`)).toMatchObject(use);
    await ran(app.url, 'largest entities');
    const text = await (await fetch(`${app.url}/metrics`)).text();
    expect(text.match(/^skein_entity_requests_today\{entity="[^"]+"\} \d+$/gm)).toHaveLength(10);
    expect(text.match(/^skein_entity_calls_today\{/gm)).toHaveLength(10);
  });
});

describe('quotas', () => {
  it('refuse calls over those of a day, and let running calls end', async () => {
    const project = `${anEntity()}/a`;
    const key = await app.aKey('writer', [project]);
    await set(project, { calls_per_day: 3 });
    expect((await start(project, { id: 'running' }, key)).status).toBe(200);
    const batch = ['x', 'y'].map((id) => ({
      mode: 'start',
      req: { start: aStart({ project_id: project, id }) },
    }));
    const stored = await app.post('/call/upsert_batch', { batch }, { key });
    expect(stored.body.res).toHaveLength(2);
    const quota = { scope: project, name: 'calls_per_day', used: 3, limit: 3 };
    expectRefusal(await start(project, {}, key), 429, quota);
    expectRefusal(await app.post('/call/upsert_batch', { batch }, { key }), 429, quota);
    const end = anEnd({ project_id: project, id: 'running' });
    expect((await app.post('/call/end', { end }, { key })).status).toBe(200);
    const neighbour = `${anEntity()}/a`;
    expect((await start(neighbour)).status).toBe(200);
  });

  it('refuse the calls of one project in a batch of several', async () => {
    const entity = anEntity();
    await set(`${entity}/full`, { calls_per_day: 0 });
    const batch = ['full', 'free'].map((name) => ({
      mode: 'start',
      req: { start: aStart({ project_id: `${entity}/${name}` }) },
    }));
    const { body } = await app.post('/call/upsert_batch', { batch });
    expect(body.res).toEqual([
      { error: { code: 'rate_limited', detail: expect.stringContaining('calls_per_day') } },
      { id: expect.any(String), trace_id: expect.any(String) },
    ]);
  });

  it('refuse the requests of an entity before their bodies are read, and those of a project', async () => {
    const entity = anEntity();
    const key = await app.aKey('writer', [`${entity}/*`]);
    await set(`${entity}/*`, { requests_per_minute: 5 });
    await set(`${entity}/small`, { requests_per_minute: 2 });
    const statuses = async (project: string, count: number) => {
      const answers: number[] = [];
      for (let i = 0; i < count; i++)
        answers.push(
          (await app.post('/calls/query_stats', { project_id: project }, { key })).status,
        );
      return answers;
    };
    expect(await statuses(`${entity}/small`, 3)).toEqual([200, 200, 429]);
    expect(await statuses(`${entity}/other`, 3)).toEqual([200, 200, 429]);
    const broken = await app.post('/call/start', '{', { key });
    expectRefusal(broken, 429, { scope: `${entity}/*`, name: 'requests_per_minute', limit: 5 });
    expect((await app.post('/calls/query_stats', { project_id: `${anEntity()}/a` })).status).toBe(
      200,
    );
  });

  it('answer many refusals late, and no other request of the same key', async () => {
    const entity = anEntity();
    const key = await app.aKey('writer', [`${entity}/*`]);
    await set(`${entity}/full`, { requests_per_minute: 0 });
    let pending = 120;
    const refused = Array.from({ length: pending }, async () => {
      const { status } = await start(`${entity}/full`, {}, key);
      pending--;
      return status;
    });
    await until(() => pending < 120);
    expect((await start(`${entity}/free`, {}, key)).status).toBe(200);
    expect(pending).toBeGreaterThan(0);
    expect(new Set(await Promise.all(refused))).toEqual(new Set([429]));
  });

  it('refuse writes while too many bytes are stored, but neither reads nor what frees space', async () => {
    const entity = anEntity();
    const project = `${entity}/a`;
    const key = await app.aKey('admin', [`${entity}/*`]);
    const publish = () =>
      app.post(
        '/obj/create',
        { obj: { project_id: project, object_id: 'o', val: { text: 'x'.repeat(2000) } } },
        { key },
      );
    await set(`${entity}/*`, { stored_bytes: 1000 });
    expect((await publish()).status).toBe(200);
    await exchanged();
    const quota = { scope: `${entity}/*`, name: 'stored_bytes', limit: 1000 };
    expectRefusal(await publish(), 403, quota);
    expectRefusal(await start(`${entity}/b`, {}, key), 403, quota);
    const read = { project_id: project, object_id: 'o', digest: 'latest' };
    expect((await app.post('/obj/read', read, { key })).status).toBe(200);
    const deleted = await app.post('/project/delete', { project_id: project }, { key });
    expect(deleted.status).toBe(200);
    await exchanged();
    expect((await publish()).status).toBe(200);
  });

  it('are those of at most 1,000 projects of an entity', async () => {
    const entity = anEntity();
    await app.query(
      `INSERT INTO quotas (entity, project, stored_bytes) SELECT $1, 'p' || i, 9 FROM generate_series(1, 1000) i`,
      [entity],
    );
    const more = () => set(`${entity}/more`, { calls_per_day: 5 });
    expect((await more()).body).toMatchObject({
      code: 'too_large',
      detail: 'at most 1000 projects of an entity have quotas: set those of another one to null',
    });
    for (const scope of [`${entity}/*`, `${entity}/p1`])
      expect((await set(scope, { calls_per_day: 5 })).status).toBe(200);
    expect((await set(`${entity}/p2`, {})).status).toBe(200);
    expect((await more()).status).toBe(200);
  });

  it('are set by an admin above: of the entity for a project, of everything for an entity', async () => {
    const entity = anEntity();
    const ofEntity = await app.aKey('admin', [`${entity}/*`]);
    const ofProject = await app.aKey('admin', [`${entity}/a`]);
    const limits = { calls_per_day: 7 };
    expect((await set(`${entity}/a`, limits, ofEntity)).body).toEqual({
      scope: `${entity}/a`,
      stored_bytes: null,
      written_bytes_per_day: null,
      calls_per_day: 7,
      requests_per_minute: null,
    });
    expect((await set(`${entity}/a`, limits, ofProject)).status).toBe(403);
    expect((await set(`${entity}/*`, limits, ofEntity)).status).toBe(403);
    expect((await set(`${anEntity()}/a`, limits, ofEntity)).status).toBe(403);
    expect((await set(`${entity}/a`, limits, await app.aKey('writer', ['*']))).status).toBe(403);
    expect((await set(`${entity}/*`, limits)).status).toBe(200);
    expect((await set('*', limits)).body.errors[0].path).toBe('scope');
    expect((await set(`${entity}/a`, { calls_per_day: -1 })).body.errors[0].path).toBe(
      'calls_per_day',
    );
    const { events } = (await app.post('/audit/query', {}, { key: ofEntity })).body;
    expect(events).toContainEqual(
      expect.objectContaining({ action: 'quota.set', target: `${entity}/a` }),
    );
    await set(`${entity}/a`, {});
    expect(await useOf(`${entity}/a`)).toMatchObject({ limits: { calls_per_day: null } });
  });
});

describe('with quotas in the settings', () => {
  const limited = useApp({ QUOTA_CALLS_PER_DAY: '1' });
  const startOf = (project_id: string) =>
    limited.post('/call/start', { start: aStart({ project_id }) }, { key });
  let key: string;

  it('limits each entity that has no quota of its own', async () => {
    key = await limited.aKey('writer', ['small/*', 'large/*']);
    await limited.post('/quotas/set', { scope: 'large/*', calls_per_day: 3 });
    const statuses: number[] = [];
    for (const project of ['small/a', 'small/b', 'large/a', 'large/b'])
      statuses.push((await startOf(project)).status);
    expect(statuses).toEqual([200, 429, 200, 200]);
  });
});

it('hold over all processes once they have exchanged their counts', async () => {
  const other = await openApp(app.databaseUrl);
  await other.app.listen(0, '127.0.0.1');
  try {
    const project = `${anEntity()}/a`;
    await set(project, { calls_per_day: 2 });
    const { port } = other.app.getHttpServer().address() as AddressInfo;
    const url = `http://127.0.0.1:${port}/call/start`;
    const headers = { authorization: basic(app.key) };
    const startThere = () => send(url, { start: aStart({ project_id: project }) }, headers);
    expect((await startThere()).status).toBe(200);
    expect((await start(project)).status).toBe(200);
    await until(async () => (await startThere()).status === 429);
    await until(async () => (await start(project)).status === 429);
  } finally {
    await other.app.close();
  }
});
