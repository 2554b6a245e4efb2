import { Decimal } from '../../../platform/json/decimal.js';
import type { CountedUsage } from '../../pricing/price.js';
import { rollUpUsage, type UsageCall, TooManyEntries } from './usage-rollup.js';

const says = (prompt: number, cost: string | null = '0', more: Partial<CountedUsage> = {}) => ({
  llmId: 'any',
  requests: 1,
  unknown: new Set<keyof CountedUsage['tokens']>(),
  tokens: {
    prompt_tokens: prompt,
    completion_tokens: 0,
    cache_read_input_tokens: 0,
    cache_creation_input_tokens: 0,
  },
  details: null,
  cost,
  ...more,
});
const call = (
  id: string,
  parentId: string | null,
  own: Record<string, ReturnType<typeof says>> = {},
  more: Partial<UsageCall> = {},
): UsageCall => ({
  id,
  parentId,
  traceId: 't',
  linkedCallId: null,
  responseId: null,
  startedAt: '2026-01-01T00:00:00.000000Z',
  endedAt: null,
  own: new Map(Object.entries(own)),
  spending(model) {
    const zero = Decimal.zero;
    const { cost } = model as ReturnType<typeof says>;
    const costs = {
      prompt_tokens: cost === null ? null : Decimal.parse(cost),
      completion_tokens: zero,
      cache_read_input_tokens: zero,
      cache_creation_input_tokens: zero,
    };
    return { requests: model.requests, tokens: model.tokens, costs };
  },
  ...more,
});
const tokens = async (calls: UsageCall[], id: string) =>
  Object.fromEntries(
    [...(await rollUpUsage(calls, 100)).get(id)!].map(([model, { tokens: t }]) => [
      model,
      t.prompt_tokens,
    ]),
  );

describe('rolledUp', () => {
  it('adds up what lies below, over several levels and in any order', async () => {
    const calls = [
      call('c', 'b', { m: says(3), n: says(5) }),
      call('a', null),
      call('b', 'a', { m: says(1) }),
      call('d', 'a', { m: says(2) }),
    ];
    expect(await tokens(calls, 'a')).toEqual({ m: 5, n: 5 });
    expect(await tokens(calls, 'b')).toEqual({ m: 3, n: 5 });
  });

  it('does not count twice what a parent says of its children, nor lose what it says beyond', async () => {
    const below = [call('b', 'a', { m: says(3) }), call('c', 'a', { m: says(4) })];
    expect(await tokens([call('a', null, { m: says(7) }), ...below], 'a')).toEqual({ m: 7 });
    expect(await tokens([call('a', null, { m: says(3) }), ...below], 'a')).toEqual({ m: 7 });
    expect(await tokens([call('a', null, { m: says(9) }), ...below], 'a')).toEqual({ m: 9 });
    expect(await tokens([call('a', null, { o: says(9) }), ...below], 'a')).toEqual({ m: 7, o: 9 });
  });

  it('knows no sum of costs where one is unknown', async () => {
    const calls = [
      call('a', null),
      call('b', 'a', { m: says(1, '0.25'), n: says(1, null) }),
      call('c', 'a', { m: says(1, '0.5'), n: says(1, '1') }),
    ];
    const total = (await rollUpUsage(calls, 100)).get('a')!;
    expect(total.get('m')).toMatchObject({ requests: 2 });
    expect(total.get('m')!.costs.prompt_tokens!.toString()).toBe('0.75');
    expect(total.get('n')!.costs.prompt_tokens).toBeNull();
  });

  it('keeps traces apart, and ends with parents that go round in a circle', async () => {
    const calls = [
      call('a', 'b', { m: says(1) }),
      call('b', 'a', { m: says(2) }),
      call('c', 'c', { m: says(3) }),
      call('d', 'c', { m: says(4) }, { traceId: 'u' }),
    ];
    for (const [id, m] of Object.entries({ a: 1, b: 2, c: 3, d: 4 }))
      expect(await tokens(calls, id)).toEqual({ m });
  });

  it('refuses a chain whose calls each add a model', async () => {
    const chain = Array.from({ length: 20 }, (_, i) =>
      call(`${i}`, i > 0 ? `${i - 1}` : null, { [`m${i}`]: says(1) }),
    );
    await expect(rollUpUsage(chain, 209)).rejects.toThrow(TooManyEntries);
    await expect(rollUpUsage(chain, 210)).resolves.toBeDefined();
  });
});
