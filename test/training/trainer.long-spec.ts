import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { Client } from 'pg';
import { QueueService } from '../../src/training/jobs/queue.service.js';
import { startApp, type TestApp, useApp } from '../support/app.js';
import {
  aChoice,
  aTrajectory,
  groupsOf,
  linesOfGzip,
  type Preview,
  previewOf,
} from '../support/preview.js';
import { aFolder } from '../support/server.js';
import { until } from '../support/until.js';
import { Notices } from '../../src/platform/database/notices.js';

const FILE = { name: 'weights', size_bytes: 2, sha256: 'a'.repeat(64) };
const UNKNOWN = '01a1fbc3-f5fb-72fa-bfb3-04f663804a7c';

describe('trainers', () => {
  let app: TestApp;
  let preview: Preview;
  let queue: QueueService;
  beforeAll(async () => {
    app = await startApp({ TRAINER_MAX_ATTEMPTS: '3' });
    preview = previewOf(app);
    queue = app.app.get(QueueService);
  });
  afterAll(() => app.close());
  /** Ends the jobs of other tests, so that they cannot be claimed. */
  beforeEach(() =>
    app.query(
      `UPDATE training_jobs SET status = 'failed' WHERE status IN ('queued', 'leased', 'running')`,
    ),
  );

  const expire = (job: string) =>
    app.query(
      `UPDATE training_jobs SET lease_expires_at = now() - interval '1 second' WHERE id = $1`,
      [job],
    );
  const lose = async (job: string) => {
    await expire(job);
    await queue.sweep();
  };
  const step = (seq: number, data: object = { loss: seq }) => ({
    seq,
    type: 'gradient_step',
    data,
  });
  const report = (job: string, token: string, ...events: object[]) =>
    preview.trainer(job, token, 'events', { events });
  const fail = (job: string, token: string, retryable: boolean, error_message = 'no memory') =>
    preview.trainer(job, token, 'fail', { error_message, retryable });
  const typesOf = async (job: string) => (await preview.events(job)).map(({ type }) => type);
  const statusOf = async (job: string) => (await preview.job(job)).status;

  /** Makes a job and claims it. */
  async function leased(model?: string) {
    const of = model ?? (await preview.aModel());
    const job = await preview.aJob(of);
    const { body } = await preview.claim();
    expect(body.job_id).toBe(job);
    return { model: of, job, token: body.lease_token as string };
  }

  it('take a job from claim to end', async () => {
    const model = await preview.aModel({ name: 'whole', base_model: 'Qwen/B' });
    const groups = groupsOf([aTrajectory(), aTrajectory({ reward: 0 })], []);
    const { body: job } = await preview.call('POST', '/training-jobs', {
      model_id: model,
      trajectory_groups: groups,
      experimental_config: { learning_rate: 1e-5 },
    });
    const claimed = await preview.claim();
    expect(claimed.status).toBe(200);
    expect(claimed.body).toEqual({
      job_id: job.id,
      model: 'whole',
      model_id: model,
      project_id: 'acme/demo',
      base_model: 'Qwen/B',
      parent_step: 0,
      parent: { step: 0, uri: null, sha256: null, config: null, files: [] },
      state: null,
      attempt: 1,
      kind: 'rl',
      config: null,
      experimental_config: { learning_rate: 1e-5 },
      lease_token: expect.stringMatching(/^[\w-]{43}$/),
      lease_expires_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:]{8}\.\d{6}Z$/),
      heartbeat_seconds: 15,
      payload: {
        url: `/v1/preview/trainer/jobs/${job.id}/payload`,
        bytes: expect.any(Number),
        sha256: expect.any(String),
        encoding: 'gzip',
      },
    });
    const token = claimed.body.lease_token;
    expect(await statusOf(job.id)).toBe('leased');
    expect(
      linesOfGzip(await preview.payload(job.id, token)).map((line) => JSON.parse(line)),
    ).toEqual(groups);
    const beat = await preview.trainer(job.id, token, 'heartbeat');
    expect(beat.body).toEqual({
      lease_expires_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:]{8}\.\d{6}Z$/),
      cancel_requested: false,
    });
    expect((await preview.start(job.id, token, 2)).body).toEqual({ cancel_requested: false });
    expect(await preview.job(job.id)).toMatchObject({
      status: 'running',
      started_at: expect.any(String),
      finished_at: null,
    });
    await report(job.id, token, step(1), step(2));
    const done = await preview.trainer(job.id, token, 'complete', {
      metrics: { loss: 0.5 },
      checkpoint: { uri: 's3://b/c', sha256: 'a'.repeat(64), size_bytes: 2 ** 40 },
    });
    expect(done).toMatchObject({ status: 200, body: { step: 1, made_step: true } });
    expect(await preview.job(job.id)).toMatchObject({
      status: 'succeeded',
      finished_at: expect.any(String),
      error_message: null,
      attempt: 1,
      checkpoint: { step: 1, uri: 's3://b/c', sha256: 'a'.repeat(64), size_bytes: 2 ** 40 },
    });
    expect((await preview.events(job.id)).map(({ type, data }) => ({ type, data }))).toEqual([
      { type: 'training_started', data: { num_sequences: 2 } },
      { type: 'gradient_step', data: { loss: 1 } },
      { type: 'gradient_step', data: { loss: 2 } },
      { type: 'training_ended', data: {} },
    ]);
    expect(
      (await preview.checkpoints(model)).map(({ step: at, metrics }) => [at, metrics]),
    ).toEqual([
      [0, {}],
      [1, { loss: 0.5 }],
    ]);
  });

  it('store no lease token', async () => {
    const { job, token } = await leased();
    const [row] = await app.query(
      `SELECT lease_token_hash, row_to_json(j)::text AS text FROM training_jobs j WHERE id = $1`,
      [job],
    );
    expect(row.lease_token_hash).toEqual(createHash('sha256').update(token).digest());
    expect(row.text).not.toContain(token);
  });

  it('get the oldest job first, and one of a model at a time', async () => {
    const [a, b] = [await preview.aModel(), await preview.aModel()];
    const [a1, a2, b1] = [await preview.aJob(a), await preview.aJob(a), await preview.aJob(b)];
    const first = (await preview.claim()).body;
    expect(first.job_id).toBe(a1);
    expect((await preview.claim()).body.job_id).toBe(b1);
    expect((await preview.claim()).status).toBe(204);
    await preview.start(a1, first.lease_token);
    await preview.complete(a1, first.lease_token);
    expect((await preview.claim()).body).toMatchObject({ job_id: a2, parent_step: 1 });
  });

  it('get jobs of their base models and of their scopes only', async () => {
    const job = await preview.aJob(await preview.aModel({ base_model: 'B', project: 'p' }));
    expect((await preview.claim({ base_models: ['A'] })).status).toBe(204);
    expect(
      (await preview.claim({}, { key: await app.aKey('trainer', ['corp/*', 'acme/q']) })).status,
    ).toBe(204);
    const { body } = await preview.claim(
      { base_models: ['A', 'B'] },
      { key: await app.aKey('trainer', ['acme/*']) },
    );
    expect(body.job_id).toBe(job);
    const foreign = {
      key: await app.aKey('trainer', ['corp/*']),
      ...preview.lease(body.lease_token),
    };
    for (const [name, sent] of [
      ['heartbeat', {}],
      ['events', { events: [] }],
      ['complete', { metrics: {}, checkpoint: { uri: 'x' } }],
      ['fail', { error_message: '', retryable: true }],
    ] as const)
      expect(
        (await preview.call('POST', `/trainer/jobs/${job}/${name}`, sent, foreign)).status,
      ).toBe(404);
    expect(
      (await preview.call('GET', `/trainer/jobs/${job}/payload`, undefined, foreign)).status,
    ).toBe(404);
  });

  it('need the role trainer, which may do nothing else', async () => {
    const writer = { key: await app.aKey('writer') };
    const trainer = { key: await app.aKey('trainer') };
    expect((await preview.claim({}, writer)).status).toBe(403);
    expect(
      (await preview.call('POST', `/trainer/jobs/${UNKNOWN}/heartbeat`, {}, writer)).status,
    ).toBe(403);
    expect((await preview.call('GET', `/training-jobs`, undefined, trainer)).status).toBe(403);
    expect((await preview.claim({}, trainer)).status).toBe(204);
  });

  it('are let in by neither Basic nor by a key that is not valid', async () => {
    const basic = `Basic ${Buffer.from(`me:${app.key}`).toString('base64')}`;
    for (const authorization of [basic, 'Bearer nonsense', `Bearer ${app.key}x`])
      expect(
        (await fetch(`${app.url}/v1/preview/models`, { headers: { authorization } })).status,
      ).toBe(401);
  });

  it.each([
    ['worker_id', { worker_id: undefined }],
    ['base_models', { base_models: 'A' }],
    ['wait_s', { wait_s: 31 }],
    ['wait_s', { wait_s: -1 }],
  ])('are refused a claim with a wrong %s', async (path, wrong) => {
    expect(await preview.claim(wrong)).toMatchObject({ status: 400, body: { errors: [{ path }] } });
  });

  it.each([
    ['events', { events: {} }, 'events'],
    ['events', { events: [{ seq: -1, type: 'gradient_step', data: {} }] }, 'events[0].seq'],
    ['events', { events: [{ seq: 1, type: 'training_ended', data: {} }] }, 'events[0].type'],
    ['events', { events: [{ seq: 1, type: 'gradient_step', data: [] }] }, 'events[0].data'],
    [
      'events',
      { events: [{ seq: 1, type: 'gradient_step', data: { a: '1' } }] },
      'events[0].data.a',
    ],
    [
      'events',
      '{"events":[{"seq":1,"type":"gradient_step","data":{"a":1e999}}]}',
      'events[0].data.a',
    ],
    [
      'events',
      { events: [{ seq: 1, type: 'training_started', data: {} }] },
      'events[0].data.num_sequences',
    ],
    [
      'events',
      { events: [{ seq: 1, type: 'training_started', data: { num_sequences: 1.5 } }] },
      'events[0].data.num_sequences',
    ],
    ['complete', { metrics: { a: null }, checkpoint: { uri: 'x' } }, 'metrics.a'],
    ['complete', { metrics: {} }, 'checkpoint'],
    ['complete', { metrics: {}, made_step: false }, 'reason'],
    [
      'complete',
      { metrics: {}, made_step: false, reason: 'x', checkpoint: { uri: 'x' } },
      'checkpoint',
    ],
    ['complete', { metrics: {}, reason: 'x', checkpoint: { uri: 'x' } }, 'reason'],
    ['complete', { metrics: {}, checkpoint: {} }, 'checkpoint.uri'],
    ['complete', { metrics: {}, checkpoint: { files: [] } }, 'checkpoint.files'],
    [
      'complete',
      { metrics: {}, checkpoint: { files: [FILE], sha256: FILE.sha256 } },
      'checkpoint.sha256',
    ],
    [
      'complete',
      { metrics: {}, checkpoint: { files: [FILE], size_bytes: 1 } },
      'checkpoint.size_bytes',
    ],
    ...['', '../up', '/etc/passwd', 'a/.hidden', 'a//b', 'a'.repeat(257)].map(
      (name) =>
        [
          'complete',
          { metrics: {}, checkpoint: { files: [{ ...FILE, name }] } },
          'checkpoint.files[0].name',
        ] as [string, object, string],
    ),
    ['state', { files: [{ ...FILE, sha256: 'A'.repeat(64) }] }, 'files[0].sha256'],
    ['state', { files: [{ ...FILE, size_bytes: -1 }] }, 'files[0].size_bytes'],
    ['state', { files: [FILE, FILE] }, 'files[1].name'],
    [
      'events',
      { events: [{ seq: 1, type: 'note', data: { level: 'info' } }] },
      'events[0].data.text',
    ],
    [
      'events',
      { events: [{ seq: 1, type: 'note', data: { text: 'x', level: 'loud' } }] },
      'events[0].data.level',
    ],
    [
      'events',
      { events: [{ seq: 1, type: 'note', data: { text: 'x'.repeat(10_001), level: 'info' } }] },
      'events[0].data.text',
    ],
    [
      'events',
      { events: [{ seq: 1, type: 'evaluation', data: { metrics: {} } }] },
      'events[0].data.name',
    ],
    [
      'events',
      { events: [{ seq: 1, type: 'evaluation', data: { name: 'e', metrics: { a: 'b' } } }] },
      'events[0].data.metrics.a',
    ],
    ['complete', { metrics: {}, checkpoint: { uri: 'x', sha256: 'zz' } }, 'checkpoint.sha256'],
    [
      'complete',
      { metrics: {}, checkpoint: { uri: 'x', size_bytes: -1 } },
      'checkpoint.size_bytes',
    ],
    ['fail', { retryable: true }, 'error_message'],
    ['fail', { error_message: 'x', retryable: 'no' }, 'retryable'],
  ])('are refused %s %j: %s', async (name, body, path) => {
    const { job, token } = await leased();
    expect(await preview.trainer(job, token, name, body)).toMatchObject({
      status: 400,
      body: { errors: [{ path }] },
    });
    expect(await typesOf(job)).toEqual([]);
  });

  describe('in each state of a job', () => {
    const OPERATIONS = {
      heartbeat: (job: string, token: string) => preview.trainer(job, token, 'heartbeat'),
      payload: (job: string, token: string) =>
        preview.call('GET', `/trainer/jobs/${job}/payload`, undefined, preview.lease(token)),
      started: (job: string, token: string) => preview.start(job, token),
      step: (job: string, token: string) => report(job, token, step(9)),
      complete: (job: string, token: string) => preview.complete(job, token),
      fail: (job: string, token: string) => fail(job, token, false),
      cancel: (job: string) => preview.call('POST', `/training-jobs/${job}/cancel`),
    };
    type Operation = keyof typeof OPERATIONS;
    const STATES: Record<string, () => Promise<{ job: string; token: string }>> = {
      queued: async () => ({ job: await preview.aJob(await preview.aModel()), token: 'none' }),
      leased: () => leased(),
      running: async () => {
        const held = await leased();
        await preview.start(held.job, held.token);
        return held;
      },
      'running, lease run out': async () => {
        const held = await STATES['running']!();
        await expire(held.job);
        return held;
      },
      'queued again': async () => {
        const held = await STATES['running']!();
        await lose(held.job);
        return held;
      },
      'running for another': async () => {
        const held = await STATES['queued again']!();
        expect((await preview.claim()).body).toMatchObject({ job_id: held.job, attempt: 2 });
        return held;
      },
      succeeded: async () => {
        const held = await STATES['running']!();
        await preview.complete(held.job, held.token);
        return held;
      },
      failed: async () => {
        const held = await STATES['running']!();
        await fail(held.job, held.token, false);
        return held;
      },
      cancelled: async () => {
        const held = await STATES['queued']!();
        await preview.call('POST', `/training-jobs/${held.job}/cancel`);
        return held;
      },
    };
    const ALL = Object.keys(OPERATIONS) as Operation[];
    /** Operations that are allowed in each state; the others get 409. A repeated last report gets its answer again. */
    const ALLOWED: Record<string, Operation[]> = {
      queued: ['cancel'],
      leased: ['heartbeat', 'payload', 'started', 'fail', 'cancel'],
      running: ALL,
      'running, lease run out': ['cancel'],
      'queued again': ['cancel'],
      'running for another': ['cancel'],
      succeeded: ['complete'],
      failed: ['fail'],
      cancelled: ['cancel'],
    };
    const CASES = Object.keys(STATES).flatMap((state) =>
      ALL.map(
        (operation) => [state, operation, ALLOWED[state]!.includes(operation) ? 200 : 409] as const,
      ),
    );

    it.each(CASES)('%s: %s is answered %d', async (state, operation, status) => {
      const { job, token } = await STATES[state]!();
      const before = await app.query(
        `SELECT status, attempt, step FROM training_jobs WHERE id = $1`,
        [job],
      );
      const answer = await OPERATIONS[operation](job, token);
      expect(answer.status).toBe(status);
      if (status === 200) return;
      expect(answer.headers.get('x-should-retry')).toBe('false');
      expect(answer.body.code).toBe('conflict');
      expect(
        await app.query(`SELECT status, attempt, step FROM training_jobs WHERE id = $1`, [job]),
      ).toEqual(before);
    });

    it('a token of another job, none, and an unknown job are refused', async () => {
      const [a, b] = [await leased(), await leased()];
      expect((await preview.trainer(a.job, b.token, 'heartbeat')).status).toBe(409);
      expect((await preview.call('POST', `/trainer/jobs/${a.job}/heartbeat`, {})).status).toBe(400);
      for (const id of [UNKNOWN, 'x'])
        for (const operation of ALL)
          expect((await OPERATIONS[operation](id, a.token)).status).toBe(404);
    });
  });

  it('may resend events: a number counts once in an attempt, and training starts once', async () => {
    const { job, token } = await leased();
    await Promise.all(Array.from({ length: 5 }, () => preview.start(job, token, 3)));
    await Promise.all(
      Array.from({ length: 5 }, () => report(job, token, step(2), step(1), step(2))),
    );
    await report(
      job,
      token,
      { seq: 7, type: 'training_started', data: { num_sequences: 99 } },
      step(3),
    );
    expect((await preview.events(job)).map(({ type, data }) => [type, data])).toEqual([
      ['training_started', { num_sequences: 3 }],
      ['gradient_step', { loss: 1 }],
      ['gradient_step', { loss: 2 }],
      ['gradient_step', { loss: 3 }],
    ]);
  });

  it('may resend complete and fail', async () => {
    const { job, token, model } = await leased();
    await preview.start(job, token);
    const answers = await Promise.all(
      Array.from({ length: 4 }, () => preview.complete(job, token)),
    );
    expect(answers.map(({ body }) => body)).toEqual(
      answers.map(() => ({ step: 1, made_step: true })),
    );
    expect(await preview.checkpoints(model)).toHaveLength(2);
    const other = await leased();
    for (let i = 0; i < 2; i++)
      expect((await fail(other.job, other.token, false)).body).toEqual({ status: 'failed' });
    expect(await typesOf(other.job)).toEqual(['training_failed']);
  });

  it('that fail are not seen as long as the job is tried again', async () => {
    const { job, token } = await leased();
    await preview.start(job, token, 2);
    await report(job, token, step(1));
    const seen = await preview.events(job);
    expect((await fail(job, token, true)).body).toEqual({ status: 'queued' });
    expect(await preview.job(job)).toMatchObject({
      status: 'queued',
      error_message: null,
      finished_at: null,
    });
    expect(await typesOf(job)).toEqual(['training_started']);
    const second = (await preview.claim()).body;
    expect(second).toMatchObject({ job_id: job, attempt: 2 });
    await preview.start(job, second.lease_token, 5);
    await report(job, second.lease_token, step(1, { loss: 10 }));
    expect((await preview.events(job)).map(({ data }) => data)).toEqual([
      { num_sequences: 2 },
      { loss: 10 },
    ]);
    // a client that has seen the removed step continues behind it
    const rest = await preview.call('GET', `/training-jobs/${job}/events?after=${seen[1].id}`);
    expect(rest.body.data.map(({ data }: any) => data)).toEqual([{ loss: 10 }]);
    await lose(job);
    const third = (await preview.claim()).body;
    expect((await fail(job, third.lease_token, true, 'gave \0 up')).body).toEqual({
      status: 'failed',
    });
    expect(await preview.job(job)).toMatchObject({
      status: 'failed',
      attempt: 3,
      error_message: 'gave \ufffd up',
    });
    expect((await preview.events(job)).map(({ type, data }) => [type, data])).toEqual([
      ['training_started', { num_sequences: 2 }],
      ['training_failed', { error_message: 'gave \ufffd up' }],
    ]);
  });

  it('that are lost give their job back, and the third time end it', async () => {
    const { job } = await leased();
    for (const attempt of [2, 3]) {
      await lose(job);
      expect((await preview.claim()).body).toMatchObject({ job_id: job, attempt });
    }
    await lose(job);
    expect(await statusOf(job)).toBe('failed');
    expect((await preview.events(job)).at(-1)).toMatchObject({
      type: 'training_failed',
      data: { error_message: expect.stringContaining('lost') },
    });
  });

  it('that hang, and jobs that nobody takes, are ended in time', async () => {
    const { job } = await leased();
    const waiting = await preview.aJob(await preview.aModel());
    await app.query(
      `UPDATE training_jobs SET leased_at = now() - interval '25 hours', queued_at = now() - interval '25 hours' WHERE id = ANY($1)`,
      [[job, waiting]],
    );
    await queue.sweep();
    expect(await statusOf(job)).toBe('failed');
    expect(await preview.job(waiting)).toMatchObject({
      status: 'failed',
      error_message: 'no trainer took the job within 86400 s',
    });
    for (const id of [job, waiting]) expect(await typesOf(id)).toEqual(['training_failed']);
  });

  it('are told of a cancel, and the job ends as cancelled whatever they report but success', async () => {
    const told = await leased();
    await preview.start(told.job, told.token);
    const { body } = await preview.call('POST', `/training-jobs/${told.job}/cancel`);
    expect(body).toMatchObject({ status: 'running', cancel_requested: true });
    expect((await preview.trainer(told.job, told.token, 'heartbeat')).body.cancel_requested).toBe(
      true,
    );
    expect((await fail(told.job, told.token, true)).body).toEqual({ status: 'cancelled' });
    const lost = await leased();
    await preview.call('POST', `/training-jobs/${lost.job}/cancel`);
    await lose(lost.job);
    const queued = await preview.aJob(await preview.aModel());
    await preview.call('POST', `/training-jobs/${queued}/cancel`);
    for (const id of [told.job, lost.job, queued]) {
      const { body: job } = await preview.call('GET', `/training-jobs/${id}`);
      expect(job).toMatchObject({ status: 'cancelled', finished_at: expect.any(String) });
      expect((await preview.events(id)).at(-1)).toMatchObject({
        type: 'training_failed',
        data: { error_message: 'the job was cancelled' },
      });
    }
    const quick = await leased();
    await preview.start(quick.job, quick.token);
    await preview.call('POST', `/training-jobs/${quick.job}/cancel`);
    expect((await preview.complete(quick.job, quick.token)).status).toBe(200);
    expect(await statusOf(quick.job)).toBe('succeeded');
  });

  it('are watched by one replica at a time', async () => {
    const other = new Client(app.databaseUrl);
    await other.connect();
    await other.query('SELECT pg_advisory_lock(495555340655)');
    const { job } = await leased();
    await expire(job); // under the lock, because the app sweeps too
    await queue.sweep();
    const status = await statusOf(job);
    await other.end();
    expect(status).toBe('leased');
    await until(async () => {
      await queue.sweep();
      return (await statusOf(job)) === 'queued';
    });
  });

  describe('that wait', () => {
    const isListening = async () =>
      (
        await app.query(
          `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'`,
        )
      ).length;

    it('get a job as soon as it is there, one each', async () => {
      const models = await Promise.all([1, 2, 3].map(() => preview.aModel()));
      const claims = [1, 2, 3].map(() => preview.claim({ wait_s: 30 }));
      await until(async () => (await isListening()) === 1);
      const jobs = await Promise.all(models.map((model) => preview.aJob(model)));
      const answers = await Promise.all(claims);
      expect(new Set(answers.map(({ body }) => body.job_id))).toEqual(new Set(jobs));
      expect(await isListening()).toBe(1);
    });

    it('get the next job of a model when the one before ends, and a job that is queued again', async () => {
      const { job, token, model } = await leased();
      const next = await preview.aJob(model);
      const waiting = preview.claim({ wait_s: 30 });
      await preview.start(job, token);
      await preview.complete(job, token);
      const { body } = await waiting;
      expect(body.job_id).toBe(next);
      const again = preview.claim({ wait_s: 30 });
      await fail(next, body.lease_token, true);
      expect((await again).body).toMatchObject({ job_id: next, attempt: 2 });
    });

    it('are answered 204 when their time is over', async () => {
      expect((await preview.claim({ wait_s: 0.05 })).status).toBe(204);
    });

    it('go on waiting over a lost connection', async () => {
      const model = await preview.aModel();
      const waiting = preview.claim({ wait_s: 30 });
      await until(async () => (await isListening()) === 1);
      await app.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'`,
      );
      await until(async () => (await isListening()) === 0);
      const job = await preview.aJob(model);
      expect((await waiting).body.job_id).toBe(job);
    });

    it('and go away take no job with them', async () => {
      const sent = httpRequest(`${app.url}/v1/preview/trainer/claims`, {
        method: 'POST',
        headers: { authorization: `Bearer ${app.key}`, 'content-type': 'application/json' },
      });
      sent.on('error', () => {}).end('{"worker_id":"gone","wait_s":30}');
      const notices = app.app.get(Notices);
      await until(() => notices.listeners === 1);
      sent.destroy();
      await until(() => notices.listeners === 0);
      const job = await preview.aJob(await preview.aModel());
      expect(await statusOf(job)).toBe('queued');
    });
  });

  it('never show an end before its checkpoint', async () => {
    const { job, token, model } = await leased();
    await preview.start(job, token);
    let isDone = false;
    const watching = (async () => {
      while (!isDone) {
        const types = await typesOf(job);
        const steps = (await preview.checkpoints(model)).map(({ step: at }) => at);
        if (types.includes('training_ended')) {
          expect(steps).toEqual([0, 1]);
          expect(await statusOf(job)).toBe('succeeded');
          isDone = true;
        }
      }
    })();
    await preview.complete(job, token);
    await watching;
    // one transaction wrote all three rows
    const rows = await app.query(
      `SELECT xmin::text FROM training_jobs WHERE id = $1 UNION SELECT xmin::text FROM checkpoints WHERE model_id = $2 AND step = 1
       UNION SELECT xmin::text FROM training_job_events WHERE job_id = $1 AND type = 'training_ended'`,
      [job, model],
    );
    expect(rows).toHaveLength(1);
  });

  it('race for 50 jobs, die at random, and every job ends exactly once', async () => {
    const models = await Promise.all(
      Array.from({ length: 10 }, () => preview.aModel({ project: 'race' })),
    );
    const jobs = await Promise.all(
      Array.from({ length: 50 }, (_, i) => preview.aJob(models[i % 10]!)),
    );
    const held = new Map<string, string>();
    const claims: string[] = [];
    const open = async () =>
      (
        await app.query(
          `SELECT count(*)::int AS n FROM training_jobs WHERE id = ANY($1) AND finished_at IS NULL`,
          [jobs],
        )
      )[0].n;
    let seed = 7;
    const chance = () => (seed = (seed * 48271) % 2147483647) / 2147483647;

    /** Runs a worker that ends its job or dies on the way. */
    async function life(): Promise<void> {
      const { status, body } = await preview.claim();
      if (status !== 200) return;
      const { job_id: job, lease_token: token, attempt } = body;
      claims.push(`${job} ${attempt}`);
      expect(held.has(job)).toBe(false);
      held.set(job, token);
      const dies = async () => {
        if (chance() > 0.12) return false;
        held.delete(job);
        await lose(job);
        // the dead worker comes back
        for (const send of [
          () => preview.complete(job, token),
          () => report(job, token, step(50)),
        ]) {
          let { status: answered } = await send();
          // a busy service may answer 503 first
          for (let n = 0; n < 20 && answered === 503; n++) ({ status: answered } = await send());
          expect(answered).toBe(409);
        }
        return true;
      };
      if (await dies()) return;
      await preview.start(job, token, 2);
      if (await dies()) return;
      await report(job, token, step(1), step(2));
      if (await dies()) return;
      held.delete(job);
      if (chance() < 0.1) await fail(job, token, chance() < 0.5);
      else await preview.complete(job, token);
    }
    const worker = async () => {
      while ((await open()) > 0) await life();
    };
    await Promise.all(Array.from({ length: 8 }, worker));

    expect(new Set(claims).size).toBe(claims.length);
    expect(claims.length).toBeGreaterThan(50);
    let numSucceeded = 0;
    for (const job of jobs) {
      const types = await typesOf(job);
      const { status } = await preview.job(job);
      if (status === 'succeeded') {
        numSucceeded++;
        expect(types).toEqual([
          'training_started',
          'gradient_step',
          'gradient_step',
          'training_ended',
        ]);
      } else {
        expect(status).toBe('failed');
        expect(types.filter((type) => /ended|failed/.test(type))).toEqual(['training_failed']);
        expect(types.at(-1)).toBe('training_failed');
        expect(types.filter((type) => type === 'training_started').length).toBeLessThan(2);
      }
    }
    const made = await Promise.all(models.map((model) => preview.checkpoints(model)));
    for (const list of made) expect(list.map(({ step: at }) => at)).toEqual(list.map((_, i) => i));
    expect(made.flat()).toHaveLength(10 + numSucceeded);
  });

  const python = ['python3', 'python'].find((name) => spawnSync(name, ['--version']).status === 0);
  if (!python) it.skip('the example needs python3, which is not installed', () => {});
  else
    it('run the example in plain Python', async () => {
      const folder = aFolder();
      const model = await preview.aModel();
      const groups = groupsOf(
        [
          aTrajectory({ messages_and_choices: [aChoice('a', 4)], reward: 3 }),
          aTrajectory({
            additional_histories: [{ messages_and_choices: [aChoice('b', 1)] }],
            reward: 1,
          }),
        ],
        [{}],
      );
      const { body: job } = await preview.call('POST', '/training-jobs', {
        model_id: model,
        trajectory_groups: groups,
        experimental_config: { learning_rate: 0.25 },
      });
      const trainer = spawn(
        python,
        ['examples/trainer/trainer.py', '--once', '--wait', '1', '--checkpoints', folder.path],
        {
          env: { ...process.env, SKEIN_URL: app.url, SKEIN_API_KEY: await app.aKey('trainer') },
          stdio: ['ignore', 'pipe', 'pipe'],
        },
      );
      let output = '';
      for (const stream of [trainer.stdout, trainer.stderr])
        stream.on('data', (chunk) => (output += String(chunk)));
      const [code] = await once(trainer, 'close');
      expect([code, output]).toEqual([0, expect.stringContaining('made step 1')]);
      const events = (await preview.events(job.id)).map(({ type, data }) => ({ type, data }));
      const advantage = expect.closeTo(1, 4);
      expect(events).toEqual([
        { type: 'training_started', data: { num_sequences: 3 } },
        {
          type: 'gradient_step',
          data: {
            reward: 3,
            advantage,
            num_tokens: 4,
            loss: expect.closeTo(2, 4),
            learning_rate: 0.25,
          },
        },
        {
          type: 'gradient_step',
          data: {
            reward: 1,
            advantage: expect.closeTo(-1, 4),
            num_tokens: 3,
            loss: expect.closeTo(-2.5 / 3, 4),
            learning_rate: 0.25,
          },
        },
        {
          type: 'gradient_step',
          data: { reward: 0, advantage: 0, num_tokens: 0, loss: 0, learning_rate: 0.25 },
        },
        { type: 'training_ended', data: {} },
      ]);
      const { checkpoint } = await preview.job(job.id);
      const path = decodeURIComponent(checkpoint.uri.slice('file://'.length));
      expect(existsSync(path)).toBe(true);
      expect(createHash('sha256').update(readFileSync(path)).digest('hex')).toBe(checkpoint.sha256);
      expect((await preview.checkpoints(model)).at(-1).metrics).toEqual({
        num_sequences: 3,
        num_tokens: 7,
        reward: expect.closeTo(4 / 3, 12),
        reward_std_dev: expect.closeTo(Math.sqrt(14 / 9), 12),
      });
      folder.remove();
    });
});

describe('stopping', () => {
  it('waiting trainers are let go when the service stops', async () => {
    const other = await startApp();
    const waiting = previewOf(other).claim({ wait_s: 30 });
    await until(
      async () =>
        (
          await other.query(
            `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'`,
          )
        ).length === 1,
    );
    const closing = other.close();
    expect((await waiting).status).toBe(204);
    await closing;
  });
});

describe('everything under /v1/preview', () => {
  const document = JSON.parse(readFileSync('generated/openapi.json', 'utf8'));
  const routes = Object.entries<any>(document.paths)
    .filter(([path]) => path.startsWith('/v1/preview'))
    .flatMap(([path, methods]) =>
      Object.keys(methods).map(
        (method) => [method.toUpperCase(), path.replaceAll(/\{\w+\}/g, UNKNOWN)] as const,
      ),
    );
  const app = useApp();

  it.each(routes)('%s %s needs Bearer', async (method, path) => {
    const response = await fetch(app.url + path, { method });
    expect(response.status).toBe(401);
    expect(response.headers.get('www-authenticate')).toMatch(/^Bearer/);
  });

  it('is in openapi.json', () => expect(routes).toHaveLength(33));
});
