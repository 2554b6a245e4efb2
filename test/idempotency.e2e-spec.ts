import { readFileSync } from 'node:fs';
import { RequestMethod } from '@nestjs/common';
import { METHOD_METADATA, PATH_METADATA } from '@nestjs/common/constants.js';
import { MetadataScanner, ModulesContainer, Reflector } from '@nestjs/core';
import { ROLE } from '../src/auth/access.guard.js';
import { basic, send, startApp, type TestApp } from './support/app.js';
import { aStart } from './support/factories.js';
import { aTrajectory, groupsOf, previewOf, type Preview } from './support/preview.js';
import { aRecipe, publish, record, user } from './support/rollouts.js';
import { until } from './support/until.js';

const project_id = 'acme/demo';
const svc_ref = 'svc:///acme/demo/call/c';

/** Writes that take no key, and why one that comes again, however late, does no harm. */
const HARMLESS: Record<string, string> = {
  '/keys/list': 'reads',
  '/audit/query': 'reads',
  '/index/list': 'reads',
  '/call/end': 'is an upsert by the id of the call',
  '/v2/:entity/:project/call/end': 'is an upsert by the id of the call',
  '/v2/:entity/:project/calls/complete': 'is an upsert by the ids of the calls',
  '/otel/v1/traces': 'is an upsert by the ids of the spans',
  '/v1/traces': 'is an upsert by the ids of the spans',
  '/agents/otel/v1/traces': 'is an upsert by the ids of the spans',
  '/api/public/otel/v1/traces': 'is an upsert by the ids of the spans',
  '/otel/v1/metrics': 'stores nothing',
  '/v1/metrics': 'stores nothing',
  '/v1/logs': 'is a union of log records',
  '/otel/v1/logs': 'is a union of log records',
  '/api/public/ingestion': 'is an upsert by the ids that the events name',
  '/api/public/scores': 'replaces the score with the id, which SDKs send with each: ADR 55',
  '/table/create': 'stores rows by their digests',
  '/table/update': 'stores rows by their digests, and leaves the table it starts from as it is',
  '/table/create_from_digests': 'stores a table by its digest',
  '/file/create': 'stores bytes by their digest',
  '/files/create': 'stores bytes by their digest',
  '/v1/preview/trainer/claims': 'leases a job for a time only; its token must not be kept',
  '/v1/preview/trainer/jobs/:id/heartbeat': 'counts for the holder of the lease only',
  '/v1/preview/trainer/jobs/:id/events': 'is told apart by the numbers of the events',
  '/v1/preview/trainer/jobs/:id/complete': 'counts for the holder of the lease only, and once',
  '/v1/preview/trainer/jobs/:id/fail': 'counts for the holder of the lease only, and once',
};

/** They begin and end sessions of the console. */
const UNDESCRIBED: Record<string, true> = { '/console/login': true, '/console/logout': true };

interface Sample {
  body?: object;
  /** Another body for the same key. */
  other?: object;
  path?: string;
}

describe('Idempotency-Key', () => {
  let app: TestApp;
  let preview: Preview;
  let writes: [method: string, path: string][];
  beforeAll(async () => {
    app = await startApp();
    preview = previewOf(app);
    writes = [...writingRoutes(app)];
  });
  afterAll(() => app.close());

  const cost = (price: number) => ({
    project_id,
    costs: { m: { prompt_token_cost: price, completion_token_cost: 1 } },
  });
  const all = { $expr: { $eq: [{ $literal: 1 }, { $literal: 1 }] } };
  const none = { $expr: { $eq: [{ $literal: 1 }, { $literal: 2 }] } };
  const note = (text: string) => ({
    project_id,
    svc_ref,
    feedback_type: 'svc.note.1',
    payload: { note: text },
  });
  const anObject = async (object_id: string, val: unknown) =>
    (await app.post('/obj/create', { obj: { project_id, object_id, val } })).body;

  /** An object whose version has the tag and the alias `a`. */
  const labelled = async (name: string) => {
    await anObject(name, 1);
    const put = (path: string, body: object) =>
      send(`${app.url}/objs/${name}/${path}`, body, { authorization: basic(app.key) }, 'PUT');
    await put('aliases', { project_id, digest: 'latest', aliases: ['a'] });
    await put('versions/latest/tags', { project_id, tags: ['a'] });
  };

  /** A recipe that makes a build of one rollout. */
  const aRecipeOf = async (id: string) => {
    await record(app, [{ id, score: 1, asks: [{ messages: [user('?')] }] }]);
    const filter = { call_ids: [id] };
    return publish(app, aRecipe({ select: { filter }, group: { min: 1 } }), { name: id });
  };

  /** For each route that takes a key: what is sent, once what it needs is there. */
  const SAMPLES: Record<string, () => Promise<Sample>> = {
    '/call/start': async () => ({
      body: { start: aStart() },
      other: { start: aStart({ op_name: 'x' }) },
    }),
    '/v2/:entity/:project/call/start': async () => ({
      path: '/v2/acme/demo/call/start',
      body: { start: aStart() },
      other: { start: aStart({ op_name: 'x' }) },
    }),
    '/call/upsert_batch': async () => ({
      body: { batch: [{ mode: 'start', req: { start: aStart() } }] },
      other: { batch: [{ mode: 'start', req: { start: aStart({ op_name: 'x' }) } }] },
    }),
    '/call/update': async () => {
      await app.post('/call/start', { start: aStart({ id: 'u' }) });
      const body = { project_id, call_id: 'u', display_name: 'a' };
      return { body, other: { ...body, display_name: 'b' } };
    },
    '/calls/delete': async () => {
      await app.post('/call/start', { start: aStart({ id: 'd' }) });
      return { body: { project_id, call_ids: ['d'] }, other: { project_id, call_ids: ['e'] } };
    },
    '/calls/purge': async () => {
      await app.post('/call/start', { start: aStart({ id: 'p' }) });
      return { body: { project_id, call_ids: ['p'] }, other: { project_id, call_ids: ['e'] } };
    },
    '/objs/purge': async () => {
      await anObject('purged', 1);
      return { body: { project_id, object_id: 'purged' }, other: { project_id, object_id: 'new' } };
    },
    '/project/delete': async () => ({ body: { project_id: 'acme/deleted' } }),
    '/index/create': async () => ({
      body: { project_id, field: 'inputs.once' },
      other: { project_id, field: 'inputs.twice' },
    }),
    '/index/delete': async () => {
      const [body, other] = [
        { project_id, field: 'inputs.gone' },
        { project_id, field: 'inputs.kept' },
      ];
      for (const index of [body, other]) await app.post('/index/create', index);
      return { body, other };
    },
    '/retention/set': async () => ({
      body: { project_id, calls_days: 30_000 },
      other: { project_id, calls_days: 30_001 },
    }),
    '/obj/create': async () => ({
      body: { obj: { project_id, object_id: 'new', val: 1 } },
      other: { obj: { project_id, object_id: 'new', val: 2 } },
    }),
    '/obj/delete': async () => {
      await anObject('gone', 1);
      return { body: { project_id, object_id: 'gone' }, other: { project_id, object_id: 'new' } };
    },
    '/objs/:object_id/aliases': async () => {
      const [{ digest }, other] = [await anObject('named', 1), await anObject('named', 2)];
      const body = { project_id, digest, aliases: ['production'] };
      const path = '/objs/named/aliases';
      return { path, body, other: { ...body, digest: other.digest } };
    },
    '/objs/:object_id/aliases/remove': async () => {
      await labelled('unnamed');
      const path = '/objs/unnamed/aliases/remove';
      return { path, body: { project_id, aliases: ['a'] }, other: { project_id, aliases: ['b'] } };
    },
    '/objs/:object_id/versions/:digest/tags': async () => {
      const { digest } = await anObject('tagged', 1);
      const path = `/objs/tagged/versions/${digest}/tags`;
      return { path, body: { project_id, tags: ['a'] }, other: { project_id, tags: ['b'] } };
    },
    '/objs/:object_id/versions/:digest/tags/remove': async () => {
      await labelled('untagged');
      const path = '/objs/untagged/versions/latest/tags/remove';
      return { path, body: { project_id, tags: ['a'] }, other: { project_id, tags: ['b'] } };
    },
    '/cost/create': async () => ({ body: cost(1), other: cost(2) }),
    '/cost/purge': async () => {
      await app.post('/cost/create', cost(3));
      return { body: { project_id, query: all }, other: { project_id, query: none } };
    },
    '/feedback/create': async () => ({ body: note('a'), other: note('b') }),
    '/feedback/batch/create': async () => ({
      body: { batch: [note('a')] },
      other: { batch: [note('b')] },
    }),
    '/feedback/purge': async () => {
      await app.post('/feedback/create', note('p'));
      return { body: { project_id, query: all }, other: { project_id, query: none } };
    },
    '/feedback/replace': async () => {
      const feedback_id = (await app.post('/feedback/create', note('r'))).body.id;
      return {
        body: { ...note('s'), feedback_id },
        other: { ...note('t'), feedback_id },
      };
    },
    '/keys/create': async () => ({
      body: { user: 'a', role: 'reader', scopes: ['acme/demo'] },
      other: { user: 'b', role: 'reader', scopes: ['acme/demo'] },
    }),
    '/keys/revoke': async () => {
      const aKey = async () =>
        (await app.post('/keys/create', { user: 'r', role: 'reader', scopes: ['*'] })).body.id;
      return { body: { id: await aKey() }, other: { id: await aKey() } };
    },
    '/build/create': async () => {
      const body = { project_id, recipe_ref: await aRecipeOf('built'), mode: 'all' };
      return { body, other: { ...body, mode: 'new' } };
    },
    '/build/submit': async () => {
      const create = { project_id, recipe_ref: await aRecipeOf('submitted'), mode: 'all' };
      const { build_id } = (await app.post('/build/create', create)).body;
      const body = { project_id, build_id, model_id: await preview.aModel() };
      return { body, other: { ...body, model_id: await preview.aModel() } };
    },
    '/v1/preview/models': async () => ({
      body: { entity: 'acme', project: 'demo', name: 'one', base_model: 'b' },
      other: { entity: 'acme', project: 'demo', name: 'two', base_model: 'b' },
    }),
    '/v1/preview/models/:id': async () => ({
      path: `/v1/preview/models/${await preview.aModel()}`,
    }),
    '/v1/preview/models/:id/checkpoints': async () => ({
      path: `/v1/preview/models/${await preview.aModel()}/checkpoints`,
      body: { steps: [7] },
      other: { steps: [8] },
    }),
    '/v1/preview/models/:model_id/log': async () => ({
      path: `/v1/preview/models/${await preview.aModel()}/log`,
      body: { split: 'val', trajectory_groups: groupsOf([aTrajectory()]) },
      other: { split: 'train', trajectory_groups: groupsOf([aTrajectory()]) },
    }),
    '/v1/preview/training-jobs': async () => {
      const body = {
        model_id: await preview.aModel(),
        trajectory_groups: groupsOf([aTrajectory()]),
      };
      return { body, other: { ...body, note: 1 } };
    },
    '/v1/preview/training-jobs/:id/cancel': async () => ({
      path: `/v1/preview/training-jobs/${await preview.aJob(await preview.aModel())}/cancel`,
    }),
  };

  /** A digest of all that is stored; threads are refreshed by themselves. */
  async function everything(): Promise<string> {
    const tables = await app.query<{ name: string }>(
      `SELECT relname AS name FROM pg_class
        WHERE relkind IN ('r', 'p') AND relnamespace = 'public'::regnamespace AND relname !~ '^(thread|call_slot|project)'
        ORDER BY relname`,
    );
    const digests = await Promise.all(
      tables.map(({ name }) =>
        app.query(`SELECT md5(string_agg(t::text, '|' ORDER BY t::text)) AS md5 FROM "${name}" t`),
      ),
    );
    return JSON.stringify(digests);
  }

  it('is taken by every write, or the write is harmless to repeat, and the description says which', () => {
    const { paths } = JSON.parse(readFileSync('openapi.json', 'utf8'));
    expect(writes.length).toBeGreaterThan(30);
    for (const [method, path] of writes) {
      if (path in UNDESCRIBED) continue;
      const described = paths[path.replaceAll(/:(\w+)/g, '{$1}')][method.toLowerCase()];
      const isDescribed = (described.parameters ?? []).some(
        ({ name }: { name: string }) => name === 'Idempotency-Key',
      );
      expect([method, path, isDescribed]).toEqual([method, path, path in SAMPLES]);
      expect([path, path in SAMPLES !== path in HARMLESS]).toEqual([path, true]);
    }
    const known = writes.map(([, path]) => path);
    expect(
      [...Object.keys(SAMPLES), ...Object.keys(HARMLESS)].filter((path) => !known.includes(path)),
    ).toEqual([]);
  });

  it.each(Object.keys(SAMPLES))(
    '%s is done once, and answered as the first time',
    async (route) => {
      const { path = route, body, other } = await SAMPLES[route]!();
      const method = writes.find(([, name]) => name === route)![0];
      const authorization = route.startsWith('/v1/preview') ? `Bearer ${app.key}` : basic(app.key);
      const ask = (sent: object | undefined) =>
        send(app.url + path, sent, { authorization, 'idempotency-key': `k ${route}` }, method);

      const before = await everything();
      const first = await ask(body);
      expect([first.status, first.text]).toEqual([200, first.text]);
      const after = await everything();
      expect(after).not.toBe(before);

      const second = await ask(body);
      expect([second.status, second.text]).toEqual([200, first.text]);
      expect(second.headers.get('content-type')).toBe(first.headers.get('content-type'));
      expect(await everything()).toBe(after);

      if (other) {
        expect((await ask(other)).status).toBe(409);
        expect(await everything()).toBe(after);
      }
    },
  );

  it('keeps no secret of a new key that the database could tell', async () => {
    const headers = { 'idempotency-key': 'sealed' };
    const body = { user: 'a', role: 'reader', scopes: ['acme/demo'] };
    const { secret } = (await app.post('/keys/create', body, { headers })).body;
    const rows = await app.query('SELECT k::text AS row FROM idempotency_keys k');
    expect(rows.map(({ row }) => row).join()).not.toContain(secret.slice(8));
  });

  it('keeps a late publish from moving `latest` back', async () => {
    const publish = (val: string, key: string) =>
      app.post(
        '/obj/create',
        { obj: { project_id, object_id: 'moving', val } },
        { headers: { 'idempotency-key': key } },
      );
    const first = await publish('a', 'p1');
    await publish('b', 'p2');
    expect((await publish('a', 'p1')).body).toEqual(first.body);
    const latest = { project_id, object_id: 'moving', digest: 'latest' };
    expect((await app.post('/obj/read', latest)).body.obj.val).toBe('b');
  });

  it('keeps a late delete from deleting what was published again', async () => {
    const { digest } = await anObject('phoenix', 'x');
    const remove = () =>
      app.post(
        '/obj/delete',
        { project_id, object_id: 'phoenix', digests: [digest] },
        { headers: { 'idempotency-key': 'd1' } },
      );
    expect((await remove()).body).toEqual({ num_deleted: 1 });
    await anObject('phoenix', 'x');
    expect((await remove()).body).toEqual({ num_deleted: 1 });
    expect((await app.post('/obj/read', { project_id, object_id: 'phoenix', digest })).status).toBe(
      200,
    );
  });

  it('makes one write of 500 requests, 200 at a time', async () => {
    const body = { ...cost(1), project_id: 'acme/crowd' };
    const headers = { 'idempotency-key': 'crowd' };
    const left = Array.from({ length: 500 }).values();
    const answers: string[] = [];
    await Promise.all(
      Array.from({ length: 200 }, async () => {
        for (const _ of left) {
          const { status, text } = await app.post('/cost/create', body, { headers });
          answers.push(`${status} ${text}`);
        }
      }),
    );
    expect(answers).toHaveLength(500);
    expect(new Set(answers).size).toBe(1);
    expect(answers[0]).toMatch(/^200 /);
    expect(await app.query(`SELECT 1 FROM costs WHERE project_id = 'acme/crowd'`)).toHaveLength(1);
  });

  it('holds up nobody else while its write is under way in another process', async () => {
    const headers = { 'idempotency-key': 'elsewhere' };
    const create = (price: number) => app.post('/cost/create', cost(price), { headers });
    const [{ id }] = await app.query('SELECT id FROM api_keys ORDER BY id LIMIT 1');
    const elsewhere = app.dataSource.createQueryRunner();
    await elsewhere.startTransaction();
    await elsewhere.query(
      `INSERT INTO idempotency_keys (project_id, api_key_id, key, body_hash) VALUES ($1, $2, 'elsewhere', '')`,
      [project_id, id],
    );
    const waiting = Array.from({ length: 30 }, () => create(1));
    await until(async () => {
      const locked = await app.query(
        `SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`,
      );
      return locked.length === 1;
    });
    expect((await create(2)).status).toBe(409);
    // of the ten connections of the pool those that wait hold one
    const others = Array.from({ length: 8 }, () => app.post('/call/start', { start: aStart() }));
    for (const { status } of await Promise.all(others)) expect(status).toBe(200);
    for (const { status, headers: answered } of await Promise.all(waiting))
      expect([status, answered.get('retry-after')]).toEqual([503, '1']);
    await elsewhere.rollbackTransaction();
    await elsewhere.release();
    expect((await create(1)).status).toBe(200);
  });

  it('is not x-weave-retry-id, which clients leave in their default headers', async () => {
    const headers = { 'x-weave-retry-id': 'always the same' };
    const ids = [];
    for (const op_name of ['a', 'b', 'b'])
      ids.push(
        (await app.post('/call/start', { start: aStart({ op_name }) }, { headers })).body.id,
      );
    expect(new Set(ids).size).toBe(3);
  });
});

/** Method and path of the routes that are not for readers. */
function* writingRoutes({ app }: TestApp): Generator<[string, string]> {
  const scanner = new MetadataScanner();
  const list = (value: string | string[]) => [value].flat();
  for (const { controllers } of app.get(ModulesContainer).values())
    for (const { metatype } of controllers.values())
      for (const name of scanner.getAllMethodNames(metatype!.prototype)) {
        const handler = metatype!.prototype[name];
        const method: RequestMethod | undefined = Reflect.getMetadata(METHOD_METADATA, handler);
        const role = app.get(Reflector).getAllAndOverride(ROLE, [handler, metatype as never]);
        if (method === undefined || method === RequestMethod.GET || role === 'reader') continue;
        const parts = [metatype!, handler].map((target) =>
          Reflect.getMetadata(PATH_METADATA, target),
        );
        for (const path of list(parts[1]))
          yield [
            RequestMethod[method],
            `/${parts[0]}/${path}`.replaceAll(/\/+/g, '/').replace(/(.)\/$/, '$1'),
          ];
      }
}
