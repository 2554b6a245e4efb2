import { gunzipSync } from 'node:zlib';
import { send, useApp } from '../support/app.js';
import { linesOfGzip, previewOf, sha256Of } from '../support/preview.js';
import { aRecipe, publish, record, type RolloutSpec, user } from '../support/rollouts.js';

const app = useApp({ MAX_TRAINING_BODY_BYTES: '3000000' });
const preview = previewOf(app);
const UNKNOWN = '01a1fbc3-f5fb-72fa-bfb3-04f663804a7c';

const aRow = (content = 'yes', more = '') =>
  `{"messages":[{"role":"user","content":"Is it so?"},{"role":"assistant","content":"${content}"}]${more}}`;

const upload = (
  body: string | Uint8Array,
  { query = 'entity=acme&project=demo', type = 'application/jsonl', headers = {} } = {},
) =>
  send(`${app.url}/v1/preview/training-data?${query}`, Buffer.from(body as string), {
    authorization: `Bearer ${app.key}`,
    'content-type': type,
    ...headers,
  });

const create = (body: object | string, options = {}) =>
  preview.call('POST', '/sft-training-jobs', body, options);

async function aSftJob(rows = aRow(), more: object = {}) {
  const base = `base-${++bases}`;
  const model = await preview.aModel({ base_model: base });
  const { body: data } = await upload(rows);
  const { body: job } = await create({ model_id: model, training_data_url: data.url, ...more });
  return { model, base, job: job.id as string, data };
}
let bases = 0;

const claim = (base: string, kinds: string[] | null = ['rl', 'sft']) =>
  preview.claim({ base_models: [base], kinds });

describe('/v1/preview/training-data', () => {
  it('keeps the bytes of a body, which a job hands to a trainer', async () => {
    const body = `${aRow('12345678901234567890', ',"n":1.0')}\r\n{"tools":[{"x": 10.0}] , "messages" : [{"role":"assistant","content":"\\ud800 \\u0000"}]}`;
    const { status, body: data } = await upload(body);
    expect([status, data]).toEqual([
      200,
      {
        id: expect.any(String),
        entity: 'acme',
        project: 'demo',
        url: `skein:///training-data/${data.id}`,
        num_rows: 2,
        size_bytes: Buffer.byteLength(body),
        sha256: sha256Of(Buffer.from(body)),
        created_at: expect.stringMatching(/Z$/),
      },
    ]);
    const { body: list } = await preview.call(
      'GET',
      '/training-data?entity=acme&project=demo&limit=100',
    );
    expect(list.data).toContainEqual(data);

    const model = await preview.aModel({ base_model: 'bytes' });
    const config =
      '{"batch_size": "auto", "learning_rate": [1e-5, 2.0e-5], "assistant_turns": "last", "x": 1.0}';
    const { body: job } = await create(
      `{"model_id":"${model}","training_data_url":"${data.url}","config":${config},"experimental_config":{"seed":1.0}}`,
    );
    expect(await preview.job(job.id)).toMatchObject({
      kind: 'sft',
      status: 'queued',
      training_data_url: data.url,
      config: { batch_size: 'auto', learning_rate: [1e-5, 2e-5] },
      num_groups: 2,
    });
    const { body: claimed, text } = await claim('bytes');
    expect(claimed).toMatchObject({ job_id: job.id, kind: 'sft' });
    expect(text).toContain(`"config":${config},"experimental_config":{"seed":1.0}`);
    const payload = await preview.payload(job.id, claimed.lease_token);
    expect(claimed.payload.sha256).toBe(sha256Of(payload));
    expect(gunzipSync(payload).toString()).toBe(body);
    const second = await fetch(
      `${app.url}/v1/preview/trainer/jobs/${job.id}/payload?from_group=1`,
      {
        headers: { authorization: `Bearer ${app.key}`, 'x-lease-token': claimed.lease_token },
      },
    );
    expect(gunzipSync(Buffer.from(await second.arrayBuffer())).toString()).toBe(
      body.split('\n')[1],
    );
  });

  it.each([
    ['no JSON', `${aRow()}\n{"messages":`, 400, 'line 2 is not valid JSON'],
    ['an empty line', `${aRow()}\n\n${aRow()}`, 400, 'line 2 is not valid JSON'],
    ['no messages', '{"tools":null}', 400, 'line 1.messages is required'],
    ['a message without a role', '{"messages":[{"content":"x"}]}', 400, 'line 1.messages[0].role'],
    [
      'nothing to learn',
      '{"messages":[{"role":"user","content":"x"}]}',
      400,
      'message of the assistant',
    ],
    ['levels over levels', aRow('yes', `,"x":${'['.repeat(1001)}${']'.repeat(1001)}`), 400, '1000'],
    ['no rows', '', 400, 'no rows'],
    ['not UTF-8', Buffer.from([0xff, 0x0a]), 400, 'UTF-8'],
    ['too much', `${aRow()}\n`.repeat(40_000), 413, '3000000'],
  ])('refuses %s', async (_, body, status, message) => {
    const answer = await upload(body);
    expect([answer.status, answer.text]).toEqual([status, expect.stringContaining(message)]);
    expect((await app.query(`SELECT 1 FROM uploads`)).length).toBe(0);
  });

  it('refuses another type, another project, and a query without one', async () => {
    expect((await upload(aRow(), { type: 'text/plain' })).status).toBe(415);
    expect((await upload(aRow(), { query: 'entity=acme' })).status).toBe(400);
    const other = await app.aKey('writer', ['acme/other']);
    const headers = { authorization: `Bearer ${other}` };
    expect((await upload(aRow(), { headers })).status).toBe(403);
  });

  it('answers a resend with the same key once', async () => {
    const headers = { 'idempotency-key': 'data-1' };
    const [first, again] = [
      await upload(aRow('k'), { headers }),
      await upload(aRow('k'), { headers }),
    ];
    expect(again.body).toEqual(first.body);
    expect((await upload(aRow('l'), { headers })).status).toBe(409);
  });

  it('is deleted with the copies of its jobs, which are cancelled', async () => {
    const { job, data, base } = await aSftJob(aRow('secret'));
    const { status, body } = await preview.call('DELETE', `/training-data/${data.id}`);
    expect([status, body]).toEqual([200, { job_ids: [job] }]);
    expect(await preview.job(job)).toMatchObject({ status: 'cancelled' });
    expect((await claim(base)).status).toBe(204);
    const [{ left }] = await app.query(
      `SELECT count(*)::int AS left FROM body_chunks WHERE batch_id IN ($1, (SELECT batch_id FROM training_jobs WHERE id = $2))`,
      [data.id, job],
    );
    expect(left).toBe(0);
    expect((await preview.call('DELETE', `/training-data/${data.id}`)).status).toBe(404);
  });
});

describe('/v1/preview/sft-training-jobs', () => {
  it('is trained as other jobs are: events, a checkpoint, and an end', async () => {
    const { job, base, model } = await aSftJob();
    const { lease_token: lease } = (await claim(base)).body;
    await preview.start(job, lease);
    expect((await preview.complete(job, lease)).body).toEqual({ step: 1, made_step: true });
    expect((await preview.events(job)).map(({ type }) => type)).toEqual([
      'training_started',
      'training_ended',
    ]);
    expect((await preview.checkpoints(model)).map(({ step }) => step)).toEqual([0, 1]);
  });

  it('is not handed to a trainer that knows RL only, and keeps the place of its model', async () => {
    const { job, base, model } = await aSftJob();
    const rl = await preview.aJob(model);
    expect((await claim(base, null)).status).toBe(204);
    expect((await claim(base, ['rl'])).status).toBe(204);
    expect((await claim(base, ['sft'])).body).toMatchObject({ job_id: job });
    await preview.call('POST', `/training-jobs/${job}/cancel`);
    expect((await claim(base, ['magic'])).status).toBe(400);
    expect(await preview.job(rl)).toMatchObject({
      kind: 'rl',
      config: null,
      training_data_url: null,
    });
  });

  it('answers the same job to the same request while it has not ended', async () => {
    const { job, model, data } = await aSftJob(aRow(), { config: { learning_rate: 1e-4 } });
    const body = { model_id: model, training_data_url: data.url, config: { learning_rate: 1e-4 } };
    expect((await create(body)).body.id).toBe(job);
    expect((await create({ ...body, config: { learning_rate: 1e-5 } })).body.id).not.toBe(job);
    await preview.call('POST', `/training-jobs/${job}/cancel`);
    expect((await create(body)).body.id).not.toBe(job);
    const headers = { 'idempotency-key': 'job-1' };
    const keyed = (await create(body, { headers })).body.id;
    expect((await create(body, { headers })).body.id).toBe(keyed);
    expect((await app.query(`SELECT 1 FROM uploads`)).length).toBe(0);
  });

  it('takes the good conversations of the training side of a build, and goes with its calls', async () => {
    const project = 'acme/sft-build';
    const rollouts: RolloutSpec[] = ['good', 'bad'].map((content, i) => ({
      id: content,
      task: content,
      second: i,
      score: 1 - i,
      asks: [{ messages: [user('2+2?')], content }],
    }));
    await record(app, rollouts, project);
    const recipe = aRecipe({
      purpose: 'sft',
      reward: { ...aRecipe().reward, threshold: 0.5 },
    });
    const recipe_ref = await publish(app, recipe, { project });
    const { body: build } = await app.post('/build/create', {
      project_id: project,
      recipe_ref,
      mode: 'all',
      accept: ['duplicate'],
    });
    const base = `base-${++bases}`;
    const model = await preview.aModel({ project: 'sft-build', base_model: base });
    const training_data_url = `skein:///builds/${build.build_id}`;
    const { status, body: job } = await create({ model_id: model, training_data_url });
    expect([status, job]).toEqual([200, { id: expect.any(String) }]);
    const { body: claimed } = await claim(base);
    const lines = linesOfGzip(await preview.payload(job.id, claimed.lease_token));
    expect(lines.map((line) => JSON.parse(line))).toEqual([
      { messages: [user('2+2?'), { role: 'assistant', content: 'good' }] },
    ]);
    const { body: lineage } = await app.post('/lineage/query', {
      project_id: project,
      build_id: build.build_id,
    });
    expect(JSON.stringify(lineage)).toContain(job.id);
    await app.post('/calls/delete', { project_id: project, call_ids: ['good'] });
    expect(await preview.job(job.id)).toMatchObject({ cancel_requested: true });
    expect((await create({ model_id: model, training_data_url })).status).toBe(409);
  });

  it.each([
    [
      'an artifact of W&B',
      { training_data_url: 'wandb-artifact:///acme/demo/sft-data:v0' },
      400,
      'POST /v1/preview/training-data',
    ],
    [
      'another URL',
      { training_data_url: 'https://example.com/a.jsonl' },
      400,
      'training_data_url must be skein:///',
    ],
    ['no URL', { training_data_url: null }, 400, 'training_data_url'],
    [
      'data that is not there',
      { training_data_url: `skein:///training-data/${UNKNOWN}` },
      404,
      'no such training data',
    ],
    [
      'a build that is not there',
      { training_data_url: `skein:///builds/${UNKNOWN}` },
      404,
      'no such build',
    ],
    ['an unknown model', { model_id: UNKNOWN }, 404, 'no such model'],
    [
      'a batch of none',
      { config: { batch_size: 0 } },
      400,
      'config.batch_size must be a whole number from 1, or \\"auto\\"',
    ],
    ['a rate that is no number', { config: { learning_rate: ['x'] } }, 400, 'config.learning_rate'],
    ['other turns', { config: { assistant_turns: 'first' } }, 400, 'config.assistant_turns'],
    ['a config that is no object', { experimental_config: [] }, 400, 'experimental_config'],
  ])('refuses %s', async (_, body, status, message) => {
    const model_id = await preview.aModel();
    const { body: data } = await upload(aRow());
    const answer = await create({ model_id, training_data_url: data.url, ...body });
    expect([answer.status, answer.text]).toEqual([status, expect.stringContaining(message)]);
  });

  it('takes no data of another project', async () => {
    const { data } = await aSftJob();
    const model_id = await preview.aModel({ project: 'other' });
    expect((await create({ model_id, training_data_url: data.url })).status).toBe(404);
  });
});
