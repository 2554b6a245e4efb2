import { spawn, spawnSync } from 'node:child_process';
import { createInterface } from 'node:readline';
import * as fc from 'fast-check';
import { jsonTexts } from '../../../../test/support/json-texts.js';
import { MAX_DEPTH, TooDeep } from '../../../platform/json/json-grammar.js';
import { bytesDigest, objectDigest, pythonJson, tableDigest } from './digest.js';

describe('objectDigest', () => {
  it.each([
    ['{"a": 2, "b": 1}', 'IVAduvcYUiOTTSIoPwHKY0EyvB3kqVUMHtDfYrOXoyM'],
    ['{"i": 0, "j": 9}', '1iTHpvCJEg9XffCYPT8chYt4nXvqepYaTxg3jfxHWog'],
    ['{"x": 1}', 'YTYlqmU0Pbsbmr5qusZ3P1yRvWDT8vX34urmnh24sic'],
    ['{"x": 1.0}', 'hXYo5CD9tT04YhwV9Lb3Yn20n4eGfwZO2DFpPCvifmA'],
    ['{"x": 1e-07}', '0fYzVbSMsPisyY4M8yc07JWyLUcehk90qogTwi7hCrg'],
    ['{"x": 1e+16}', 'xzj7bglzXGFHkdw27vZyM77IWBUE6xS67BUWy5K1vaM'],
    ['{"x": 12345678901234567890}', 'Aj9x6D1bXQCSpQXKYnqQn3FYn4SeJrDqAPgq5YzJ5W4'],
    [String.raw`{"k": "\u00e9"}`, 'zZjU1kzUeU30twHX86DnQMD03UIkKKG3dPt4I1OeKsc'],
    [String.raw`{"\uff5e": 2, "\ud83d\ude00": 1}`, 'lg1qR8C2js9D4Wfv83LfOYHonRepvcvX47nTGWb2Ulk'],
    ['"hello"', 'WqdirjgYu3J688ejbUlApbjECpiUUtIwT8lYYz81Tno'],
    ['null', 'dCNOmKYnSYX12vHzasLXiswzlGT5UHA7jAGYkvmCuQs'],
    ['[1, 2]', 'OjFtbTImXEweRuREf6jVYYALY0obxkmBUlI81KYCtps'],
  ])('of %s is what clients compute', (text, digest) => {
    expect(objectDigest(text)).toBe(digest);
    expect(pythonJson(text)).toBe(text);
  });

  it('does not depend on the spelling', () => {
    const spelled = ' {"b":\n1,"b" :2, "\\u0061" : "\u00e9\\/" } ';
    expect(objectDigest(spelled)).toBe(objectDigest(String.raw`{"a": "\u00e9/", "b": 2}`));
  });

  it('never holds a - or _', () => {
    const digests = Array.from({ length: 200 }, (_, i) => objectDigest(String(i))).join('');
    expect(digests).toMatch(/^[A-Za-z0-9]{8600}$/);
  });
});

describe('bytesDigest and tableDigest', () => {
  it('are what clients compute', () => {
    expect(bytesDigest(Buffer.from('hello'))).toBe('LPJNulXwow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ');
    const rows = Buffer.from(objectDigest('{"a":1}') + objectDigest('{"a":2}'));
    expect(tableDigest(rows)).toBe(
      '1c95cdc46a75d6e7e971986a80adfcd676dd22f2222a3405c7743f3db8df6785',
    );
  });
});

const lists = (levels: number) => '['.repeat(levels) + ']'.repeat(levels);
const objects = (levels: number) => '{"": '.repeat(levels) + '0' + '}'.repeat(levels);

describe('pythonJson', () => {
  it.each([
    ['-0', '0'],
    ['-0.0', '-0.0'],
    ['0e5', '0.0'],
    ['0.1e1', '1.0'],
    ['1E22', '1e+22'],
    ['1e16', '1e+16'],
    ['9999999999999998.0', '9999999999999998.0'],
    ['0.0001', '0.0001'],
    ['0.00001', '1e-05'],
    ['5e-324', '5e-324'],
    ['1.7976931348623157e308', '1.7976931348623157e+308'],
    ['1e400', 'Infinity'],
    ['-1e400', '-Infinity'],
    ['-1e-400', '-0.0'],
    ['"\u007f\\u007F\\/"', String.raw`"\u007f\u007f/"`],
    [String.raw`"\u0000\u000A\u000b\u0022\u005C\u0041"`, String.raw`"\u0000\n\u000b\"\\A"`],
    [String.raw`"\b\f\n\r\t\"\\"`, String.raw`"\b\f\n\r\t\"\\"`],
    [
      String.raw`{"\ud83d\ude00":1,"\uff5e":2,"\uD83D":3}`,
      String.raw`{"\ud83d": 3, "\uff5e": 2, "\ud83d\ude00": 1}`,
    ],
    ['{"ab":1,"a":2,"":3,"__proto__":4,"a":5}', '{"": 3, "__proto__": 4, "a": 5, "ab": 1}'],
    ['[[],{},[ ],{ }]', '[[], {}, [], {}]'],
  ])('prints %s as %s', (text, printed) => {
    expect(pythonJson(text)).toBe(printed);
  });

  it('prints integers longer than Python reads', () => {
    expect(pythonJson('1'.repeat(5000))).toBe('1'.repeat(5000));
  });

  it('prints texts of any length', () => {
    for (const part of ['x', '\\n', '\u00e9', 'yes, no: \\u4e2d']) {
      for (const length of [65_530, 65_535, 65_536, 200_000]) {
        const text = `["", "${part.repeat(length / part.length)}", 1]`;
        expect(pythonJson(text)).toBe(text.replaceAll('\u00e9', String.raw`\u00e9`));
      }
    }
  });

  it(`allows ${MAX_DEPTH} levels and refuses more`, () => {
    for (const nested of [lists, objects]) {
      expect(pythonJson(nested(MAX_DEPTH))).toBe(nested(MAX_DEPTH));
      expect(() => pythonJson(nested(MAX_DEPTH + 1))).toThrow(TooDeep);
      expect(() => pythonJson(nested(1_000_000))).toThrow(TooDeep);
    }
  });
});

const hasPython = spawnSync('python3', ['--version']).status === 0;

const describeWithPython = hasPython ? describe : describe.skip;

describeWithPython('pythonJson beside a real Python (skipped where there is no python3)', () => {
  /** Prints what is digested for each line, a JSON text as a JSON string. Integers of any length are allowed. */
  const script = `
import json, sys
getattr(sys, "set_int_max_str_digits", lambda digits: None)(0)
for line in sys.stdin.buffer:
    print(json.dumps(json.loads(json.loads(line)), sort_keys=True), flush=True)
`;
  const start = () => spawn('python3', ['-c', script], { stdio: ['pipe', 'pipe', 'inherit'] });
  let python: ReturnType<typeof start>;

  beforeAll(() => {
    python = start();
  });
  afterAll(() => {
    python.stdin.end();
  });

  it('prints what Python prints', async () => {
    const answers = createInterface(python.stdout)[Symbol.asyncIterator]();
    await fc.assert(
      fc.asyncProperty(jsonTexts, async (text) => {
        python.stdin.write(`${JSON.stringify(text)}\n`);
        expect(pythonJson(text)).toBe((await answers.next()).value);
      }),
      { numRuns: 5000 },
    );
  });
});
