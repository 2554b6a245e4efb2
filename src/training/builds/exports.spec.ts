import { Readable } from 'node:stream';
import { type ExportOptions, exportRows, type Format } from './exports.js';

const ALL: ExportOptions = { minReward: null, minMargin: 0 };
const call = (id: string) => ({
  id,
  type: 'function',
  function: { name: 'f', arguments: '{"a": 1}' },
});
const choice = (content: string | null, tool_calls?: object[]) => ({
  index: 0,
  finish_reason: 'stop',
  message: { role: 'assistant', content, refusal: null, ...(tool_calls && { tool_calls }) },
  logprobs: null,
});
const TOOLS = [{ type: 'function', function: { name: 'f', parameters: {} } }];
const trajectory = (reward: number, end: string, more: object = {}) => ({
  messages_and_choices: [
    { role: 'user', content: 'do' },
    choice(null, [call('c')]),
    { role: 'tool', tool_call_id: 'c', content: 'seen' },
    choice(end),
  ],
  tools: TOOLS,
  reward,
  additional_histories: [],
  metrics: {},
  metadata: {},
  ...more,
});
const line = (...trajectories: object[]) =>
  JSON.stringify({ trajectories, metadata: { group_key: 'k', split: 'train' } });
const rows = async (
  format: Exclude<Format, 'art'>,
  text: string,
  options: Partial<ExportOptions> = {},
) => {
  const found: any[] = [];
  const groups = Readable.from([Buffer.from(text)]);
  for await (const row of exportRows(format, groups, { ...ALL, ...options }))
    found.push(JSON.parse(row.toString('utf8')));
  return found;
};

const GROUP = line(trajectory(1, 'good'), trajectory(0.5, 'middling'), trajectory(0, 'bad'));

/** The rules of https://platform.openai.com/docs/guides/supervised-fine-tuning and its reference for chat messages. */
function sftProblems({ messages, tools }: any): string[] {
  const problems: string[] = [];
  const asked = new Set<string>();
  for (const { role, content, tool_calls, tool_call_id, weight, ...others } of messages) {
    if (!['system', 'developer', 'user', 'assistant', 'tool'].includes(role))
      problems.push(`role ${role}`);
    if (typeof content !== 'string' && !(content === null && tool_calls)) problems.push('content');
    if (weight !== undefined && (role !== 'assistant' || ![0, 1].includes(weight)))
      problems.push('weight');
    for (const { id, type, function: called } of tool_calls ?? []) {
      if (type !== 'function' || typeof called.arguments !== 'string') problems.push('tool call');
      if (!tools?.some((tool: any) => tool.function.name === called.name)) problems.push('tool');
      asked.add(id);
    }
    if (role === 'tool' && !asked.has(tool_call_id)) problems.push('answer to no call');
    for (const name of Object.keys(others)) if (name !== 'name') problems.push(`member ${name}`);
  }
  const last = messages.at(-1);
  if (last.role !== 'assistant') problems.push('the last message is not of the assistant');
  const isLearnt = ({ role, weight }: any) => role === 'assistant' && weight !== 0;
  if (!messages.some(isLearnt)) problems.push('nothing to learn');
  return problems;
}

/** The rules of https://platform.openai.com/docs/guides/direct-preference-optimization. */
function dpoProblems({ input, preferred_output, non_preferred_output }: any): string[] {
  const outputs = [preferred_output, non_preferred_output];
  const isOne = (output: any) => output.length === 1 && output[0].role === 'assistant';
  return [
    ...(input.messages.length > 0 && input.messages.at(-1).role !== 'assistant' ? [] : ['input']),
    ...(outputs.every(isOne) ? [] : ['outputs']),
    ...outputs.flatMap(([message]) => sftProblems({ messages: [message], tools: input.tools })),
  ];
}

describe('an export', () => {
  it('for SFT by OpenAI keeps its rules, and learns from what is good enough', async () => {
    const found = await rows('openai-sft', GROUP, { minReward: 0.5 });
    expect(found.map(({ messages }) => messages.at(-1).content)).toEqual(['good', 'middling']);
    expect(found.flatMap(sftProblems)).toEqual([]);
    expect(found[0].tools).toEqual(TOOLS);
  });

  it('has a line for each history, in which only its own choices are learnt', async () => {
    const fork = {
      messages_and_choices: [
        { role: 'user', content: 'do' },
        { role: 'assistant', content: 'shared' },
        { role: 'user', content: 'on' },
        choice('own'),
        { role: 'user', content: 'left open' },
      ],
      tools: null,
    };
    const text = line(trajectory(1, 'good', { additional_histories: [fork] }));
    const found = await rows('openai-sft', text);
    expect(found).toHaveLength(2);
    expect(found.flatMap(sftProblems)).toEqual([]);
    expect(found[1].messages.map(({ weight }: any) => weight)).toEqual([
      undefined,
      0,
      undefined,
      undefined,
    ]);
  });

  it('for DPO by OpenAI has the best against the worst where they begin to differ', async () => {
    const [pair, ...others] = await rows('openai-dpo', GROUP);
    expect(others).toEqual([]);
    expect(pair.input.messages).toHaveLength(3);
    expect(pair.preferred_output).toEqual([{ role: 'assistant', content: 'good' }]);
    expect(pair.non_preferred_output).toEqual([{ role: 'assistant', content: 'bad' }]);
    expect(dpoProblems(pair)).toEqual([]);
  });

  it.each([
    ['are too close', GROUP, 2],
    ['are a tie', line(trajectory(1, 'good'), trajectory(1, 'bad')), 0],
    ['say the same', line(trajectory(1, 'same'), trajectory(0, 'same')), 0],
  ])('for DPO leaves out pairs that %s', async (_, text, minMargin) => {
    expect(await rows('openai-dpo', text, { minMargin })).toEqual([]);
    expect(await rows('trl-dpo', text, { minMargin })).toEqual([]);
  });

  it('for TRL has the arguments of tools as objects', async () => {
    const [{ messages, tools }] = await rows('trl-sft', GROUP);
    expect(messages[1].tool_calls[0].function.arguments).toEqual({ a: 1 });
    expect(tools).toEqual(TOOLS);
    const [{ prompt, chosen, rejected }] = await rows('trl-dpo', GROUP);
    expect(prompt[1].tool_calls[0].function.arguments).toEqual({ a: 1 });
    expect([chosen, rejected]).toEqual([
      [{ role: 'assistant', content: 'good' }],
      [{ role: 'assistant', content: 'bad' }],
    ]);
  });

  it('for KTO labels each trajectory by a least reward, or the mean of its group', async () => {
    expect((await rows('trl-kto', GROUP)).map(({ label }) => label)).toEqual([true, true, false]);
    const strict = await rows('trl-kto', GROUP, { minReward: 0.9 });
    expect(strict.map(({ label }) => label)).toEqual([true, false, false]);
    expect(strict[0].prompt).toEqual([{ role: 'user', content: 'do' }]);
    expect(strict[0].completion).toHaveLength(3);
  });

  it('of prompts has one a group', async () => {
    expect(await rows('prompts', GROUP)).toEqual([
      { prompt: [{ role: 'user', content: 'do' }], group_key: 'k', tools: TOOLS },
    ]);
  });
});
