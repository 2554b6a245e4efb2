import { BodyBudget } from '../../../../platform/http/body-budget.js';
import { CompletionStreamReader } from './completion-stream.js';

function stream(events: string) {
  const reader = new CompletionStreamReader('chat.completion');
  reader.add(Buffer.from(events));
  return reader.end(Buffer.from(events), new BodyBudget(1e9).hold('acme/key'));
}
const chunk = (index: number | string, more = '{"content":"x"}') =>
  `data: {"choices":[{"index":${index},"delta":${more}}]}\n\n`;

it('reads no chunk of a stream that would take too much memory', async () => {
  const { unread, text } = await stream(`data: ${'['.repeat(100_000)}\n\n${chunk(0)}`);
  expect(unread).toBe(1);
  expect(text).toContain('"content":"x"');
});

it('keeps choices and tool calls that a model makes only', async () => {
  const calls = Array.from({ length: 500 }, (_, i) => `{"index":${i}}`).join();
  const events = [-1, 0.5, 1001, '1e400', 3].map((index) => chunk(index)).join('');
  const { value } = await stream(`${events}${chunk(3, `{"tool_calls":[${calls},{"index":-1}]}`)}`);
  const { choices } = value as { choices: any[] };
  expect(choices).toHaveLength(1);
  expect(choices[0].message.tool_calls).toHaveLength(128);
});

it('reads the usage that only Groq puts into the last chunk', async () => {
  const usage = { prompt_tokens: 100, completion_tokens: 10 };
  const last = `data: ${JSON.stringify({ choices: [], x_groq: { id: 'req', usage } })}\n\n`;
  expect((await stream(chunk(0) + last)).value).toMatchObject({ usage });
});

it('reads no further where nothing can be read', async () => {
  const { unread } = await stream('data: {\n\n'.repeat(5000));
  expect(unread).toBe(1000);
});
