import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { DIALECTS } from './dialects.js';
import {
  countsGross,
  parseUsageEntry,
  sentName,
  storedUsage,
  parseStoredUsage,
} from './stored-usage.js';
import { DETAILS } from './tokens.js';
import { reportedUsage } from './usage.js';

/** The columns of docs/clients/usage.md. */
const COLUMNS = [
  ['prompt'],
  ['completion'],
  ['total'],
  ['cache_read'],
  ['cache_write', 'cache_write_5m', 'cache_write_1h'],
  ['reasoning', 'citation'],
  ['tool_use'],
] as const;

const counts = (usage: Record<string, unknown>) =>
  Object.values(parseUsageEntry(usage, false).tokens);

describe('readUsage', () => {
  it.each<[string, Record<string, unknown>, number[]]>([
    ['chat completions', { prompt_tokens: 100, completion_tokens: 7 }, [100, 7, 0, 0]],
    [
      'cached tokens of chat completions',
      { prompt_tokens: 100, completion_tokens: 7, prompt_tokens_details: { cached_tokens: 40 } },
      [60, 7, 40, 0],
    ],
    [
      'cached tokens of responses',
      { input_tokens: 100, output_tokens: 7, input_tokens_details: { cached_tokens: 40 } },
      [60, 7, 40, 0],
    ],
    [
      'the names of Google',
      { prompt_token_count: 100, candidates_token_count: 7, cached_content_token_count: 40 },
      [60, 7, 40, 0],
    ],
    [
      'cached tokens beside prompt tokens, which hold them',
      { prompt_tokens: 100, cache_read_input_tokens: 40, cache_creation_input_tokens: 10 },
      [50, 0, 40, 10],
    ],
    [
      'the form of Anthropic, whose input tokens do not hold them',
      {
        input_tokens: 100,
        output_tokens: 7,
        cache_read_input_tokens: 40,
        cache_creation_input_tokens: 10,
      },
      [100, 7, 40, 10],
    ],
    [
      'that form with a total which says that they do',
      { input_tokens: 100, output_tokens: 7, cache_read_input_tokens: 40, total_tokens: 107 },
      [60, 7, 40, 0],
    ],
    [
      'more cached tokens than prompt tokens, so that they are not among them',
      { prompt_tokens: 10, cache_read_input_tokens: 40 },
      [10, 0, 40, 0],
    ],
    ['both names of a count', { prompt_tokens: 3, input_tokens: 5 }, [3, 0, 0, 0]],
    ['a 0 beside a count', { prompt_tokens: 0, input_tokens: 50, output_tokens: 0 }, [50, 0, 0, 0]],
    [
      'a 0 beside the form of Anthropic',
      { prompt_tokens: 0, input_tokens: 50, cache_read_input_tokens: 40 },
      [50, 0, 40, 0],
    ],
    [
      'a 0 beside cached tokens',
      {
        input_tokens: 50,
        cache_read_input_tokens: 0,
        input_tokens_details: { cached_tokens: 40 },
      },
      [10, 0, 40, 0],
    ],
    ['counts that are none', { prompt_tokens: '12', completion_tokens: -1 }, [0, 0, 0, 0]],
    ['fractions and infinity', { prompt_tokens: 1.5, output_tokens: 1e300 }, [0, 0, 0, 0]],
    ['a count that is none beside one', { prompt_tokens: null, input_tokens: 5 }, [5, 0, 0, 0]],
    ['details that are no object', { prompt_tokens: 9, prompt_tokens_details: 'x' }, [9, 0, 0, 0]],
  ])('reads %s', (_, usage, expected) => {
    expect(counts(usage)).toEqual(expected);
  });

  const both = ['prompt_tokens', 'completion_tokens'];
  it.each<[Record<string, unknown>, string[]]>([
    [{ prompt_tokens: 5 }, []],
    [{ completion_tokens: 0, prompt_tokens: null }, []],
    [{}, both],
    [{ promptTokens: 5 }, []],
    [{ prompted: 5 }, both],
    [{ total_tokens: 1000 }, both],
    [{ prompt_tokens: null, output_tokens: null }, both],
    [{ cache_read_input_tokens: 5 }, both],
    ...['1000', 1.5, -5, 1e20, true, {}].map((count): [Record<string, unknown>, string[]] => [
      { prompt_tokens: count, input_tokens: 7, completion_tokens: 5 },
      ['prompt_tokens'],
    ]),
    [{ prompt_tokens: 5, completion_tokens: '7' }, ['completion_tokens']],
    [
      { prompt_tokens: 5, prompt_tokens_details: { cached_tokens: '7' } },
      ['prompt_tokens', 'cache_read_input_tokens'],
    ],
    [
      { input_tokens: 5, cache_creation_input_tokens: -1 },
      ['prompt_tokens', 'cache_creation_input_tokens'],
    ],
  ])('of %j does not know %j', (usage, unknown) => {
    expect([...parseUsageEntry(usage, false).unknown]).toEqual(unknown);
  });
});

/** Names of all dialects, which one entry may mix. */
const ALL_NAMES = DIALECTS.flatMap(({ names }) => Object.values(names).flat()).filter(
  (name) => !/[.[]/.test(name),
);
const TOTALS = DIALECTS.flatMap(({ names }) => names.total ?? []);
const anyEntry = (count: fc.Arbitrary<unknown>) =>
  fc.dictionary(fc.constantFrom(...ALL_NAMES, 'input_mine', 'output_mine'), count, { maxKeys: 8 });

describe('any entry', () => {
  const some = fc.oneof(fc.nat(20), fc.nat(2000), fc.constantFrom(null, -1, 1.5, 'x'));

  it('has no negative counts, and no more details than tokens', () => {
    fc.assert(
      fc.property(anyEntry(some), fc.boolean(), (usage, isGross) => {
        const { tokens, details } = parseUsageEntry(usage, isGross);
        const left: Record<string, number> = { ...tokens };
        DETAILS.forEach(([, kind], i) => (left[kind]! -= details?.[i] ?? 0));
        for (const count of [...Object.values(left), ...(details ?? [])])
          expect(count).toBeGreaterThanOrEqual(0);
      }),
      { numRuns: 2000 },
    );
  });

  it('without a total says the same when a door has reported it', () => {
    fc.assert(
      fc.property(anyEntry(some), (usage) => {
        const entry = Object.fromEntries(
          Object.entries(usage).filter(([name]) => !TOTALS.includes(name)),
        );
        const said = parseUsageEntry(entry, false);
        const reported = parseUsageEntry(reportedUsage(entry), false);
        const isUnknown = said.unknown.size > 0;
        expect([...reported.unknown]).toEqual(expect.arrayContaining([...said.unknown]));
        expect(isUnknown ? said : reported).toEqual(said);
      }),
      { numRuns: 2000 },
    );
  });
});

it('is the table that the documentation has', () => {
  const rows = DIALECTS.map(({ source, link, names, apart = [] }) => {
    const cell = (...counts: (keyof typeof names)[]) =>
      counts
        .flatMap((count) =>
          [names[count] ?? []]
            .flat()
            .map((name) => `\`${name}\`${apart.includes(count) ? ' +' : ''}`),
        )
        .join(', ');
    const details = Object.keys(names).filter((count) => !COLUMNS.flat().includes(count as never));
    return `| [${source}](${link}) | ${COLUMNS.map((counts) => cell(...counts)).join(' | ')} | ${cell(...(details as never[]))} |`;
  });
  const documented = readFileSync('docs/clients/usage.md', 'utf8').split('\n');
  const squeezed = (line: string) => line.replaceAll(/ +/g, ' ');
  expect(documented.filter((line) => line.startsWith('| [')).map(squeezed)).toEqual(
    rows.map(squeezed),
  );
});

describe('storedUsage', () => {
  it('keeps all that was read, for clients that count gross and for others', () => {
    const count = fc.oneof(fc.nat(5), fc.constantFrom(null, -1, 1.5, 'x', 2 ** 53));
    const names = ['prompt_tokens', 'input_tokens', 'cache_read_input_tokens', 'total_tokens'];
    const more = ['output_tokens', 'cache_creation_input_tokens', 'requests'];
    const entry = fc.dictionary(fc.constantFrom(...names, ...more), count);
    fc.assert(
      fc.property(fc.dictionary(fc.string(), entry), fc.boolean(), (usage, isGross) => {
        const stored = storedUsage(usage) ?? [];
        expect(stored.map(sentName)).toEqual(Object.keys(usage));
        for (const one of stored) {
          const said = usage[sentName(one)]!;
          expect(parseStoredUsage(one, isGross)).toEqual(parseUsageEntry(said, isGross));
          const { requests } = said;
          expect(one.requests).toBe(
            Number.isSafeInteger(requests) && Number(requests) >= 0 ? requests : undefined,
          );
        }
      }),
    );
  });

  it('is null where nothing is said', () => {
    for (const usage of [undefined, null, 1, 'x', [], {}, { m: 1 }, { m: null }, { m: [] }])
      expect(storedUsage(usage)).toBeNull();
  });

  it('reads the first 1000 models, in the order of JavaScript', () => {
    const names = ['b', '10', 'a', '9', '4294967295', '4294967294', '007'];
    const many = [...names, ...Array.from({ length: 1500 }, (_, i) => `m${i}`)];
    const usage = Object.fromEntries(many.map((name) => [name, {}]));
    const read = storedUsage(usage)!.map(({ llm_id }) => llm_id);
    expect(read).toEqual(Object.keys(usage).slice(0, 1000));
  });

  it('names models as PostgreSQL can hold them, and as they were sent', () => {
    const usage = { 'a\0': { requests: 1 }, b: {}, 'a\ud800': { requests: 2 } };
    const stored = storedUsage(usage)!;
    expect(stored.map(({ llm_id }) => llm_id)).toEqual(['a\ufffd', 'b', 'a\ufffd']);
    expect(stored.map(sentName)).toEqual(Object.keys(usage));
  });
});

describe('countsGross', () => {
  it.each([
    ['0.53.2', true],
    ['0.53.2-dev0', true],
    ['0.54.0', true],
    ['1.0.0', true],
    ['0.53.1', false],
    ['0.9.99', false],
    ['0.53', false],
    ['x', false],
    [undefined, false],
  ])('knows the SDK of Weave for Python by its version %s', (client_version, is) => {
    expect(countsGross({ source: 'python-sdk', client_version })).toBe(is);
    expect(countsGross({ source: 'js-sdk', client_version })).toBe(false);
  });

  it('takes anything', () => {
    for (const weave of [undefined, null, 1, [], 'python-sdk'])
      expect(countsGross(weave)).toBe(false);
  });
});
