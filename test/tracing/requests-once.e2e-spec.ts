import { basic, send, useApp } from '../support/app.js';
import { refreshed } from '../support/refreshed.js';

const app = useApp();

let projects = 0;
const aProject = () => `acme/requests${projects++}`;
const done = async (path: string, body: object) => {
  const answer = await app.post(path, body);
  expect([answer.text, answer.status]).toEqual([answer.text, 200]);
  return answer.body;
};

const START = Date.parse('2026-03-01T12:00:00Z');
const at = (second: number) => new Date(START + second * 1000).toISOString();
const nanos = (second: number) => `${BigInt(START + second * 1000) * 1_000_000n}`;
const hex = (n: number, digits: number) => n.toString(16).padStart(digits, '0');

interface Span {
  id: number;
  parent?: number;
  trace?: number;
  name?: string;
  second?: number;
  seconds?: number;
  scope?: string;
  attributes: Record<string, string | number>;
}
const value = (one: string | number) =>
  typeof one === 'number' ? { intValue: `${one}` } : { stringValue: one };
async function sendSpans(project_id: string, ...spans: Span[]) {
  const resourceSpans = spans.map(
    ({
      id,
      parent,
      trace = 1,
      name = 'span',
      second = 0,
      seconds = 1,
      scope = 'x',
      attributes,
    }) => ({
      resource: {},
      scopeSpans: [
        {
          scope: { name: scope },
          spans: [
            {
              traceId: hex(trace, 32),
              spanId: hex(id, 16),
              ...(parent && { parentSpanId: hex(parent, 16) }),
              name,
              startTimeUnixNano: nanos(second),
              endTimeUnixNano: nanos(second + seconds),
              attributes: Object.entries(attributes).map(([key, one]) => ({
                key,
                value: value(one),
              })),
            },
          ],
        },
      ],
    }),
  );
  const sent = await app.post('/otel/v1/traces', { resourceSpans }, { headers: { project_id } });
  expect(sent.text).toBe('{}');
}

const ingest = async (project_id: string, ...events: [type: string, body: object][]) => {
  const batch = events.map(([type, body], i) => ({ id: `e${i}`, timestamp: at(0), type, body }));
  const headers = { authorization: basic(app.key, project_id) };
  const answer = await send(`${app.url}/api/public/ingestion`, { batch, metadata: {} }, headers);
  expect(JSON.parse(answer.text).errors).toEqual([]);
};

/** Reads input and output tokens of the statistics, before and after they are stored. */
async function counted(project_id: string, more: object = {}): Promise<[number, number]> {
  const read = async () => {
    const { usage_buckets: buckets } = await done('/calls/stats', {
      project_id,
      start: at(-3600),
      end: at(86_400),
      granularity: 90_000,
      usage_metrics: [{ metric: 'input_tokens' }, { metric: 'output_tokens' }],
      ...more,
    });
    const sum = (name: string) => buckets.reduce((all: number, one: any) => all + one[name], 0);
    return [sum('sum_input_tokens'), sum('sum_output_tokens')] as [number, number];
  };
  const before = await read();
  await refreshed(app, 'slots');
  expect(await read()).toEqual(before);
  return before;
}

/** The sum of `/trace/usage` over all roots. */
async function rolledUp(project_id: string): Promise<[number, number]> {
  const { calls } = await done('/calls/query', { project_id, filter: { trace_roots_only: true } });
  const { call_usage: usage } = await done('/trace/usage', { project_id });
  const all = calls.flatMap(({ id }: any) => Object.values<any>(usage[id]));
  return [
    all.reduce((sum: number, one: any) => sum + one.prompt_tokens + one.cache_read_input_tokens, 0),
    all.reduce((sum: number, one: any) => sum + one.completion_tokens, 0),
  ];
}

const chat = (input: number, output: number, more: Record<string, string | number> = {}) => ({
  'gen_ai.operation.name': 'chat',
  'gen_ai.response.model': 'claude-sonnet-4-5',
  'gen_ai.usage.input_tokens': input,
  'gen_ai.usage.output_tokens': output,
  ...more,
});
const inference = (
  kind: string,
  input: number,
  output: number,
  more: Record<string, string> = {},
) => ({
  'openinference.span.kind': kind,
  'llm.token_count.prompt': input,
  'llm.token_count.completion': output,
  ...more,
});

describe('one request counts once', () => {
  it.each([
    ['llm_output', { llm_output: { id: 'msg_1', model: 'm' }, generations: [[{ text: 'hi' }]] }],
    [
      'the message of a generation',
      {
        generations: [
          [
            {
              text: 'hi',
              message: {
                id: ['langchain', 'schema', 'messages', 'AIMessage'],
                kwargs: { id: 'run--7', response_metadata: { id: 'msg_1' } },
              },
            },
          ],
        ],
      },
    ],
    ['generation_info', { generations: [[{ text: 'hi', generation_info: { id: 'msg_1' } }]] }],
    ['a message', { content: 'hi', response_metadata: { id: 'msg_1' }, id: 'run--7' }],
    ['the response', { id: 'msg_1', content: [], usage: { input_tokens: 1000 } }],
  ])(
    'that LangChain tells with the id in %s, and Anthropic beside it and elsewhere',
    async (_, output) => {
      const project_id = aProject();
      const model = {
        'llm.model_name': 'claude-sonnet-4-5',
        'output.mime_type': 'application/json',
      };
      await sendSpans(
        project_id,
        { id: 1, attributes: {}, seconds: 4 },
        {
          id: 2,
          parent: 1,
          seconds: 3,
          attributes: inference('LLM', 1000, 50, {
            ...model,
            'output.value': JSON.stringify(output),
          }),
        },
        {
          id: 3,
          parent: 1,
          second: 1,
          attributes: chat(1000, 50, { 'gen_ai.response.id': 'msg_1' }),
        },
        {
          id: 4,
          trace: 2,
          second: 1,
          attributes: chat(1000, 50, { 'gen_ai.response.id': 'msg_1' }),
        },
        {
          id: 5,
          parent: 9,
          second: 1,
          attributes: chat(1000, 50, { 'gen_ai.response.id': 'msg_1' }),
        },
      );
      expect(await counted(project_id)).toEqual([1000, 50]);
    },
  );

  it.each([['AGENT'], ['CHAIN']])(
    'that %s of OpenInference adds up, without a model',
    async (kind) => {
      const project_id = aProject();
      const model = { 'llm.model_name': 'gpt-4o-mini' };
      await sendSpans(
        project_id,
        { id: 1, seconds: 9, attributes: inference(kind, 450, 45) },
        { id: 2, parent: 1, seconds: 9, attributes: inference('CHAIN', 300, 30) },
        { id: 3, parent: 2, attributes: inference('LLM', 100, 10, model) },
        { id: 4, parent: 2, second: 1, attributes: inference('LLM', 200, 20, model) },
      );
      // the agent reports 150 and 15 tokens that no other span reports
      expect(await counted(project_id)).toEqual([450, 45]);
      expect(await rolledUp(project_id)).toEqual([450, 45]);
    },
  );

  it('counts what an agent adds up if no other span tells it', async () => {
    const project_id = aProject();
    const agent = { 'gen_ai.operation.name': 'invoke_agent' };
    await sendSpans(project_id, { id: 1, attributes: chat(70, 7, agent) });
    expect(await counted(project_id)).toEqual([70, 7]);
    expect(await rolledUp(project_id)).toEqual([70, 7]);
  });

  it('that AG2 accounts for beside its span, and not what no other span tells', async () => {
    const project_id = aProject();
    const ag2 = (type: string, more = {}) => ({ 'ag2.span.type': type, ...more });
    const usage = (
      kind: string,
      input: number,
      output: number,
    ): Record<string, string | number> => ({
      'ag2.span.type': 'usage',
      'ag2.usage.kind': kind,
      'gen_ai.response.model': 'claude-sonnet-4-5',
      'gen_ai.usage.input_tokens': input,
      'gen_ai.usage.output_tokens': output,
    });
    await sendSpans(
      project_id,
      { id: 1, seconds: 9, attributes: ag2('agent', { 'gen_ai.operation.name': 'invoke_agent' }) },
      { id: 2, parent: 1, attributes: ag2('llm', chat(20, 8)) },
      { id: 3, parent: 1, second: 1, seconds: 0, name: 'record_usage model_call', attributes: usage('model_call', 20, 8) },
      { id: 4, parent: 1, second: 2, attributes: ag2('llm', chat(20, 8)) },
      { id: 5, parent: 1, second: 3, seconds: 0, name: 'record_usage model_call', attributes: usage('model_call', 20, 8) },
      { id: 6, parent: 1, second: 4, seconds: 0, name: 'record_usage compaction', attributes: usage('compaction', 5, 1) },
    ); // prettier-ignore
    expect(await counted(project_id)).toEqual([45, 17]);
    expect(await rolledUp(project_id)).toEqual([45, 17]);
  });

  it('that OpenInference tells beside the client of Langfuse, whichever comes first', async () => {
    const project_id = aProject();
    const langfuse = {
      'langfuse.observation.type': 'generation',
      'langfuse.observation.model.name': 'gpt-4o-mini-2024-07-18',
      'langfuse.observation.usage_details':
        '{"prompt_tokens":20,"completion_tokens":8,"total_tokens":28}',
    };
    const model = {
      'llm.model_name': 'gpt-4o-mini-2024-07-18',
      'output.mime_type': 'application/json',
    };
    const ofOther = (id: number, second: number) => ({
      ...{ id, parent: 1, second, scope: 'openinference.instrumentation.openai' },
      attributes: inference('LLM', 20, 8, {
        ...model,
        'output.value': `{"id":"chatcmpl-${id}abc","usage":{}}`,
      }),
    });
    const ofLangfuse = (id: number, second: number) => ({
      ...{ id, parent: 1, second, seconds: 3, scope: 'langfuse-sdk', attributes: langfuse },
    });
    await sendSpans(project_id, { id: 1, seconds: 900, attributes: {} });
    await sendSpans(project_id, ofLangfuse(2, 0), ofLangfuse(3, 400), ofLangfuse(4, 800));
    expect(await counted(project_id)).toEqual([60, 24]);
    await sendSpans(project_id, ofOther(5, 1));
    expect(await counted(project_id)).toEqual([60, 24]);
    await sendSpans(project_id, ofOther(6, 401));
    expect(await counted(project_id)).toEqual([60, 24]);
    expect(await rolledUp(project_id)).toEqual([60, 24]);
    await done('/calls/purge', { project_id, call_ids: [hex(5, 16)] });
    expect(await counted(project_id)).toEqual([60, 24]);
    await done('/calls/purge', { project_id, call_ids: [hex(2, 16)] });
    expect(await counted(project_id)).toEqual([40, 16]);
  });

  it('of which an agent tells the sum under the name that it asked for', async () => {
    const project_id = aProject();
    await sendSpans(
      project_id,
      { id: 1, seconds: 9, attributes: { ...chat(40, 16), 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.response.model': 'gpt-4o-mini' } },
      { id: 2, parent: 1, attributes: chat(20, 8, { 'gen_ai.response.model': 'gpt-4o-mini-2024-07-18', 'gen_ai.response.id': 'chatcmpl-a' }) },
      { id: 3, parent: 1, attributes: chat(20, 8, { 'gen_ai.response.model': 'gpt-4o-mini-2024-07-18', 'gen_ai.response.id': 'chatcmpl-b' }) },
    ); // prettier-ignore
    expect(await counted(project_id)).toEqual([40, 16]);
    expect(await rolledUp(project_id)).toEqual([40, 16]);
  });

  it('that Langfuse tells of an agent and of its generations', async () => {
    const project_id = aProject();
    const times = { startTime: at(0), endTime: at(5) };
    const told = (input: number, output: number) => ({ usageDetails: { input, output } });
    await ingest(
      project_id,
      ['trace-create', { id: 'trace' }],
      ['agent-create', { id: 'agent', traceId: 'trace', ...times, ...told(30, 3) }],
      ['generation-create', { id: 'g1', traceId: 'trace', parentObservationId: 'agent', model: 'm', ...times, ...told(10, 1) }],
      ['generation-create', { id: 'g2', traceId: 'trace', parentObservationId: 'agent', model: 'm', ...times, ...told(20, 2) }],
    ); // prettier-ignore
    expect(await counted(project_id)).toEqual([30, 3]);
    expect(await rolledUp(project_id)).toEqual([30, 3]);
  });

  it('that two generations of Langfuse tell with one response', async () => {
    const project_id = aProject();
    const generation = {
      traceId: 'trace',
      model: 'gpt-4o-mini',
      usageDetails: { input: 10, output: 1 },
      output: { role: 'assistant', response_metadata: { id: 'chatcmpl-abcdefgh' } },
    };
    for (const id of ['g1', 'g2'])
      await ingest(project_id, [
        'generation-create',
        { id, ...generation, startTime: at(0), endTime: at(1) },
      ]);
    expect(await counted(project_id)).toEqual([10, 1]);
  });
});

describe('each request counts', () => {
  it('that a tool of a model makes: it names another response', async () => {
    const project_id = aProject();
    await sendSpans(
      project_id,
      { id: 1, seconds: 9, attributes: chat(1000, 100, { 'gen_ai.response.id': 'msg_outer' }) },
      { id: 2, parent: 1, attributes: { 'gen_ai.operation.name': 'execute_tool' } },
      { id: 3, parent: 2, attributes: chat(700, 70, { 'gen_ai.response.id': 'msg_inner' }) },
    );
    expect(await counted(project_id)).toEqual([1700, 170]);
    expect(await rolledUp(project_id)).toEqual([1700, 170]);
  });

  it('under a parent that adds up all of them', async () => {
    const project_id = aProject();
    const response = (id: string) => ({ id, usage: {}, choices: [] });
    const usage = (prompt_tokens: number, requests = 1) => ({
      usage: { m: { prompt_tokens, completion_tokens: 1, requests } },
    });
    const batch = (
      [
        ['root', null, usage(1700, 2), { answer: 42 }],
        ['outer', 'root', usage(1000), response('chatcmpl-outer')],
        ['tool', 'outer', {}, null],
        ['inner', 'tool', usage(700), response('chatcmpl-inner')],
      ] as const
    ).flatMap(([id, parent_id, summary, output]) => [
      {
        mode: 'start',
        req: {
          start: { project_id, id, parent_id, trace_id: 't', op_name: id, started_at: at(0) },
        },
      },
      { mode: 'end', req: { end: { project_id, id, ended_at: at(1), summary, output } } },
    ]);
    await done('/call/upsert_batch', { batch });
    expect(await counted(project_id)).toEqual([1700, 2]);
    const { call_usage: all } = await done('/calls/usage', {
      project_id,
      call_ids: ['root', 'outer'],
    });
    expect(['root', 'outer'].map((id) => all[id].m.prompt_tokens)).toEqual([1700, 1700]);
  });

  it('whose server begins its ids anew, as Ollama does behind chatcmpl-998', async () => {
    const project_id = aProject();
    const batch = Array.from({ length: 2000 }, (_, i) => ({
      mode: 'start',
      i,
    })).flatMap(({ i }) => [
      {
        mode: 'start',
        req: { start: { project_id, id: `c${i}`, trace_id: `t${i}`, op_name: 'chat', started_at: at(i / 50) } },
      },
      {
        mode: 'end',
        req: {
          end: {
            ...{ project_id, id: `c${i}`, ended_at: at(i / 50 + 0.02) },
            output: { id: `chatcmpl-${i % 999}`, usage: {} },
            summary: { usage: { llama: { prompt_tokens: 10, completion_tokens: 2, requests: 1 } } },
          },
        },
      },
    ]); // prettier-ignore
    for (let i = 0; i < batch.length; i += 1000)
      await done('/call/upsert_batch', { batch: batch.slice(i, i + 1000) });
    expect(await counted(project_id)).toEqual([20_000, 4000]);
  });

  it('with the id of another one, if its tokens or its time differ', async () => {
    const project_id = aProject();
    const same = { 'gen_ai.response.id': 'chatcmpl-1' };
    await sendSpans(
      project_id,
      { id: 1, trace: 1, attributes: chat(10, 1, same) },
      { id: 2, trace: 2, attributes: chat(10, 1, same) },
      { id: 3, trace: 3, attributes: chat(11, 1, same) },
      { id: 4, trace: 4, second: 3600, attributes: chat(10, 1, same) },
    );
    expect(await counted(project_id)).toEqual([31, 3]);
  });
});

describe('roots', () => {
  const model = { 'llm.model_name': 'gpt-4o-mini' };
  /** GPT-4o mini costs $0.15 per million input tokens and $0.60 per million output tokens. */
  const COST = (300 * 0.15 + 30 * 0.6) / 1e6;
  const aTrace = async (project_id: string) => {
    await sendSpans(
      project_id,
      { id: 1, name: 'answer', seconds: 9, attributes: {} },
      { id: 2, parent: 1, name: 'model', attributes: inference('LLM', 100, 10, model) },
      {
        id: 3,
        parent: 1,
        name: 'model',
        second: 400,
        attributes: inference('LLM', 200, 20, model),
      },
      { id: 4, trace: 2, name: 'other', attributes: {} },
    );
  };

  it('have in statistics what is spent below them, where they began', async () => {
    const project_id = aProject();
    await aTrace(project_id);
    const { usage_buckets: buckets } = await done('/calls/stats', {
      ...{ project_id, start: at(-300), end: at(600), granularity: 300, group_by: ['op_name'] },
      filter: { trace_roots_only: true },
      usage_metrics: [{ metric: 'total_cost' }, { metric: 'input_tokens' }],
    });
    expect(buckets).toHaveLength(1);
    expect(buckets[0]).toMatchObject({
      timestamp: at(0).replace('Z', '000Z'),
      op_name: 'answer',
      model: 'gpt-4o-mini',
      sum_input_tokens: 300,
    });
    expect(buckets[0].sum_total_cost).toBeCloseTo(COST, 12);
    expect(await counted(project_id, { filter: { trace_roots_only: true } })).toEqual([300, 30]);
  });

  it('have in lists what their traces cost, also where they tell a part of it', async () => {
    const project_id = aProject();
    await aTrace(project_id);
    await sendSpans(
      project_id,
      { id: 5, trace: 3, seconds: 9, attributes: inference('AGENT', 300, 30) },
      { id: 6, trace: 3, parent: 5, attributes: inference('LLM', 300, 30, model) },
      { id: 7, trace: 4, seconds: 9, attributes: chat(7, 1, { 'gen_ai.response.id': 'msg_7' }) },
      { id: 8, trace: 4, parent: 7, attributes: inference('LLM', 300, 30, model) },
      { id: 9, trace: 4, parent: 8, attributes: chat(5, 1, { 'gen_ai.response.id': 'msg_9' }) },
    );
    const { calls } = await done('/calls/query', {
      ...{ project_id, limit: 10, include_trace_totals: true, include_costs: true },
      filter: { trace_roots_only: true },
    });
    const costs = Object.fromEntries(
      calls.map(({ id, summary }: any) => [Number(`0x${id}`), summary.svc.trace_costs]),
    );
    for (const id of [1, 5]) expect(costs[id]['gpt-4o-mini'].total_cost).toBeCloseTo(COST, 12);
    expect(costs[4]).toEqual({});
    expect(Object.keys(costs[7]).toSorted()).toEqual(['claude-sonnet-4-5', 'gpt-4o-mini']);
  });
});
