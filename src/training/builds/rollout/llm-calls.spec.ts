import { toCall } from '../../../doors/otel/span-call.js';
import { type LlmCall, readLlmCall } from './llm-calls.js';
import type { CallTexts } from './recorded-call.js';

const json = (value: unknown) => (value === undefined ? null : JSON.stringify(value));

const texts = (call: {
  inputs?: unknown;
  output?: unknown;
  attributes?: unknown;
  summary?: unknown;
}): CallTexts => ({
  id: 'c',
  inputs: json(call.inputs),
  output: json(call.output),
  attributes: json(call.attributes ?? {}),
  usage: json((call.summary as { usage?: unknown } | undefined)?.usage),
});

const read = (call: Parameters<typeof texts>[0]) => readLlmCall(texts(call)) as LlmCall;

/** Returns the call that the service stores for a span. */
function ofSpan(attributes: Record<string, string | number>) {
  const span = {
    traceId: '0af7651916cd43dd8448eb211c80319c',
    spanId: 'b7ad6b7169203331',
    name: 'chat',
    startTimeUnixNano: '1767225600000000000',
    endTimeUnixNano: '1767225601000000000',
    attributes: Object.entries(attributes).map(([key, value]) => ({
      key,
      value: typeof value === 'number' ? { doubleValue: value } : { stringValue: value },
    })),
  };
  const origin = { resource: {}, scope: {} };
  const { summary, ...documents } = toCall(span, origin, 'a/b').documents;
  const usage = json(JSON.parse(summary!).usage);
  return readLlmCall({ id: 'c', output: null, ...documents, usage }) as LlmCall;
}

const LOGPROB = { token: 'yes', logprob: -0.1, bytes: [121, 101, 115] };
const TOOL = { type: 'function', function: { name: 'f', parameters: { type: 'object' } } };
const CALL = { id: 'c1', type: 'function', function: { name: 'f', arguments: '{"a": 1}' } };

describe('a call of a model', () => {
  it('is read as weave records OpenAI', () => {
    const call = read({
      inputs: {
        model: 'tiny:step3',
        messages: [{ role: 'user', content: 'hi' }],
        tools: [TOOL],
        temperature: 1,
        extra_body: { return_token_ids: true, top_k: 5 },
      },
      output: {
        model: 'tiny:step3',
        prompt_token_ids: [1, 2],
        usage: { prompt_tokens: 2, completion_tokens: 1 },
        choices: [
          {
            index: 0,
            finish_reason: 'stop',
            message: { role: 'assistant', content: 'yes' },
            logprobs: { content: [LOGPROB] },
            token_ids: [7],
          },
        ],
      },
    });
    expect(call).toMatchObject({
      dialect: 'openai',
      models: ['tiny:step3'],
      tools: JSON.stringify([TOOL]),
      promptTokenIds: { ids: [1, 2], text: '[1,2]' },
      completionTokens: 1,
      sampling: { temperature: 1, topP: null, topK: 5 },
      isReserialised: false,
    });
    expect(call.choices[0]).toMatchObject({ tokenIds: [7], content: 'yes', finishReason: 'stop' });
    expect(call.choices[0]!.logprobs).toEqual([{ token: 'yes', bytes: LOGPROB.bytes }]);
  });

  it('is read from spans of OpenInference', () => {
    const body = { model: 'm', messages: [{ role: 'user', content: 'hi' }] };
    const answer = {
      choices: [
        {
          index: 0,
          finish_reason: 'tool_calls',
          message: { role: 'assistant', content: null, tool_calls: [CALL] },
        },
      ],
    };
    const call = ofSpan({
      'llm.model_name': 'm',
      'llm.invocation_parameters': '{"temperature":0.2}',
      'llm.input_messages.0.message.role': 'user',
      'input.value': JSON.stringify(body),
      'input.mime_type': 'application/json',
      'output.value': JSON.stringify(answer),
      'output.mime_type': 'application/json',
    });
    expect(call).toMatchObject({ dialect: 'openai', sampling: { temperature: 0.2 } });
    expect(call.choices[0]!.turn.toolArguments).toEqual(['{"a": 1}']);
    expect(call.choices[0]!.logprobs).toBeNull();
  });

  it('is read from spans of OpenLLMetry, whose arguments are printed anew', () => {
    const call = ofSpan({
      'gen_ai.request.model': 'm',
      'gen_ai.request.temperature': 0.5,
      'gen_ai.system_instructions': '[{"type":"text","content":"be brief"}]',
      'gen_ai.input.messages': JSON.stringify([
        { role: 'user', parts: [{ type: 'text', content: 'hi' }] },
        {
          role: 'assistant',
          parts: [{ type: 'tool_call', id: 'c1', name: 'f', arguments: { a: 1 } }],
        },
        { role: 'tool', parts: [{ type: 'tool_call_response', id: 'c1', response: 'seen' }] },
      ]),
      'gen_ai.output.messages': JSON.stringify([
        {
          role: 'assistant',
          parts: [{ type: 'tool_call', id: 'c2', name: 'f', arguments: { a: 2 } }],
          finish_reason: 'tool_call',
        },
      ]),
      'gen_ai.tool.definitions': '[{"name":"f","description":"d","parameters":{}}]',
      'gen_ai.usage.input_tokens': 5,
      'gen_ai.usage.output_tokens': 2,
    });
    expect(call).toMatchObject({
      dialect: 'gen_ai',
      isReserialised: true,
      promptTokens: 5,
      completionTokens: 2,
      sampling: { temperature: 0.5 },
    });
    expect(call.messages.map(({ text }) => JSON.parse(text))).toEqual([
      { role: 'system', content: 'be brief' },
      { role: 'user', content: 'hi' },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'c1', type: 'function', function: { name: 'f', arguments: '{"a":1}' } }],
      },
      { role: 'tool', tool_call_id: 'c1', content: 'seen' },
    ]);
    expect(JSON.parse(call.tools!)[0].function).toEqual({
      name: 'f',
      description: 'd',
      parameters: {},
    });
    expect(JSON.parse(call.choices[0]!.text)).toMatchObject({
      finish_reason: 'tool_calls',
      message: { role: 'assistant', tool_calls: [{ id: 'c2' }] },
      logprobs: null,
    });
  });

  it('is read from spans of Vercel, with the logprobs in the metadata of the provider', () => {
    const call = ofSpan({
      'ai.operationId': 'ai.generateText.doGenerate',
      'ai.model.id': 'm',
      'gen_ai.request.temperature': 1,
      'ai.prompt.messages': JSON.stringify([
        { role: 'user', content: [{ type: 'text', text: 'hi' }] },
        {
          role: 'assistant',
          content: [{ type: 'tool-call', toolCallId: 'c', toolName: 'f', input: {} }],
        },
        {
          role: 'tool',
          content: [
            {
              type: 'tool-result',
              toolCallId: 'c',
              toolName: 'f',
              output: { type: 'text', value: 'seen' },
            },
          ],
        },
      ]),
      'ai.prompt.tools': '[{"type":"function","name":"f","inputSchema":{"type":"object"}}]',
      'ai.response.text': 'yes',
      'ai.response.finishReason': 'stop',
      'ai.response.providerMetadata': JSON.stringify({ openai: { logprobs: [LOGPROB] } }),
    });
    expect(call.dialect).toBe('vercel');
    expect(call.messages.map(({ canonical }) => JSON.parse(canonical)[0])).toEqual([
      'user',
      'assistant',
      'tool',
    ]);
    expect(JSON.parse(call.choices[0]!.text)).toEqual({
      finish_reason: 'stop',
      index: 0,
      message: { role: 'assistant', content: 'yes' },
      logprobs: { content: [{ ...LOGPROB, top_logprobs: [] }] },
    });
    expect(JSON.parse(call.tools!)).toEqual([TOOL]);
  });

  it('is read where a text in it is nested too deep, without that', () => {
    const deep = '['.repeat(20_000) + ']'.repeat(20_000);
    const inputs = {
      messages: [{ role: 'user', content: 'hi' }],
      tools: [`{"inputSchema":${deep}}`],
    };
    const metadata = `{"openai":{"logprobs":[{"token":"a","bytes":${deep}}]}}`;
    const attributes = {
      'ai.operationId': 'ai.generateText.doGenerate',
      'ai.response.providerMetadata': metadata,
    };
    const call = read({ inputs, output: { text: 'yes' }, attributes });
    expect(call).toMatchObject({ tools: null, choices: [{ logprobs: null }] });
  });

  it.each([
    [
      'messages',
      { messages: Array(10_001).fill({ role: 'user' }) },
      { choices: [{ message: {} }] },
    ],
    ['choices', { messages: [{ role: 'user' }] }, { choices: Array(129).fill({ message: {} }) }],
  ])('is too long with too many %s', (_, inputs, output) => {
    expect(readLlmCall(texts({ inputs, output }))).toBe('too_long');
  });

  it.each([
    [
      'messages that are texts',
      { inputs: { messages: ['hi'] }, output: { choices: [{ message: {} }] } },
    ],
    [
      'an answer in a form of its own',
      { inputs: { model: 'm', messages: [{ role: 'user', content: 'hi' }] }, output: 'yes' },
    ],
    ['a request in a form of its own', { inputs: { model: 'm', input: 'hi' }, output: {} }],
  ])('is not understood with %s', (_, call) => {
    expect(readLlmCall(texts(call))).toBe('unread');
  });

  describe('that was recorded as a stream', () => {
    const inputs = { model: 'm', messages: [{ role: 'user', content: 'hi' }] };
    const delta = (index: number, given: object, more: object = {}) => ({
      index,
      delta: given,
      ...more,
    });
    const called = (i: number, given: object) => ({ tool_calls: [{ index: i, ...given }] });

    it('is put together from its chunks', () => {
      const output = [
        {
          model: 'm',
          prompt_token_ids: [1, 2],
          choices: [delta(0, { role: 'assistant', content: '' })],
        },
        { choices: [delta(0, { reasoning_content: 'so' })] },
        {
          choices: [
            delta(0, { content: 'y' }, { token_ids: [7], logprobs: { content: [LOGPROB] } }),
          ],
        },
        { choices: [delta(0, { content: 'es' }, { token_ids: [8], finish_reason: 'stop' })] },
        { choices: [], usage: { prompt_tokens: 2, completion_tokens: 2 } },
      ];
      const call = read({ inputs, output });
      expect(JSON.parse(call.choices[0]!.text)).toEqual({
        index: 0,
        finish_reason: 'stop',
        message: { role: 'assistant', content: 'yes', reasoning_content: 'so' },
        logprobs: { content: [LOGPROB] },
        token_ids: [7, 8],
      });
      expect(call).toMatchObject({ promptTokenIds: { ids: [1, 2] }, completionTokens: 2 });
    });

    it('has its tool calls whole, of each choice', () => {
      const output = {
        choices: [
          delta(1, { content: 'no' }, { finish_reason: 'stop' }),
          delta(0, called(0, { id: 'c', function: { name: 'f', arguments: '{"a"' } })),
          delta(0, called(1, { id: 'd', function: { name: 'g', arguments: '{}' } })),
          delta(0, called(0, { function: { arguments: ': 1}' } }), { finish_reason: 'tool_calls' }),
        ],
      };
      const { choices } = read({ inputs, output });
      const turns = choices.map(({ turn }) => [turn.toolCalls, turn.toolArguments]);
      expect(turns).toEqual([
        [
          ['c', 'd'],
          ['{"a": 1}', '{}'],
        ],
        [[], []],
      ]);
    });

    it('keeps the spelling of numbers', () => {
      const chunk = `{"index":0,"delta":{"content":"y"},"logprobs":{"content":[{"token":"y","logprob":-0.10}]}}`;
      const call = readLlmCall({
        ...texts({ inputs }),
        output: `[{"choices":[${chunk}]}]`,
      }) as LlmCall;
      expect(call.choices[0]!.text).toContain('"logprob":-0.10}');
    });
  });

  it.each([
    ['a tool', { inputs: { x: 1 }, output: 'y' }],
    [
      'a chain without a model',
      { inputs: { messages: [{ role: 'user' }] }, output: { messages: [] } },
    ],
    ['a request without an answer', { inputs: { messages: [{ role: 'user' }] } }],
    [
      'an answer without a choice',
      { inputs: { messages: [{ role: 'user' }] }, output: { choices: [] } },
    ],
  ])('is not %s', (_, call) => {
    expect(readLlmCall(texts(call))).toBeNull();
  });
});
