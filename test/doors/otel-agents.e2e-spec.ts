import { readFileSync } from 'node:fs';
import * as fc from 'fast-check';
import { lookupType } from '../../src/doors/otel/otlp.js';
import { linesOf, useApp } from '../support/app.js';

/**
 * Recordings of the newest agents. Each ran one prompt with its tools against a fake provider (test/fixtures/agents).
 */
const AGENTS = [
  'claude-code',
  'claude-code-traced',
  'codex',
  'codex-traced',
  'gemini-cli',
] as const;
type Agent = (typeof AGENTS)[number];
interface Recording {
  logs: any[];
  traces: any[];
}
const recordings = Object.fromEntries(
  AGENTS.map((name) => [
    name,
    JSON.parse(readFileSync(`test/fixtures/agents/${name}.json`, 'utf8')) as Recording,
  ]),
) as Record<Agent, Recording>;

/**
 * Dollars of two answers, computed by hand from the price lists:
 * - claude-sonnet-4-5: 14 input tokens, 4 cache reads, 2 cache writes, 8 output
 * - gpt-5.1-codex: 20 input tokens, 4 of them cached, 8 output
 * - gemini-2.5-flash: the same as gpt-5.1-codex, and 3 tokens of thoughts
 */
const COSTS: Record<string, number> = {
  claude: (2 * (14 * 3 + 4 * 0.3 + 2 * 3.75 + 8 * 15)) / 1e6,
  codex: (2 * (16 * 1.25 + 4 * 0.125 + 8 * 10)) / 1e6,
  gemini: (2 * (16 * 0.3 + 4 * 0.03 + (8 + 3) * 2.5)) / 1e6,
};
const costOf = (agent: Agent) => COSTS[agent.split('-')[0]!]!;

const app = useApp();
let projects = 0;
const aProject = () => `acme/agent${projects++}`;

const post = async (path: string, body: object | Buffer, project_id: string) => {
  const type: Record<string, string> = Buffer.isBuffer(body)
    ? { 'content-type': 'application/x-protobuf' }
    : {};
  const told = await app.post(path, body, { headers: { project_id, ...type } });
  expect(told.status).toBe(200);
  return told;
};
/** Events that are rejected: they report the agent's own startup, or repeat another event. */
const LEFT = [
  'managed_settings_resolved',
  'plugin_loaded',
  'hook_execution_complete',
  'codex.startup_phase',
  'codex.turn_ttft',
  'event otel/src/metrics/client.rs:330',
  'gemini_cli.config',
  'gemini_cli.ripgrep_fallback',
  'gemini_cli.startup_stats',
  'gemini_cli.model_routing',
  'gemini_cli.plan.approval_mode_duration',
];
const isLeft = ({ attributes = [], eventName, spanId }: any): boolean => {
  const own = new Map<string, any>(attributes.map(({ key, value }: any) => [key, value]));
  const name = own.get('event.name')?.stringValue ?? eventName;
  return (
    LEFT.includes(name) ||
    // of the events of a streamed answer only the last one, which has the tokens, is kept
    (name === 'codex.sse_event' && !own.has('input_token_count') && !own.has('error.message')) ||
    // an answer without its prompt, and details without their span, cannot be assigned to a call
    (name === 'assistant_response' && !own.has('prompt.id')) ||
    (name === 'gen_ai.client.inference.operation.details' && !spanId)
  );
};
const sendLogs = async (logs: any[], project_id: string) => {
  for (const body of logs) {
    const { partialSuccess } = (await post('/v1/logs', body, project_id)).body;
    const records = body.resourceLogs.flatMap(({ scopeLogs }: any) =>
      scopeLogs.flatMap(({ logRecords }: any) => logRecords),
    );
    const left = records.filter(isLeft).length;
    expect(partialSuccess?.rejectedLogRecords).toBe(left === 0 ? undefined : `${left}`);
  }
};
const sendTraces = async (traces: any[], project_id: string) => {
  for (const body of traces) await post('/v1/traces', body, project_id);
};

/** Splits exports into exports of one record each. */
const singles = (logs: any[]): any[] =>
  logs.flatMap(({ resourceLogs }) =>
    resourceLogs.flatMap(({ resource, scopeLogs }: any) =>
      scopeLogs.flatMap(({ scope, logRecords }: any) =>
        logRecords.map((record: any) => ({
          resourceLogs: [{ resource, scopeLogs: [{ scope, logRecords: [record] }] }],
        })),
      ),
    ),
  );

const callsOf = async (project_id: string): Promise<any[]> =>
  (await app.post('/calls/query', { project_id, include_costs: true, limit: 2000 })).body.calls;
const seen = async (project_id: string) =>
  (await callsOf(project_id))
    .map((call: any) => ({ ...call, project_id: null }))
    .toSorted((a: any, b: any) => (a.id < b.id ? -1 : 1));
const costIn = async (project_id: string) => {
  const { body } = await app.post('/calls/stats', {
    project_id,
    ...{ start: '2026-11-26T00:00:00Z', end: '2026-11-27T00:00:00Z', granularity: 86_400 },
    usage_metrics: [{ metric: 'total_cost' }],
  });
  return body.usage_buckets.reduce(
    (sum: number, bucket: any) => sum + (bucket.sum_total_cost ?? 0),
    0,
  );
};
const threadsOf = async (project_id: string): Promise<any[]> =>
  linesOf(await app.post('/threads/stream_query', { project_id }));

/** The names of the calls as a tree. */
function treeOf(calls: any[]): any[] {
  const below = (parent: string | null): any[] =>
    calls
      .filter(({ parent_id }) => parent_id === parent)
      .toSorted((a, b) =>
        `${a.started_at} ${a.op_name}` < `${b.started_at} ${b.op_name}` ? -1 : 1,
      )
      .map(({ id, op_name }) => {
        const children = below(id);
        return children.length > 0 ? [op_name, children] : op_name;
      });
  return below(null);
}

describe.each(['claude-code', 'codex', 'gemini-cli'] as const)('events of %s', (agent) => {
  it('cost what the answers cost, once, also when they come twice, in protobuf', async () => {
    const project = aProject();
    const { logs } = recordings[agent];
    await sendLogs(logs, project);
    expect(await costIn(project)).toBeCloseTo(costOf(agent), 12);
    const before = await seen(project);
    const type = lookupType('collector.logs.v1.ExportLogsServiceRequest');
    const bytes = logs.map((body) =>
      Buffer.from(type.encode(type.fromObject(inBytes(body))).finish()),
    );
    for (const body of bytes) await post('/v1/logs', body, project);
    expect(await seen(project)).toEqual(before);
  });

  it('are a thread with one turn, and the tree of the prompt', async () => {
    const project = aProject();
    await sendLogs(recordings[agent].logs, project);
    const threads = await threadsOf(project);
    expect(threads.map(({ turn_count }) => turn_count)).toEqual([1]);
    expect(treeOf(await callsOf(project))).toMatchSnapshot();
  });

  it('are the same in any order, each alone and some twice', async () => {
    const whole = aProject();
    const { logs } = recordings[agent];
    await sendLogs(logs, whole);
    const expected = await seen(whole);
    const records = singles(logs).filter((one) =>
      /user_prompt|api_|tool|completed|response/.test(JSON.stringify(one)),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.shuffledSubarray(records, { minLength: records.length }),
        fc.subarray(records, { maxLength: 3 }),
        async (shuffled, again) => {
          const project = aProject();
          await sendLogs([...shuffled, ...again], project);
          const named = expected.filter(({ op_name }) => op_name !== 'codex.conversation_starts');
          expect(
            (await seen(project)).filter(({ op_name }) => op_name !== 'codex.conversation_starts'),
          ).toEqual(named);
        },
      ),
      { numRuns: 3 },
    );
  });
});

/** Converts ids for protobufjs, which reads strings as base64. OTLP/JSON has hexadecimal ids. */
const inBytes = (body: any): any =>
  JSON.parse(JSON.stringify(body), (key, value) =>
    (key === 'traceId' || key === 'spanId') && typeof value === 'string'
      ? Buffer.from(value, 'hex').toString('base64')
      : value,
  );

describe('events of claude-code', () => {
  it('say what was asked, answered and run, and what the agent takes as the cost', async () => {
    const project = aProject();
    await sendLogs(recordings['claude-code'].logs, project);
    const calls = await callsOf(project);
    const named = (name: string) =>
      calls.filter(({ op_name }) => op_name === `claude_code.${name}`);
    const [prompt] = named('user_prompt');
    expect(prompt).toMatchObject({
      inputs: { prompt: 'Say how the weather is, with echo.' },
      output: { messages: [{ role: 'assistant', content: 'It is sunny.' }] },
      thread_id: 'bbe1bc71-66ba-423d-8a37-6aa1ef2f2c72',
      turn_id: prompt.id,
      started_at: '2026-11-26T11:56:16.653000Z',
      ended_at: '2026-11-26T11:56:17.423000Z',
    });
    const requests = named('api_request').toSorted((a, b) =>
      a.started_at < b.started_at ? -1 : 1,
    );
    expect(requests).toMatchObject([
      {
        parent_id: prompt.id,
        started_at: '2026-11-26T11:56:16.872000Z', // 354 ms before the time of the event
        ended_at: '2026-11-26T11:56:17.226000Z',
        attributes: {
          cost_usd: 0.00017069999999999998,
          request_id: 'req_1',
          'gen_ai.request.model': 'claude-sonnet-4-5',
        },
        summary: {
          usage: {
            'claude-sonnet-4-5': {
              requests: 1,
              prompt_tokens: 20,
              completion_tokens: 8,
              cache_read_input_tokens: 4,
              cache_creation_input_tokens: 2,
            },
          },
        },
      },
      { output: { messages: [{ role: 'assistant', content: 'It is sunny.' }] } },
    ]);
    expect(named('tool_result')).toMatchObject([
      {
        display_name: 'Bash',
        inputs: { command: 'echo sunny', description: 'Say it' },
        exception: null,
      },
    ]);
    const { body } = await app.post('/agents/query', { project_id: project });
    expect(body.agents).toMatchObject([
      {
        agent_name: 'claude-code',
        invocation_count: 1,
        total_input_tokens: 40,
        total_output_tokens: 16,
      },
    ]);
  });

  it.each([
    ['the events first', ['logs', 'traces']],
    ['the spans first', ['traces', 'logs']],
    ['both twice', ['logs', 'traces', 'logs', 'traces']],
  ])('count once beside their spans: %s', async (_title, order) => {
    const project = aProject();
    const { logs, traces } = recordings['claude-code-traced'];
    for (const one of order)
      await (one === 'logs' ? sendLogs(logs, project) : sendTraces(traces, project));
    expect(await costIn(project)).toBeCloseTo(COSTS['claude']!, 12);
    expect((await threadsOf(project)).map(({ turn_count }) => turn_count)).toEqual([1]);
    expect(treeOf(await callsOf(project)).map(([name]) => name)).toEqual([
      'claude_code.interaction',
    ]);
  });

  it('count once beside their spans where no request has an id', async () => {
    const project = aProject();
    const { logs, traces } = JSON.parse(
      JSON.stringify(recordings['claude-code-traced']).replaceAll(
        /"(gen_ai\.response\.id|request_id)"/g,
        '"x"',
      ),
    );
    for (const one of singles(logs)) await sendLogs([one], project);
    await sendTraces(traces, project);
    expect(await costIn(project)).toBeCloseTo(COSTS['claude']!, 12);
  });

  it('belong to the last prompt before them where they name none', async () => {
    const project = aProject();
    const old = JSON.parse(
      JSON.stringify(recordings['claude-code'].logs).replaceAll('"prompt.id"', '"x"'),
    );
    await sendLogs(old.toReversed(), project);
    const calls = await callsOf(project);
    const [prompt] = calls.filter(({ op_name }) => op_name === 'claude_code.user_prompt');
    expect(
      calls.filter(({ parent_id }) => parent_id === prompt.id).map(({ op_name }) => op_name),
    ).toHaveLength(4);
  });

  it('fail where the agent says so', async () => {
    const project = aProject();
    const at = '1795694177226000000';
    const own = (name: string, more: object) => ({
      timeUnixNano: at,
      body: { stringValue: `claude_code.${name}` },
      attributes: Object.entries({
        'event.name': name,
        'session.id': 's',
        'prompt.id': 'p',
        ...more,
      }).map(([key, value]) => ({ key, value: { stringValue: value } })),
    });
    const logRecords = [
      own('api_error', {
        model: 'claude-sonnet-4-5',
        error: 'Overloaded',
        status_code: '529',
        duration_ms: '100',
        attempt: '3',
      }),
      own('tool_decision', {
        tool_name: 'Bash',
        tool_use_id: 't',
        decision: 'reject',
        source: 'user_reject',
      }),
      own('tool_result', {
        tool_name: 'Read',
        tool_use_id: 'u',
        success: 'false',
        error_type: 'ENOENT',
      }),
      own('user_prompt', { prompt: 'hi' }),
      own('hook_execution_complete', { hook: 'x' }),
    ];
    await sendLogs([{ resourceLogs: [{ scopeLogs: [{ logRecords }] }] }], project);
    const calls = await callsOf(project);
    expect(Object.fromEntries(calls.map(({ op_name, exception }) => [op_name, exception]))).toEqual(
      {
        'claude_code.api_error': 'Overloaded',
        'claude_code.tool_decision': 'the tool may not run: reject',
        'claude_code.tool_result': 'ENOENT',
        'claude_code.user_prompt': null,
      },
    );
  });
});

describe('events of codex', () => {
  it('begin an answer with its first request, and leave a failed one below the next answer', async () => {
    const project = aProject();
    await sendLogs(recordings['codex'].logs, project);
    const calls = await callsOf(project);
    const answers = calls.filter(({ op_name }) => op_name === 'codex.sse_event');
    const requests = calls.filter(({ op_name }) => op_name === 'codex.api_request');
    expect(answers.map(({ started_at }) => started_at).toSorted()).toEqual(
      requests.map(({ started_at }) => started_at).toSorted(),
    );
    expect(requests.map(({ parent_id }) => parent_id).toSorted()).toEqual(
      answers.map(({ id }) => id).toSorted(),
    );
    const [tool] = calls.filter(({ op_name }) => op_name === 'codex.tool_result');
    expect(tool).toMatchObject({
      display_name: 'exec_command',
      inputs: { cmd: 'echo sunny' },
      output: expect.stringContaining('sunny'),
    });
  });

  it('give two prompts of a session a turn each, whichever comes first', async () => {
    const project = aProject();
    const [first] = recordings['codex'].logs;
    const second = JSON.parse(JSON.stringify(first), (key, value) =>
      key === 'observedTimeUnixNano' ? `${BigInt(value) + 60_000_000_000n}` : value,
    );
    await sendLogs([second, first], project);
    expect((await threadsOf(project)).map(({ turn_count }) => turn_count)).toEqual([2]);
    const trees = treeOf(await callsOf(project)).filter((one) => Array.isArray(one));
    expect(trees[0]).toEqual(trees[1]);
    expect(await costIn(project)).toBeCloseTo(2 * COSTS['codex']!, 12);
  });

  it.each([
    ['the events first', ['logs', 'traces']],
    ['the spans first', ['traces', 'logs']],
  ])('count once beside their spans: %s', async (_title, order) => {
    const project = aProject();
    const { logs, traces } = recordings['codex-traced'];
    for (const one of order)
      await (one === 'logs' ? sendLogs(logs, project) : sendTraces(traces, project));
    expect(await costIn(project)).toBeCloseTo(COSTS['codex']!, 12);
    expect((await threadsOf(project)).map(({ turn_count }) => turn_count)).toEqual([1]);
  });
});

describe('events of coding agents', () => {
  it('count once beside their spans: gemini-cli', async () => {
    const project = aProject();
    const { logs, traces } = recordings['gemini-cli'];
    await sendTraces(traces, project);
    await sendLogs(logs, project);
    expect(await costIn(project)).toBeCloseTo(COSTS['gemini']!, 12);
  });

  it('need a project', async () => {
    const key = await app.aKey('writer', ['acme/*']);
    const refused = await app.post('/v1/logs', recordings['codex'].logs[0], { key });
    expect([refused.status, refused.body.errors[0].path]).toEqual([400, 'project_id']);
  });

  it('without a time are refused, and the others are stored', async () => {
    const project = aProject();
    const attributes = [
      { key: 'event.name', value: { stringValue: 'codex.user_prompt' } },
      { key: 'conversation.id', value: { stringValue: 'c' } },
    ];
    const logRecords = [
      { attributes },
      { attributes, observedTimeUnixNano: '1795694177226000000' },
    ];
    const body = { resourceLogs: [{ scopeLogs: [{ logRecords }] }] };
    const told = await post('/v1/logs', body, project);
    expect(told.body.partialSuccess).toEqual({
      rejectedLogRecords: '1',
      errorMessage: 'timeUnixNano is required',
    });
    expect(await callsOf(project)).toHaveLength(1);
  });
});

/** Splits exports into exports of `size` spans each. */
const spanParts = (traces: any[], size: number): any[] =>
  traces.flatMap(({ resourceSpans }) =>
    resourceSpans.flatMap(({ resource, scopeSpans }: any) =>
      scopeSpans.flatMap(({ scope, spans }: any) =>
        Array.from({ length: Math.ceil(spans.length / size) }, (_, i) => ({
          resourceSpans: [
            { resource, scopeSpans: [{ scope, spans: spans.slice(i * size, (i + 1) * size) }] },
          ],
        })),
      ),
    ),
  );
const placesOf = async (project: string) =>
  Object.fromEntries(
    (await callsOf(project)).map(({ id, op_name, parent_id }) => [id, [op_name, parent_id]]),
  );

describe('internal spans', () => {
  it('of codex are folded: 501 spans of a prompt are its turn and its tool', async () => {
    const project = aProject();
    const { traces } = recordings['codex-traced'];
    await sendTraces(traces, project);
    const calls = await callsOf(project);
    expect(treeOf(calls)).toEqual([['session_task.turn', ['exec_command']]]);
    expect((await threadsOf(project)).map(({ turn_count }) => turn_count)).toEqual([1]);
    // 40 input tokens, 8 of them cached, 16 output tokens
    expect(await costIn(project)).toBeCloseTo(COSTS['codex']!, 12);
    const metrics = await (await fetch(`${app.url}/metrics`)).text();
    expect(metrics).toMatch(/skein_otlp_folded_spans_total\{scope="codex_exec"\} \d+/);
    const info = (await (await fetch(`${app.url}/server_info`)).json()) as { otlp_fold: string };
    expect(info.otlp_fold).toContain('codex*');
  });

  it('of claude code are folded', async () => {
    const project = aProject();
    await sendTraces(recordings['claude-code-traced'].traces, project);
    expect(treeOf(await callsOf(project))).toEqual([
      [
        'claude_code.interaction',
        ['claude_code.llm_request', 'claude_code.tool', 'claude_code.llm_request'],
      ],
    ]);
  });

  it('leave the same calls however they arrive', async () => {
    const whole = aProject();
    const { traces } = recordings['codex-traced'];
    await sendTraces(traces, whole);
    const parts = spanParts(traces, 40);
    for (const list of [parts, parts.toReversed(), [...parts, ...parts.toReversed()]]) {
      const project = aProject();
      await Promise.all(list.map((body) => sendTraces([body], project)));
      expect(await placesOf(project)).toEqual(await placesOf(whole));
    }
  });

  const id = (n: number) => `c${n.toString(16).padStart(15, '0')}`;
  const aSpan = (n: number, parent: number | null, more: object = {}) => ({
    traceId: '5'.repeat(32),
    spanId: id(n),
    ...(parent !== null && { parentSpanId: id(parent) }),
    name: `span ${n}`,
    startTimeUnixNano: '1795694229000000000',
    endTimeUnixNano: '1795694230000000000',
    ...more,
  });
  const kept = { attributes: [{ key: 'gen_ai.operation.name', value: { stringValue: 'chat' } }] };
  const sent = (scope: string, span: object) => ({
    resourceSpans: [{ scopeSpans: [{ scope: { name: scope }, spans: [span] }] }],
  });
  /**
   * Spans in brackets are folded: 1 > (2) > (3) > 4 > (5) > 6. Span 7, of another scope, is below (3). Span 8 is below
   * (9), which has no parent.
   */
  const spans = [
    sent('codex_exec', aSpan(1, null, kept)),
    sent('codex_exec', aSpan(2, 1)),
    sent('codex_exec', aSpan(3, 2)),
    sent('codex_exec', aSpan(4, 3, kept)),
    sent('codex_exec', aSpan(5, 4)),
    sent('codex_exec', aSpan(6, 5, { status: { code: 2, message: 'broken' } })),
    sent('an app', aSpan(7, 3)),
    sent('codex_exec', aSpan(8, 9, kept)),
    sent('codex_exec', aSpan(9, null)),
  ];

  it('are passed over by those below, in whatever order all of them arrive', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.shuffledSubarray(spans, { minLength: spans.length }),
        fc.integer({ min: 1, max: 4 }),
        async (shuffled, atOnce) => {
          const project = aProject();
          for (let from = 0; from < shuffled.length; from += atOnce)
            await Promise.all(
              shuffled.slice(from, from + atOnce).map((body) => sendTraces([body], project)),
            );
          const parents = Object.entries(await placesOf(project)).map(([one, [, parent]]: any) => [
            one,
            parent,
          ]);
          expect(Object.fromEntries(parents)).toEqual({
            [id(1)]: null,
            [id(4)]: id(1),
            [id(6)]: id(4),
            [id(7)]: id(1),
            [id(8)]: null,
          });
        },
      ),
      { numRuns: 8 },
    );
  });
});
