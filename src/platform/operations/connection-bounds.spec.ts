import { ConnectionBounds } from './connection-bounds.js';

const busy = new Set<string>();
const keyless = new Set<string>();
const makeBounds = (process: number, address: number) =>
  new ConnectionBounds<string>({
    process,
    address,
    isIdle: (connection) => !busy.has(connection),
    isKeyless: (connection) => keyless.has(connection),
  });

beforeEach(() => {
  busy.clear();
  keyless.clear();
});

it('refuses an address what is over its own limit, unless it is trusted', () => {
  const bounds = makeBounds(10, 2);
  for (const connection of ['a1', 'a2']) expect(bounds.admit(connection, 'a')).toEqual({});
  expect(bounds.admit('a3', 'a')).toEqual({ refused: 'address' });
  expect(bounds.admit('a3', 'a', true)).toEqual({});
  bounds.remove('a1', 'a');
  bounds.remove('a2', 'a');
  expect(bounds.admit('a4', 'a')).toEqual({});
});

it('closes the oldest connection without a key for a new one of the same address', () => {
  const bounds = makeBounds(10, 3);
  for (const connection of ['a1', 'a2', 'a3']) bounds.admit(connection, 'a');
  keyless.add('a2').add('a3');
  expect(bounds.admit('a4', 'a')).toEqual({ instead: 'a2' });
  bounds.remove('a2', 'a');
  expect(bounds.admit('a5', 'a')).toEqual({ instead: 'a3' });
  bounds.remove('a3', 'a');
  expect(bounds.admit('a6', 'a')).toEqual({ refused: 'address' });
  expect(bounds.count).toBe(3);
});

it('lets an address in that has fewer, for an idle one of the address that has the most', () => {
  const bounds = makeBounds(4, 4);
  for (const connection of ['a1', 'a2', 'a3']) bounds.admit(connection, 'a');
  bounds.admit('b1', 'b');
  busy.add('a1');
  expect(bounds.admit('a4', 'a')).toEqual({ refused: 'process' });
  expect(bounds.admit('c1', 'c')).toEqual({ instead: 'a2' });
  bounds.remove('a2', 'a');
  bounds.remove('a2', 'a');
  expect(bounds.count).toBe(4);
  expect(bounds.admit('b2', 'b')).toEqual({ refused: 'process' });
});

it('looks at no other address while the process is full', () => {
  const addresses = 50_000;
  const bounds = makeBounds(addresses, 2);
  for (let i = 0; i < addresses; i++) bounds.admit(`c${i}`, `address ${i}`);
  const began = performance.now();
  let refused = 0;
  for (let i = 0; i < addresses; i++)
    if (bounds.admit(`d${i}`, `other ${i}`).refused === 'process') refused++;
  expect(refused).toBe(addresses);
  expect(performance.now() - began).toBeLessThan(5000); // comparing all addresses took 20 s
});

it('knows the address that has the most after others have gone', () => {
  const bounds = makeBounds(6, 6);
  for (const connection of ['a1', 'a2', 'a3']) bounds.admit(connection, 'a');
  for (const connection of ['b1', 'b2', 'b3']) bounds.admit(connection, 'b');
  for (const connection of ['a1', 'a2', 'b1']) bounds.remove(connection, connection[0]!);
  for (const connection of ['c1', 'c2', 'c3']) bounds.admit(connection, 'c');
  expect(bounds.admit('d1', 'd')).toEqual({ instead: 'c1' });
});

it('refuses when all of the largest address have requests under way', () => {
  const bounds = makeBounds(2, 2);
  for (const connection of ['a1', 'a2']) {
    bounds.admit(connection, 'a');
    busy.add(connection);
  }
  expect(bounds.admit('b1', 'b')).toEqual({ refused: 'process' });
});
