import type { Pool, PoolClient } from 'pg';
import { Connections } from './connections.js';

function twoConnections(waitMs = 1000) {
  const lent = { most: 0, now: 0 };
  const client = () => {
    lent.most = Math.max(lent.most, (lent.now += 1));
    return { release: () => (lent.now -= 1) } as unknown as PoolClient;
  };
  const options = { max: 2, connectionTimeoutMillis: waitMs };
  const connect = async () => client();
  const pool = { options, waitingCount: 0, connect, on: () => {} } as unknown as Pool;
  return { connections: new Connections(pool), lent };
}

it('lends the next connection to the entity that has the fewest, however many of another wait', async () => {
  const { connections, lent } = twoConnections();
  const held = [await connections.connect('a/1'), await connections.connect('a/2')];
  const served: string[] = [];
  const ask = (owner: string) =>
    connections.connect(owner).then((client) => {
      served.push(owner);
      client.release();
    });
  const all = [...Array.from({ length: 20 }, (_, i) => ask(`a/${i}`)), ask('b/1')];
  expect(connections.waitingCount).toBe(21);
  for (const client of held) client.release();
  await Promise.all(all);
  expect(served.indexOf('b/1')).toBeLessThan(2);
  expect(lent).toEqual({ most: 2, now: 0 });
});

it('refuses who waits too long as the pool does, and keeps nothing of it', async () => {
  const { connections } = twoConnections(10);
  const held = [await connections.connect('a/1'), await connections.connect('a/1')];
  await expect(connections.connect('b/1')).rejects.toThrow(
    'timeout exceeded when trying to connect',
  );
  for (const client of held) client.release();
  (await connections.connect('b/1')).release();
  expect(connections.waitingCount).toBe(0);
});
