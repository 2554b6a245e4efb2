import { statGroups, statSeries, wholeWindow } from './stats.js';

const call = {
  count: 2,
  sum_error_count: 1,
  p50_latency_ms: 5,
  p95_latency_ms: 9,
  p99_latency_ms: 9,
};
const usage = (timestamp: string, model: string, cost: number | null, unit: string | null) => ({
  timestamp,
  model,
  count: 1,
  sum_input_tokens: 10,
  sum_output_tokens: 1,
  sum_total_cost: cost,
  unpriced_tokens: cost === null ? 11 : 0,
  cost_unit: unit,
});
const [first, second] = ['2026-11-22T10:00:00.000000Z', '2026-11-22T11:00:00.000000Z'];
const call_buckets = [first, second].map((timestamp) => ({ timestamp, ...call }));

it('puts what a model spent into its buckets, and nothing into the others', () => {
  const usage_buckets = [
    usage(second, 'a', 0.5, 'USD'),
    usage(first, 'b', 2, 'EUR'),
    usage(second, 'b', null, null),
  ];
  const end = Date.parse('2026-11-22T11:30:00Z');
  const { starts, until, errors, models } = statSeries(
    { granularity: 3600, call_buckets, usage_buckets },
    end,
  );
  expect([starts, until]).toEqual([
    [first, second].map((at) => Date.parse(at) / 1000),
    end / 1000 + 1800,
  ]);
  expect(errors).toEqual([1, 1]);
  expect(models.get('a')).toEqual({ tokens: [0, 11], cost: new Map([['USD', [0, 0.5]]]) });
  expect(models.get('b')).toEqual({ tokens: [11, 11], cost: new Map([['EUR', [2, 0]]]) });
});

it('adds up money of one unit, never of two', () => {
  const whole = wholeWindow({
    call_buckets: call_buckets.slice(1),
    usage_buckets: [
      usage(first, 'a', 0.5, 'USD'),
      usage(first, 'b', 0.25, 'USD'),
      usage(first, 'c', 2, 'EUR'),
      usage(first, 'd', null, null),
    ],
  });
  expect(whole).toMatchObject({ calls: 2, errors: 1, inputTokens: 40, unpricedTokens: 11 });
  expect([...whole.cost]).toEqual([
    ['USD', 0.75],
    ['EUR', 2],
  ]);
});

it('joins calls and what they spent by group, also by none', () => {
  const groups = statGroups(
    {
      call_buckets: [
        { timestamp: first, user: 'ada', ...call },
        { timestamp: first, user: null, ...call },
      ],
      usage_buckets: [
        { ...usage(first, 'a', 1, 'USD'), user: null },
        { ...usage(first, 'b', 2, 'USD'), user: null },
      ],
    },
    'user',
  );
  expect(groups.map(({ name, cost }) => [name, cost.get('USD')])).toEqual([
    ['ada', undefined],
    [null, 3],
  ]);
});
