import { useApp } from '../../support/app.js';
import {
  agentSpan,
  type Attribute,
  aTurn,
  exportOf,
  type SpanParts,
  spanId,
  traceId,
} from '../../support/agents.js';

const app = useApp();
const project_id = 'acme/agents';

const record = async (spans: SpanParts[], path = '/agents/otel/v1/traces', project = project_id) =>
  expect(
    (await app.post(path, exportOf(spans.map(agentSpan)), { headers: { project_id: project } }))
      .text,
  ).toBe('{}');

const ask = async (path: string, body: object = {}) => {
  const answer = await app.post(`/agents/${path}`, { project_id, ...body });
  expect([answer.status, answer.body]).toEqual([200, expect.any(Object)]);
  return answer.body;
};
const refused = async (path: string, body: object) => {
  const { status, body: answer } = await app.post(`/agents/${path}`, { project_id, ...body });
  return [status, answer.errors?.[0]?.path ?? answer.code];
};
const is = (field: string, literal: unknown) => ({
  $expr: { $eq: [{ $getField: field }, { $literal: literal }] },
});

beforeAll(async () => {
  await record(
    aTurn({
      ...{ trace: 1, id: 1, conversation: 'talk 1' },
      attributes: { team: 'blue', attempt: 2, share: 0.5, is_last: true, list: ['a'] },
    }),
  );
  await record(
    aTurn({
      trace: 2,
      id: 11,
      conversation: 'talk 1',
      version: '3',
      question: 'And then?',
      answer: 'Then Naples',
    }),
  );
  await record([
    {
      ...{ trace: 3, id: 21, name: 'invoke_agent critic', error: 'no' },
      attributes: {
        'gen_ai.operation.name': 'invoke_agent',
        'gen_ai.agent.name': 'critic',
        'gen_ai.conversation.id': 'talk/2 (ü)',
        'error.type': 'ValueError',
      },
    },
  ]);
  await record([{ trace: 4, id: 31, name: 'plain', attributes: { team: 'red' } }]);
  await record(
    [{ trace: 5, id: 41, name: 'GET /', attributes: { team: 'none' } }],
    '/otel/v1/traces',
  );
  await record(
    aTurn({ trace: 9, id: 91, conversation: 'talk 1', agent: 'spy' }),
    '/otel/v1/traces',
    'acme/other',
  );
});

describe('POST /agents/query', () => {
  it('adds up the spans of each agent, and the tokens of those below', async () => {
    const { agents, total_count } = await ask('query', { include_costs: true });
    expect(total_count).toBe(2);
    expect(agents).toEqual([
      {
        project_id,
        agent_name: 'critic',
        invocation_count: 1,
        span_count: 1,
        total_input_tokens: 0,
        total_output_tokens: 0,
        total_duration_ms: 1000,
        error_count: 1,
        first_seen: '2026-01-01T00:00:21.000000Z',
        last_seen: '2026-01-01T00:00:21.000000Z',
        total_cost_usd: null,
      },
      expect.objectContaining({
        agent_name: 'planner',
        invocation_count: 2,
        span_count: 2,
        total_input_tokens: 500,
        total_output_tokens: 50,
        total_duration_ms: 8000,
        error_count: 0,
        first_seen: '2026-01-01T00:00:01.000000Z',
        last_seen: '2026-01-01T00:00:14.000000Z',
        // (240 × 0.15 + 10 × 0.075 + 25 × 0.6) / 10⁶, twice
        total_cost_usd: 0.0001035,
      }),
    ]);
  });

  it('filters, sorts and pages', async () => {
    expect((await ask('query', { filters: { agent_name: 'critic' } })).agents).toHaveLength(1);
    const page = await ask('query', { sort_by: [{ field: 'agent_name' }], limit: 1, offset: 1 });
    expect([page.agents.map((one: any) => one.agent_name), page.total_count]).toEqual([
      ['critic'],
      2,
    ]);
    expect((await ask('query', { offset: 5 })).total_count).toBe(2);
  });

  it('says of one agent what the list of all says of it', async () => {
    const project = 'acme/deep';
    const chat = { 'gen_ai.operation.name': 'chat', 'gen_ai.usage.input_tokens': 7 };
    // a chain of chats below `outer`, with `inner` in between, longer than the search for agents goes
    const chain = Array.from({ length: 30 }, (_, i): SpanParts => ({
      ...{ trace: 8, id: 800 + i, ...(i > 0 && { parent: 799 + i }) },
      attributes: {
        ...{ ...chat, 'gen_ai.request.model': `m${i}` },
        ...(i === 0 && { 'gen_ai.agent.name': 'outer' }),
        ...(i === 5 && { 'gen_ai.agent.name': 'inner', 'gen_ai.agent.version': '1' }),
      },
    }));
    await record(chain, '/agents/otel/v1/traces', project);
    const all = await ask('query', { project_id: project, include_costs: true });
    expect(all.agents.map((one: any) => [one.agent_name, one.total_input_tokens])).toEqual([
      ['inner', 17 * 7],
      ['outer', 5 * 7],
    ]);
    for (const row of all.agents) {
      const filters = { agent_name: row.agent_name };
      const one = await ask('query', { project_id: project, filters, include_costs: true });
      expect(one).toEqual({ agents: [row], total_count: 1 });
    }
  });

  it('has the versions of an agent', async () => {
    const { versions, total_count } = await ask('agent-versions/query', {
      agent_name: 'planner',
      sort_by: [{ field: 'agent_version', direction: 'asc' }],
    });
    expect(total_count).toBe(2);
    expect(versions).toMatchObject([
      {
        agent_version: '2',
        invocation_count: 1,
        total_input_tokens: 250,
        last_seen: '2026-01-01T00:00:04.000000Z',
      },
      { agent_version: '3', invocation_count: 1, total_output_tokens: 25 },
    ]);
  });
});

describe('spans of other conventions', () => {
  const rows: [string, Record<string, Attribute>, [string, string | null, string | null]][] = [
    [
      'OpenInference',
      { 'openinference.span.kind': 'AGENT', 'agent.name': 'a' },
      ['invoke_agent', 'a', null],
    ],
    [
      'OpenInference, a tool of an agent',
      { 'openinference.span.kind': 'TOOL', 'agent.name': 'a' },
      ['execute_tool', 'a', null],
    ],
    [
      'OpenInference, a chain of an agent',
      { 'openinference.span.kind': 'CHAIN', 'agent.name': 'a' },
      ['', 'a', null],
    ],
    [
      'OpenInference, a chain',
      { 'openinference.span.kind': 'CHAIN', 'graph.node.id': 'n' },
      ['', null, null],
    ],
    [
      'OpenInference, a graph',
      { 'openinference.span.kind': 'AGENT', 'graph.node.id': 'writer' },
      ['invoke_agent', 'writer', null],
    ],
    [
      'OpenInference, LangGraph',
      { 'openinference.span.kind': 'LLM', metadata: '{"langgraph_node": "planner", "x": 1}' },
      ['chat', 'planner', null],
    ],
    [
      'OpenInference, LangGraph as Python prints it',
      { 'openinference.span.kind': 'LLM', metadata: "{'x': 1, 'langgraph_node': 'planner'}" },
      ['chat', 'planner', null],
    ],
    [
      'OpenInference, LangGraph in an attribute',
      { 'openinference.span.kind': 'LLM', 'metadata.langgraph_node': 'planner' },
      ['chat', 'planner', null],
    ],
    [
      'OpenInference, a graph that names its node',
      { 'openinference.span.kind': 'AGENT', 'graph.node.name': 'writer' },
      ['invoke_agent', 'writer', null],
    ],
    ...['GUARDRAIL', 'EVALUATOR', 'RERANKER'].flatMap(
      (kind): [string, Record<string, string>, [string, null, null]][] => [
        [
          `OpenInference, ${kind}`,
          { 'openinference.span.kind': kind },
          [kind.toLowerCase(), null, null],
        ],
        [`MLflow, ${kind}`, { 'mlflow.spanType': `"${kind}"` }, [kind.toLowerCase(), null, null]],
      ],
    ),
    ['OpenLLMetry, a model', { 'llm.request.type': 'chat' }, ['chat', null, null]],
    ['OpenLLMetry, a reranker', { 'llm.request.type': 'rerank' }, ['reranker', null, null]],
    ['OpenTelemetry, in capitals', { 'gen_ai.operation.name': 'Chat' }, ['chat', null, null]],
    [
      'LangSmith, LangGraph',
      { 'langsmith.span.kind': 'llm', 'langsmith.metadata.langgraph_node': 'planner' },
      ['chat', 'planner', null],
    ],
    [
      'OpenInference, tools of LangGraph',
      { 'openinference.span.kind': 'LLM', metadata: '{"langgraph_node": "tools"}' },
      ['chat', null, null],
    ],
    [
      'OpenInference, metadata that is no JSON',
      { 'openinference.span.kind': 'LLM', metadata: '{"langgraph_node"' },
      ['chat', null, null],
    ],
    [
      'smolagents',
      { 'openinference.span.kind': 'AGENT', 'smolagents.max_steps': 20, name: 'CodeAgent.run' },
      ['invoke_agent', 'CodeAgent', null],
    ],
    ['MLflow', { 'mlflow.spanType': '"AGENT"', name: 'answer' }, ['invoke_agent', 'answer', null]],
    ['MLflow, a model', { 'mlflow.spanType': '"CHAT_MODEL"', name: 'llm' }, ['chat', null, null]],
    ['MLflow, a tool', { 'mlflow.spanType': 'TOOL' }, ['execute_tool', null, null]],
    [
      'OpenLLMetry',
      { 'traceloop.span.kind': 'agent', 'traceloop.entity.name': 'helper', name: 'helper.agent' },
      ['invoke_agent', 'helper', null],
    ],
    [
      'Langfuse',
      { 'langfuse.observation.type': 'agent', name: 'support' },
      ['invoke_agent', 'support', null],
    ],
    [
      'Langfuse, a generation',
      { 'langfuse.observation.type': 'generation', name: 'support' },
      ['chat', null, null],
    ],
    [
      'Vercel',
      { 'ai.operationId': 'ai.generateText', 'ai.telemetry.functionId': 'weather' },
      ['invoke_agent', 'weather', null],
    ],
    ['LangSmith', { 'langsmith.span.kind': 'llm' }, ['chat', null, null]],
    [
      'AutoGen',
      {
        'gen_ai.operation.name': 'invoke_agent',
        'gen_ai.system': 'autogen',
        'gen_ai.agent.name': 'coder',
      },
      ['invoke_agent', 'coder', null],
    ],
    ['AG2', { 'ag2.span.type': 'llm' }, ['chat', null, null]],
    [
      'Logfire',
      { 'logfire.msg_template': 'Agent run: {name!r}', name: 'forecaster' },
      ['invoke_agent', 'forecaster', null],
    ],
    ['Claude Code', { 'span.type': 'interaction' }, ['invoke_agent', 'claude-code', null]],
    [
      'Gemini CLI',
      { 'gen_ai.operation.name': 'llm_call', 'gen_ai.agent.name': 'gemini-cli' },
      ['chat', 'gemini-cli', null],
    ],
    [
      'a workflow',
      { 'gen_ai.operation.name': 'invoke_workflow', 'gen_ai.workflow.name': 'crew' },
      ['invoke_agent', 'crew', null],
    ],
    [
      'a workflow with an agent',
      {
        'gen_ai.operation.name': 'invoke_workflow',
        'gen_ai.workflow.name': 'crew',
        'gen_ai.agent.name': 'boss',
        'gen_ai.agent.version': '1.2',
      },
      ['invoke_agent', 'boss', '1.2'],
    ],
    [
      'an agent of a workflow',
      { 'gen_ai.operation.name': 'chat', 'gen_ai.workflow.name': 'crew' },
      ['chat', null, null],
    ],
  ];
  it.each(rows)('%s: say what they do and for which agent', async (title, attributes, expected) => {
    const project = 'acme/conventions';
    const id = 3000 + rows.findIndex(([name]) => name === title);
    const name = typeof attributes['name'] === 'string' ? attributes['name'] : 'run';
    await record([{ trace: id, id, name, attributes }], '/agents/otel/v1/traces', project);
    const { spans } = await ask('spans/query', {
      project_id: project,
      query: is('span_id', spanId(id)),
    });
    expect([spans[0].operation_name, spans[0].agent_name, spans[0].agent_version]).toEqual(
      expected,
    );
  });
});

describe('POST /agents/spans/query', () => {
  it('pages through spans of a filter in either direction', async () => {
    const ids = async (direction: string, offset: number) => {
      const query = is('operation_name', 'chat');
      const sort_by = [{ field: 'started_at', direction }];
      const { spans, total_count } = await ask('spans/query', { query, sort_by, limit: 2, offset });
      return [spans.map(({ span_id }: any) => span_id), total_count];
    };
    const [first, next] = [await ids('asc', 0), await ids('asc', 2)];
    const chats = [...first[0], ...next[0]];
    expect(new Set(chats).size).toBe(4);
    expect([first[1], await ids('asc', 4)]).toEqual([4, [[], 4]]);
    expect([await ids('desc', 0), await ids('desc', 2)]).toEqual([
      [chats.slice(2).toReversed(), 4],
      [chats.slice(0, 2).toReversed(), 4],
    ]);
  });

  it('lists spans of agents, the newest first, and no others', async () => {
    const { spans, groups, total_count } = await ask('spans/query');
    expect(groups).toEqual([]);
    expect(total_count).toBe(10);
    expect(spans.map((one: any) => one.span_id)).toEqual(
      [31, 21, 14, 13, 12, 11, 4, 3, 2, 1].map(spanId),
    );
  });

  it('shows what a span says', async () => {
    const query = is('span_id', spanId(4));
    const [span] = (await ask('spans/query', { query, include_details: true, include_costs: true }))
      .spans;
    expect(span).toMatchObject({
      project_id,
      trace_id: traceId(1),
      parent_span_id: spanId(1),
      span_kind: 'INTERNAL',
      status_code: 'UNSET',
      status_message: null,
      operation_name: 'chat',
      conversation_id: 'talk 1',
      provider_name: 'openai',
      request_model: 'gpt-4o-mini',
      finish_reasons: ['stop'],
      input_tokens: 150,
      output_tokens: 5,
      cache_read_input_tokens: 0,
      total_cost_usd: 0.0000255,
      input_messages: [{ role: 'user', content: 'Where to?', finish_reason: '' }],
      output_messages: [{ role: 'assistant', content: 'Rome, it is sunny', finish_reason: '' }],
      custom_attrs_string: { team: 'blue', list: '["a"]' },
      custom_attrs_int: { attempt: 2 },
      custom_attrs_float: { share: 0.5 },
      custom_attrs_bool: { is_last: true },
      svc_user_id: 'ada',
      raw_span_dump: expect.stringContaining('"spanId":"0000000000000004"'),
    });
    const [short] = (await ask('spans/query', { query })).spans;
    expect(short).toMatchObject({ input_messages: [], raw_span_dump: null, total_cost_usd: null });
  });

  it.each([
    [is('agent_name', 'planner'), [11, 1]],
    [is('gen_ai.agent.name', 'critic'), [21]],
    [is('conversation.id', 'talk/2 (ü)'), [21]],
    [is('status_code', 'ERROR'), [21]],
    [is('status_code', 'OK'), [13, 3]],
    [is('custom_attrs_string.team', 'blue'), [4]],
    [is('custom_attrs_int.attempt', 2), [4]],
    [is('tool_name', 'lookup'), [13, 3]],
    [is('error_type', 'ValueError'), [21]],
    [{ $expr: { $gt: [{ $getField: 'input_tokens' }, { $literal: 100 }] } }, [14, 4]],
    [{ $expr: { $gte: [{ $getField: 'duration_ms' }, { $literal: 4000 }] } }, [11, 1]],
    [is('request.model', 'gpt-4o-mini'), [14, 12, 4, 2]],
  ])('finds those of %j', async (query, ids) => {
    const { spans, total_count } = await ask('spans/query', { query });
    expect([spans.map((one: any) => one.span_id), total_count]).toEqual([
      ids.map(spanId),
      ids.length,
    ]);
  });

  it('sorts, pages, and looks within a time', async () => {
    const { spans, total_count } = await ask('spans/query', {
      sort_by: [{ field: 'input_tokens' }, { field: 'started_at', direction: 'asc' }],
      started_before: '2026-01-01T00:00:10Z',
      ...{ limit: 2, offset: 1 },
    });
    expect([spans.map((one: any) => one.span_id), total_count]).toEqual([[2, 1].map(spanId), 4]);
  });

  it('groups by conversation, with sums, measures and the first and the last message', async () => {
    const { spans, groups, total_count } = await ask('spans/query', {
      group_by: [{ source: 'field', key: 'conversation_id' }],
      measures: [
        { alias: 'tools', aggregation: 'count', filter: is('operation_name', 'execute_tool') },
        {
          alias: 'longest',
          aggregation: 'max',
          value: { key: 'duration_ms' },
          value_type: 'number',
        },
        {
          alias: 'teams',
          aggregation: 'count_distinct',
          value: { source: 'custom_attrs_string', key: 'team' },
        },
        {
          alias: 'since',
          aggregation: 'min',
          value: { key: 'started_at' },
          value_type: 'datetime',
        },
      ],
      include_costs: true,
    });
    expect([spans, total_count]).toEqual([[], 3]);
    expect(groups[0]).toEqual({
      group_keys: { conversation_id: 'talk 1' },
      span_count: 8,
      invocation_count: 2,
      error_count: 0,
      conversation_count: 1,
      total_input_tokens: 500,
      total_output_tokens: 50,
      total_reasoning_tokens: 0,
      total_cache_creation_input_tokens: 0,
      total_cache_read_input_tokens: 20,
      total_duration_ms: 14_000,
      first_seen: '2026-01-01T00:00:01.000000Z',
      last_seen: '2026-01-01T00:00:14.000000Z',
      agent_names: ['planner'],
      agent_versions: ['2', '3'],
      provider_names: ['openai'],
      request_models: ['gpt-4o-mini'],
      conversation_names: ['Trips'],
      metrics: { tools: 2, longest: 4000, teams: 1, since: '2026-01-01T00:00:01.000000Z' },
      distributions: {},
      total_cost_usd: 0.0001035,
      total_input_cost_usd: 0.000072,
      total_output_cost_usd: 0.00003,
      first_message: { role: 'user_message', text: 'Where to?' },
      last_message: { role: 'assistant_message', text: 'Then Naples' },
    });
    expect(groups.map((one: any) => one.group_keys.conversation_id)).toEqual([
      'talk 1',
      'talk/2 (ü)',
      null,
    ]);
  });

  it('groups by custom attributes as what they are, and filters groups', async () => {
    const group_by = [{ source: 'custom_attrs_bool', key: 'is_last', alias: 'last' }];
    const of = async (more: object) =>
      (await ask('spans/query', { group_by, ...more })).groups.map(
        (one: any) => one.group_keys.last,
      );
    expect(await of({})).toEqual([null, true]);
    const measure = { alias: 'spans', aggregation: 'count' };
    expect(await of({ group_filters: [{ measure, max: 1 }] })).toEqual([true]);
    const since = { alias: 'since', aggregation: 'min', value: { key: 'started_at' } };
    expect(await of({ group_filters: [{ measure: since, min: '2026-01-01T00:00:02Z' }] })).toEqual([
      true,
    ]);
  });

  it.each([
    [{ limit: 10_001 }, 'limit'],
    [{ offset: -1 }, 'offset'],
    [{ query: is('nothing', 1) }, 'query.$expr.$eq[0].$getField'],
    [{ sort_by: [{ field: 'nothing' }] }, 'sort_by[0].field'],
    [{ group_by: [{ key: 'nothing' }] }, 'group_by[0].key'],
    [{ group_by: [{ source: 'x', key: 'agent_name' }] }, 'group_by[0].source'],
    [{ measures: [{ alias: 'a', aggregation: 'count' }] }, 'group_by'],
    [
      { group_by: [{ key: 'agent_name' }], measures: [{ alias: 'a', aggregation: 'sum' }] },
      'measures[0].value',
    ],
    [
      { group_by: [{ key: 'agent_name' }], sort_by: [{ field: 'agent_names' }] },
      'sort_by[0].field',
    ],
    [
      {
        group_by: [{ key: 'agent_name' }],
        group_filters: [{ measure: { alias: 'a', aggregation: 'count' }, min: '2026-01-01' }],
      },
      'group_filters[0].min',
    ],
    [
      {
        group_by: [{ key: 'agent_name' }],
        measures: Array.from({ length: 50 }, (_, i) => ({
          alias: `m${i}`,
          aggregation: 'count',
          filter: is('agent_name', 'x'.repeat(1000)),
        })),
      },
      'measures[30].filter',
    ],
    [{ insight_filters: [{ field: 'intent_topic_id', values: ['x'] }] }, 'insight_filters'],
    [{ group_distributions: [{ alias: 'a' }] }, 'group_distributions'],
    [{ started_after: 'yesterday' }, 'started_after'],
  ])('refuses %j', async (body, path) => {
    expect(await refused('spans/query', body)).toEqual([400, path]);
  });
});

describe('POST /agents/spans/stats', () => {
  const start = '2026-01-01T00:00:00Z';
  const end = '2026-01-01T00:01:00Z';
  const metric = (alias: string, key: string, more: object) => ({
    ...{ alias, value: { source: 'field', key }, value_type: 'number' },
    ...more,
  });

  it('answers rows of buckets and groups, and says what their columns are', async () => {
    const answer = await ask('spans/stats', {
      ...{ start, end, granularity: 10 },
      metrics: [metric('tokens', 'input_tokens', { aggregations: ['sum'], percentiles: [0.5] })],
      group_by: [{ key: 'operation.name', alias: 'operation' }],
    });
    expect(answer).toMatchObject({ bucket_type: 'time', granularity: 10, timezone: 'UTC' });
    expect(
      answer.columns.map(({ name, role, value_type }: any) => [name, role, value_type]),
    ).toEqual([
      ['timestamp', 'time', 'datetime'],
      ['operation', 'group', 'string'],
      ['tokens_sum', 'metric', 'number'],
      ['tokens_p50', 'metric', 'number'],
    ]);
    expect(answer.rows.map(Object.values)).toEqual([
      ['2026-01-01T00:00:00.000000Z', 'chat', 250, 125],
      ['2026-01-01T00:00:00.000000Z', 'execute_tool', null, null],
      ['2026-01-01T00:00:00.000000Z', 'invoke_agent', null, null],
      ['2026-01-01T00:00:10.000000Z', 'chat', 250, 125],
      ['2026-01-01T00:00:10.000000Z', 'execute_tool', null, null],
      ['2026-01-01T00:00:10.000000Z', 'invoke_agent', null, null],
      ['2026-01-01T00:00:20.000000Z', 'invoke_agent', null, null],
      ['2026-01-01T00:00:30.000000Z', null, null, null],
    ]);
  });

  it('answers as many values as may be asked for', async () => {
    const percentiles = Array.from({ length: 20 }, (_, i) => i * 5);
    const metrics = Array.from({ length: 20 }, (_, i) =>
      metric(`m${i}`, 'duration_ms', { aggregations: ['count', 'max'], percentiles }),
    );
    const { rows } = await ask('spans/stats', { start, end, granularity: 60, metrics });
    expect(Object.keys(rows[0])).toHaveLength(1 + 20 * 22);
    expect(rows[0]).toMatchObject({ m0_count: 10, m19_max: 4000 });
  });

  it('keeps the largest groups', async () => {
    const { rows } = await ask('spans/stats', {
      ...{ start, end, granularity: 60, group_limit: 1 },
      metrics: [metric('spans', 'span_id', { value_type: 'string' })],
      group_by: [{ key: 'operation_name' }],
    });
    expect(rows).toEqual([
      { timestamp: '2026-01-01T00:00:00.000000Z', operation_name: 'chat', spans_count: 4 },
    ]);
  });

  it.each([
    [{ start, end: '2026-03-01T00:00:00Z' }, 'end'],
    [{ start: end, end: start }, 'end'],
    [{ start, bucket_by: { type: 'number' } }, 'bucket_by.type'],
    [{ start, end, timezone: 'Mars' }, 'timezone'],
    [{ start, end, group_limit: 1001 }, 'group_limit'],
    [{ start, end, metrics: [metric('a', 'nothing', {})] }, 'metrics[0].value.key'],
  ])('refuses %j', async (body, path) => {
    expect(await refused('spans/stats', body)).toEqual([400, path]);
  });
});

it('lists custom attributes by kind', async () => {
  const { attributes, has_more } = await ask('spans/custom-attrs/schema');
  expect(has_more).toBe(false);
  expect(attributes).toEqual([
    { source: 'custom_attrs_int', key: 'attempt', value_type: 'int', span_count: 1 },
    { source: 'custom_attrs_bool', key: 'is_last', value_type: 'bool', span_count: 1 },
    { source: 'custom_attrs_string', key: 'list', value_type: 'string', span_count: 1 },
    { source: 'custom_attrs_float', key: 'share', value_type: 'float', span_count: 1 },
    { source: 'custom_attrs_string', key: 'team', value_type: 'string', span_count: 2 },
  ]);
  const page = await ask('spans/custom-attrs/schema', {
    limit: 1,
    offset: 1,
    query: is('span_id', spanId(4)),
  });
  expect(page).toMatchObject({
    attributes: [{ key: 'is_last' }],
    limit: 1,
    offset: 1,
    has_more: true,
  });
});

describe('POST /agents/traces/chat', () => {
  it('tells a trace as a chat', async () => {
    const turn = await ask('traces/chat', { trace_id: traceId(1), include_model_tool_calls: true });
    expect(turn).toMatchObject({
      trace_id: traceId(1),
      root_span_name: 'invoke_agent planner',
      agent_name: 'planner',
      agent_version: '2',
      provider: 'openai',
      status_code: 'UNSET',
      total_input_tokens: 250,
      total_output_tokens: 25,
      total_cache_read_input_tokens: 10,
      total_duration_ms: 4000,
      total_cost_usd: 0.00005175,
      feedback: null,
    });
    expect(turn.messages.map((one: any) => [one.type, one.span_id, one[one.type]])).toMatchObject([
      ['user_message', spanId(1), { text: 'Where to?' }],
      ['agent_start', spanId(1), { system_instructions: 'Be brief' }],
      [
        'tool_call',
        spanId(2),
        { tool_name: 'lookup', tool_arguments: '{"city":"Rome"}', tool_result: null },
      ],
      [
        'tool_call',
        spanId(3),
        { tool_name: 'lookup', tool_result: '{"sunny":true}', status: 'OK' },
      ],
      [
        'assistant_message',
        spanId(4),
        { text: 'Rome, it is sunny', input_tokens: 150, model: 'gpt-4o-mini' },
      ],
    ]);
    expect(turn.messages[0].assistant_message).toBeNull();
  });

  it('answers 404 for a trace that is not there', async () => {
    expect(await refused('traces/chat', { trace_id: 'none' })).toEqual([404, 'not_found']);
  });

  it.each([
    ['whose spans came from agents and say nothing more', 4],
    ['of other spans', 5],
  ])('says so of a trace %s', async (_, trace) => {
    const { status, body } = await app.post('/agents/traces/chat', {
      project_id,
      trace_id: traceId(trace),
    });
    expect([status, body.code, body.detail]).toEqual([
      404,
      'not_found',
      expect.stringContaining('no call of the trace'),
    ]);
  });
});

describe('conversations', () => {
  it('have their turns by pages from the newest on, with the oldest of a page first', async () => {
    const all = await ask('conversations/chat', { conversation_id: 'talk 1' });
    expect(all).toMatchObject({
      total_turns: 2,
      has_more: false,
      limit: 50,
      offset: 0,
      total_cost_usd: 0.0001035,
    });
    expect(all.turns.map((one: any) => one.trace_id)).toEqual([1, 2].map(traceId));
    const newest = await ask('conversations/chat', { conversation_id: 'talk 1', limit: 1 });
    expect([newest.turns[0].trace_id, newest.has_more]).toEqual([traceId(2), true]);
    const older = await ask('conversations/chat', {
      conversation_id: 'talk 1',
      limit: 1,
      offset: 1,
    });
    expect([older.turns[0].trace_id, older.has_more]).toEqual([traceId(1), false]);
    expect(await ask('conversations/chat', { conversation_id: 'none' })).toMatchObject({
      turns: [],
      total_turns: 0,
    });
  });

  it('have the feedback on them, on their turns and on messages', async () => {
    const say = (item: string, fields: object) =>
      app.post('/feedback/create', {
        ...{ project_id, svc_ref: `svc:///${project_id}/${item}`, payload: {} },
        ...fields,
      });
    const scored = {
      feedback_type: 'svc.agent_user_feedback',
      scorer_tags: ['rude'],
      scorer_tag_reasons: { rude: 'shouts' },
      scorer_ratings: { tone: 0.25 },
      scorer_rating_reasons: { tone: 'loud' },
      scorer_rating_confidences: { tone: 0.5 },
    };
    expect((await say(`agent_turn/${traceId(1)}`, scored)).status).toBe(200);
    expect(
      (
        await say(`agent_span/${spanId(4)}`, {
          feedback_type: 'svc.note.1',
          payload: { note: 'x' },
        })
      ).status,
    ).toBe(200);
    const talk = `agent_conversation/${encodeURIComponent('talk/2 (ü)')}`;
    expect((await say(talk, { ...scored, scorer_tags: ['short'] })).status).toBe(200);

    const turn = await ask('traces/chat', { trace_id: traceId(1), include_feedback: true });
    expect(turn.feedback).toMatchObject([
      { scorer_tags: ['rude'], scorer_ratings: { tone: 0.25 } },
    ]);
    expect(turn.messages.at(-1).feedback).toMatchObject([{ payload: { note: 'x' } }]);
    const chat = await ask('conversations/chat', {
      conversation_id: 'talk/2 (ü)',
      include_feedback: true,
    });
    expect(chat.feedback).toMatchObject([{ scorer_tags: ['short'] }]);

    const conversation_ids = ['talk 1', 'none', 'talk/2 (ü)'];
    const { conversations } = await ask('conversations/spans', { conversation_ids });
    expect(conversations.map((one: any) => [one.conversation_id, one.spans.length])).toEqual([
      ['talk 1', 8],
      ['none', 0],
      ['talk/2 (ü)', 1],
    ]);
    expect(conversations[2].spans).toEqual([
      {
        span_id: spanId(21),
        trace_id: traceId(3),
        operation_name: 'invoke_agent',
        status: 'ERROR',
        duration_ms: 1000,
      },
    ]);
    expect(conversations[0].spans_feedback).toEqual([
      {
        trace_id: traceId(1),
        feedback_type: 'svc.agent_user_feedback',
        tags: ['rude'],
        ratings: [{ name: 'tone', value: 0.25, reason: 'loud', confidence: 0.5 }],
      },
    ]);
    expect(conversations[2].spans_feedback).toMatchObject([{ trace_id: null, tags: ['short'] }]);

    const rated = (op: string, value: number) => ({
      signal_filters: { tags: ['rude'], ratings: [{ scorer_key: 'tone', op, value }] },
    });
    expect((await ask('spans/query', rated('lt', 0.5))).total_count).toBe(4);
    expect((await ask('spans/query', rated('gt', 0.5))).total_count).toBe(0);
    expect((await ask('spans/query', { signal_filters: { tags: ['short'] } })).total_count).toBe(1);
  });
});

describe('POST /agents/search', () => {
  const found = async (body: object) =>
    (await ask('search', body)).results.flatMap((one: any) =>
      one.matched_messages.map((message: any) => [
        one.conversation_id,
        message.role,
        message.content_preview,
      ]),
    );

  it('finds messages whatever their letters, each once in a conversation', async () => {
    expect(await found({ query: 'IT IS SUNNY' })).toEqual([
      ['talk 1', 'assistant', 'Rome, it is sunny'],
    ]);
    expect(await found({ query: 'where to' })).toEqual([['talk 1', 'user', 'Where to?']]);
    expect(await found({ query: '"sunny":true' })).toEqual([
      ['talk 1', 'tool_result', '{"sunny":true}'],
    ]);
    const { results } = await ask('search', { query: 'where to' });
    expect(results[0].matched_messages[0].span_id).toBe(spanId(1));
  });

  it('finds what a message says in JSON, however it is spelled', async () => {
    const question = String.raw`{"city":"\u5317\u4eac","note":"say \"hi\" \/ go"}`;
    await record(
      aTurn({ trace: 8, id: 81, conversation: 'talk', question }),
      '/agents/otel/v1/traces',
      'acme/said',
    );
    for (const query of ['北京', 'SAY "HI" / GO', '"city":"北京"', question]) {
      const { results } = await ask('search', { project_id: 'acme/said', query });
      expect(results[0]?.matched_messages[0]?.content_preview).toBe(question);
    }
    const { results } = await ask('search', { project_id: 'acme/said', query: '北京市' });
    expect(results).toEqual([]);
  });

  it('keeps to the filters', async () => {
    expect(await found({ roles: ['system'] })).toEqual([['talk 1', 'system', 'Be brief']]);
    expect(await found({ agent_name: 'critic' })).toEqual([]);
    expect(
      await found({
        trace_id: traceId(2),
        roles: ['assistant'],
        provider_name: 'openai',
        request_model: 'gpt-4o-mini',
      }),
    ).toContainEqual(['talk 1', 'assistant', 'Then Naples']);
    expect(
      await found({ query: 'rome', limit: 1, offset: 1, conversation_id: 'talk 1' }),
    ).toHaveLength(1);
    expect(await found({ started_before: '2026-01-01T00:00:00Z' })).toEqual([]);
  });
});

describe('sources', () => {
  const project = 'acme/agents-tried';
  const at = { project_id: project };
  const start = '2026-01-01T00:00:00Z';
  /** A turn of an agent with a model call below it that names no agent. It has 10 input tokens. */
  const turn = (trace: number, agent: string, source?: string): SpanParts[] => [
    {
      ...{ trace, id: trace * 10 + 1, name: `invoke_agent ${agent}` },
      attributes: {
        'gen_ai.operation.name': 'invoke_agent',
        'gen_ai.agent.name': agent,
        'gen_ai.conversation.id': `talk ${trace}`,
        ...(source && { 'skein.source': source }),
      },
    },
    {
      ...{ trace, id: trace * 10 + 2, parent: trace * 10 + 1, name: 'chat' },
      attributes: {
        'gen_ai.operation.name': 'chat',
        'gen_ai.conversation.id': `talk ${trace}`,
        'gen_ai.request.model': 'gpt-4o-mini',
        'gen_ai.usage.input_tokens': 10,
        'gen_ai.usage.output_tokens': 0,
        'gen_ai.input.messages': '[{"role":"user","parts":[{"type":"text","content":"Whither?"}]}]',
      },
    },
  ];
  beforeAll(async () => {
    const spans = [
      ...turn(61, 'guide'),
      ...turn(62, 'guide', 'evaluation'),
      ...turn(63, 'guide', 'evaluation'),
      ...turn(64, 'critic', 'playground'),
    ];
    await record(spans, '/agents/otel/v1/traces', project);
  });

  const agents = async (more: object) =>
    (await ask('query', { ...at, sort_by: [{ field: 'agent_name' }], ...more })).agents.map(
      (one: any) => [one.agent_name, one.invocation_count, one.span_count, one.total_input_tokens],
    );
  const versions = async (more: object) =>
    (await ask('agent-versions/query', { ...at, agent_name: 'guide', ...more })).versions.map(
      (one: any) => [one.invocation_count, one.total_input_tokens],
    );
  const spans = async (more: object) => (await ask('spans/query', { ...at, ...more })).total_count;
  const conversations = async (more: object) =>
    (await ask('spans/query', { ...at, group_by: [{ key: 'conversation_id' }], ...more }))
      .total_count;
  const found = async (more: object) =>
    (await ask('search', { ...at, query: 'whither', ...more })).results.length;

  it('are production where none is asked for', async () => {
    expect(await agents({})).toEqual([['guide', 1, 1, 10]]);
    expect(await versions({})).toEqual([[1, 10]]);
    expect(await spans({})).toBe(2);
    const costs = async (more: object) =>
      (await ask('query', { ...at, include_costs: true, ...more })).agents[0].total_cost_usd;
    // $0.15 per million input tokens
    expect(Number(await costs({}))).toBeCloseTo(10 * 0.15e-6, 12);
    expect(Number(await costs({ sources: ['evaluation'] }))).toBeCloseTo(20 * 0.15e-6, 12);
    expect(Number((await ask('agent-versions/query', { ...at, agent_name: 'guide', include_costs: true })).versions[0].total_cost_usd)).toBeCloseTo(10 * 0.15e-6, 12); // prettier-ignore
  });

  it('are those that a request names, or all of an empty list', async () => {
    expect(await agents({ sources: ['evaluation'] })).toEqual([['guide', 2, 2, 20]]);
    expect(await agents({ sources: ['production', 'playground'] })).toEqual([
      ['guide', 1, 1, 10],
      ['critic', 1, 1, 10],
    ]);
    expect(await agents({ sources: [] })).toEqual([
      ['guide', 3, 3, 30],
      ['critic', 1, 1, 10],
    ]);
    expect(await versions({ sources: ['evaluation'] })).toEqual([[2, 20]]);
    expect(await spans({ sources: ['evaluation'] })).toBe(4);
    expect(await spans({ sources: [] })).toBe(8);
    expect(await refused('spans/query', { sources: ['test'] })).toEqual([400, 'sources[0]']);
  });

  it('are all of the traces and conversations that a request names', async () => {
    expect(await spans({ query: is('trace_id', traceId(62)) })).toBe(2);
    expect(await spans({ query: is('agent.name', 'guide') })).toBe(1);
    expect(await spans({ query: is('agent.name', 'guide'), sources: ['evaluation'] })).toBe(2);
  });

  it('hold of groups, statistics, attributes and what is searched', async () => {
    expect(await conversations({})).toBe(1);
    expect(await conversations({ sources: [] })).toBe(4);
    expect(await found({})).toBe(1);
    expect(await found({ sources: [] })).toBe(4);
    expect(await found({ trace_id: traceId(62) })).toBe(1);
    const tokens = async (more: object) => {
      const metrics = [{ alias: 'tokens', value: { key: 'input_tokens' }, value_type: 'number' }];
      const { rows } = await ask('spans/stats', {
        ...at,
        start,
        end: '2026-01-01T00:20:00Z',
        metrics,
        ...more,
      });
      return rows.reduce((sum: number, row: any) => sum + (row.tokens_sum ?? 0), 0);
    };
    expect(await tokens({})).toBe(10);
    expect(await tokens({ sources: ['evaluation'] })).toBe(20);
    expect(await tokens({ sources: [] })).toBe(40);
    const named = async (more: object) =>
      (await ask('spans/custom-attrs/schema', { ...at, ...more })).attributes.find(
        ({ key }: any) => key === 'skein.source',
      )?.span_count;
    expect(await named({})).toBeUndefined();
    expect(await named({ sources: [] })).toBe(3);
  });
});
