import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { findProvider } from '@pydantic/genai-prices';
import { printDecimals } from '../../platform/json/decimal.js';
import { builtinCells, builtinPrice } from './builtin-prices.js';

const at = (date: string) => new Date(`${date}T12:00:00Z`);
const prompt = (...args: Parameters<typeof builtinPrice>) =>
  builtinPrice(...args)?.prompt_token_cost?.toString();

describe('builtinPrice', () => {
  it('knows a model by its name, in exact decimals', () => {
    expect(prompt('gpt-4o', at('2025-06-01'), 1)).toBe('0.0000025');
    expect(builtinPrice('gpt-4o', at('2025-06-01'), 1)).toMatchObject({
      id: 'openai/gpt-4o',
      pricing_level: 'builtin',
      provider_id: 'openai',
      effective_date: null,
      prompt_token_cost_unit: 'USD',
    });
  });

  it('knows a model behind the name of its provider', () => {
    expect(builtinPrice('openai/gpt-4o', at('2025-06-01'), 1)?.id).toBe('openai/gpt-4o');
    expect(builtinPrice('nobody/gpt-4o-mine', at('2025-06-01'), 1)).toBeNull();
  });

  it('prices by the date, also when a later date was asked for first', () => {
    expect(prompt('o3', at('2025-07-01'), 1)).toBe('0.000002');
    expect(prompt('o3', at('2025-05-01'), 1)).toBe('0.00001');
    expect(builtinPrice('o3', at('2025-07-01'), 1)?.effective_date).toBe(
      '2025-06-10T00:00:00.000000Z',
    );
  });

  it('takes the tier of the prompt', () => {
    expect(prompt('gemini-2.5-pro', at('2025-07-01'), 200_000)).toBe('0.00000125');
    expect(prompt('gemini-2.5-pro', at('2025-07-01'), 200_001)).toBe('0.0000025');
  });

  it('takes the prompt price for cached tokens without a price of their own', () => {
    const price = builtinPrice('gpt-4o', at('2025-06-01'), 1)!;
    expect(price.cache_read_input_token_cost?.toString()).toBe('0.00000125');
    expect(price.cache_creation_input_token_cost?.toString()).toBe('0.0000025');
  });

  it.each(['nonsense', '', '/', 'gpt-4o/', '__proto__', 'constructor'])(
    'has no price for %p',
    (model) => {
      expect(builtinPrice(model, at('2025-06-01'), 1)).toBeNull();
    },
  );

  it('prices every model of the bundled data without an error', () => {
    const models = ['openai', 'anthropic', 'google', 'azure', 'aws', 'openrouter', 'deepseek']
      .flatMap((providerId) => findProvider({ providerId }) ?? [])
      .flatMap(({ id, models }) => models.map((model) => `${id}/${model.id}`));
    expect(models.length).toBeGreaterThan(300);
    for (const model of models)
      expect(() => builtinPrice(model, at('2025-06-01'), 1)).not.toThrow();
  });

  it('rests on a package that cannot reach the network', () => {
    const source = readFileSync(
      createRequire(__filename).resolve('@pydantic/genai-prices'),
      'utf8',
    );
    expect(source).not.toMatch(
      /\bfetch\s*\(|XMLHttpRequest|require\(["'](node:)?(https?|net|dgram)/,
    );
  });
});

describe('builtinCells', () => {
  /** Selects the cell as the field for the cost of a call does: the last one that the call has reached. */
  const priceIn = (llmId: string, date: Date, inputTokens: number) =>
    builtinCells(llmId).findLast(
      ({ since, time, tier }) =>
        (since === '-infinity' || new Date(since) <= date) &&
        time <= date.toISOString().slice(11, -1) &&
        tier <= inputTokens,
    )?.price ?? null;

  it('has the price of every bundled model at any time, for prompts of any size', () => {
    const models = ['openai', 'anthropic', 'google', 'azure', 'aws', 'openrouter', 'deepseek']
      .flatMap((providerId) => findProvider({ providerId }) ?? [])
      .flatMap(({ id, models }) => models.map((model) => `${id}/${model.id}`));
    const days = ['1969-12-31', '2026-08-16', '2026-08-17', '2030-01-01'];
    const times = ['00:00:00Z', '03:59:59.999Z', '16:30:00Z'];
    const dates = days.flatMap((day) => times.map((time) => new Date(`${day}T${time}`)));
    const wrong = [...models, 'nonsense', ''].flatMap((model) => {
      const isOne = builtinCells(model).length <= 1;
      return (isOne ? dates.slice(0, 1) : dates).flatMap((date) =>
        [0, 200_000, 200_001, 1_000_000].flatMap((tokens) => {
          const [found, price] = [priceIn(model, date, tokens), builtinPrice(model, date, tokens)];
          return printDecimals(found) === printDecimals(price) ? [] : [[model, date, tokens]];
        }),
      );
    });
    expect(wrong).toEqual([]);
  });

  it('takes the days and the times at which a price changes', () => {
    const changes = builtinCells('deepseek/deepseek-v4-pro').map(({ since, time }) => [
      since,
      time,
    ]);
    expect(changes).toContainEqual(['-infinity', '01:00:00.000']);
    expect(changes).toContainEqual(['2026-08-17T00:00:00.000Z', '10:00:00.000']);
  });
});
