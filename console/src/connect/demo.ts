import { post, send } from '../api/client.ts';
import { wire } from '../api/wire.ts';
import { demoCalls, exactJson } from './demo-calls.ts';
import { DEMO_PROJECT } from './demo-project.ts';

const [ENTITY, PROJECT] = DEMO_PROJECT.split('/') as [string, string];
/** A made-up model, so that no real trainer claims its jobs. */
const BASE_MODEL = 'demo/house-7b-base';
const STEPS = 24;
const RECIPE = 'support-recipe';

/** The recipe: the answers to one question are a group, and the reward is people's feedback. */
const recipe = () => ({
  _class_name: 'Recipe',
  _bases: ['Object', 'BaseModel'],
  version: 1,
  select: { unit: 'trace', settle_s: 0 },
  llm: { policy: 'gpt-4o-mini' },
  reward: {
    sum: [
      {
        feedback: `${wire.feedback}.reaction.1`,
        path: 'emoji',
        map: { '👍': 1, '👎': -1 },
        missing: 0,
      },
    ],
    exception: -0.5,
  },
  group: { by: ['inputs.question'], min: 2, max: 16 },
  // demo calls have no logprobs, and the default of this lint refuses a build without them
  lint: { logprobs_missing: 'warn' },
  train: { experimental_config: { learning_rate: 0.000_005 } },
});

/** Loads all demo data through the public operations. `say` is called with the name of each stage. */
export async function loadDemo(say: (text: string) => void): Promise<void> {
  say('calls');
  const calls = demoCalls(Date.now());
  const project_id = DEMO_PROJECT;
  const batch = calls.flatMap(({ ended_at, output, exception, summary, ...start }) => [
    { mode: 'start', req: { start: { project_id, ...start } } },
    ...(ended_at === null
      ? []
      : [
          {
            mode: 'end',
            req: { end: { project_id, id: start.id, ended_at, output, exception, summary } },
          },
        ]),
  ]);
  await send('POST', '/call/upsert_batch', { body: exactJson({ batch }) });
  say('feedback and prices');
  await send('POST', '/feedback/batch/create', { body: { batch: feedback() } });
  await post('/cost/create', {
    project_id,
    costs: {
      'claude-3-5-sonnet-20241022': {
        prompt_token_cost: 0.000_002_5,
        completion_token_cost: 0.000_012,
        effective_date: '2020-01-01T00:00:00Z',
      },
    },
  });
  say('objects');
  await objects();
  say('a build and its training job');
  await training();
}

function feedback(): object[] {
  const of = (n: number, feedback_type: string, payload: object) => ({
    project_id: DEMO_PROJECT,
    id: `demo-feedback-${feedback_type}-${n}`,
    [wire.ref]: `${wire.scheme}:///${DEMO_PROJECT}/call/demo-${String(n).padStart(3, '0')}`,
    feedback_type,
    payload,
  });
  const all: object[] = [];
  for (let n = 0; n < 60; n += 3) {
    all.push(of(n, `${wire.feedback}.reaction.1`, { emoji: n % 9 === 0 ? '👎' : '👍' }));
    if (n % 12 === 0)
      all.push(of(n, `${wire.feedback}.note.1`, { note: 'The tone is right, the date is not.' }));
  }
  return all;
}

async function objects(): Promise<void> {
  await post('/obj/create', {
    obj: { project_id: DEMO_PROJECT, object_id: RECIPE, val: recipe() },
  });
  const prompts = ['Be helpful.', 'Be helpful and brief.', 'Be helpful and brief. Name the order.'];
  for (const text of prompts)
    await post('/obj/create', {
      obj: {
        project_id: DEMO_PROJECT,
        object_id: 'support-prompt',
        val: { text, temperature: 0.2 },
      },
    });
  const rows = Array.from({ length: 120 }, (_, n) => ({
    id: n + 1,
    question: `Question ${n + 1} of the evaluation`,
    expected: n % 2 === 0 ? 'refund' : 'delivery',
  }));
  const { digest } = await post('/table/create', {
    table: { project_id: DEMO_PROJECT, rows },
  });
  await post('/obj/create', {
    obj: {
      project_id: DEMO_PROJECT,
      object_id: 'support-questions',
      val: {
        _type: 'Dataset',
        _class_name: 'Dataset',
        _bases: ['Object', 'BaseModel'],
        rows: `${wire.scheme}:///${DEMO_PROJECT}/table/${digest}`,
      },
    },
  });
}

/** Creates a model and a job, and carries the job out as a trainer would. The numbers are made up. */
async function training(): Promise<void> {
  const preview = async (method: string, path: string, body?: unknown, lease?: string) => {
    const headers: HeadersInit = lease === undefined ? [] : [['x-lease-token', lease]];
    const response = await send(method, `/v1/preview${path}`, { body, headers });
    return response.status === 204 ? null : ((await response.json()) as Record<string, unknown>);
  };
  const model = await preview('POST', '/models', {
    entity: ENTITY,
    project: PROJECT,
    name: 'support-agent',
    base_model: BASE_MODEL,
    return_existing: true,
  });
  await preview('POST', `/models/${String(model!['id'])}/log`, {
    split: 'train',
    trajectory_groups: trajectoryGroups(),
  });
  const build = await post('/build/create', {
    project_id: DEMO_PROJECT,
    recipe_ref: `${wire.scheme}:///${DEMO_PROJECT}/object/${RECIPE}:latest`,
    mode: 'all',
  });
  await post('/build/submit', {
    project_id: DEMO_PROJECT,
    build_id: build.build_id,
    model_id: String(model!['id']),
  });
  const claimed = await preview('POST', '/trainer/claims', {
    worker_id: 'demo',
    base_models: [BASE_MODEL],
  });
  if (!claimed) return; // a real trainer that accepts every base model has claimed the job
  const lease = String(claimed['lease_token']);
  const job = `/trainer/jobs/${String(claimed['job_id'])}`;
  const events = [
    { seq: 0, type: 'training_started', data: { num_sequences: STEPS } },
    ...Array.from({ length: STEPS }, (_, n) => ({
      seq: n + 1,
      type: 'gradient_step',
      data: {
        loss: Number((0.9 * Math.exp(-n / 9) + 0.05 * Math.sin(n)).toFixed(4)),
        reward: Number((0.35 + 0.5 * (1 - Math.exp(-n / 8))).toFixed(4)),
      },
    })),
  ];
  await preview('POST', `${job}/events`, { events }, lease);
  await preview(
    'POST',
    `${job}/complete`,
    { metrics: { loss: 0.071, reward: 0.82 }, checkpoint: { uri: 's3://demo/support-agent/1' } },
    lease,
  );
}

function trajectoryGroups(): object[] {
  const messages = (good: boolean) => [
    { role: 'system', content: 'You help the customers of a shop.' },
    { role: 'user', content: 'Where is my parcel?' },
    {
      finish_reason: 'stop',
      index: 0,
      message: {
        role: 'assistant',
        content: good ? 'It arrives tomorrow before noon.' : 'Please wait.',
        refusal: null,
      },
      logprobs: {
        content: ['It', ' arrives'].map((token, n) => ({
          token,
          logprob: -0.2 - n / 10,
          bytes: [...new TextEncoder().encode(token)],
          top_logprobs: [],
        })),
        refusal: null,
      },
    },
  ];
  return Array.from({ length: 4 }, (_, group) => ({
    trajectories: Array.from({ length: 4 }, (_unused, n) => ({
      messages_and_choices: messages((group + n) % 2 === 0),
      reward: (group + n) % 2 === 0 ? 1 : 0.1,
      metrics: { turns: 1 + (n % 3) },
      metadata: { group },
    })),
  }));
}

/** Erases the project with all its data. `is_done` is false when erasing goes on in the background. */
export const removeDemo = (): Promise<{ is_done: boolean }> =>
  post('/project/delete', { project_id: DEMO_PROJECT });
