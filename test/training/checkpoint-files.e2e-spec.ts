import { randomBytes } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { StagedUploads } from '../../src/platform/database/staged-uploads.js';
import { QueueService } from '../../src/training/jobs/queue.service.js';
import { startApp, type TestApp } from '../support/app.js';
import {
  aTrajectory,
  groupsOf,
  linesOfGzip,
  manifestFile,
  type Preview,
  previewOf,
  sha256Of,
} from '../support/preview.js';
import { until } from '../support/until.js';

const MIB = 1024 * 1024;

describe('files of checkpoints', () => {
  let app: TestApp;
  let preview: Preview;
  beforeAll(async () => {
    app = await startApp({ TRAINER_MAX_ATTEMPTS: '3' });
    preview = previewOf(app);
  });
  afterAll(() => app.close());
  beforeEach(() =>
    app.query(
      `UPDATE training_jobs SET status = 'failed' WHERE status IN ('queued', 'leased', 'running')`,
    ),
  );

  /** Makes a running job and returns the answer of its claim. */
  async function running(of?: string) {
    const model = of ?? (await preview.aModel());
    const job = await preview.aJob(model);
    const { body: claim } = await preview.claim();
    expect(claim.job_id).toBe(job);
    await preview.start(job, claim.lease_token);
    return { model, job, claim, token: claim.lease_token as string };
  }
  const lose = async (job: string) => {
    await app.query(
      `UPDATE training_jobs SET lease_expires_at = now() - interval '1 second' WHERE id = $1`,
      [job],
    );
    await app.app.get(QueueService).sweep();
  };
  const complete = (job: string, token: string, files: object[], config?: object) =>
    preview.trainer(job, token, 'complete', { metrics: {}, checkpoint: { files, config } });
  const partsOf = async (job: string, token: string) =>
    (await preview.call('GET', `/trainer/jobs/${job}/parts`, undefined, preview.lease(token))).body
      .data;
  const read = async (path: string, headers: Record<string, string> = {}) => {
    const answer = await fetch(`${app.url}/v1/preview${path}`, {
      headers: { authorization: `Bearer ${app.key}`, ...headers },
    });
    return {
      status: answer.status,
      headers: answer.headers,
      bytes: Buffer.from(await answer.arrayBuffer()),
    };
  };
  /** `name` is the kind of the file, a space, and its name. */
  const readOf = (job: string, token: string, name: string, range?: string) =>
    read(`/trainer/jobs/${job}/file?of=${name.replace(' ', '&name=')}`, {
      'x-lease-token': token,
      ...(range && { range }),
    });
  const stored = async () => {
    const [row] = await app.query(`
      SELECT (SELECT count(*)::int FROM checkpoint_parts) AS parts, (SELECT count(*)::int FROM checkpoint_chunks) AS chunks`);
    return row;
  };
  const sweep = () => app.app.get(StagedUploads).sweep();

  it('go in as parts and out to the next trainer, with the manifest and the config', async () => {
    const { model, job, token } = await running();
    const weights = randomBytes(3 * MIB + 7);
    const file = sha256Of(weights);
    const [one, two] = [weights.subarray(0, 2 * MIB + 1), weights.subarray(2 * MIB + 1)];
    expect(await preview.part(job, token, two, { file, part: 1 })).toMatchObject({
      status: 200,
      body: { size_bytes: two.length, sha256: sha256Of(two) },
    });
    await preview.part(job, token, one, { file, part: 0 });
    const optimizer = Buffer.from('moments');
    await preview.part(job, token, optimizer);
    expect(await partsOf(job, token)).toEqual(
      [
        { file, part: 0, size_bytes: one.length },
        { file, part: 1, size_bytes: two.length },
        { file: sha256Of(optimizer), part: 0, size_bytes: 7 },
      ].toSorted((a, b) => (a.file < b.file ? -1 : a.file > b.file ? 1 : a.part - b.part)),
    );
    const files = [
      manifestFile('adapter/model.safetensors', weights),
      manifestFile('optimizer.pt', optimizer),
      manifestFile('empty', Buffer.alloc(0)),
    ];
    expect((await complete(job, token, files, { r: 8 })).body).toEqual({
      step: 1,
      made_step: true,
    });

    const sha256 = sha256Of(
      Buffer.from(
        files
          .toSorted((a, b) => (a.name < b.name ? -1 : 1))
          .map((each) => `${each.sha256}  ${each.name}\n`)
          .join(''),
      ),
    );
    const next = await running(model);
    expect(next.claim.parent).toEqual({ step: 1, uri: null, sha256, config: { r: 8 }, files });
    const whole = await readOf(next.job, next.token, 'parent adapter/model.safetensors');
    expect(whole.status).toBe(200);
    expect(whole.bytes.equals(weights)).toBe(true);
    expect((await readOf(next.job, next.token, 'parent empty')).bytes).toHaveLength(0);
    expect((await readOf(next.job, next.token, 'parent other')).status).toBe(404);

    const { body } = await preview.call('GET', `/models/${model}/checkpoints/1`);
    expect(body).toMatchObject({ step: 1, job_id: job, sha256, files, config: { r: 8 } });
    expect(body.size_bytes).toBe(weights.length + 7);
    const path = `/models/${model}/checkpoints/1/file?name=optimizer.pt`;
    expect((await read(path)).bytes.toString()).toBe('moments');
    // the members of the list stay those that clients know
    for (const item of await preview.checkpoints(model))
      expect(Object.keys(item)).toEqual(['id', 'step', 'metrics']);
  });

  it('keep the config byte for byte, for the next trainer and those who read it', async () => {
    const { model, job, token } = await running();
    const config =
      '{"seed": 12345678901234567890, "scale":10.0,"__proto__":{"b":1,"a":"\\u0000\\ud800"}}';
    const body = `{"metrics":{},"checkpoint":{"config":{"a":1},"uri":"file:///c","config": ${config} }}`;
    const { headers } = preview.lease(token);
    await preview.call('POST', `/trainer/jobs/${job}/complete`, body, { headers });
    const shown = await preview.call('GET', `/models/${model}/checkpoints/1`);
    expect(shown.text).toContain(config);
    await preview.aJob(model);
    expect((await preview.claim()).text).toContain(`"config" : ${config},`);
  });

  it.each([
    ['bytes=0-0', 0, 1],
    ['bytes=1048575-1048577', MIB - 1, MIB + 2],
    ['bytes=1500000-', 1_500_000, 2 * MIB + 5],
    ['bytes=-3', 2 * MIB + 2, 2 * MIB + 5],
    ['bytes=2097150-99999999', 2 * MIB - 2, 2 * MIB + 5],
  ])('are read in ranges: %s', async (range, start, end) => {
    const { job, token } = await running();
    const bytes = randomBytes(2 * MIB + 5);
    const file = sha256Of(bytes);
    await preview.part(job, token, bytes.subarray(0, 1_500_001), { file, part: 0 });
    await preview.part(job, token, bytes.subarray(1_500_001), { file, part: 1 });
    await preview.trainer(job, token, 'state', { files: [manifestFile('s', bytes)] });
    const answer = await readOf(job, token, 'state s', range);
    expect(answer.status).toBe(206);
    expect(answer.headers.get('content-range')).toBe(`bytes ${start}-${end - 1}/${bytes.length}`);
    expect(answer.bytes.equals(bytes.subarray(start, end))).toBe(true);
  });

  it('are refused a range behind the end, and given whole for one of another form', async () => {
    const { job, token } = await running();
    const bytes = Buffer.from('abc');
    await preview.part(job, token, bytes);
    await preview.trainer(job, token, 'state', { files: [manifestFile('s', bytes)] });
    for (const range of ['bytes=3-', 'bytes=-0']) {
      const behind = await readOf(job, token, 'state s', range);
      expect(behind.status).toBe(400);
      expect(behind.bytes.toString()).toContain('3 bytes');
    }
    for (const range of ['bytes=0-1,2-2', 'lines=0-1'])
      expect(await readOf(job, token, 'state s', range)).toMatchObject({ status: 200, bytes });
  });

  it('are named when they have another digest, lack a part or have another size; then they can be sent again', async () => {
    const { job, token, model } = await running();
    const [good, bad] = [Buffer.from('good'), Buffer.from('baad')];
    const file = sha256Of(good);
    await preview.part(job, token, bad, { file });
    const files = [manifestFile('weights', good)];
    const wrong = await complete(job, token, files);
    expect(wrong).toMatchObject({
      status: 400,
      body: {
        errors: [{ path: 'checkpoint.files[0]', message: expect.stringContaining(sha256Of(bad)) }],
      },
    });
    expect(wrong.body.errors[0].message).toContain('weights');
    expect(await partsOf(job, token)).toEqual([]);
    await preview.part(job, token, good, { file, part: 1 });
    expect((await complete(job, token, files)).body.errors[0].message).toBe(
      'weights: its part 0 is missing',
    );
    await preview.part(job, token, good, { file, part: 0 });
    expect((await complete(job, token, files)).body.errors[0].message).toBe(
      'weights: its parts have 8 bytes, and size_bytes is 4',
    );
    expect(await preview.checkpoints(model)).toHaveLength(1);
    expect((await preview.job(job)).status).toBe('running');
  });

  it('keep the first bytes of a part that comes again, also from many at once', async () => {
    const { job, token } = await running();
    const bytes = randomBytes(MIB + 1);
    const answers = await Promise.all(
      Array.from({ length: 5 }, () => preview.part(job, token, bytes)),
    );
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
    const file = sha256Of(bytes);
    await preview.part(job, token, Buffer.from('other'), { file });
    expect(await partsOf(job, token)).toEqual([{ file, part: 0, size_bytes: MIB + 1 }]);
    expect((await complete(job, token, [manifestFile('w', bytes)])).status).toBe(200);
  });

  it.each([
    ['file', { file: 'x' }],
    ['part', { part: -1 }],
    ['part', { part: 10_000 }],
    ['part', { part: 'x' }],
  ])('are refused as a part with a wrong %s', async (path, wrong) => {
    const { job, token } = await running();
    expect(await preview.part(job, token, Buffer.from('x'), wrong)).toMatchObject({
      status: 400,
      body: { errors: [{ path }] },
    });
  });

  it('are refused empty, as JSON, over 100 MiB, and without the lease', async () => {
    const { job, token } = await running();
    const path = `${app.url}/v1/preview/trainer/jobs/${job}/parts?file=${'a'.repeat(64)}&part=0`;
    const headers = {
      authorization: `Bearer ${app.key}`,
      'x-lease-token': token,
      'content-type': 'application/octet-stream',
    };
    const put = (body: Uint8Array, more: object = {}) =>
      fetch(path, { method: 'POST', headers: { ...headers, ...more }, body: body as never });
    expect((await put(Buffer.alloc(0))).status).toBe(400);
    expect((await put(Buffer.from('{}'), { 'content-type': 'application/json' })).status).toBe(415);
    expect((await put(Buffer.from('x'), { 'x-lease-token': 'other' })).status).toBe(409);
    const bomb = gzipSync(Buffer.alloc(101 * MIB));
    const over = await put(bomb, { 'content-encoding': 'gzip' });
    expect(over.status).toBe(413);
    expect(await over.text()).toContain('104857600');
    expect(await partsOf(job, token)).toEqual([]);
  });

  it('have at most 10,000 parts in a job', async () => {
    const { job, token } = await running();
    await app.query(
      `INSERT INTO checkpoint_parts SELECT 'acme/demo', $1, repeat('b', 64), n, gen_random_uuid(), 1 FROM generate_series(0, 9999) n`,
      [job],
    );
    expect(await preview.part(job, token, Buffer.from('x'))).toMatchObject({
      status: 413,
      body: { detail: expect.stringContaining('10000') },
    });
  });

  it('are no file half when the client breaks off', async () => {
    const { job, token } = await running();
    const before = await stored();
    const gone = new AbortController();
    const body = new ReadableStream({
      async start(controller) {
        controller.enqueue(new Uint8Array(2 * MIB));
        await until(async () => (await stored()).chunks > before.chunks);
        gone.abort();
      },
    });
    const sent = fetch(
      `${app.url}/v1/preview/trainer/jobs/${job}/parts?file=${'a'.repeat(64)}&part=0`,
      {
        method: 'POST',
        body,
        duplex: 'half',
        signal: gone.signal,
        headers: {
          authorization: `Bearer ${app.key}`,
          'x-lease-token': token,
          'content-type': 'application/octet-stream',
        },
      } as object,
    );
    await expect(sent).rejects.toThrow();
    await until(async () => (await stored()).chunks === before.chunks);
    expect(await partsOf(job, token)).toEqual([]);
  });

  it('are no part of a job that was lost while they came', async () => {
    const { job, token } = await running();
    const before = await stored();
    const body = new ReadableStream({
      async start(controller) {
        controller.enqueue(new Uint8Array(2 * MIB));
        await until(async () => (await stored()).chunks > before.chunks);
        await lose(job);
        controller.close();
      },
    });
    const answer = await fetch(
      `${app.url}/v1/preview/trainer/jobs/${job}/parts?file=${'a'.repeat(64)}&part=0`,
      {
        method: 'POST',
        body,
        duplex: 'half',
        headers: {
          authorization: `Bearer ${app.key}`,
          'x-lease-token': token,
          'content-type': 'application/octet-stream',
        },
      } as object,
    );
    expect(answer.status).toBe(409);
    expect(await stored()).toEqual(before);
  });

  it('of a state are found by the next attempt, which may use parts that are here', async () => {
    const { job, token } = await running();
    const [first, second, half] = ['one', 'two', 'half'].map((text) => Buffer.from(text)) as [
      Buffer,
      Buffer,
      Buffer,
    ];
    await preview.part(job, token, first);
    await preview.trainer(job, token, 'state', { files: [manifestFile('s', first)] });
    await preview.part(job, token, second);
    expect(
      (await preview.trainer(job, token, 'state', { files: [manifestFile('s', second)] })).body,
    ).toEqual({});
    await preview.part(job, token, half);
    await lose(job);
    expect((await preview.part(job, token, first)).status).toBe(409);
    const { body: claim } = await preview.claim();
    expect(claim).toMatchObject({ job_id: job, attempt: 2, state: [manifestFile('s', second)] });
    const next = claim.lease_token;
    expect((await readOf(job, next, 'state s')).bytes.toString()).toBe('two');
    expect((await partsOf(job, next)).map(({ file }: any) => file).toSorted()).toEqual(
      [sha256Of(second), sha256Of(half)].toSorted(),
    );
    await preview.start(job, next);
    expect((await complete(job, next, [manifestFile('w', half)])).status).toBe(200);
    // files that the checkpoint does not name are deleted
    const [{ files }] = await app.query(
      `SELECT array_agg(file) AS files FROM checkpoint_parts WHERE job_id = $1`,
      [job],
    );
    expect(files).toEqual([sha256Of(half)]);
  });

  it('go with their checkpoint, their model and a job that fails, and their bytes soon after', async () => {
    await app.query('DELETE FROM checkpoint_parts');
    await app.query('DELETE FROM checkpoint_chunks');
    const bytes = randomBytes(MIB + 1);
    const made = async (model?: string) => {
      const held = await running(model);
      await preview.part(held.job, held.token, bytes);
      await complete(held.job, held.token, [manifestFile('w', bytes)]);
      return held.model;
    };
    const model = await made();
    await made(model);
    expect(await stored()).toEqual({ parts: 2, chunks: 4 });
    await preview.call('DELETE', `/models/${model}/checkpoints`, { steps: [1] });
    expect((await stored()).parts).toBe(1);
    expect((await read(`/models/${model}/checkpoints/2/file?name=w`)).bytes.equals(bytes)).toBe(
      true,
    );
    const failing = await running(model);
    await preview.part(failing.job, failing.token, bytes);
    await preview.trainer(failing.job, failing.token, 'fail', {
      error_message: 'x',
      retryable: false,
    });
    expect((await stored()).parts).toBe(1);
    await preview.call('DELETE', `/models/${model}`);
    expect((await stored()).parts).toBe(0);
    await sweep();
    expect(await stored()).toEqual({ parts: 0, chunks: 0 });
  });

  it('count in the size of the project', async () => {
    const project = 'sized';
    const model = await preview.aModel({ project });
    const bytesOf = async () => {
      const [row] = await app.query(
        `SELECT coalesce(sum(bytes), 0)::float8 AS bytes FROM (
          SELECT bytes FROM project_marks WHERE project_id = $1 UNION ALL SELECT bytes FROM projects WHERE project_id = $1) t`,
        [`acme/${project}`],
      );
      return row.bytes;
    };
    const { job, token } = await running(model);
    const held = await bytesOf();
    const bytes = randomBytes(50_000);
    await preview.part(job, token, bytes);
    expect((await bytesOf()) - held).toBe(50_000);
    await preview.trainer(job, token, 'fail', { error_message: 'x', retryable: false });
    expect(await bytesOf()).toBe(held);
  });

  it('are not there for other jobs, keys and roles', async () => {
    const mine = await running();
    const bytes = Buffer.from('mine');
    await preview.part(mine.job, mine.token, bytes);
    await complete(mine.job, mine.token, [manifestFile('w', bytes)]);
    const other = await running();
    expect((await readOf(other.job, other.token, 'parent w')).status).toBe(404);
    expect((await complete(other.job, other.token, [manifestFile('w', bytes)])).status).toBe(400);
    const elsewhere = await app.aKey('admin', ['corp/*']);
    const path = `/models/${mine.model}/checkpoints/1`;
    for (const asked of [path, `${path}/file?name=w`])
      expect((await preview.call('GET', asked, undefined, { key: elsewhere })).status).toBe(404);
    const trainer = await app.aKey('trainer');
    expect((await preview.call('GET', path, undefined, { key: trainer })).status).toBe(403);
    for (const step of ['2', 'x', '99999999999', '-1'])
      expect((await preview.call('GET', `/models/${mine.model}/checkpoints/${step}`)).status).toBe(
        404,
      );
  });

  it('a job with nothing to learn succeeds without a step, and says why', async () => {
    const { model, job, token } = await running();
    const body = { metrics: { reward: 1 }, made_step: false, reason: 'all rewards are equal' };
    for (let i = 0; i < 2; i++)
      expect((await preview.trainer(job, token, 'complete', body)).body).toEqual({
        step: 0,
        made_step: false,
      });
    expect(await preview.job(job)).toMatchObject({
      status: 'succeeded',
      made_step: false,
      no_step_reason: 'all rewards are equal',
      checkpoint: null,
    });
    expect((await preview.events(job)).at(-1)).toMatchObject({
      type: 'training_ended',
      data: { made_step: false, reason: 'all rewards are equal', metrics: { reward: 1 } },
    });
    expect(await preview.checkpoints(model)).toHaveLength(1);
    expect((await running(model)).claim.parent_step).toBe(0);
  });

  it('events carry notes and evaluations, and answer whether to stop', async () => {
    const { job, token } = await running();
    const events = [
      { seq: 1, type: 'note', data: { level: 'warning', text: 'group 3 is \0 equal', more: 1 } },
      { seq: 2, type: 'evaluation', data: { name: 'held out', metrics: { reward: 0.5 } } },
      { seq: 3, type: 'note', data: { level: 'info', text: 'second' } },
    ];
    const add = () => preview.trainer(job, token, 'events', { events });
    expect((await add()).body).toEqual({ cancel_requested: false });
    await preview.call('POST', `/training-jobs/${job}/cancel`);
    expect((await add()).body).toEqual({ cancel_requested: true });
    expect((await preview.events(job)).slice(1).map(({ type, data }) => ({ type, data }))).toEqual([
      { type: 'note', data: { level: 'warning', text: 'group 3 is \ufffd equal' } },
      { type: 'evaluation', data: { name: 'held out', metrics: { reward: 0.5 } } },
      { type: 'note', data: { level: 'info', text: 'second' } },
    ]);
  });

  describe('a payload', () => {
    const text = (i: number) => `group ${i} ${'x'.repeat(i % 3 === 0 ? 400_000 : 10)}`;
    const groups = Array.from({ length: 12 }, (_, i) =>
      groupsOf([aTrajectory({ logs: [text(i)] })]),
    ).flat();
    const payloadOf = (job: string, token: string, query = '', range?: string) =>
      read(`/trainer/jobs/${job}/payload${query}`, {
        'x-lease-token': token,
        ...(range && { range }),
      });
    let held: { job: string; token: string };
    beforeEach(async () => {
      const model = await preview.aModel();
      const job = await preview.aJob(model, groups);
      const { body } = await preview.claim();
      held = { job, token: body.lease_token };
    });

    it('is read by group', async () => {
      for (const [from, count] of [
        [0, 1],
        [0, 12],
        [3, 1],
        [4, 2],
        [5, 4],
        [9, 99],
        [11, 1],
        [12, 1],
      ] as const) {
        const query = `?from_group=${from}&num_groups=${count}`;
        const { bytes } = await payloadOf(held.job, held.token, query);
        const seen = linesOfGzip(bytes).map((line) => JSON.parse(line).trajectories[0].logs[0]);
        expect(seen).toEqual(groups.slice(from, from + count).map((_, i) => text(from + i)));
      }
      const rest = await payloadOf(held.job, held.token, '?from_group=10');
      expect(linesOfGzip(rest.bytes)).toHaveLength(2);
      // simulates a payload from before the positions of groups were stored
      await app.query('UPDATE body_chunks SET groups_before = NULL');
      const old = await payloadOf(held.job, held.token, '?from_group=10');
      expect(linesOfGzip(old.bytes)).toEqual(linesOfGzip(rest.bytes));
      expect((await payloadOf(held.job, held.token, '?num_groups=0')).status).toBe(400);
    });

    it('is read in ranges', async () => {
      const whole = (await payloadOf(held.job, held.token)).bytes;
      const middle = Math.floor(whole.length / 2);
      const head = await payloadOf(held.job, held.token, '', `bytes=0-${middle - 1}`);
      const tail = await payloadOf(held.job, held.token, '', `bytes=${middle}-`);
      expect([head.status, tail.status]).toEqual([206, 206]);
      expect(Buffer.concat([head.bytes, tail.bytes]).equals(whole)).toBe(true);
    });
  });
});
