import { serverLog } from './server-log.js';

const reports = (...lines: string[]) => {
  const found: [string, string][] = [];
  const read = serverLog((line, level) => found.push([level, line]));
  for (const line of lines) read(line);
  return found;
};

it.each([
  ['1 00000 LOG:  database system is ready', 'debug', 'database system is ready'],
  ['1 01000 WARNING:  there is no transaction', 'warn', 'there is no transaction'],
  ['1 53100 ERROR:  could not extend file "base/5/1"', 'error', 'could not extend file "base/5/1"'],
  ['1 XX001 ERROR:  invalid page in block 3', 'error', 'invalid page in block 3'],
  ['1 28P01 FATAL:  password authentication failed', 'error', 'password authentication failed'],
  ['1 58030 PANIC:  could not write to file', 'fatal', 'could not write to file'],
  ['1 57P01 FATAL:  terminating connection', 'debug', 'terminating connection'],
  ['1 57P02 WARNING:  terminating connection because of crash', 'warn', expect.any(String)],
  ['postgres: could not find the database system', 'debug', expect.any(String)],
])('%s is logged as %s', (line, level, text) => {
  expect(reports(line)).toEqual([[level, text]]);
});

it('tells nothing of a statement that was refused but its SQLSTATE', () => {
  expect(
    reports(
      '7 22P02 ERROR:  invalid input syntax for type integer: "hunter2',
      '\thunter2"',
      '7 22P02 DETAIL:  hunter2',
      '7 22P02 STATEMENT:  INSERT INTO t VALUES (',
      "\t'hunter2')",
    ),
  ).toEqual([['debug', 'refused a statement (SQLSTATE 22P02)']]);
});

it('keeps the lines of one message at its level, and leaves its statement out', () => {
  expect(
    reports(
      '7 58030 PANIC:  could not write',
      '\tto two lines',
      '7 58030 HINT:  Check the disk.',
      '7 58030 STATEMENT:  SELECT hunter2',
      '\thunter2',
      '8 00000 LOG:  all server processes terminated',
    ),
  ).toEqual([
    ['fatal', 'could not write'],
    ['fatal', 'to two lines'],
    ['fatal', 'hint: Check the disk.'],
    ['debug', 'all server processes terminated'],
  ]);
});
