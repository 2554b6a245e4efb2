import { readFileSync } from 'node:fs';
import { DataSource } from 'typeorm';
import { dataSourceOptions } from '../../ormconfig.js';
import { StoredUpload } from '../../src/platform/database/upload.entity.js';
import { Connections } from '../../src/platform/pg/connections.js';
import {
  driverPool,
  lendToRepositories,
  newPool,
  type Pool,
  type PoolClient,
  repositoryOn,
} from '../../src/platform/pg/driver.js';
import { Outage } from '../../src/platform/pg/outage.js';
import { PreparedPlans } from '../../src/platform/pg/prepared-plans.js';
import { RawRowReader } from '../../src/platform/pg/raw-row-reader.js';
import { beginSession } from '../../src/platform/pg/session.js';
import { CopyRows, copyInto } from '../../src/platform/query/binary-copy.js';
import { RowStream, TextRows } from '../../src/platform/database/row-stream.js';
import { openTestDatabase, type TestDatabase } from '../support/database.js';

let database: TestDatabase;
beforeAll(async () => {
  database = await openTestDatabase();
});
afterAll(() => database.drop());
afterEach(() => jest.restoreAllMocks());

it('pg and TypeORM have the versions whose internals are used', () => {
  const { dependencies } = JSON.parse(readFileSync('package.json', 'utf8'));
  expect([dependencies.pg, dependencies.typeorm]).toEqual([
    expect.stringMatching(/^\d+\.\d+\.\d+$/),
    expect.stringMatching(/^\d+\.\d+\.\d+$/),
  ]);
});

describe('a connection of pg', () => {
  let pool: Pool;
  let client: PoolClient;
  beforeAll(async () => {
    pool = newPool({ connectionString: database.url, max: 1 });
  });
  beforeEach(async () => {
    client = await pool.connect();
  });
  afterAll(() => pool.end());

  const LISTENERS = { maxRowBytes: 1000, onTooLarge: () => {} };

  it('gives its rows to a reader in place of its parser, and everything else to its parser', async () => {
    const lengths: number[] = [];
    const reader = new RawRowReader(client, {
      ...LISTENERS,
      onRow: (_, start, end) => void lengths.push(end - start),
    });
    const { rows, rowCount } = await client.query(
      `SELECT repeat('x', n) FROM generate_series(1, 3) n`,
    );
    reader.close();
    expect([rows, rowCount, lengths]).toEqual([[], 3, [7, 8, 9]]);
    expect((await client.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
    client.release();
  });

  it('takes no second reader', () => {
    const reader = new RawRowReader(client, { ...LISTENERS, onRow: () => {} });
    const stream = Reflect.get(client, 'connection').stream;
    const other = () => {};
    stream.on('data', other);
    expect(() => new RawRowReader(client, { ...LISTENERS, onRow: () => {} })).toThrow(
      'the connection is read by somebody else',
    );
    stream.off('data', other);
    reader.close();
    client.release();
  });

  it('is closed when its parser throws', async () => {
    await beginSession({ TimeZone: 'UTC' })(client);
    client.on('notice', () => {
      throw new Error('too long for a string');
    });
    await expect(client.query(`DO $$ BEGIN RAISE NOTICE 'x'; END $$`)).rejects.toThrow(
      'too long for a string',
    );
    client.release(true);
  });

  it('reads back the settings that poolers may drop', async () => {
    await expect(beginSession({ work_mem: '1024kB' })(client)).rejects.toThrow(
      'the database set work_mem to "1MB" instead of "1024kB"',
    );
    client.release();
  });
});

describe('the connections of the pool', () => {
  let pool: Pool;
  const watched: string[] = [];
  let connections: Connections;
  beforeAll(async () => {
    pool = newPool({ connectionString: database.url, max: 1 });
    await pool.query('CREATE TABLE copied (id text PRIMARY KEY)');
    connections = new Connections(pool, (name) => {
      watched.push(name);
      return () => {};
    });
  });
  beforeEach(() => void watched.splice(0));
  afterAll(() => pool.end());

  it('are watched while they are lent, and as before afterwards', async () => {
    const client = await connections.connect('a');
    await client.query('SELECT 1');
    client.release();
    await pool.query('SELECT 2');
    expect(watched).toEqual(['SELECT']);
    expect(pool.idleCount).toBe(1);
  });

  const rowsOf = (...ids: string[]) => {
    const rows = new CopyRows(copyInto('copied', ['id']), 100);
    for (const id of ids) {
      rows.begin();
      rows.text(id);
    }
    return rows;
  };

  it('copy rows, and stay open when a row is refused', async () => {
    await connections.copy('a', rowsOf('a', 'b'));
    await expect(connections.copy('a', rowsOf('c', 'a'))).rejects.toMatchObject({ code: '23505' });
    expect(pool.totalCount).toBe(1);
    const { rows } = await connections.query('a', { text: 'SELECT id FROM copied', values: [] });
    expect(rows).toEqual([{ id: 'a' }, { id: 'b' }]);
    expect(watched).toEqual(['copied.copy', 'copied.copy', 'SELECT copied']);
  });
});

describe('the outage of a pool', () => {
  let pool: Pool;
  let outage: Outage;
  beforeEach(() => {
    pool = newPool({ connectionString: database.url, max: 2 });
    outage = new Outage(pool);
  });
  afterEach(() => pool.end());
  const sleep = (client: PoolClient) => {
    client.on('error', () => {});
    return client.query('SELECT pg_sleep(60)').catch((error: Error) => error.message);
  };

  it('hears whether any connection has received something', async () => {
    expect(outage.hears()).toBe(false);
    await pool.query('SELECT 1');
    expect([outage.hears(), outage.hears()]).toEqual([true, false]);
  });

  it('cuts all connections, and refuses work until it is over', async () => {
    const client = await pool.connect();
    const cut = sleep(client);
    outage.begin();
    expect(await cut).toBe('Connection terminated unexpectedly');
    client.release(true);
    expect(() => outage.assertOver()).toThrow('the database cannot be reached');
  });

  it('cuts a connection whose statement is silent for longer than its limit, and no other', async () => {
    const [silent, unlimited] = [await pool.connect(), await pool.connect()];
    const cut = sleep(silent);
    const kept = sleep(unlimited);
    outage.limit(unlimited, Infinity);
    const longAgo = -60_000;
    outage.cutSilent(longAgo); // sees the statements for the first time
    outage.cutSilent(longAgo);
    expect(await cut).toBe('Connection terminated unexpectedly');
    outage.begin();
    await kept;
    for (const client of [silent, unlimited]) client.release(true);
  });
});

describe('repositories of TypeORM', () => {
  let dataSource: DataSource;
  beforeAll(async () => {
    dataSource = await new DataSource(dataSourceOptions(database.url)).initialize();
  });
  afterAll(() => dataSource.destroy());

  it('use the connections that they are lent, and release them', async () => {
    const lend = jest.fn(() => driverPool(dataSource).connect());
    lendToRepositories(dataSource, lend);
    expect(await dataSource.getRepository(StoredUpload).count()).toBe(0);
    expect(lend).toHaveBeenCalledTimes(1);
    const { idleCount, totalCount } = driverPool(dataSource);
    expect(idleCount).toBe(totalCount);
  });

  it('run in the open transaction of a connection', async () => {
    const client = await driverPool(dataSource).connect();
    await client.query('BEGIN');
    const uploads = repositoryOn(client, dataSource, StoredUpload);
    await uploads.insert({ projectId: 'p', id: '00000000-0000-0000-0000-000000000001' });
    await client.query('ROLLBACK');
    client.release();
    expect(await dataSource.getRepository(StoredUpload).count()).toBe(0);
  });
});

describe('a statement whose plan a connection keeps', () => {
  let pool: Pool;
  beforeAll(() => {
    pool = newPool({ connectionString: database.url, max: 1 });
  });
  afterAll(() => pool.end());

  const rowsOf = async (text: string, value: number) => {
    const stream = new RowStream(await pool.connect(), { text, values: [value] }, new TextRows(), {
      slot: { key: 'me', idleSince: null, lentAt: 0, cut: () => {} },
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
