import { useApp } from '../support/app.js';
import { at } from '../support/factories.js';
import { aClient, callTool } from '../support/mcp.js';
import { recordedTraces } from '../support/otlp-recordings.js';

const PATH = '/threads/turns/query';
const app = useApp();

let projects = 0;
const aProject = () => `acme/turns${projects++}`;

/** Stores calls of one trace with the turn `turn`. Each gives the members that differ from the default. */
async function store(project: string, calls: Record<string, unknown>[]): Promise<void> {
  const batch = calls.map(({ id, began = 1, ended = 2, ...rest }) => ({
    project_id: project,
    id,
    trace_id: 'trace',
    parent_id: id === 'turn' ? null : 'turn',
    ...(id === 'turn' && { thread_id: 'talk', turn_id: 'turn' }),
    op_name: id,
    started_at: at(began as number),
    ended_at: at(ended as number),
    inputs: {},
    output: null,
    ...rest,
  }));
  const { status, text } = await app.post(`/v2/${project}/calls/complete`, { batch });
  if (status !== 200) throw new Error(text);
}

const textsOf = async (project_id: string, turn_ids = ['turn']) =>
  (await app.post(PATH, { project_id, turn_ids })).body.turns;
/** Reads the texts of the turn, with the call that each comes from. */
async function said(project: string) {
  const [{ question, answer }] = await textsOf(project);
  return [question, answer].map((one) => one && `${one.call_id}: ${one.text}`);
}
const chat = (question: string, answer: string) => ({
  inputs: { messages: [{ role: 'user', content: question }] },
  output: { choices: [{ message: { role: 'assistant', content: answer } }] },
});
const ROOT = { id: 'turn', began: 0, ended: 60 };
/** Roots with documents, keyed by the title of their test. */
const ROOTS: Record<string, object> = {
  'one side from below': { inputs: { question: 'Why?' } },
  'what is below an empty message and a text that stands for none': {
    inputs: { messages: [{ role: 'user', content: '' }] },
    output: 'null',
  },
  'what is below a message of blanks': {
    inputs: { args: [], kwargs: { question: ' ' } },
    output: { choices: [{ message: { role: 'assistant', content: ' \n' } }] },
  },
};

/* Questions of the programs in test/fixtures/otlp/programs, and the answers of their models. */
it.each([
  ['openinference-agents', 'It is sunny.'],
  ['google-adk-contents', 'It is sunny in Rome.'],
  ['autogen', 'It is sunny in Rome.'],
  ['openinference-langgraph', 'It is sunny in Rome.'],
  ['langsmith-langchain', 'It is sunny.'],
])('%s: the turn has the question and the answer, for MCP too', async (name, answer) => {
  const project_id = aProject();
  const headers = { project_id };
  expect((await app.post('/otel/v1/traces', recordedTraces(name), { headers })).text).toBe('{}');
  const { body } = await app.post('/calls/query', { project_id, filter: { thread_ids: ['s1'] } });
  const ids = body.calls.filter(({ id, turn_id }: any) => id === turn_id).map(({ id }: any) => id);
  expect(ids).toHaveLength(1);
  expect(await textsOf(project_id, ids)).toMatchObject([
    { question: { text: 'How is the weather in Rome?', role: 'user' }, answer: { text: answer } },
  ]);
  const client = await aClient(app, `Bearer ${app.key}`);
  const { data } = await callTool(client, 'read_thread', { project_id, thread_id: 's1' });
  await client.close();
  expect(JSON.stringify(data)).toContain('How is the weather in Rome?');
  expect(JSON.stringify(data)).toContain(answer);
});

it.each<[string, Record<string, unknown>[], [string | null, string | null]]>([
  [
    'the first question and the last answer of the calls below',
    [
      { id: 'second', began: 3, ended: 4, ...chat('Rewrite: Why?', 'Because it is.') },
      { id: 'first', began: 1, ended: 2, ...chat('Why?', 'Let me see.') },
    ],
    ['first: Why?', 'second: Because it is.'],
  ],
  [
    'those far below',
    [
      { id: 'agent' },
      { id: 'step', parent_id: 'agent' },
      { id: 'model', parent_id: 'step', ...chat('Why?', 'Because.') },
    ],
    ['model: Why?', 'model: Because.'],
  ],
  [
    'the agent before the model that answered for it',
    [
      { id: 'agent', began: 1, ended: 9, ...chat('Why?', 'Because.') },
      { id: 'model', parent_id: 'agent', began: 1, ended: 8, ...chat('Think: Why?', 'Hm.') },
    ],
    ['agent: Why?', 'agent: Because.'],
  ],
  [
    'the last words of the user, not the history',
    [
      {
        id: 'model',
        inputs: {
          messages: [
            { role: 'user', content: 'Hi' },
            { role: 'assistant', content: 'Hello' },
            { role: 'user', content: 'Why?' },
          ],
        },
        output: { role: 'assistant', content: 'Because.' },
      },
    ],
    ['model: Why?', 'model: Because.'],
  ],
  [
    'the answer, not a call of a tool or its result',
    [
      { id: 'asks', began: 1, ended: 2, ...chat('Sky?', 'Sunny.') },
      {
        id: 'tool',
        began: 3,
        ended: 4,
        attributes: { 'gen_ai.operation.name': 'execute_tool' },
        inputs: { city: 'Rome' },
        output: { content: [{ type: 'text', text: '21 degrees' }] },
      },
      {
        id: 'calls',
        began: 5,
        ended: 6,
        inputs: {},
        output: { role: 'assistant', tool_calls: [{ function: { name: 'f', arguments: '{}' } }] },
      },
    ],
    ['asks: Sky?', 'asks: Sunny.'],
  ],
  [
    'what a tool was given and answered, where no model speaks (MCP)',
    [
      {
        id: 'tools/call weather',
        attributes: { 'gen_ai.operation.name': 'execute_tool' },
        inputs: { city: 'Rome' },
        output: { content: [{ type: 'text', text: 'It is sunny in Rome.' }], isError: false },
      },
    ],
    ['tools/call weather: {"city":"Rome"}', 'tools/call weather: It is sunny in Rome.'],
  ],
  [
    'the answer, not what a guardrail says of it',
    [
      { id: 'model', began: 1, ended: 2, ...chat('Why?', 'Because.') },
      {
        id: 'guard',
        began: 3,
        ended: 4,
        attributes: { 'openinference.span.kind': 'GUARDRAIL' },
        ...chat('Is it safe?', 'It is safe.'),
      },
    ],
    ['model: Why?', 'model: Because.'],
  ],
  [
    'what is below an empty message and a text that stands for none',
    [{ id: 'model', ...chat('Why?', 'Because.') }],
    ['model: Why?', 'model: Because.'],
  ],
  [
    'what is below a message of blanks',
    [{ id: 'model', ...chat('Why?', 'Because.') }],
    ['model: Why?', 'model: Because.'],
  ],
  [
    'one side from below',
    [{ id: 'model', ...chat('Prompt', 'Because.') }],
    ['turn: Why?', 'model: Because.'],
  ],
  ['nothing where nothing was said', [{ id: 'empty' }], [null, null]],
  [
    'nothing of another trace',
    [{ id: 'model', trace_id: 'other', ...chat('Why?', 'Because.') }],
    [null, null],
  ],
])('finds %s', async (name, below, expected) => {
  const project = aProject();
  const root = { ...ROOT, ...ROOTS[name] };
  await store(project, [root, ...below]);
  expect(await said(project)).toEqual(expected);
});

/** Inputs and outputs in the formats of clients. The question is always `Why?`, the answer `Because.`. */
it.each<[string, unknown, unknown]>([
  [
    'LangChain, as messages_to_dict',
    { messages: [{ type: 'human', data: { content: 'Why?' } }] },
    { messages: [{ type: 'ai', data: { content: 'Because.' } }] },
  ],
  [
    'LangChain, as dumps',
    {
      messages: [
        [{ lc: 1, type: 'constructor', id: ['x', 'HumanMessage'], kwargs: { content: 'Why?' } }],
      ],
    },
    { lc: 1, type: 'constructor', id: ['x', 'AIMessage'], kwargs: { content: 'Because.' } },
  ],
  [
    'LangChain, as pairs',
    {
      messages: [
        ['system', 'Be brief.'],
        ['user', 'Why?'],
      ],
    },
    {
      messages: [
        ['user', 'Why?'],
        ['ai', 'Because.'],
      ],
    },
  ],
  [
    'Gemini',
    { contents: [{ role: 'user', parts: [{ text: 'Why?' }] }] },
    {
      candidates: [
        {
          content: { role: 'model', parts: [{ text: 'Hm', thought: true }, { text: 'Because.' }] },
        },
      ],
    },
  ],
  [
    'Responses of OpenAI',
    { input: [{ role: 'user', content: [{ type: 'input_text', text: 'Why?' }] }] },
    {
      object: 'response',
      output: [
        { type: 'reasoning', summary: [] },
        {
          type: 'message',
          role: 'assistant',
          content: [{ type: 'output_text', text: 'Because.' }],
        },
      ],
    },
  ],
  [
    'Anthropic',
    {
      system: 'Be brief.',
      messages: [{ role: 'user', content: [{ type: 'text', text: 'Why?' }] }],
    },
    {
      type: 'message',
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'Hm' },
        { type: 'text', text: 'Because.' },
      ],
    },
  ],
  [
    'Pydantic AI in the conventions',
    { messages: [{ role: 'user', parts: [{ type: 'text', content: 'Why?' }] }] },
    { messages: [{ role: 'assistant', parts: [{ type: 'text', content: 'Because.' }] }] },
  ],
  [
    'Pydantic AI as it keeps them',
    {
      messages: [
        {
          kind: 'request',
          parts: [
            { part_kind: 'system-prompt', content: 'Be brief.' },
            { part_kind: 'user-prompt', content: 'Why?' },
          ],
        },
      ],
    },
    { messages: [{ kind: 'response', parts: [{ part_kind: 'text', content: 'Because.' }] }] },
  ],
  [
    "Vercel's UI",
    { messages: [{ id: '1', role: 'user', parts: [{ type: 'text', text: 'Why?' }] }] },
    {
      role: 'assistant',
      parts: [
        { type: 'step-start' },
        {
          type: 'tool-sky',
          toolCallId: '1',
          state: 'output-available',
          input: {},
          output: 'sunny',
        },
        { type: 'text', text: 'Because.' },
      ],
    },
  ],
  [
    'AutoGen',
    { task: 'Why?' },
    {
      messages: [
        { source: 'user', content: 'Why?', type: 'TextMessage' },
        { source: 'expert', content: 'Because.', type: 'TextMessage' },
      ],
      stop_reason: null,
    },
  ],
  [
    'models of AutoGen',
    {
      messages: [
        { content: 'Be brief.', type: 'SystemMessage' },
        { content: 'Why?', source: 'user', type: 'UserMessage' },
      ],
    },
    { finish_reason: 'stop', content: 'Because.' },
  ],
  [
    'JSON in a string',
    { input: '{"messages":[{"role":"user","content":"Why?"}]}' },
    '{"role":"assistant","content":"Because."}',
  ],
  [
    'JSON in a string in JSON',
    { messages: JSON.stringify(JSON.stringify([{ role: 'user', content: 'Why?' }])) },
    JSON.stringify(JSON.stringify({ answer: 'Because.' })),
  ],
  [
    'parts in a string',
    { messages: [{ role: 'user', content: '[{"type":"text","text":"Why?"}]' }] },
    { content: '[{"type":"text","text":"Because."}]' },
  ],
  [
    'a choice without a role',
    { messages: [{ role: 'user', content: 'Why?' }] },
    { choices: [{ message: { content: 'Because.' } }] },
  ],
  [
    'Gemini, texts alone',
    { contents: ['Why?'] },
    { candidates: [{ content: { parts: [{ text: 'Because.' }] } }] },
  ],
  [
    'Gemini, parts without a role',
    { contents: [{ text: 'Why?' }] },
    { candidates: [{ content: { parts: [{ text: 'Because.' }] } }] },
  ],
  ['a list of prompts', { prompt: ['Why?'] }, { choices: [{ text: 'Because.' }] }],
  [
    'LlamaIndex',
    { messages: [{ role: 'user', blocks: [{ block_type: 'text', text: 'Why?' }] }] },
    { message: { role: 'assistant', blocks: [{ block_type: 'text', text: 'Because.' }] } },
  ],
  [
    'LlamaIndex, older',
    { messages: [{ role: 'MessageRole.USER', content: 'Why?' }] },
    { message: { role: 'MessageRole.ASSISTANT', content: 'Because.' } },
  ],
  [
    'Haystack',
    { data: { messages: [{ role: 'user', content: [{ text: 'Why?' }] }] } },
    { replies: [{ role: 'assistant', content: [{ text: 'Because.' }], meta: {} }] },
  ],
  ['Haystack, a generator', { data: { prompt: 'Why?' } }, { replies: ['Because.'] }],
  [
    'Bedrock, InvokeModel',
    { body: '{"messages":[{"role":"user","content":"Why?"}]}' },
    { body: '{"role":"assistant","content":[{"type":"text","text":"Because."}]}' },
  ],
  ['Bedrock, Llama', { prompt: 'Why?' }, { generation: 'Because.', stop_reason: 'stop' }],
  [
    'the Agent Framework of Microsoft',
    { messages: [{ role: { value: 'user' }, contents: [{ type: 'text', text: 'Why?' }] }] },
    {
      messages: [{ role: { value: 'assistant' }, contents: [{ type: 'text', text: 'Because.' }] }],
    },
  ],
  [
    'Semantic Kernel',
    { messages: [{ role: 'user', items: [{ content_type: 'text', text: 'Why?' }] }] },
    { role: 'assistant', items: [{ content_type: 'text', text: 'Because.' }] },
  ],
  [
    'A2A',
    { message: { kind: 'message', role: 'user', parts: [{ kind: 'text', text: 'Why?' }] } },
    { kind: 'task', artifacts: [{ artifactId: 'a', parts: [{ kind: 'text', text: 'Because.' }] }] },
  ],
  ['arguments of a function', { args: ['Why?'], kwargs: {} }, 'Because.'],
  ['arguments by name', { args: [], kwargs: { question: 'Why?' } }, { answer: 'Because.' }],
  ['CrewAI', { task: 'Why?' }, { raw: 'Because.', tasks_output: [] }],
  [
    'LangChain, with a placeholder',
    {
      messages: [
        ['placeholder', '{history}'],
        ['human', 'Why?'],
      ],
    },
    { content: 'Because.' },
  ],
  ['plain members', { question: 'Why?', k: 3 }, { answer: 'Because.', sources: [] }],
  ['plain texts', { input: 'Why?' }, 'Because.'],
])('reads %s', async (_, inputs, output) => {
  const project = aProject();
  const attributes = { 'gen_ai.operation.name': 'chat' };
  await store(project, [ROOT, { id: 'below', inputs, output, attributes }]);
  expect(await said(project)).toEqual(['below: Why?', 'below: Because.']);
  const trace = { project_id: project, trace_id: 'trace' };
  const { messages } = (await app.post('/agents/traces/chat', trace)).body;
  const shown = (type: string) =>
    messages.flatMap((one: any) => (one[type] ? [one[type].text] : []));
  expect([shown('user_message'), shown('assistant_message')]).toEqual([['Why?'], ['Because.']]);
});

it('looks at few of many calls, and finds the ends of a long turn', async () => {
  const project = aProject();
  const millisecond = (n: number) => new Date(Date.parse(at(2)) + n).toISOString();
  const many = Array.from({ length: 900 }, (_, n) => ({
    id: `call ${n}`,
    started_at: millisecond(n),
    ended_at: millisecond(n + 5),
    ...chat(`Question ${n}`, `Answer ${n}`),
  }));
  await store(project, [ROOT, ...many.toSorted((a, b) => (a.id < b.id ? -1 : 1))]);
  expect(await said(project)).toEqual(['call 0: Question 0', 'call 899: Answer 899']);
});

it('cuts long texts, and passes over documents that are too large', async () => {
  const project = aProject();
  await store(project, [
    ROOT,
    { id: 'long', began: 1, ended: 2, ...chat('a'.repeat(16_385), 'b'.repeat(16_384)) },
    { id: 'too long', began: 3, ended: 4, ...chat('c', 'd'.repeat(300_000)) },
  ]);
  const [{ question, answer }] = await textsOf(project);
  expect(question).toMatchObject({ call_id: 'long', text: 'a'.repeat(16_384), is_cut: true });
  expect(answer).toMatchObject({ call_id: 'long', text: 'b'.repeat(16_384), is_cut: false });
});

it('answers turns in the order of the request, and says nothing of unknown ones', async () => {
  const project = aProject();
  await store(project, [ROOT, { id: 'model', ...chat('Why?', 'Because.') }]);
  expect(await textsOf(project, ['nobody', 'turn'])).toMatchObject([
    { turn_id: 'nobody', question: null, answer: null },
    { turn_id: 'turn', question: { kind: 'chat', text: 'Why?' } },
  ]);
});

it.each([
  [{ turn_ids: [] }, 'turn_ids'],
  [{ turn_ids: Array.from({ length: 51 }, (_, n) => `${n}`) }, 'turn_ids'],
  [{ turn_ids: [7] }, 'turn_ids'],
  [{}, 'turn_ids'],
])('refuses %j', async (body, field) => {
  const { status, text } = await app.post(PATH, { project_id: 'acme/demo', ...body });
  expect(status).toBe(400);
  expect(text).toContain(field);
});
