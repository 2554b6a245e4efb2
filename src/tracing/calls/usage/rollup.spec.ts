import { Decimal } from '../../../platform/json/decimal.js';
import type { Spending } from '../../costs/costs.service.js';
import { rolledUp, type Spender, TooManyEntries } from './rollup.js';

const spent = (prompt: number, cost: string | null = '0'): Spending => {
  const [zero, price] = [Decimal.zero, cost === null ? null : Decimal.parse(cost)];
  return {
    requests: 1,
    tokens: {
      prompt_tokens: prompt,
      completion_tokens: 0,
      cache_read_input_tokens: 0,
      cache_creation_input_tokens: 0,
    },
    costs: {
      prompt_tokens: price,
      completion_tokens: zero,
      cache_read_input_tokens: zero,
      cache_creation_input_tokens: zero,
    },
  };
};
const call = (
  id: string,
  parentId: string | null,
  own: Record<string, Spending> = {},
): Spender => ({
  id,
  parentId,
  traceId: 't',
  own: new Map(Object.entries(own)),
});
const tokens = async (calls: Spender[], id: string) =>
  Object.fromEntries(
    [...(await rolledUp(calls, 100)).get(id)!].map(([model, { tokens: t }]) => [
      model,
      t.prompt_tokens,
    ]),
  );

describe('rolledUp', () => {
  it('adds up what lies below, over several levels and in any order', async () => {
    const calls = [
      call('c', 'b', { m: spent(3), n: spent(5) }),
      call('a', null),
      call('b', 'a', { m: spent(1) }),
      call('d', 'a', { m: spent(2) }),
    ];
    expect(await tokens(calls, 'a')).toEqual({ m: 5, n: 5 });
    expect(await tokens(calls, 'b')).toEqual({ m: 3, n: 5 });
  });

  it('does not count twice what a parent says of its children, nor lose what it says beyond', async () => {
    const below = [call('b', 'a', { m: spent(3) }), call('c', 'a', { m: spent(4) })];
    expect(await tokens([call('a', null, { m: spent(7) }), ...below], 'a')).toEqual({ m: 7 });
    expect(await tokens([call('a', null, { m: spent(3) }), ...below], 'a')).toEqual({ m: 7 });
    expect(await tokens([call('a', null, { m: spent(9) }), ...below], 'a')).toEqual({ m: 9 });
    expect(await tokens([call('a', null, { o: spent(9) }), ...below], 'a')).toEqual({ m: 7, o: 9 });
  });

  it('knows no sum of costs where one is unknown', async () => {
    const calls = [
      call('a', null),
      call('b', 'a', { m: spent(1, '0.25'), n: spent(1, null) }),
      call('c', 'a', { m: spent(1, '0.5'), n: spent(1, '1') }),
    ];
    const total = (await rolledUp(calls, 100)).get('a')!;
    expect(total.get('m')).toMatchObject({ requests: 2 });
    expect(total.get('m')!.costs.prompt_tokens!.toString()).toBe('0.75');
    expect(total.get('n')!.costs.prompt_tokens).toBeNull();
  });

  it('keeps traces apart, and ends with parents that go round in a circle', async () => {
    const calls = [
      call('a', 'b', { m: spent(1) }),
      call('b', 'a', { m: spent(2) }),
      call('c', 'c', { m: spent(3) }),
      { ...call('d', 'c', { m: spent(4) }), traceId: 'u' },
    ];
    for (const [id, m] of Object.entries({ a: 1, b: 2, c: 3, d: 4 }))
      expect(await tokens(calls, id)).toEqual({ m });
  });

  it('refuses a chain whose calls each add a model', async () => {
    const chain = Array.from({ length: 20 }, (_, i) =>
      call(`${i}`, i > 0 ? `${i - 1}` : null, { [`m${i}`]: spent(1) }),
    );
    await expect(rolledUp(chain, 209)).rejects.toThrow(TooManyEntries);
    await expect(rolledUp(chain, 210)).resolves.toBeDefined();
  });
});
