import { readUsage, requestsOf } from './usage.js';

const counts = (usage: Record<string, unknown>) => Object.values(readUsage(usage, false).tokens);

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
    [{ promptTokens: 5 }, both],
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
      ['cache_read_input_tokens', 'prompt_tokens'],
    ],
    [
      { input_tokens: 5, cache_creation_input_tokens: -1 },
      ['cache_creation_input_tokens', 'prompt_tokens'],
    ],
  ])('of %j does not know %j', (usage, unknown) => {
    expect([...readUsage(usage, false).unknown]).toEqual(unknown);
  });

  it('does not guess the number of requests', () => {
    expect(requestsOf({ requests: 3 })).toBe(3);
    expect(requestsOf({})).toBeNull();
  });
});
