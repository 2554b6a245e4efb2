import type { TestApp } from './app.js';

/** A call of a model. Absent members get the defaults of a valid call. */
export interface AskSpec {
  messages: object[];
  /** The content of the answer. */
  content?: string | null;
  tool_calls?: object[];
  model?: string;
  inputs?: object;
  choice?: object;
  output?: object;
  exception?: string;
  op_name?: string;
}

export interface RolloutSpec {
  id: string;
  task?: string;
  asks: AskSpec[];
  /** Stored at `output.score` of a scorer's feedback; no feedback when absent. */
  score?: unknown;
  second?: number;
  root?: object;
  end?: object;
}

export const PROJECT = 'acme/demo';
export const SCORER = 'svc.runnable.score';

const iso = (second: number, micros = 0) =>
  new Date(Date.UTC(2026, 0, 1) + second * 1000)
    .toISOString()
    .replace('Z', `${String(micros).padStart(3, '0')}Z`);

/** Logprobs whose tokens spell the text, four characters each. */
export const spelled = (text: string) => ({
  content: (text.match(/.{1,4}/gs) ?? []).map((token) => ({
    token,
    logprob: -0.5,
    bytes: [...Buffer.from(token)],
    top_logprobs: [],
  })),
});

/** A choice in an OpenAI answer. */
export const aChoiceOf = ({ content = 'yes', tool_calls, choice }: Partial<AskSpec>) => ({
  finish_reason: tool_calls ? 'tool_calls' : 'stop',
  index: 0,
  message: { role: 'assistant', content, refusal: null, ...(tool_calls && { tool_calls }) },
  logprobs: spelled(content ?? 'call'),
  ...choice,
});

/** Starts and ends of a rollout's calls: a root, and the model calls below it. */
export function itemsOf(spec: RolloutSpec, project_id = PROJECT): object[] {
  const { id, task = 't', asks, second = 0, root = {}, end = {} } = spec;
  const trace_id = `trace-${id}`;
  const calls = [
    {
      start: {
        id,
        op_name: 'rollout',
        started_at: iso(second),
        attributes: { task_id: task },
        inputs: {},
        ...root,
      },
      end: { id, ended_at: iso(second + 1), ...end },
    },
    ...asks.map((ask, i) => {
      const choice = aChoiceOf(ask);
      const tokens = choice.logprobs?.content.length ?? 1;
      return {
        start: {
          id: `${id}.${i}`,
          parent_id: id,
          op_name: ask.op_name ?? 'svc:///acme/demo/op/openai.chat.completions.create:v0',
          started_at: iso(second, i + 1),
          inputs: { model: ask.model ?? 'agent:step1', messages: ask.messages, ...ask.inputs },
        },
        end: {
          id: `${id}.${i}`,
          ended_at: iso(second + 1),
          ...(ask.exception
            ? { exception: ask.exception }
            : {
                output: {
                  id: 'chatcmpl-1',
                  model: ask.model ?? 'agent:step1',
                  choices: [choice],
                  usage: { prompt_tokens: 10, completion_tokens: tokens },
                  ...ask.output,
                },
              }),
        },
      };
    }),
  ];
  return calls.flatMap(({ start, end: ended }) => [
    { mode: 'start', req: { start: { project_id, trace_id, ...start } } },
    { mode: 'end', req: { end: { project_id, ...ended } } },
  ]);
}

export const feedbackOf = (
  { id, score }: RolloutSpec,
  project_id = PROJECT,
  overrides: object = {},
) => ({
  project_id,
  id: `score of ${id}`,
  svc_ref: `svc:///${project_id}/call/${id}`,
  feedback_type: SCORER,
  runnable_ref: `svc:///${project_id}/object/scorer:v0`,
  payload: { output: { score } },
  ...overrides,
});

/** Records rollouts and the feedback with their scores. */
export async function record(app: Pick<TestApp, 'post'>, specs: RolloutSpec[], project = PROJECT) {
  const items = specs.flatMap((spec) => itemsOf(spec, project));
  for (let at = 0; at < items.length; at += 5000) {
    const batch = items.slice(at, at + 5000);
    const { status, text } = await app.post('/call/upsert_batch', { batch });
    if (status !== 200 || text.includes('"error"')) throw new Error(text.slice(0, 1000));
  }
  const scored = specs.filter(({ score }) => score !== undefined);
  for (let at = 0; at < scored.length; at += 1000) {
    const batch = scored.slice(at, at + 1000).map((spec) => feedbackOf(spec, project));
    const { status, text } = await app.post('/feedback/batch/create', { batch });
    if (status !== 200 || text.includes('"error"')) throw new Error(text.slice(0, 1000));
  }
}

export const user = (content: string) => ({ role: 'user', content });
export const assistant = (content: string | null, more: object = {}) => ({
  role: 'assistant',
  content,
  ...more,
});
export const toolCall = (id: string, args: unknown = '{"x": 1}') => ({
  id,
  type: 'function',
  function: { name: 'look', arguments: args },
});
export const toolAnswer = (id: string, content = 'seen') => ({
  role: 'tool',
  tool_call_id: id,
  content,
});

/** A recipe that uses the score as reward. */
export const aRecipe = (overrides: object = {}) => ({
  _class_name: 'Recipe',
  _bases: ['Object', 'BaseModel'],
  version: 1,
  reward: { sum: [{ feedback: SCORER, path: 'output.score' }] },
  ...overrides,
});

export async function publish(
  app: Pick<TestApp, 'post'>,
  recipe: object,
  { name = 'recipe', project = PROJECT } = {},
): Promise<string> {
  const obj = { project_id: project, object_id: name, val: recipe };
  const { body } = await app.post('/obj/create', { obj });
  return `svc:///${project}/object/${name}:${body.digest}`;
}
