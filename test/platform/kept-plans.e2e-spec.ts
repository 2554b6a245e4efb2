import { Pool } from 'pg';
import { PreparedPlans } from '../../src/platform/database/prepared-plans.js';
import { RowStream, TextRows } from '../../src/platform/database/row-stream.js';
import { openTestDatabase, type TestDatabase } from '../support/database.js';

describe('a statement whose plan a connection keeps', () => {
  let database: TestDatabase;
  let pool: Pool;
  beforeAll(async () => {
    database = await openTestDatabase();
    pool = new Pool({ connectionString: database.url, max: 1 });
  });
  afterAll(async () => {
    await pool.end();
    await database.drop();
  });
  afterEach(() => jest.restoreAllMocks());

  const rowsOf = async (text: string, value: number) => {
    const stream = new RowStream(await pool.connect(), { text, values: [value] }, new TextRows(), {
      slot: { key: 'me', idleSince: null, cut: () => {} },
      limits: { readMs: 5000, maxRowBytes: 1000 },
      keptAs: 'kept.0',
      maxBatch: undefined,
      firstBatch: undefined,
      ended: undefined,
    });
    return (await stream.toArray()).flat();
  };
  const kept = async () =>
    (
      await pool.query(
        'SELECT name, statement, custom_plans::int AS runs FROM pg_prepared_statements',
      )
    ).rows;

  it('is parsed once, and again after some time, or when another one has its name', async () => {
    const text = 'SELECT $1::int + 1 AS sum';
    expect(await rowsOf(text, 1)).toEqual(['2']);
    expect(await rowsOf(text, 2)).toEqual(['3']);
    expect(await kept()).toEqual([{ name: 'kept.0', statement: text, runs: 2 }]);

    const later = performance.now() + 10_000;
    jest.spyOn(performance, 'now').mockReturnValue(later);
    expect(await rowsOf(text, 3)).toEqual(['4']);
    expect(await kept()).toEqual([{ name: 'kept.0', statement: text, runs: 1 }]);

    const other = 'SELECT $1::int + 2 AS sum';
    expect(await rowsOf(other, 1)).toEqual(['3']);
    expect(await kept()).toEqual([{ name: 'kept.0', statement: other, runs: 1 }]);
  });
});

it('names go from the statement that was not asked for the longest to a new one', () => {
  const plans = new PreparedPlans();
  const names = Array.from({ length: 16 }, (_, i) => plans.name(`SELECT ${i}`));
  expect(new Set(names).size).toBe(16);
  expect(plans.name('SELECT 0')).toBe(names[0]);
  expect(plans.name('SELECT 16')).toBe(names[1]);
  expect(plans.name('SELECT 1')).toBe(names[2]);
  expect(plans.name('SELECT 0')).toBe(names[0]);
});
