import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { readRecords } from './records.js';

const folder = mkdtempSync(join(tmpdir(), 'skein-records-'));
afterAll(() => rmSync(folder, { recursive: true }));

async function read(content: string | Buffer, name = 'f.json') {
  const file = join(folder, name);
  writeFileSync(file, content);
  const records: [line: number, value: unknown][] = [];
  for await (const { text, line } of readRecords(file)) records.push([line, JSON.parse(text)]);
  return records;
}

const odd = { '{"': '}]\\"', deep: [[{ a: ['\\'] }], {}], text: 'ü\n{' };

describe('readRecords', () => {
  it.each([
    ['lines', `${JSON.stringify(odd)}\n\n{"a":1}\r\n`, [1, 3]],
    ['a list over many lines', `[\n${JSON.stringify(odd, null, 1)},\n{"a":1}\n]\n`, [2, 15]],
    ['one after the other', `\ufeff${JSON.stringify(odd)}{"a":1}`, [1, 1]],
  ])('reads objects that are %s', async (_, text, lines) => {
    const [first, second] = lines;
    const expected = [
      [first, odd],
      [second, { a: 1 }],
    ];
    const records = await read(text);
    expect(records.map(([, value]) => value)).toEqual(expected.map(([, value]) => value));
    expect(records[0]![0]).toBe(first);
    expect(records[1]![0]).toBe(text.slice(0, text.indexOf('{"a":1}')).split('\n').length);
    expect(await read(gzipSync(text), 'f.json.gz')).toEqual(records);
  });

  it('reads a file of many chunks, whose borders fall anywhere', async () => {
    const values = Array.from({ length: 3000 }, (_, i) => ({ i, text: 'é{"\\'.repeat(i % 97) }));
    const lines = values.map((value) => JSON.stringify(value)).join('\n');
    expect(Buffer.byteLength(lines)).toBeGreaterThan(5 * 64 * 1024);
    expect(await read(lines)).toEqual(values.map((value, i) => [i + 1, value]));
  });

  it.each([
    ['{"a":1}\n[1]', ':2: must be a JSON object'],
    ['{"a":1}\n\ntrue', ':3: must be a JSON object'],
    ['id,name\n1,a', ':1: must be a JSON object'],
    ['{"a":1}\n{"a":\n[', ':2: the file ends within this record'],
    ['{"a":"}', ':1: the file ends within this record'],
  ])('names the line of what is wrong in %j', async (text, message) => {
    await expect(read(text)).rejects.toThrow(message);
  });
});
