import { JsonRowWriter, type RowPiece } from './json-row-writer.js';

function written(pieces: RowPiece[], values: (string | null)[]): string {
  const writer = new JsonRowWriter(pieces);
  const parts = values.map((value) => {
    const length = Buffer.alloc(4);
    length.writeInt32BE(value === null ? -1 : Buffer.byteLength(value));
    return Buffer.concat([length, Buffer.from(value ?? '')]);
  });
  const row = Buffer.concat([Buffer.alloc(2), ...parts]);
  writer.add(row, 0, row.length);
  const { bytes, ends } = writer.take();
  return bytes.toString('utf8', 0, ends[0]);
}

const answered = (time: string) => written([{ name: 'at', kind: 'time' }], [time]);

describe('JsonRowWriter', () => {
  it.each([
    ['2026-01-31 12:00:00+00', '2026-01-31T12:00:00.000000Z'],
    ['2026-01-31 12:00:00.5+00', '2026-01-31T12:00:00.500000Z'],
    ['0001-01-01 00:00:00.123456+00', '0001-01-01T00:00:00.123456Z'],
  ])('writes the time %s in the form of the wire', (time, wire) => {
    expect(answered(time)).toBe(`{"at":"${wire}"}`);
  });

  it.each([
    '2026-01-31 17:30:00+05:30',
    '2026-01-31 13:00:00+01',
    '31/01/2026 12:00:00 UTC',
    'Sat Jan 31 12:00:00 2026 UTC',
    '10000-01-01 00:00:00+00',
    '0044-03-15 12:00:00+00 BC',
    'infinity',
  ])('refuses the time %s, which is not spelled as in UTC', (time) => {
    expect(() => answered(time)).toThrow('not a time in UTC');
  });

  it('asks for what is computed with the values of the row, as texts', () => {
    const long = 'ä'.repeat(100_000); // longer than the writer's buffer
    const asked: unknown[] = [];
    const computed = (values: (string | null)[]) => {
      asked.push(values);
      return JSON.stringify(long);
    };
    const by: RowPiece[] = [
      { name: 'status', kind: 'text' },
      { name: 'costs', kind: 'computed', values: 2, by: computed },
      { name: 'behind', kind: 'text' },
    ];
    const pieces: RowPiece[] = [{ name: 'summary', kind: 'extended', member: 'svc', by }];
    const told = JSON.stringify({ status: 'ok', costs: long, behind: 'x' });
    expect(written(pieces, ['{"a":"ö"}', 'ok', 'é', null, 'x'])).toBe(
      `{"summary":{"a":"ö","svc":${told}}}`,
    );
    expect(written(pieces, [null, 'ok', '', 'b', 'x'])).toBe(`{"summary":{"svc":${told}}}`);
    expect(asked).toEqual([
      ['é', null],
      ['', 'b'],
    ]);
  });

  it.each([
    [
      '{"a":1,"svc":{"mine":1.0,"status":"gone"},"b":2}',
      '{"a":1,"b":2,"svc":{"mine":1.0,"status":"ok"}}',
    ],
    ['{"svc":{"status":"gone"}}', '{"svc":{"status":"ok"}}'],
    ['{"svc":7,"a":1}', '{"a":1,"svc":{"status":"ok"}}'],
    [' { "svc" : {"mine":"\\u0000"} } ', '{"svc":{"mine":"\\u0000","status":"ok"}}'],
    ['{"a":"svc \\"svc\\""}', '{"a":"svc \\"svc\\"","svc":{"status":"ok"}}'],
    ['{"a":["svc"]}', '{"a":["svc"],"svc":{"status":"ok"}}'],
    ['{"a":{"svc":1}}', '{"a":{"svc":1},"svc":{"status":"ok"}}'],
    ['{}', '{"svc":{"status":"ok"}}'],
    [null, '{"svc":{"status":"ok"}}'],
  ])('gives %s the member once, with what it had in it besides', (object, summary) => {
    const by: RowPiece[] = [{ name: 'status', kind: 'text' }];
    const pieces: RowPiece[] = [{ name: 'summary', kind: 'extended', member: 'svc', by }];
    expect(written(pieces, [object, 'ok'])).toBe(`{"summary":${summary}}`);
  });

  it('has room for an object with a large member of the same name', () => {
    const own = JSON.stringify({ svc: { text: 'ä\n'.repeat(100_000) } });
    const by: RowPiece[] = [{ name: 'status', kind: 'text' }];
    const pieces: RowPiece[] = [{ name: 'summary', kind: 'extended', member: 'svc', by }];
    expect(written(pieces, [own, 'ok'])).toBe(`{"summary":${own.slice(0, -2)},"status":"ok"}}}`);
  });
});
