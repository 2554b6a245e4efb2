import { createHash } from 'node:crypto';
import { request as httpRequest } from 'node:http';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { linesOf, startApp, type TestApp } from '../support/app.js';
import {
  aChoice,
  aTrajectory,
  groupsOf,
  linesOfGzip,
  type Preview,
  previewOf,
} from '../support/preview.js';
import { until } from '../support/until.js';
import { StagedUploads } from '../../src/platform/database/staged-uploads.js';

const UNKNOWN = '01a1fbc3-f5fb-72fa-bfb3-04f663804a7c';
const LIMIT = 8 * 1024 * 1024;

describe('training jobs and logs', () => {
  let app: TestApp;
  let preview: Preview;
  beforeAll(async () => {
    app = await startApp({ MAX_TRAINING_BODY_BYTES: String(LIMIT) });
    preview = previewOf(app);
  });
  afterAll(() => app.close());

  const create = (body: unknown, options = {}) =>
    preview.call('POST', '/training-jobs', body, options);
  const log = (model: string, body: unknown, options = {}) =>
    preview.call('POST', `/models/${model}/log`, body, options);
  const trajectories = async (query: object) =>
    linesOf(await preview.call('POST', '/trajectories/query', query));

  /** The stored payload of a job, and the hash of the body that contained it. */
  async function kept(job: string): Promise<{ lines: string[]; sha256: string }> {
    const rows = await app.query(
      `SELECT c.text, encode(b.body_sha256, 'hex') AS sha256 FROM trajectory_batches b JOIN body_chunks c USING (project_id)
       WHERE c.batch_id = b.id AND b.job_id = $1 ORDER BY c.seq`,
      [job],
    );
    const lines = linesOfGzip(Buffer.concat(rows.map(({ text }) => text)));
    return { lines, sha256: rows[0].sha256 };
  }
  const sha256 = (bytes: string | Buffer) => createHash('sha256').update(bytes).digest('hex');

  const stagedRows = async () => {
    const count = async (table: string, condition = 'TRUE') => {
      const [row] = await app.query(`SELECT count(*)::int FROM ${table} t WHERE ${condition}`);
      return row.count;
    };
    const isOfNone = `NOT EXISTS (
      SELECT 1 FROM trajectory_batches b WHERE b.project_id = t.project_id AND b.id = t.batch_id)`;
    return {
      uploads: await count('uploads'),
      chunks: await count('body_chunks', isOfNone),
      trajectories: await count('trajectories', isOfNone),
    };
  };
  const NOTHING = { uploads: 0, chunks: 0, trajectories: 0 };

  it('keep the groups byte for byte, and hand them out so', async () => {
    const model = await preview.aModel();
    const groups = [
      `{"trajectories":[{"messages_and_choices":[{"role":"user","content":"\\ud800 \\u0000 é 😀"}],"reward":1.0,"x":12345678901234567890}]}`,
      '{ }',
      `{\r\n  "trajectories": [\n    {"toString": {"__proto__": 1}}\n  ]\n}`,
    ];
    const body = `{ "extra": [1.0, {"a":null}],\n "model_id":"${model}", "trajectory_groups": [${groups.join(' ,\n')}]\n, "experimental_config": {"learning_rate":1e-5,"x":1.0} }\n`;
    const { status, body: answer } = await create(body);
    expect(status).toBe(200);
    expect(answer).toEqual({ id: expect.any(String) });
    expect((await kept(answer.id)).sha256).toBe(sha256(body));
    const { body: claim, text } = await preview.claim();
    expect(text).toContain('"experimental_config":{"learning_rate":1e-5,"x":1.0}');
    const payload = await preview.payload(answer.id, claim.lease_token);
    expect(claim.payload).toMatchObject({
      bytes: payload.length,
      sha256: sha256(payload),
      encoding: 'gzip',
    });
    expect(linesOfGzip(payload)).toEqual(groups.map((group) => group.replaceAll(/[\r\n]/g, ' ')));
    expect((await trajectories({ model_id: model }))[0].messages_and_choices[0].content).toBe(
      '\ud800 \0 é 😀',
    );
  });

  it('take a body of many chunks, with model_id first or last, and forget what was staged', async () => {
    const model = await preview.aModel({ project: 'large' });
    const groups = Array.from({ length: 40 }, (_, g) => ({
      trajectories: Array.from({ length: 4 }, (_, t) =>
        aTrajectory({
          reward: g + t / 10,
          messages_and_choices: [
            { role: 'user', content: `${g} é`.repeat(800) },
            aChoice('x', 200),
          ],
        }),
      ),
    }));
    for (const body of [
      JSON.stringify({ model_id: model, trajectory_groups: groups }),
      JSON.stringify({ trajectory_groups: groups, model_id: model }),
      JSON.stringify({ trajectory_groups: groups, model_id: model }, null, 1),
    ]) {
      const { body: job } = await create(body);
      const { lines, sha256: hash } = await kept(job.id);
      expect(hash).toBe(sha256(body));
      expect(lines.map((line) => JSON.parse(line))).toEqual(groups);
      const rows = await trajectories({ model_id: model, job_id: job.id });
      expect(rows.map(({ reward }) => reward)).toEqual(
        groups.flatMap((group) => group.trajectories.map((t) => t.reward)),
      );
      expect(rows[0].num_tokens).toBe(200);
      expect(await preview.job(job.id)).toMatchObject({
        status: 'queued',
        num_groups: 40,
        num_trajectories: 160,
      });
    }
    const projects = await app.query(
      `SELECT DISTINCT project_id FROM body_chunks UNION SELECT DISTINCT project_id FROM trajectories`,
    );
    expect(new Set(projects.map(({ project_id }) => project_id))).toEqual(
      new Set(['acme/demo', 'acme/large']),
    );
    expect(await stagedRows()).toEqual(NOTHING);
  });

  it('take the last of keys that come twice, also when much was stored of the first', async () => {
    const [model, other] = [await preview.aModel(), await preview.aModel({ project: 'twice' })];
    const many = JSON.stringify(
      groupsOf(...Array.from({ length: 300 }, () => [aTrajectory({ pad: 'x'.repeat(8000) })])),
    );
    const body = `{"model_id":"${model}","trajectory_groups":${many},"trajectory_groups":[{"trajectories":[{"reward":7}]}],"model_id":"${other}"}`;
    const { body: job } = await create(body);
    expect(await preview.job(job.id)).toMatchObject({
      model_id: other,
      num_groups: 1,
      num_trajectories: 1,
    });
    expect(await kept(job.id)).toEqual({
      lines: ['{"trajectories":[{"reward":7}]}'],
      sha256: sha256(body),
    });
    expect((await trajectories({ model_id: other })).map(({ reward }) => reward)).toEqual([7]);
    expect(await trajectories({ model_id: model })).toEqual([]);
    const { lease_token } = (
      await preview.claim({}, { key: await app.aKey('trainer', ['acme/twice']) })
    ).body;
    expect(linesOfGzip(await preview.payload(job.id, lease_token))).toEqual([
      '{"trajectories":[{"reward":7}]}',
    ]);
  });

  it('accept a job without groups, whose payload is empty', async () => {
    const model = await preview.aModel({ project: 'empty' });
    const { body: job } = await create({ model_id: model, trajectory_groups: [] });
    const { lease_token } = (
      await preview.claim({}, { key: await app.aKey('trainer', ['acme/empty']) })
    ).body;
    expect(linesOfGzip(await preview.payload(job.id, lease_token))).toEqual([]);
  });

  it.each([
    ['gzip', gzipSync],
    ['deflate', deflateSync],
    ['br', brotliCompressSync],
  ])('inflate %s', async (encoding, compress) => {
    const model = await preview.aModel();
    const body = JSON.stringify({ model_id: model, trajectory_groups: groupsOf([aTrajectory()]) });
    const headers = { 'content-encoding': encoding };
    const { status, body: job } = await create(compress(body), { headers });
    expect(status).toBe(200);
    expect((await kept(job.id)).sha256).toBe(sha256(body));
    const broken = await create(Buffer.from('no such thing'), { headers });
    expect(broken).toMatchObject({ status: 400, body: { code: 'invalid_json' } });
    const cut = await create(compress(body).subarray(0, -20), { headers });
    expect(cut.status).toBe(400);
    const bomb = await create(compress(Buffer.alloc(64 * 1024 * 1024, ' ')), { headers });
    expect(bomb).toMatchObject({
      status: 413,
      body: { code: 'too_large', detail: expect.stringContaining(String(LIMIT)) },
    });
  });

  it('refuse a body over the limit, declared or not, name the limit, and leave nothing', async () => {
    const model = await preview.aModel();
    const groups = groupsOf(
      ...Array.from({ length: 1000 }, () => [aTrajectory({ x: 'x'.repeat(10_000) })]),
    );
    const body = JSON.stringify({ model_id: model, trajectory_groups: groups });
    expect(await create(body)).toMatchObject({
      status: 413,
      body: { detail: expect.stringContaining(String(LIMIT)) },
    });
    const chunked = await new Promise<number>((resolve, reject) => {
      const sent = httpRequest(`${app.url}/v1/preview/training-jobs`, {
        method: 'POST',
        headers: { authorization: `Bearer ${app.key}`, 'content-type': 'application/json' },
      });
      sent.on('response', (response) => resolve(response.statusCode!)).on('error', reject);
      sent.write(body);
      sent.end();
    });
    expect(chunked).toBe(413);
    await until(async () => (await stagedRows()).uploads === 0);
    expect(await stagedRows()).toEqual(NOTHING);
  });

  it('answer on the same connection after a refusal in the middle of a body', async () => {
    const model = await preview.aModel();
    const bad = `{"model_id":"${model}","trajectory_groups":[${'{},'.repeat(1000)}7${',{}'.repeat(500_000)}]}`;
    for (let i = 0; i < 3; i++)
      expect(await create(bad)).toMatchObject({
        status: 400,
        body: { errors: [{ path: 'trajectory_groups[1000]' }] },
      });
    expect((await create({ model_id: model, trajectory_groups: [] })).status).toBe(200);
  });

  it.each([
    ['not JSON', '{"trajectory_groups":[{"trajectories":[{"reward":NaN}]}]}', 'invalid_json'],
    ['half a body', '{"trajectory_groups":[', 'invalid_json'],
    ['nothing', '', 'invalid_json'],
    ['a list', '[]', 'invalid_request'],
  ])('refuse %s', async (_, body, code) => {
    const model = await preview.aModel();
    expect(await log(model, body)).toMatchObject({ status: 400, body: { code } });
    expect(await create(body)).toMatchObject({ status: 400, body: { code } });
  });

  it.each([
    ['trajectory_groups', { trajectory_groups: undefined }],
    ['trajectory_groups', { trajectory_groups: {} }],
    [
      'trajectory_groups[3].trajectories[0].reward',
      { trajectory_groups: [{}, {}, {}, { trajectories: [{ reward: 'high' }] }] },
    ],
    ['experimental_config', { experimental_config: [] }],
    ['experimental_config.learning_rate', { experimental_config: { learning_rate: 'high' } }],
    [
      'experimental_config.precalculate_logprobs',
      { experimental_config: { precalculate_logprobs: 1 } },
    ],
  ])('refuse a wrong %s of a job', async (path, wrong) => {
    const body = { model_id: await preview.aModel(), trajectory_groups: [], ...wrong };
    expect(await create(body)).toMatchObject({ status: 400, body: { errors: [{ path }] } });
    expect(await stagedRows()).toEqual(NOTHING);
  });

  it('refuse a job without a model, or with one that is not there', async () => {
    expect(await create({ trajectory_groups: [] })).toMatchObject({
      status: 400,
      body: { errors: [{ path: 'model_id' }] },
    });
    for (const model_id of [UNKNOWN, 'x', null, 3])
      expect((await create({ model_id, trajectory_groups: [] })).status).toBe(404);
    for (const model_id of [UNKNOWN, 'x'])
      expect((await log(model_id, { split: 'a', trajectory_groups: [] })).status).toBe(404);
    expect(await stagedRows()).toEqual(NOTHING);
  });

  it.each([
    ['split', { split: undefined }],
    ['split', { split: '' }],
    ['split', { split: 'a b' }],
    ['split', { split: 'x'.repeat(65) }],
    ['split', { split: 1 }],
    ['trajectory_groups', { trajectory_groups: undefined }],
    ['trajectory_groups[0].metrics', { trajectory_groups: [{ metrics: 1 }] }],
  ])('refuse a wrong %s of a log', async (path, wrong) => {
    const answer = await log(await preview.aModel(), {
      split: 'train',
      trajectory_groups: [],
      ...wrong,
    });
    expect(answer).toMatchObject({ status: 400, body: { errors: [{ path }] } });
    expect(await stagedRows()).toEqual(NOTHING);
  });

  it('refuse another media type and another encoding', async () => {
    const model = await preview.aModel();
    for (const headers of [{ 'content-type': 'text/plain' }, { 'content-encoding': 'zip' }])
      expect((await log(model, '{}', { headers })).status).toBe(415);
  });

  it('leave nothing of a client that goes away in the middle', async () => {
    const model = await preview.aModel();
    for (const encoding of ['identity', 'gzip']) {
      const sent = httpRequest(`${app.url}/v1/preview/training-jobs`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${app.key}`,
          'content-type': 'application/json',
          'content-encoding': encoding,
        },
      });
      sent.on('error', () => {});
      const half = `{"model_id":"${model}","trajectory_groups":[${'{"trajectories":[{}]},'.repeat(10_000)}`;
      sent.write(encoding === 'gzip' ? gzipSync(half) : half);
      await until(async () => (await stagedRows()).uploads === 1);
      sent.destroy();
      await until(async () => (await stagedRows()).uploads === 0);
      expect(await stagedRows()).toEqual(NOTHING);
    }
  });

  it('have what a dead process staged removed', async () => {
    await app.query(
      `INSERT INTO uploads VALUES ('acme/demo', $1, now() - interval '2 hours'), ('acme/demo', $2, now())`,
      [UNKNOWN, UNKNOWN.replace('0', '1')],
    );
    await app.query(`INSERT INTO body_chunks VALUES ('acme/demo', $1, 0, '')`, [UNKNOWN]);
    await app.app.get(StagedUploads).sweep();
    expect(await stagedRows()).toEqual({ ...NOTHING, uploads: 1 });
    await app.query('DELETE FROM uploads');
  });

  it('are one for a body that is sent again before its end, and two afterwards', async () => {
    const model = await preview.aModel({ project: 'again' });
    const key = await app.aKey('trainer', ['acme/again']);
    const body = { model_id: model, trajectory_groups: groupsOf([aTrajectory()]) };
    const answers = await Promise.all(Array.from({ length: 8 }, () => create(body)));
    const ids = new Set(answers.map((answer) => answer.body.id));
    expect(ids.size).toBe(1);
    const { job_id, lease_token } = (await preview.claim({}, { key })).body;
    expect((await create(body)).body.id).toBe(job_id);
    await preview.start(job_id, lease_token);
    await preview.complete(job_id, lease_token);
    expect(ids).not.toContain((await create(body)).body.id);
    expect(await stagedRows()).toEqual(NOTHING);
  });

  it('obey an idempotency key, which decides before the body does', async () => {
    const model = await preview.aModel();
    const body = { model_id: model, trajectory_groups: groupsOf([aTrajectory()]) };
    const keyed = (key: string, sent: object = body) =>
      create(sent, { headers: { 'idempotency-key': key } });
    const [first, second] = await Promise.all([keyed('a'), keyed('a')]);
    expect(second.body).toEqual(first.body);
    expect((await keyed('b')).body.id).not.toBe(first.body.id);
    expect(await keyed('a', { ...body, trajectory_groups: [] })).toMatchObject({
      status: 409,
      body: { code: 'conflict' },
    });
    const logged = { split: 'keyed', trajectory_groups: body.trajectory_groups };
    for (let i = 0; i < 2; i++)
      expect((await log(model, logged, { headers: { 'idempotency-key': 'c' } })).body).toEqual({});
    expect(await trajectories({ model_id: model, split: 'keyed' })).toHaveLength(1);
    expect(await stagedRows()).toEqual(NOTHING);
  });

  it('log: answer {}, and merge the metrics of the split into the latest checkpoint', async () => {
    const model = await preview.aModel();
    const groups = [
      {
        trajectories: [
          { reward: 1, metrics: { ok: true, n: 3 } },
          { reward: 0, metrics: { ok: false } },
          {},
        ],
        exceptions: [{ type: 'E', message: 'm', traceback: 't' }],
      },
      { trajectories: [], metrics: { judge: 0.5 } },
      { trajectories: [{ reward: null, metrics: { n: null } }] },
    ];
    const answer = await log(model, {
      model_id: 'ignored',
      split: 'val.a-1',
      trajectory_groups: groups,
    });
    expect(answer).toMatchObject({ status: 200, body: {} });
    const expected = {
      'val.a-1/reward': 1 / 3,
      'val.a-1/reward_std_dev': Math.sqrt(2) / 3,
      'val.a-1/exception_rate': 1 / 5,
      'val.a-1/ok': 0.5,
      'val.a-1/n': 3,
      'val.a-1/group_judge': 0.5,
      'val.a-1/num_groups': 3,
      'val.a-1/num_trajectories': 4,
    };
    const [{ metrics }] = await preview.checkpoints(model);
    expect(Object.keys(metrics).toSorted()).toEqual(Object.keys(expected).toSorted());
    for (const [name, value] of Object.entries(expected))
      expect([name, metrics[name]]).toEqual([name, expect.closeTo(value, 12)]);
    await log(model, { split: 'b', trajectory_groups: [] });
    expect((await preview.checkpoints(model))[0].metrics).toEqual({
      ...metrics,
      'b/num_groups': 0,
      'b/num_trajectories': 0,
    });
  });

  it('log: keep all metrics when many log at once', async () => {
    const model = await preview.aModel();
    await Promise.all(
      Array.from({ length: 12 }, (_, i) => log(model, { split: `s${i}`, trajectory_groups: [{}] })),
    );
    const [{ metrics }] = await preview.checkpoints(model);
    expect(Object.keys(metrics)).toHaveLength(24);
  });

  it('show trajectories as they were logged, whatever group they are in', async () => {
    const model = await preview.aModel();
    const choice = (n: number) =>
      String.raw`{"finish_reason":"stop", "index":0,"token_ids":[${n},2],"prompt_token_ids":[7,8],"logprobs":{"content":[{"token":"y\u00e9s","logprob":-0.10e-1,"bytes":null,"top_logprobs":[{"token":"no","logprob":-12345678901234567.5,"bytes":[1]}]},{"token":"","logprob":-${n}.0,"bytes":[],"top_logprobs":[]}],"refusal":null},"message":{"role":"assistant","content":"yes"}}`;
    const sent = (n: number) =>
      `{"reward":${n}, "messages_and_choices":[{"role":"user","content":"Is it so?"},${choice(n)}],"additional_histories":[{"messages_and_choices":[${choice(n)}],"tools":null}],"exchanges":{"chat_completions":[{"request":{},"response":{"prompt_token_ids":[1],"choices":[${choice(n)}]}}]},"metrics":{"n":${10 - n}}}`;
    // groups of different sizes; the last one is larger than a chunk of the payload
    const groups = [[0, 1], [2], [3, 4, 5]].map((ns) => ns.map(sent));
    groups.push([sent(6).replace('Is it so?', 'x'.repeat(2_500_000)), sent(7)]);
    const body = (some: string[][]) =>
      `{"split":"a","trajectory_groups":[${some.map((group) => `{"trajectories":[\n${group.join(',\n')}]}`).join()}]}`;
    for (const some of [groups, groups.slice(0, 1)])
      expect((await preview.call('POST', `/models/${model}/log`, body(some))).body.errors).toBe(
        undefined,
      );
    const rows = async (query: object) =>
      (await preview.call('POST', '/trajectories/query', { model_id: model, ...query })).text
        .trimEnd()
        .split('\n');
    const all = [...groups.flat(), ...groups[0]!];
    const answered = await rows({});
    expect(answered).toHaveLength(all.length);
    for (const [i, text] of all.entries()) {
      expect(answered[i]!.startsWith(text.slice(0, -1))).toBe(true);
      expect(JSON.parse(answered[i]!)).toMatchObject({
        ...JSON.parse(text),
        tools: null,
        logs: [],
        num_tokens: 6,
        split: 'a',
      });
    }
    const by = (await rows({ sort_by: [{ field: 'metrics.n', direction: 'asc' }], limit: 3 })).map(
      (text) => JSON.parse(text).reward,
    );
    expect(by).toEqual([7, 6, 5]);
  });

  it('show trajectories filtered, sorted and in pages', async () => {
    const model = await preview.aModel();
    await log(model, {
      split: 'a',
      trajectory_groups: groupsOf([
        aTrajectory({ reward: 2, metrics: { n: 1 }, odd: { k: 1 } }),
        aTrajectory({ reward: null, metrics: { n: 3 } }),
      ]),
    });
    await log(model, {
      split: 'b',
      trajectory_groups: groupsOf([aTrajectory({ reward: 5, metrics: { n: 2 }, x: '\0' })]),
    });
    const { body: job } = await create({
      model_id: model,
      trajectory_groups: groupsOf([{ split: 'mine', start_time: '2026-02-03T04:05:06+01:00' }]),
    });
    const all = await preview.call('POST', '/trajectories/query', { model_id: model });
    expect(all.headers.get('content-type')).toContain('application/jsonl');
    const rows = linesOf(all);
    expect(rows[0]).toMatchObject({
      reward: 2,
      odd: { k: 1 },
      tools: null,
      logs: [],
      split: 'a',
      step: 0,
      job_id: null,
      model_id: model,
      group_index: 0,
      trajectory_index: 0,
      num_tokens: 2,
      messages_and_choices: [
        { role: 'user', content: 'Is it so?' },
        { message: { content: 'yes' } },
      ],
    });
    expect(rows[3]).toMatchObject({
      split: null,
      job_id: job.id,
      reward: 0,
      start_time: '2026-02-03T04:05:06+01:00',
    });
    const rewards = async (query: object) =>
      (await trajectories({ model_id: model, ...query })).map(({ reward }) => reward);
    const by = (field: string, direction = 'asc') => ({ sort_by: [{ field, direction }] });
    expect(await rewards({})).toEqual([2, null, 5, 0]);
    expect(await rewards({ split: 'a' })).toEqual([2, null]);
    expect(await rewards({ job_id: job.id })).toEqual([0]);
    expect(await rewards({ step: 1 })).toEqual([]);
    expect(await rewards(by('reward', 'desc'))).toEqual([5, 2, 0, null]);
    expect(await rewards(by('metrics.n'))).toEqual([2, 5, null, 0]);
    expect((await rewards(by('start_time')))[0]).toBe(0);
    expect(await rewards({ limit: 2, offset: 1 })).toEqual([null, 5]);
    expect(await rewards({ limit: 0 })).toEqual([]);
  });

  it.each([
    ['model_id', { model_id: 'x' }],
    ['limit', { limit: -1 }],
    ['step', { step: '1' }],
    ['sort_by[0].field', { sort_by: [{ field: 'document', direction: 'asc' }] }],
  ])('refuse a wrong %s of a query', async (path, wrong) => {
    const answer = await preview.call('POST', '/trajectories/query', {
      model_id: await preview.aModel(),
      ...wrong,
    });
    expect(answer).toMatchObject({ status: 400, body: { errors: [{ path }] } });
  });

  it('are listed, filtered, page by page, and only to who reaches them', async () => {
    const model = await preview.aModel({ project: 'list' });
    const ids: string[] = [];
    for (let i = 0; i < 3; i++) ids.push(await preview.aJob(model));
    const page = await preview.call('GET', `/training-jobs?model_id=${model}&limit=2`);
    expect(page.body).toMatchObject({
      data: [{ id: ids[0] }, { id: ids[1] }],
      last_id: ids[1],
      has_more: true,
    });
    const rest = await preview.call(
      'GET',
      `/training-jobs?model_id=${model}&after=${ids[1]}&status=queued`,
    );
    expect(rest.body.data.map(({ id }: any) => id)).toEqual([ids[2]]);
    expect((await preview.call('GET', '/training-jobs?status=done')).status).toBe(400);
    const foreign = { key: await app.aKey('writer', ['corp/*']) };
    expect(
      (await preview.call('GET', `/training-jobs?model_id=${model}`, undefined, foreign)).body.data,
    ).toEqual([]);
    for (const path of [`/training-jobs/${ids[0]}`, `/training-jobs/${ids[0]}/events`])
      expect((await preview.call('GET', path, undefined, foreign)).status).toBe(404);
    expect(
      (await preview.call('POST', `/training-jobs/${ids[0]}/cancel`, undefined, foreign)).status,
    ).toBe(404);
    expect(
      (await preview.call('POST', '/trajectories/query', { model_id: model }, foreign)).status,
    ).toBe(404);
    expect((await preview.call('GET', `/training-jobs/${UNKNOWN}`)).status).toBe(404);
    expect((await preview.call('GET', '/training-jobs/x')).status).toBe(404);
  });

  it('are listed by project, the newest first on request', async () => {
    const ids: string[] = [];
    for (const project of ['newest', 'newest', 'elsewhere'])
      ids.push(await preview.aJob(await preview.aModel({ project })));
    const listed = async (query: string) => {
      const { body } = await preview.call('GET', `/training-jobs?${query}`);
      return body.data.map(({ id }: any) => id);
    };
    expect(await listed('entity=acme&project=newest')).toEqual([ids[0], ids[1]]);
    expect(await listed('project=newest&order=desc&limit=1')).toEqual([ids[1]]);
    expect(await listed(`project=newest&order=desc&after=${ids[1]}`)).toEqual([ids[0]]);
    expect(await listed('entity=corp')).toEqual([]);
    expect((await preview.call('GET', '/training-jobs?order=up')).status).toBe(400);
  });
});
