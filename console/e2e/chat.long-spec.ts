import { readdirSync, readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { type Console, describeConsole, openConsole, violations } from './support/console.js';

const RECORDINGS = 'test/fixtures/otlp';
const PROJECT = 'acme/chat';
const at = (ms: number) => new Date(Date.UTC(2026, 0, 1) + ms).toISOString();
const QUESTION = { messages: [{ role: 'user', content: 'How is it?' }] };

describeConsole('conversations', () => {
  let console: Console;
  beforeAll(async () => void (console = await openConsole()));
  afterAll(() => console.close());
  afterEach(() => expect(console.faults).toEqual([]));

  async function post(path: string, body: unknown, headers: Record<string, string> = {}) {
    const answer = await console.app.post(path, body, { headers });
    if (answer.status !== 200) throw new Error(answer.text);
    return answer.body;
  }

  /** Sends the recorded telemetry of a client again. */
  async function replay(name: string, project_id: string) {
    const { spans, logs = [] } = JSON.parse(readFileSync(`${RECORDINGS}/${name}`, 'utf8'));
    for (const { origin, span } of spans)
      await post(
        '/otel/v1/traces',
        {
          resourceSpans: [
            { resource: origin.resource, scopeSpans: [{ scope: origin.scope, spans: [span] }] },
          ],
        },
        { project_id },
      );
    for (const { origin, record } of logs)
      await post(
        '/v1/logs',
        {
          resourceLogs: [
            {
              resource: origin.resource,
              scopeLogs: [{ scope: origin.scope, logRecords: [record] }],
            },
          ],
        },
        { project_id },
      );
  }

  const complete = (calls: object[]) => post(`/v2/${PROJECT}/calls/complete`, { batch: calls });
  const aCall = (id: string, rest: object) => ({
    project_id: PROJECT,
    id,
    trace_id: id,
    op_name: 'chat',
    started_at: at(0),
    ended_at: at(5),
    inputs: QUESTION,
    attributes: {},
    ...rest,
  });
  const chat = (page: Page) => page.getByRole('list', { name: 'Conversation' });
  const said = (page: Page) =>
    chat(page)
      .locator('> li')
      .evaluateAll((all) =>
        all.map((one) => [...one.children].map((part) => part.textContent ?? '')),
      );

  /**
   * Recordings without messages. Claude Code's telemetry has the prompt but no answer; Google's ADK has `contents`
   * instead.
   */
  const NO_MESSAGES = ['claude-code.json', 'google-adk-contents.json'];
  const recordings = readdirSync(RECORDINGS).filter(
    (name) => name.endsWith('.json') && !NO_MESSAGES.includes(name),
  );
  it.each(recordings)('shows every message that %s has', async (name) => {
    const project_id = `acme/${name.replace('.json', '')}`;
    await replay(name, project_id);
    const { calls } = await post('/calls/query', { project_id });
    const talks = calls.filter(({ inputs }: any) => inputs.messages);
    expect(talks.length).toBeGreaterThan(0);
    const page = await console.open('/connect');
    for (const { id, trace_id, inputs, output } of talks) {
      await page.goto(`${console.app.url}/console/p/${project_id}/traces/${trace_id}?call=${id}`);
      await chat(page).waitFor();
      const messages = await said(page);
      const systems = inputs.system_instructions ? 1 : 0;
      const asked = inputs.messages.flat().length; // LangChain sends lists of lists
      // the output of a graph's state repeats the input messages
      const isState = output?.messages?.length > asked + 1;
      const answers = isState ? output.messages.length - asked : 1;
      expect(messages).toHaveLength(systems + asked + (output === null ? 0 : answers));
      for (const [role, ...parts] of messages)
        expect(parts.join('').trim() === '' ? `${role} is blank` : '').toBe('');
    }
  });

  it.each<[string, object, string[]]>([
    ['a text', { output: 'Sunny.' }, ['output', 'Sunny.']],
    ['an object', { output: { sky: ['sunny'] } }, ['output', '{"sky":["sunny"]}']],
    ['a number', { output: 7 }, ['output', '7']],
    ['null, because it failed', { output: null, exception: 'boom' }, ['exception', 'boom']],
  ])('shows an output that is no message: %s', async (name, rest, shown) => {
    const id = name.replaceAll(/\W/g, '-');
    await complete([aCall(id, rest)]);
    const page = await console.open(`/p/${PROJECT}/traces/${id}`);
    await chat(page).waitFor();
    expect(await said(page)).toEqual([['user', 'How is it?'], shown]);
  });

  it('shows parts as text, whatever they hold, with each digit, and in both themes', async () => {
    const html = '<img src=x onerror=alert(1)>';
    const parts = [
      { type: 'text', content: html },
      { type: 'reasoning', content: 'Hm \u202E' },
      { type: 'tool_call', id: '1', name: html, arguments: { n: 7 } },
      { type: 'tool_call_response', id: '1', response: html },
      { type: 'blob', mime_type: 'image/png', modality: 'image', content: 'A'.repeat(9000) },
      { type: html, unheard: true },
    ];
    const inputs = { messages: [{ role: 'user', parts }], model: 'm' };
    const call = JSON.stringify(aCall('hostile', { inputs })).replace(
      '"n":7',
      '"n":12345678901234567890',
    );
    await post(`/v2/${PROJECT}/calls/complete`, `{"batch":[${call}]}`);
    for (const theme of ['light', 'dark'] as const) {
      const page = await console.open(`/p/${PROJECT}/traces/hostile`, { theme });
      await chat(page).getByText('{"n":12345678901234567890}').waitFor();
      for (const text of [
        'Hm ‹U+202E›',
        'answered',
        '(9,000 characters)',
        '"unheard":true',
        'The tab Data also shows: inputs.model',
      ])
        await page.getByRole('tabpanel').getByText(text).waitFor();
      expect(await page.locator('main img').count()).toBe(0);
      expect(await violations(page)).toEqual([]);
    }
  });

  it('shows them in a thread too, from the question on', async () => {
    const turn = (n: number, rest: object) => ({
      ...aCall(`turn-${n}`, rest),
      thread_id: 'parts',
      turn_id: `turn-${n}`,
      started_at: at(n * 10),
      ended_at: at(n * 10 + 5),
    });
    const asked = { role: 'user', parts: [{ type: 'text', content: 'And in Rome?' }] };
    const answered = { role: 'user', parts: [{ type: 'tool_call_response', response: 'sunny' }] };
    await complete([
      turn(0, { output: 'Sunny.' }),
      turn(1, {
        inputs: { messages: [...QUESTION.messages, asked, answered] },
        output: null,
        exception: 'boom',
      }),
      turn(2, { inputs: { city: 'Rome' }, output: null, exception: 'bang' }),
    ]);
    const page = await console.open(`/p/${PROJECT}/threads/parts`);
    const turns = page.getByRole('list', { name: 'Turns' });
    for (const text of ['Sunny.', 'And in Rome?', 'sunny', 'boom', '{"city":"Rome"}', 'bang'])
      await turns.getByText(text, { exact: true }).waitFor();
    await turns.getByText('1 earlier message in the trace').waitFor();
    expect(await violations(page)).toEqual([]);
  });
});
