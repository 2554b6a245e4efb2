import { costText, perToken } from './price.js';

it.each([
  ['2.5', '0.0000025'],
  ['0', '0'],
  ['0.00', '0'],
  ['10', '0.00001'],
  ['1000000', '1'],
  ['12345678.9', '12.3456789'],
  ['0.123456789012', '0.000000123456789012'],
  [' 3 ', '0.000003'],
  ['1e3', null],
  ['-1', null],
  ['', null],
  ['1,5', null],
])('%s for a million tokens is %s for one', (perMillion, one) =>
  expect(perToken(perMillion)).toBe(one),
);

const price = {
  model: 'house "7b"',
  input: '0.1',
  output: '0.30',
  cacheRead: '',
  cacheCreation: '0',
  unit: 'EUR',
  effectiveDate: '2026-01-01T00:00:00Z',
};

it('sends the digits that were typed, and of caches only what was', () => {
  expect(JSON.parse(costText('acme/demo', price)!)).toEqual({
    project_id: 'acme/demo',
    costs: {
      'house "7b"': {
        prompt_token_cost: 0.000_000_1,
        completion_token_cost: 0.000_000_3,
        cache_creation_input_token_cost: 0,
        prompt_token_cost_unit: 'EUR',
        completion_token_cost_unit: 'EUR',
        effective_date: '2026-01-01T00:00:00Z',
      },
    },
  });
  expect(costText('acme/demo', { ...price, input: '' })).toBeNull();
});
