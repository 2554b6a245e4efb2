import { jsonIndex } from '../json/json-index.js';
import { columnNames, csvLine, csvLines, jsonLines } from './rows.js';

const TEXT = `[{"id":12345678901234567890,"name":"a, \\"b\\"","more":{"x":1.0}},
{"id":1.0,
"other":null,"__proto__":"=1+1"}]`;
const index = jsonIndex(TEXT);
const rows = { index, nodes: [...index.children(0)], digests: [] };

it('names the columns of all rows', () => {
  expect(columnNames(rows)).toEqual(['id', 'name', 'more', 'other', '__proto__']);
  expect(columnNames(rows, 2)).toEqual(['id', 'name']);
});

it('writes each row on a line, with every digit', () => {
  expect(jsonLines(rows)).toBe(
    '{"id":12345678901234567890,"name":"a, \\"b\\"","more":{"x":1.0}}\n{"id":1.0, "other":null,"__proto__":"=1+1"}\n',
  );
});

it('writes CSV with every digit', () => {
  expect(csvLine(['id', 'a "b"', 'c,d'])).toBe('id,"a ""b""","c,d"\r\n');
  expect(csvLines(rows, ['id', 'name', 'more'])).toBe(
    '12345678901234567890,"a, ""b""","{""x"":1.0}"\r\n1.0,,\r\n',
  );
});
