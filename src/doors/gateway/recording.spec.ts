import { BodyBudget } from '../../platform/http/body-budget.js';
import { JsonLinesTransform } from './stream-transforms.js';
import { ChunkBuffer } from './chunk-buffer.js';
import { readWholeAnswer, CompletionStreamReader } from './recording.js';

const aHold = () => new BodyBudget(1e9).hold('acme/key');
function stream(events: string) {
  const reading = new CompletionStreamReader('chat.completion');
  reading.add(Buffer.from(events));
  return reading.end(Buffer.from(events), aHold());
}
const chunk = (index: number | string, more = '{"content":"x"}') =>
  `data: {"choices":[{"index":${index},"delta":${more}}]}\n\n`;

it('keeps an answer as a text that would take too much memory to read', async () => {
  const text = `[${'[],'.repeat(3_000_000)}[]]`;
  for (const heavy of [text, '['.repeat(100_000)]) {
    const { value, error } = await readWholeAnswer(Buffer.from(heavy), aHold());
    expect([value, error]).toEqual([undefined, 'the answer cannot be read']);
  }
});

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

it('makes lines of events in pieces of any size', () => {
  const events =
    'data: {"a":1}\n\n: said\ndata: {"b":\r\ndata: 2}\r\n\r\ndata:x\n\ndata: [DONE]\n\ndata: y';
  for (const size of [1, 2, 3, 7, 1000]) {
    const passage = new JsonLinesTransform(() => ({}));
    let lines = '';
    for (let at = 0; at < events.length; at += size)
      lines += passage.pass(Buffer.from(events.slice(at, at + size))).toString();
    expect(lines + passage.rest().toString()).toBe('{"a":1}\n{"b": 2}\nx\ny\n');
  }
});

it('joins pieces of a byte', () => {
  const pieces = new ChunkBuffer();
  const bytes = Buffer.from(Array.from({ length: 1000 }, (_, i) => i % 256));
  for (let at = 0; at < bytes.length; at++) pieces.add(bytes.subarray(at, at + 1));
  expect(pieces.length).toBe(1000);
  expect(pieces.take()).toEqual(bytes);
  expect(pieces.take()).toHaveLength(0);
});
