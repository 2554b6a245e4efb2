import {
  MAX_BODY_DEPTH,
  MAX_PARSED_BYTES,
  MAX_PARSED_WEIGHT,
  MAX_SHAPES,
  MAX_SHORT_STRINGS,
  parsedBytes,
  parseBounded,
} from './json-weight.js';

const MIB = 1024 * 1024;
const listText = (length: number, element: (i: number) => string) =>
  `[${Array.from({ length }, (_, i) => element(i)).join(',')}]`;
/** More strings than the estimate remembers, so that each repetition counts as new. */
const words = listText(100_000, (i) => `,"${i}"`)
  .slice(1, -1)
  .replaceAll(',,', ',');
const callText = (i: number) =>
  JSON.stringify({
    mode: 'start',
    req: {
      start: {
        project_id: 'acme/demo',
        id: `call-${i}`,
        op_name: 'chat',
        started_at: '2026-01-31T12:00:00Z',
        attributes: { model: 'gpt', temperature: 0.5, tags: ['a', 'b'] },
        inputs: {
          messages: Array.from({ length: 10 }, (_, k) => ({
            role: 'user',
            content: `What is ${k} times ${i}, and why does nobody else ever seem to ask that at all?`,
            tokens: [1, 2, 3, 4, 5],
          })),
        },
      },
    },
  });

describe('the estimate of what a JSON text takes when it is parsed', () => {
  it.each<[string, number, (count: number) => string]>([
    ['different keys', MAX_SHAPES, (count) => listText(count, (i) => `{"k${i}":1}`)],
    [
      'different keys of one object',
      MAX_SHAPES,
      (count) => `{${listText(count, (i) => `"k${i}" :1`).slice(1, -1)}}`,
    ],
    [
      'different short strings',
      MAX_SHORT_STRINGS,
      (count) => `["0"${words.repeat(count / 100_000)}]`,
    ],
  ])('refuses too many %s, and names the limit', (_, limit, repeatText) => {
    expect(() => parsedBytes(repeatText(limit * 0.8))).not.toThrow();
    expect(() => parsedBytes(repeatText(limit * 1.2))).toThrow(
      expect.objectContaining({
        isDepth: false,
        message: expect.stringContaining(`limit of ${limit} `),
      }),
    );
  });

  it.each([
    ['objects', '{}', 96],
    ['arrays', '[]', 96],
    ['values', '1', 24],
    ['doubles', '-0', 40],
    ['objects with numbers as keys', '{"999999":1}', 256],
    ['nested arrays', '['.repeat(1000) + ']'.repeat(1000), 72_000],
  ])('refuses %s that take too much memory', (_, element, bytes) => {
    const repeatText = (count: number) => `[${`${element},`.repeat(count)}1]`;
    const most = Math.floor(MAX_PARSED_BYTES / bytes);
    expect(() => parsedBytes(repeatText(Math.floor(most * 0.95)))).not.toThrow();
    expect(() => parsedBytes(repeatText(Math.ceil(most * 1.05)))).toThrow(
      expect.objectContaining({
        isDepth: false,
        message: expect.stringContaining(`limit of ${MAX_PARSED_BYTES}`),
      }),
    );
  });

  it('counts short strings as short when they are written in escapes', () => {
    const escaped = words.replaceAll(',"', ',"\\u0041\\u0042');
    expect(() =>
      parsedBytes(`["0"${escaped.repeat((MAX_SHORT_STRINGS * 1.2) / 100_000)}]`),
    ).toThrow(`limit of ${MAX_SHORT_STRINGS} different strings`);
  });

  it('refuses a text that is nested too deep, before it is parsed', () => {
    const nested = (depth: number) => '['.repeat(depth) + ' '.repeat(70_000) + ']'.repeat(depth);
    expect(() => parsedBytes(nested(MAX_BODY_DEPTH))).not.toThrow();
    expect(() => parsedBytes(nested(MAX_BODY_DEPTH + 1))).toThrow(
      expect.objectContaining({ isDepth: true, message: expect.stringContaining('10000 levels') }),
    );
  });

  it.each<[string, string]>([
    ['32 MiB of embeddings', listText(2_600_000, (i) => `0.0${i + 10_000_000}`)],
    ['32 MiB of token ids', listText(5_592_000, (i) => String(10_000 + (i % 90_000)))],
    ['a batch of calls with messages', listText(16_000, (i) => callText(i))],
    ['a million rows', listText(1_000_000, (i) => `{"id":${i},"q":"what is ${i}?"}`)],
    ['a vocabulary', `{${listText(199_000, (i) => `"token ${i}":${i}`).slice(1, -1)}}`],
    ['a text of 32 MiB', `["${'\\"quoted\\" {[:,'.repeat(2_000_000)}"]`],
  ])('passes %s, within the least budget', (_, text) => {
    const forLargeBodies = (12 * 32 * MIB * 7) / 8;
    expect(parsedBytes(text) + 3 * text.length).toBeLessThan(forLargeBodies);
  });

  it('looks for structure outside strings only', () => {
    const plain = parsedBytes(`["${'x'.repeat(100_000)}"]`);
    expect(parsedBytes(`["${'{[,:'.repeat(25_000)}"]`)).toBe(plain);
    expect(parsedBytes(`["${'\\"[{,'.repeat(20_000)}"]`)).toBe(plain);
  });

  it.each<[string, (i: number) => string]>([
    ['objects', () => '{}'],
    ['nested arrays', () => '[[[[]]]]'],
    ['doubles', () => '1.5'],
    ['strings', (i) => `"${i + 10_000_000}"`],
    ['objects of keys of their own', (i) => `{"k${i}":1}`],
    ['objects with numbers as keys', () => '{"999999999":1}'],
    ['objects of one shape', () => '{"a":1,"b":2}'],
  ])('is no less than what %s take', (_, element) => {
    const text = Buffer.from(listText(100_000, element)).toString('latin1');
    const before = process.memoryUsage().heapUsed;
    const value = JSON.parse(text);
    const taken = process.memoryUsage().heapUsed - before;
    expect(value).toHaveLength(100_000);
    expect(parsedBytes(text)).toBeGreaterThan(taken * 0.9);
  });

  it('lets a part of a body pass that is heavy and short, not one that is heavy and long', () => {
    const objects = (bytes: number) => listText(bytes / 3, () => '{}');
    expect(parseBounded(objects(60_000))).toHaveLength(20_000);
    expect(() => parseBounded(objects(MIB))).toThrow(`limit of ${MAX_PARSED_WEIGHT} bytes`);
  });
});
