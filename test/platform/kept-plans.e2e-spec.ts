import { Client } from 'pg';
import { KeptCursor, KeptPlans } from '../../src/platform/database/kept-plans.js';
import { openTestDatabase, type TestDatabase } from '../support/database.js';

describe('a statement whose plan a connection keeps', () => {
  let database: TestDatabase;
  let client: Client;
  beforeAll(async () => {
    database = await openTestDatabase();
    client = new Client(database.url);
    await client.connect();
  });
  afterAll(async () => {
    await client.end();
    await database.drop();
  });
  afterEach(() => jest.restoreAllMocks());

  const rowsOf = async (text: string, value: number) =>
    client.query(new KeptCursor(text, [value], 'kept.0')).read(5);
  const kept = async () =>
    (
      await client.query(
        'SELECT name, statement, custom_plans::int AS runs FROM pg_prepared_statements',
      )
    ).rows;

  it('is parsed once, and again after some time, or when another one has its name', async () => {
    const text = 'SELECT $1::int + 1 AS sum';
    expect(await rowsOf(text, 1)).toEqual([{ sum: 2 }]);
    expect(await rowsOf(text, 2)).toEqual([{ sum: 3 }]);
    expect(await kept()).toEqual([{ name: 'kept.0', statement: text, runs: 2 }]);

    const later = performance.now() + 10_000;
    jest.spyOn(performance, 'now').mockReturnValue(later);
    expect(await rowsOf(text, 3)).toEqual([{ sum: 4 }]);
    expect(await kept()).toEqual([{ name: 'kept.0', statement: text, runs: 1 }]);

    const other = 'SELECT $1::int + 2 AS sum';
    expect(await rowsOf(other, 1)).toEqual([{ sum: 3 }]);
    expect(await kept()).toEqual([{ name: 'kept.0', statement: other, runs: 1 }]);
  });
});

it('names go from the statement that was not asked for the longest to a new one', () => {
  const plans = new KeptPlans();
  const names = Array.from({ length: 16 }, (_, i) => plans.name(`SELECT ${i}`));
  expect(new Set(names).size).toBe(16);
  expect(plans.name('SELECT 0')).toBe(names[0]);
  expect(plans.name('SELECT 16')).toBe(names[1]);
  expect(plans.name('SELECT 1')).toBe(names[2]);
  expect(plans.name('SELECT 0')).toBe(names[0]);
});
