import { startApp, type TestApp } from '../support/app.js';
import { aTrajectory, groupsOf, type Preview, previewOf } from '../support/preview.js';

const UNKNOWN = '01a1fbc3-f5fb-72fa-bfb3-04f663804a7c';

describe('models', () => {
  let app: TestApp;
  let preview: Preview;
  beforeAll(async () => {
    app = await startApp();
    preview = previewOf(app);
  });
  afterAll(() => app.close());

  const body = { entity: 'acme', project: 'demo', base_model: 'Qwen/Q' };

  it('are made with a checkpoint of step 0', async () => {
    const answer = await preview.call('POST', '/models', { ...body, name: 'new' });
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({ ...body, name: 'new', id: expect.any(String), run_id: null });
    const page = await preview.call('GET', `/models/${answer.body.id}/checkpoints`);
    expect(page.body.data).toEqual([{ id: expect.any(String), step: 0, metrics: {} }]);
  });

  it('have one name in a project', async () => {
    const first = await preview.call('POST', '/models', { ...body, name: 'one' });
    const second = await preview.call('POST', '/models', { ...body, name: 'one' });
    expect(second).toMatchObject({ status: 409, body: { code: 'conflict' } });
    expect(second.headers.get('x-should-retry')).toBe('false');
    const existing = await preview.call('POST', '/models', {
      ...body,
      name: 'one',
      return_existing: true,
    });
    expect(existing.body).toEqual(first.body);
    const other = await preview.call('POST', '/models', { ...body, project: 'other', name: 'one' });
    expect(other.body.id).not.toBe(first.body.id);
  });

  it('are made once by clients that race with return_existing', async () => {
    const answers = await Promise.all(
      Array.from({ length: 20 }, () =>
        preview.call('POST', '/models', { ...body, name: 'race', return_existing: true }),
      ),
    );
    expect(new Set(answers.map((answer) => answer.body.id)).size).toBe(1);
  });

  it('belong to the entity of the key when they name none', async () => {
    const key = await app.aKey('writer', ['umbrella/a', 'umbrella/b']);
    const made = { entity: null, project: 'a', name: 'own', base_model: 'b' };
    expect((await preview.call('POST', '/models', made, { key })).body.entity).toBe('umbrella');
    // without a scope that names one, the entity is the name of the user
    const unlimited = await app.aKey('writer', ['*'], 'grace');
    const answer = await preview.call('POST', '/models', made, { key: unlimited });
    expect(answer.body.entity).toBe('grace');
    const two = await app.aKey('writer', ['umbrella/a', 'corp/b'], 'grace');
    expect((await preview.call('POST', '/models', made, { key: two })).status).toBe(403);
    const nameless = await app.aKey('writer', ['*'], 'Grace Hopper');
    const refused = await preview.call('POST', '/models', made, { key: nameless });
    expect(refused).toMatchObject({ status: 400, body: { errors: [{ path: 'entity' }] } });
  });

  it.each([
    ['project', { project: undefined }],
    ['project', { project: 'a/b' }],
    ['name', { name: '' }],
    ['base_model', { base_model: null }],
    ['entity', { entity: 'a b' }],
    ['return_existing', { return_existing: 'yes' }],
  ])('are refused for a wrong %s', async (path, wrong) => {
    const answer = await preview.call('POST', '/models', { ...body, name: 'x', ...wrong });
    expect(answer).toMatchObject({
      status: 400,
      body: { code: 'invalid_request', errors: [{ path }] },
    });
  });

  it('outside the scopes of a key are refused, or not found', async () => {
    const model = await preview.aModel();
    const key = await app.aKey('writer', ['corp/*']);
    expect((await preview.call('POST', '/models', { ...body, name: 'x' }, { key })).status).toBe(
      403,
    );
    for (const id of [model, UNKNOWN, 'no-uuid']) {
      const answers = await Promise.all([
        preview.call('GET', `/models/${id}/checkpoints`, undefined, { key }),
        preview.call('DELETE', `/models/${id}`, undefined, { key }),
        preview.call('DELETE', `/models/${id}/checkpoints`, { steps: [] }, { key }),
        preview.call('POST', `/models/${id}/log`, { split: 'a', trajectory_groups: [] }, { key }),
        preview.call('POST', '/training-jobs', { model_id: id, trajectory_groups: [] }, { key }),
      ]);
      expect(answers.map(({ status }) => status)).toEqual([404, 404, 404, 404, 404]);
    }
    expect((await preview.call('GET', '/models', undefined, { key })).body.data).toEqual([]);
    const named = await preview.call('GET', '/models?entity=acme&project=demo', undefined, { key });
    expect(named.status).toBe(403);
  });

  it('are listed page by page', async () => {
    const ids: string[] = [];
    for (const name of ['a', 'b', 'c', 'd', 'e'])
      ids.push(await preview.aModel({ project: 'pages', name }));
    const first = await preview.call('GET', '/models?entity=acme&project=pages&limit=2');
    expect(first.body).toMatchObject({
      object: 'list',
      first_id: ids[0],
      last_id: ids[1],
      has_more: true,
    });
    const rest = await preview.call('GET', `/models?project=pages&limit=3&after=${ids[1]}`);
    expect(rest.body.data.map(({ id }: any) => id)).toEqual(ids.slice(2));
    expect(rest.body.has_more).toBe(false);
    const none = await preview.call('GET', `/models?project=pages&after=${ids[4]}`);
    expect(none.body).toEqual({
      object: 'list',
      data: [],
      first_id: '',
      last_id: '',
      has_more: false,
    });
    expect((await preview.call('GET', '/models?project=pages&name=c')).body.data[0].id).toBe(
      ids[2],
    );
  });

  it.each([
    ['limit', 'limit=0'],
    ['limit', 'limit=101'],
    ['limit', 'limit=two'],
    ['limit', 'limit=1.5'],
    ['after', 'after=x'],
    ['after', 'after=a&after=b'],
    ['order', 'order=up'],
  ])('refuse a wrong %s of a page: %s', async (path, query) => {
    const answer = await preview.call(
      'GET',
      `/models/${await preview.aModel()}/checkpoints?${query}`,
    );
    expect(answer).toMatchObject({ status: 400, body: { errors: [{ path }] } });
  });

  /** Makes a model with checkpoints of steps 0 to `last`. */
  const trained = async (last: number) => {
    const model = await preview.aModel({ project: 'steps' });
    for (let step = 1; step <= last; step++) {
      const job = await preview.aJob(model);
      const { lease_token: token } = (await preview.claim()).body;
      await preview.start(job, token);
      await preview.complete(job, token, { loss: step });
    }
    return model;
  };

  it('list their checkpoints in both orders, page by page', async () => {
    const model = await trained(3);
    const all = await preview.checkpoints(model);
    expect(all.map(({ step }) => step)).toEqual([0, 1, 2, 3]);
    const newest = await preview.call('GET', `/models/${model}/checkpoints?order=desc&limit=1`);
    expect(newest.body).toMatchObject({
      data: [{ step: 3, metrics: { loss: 3 } }],
      has_more: true,
    });
    const older = `/models/${model}/checkpoints?order=desc&after=${newest.body.last_id}`;
    expect((await preview.call('GET', older)).body.data.map(({ step }: any) => step)).toEqual([
      2, 1, 0,
    ]);
    const unknown = await preview.call('GET', `/models/${model}/checkpoints?after=${UNKNOWN}`);
    expect(unknown.status).toBe(400);
  });

  it('keep their latest checkpoint when others are deleted', async () => {
    const model = await trained(2);
    const answer = await preview.call('DELETE', `/models/${model}/checkpoints`, {
      steps: [0, 2, 7, 0],
    });
    expect(answer).toMatchObject({
      status: 200,
      body: { deleted_count: 1, not_found_steps: [2, 7] },
    });
    expect((await preview.checkpoints(model)).map(({ step }) => step)).toEqual([1, 2]);
    const wrong = await preview.call('DELETE', `/models/${model}/checkpoints`, { steps: ['1'] });
    expect(wrong.status).toBe(400);
  });

  it('are deleted with all they have, and their name is free again', async () => {
    const model = await preview.aModel({ name: 'gone' });
    const queued = await preview.aJob(model);
    await preview.call('POST', `/models/${model}/log`, {
      split: 'a',
      trajectory_groups: groupsOf([aTrajectory()]),
    });
    const answer = await preview.call('DELETE', `/models/${model}`);
    expect(answer.body).toEqual({ model_id: model, deleted_checkpoints: 1, deleted_run: false });
    expect((await preview.call('GET', `/models/${model}/checkpoints`)).status).toBe(404);
    expect((await preview.job(queued)).status).toBe('cancelled');
    expect((await preview.events(queued)).map(({ type }) => type)).toEqual(['training_failed']);
    for (const table of ['trajectory_batches', 'body_chunks', 'trajectories'])
      expect(
        await app.query(
          table === 'trajectory_batches'
            ? 'SELECT 1 FROM trajectory_batches WHERE model_id = $1'
            : `SELECT 1 FROM ${table} t WHERE NOT EXISTS (SELECT 1 FROM trajectory_batches b WHERE b.project_id = t.project_id AND b.id = t.batch_id) AND $1::text <> ''`,
          [model],
        ),
      ).toEqual([]);
    expect(await preview.aModel({ name: 'gone' })).not.toBe(model);
  });

  it('ask for a role: a reader reads, a writer writes', async () => {
    const model = await preview.aModel();
    const reader = { key: await app.aKey('reader') };
    const trainer = { key: await app.aKey('trainer') };
    expect((await preview.call('GET', '/models', undefined, reader)).status).toBe(200);
    expect((await preview.call('POST', '/models', { ...body, name: 'x' }, reader)).status).toBe(
      403,
    );
    expect((await preview.call('DELETE', `/models/${model}`, undefined, reader)).status).toBe(403);
    expect((await preview.call('POST', `/models/${model}/log`, {}, reader)).status).toBe(403);
    expect((await preview.call('POST', '/training-jobs', {}, reader)).status).toBe(403);
    expect((await preview.call('GET', '/models', undefined, trainer)).status).toBe(403);
  });

  describe('metrics of a checkpoint', () => {
    const metrics = (count: number, length: number) =>
      Object.fromEntries(
        Array.from({ length: count }, (_, i) => [`${i}`.padStart(length, 'm'), i]),
      );
    const log = (model: string, split: string, values: object) =>
      preview.call('POST', `/models/${model}/log`, {
        split,
        trajectory_groups: groupsOf([aTrajectory({ metrics: values })]),
      });

    it('are bounded in names and in bytes, also those of several logs together', async () => {
      const model = await preview.aModel();
      expect((await log(model, 'a', metrics(900, 10))).status).toBe(200);
      expect(await log(model, 'b', metrics(200, 10))).toMatchObject({
        status: 413,
        body: { code: 'too_large', detail: expect.stringContaining('at most 1000 names') },
      });
      expect((await log(model, 'a', metrics(2000, 10))).status).toBe(413);
      expect(await log(await preview.aModel(), 'a', metrics(500, 200))).toMatchObject({
        status: 413,
        body: { detail: expect.stringContaining('at most 65536 bytes') },
      });
      const page = await preview.call('GET', `/models/${model}/checkpoints`);
      expect(Object.keys(page.body.data[0].metrics)).toHaveLength(904);
    });

    it('from before there was a bound are listed, in pages that end early', async () => {
      const model = await preview.aModel();
      await app.query(
        `INSERT INTO checkpoints (project_id, model_id, step, id, metrics)
         SELECT 'acme/demo', $1, n, gen_random_uuid(), jsonb_build_object(repeat('m', 3000000), n)
         FROM generate_series(1, 5) n`,
        [model],
      );
      const steps: number[] = [];
      let path = `/models/${model}/checkpoints`;
      const sizes: number[] = [];
      for (let more = true; more;) {
        const { body, text } = await preview.call('GET', path);
        sizes.push(body.data.length);
        expect(text.length).toBeLessThan(9_000_000);
        for (const { step } of body.data) steps.push(step);
        path = `/models/${model}/checkpoints?after=${body.last_id}`;
        more = body.has_more;
      }
      expect(steps).toEqual([0, 1, 2, 3, 4, 5]);
      expect(sizes).toEqual([3, 2, 1]);
    });
  });
});
