/*
 * The calls of the demo project: the last day of a support agent. The random numbers have a fixed seed, so that all
 * viewers see the same data.
 */

/** A whole call, in the form of `/v2/…/calls/complete`. It is sent as a start and an end. */
export interface DemoCall {
  id: string;
  trace_id: string;
  parent_id: string | null;
  op_name: string;
  display_name?: string;
  thread_id?: string;
  turn_id?: string;
  started_at: string;
  ended_at: string | null;
  inputs: object;
  attributes: object;
  output?: unknown;
  exception?: string;
  summary?: object;
}

const MODELS = ['gpt-4o-mini', 'claude-3-5-sonnet-20241022', 'house-7b'];
const TRACES = 64;
const TURNS = 4;
const DAY_MS = 86_400_000;

const QUESTIONS = [
  'Where is my parcel?',
  'I was charged twice. Can you look?',
  'How do I return a pair of shoes?',
  'Can I still change the delivery address?',
  'Does the warranty cover a broken zip?',
  'Why was my card declined?',
  'Is the blue one back in stock?',
  'Cancel my subscription, please.',
];
const ANSWERS = [
  'It left our warehouse yesterday and arrives **tomorrow before noon**. Here is the link: `DHL 00340434161094015902`.',
  'Yes: the second charge was a hold, and it was released this morning. It can take *two days* to show.',
  'Print the label from your order page, put it on the box, and hand it in anywhere within 30 days.',
  'The parcel has not left yet, so I have changed it. You get a mail with the new address.',
  'It does, for 24 months. Shall I send a replacement?',
];

/** Returns a generator of numbers from 0 to 1. The same seed gives the same numbers. */
function seededRandom(seed: number): () => number {
  let state = seed;
  return () => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647;
}

/** All calls of the day before `now`. One tool's document has numbers that JavaScript cannot hold: see `exactJson`. */
export function demoCalls(now: number): DemoCall[] {
  const random = seededRandom(42);
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!;
  const calls: DemoCall[] = [];
  for (let n = 0; n < TRACES; n++) {
    const start = now - DAY_MS + ((n + random()) / TRACES) * DAY_MS - 60_000;
    const thread = `ticket-${1041 + Math.floor(n / TURNS)}`;
    const trace = `demo-${String(n).padStart(3, '0')}`;
    const isBroken = n % 13 === 5;
    const isRunning = n === TRACES - 1;
    let clock = start;
    const during = (least: number, most: number): [string, string] => {
      const begin = clock + 2 + random() * 10;
      clock = begin + least + random() ** 3 * (most - least);
      return [new Date(begin).toISOString(), new Date(clock).toISOString()];
    };
    const child = (suffix: string, op_name: string, times: [string, string], rest: object) =>
      calls.push({
        id: `${trace}-${suffix}`,
        trace_id: trace,
        parent_id: trace,
        op_name,
        thread_id: thread,
        turn_id: trace,
        started_at: times[0],
        ended_at: times[1],
        inputs: {},
        attributes: {},
        ...rest,
      });
    const question = pick(QUESTIONS);
    const answer = pick(ANSWERS);
    const model = MODELS[n % 7 === 3 ? 2 : n % 3 === 1 ? 1 : 0]!;
    const messages: object[] = [
      { role: 'system', content: 'You help the customers of a shop. Use the tools. Be brief.' },
      { role: 'user', content: question },
    ];
    const ask = (suffix: string, reply: object) => {
      const prompt_tokens = 180 + Math.floor(random() * 900);
      const completion_tokens = 20 + Math.floor(random() * 160);
      child(suffix, 'chat', during(380, 4200), {
        inputs: { model, temperature: 0.2, messages: [...messages] },
        output: { choices: [{ index: 0, finish_reason: 'stop', message: reply }] },
        attributes: { service: 'support-agent', version: '1.4.2' },
        summary: { usage: { [model]: { prompt_tokens, completion_tokens, requests: 1 } } },
      });
      return { prompt_tokens, completion_tokens, requests: 1 };
    };
    const wish = {
      role: 'assistant',
      content: null,
      tool_calls: [
        {
          id: `call_${n}`,
          type: 'function',
          function: { name: 'find_order', arguments: JSON.stringify({ ticket: thread }) },
        },
      ],
    };
    const usage = [ask('1', wish)];
    messages.push(wish);
    const found = {
      order: '@@12345678901234567890@@',
      weight_kg: '@@1.0@@',
      status: 'shipped',
      items: ['SKU-881', 'SKU-114'],
    };
    child('2', 'find_order', during(15, 240), {
      inputs: { ticket: thread },
      ...(isBroken
        ? {
            exception:
              'TimeoutError: the order service did not answer within 200 ms\n  at find_order (tools.py:41)',
          }
        : { output: found }),
    });
    const retrieved = during(8, 60);
    child('3', 'search_help_pages', retrieved, {
      inputs: { query: question, k: 3 },
      output: [1, 2, 3].map((rank) => ({
        rank,
        page: `help/${pick(QUESTIONS).length + rank}`,
        score: Number((1 / rank).toFixed(3)),
      })),
    });
    if (!isBroken && !isRunning) {
      messages.push({
        role: 'tool',
        tool_call_id: `call_${n}`,
        content: JSON.stringify({ status: 'shipped' }),
      });
      usage.push(ask('4', { role: 'assistant', content: answer }));
    }
    const total = {
      prompt_tokens: usage.reduce((sum, one) => sum + one.prompt_tokens, 0),
      completion_tokens: usage.reduce((sum, one) => sum + one.completion_tokens, 0),
      requests: usage.length,
    };
    const end = during(1, 20)[1];
    calls.push({
      id: trace,
      trace_id: trace,
      parent_id: null,
      op_name: 'answer_ticket',
      display_name: question,
      thread_id: thread,
      turn_id: trace,
      started_at: new Date(start).toISOString(),
      ended_at: isRunning ? null : end,
      inputs: { question, customer: { id: 7000 + n, plan: pick(['free', 'pro', 'team']) } },
      attributes: { service: 'support-agent', version: '1.4.2' },
      ...(!isRunning && {
        ...(isBroken ? { exception: 'ToolError: find_order failed' } : { output: { answer } }),
        summary: { usage: { [model]: total }, ...(isBroken && { status_counts: { error: 1 } }) },
      }),
    });
  }
  return calls;
}

/** Writes JSON. A string such as `@@1.0@@` becomes the number inside it, digit for digit. */
export const exactJson = (value: unknown): string =>
  JSON.stringify(value).replaceAll(/"@@([\d.]+)@@"/g, '$1');
