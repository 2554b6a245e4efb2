import { Readable } from 'node:stream';
import { type ConvertedFormat, type ExportOptions, exportRows } from './exports.js';

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
  metadata: { unit_id: 'u', call_id: 'c' },
  start_time: '2026-01-01T00:00:00.000000Z',
  ...more,
});
const line = (...trajectories: object[]) =>
  JSON.stringify({ trajectories, metadata: { group_key: 'k', split: 'train' } });
const rows = async (
  format: ConvertedFormat,
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

/**
 * Checks a row by the rules of https://platform.openai.com/docs/guides/supervised-fine-tuning and its reference for
 * chat messages.
 */
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

/** Checks a row by the rules of https://platform.openai.com/docs/guides/direct-preference-optimization. */
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
    const [{ completion, tools }] = await rows('trl-sft', GROUP);
    expect(completion[0].tool_calls[0].function.arguments).toEqual({ a: 1 });
    expect(tools).toEqual(TOOLS);
    const [{ prompt, chosen, rejected }] = await rows('trl-dpo', GROUP);
    expect(prompt[1].tool_calls[0].function.arguments).toEqual({ a: 1 });
    expect([chosen, rejected]).toEqual([
      [{ role: 'assistant', content: 'good' }],
      [{ role: 'assistant', content: 'bad' }],
    ]);
  });

  it.each(['trl-sft', 'trl-kto'] as const)(
    'as %s has one turn of the assistant in each completion, and none that is not trained',
    async (format) => {
      const plain = trajectory(1, 'good');
      plain.messages_and_choices[1] = { role: 'assistant', content: 'of another model' };
      const found = await rows(format, line(plain, trajectory(1, 'better')));
      expect(found.map(({ prompt, completion }) => [prompt.length, completion])).toEqual([
        [3, [{ role: 'assistant', content: 'good' }]],
        [1, [expect.objectContaining({ role: 'assistant', content: null })]],
        [3, [{ role: 'assistant', content: 'better' }]],
      ]);
    },
  );

  it('for DPO compares by meaning: ids of tool calls are random', async () => {
    const renamed = (reward: number, end: string, id: string) =>
      JSON.parse(JSON.stringify(trajectory(reward, end)).replaceAll('"c"', `"${id}"`));
    const [pair, ...others] = await rows(
      'openai-dpo',
      line(renamed(1, 'good', 'x1'), renamed(0, 'bad', 'y2')),
    );
    expect(others).toEqual([]);
    expect(pair.input.messages).toHaveLength(3);
    expect([pair.preferred_output[0].content, pair.non_preferred_output[0].content]).toEqual([
      'good',
      'bad',
    ]);
  });

  const noted = async (
    format: ConvertedFormat,
    text: string,
    options: Partial<ExportOptions> = {},
  ) => {
    const found: string[] = [];
    const note: ExportOptions['note'] = (code) => found.push(code);
    const made = await rows(format, text, { ...options, note });
    return { found, made };
  };

  it.each([
    ['dpo_tie', line(trajectory(1, 'good'), trajectory(1, 'bad'))],
    ['dpo_same', line(trajectory(1, 'same'), trajectory(0, 'same'))],
  ])('for DPO notes the group that it leaves out: %s', async (code, text) => {
    expect(await noted('trl-dpo', text)).toEqual({ found: [code], made: [] });
  });

  it.each([
    [[-1], null, [false], []],
    [[1], null, [true], []],
    [[0], null, [], ['kto_unsigned']],
    [[0, 1], null, [false, true], []],
    [[0.4], 0.5, [false], []],
    [[0], 0, [true], []],
  ])(
    'for KTO labels rewards %j with the threshold %j: %j',
    async (rewards, minReward, labels, lints) => {
      const turns = [{ role: 'user', content: 'do' }, choice('x')];
      const told = rewards.map((reward) =>
        trajectory(reward, 'x', { messages_and_choices: turns }),
      );
      const { made, found } = await noted('trl-kto', line(...told), { minReward });
      expect([made.map(({ label }) => label), found]).toEqual([labels, lints]);
    },
  );

  const NUMBERS = '{"id": 12345678901234567890, "share": 10.0}';
  const AS_OBJECT = `"arguments":${NUMBERS}`;
  const AS_TEXT = JSON.stringify(NUMBERS);
  const LIMITS = '{"maximum":10.0,"const":12345678901234567890}';
  it.each([
    ['openai-sft', [AS_TEXT, LIMITS]],
    ['openai-dpo', [AS_TEXT, LIMITS]],
    ['openai-rft', [LIMITS]],
    ['trl-sft', [AS_OBJECT, LIMITS]],
    ['trl-dpo', [AS_OBJECT, LIMITS]],
    ['trl-kto', [AS_OBJECT, LIMITS]],
    ['tinker-preference', [AS_TEXT]],
    ['verifiers', [AS_TEXT, LIMITS]],
    ['prompts', [LIMITS]],
  ] as const)('as %s has the numbers as they were recorded', async (format, texts) => {
    const told = (reward: number, end: string) =>
      JSON.stringify(trajectory(reward, end))
        .replaceAll(JSON.stringify('{"a": 1}'), JSON.stringify(NUMBERS))
        .replace('"parameters":{}', `"parameters":${LIMITS}`);
    const text = `{"trajectories":[${told(1, 'good')},${told(-1, 'bad')}],"metadata":{"group_key":"k","split":"train"}}`;
    const parts: Buffer[] = [];
    for await (const row of exportRows(format, Readable.from([Buffer.from(text)]), ALL))
      parts.push(row);
    for (const wanted of texts) expect(String(parts[0])).toContain(wanted);
  });

  it('keeps reasoning where the format has a place, and notes where it is lost', async () => {
    const message = { role: 'assistant', content: 'x', reasoning: 'so' };
    const turns = [
      { role: 'user', content: 'do' },
      { ...choice('x'), message },
    ];
    const text = line(trajectory(1, 'x', { messages_and_choices: turns }));
    const trl = await noted('trl-sft', text);
    expect(trl.found).toEqual([]);
    expect(trl.made[0].completion).toEqual([
      { role: 'assistant', content: 'x', reasoning_content: 'so' },
    ]);
    expect((await noted('openai-sft', text)).found).toEqual(['reasoning_lost']);
  });

  it('for RFT has a prompt and the best answer to it, if one is good', async () => {
    const messages = [{ role: 'user', content: 'do' }];
    expect(await rows('openai-rft', GROUP)).toEqual([
      { messages, tools: TOOLS, group_key: 'k', reference_answer: 'good', reference_reward: 1 },
    ]);
    const [row] = await rows('openai-rft', line(trajectory(0, 'bad')));
    expect(row.reference_answer).toBeNull();
  });

  it('for Tinker has comparisons, the better completion first', async () => {
    const [{ comparison, label }] = await rows('tinker-preference', GROUP);
    expect(label).toBe('A');
    expect(comparison.prompt_conversation).toHaveLength(3);
    expect([comparison.completion_A, comparison.completion_B]).toEqual([
      [{ role: 'assistant', content: 'good' }],
      [{ role: 'assistant', content: 'bad' }],
    ]);
  });

  it('for verifiers has the tokens of a path in its choices, each once', async () => {
    const exact = (content: string, sent: number[], sampled: number[]) => ({
      ...choice(content),
      prompt_token_ids: sent,
      token_ids: sampled,
      logprobs: { content: sampled.map(() => ({ token: 't', logprob: -0.5 })) },
    });
    const turns = [
      { role: 'user', content: 'do' },
      exact('a', [1, 2], [3]),
      { role: 'user', content: 'on' },
      exact('b', [1, 2, 3, 4], [5, 6]),
    ];
    const { made, found } = await noted(
      'verifiers',
      line(trajectory(1, '', { messages_and_choices: turns })),
    );
    expect(found).toEqual([]);
    expect(made[0].nodes).toMatchObject([
      { parent: null, message: { role: 'user' }, sampled: false },
      {
        parent: 0,
        sampled: true,
        token_ids: [1, 2, 3],
        mask: [false, false, true],
        logprobs: [-0.5],
      },
      { parent: 1, message: { role: 'user' } },
      { parent: 2, token_ids: [4, 5, 6], mask: [false, true, true], logprobs: [-0.5, -0.5] },
    ]);
    expect(made[0].rewards).toEqual({ reward: { score: 1 } });
    expect((await noted('verifiers', line(trajectory(1, 'x')))).found).toEqual(['token_inexact']);
  });

  it('of prompts has one a group', async () => {
    expect(await rows('prompts', GROUP)).toEqual([
      { prompt: [{ role: 'user', content: 'do' }], group_key: 'k', tools: TOOLS },
    ]);
  });
});
