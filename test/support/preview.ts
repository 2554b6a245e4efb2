import { createHash } from 'node:crypto';
import { gunzipSync } from 'node:zlib';
import type { Answer, TestApp } from './app.js';
import { send } from './app.js';

/** A choice with `numTokens` sampled tokens. */
export const aChoice = (content: string | null = 'yes', numTokens = 2) => ({
  finish_reason: 'stop',
  index: 0,
  message: { role: 'assistant', content, refusal: null },
  logprobs: {
    content: Array.from({ length: numTokens }, (_, i) => ({
      token: `t${i}`,
      logprob: -0.5 - i,
      bytes: [116, 48 + (i % 10)],
      top_logprobs: [],
    })),
    refusal: null,
  },
});

export const aTrajectory = (overrides: object = {}) => ({
  messages_and_choices: [{ role: 'user', content: 'Is it so?' }, aChoice()],
  reward: 1,
  ...overrides,
});

export const groupsOf = (...trajectories: object[][]) =>
  trajectories.map((list) => ({ trajectories: list }));

export const sha256Of = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

export const manifestFile = (name: string, bytes: Uint8Array) => ({
  name,
  size_bytes: bytes.length,
  sha256: sha256Of(bytes),
});

/** Requests of a client and of a trainer to an app. */
export function previewOf(app: Pick<TestApp, 'url' | 'key'>) {
  const lease = (token: string) => ({ headers: { 'x-lease-token': token } });
  const call = (
    method: string,
    path: string,
    body?: unknown,
    { key = app.key, headers = {} }: { key?: string; headers?: Record<string, string> } = {},
  ): Promise<Answer> =>
    send(
      `${app.url}/v1/preview${path}`,
      body,
      { authorization: `Bearer ${key}`, ...headers },
      method,
    );

  let names = 0;
  return {
    call,
    lease,
    async aModel(overrides: object = {}): Promise<string> {
      const body = {
        entity: 'acme',
        project: 'demo',
        name: `m${++names}`,
        base_model: 'Qwen/Q',
        ...overrides,
      };
      return (await call('POST', '/models', body)).body.id;
    },
    /** Makes a job. Each body differs, so that no job is a duplicate. */
    async aJob(
      model_id: string,
      trajectory_groups: unknown = groupsOf([aTrajectory()]),
    ): Promise<string> {
      const body = { model_id, trajectory_groups, note: ++names };
      return (await call('POST', '/training-jobs', body)).body.id;
    },
    claim: (overrides: object = {}, options = {}) =>
      call('POST', '/trainer/claims', { worker_id: 'w', ...overrides }, options),
    trainer: (job: string, token: string, step: string, body: unknown = {}) =>
      call('POST', `/trainer/jobs/${job}/${step}`, body, lease(token)),
    start: (job: string, token: string, num_sequences = 1) =>
      call(
        'POST',
        `/trainer/jobs/${job}/events`,
        { events: [{ seq: 0, type: 'training_started', data: { num_sequences } }] },
        lease(token),
      ),
    complete: (job: string, token: string, metrics: object = {}) =>
      call(
        'POST',
        `/trainer/jobs/${job}/complete`,
        { metrics, checkpoint: { uri: 'file:///c' } },
        lease(token),
      ),
    async payload(job: string, token: string): Promise<Buffer> {
      const response = await fetch(`${app.url}/v1/preview/trainer/jobs/${job}/payload`, {
        headers: { authorization: `Bearer ${app.key}`, 'x-lease-token': token },
      });
      return Buffer.from(await response.arrayBuffer());
    },
    /** Uploads bytes as a part of a file; by default as the whole file. */
    part: (
      job: string,
      token: string,
      bytes: Uint8Array,
      {
        part = 0,
        file = sha256Of(bytes),
        key = app.key,
      }: { part?: number | string; file?: string; key?: string } = {},
    ): Promise<Answer> =>
      send(`${app.url}/v1/preview/trainer/jobs/${job}/parts?file=${file}&part=${part}`, bytes, {
        authorization: `Bearer ${key}`,
        'content-type': 'application/octet-stream',
        'x-lease-token': token,
      }),
    job: async (id: string) => (await call('GET', `/training-jobs/${id}`)).body,
    events: async (id: string) =>
      (await call('GET', `/training-jobs/${id}/events?limit=100`)).body.data as any[],
    checkpoints: async (model: string) =>
      (await call('GET', `/models/${model}/checkpoints?limit=100`)).body.data as any[],
  };
}

export type Preview = ReturnType<typeof previewOf>;

export const linesOfGzip = (payload: Buffer) =>
  gunzipSync(payload).toString('utf8').split('\n').slice(0, -1);
