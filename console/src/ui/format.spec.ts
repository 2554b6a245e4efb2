import { callDuration, bytes, count, duration, money, number, opName } from './format.js';

it.each([
  [null, '–'],
  [0, '0 ms'],
  [0.042, '42 µs'],
  [9.96, '10 ms'],
  [1.25, '1.3 ms'],
  [999.4, '999 ms'],
  [999.6, '1.00 s'],
  [3421, '3.42 s'],
  [59_996, '1 m 00 s'],
  [125_000, '2 m 05 s'],
  [11_520_000, '3 h 12 m'],
  [90_000_000, '1 d 1 h'],
  [-5, '−5 ms'],
])('%s milliseconds read %s', (ms, text) => expect(duration(ms)).toBe(text));

it.each([
  [0, '$0'],
  [0.000_042_1, '$0.000042'],
  [0.0123, '$0.012'],
  [0.5, '$0.50'],
  [1.204, '$1.20'],
  [1204.4, '$1,204'],
])('%s dollars read %s', (amount, text) => expect(money(amount)).toBe(text));

it.each([
  [99_999, '99,999'],
  [123_456, '123 k'],
  [1_234_567, '1.23 M'],
])('%s reads %s', (n, text) => expect(count(n)).toBe(text));

it.each([
  [999, '999 B'],
  [1500, '1.5 kB'],
  [5_242_880, '5.2 MB'],
])('%s bytes read %s', (n, text) => expect(bytes(n)).toBe(text));

it('names an op without the ref around it', () => {
  expect(opName('svc:///acme/demo/op/answer:abc')).toBe('answer');
  expect(opName('answer')).toBe('answer');
});

it.each([
  [0, '0'],
  [0.413_744, '0.4137'],
  [-1.25, '-1.25'],
  [12_400.4, '12,400'],
  [0.000_005, '0.000005'],
  [0.000_000_51, '5.1e-7'],
  [undefined, '–'],
])('the number %s reads %s', (value, text) => expect(number(value)).toBe(text));

it.each([
  ['success', 1500, '1.50 s'],
  ['success', 0, '0 ms'],
  ['success', -3000, 'unknown'],
  ['error', null, 'unknown'],
  ['running', null, '–'],
])('a call that is %s and took %s ms shows %s', (status, latency_ms, shown) =>
  expect(callDuration({ status, latency_ms })).toBe(shown),
);
