import { ConnectionBounds } from './connection-bounds.js';

const busy = new Set<string>();
const boundsOf = (process: number, address: number) =>
  new ConnectionBounds<string>({ process, address, isIdle: (connection) => !busy.has(connection) });

beforeEach(() => busy.clear());

it('refuses an address what is over its own limit, unless it is trusted', () => {
  const bounds = boundsOf(10, 2);
  for (const connection of ['a1', 'a2']) expect(bounds.admit(connection, 'a')).toEqual({});
  expect(bounds.admit('a3', 'a')).toEqual({ refused: 'address' });
  expect(bounds.admit('a3', 'a', true)).toEqual({});
  bounds.remove('a1', 'a');
  bounds.remove('a2', 'a');
  expect(bounds.admit('a4', 'a')).toEqual({});
});

it('lets an address in that has fewer, for an idle one of the address that has the most', () => {
  const bounds = boundsOf(4, 4);
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

it('refuses when all of the largest address have requests under way', () => {
  const bounds = boundsOf(2, 2);
  for (const connection of ['a1', 'a2']) {
    bounds.admit(connection, 'a');
    busy.add(connection);
  }
  expect(bounds.admit('b1', 'b')).toEqual({ refused: 'process' });
});
