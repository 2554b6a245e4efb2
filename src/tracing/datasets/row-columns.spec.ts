import { RowColumns } from './row-columns.js';

const output = '{"choices": [{"message": {"content": 1.0}}, {"0": 12345678901234567890}]}';
const row = (columns: Record<string, unknown>) =>
  RowColumns.read(columns).row({
    texts: new Map([
      ['output', output],
      ['inputs', null],
      ['feedback svc.note.1', '{"note": "n"}'],
    ]),
    values: { id: 'c', ended_at: null },
  });

describe('RowColumns', () => {
  it.each([
    [{ a: 'output.choices[0].message.content' }, '{"a":1.0}'],
    [{ a: 'output.choices.0.message.content' }, '{"a":1.0}'],
    [{ a: 'output.choices[1].[0]' }, '{"a":null}'],
    [{ a: 'output.choices[1][0]' }, '{"a":null}'],
    [{ a: 'output.choices[9]', b: 'inputs.x' }, '{"a":null,"b":null}'],
    [{ a: 'output' }, `{"a":${output}}`],
    [{ b: 'id', a: 'ended_at' }, '{"b":"c","a":null}'],
    [{ a: 'feedback.[svc.note.1].payload.note' }, '{"a":"n"}'],
    [{ 'a"b': 'id', __proto: 'id' }, '{"a\\"b":"c","__proto":"c"}'],
  ])('makes of %j the row %s', (columns, text) => {
    expect(row(columns)).toBe(text);
  });

  it.each([
    {},
    { a: 'nothing' },
    { a: 'id.x' },
    { a: 'feedback.x' },
    { a: 3 },
    { 'a\0': 'id' },
    Object.fromEntries(Array.from({ length: 65 }, (_, i) => [`c${i}`, 'id'])),
    Object.fromEntries(Array.from({ length: 9 }, (_, i) => [`c${i}`, `feedback.t${i}.payload`])),
  ])('refuses %j', (columns) => {
    expect(() => RowColumns.read(columns)).toThrow(/columns/);
  });
});
