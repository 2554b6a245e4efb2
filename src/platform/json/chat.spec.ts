import { readdirSync, readFileSync } from 'node:fs';
import { isQuestion, readChat, readTrajectoryMessages, type ChatMessage } from './chat.js';
import { parseLossless, type MessagePiece } from './chat-parts.js';

/** Prints one line per piece of each message: `role kind name: text`. */
const saidLines = (said: ChatMessage[] = []) =>
  said.flatMap(({ role, pieces }) =>
    pieces.map(
      ({ kind, name, text }) => `${[role, kind, name].filter(Boolean).join(' ')}: ${text}`,
    ),
  );
const lines = (inputs: unknown, output?: unknown, exception?: unknown) =>
  saidLines(readChat(inputs, output, exception)?.said);
const text = (value: string): MessagePiece => ({ kind: 'text', name: '', text: value });

const QUESTION = { messages: [{ role: 'user', content: 'Hi' }] };
const answered = (output: unknown, exception?: unknown) =>
  lines(QUESTION, output, exception).slice(1);

it.each<[string, object, string[]]>([
  ['a text', { content: 'a' }, ['text: a']],
  [
    'the parts of OpenAI',
    {
      content: [
        { type: 'text', text: 'a' },
        { type: 'image_url', image_url: { url: 'u' } },
      ],
    },
    ['text: a', 'data image_url: {"type":"image_url","image_url":{"url":"u"}}'],
  ],
  [
    'tool calls of OpenAI',
    { content: null, tool_calls: [{ function: { name: 'f', arguments: '{"a":1}' } }] },
    ['call f: {"a":1}'],
  ],
  ['a refusal', { content: null, refusal: 'No.' }, ['text: No.']],
  [
    'reasoning beside the content',
    { reasoning_content: 'Hm', content: 'a' },
    ['reasoning: Hm', 'text: a'],
  ],
  [
    'the parts of OpenTelemetry',
    {
      parts: [
        { type: 'reasoning', content: 'Hm' },
        { type: 'text', content: 'a' },
        { type: 'tool_call', id: '1', name: 'f', arguments: { a: 1 } },
        { type: 'tool_call_response', id: '1', response: { b: 2 } },
        { type: 'tool_call_response', id: '1', name: 'f', result: 'sunny' },
        { type: 'blob', mime_type: 'image/png', modality: 'image', content: 'A'.repeat(5000) },
        { type: 'uri', uri: 'gs://x' },
        { type: 'file', file_id: 'f1' },
        { type: 'unheard', of: [1] },
      ],
      finish_reason: 'stop',
    },
    [
      'reasoning: Hm',
      'text: a',
      'call f: {"a":1}',
      'result: {"b":2}',
      'result f: sunny',
      `data image/png: {"type":"blob","mime_type":"image/png","modality":"image","content":"${'A'.repeat(40)}… (5,000 characters)"}`,
      'data uri: {"type":"uri","uri":"gs://x"}',
      'data file: {"type":"file","file_id":"f1"}',
      'data unheard: {"type":"unheard","of":[1]}',
    ],
  ],
  [
    'the parts of Google',
    {
      parts: [
        { text: 'Hm', thought: true },
        { text: 'a', thoughtSignature: 'x' },
        { functionCall: { name: 'f', args: { a: 1 } } },
        { function_response: { name: 'f', response: { b: 2 } } },
        { inlineData: { mimeType: 'image/png', data: 'AA' } },
        { text: 'b', videoMetadata: { fps: 1 } },
      ],
    },
    [
      'reasoning: Hm',
      'text: a',
      'call f: {"a":1}',
      'result f: {"b":2}',
      'data inlineData: {"mimeType":"image/png","data":"AA"}',
      'data: {"text":"b","videoMetadata":{"fps":1}}',
    ],
  ],
  [
    'the blocks of Anthropic',
    {
      content: [
        { type: 'thinking', thinking: 'Hm', signature: 's' },
        { type: 'redacted_thinking', data: 'x' },
        { type: 'tool_use', id: '1', name: 'f', input: { a: 1 } },
        { type: 'tool_result', tool_use_id: '1', content: [{ type: 'text', text: 'sunny' }] },
        { type: 'tool_result', tool_use_id: '1', content: 'no', is_error: true },
      ],
    },
    [
      'reasoning: Hm',
      'data redacted_thinking: {"type":"redacted_thinking","data":"x"}',
      'call f: {"a":1}',
      'result: sunny',
      'result error: no',
    ],
  ],
  [
    'the parts of Vercel',
    {
      content: [
        { type: 'tool-call', toolCallId: '1', toolName: 'f', input: { a: 1 } },
        { type: 'tool-result', toolCallId: '1', toolName: 'f', output: { type: 'json', value: 2 } },
      ],
    },
    ['call f: {"a":1}', 'result f: {"type":"json","value":2}'],
  ],
  [
    'the tool calls of LangChain',
    {
      content: '',
      additional_kwargs: { tool_calls: [{ function: { name: 'f', arguments: '{}' } }] },
    },
    ['call f: {}'],
  ],
  [
    'calls among the content',
    { content: [{ type: 'function', id: '1', function: { name: 'f', arguments: { a: 1 } } }] },
    ['call f: {"a":1}'],
  ],
  [
    'the description of a tool',
    { content: { type: 'function', function: { name: 'f', description: 'd' } } },
    ['data function: {"type":"function","function":{"name":"f","description":"d"}}'],
  ],
  [
    'two parts that say the same',
    {
      content: [
        { type: 'text', text: 'a' },
        { type: 'text', text: 'a' },
      ],
    },
    ['text: a', 'text: a'],
  ],
  [
    'members that nobody knows',
    { content: '', said_elsewhere: [1] },
    ['data: {"said_elsewhere":[1]}'],
  ],
  ['nothing at all', { content: '' }, ['data: empty']],
])('shows %s', (_, message, pieces) => {
  const shown = pieces.map((piece) => `user ${piece}`);
  expect(lines({ messages: [{ role: 'user', ...message }] })).toEqual(shown);
});

it.each<[string, unknown, string[]]>([
  [
    'choices',
    { choices: [{ message: { role: 'assistant', content: 'a' } }] },
    ['assistant text: a'],
  ],
  ['a message', { role: 'assistant', content: 'a' }, ['assistant text: a']],
  [
    'messages',
    { messages: [{ role: 'assistant', parts: [{ type: 'text', content: 'a' }] }] },
    ['assistant text: a'],
  ],
  ['messages that are no object', [{ role: 'assistant', content: 'a' }], ['assistant text: a']],
  [
    'a response of OpenAI',
    {
      object: 'response',
      output: [
        { type: 'reasoning', summary: [{ type: 'summary_text', text: 'Hm' }] },
        { type: 'function_call', call_id: '1', name: 'f', arguments: '{"a":1}' },
        { type: 'function_call_output', call_id: '1', output: 'sunny' },
        { type: 'web_search_call', id: '1' },
        { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'a' }] },
      ],
    },
    [
      'assistant reasoning: Hm',
      'assistant call f: {"a":1}',
      'tool result: sunny',
      'output data output: {"type":"web_search_call","id":"1"}',
      'assistant text: a',
    ],
  ],
  [
    'candidates',
    { candidates: [{ content: { role: 'model', parts: [{ text: 'a' }] } }] },
    ['model text: a'],
  ],
  ['content of Google', { content: { parts: [{ text: 'a' }] } }, ['assistant text: a']],
  [
    'the answer of Vercel',
    { text: 'a', tool_calls: [{ toolName: 'f', input: '{}' }] },
    ['assistant text: a', 'assistant call f: {}'],
  ],
  [
    'generations of LangChain',
    {
      generations: [
        [
          {
            text: 'a',
            message: { lc: 1, id: ['langchain', 'AIMessage'], kwargs: { content: 'a' } },
          },
        ],
      ],
    },
    ['assistant text: a'],
  ],
  ['a text', 'a', ['output text: a']],
  ['an empty text', '', ['output data: empty']],
  ['a number', 0, ['output data: 0']],
  ['false', false, ['output data: false']],
  ['a list', [], ['output data: []']],
  ['an object', { answer: { a: 1 } }, ['output data: {"answer":{"a":1}}']],
  [
    'a candidate that was blocked',
    { candidates: [{ finish_reason: 'SAFETY' }] },
    ['output data: {"candidates":[{"finish_reason":"SAFETY"}]}'],
  ],
  ['no choices', { choices: [] }, ['output data: {"choices":[]}']],
  ['null', null, []],
])('shows an output that is %s', (_, output, shown) => expect(answered(output)).toEqual(shown));

it('shows the exception behind what came out', () => {
  expect(answered(null, 'boom')).toEqual(['exception exception: boom']);
  expect(answered('half', 'boom')).toEqual(['output text: half', 'exception exception: boom']);
});

it.each<[string, object, string[]]>([
  ['a text', { system: 'Be brief.' }, ['system text: Be brief.']],
  ['blocks', { system: [{ type: 'text', text: 'Be brief.' }] }, ['system text: Be brief.']],
  [
    'parts',
    { system_instructions: [{ type: 'text', content: 'Be brief.' }] },
    ['system text: Be brief.'],
  ],
  [
    'a content of Google',
    { config: { system_instruction: { role: 'user', parts: [{ text: 'Be brief.' }] } } },
    ['system text: Be brief.'],
  ],
])('shows what the system says beside the messages: %s', (_, system, shown) =>
  expect(lines({ ...system, ...QUESTION })).toEqual([...shown, 'user text: Hi']),
);

it('shows a question that is a text, if it was answered or stands beside a history', () => {
  const output = {
    object: 'response',
    instructions: 'Be brief.',
    output: [{ type: 'message', role: 'assistant', content: 'a' }],
  };
  expect(lines({ input: 'Hi' }, output)).toEqual([
    'system text: Be brief.',
    'user text: Hi',
    'assistant text: a',
  ]);
  expect(lines({ chat_history: [{ type: 'ai', content: 'Yes?' }], input: 'Hi' }, 'a')).toEqual([
    'assistant text: Yes?',
    'user text: Hi',
    'output text: a',
  ]);
});

it('says which members it does not show', () => {
  const { others } = readChat(
    { ...QUESTION, model: 'm', stop: null },
    { role: 'assistant', content: 'a', usage: { n: 1 } },
  )!;
  expect(others).toEqual(['inputs.model', 'output.usage']);
});

it.each([
  [{}],
  [{ messages: [] }],
  [{ messages: ['a'] }],
  [null],
  [[]],
  [{ messages: [{ content: 'no role' }] }],
  [{ input: 'a' }],
])('%j is no chat', (inputs) => expect(readChat(inputs, {})).toBeUndefined());

it('does not repeat what came in when an output has all of it again', () => {
  const messages = [{ role: 'user', content: 'How is it?' }];
  const answer = { role: 'assistant', content: 'Sunny.' };
  const lines = (of: object[]) => saidLines(readChat({ messages }, { messages: of })!.said);
  expect(lines([...messages, answer])).toEqual(lines([answer]));
  expect(lines([answer, ...messages])).toHaveLength(3);
});

it('keeps numbers as they were sent', () => {
  if (!('rawJSON' in JSON)) return; // Node 20
  const sent =
    '{"messages":[{"role":"user","parts":[{"type":"tool_call","name":"f","arguments":{"a":12345678901234567890,"b":1.0}}]}]}';
  expect(lines(parseLossless(sent))).toEqual(['user call f: {"a":12345678901234567890,"b":1.0}']);
});

it('tells questions from the answers of tools', () => {
  const said = (part: object) =>
    readChat({ messages: [{ role: 'user', content: [part] }] }, null)!.said[0]!;
  expect(isQuestion(said({ type: 'text', text: 'a' }))).toBe(true);
  expect(isQuestion(said({ type: 'tool_result', content: 'a' }))).toBe(false);
});

it('tells the turns of a trajectory that are trained from those that are not', () => {
  const message = { role: 'assistant', content: 'Four' };
  expect(
    readTrajectoryMessages([{ role: 'user', content: '2 + 2' }, { message, index: 0 }, 7]),
  ).toEqual([
    { role: 'user', pieces: [text('2 + 2')] },
    { role: 'assistant', pieces: [text('Four')], isTrained: true },
    { role: 'item', pieces: [{ kind: 'data', name: '', text: '7' }] },
  ]);
  expect(readTrajectoryMessages('nothing')).toEqual([]);
});

const FOLDER = 'test/fixtures/otlp';
/** Members that name or describe the content. */
const ABOUT = /^(?:id|type|role|index|status|finish_reason|(?:tool_?)?call_?id|providerOptions)$/i;
/** Recordings without chat messages: Claude Code sends only prompts, the others send objects of their own. */
const NO_CHATS = [
  'claude-code.json',
  'langsmith-langchain.json',
  'google-adk-contents.json',
  'autogen.json',
];

/** Lists the texts and numbers of a message, except those that describe it. */
function listLeaves(value: any, name = ''): string[] {
  if (ABOUT.test(name)) return [];
  if (typeof value !== 'object') return [String(value)];
  return Object.entries(value ?? {}).flatMap(([key, one]) =>
    listLeaves(one, Array.isArray(value) ? '' : key),
  );
}

/** Builds the documents of a call from the messages of its log record. */
function makeDocuments({ said }: any) {
  const documents: any = { inputs: {}, output: {} };
  for (const { side, member, is_part, value } of said) {
    const one = JSON.parse(value);
    documents[side][member] = is_part ? [...(documents[side][member] ?? []), one] : one;
  }
  return documents;
}

it.each(readdirSync(FOLDER).filter((name) => name.endsWith('.json') && !NO_CHATS.includes(name)))(
  'shows all that is in the messages of %s',
  (name) => {
    const { calls, told = [] } = JSON.parse(readFileSync(`${FOLDER}/${name}`, 'utf8'));
    let messages = 0;
    for (const { inputs, output } of [...calls, ...told.map(makeDocuments)]) {
      const asked = inputs.messages ?? [];
      const answers =
        output?.choices?.map((one: any) => one.message) ??
        output?.messages ??
        (output?.object === 'response' ? output.output : [output]);
      const chat = readChat(asked.length > 0 ? inputs : QUESTION, output)!;
      for (const { pieces } of chat.said)
        expect(
          pieces
            .map((piece) => piece.name + piece.text)
            .join('')
            .trim(),
        ).not.toBe('');
      const shown = saidLines(chat.said).join('\n');
      for (const leaf of listLeaves([asked, answers])) {
        const isShown = [leaf, JSON.stringify(leaf).slice(1, -1)].some((one) =>
          shown.includes(one),
        );
        expect(isShown ? leaf : `not shown: ${leaf}`).toBe(leaf);
        messages++;
      }
    }
    expect(messages).toBeGreaterThan(1);
  },
);
