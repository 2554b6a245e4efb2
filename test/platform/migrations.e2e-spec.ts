import { DataSource } from 'typeorm';
import { dataSourceOptions } from '../../ormconfig.js';
import { migrate } from '../../src/platform/database/migrate.js';
import { openTestDatabase, type TestDatabase } from '../support/database.js';

describe('migrations', () => {
  let database: TestDatabase;
  let dataSource: DataSource;
  beforeAll(async () => {
    database = await openTestDatabase({ isEmpty: true });
    dataSource = await new DataSource(dataSourceOptions(database.url)).initialize();
  });
  afterAll(async () => {
    await dataSource.destroy();
    await database.drop();
  });

  const query = (text: string) => dataSource.query(text);

  it('make what the entities describe', async () => {
    await migrate(dataSource);
    const { upQueries } = await dataSource.driver.createSchemaBuilder().log();
    expect(upQueries.map(({ query: text }) => text)).toEqual([]);
  });

  it('make the checks and the indexes that the entities describe', async () => {
    const other = await openTestDatabase({ isEmpty: true });
    const described = await new DataSource(dataSourceOptions(other.url)).initialize();
    await described.synchronize();
    // TypeORM compares checks and the conditions of indexes by name only
    const definitions = async (source: DataSource): Promise<Record<string, string>> => {
      const rows = await source.query(`
        SELECT conname AS name, pg_get_constraintdef(oid) AS text FROM pg_constraint WHERE contype = 'c'
        UNION ALL SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public'`);
      return Object.fromEntries(rows.map(({ name, text }: any) => [name, text]));
    };
    const wanted = await definitions(described);
    await described.destroy();
    await other.drop();
    expect(await definitions(dataSource)).toMatchObject(wanted);
  });

  it('are listed in their order, which is also that in which a backup takes them back', () => {
    const times = dataSource.migrations.map(({ constructor }) => constructor.name.slice(-13));
    expect(times).toEqual(times.toSorted());
  });

  it('have nothing to do the second time', async () => {
    expect(await migrate(dataSource)).toEqual([]);
  });

  it('can be taken back, and made again', async () => {
    for (const _ of dataSource.migrations) await dataSource.undoLastMigration();
    const left =
      await query(`SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'
      UNION ALL SELECT proname FROM pg_proc WHERE pronamespace = 'public'::regnamespace`);
    expect(left).toEqual([{ relname: 'migrations' }, { relname: 'sql_files' }]);
    const names = dataSource.migrations.map(({ name }) => name);
    expect(await migrate(dataSource)).toEqual(expect.arrayContaining(names));
  });

  it('let processes that start together wait for each other', async () => {
    const other = await openTestDatabase({ isEmpty: true });
    const sources = await Promise.all(
      Array.from({ length: 4 }, () => new DataSource(dataSourceOptions(other.url)).initialize()),
    );
    const done = await Promise.all(sources.map((source) => migrate(source)));
    expect(done.filter((names) => names.length > 0)).toHaveLength(1);
    for (const source of sources) await source.destroy();
    await other.drop();
  });

  it('put project_id first in the key of every table with project data', async () => {
    const tables = await query(`
      SELECT c.relname, (SELECT a.attname FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum = i.indkey[0]) AS first
      FROM pg_class c JOIN pg_attribute p ON p.attrelid = c.oid AND p.attname = 'project_id'
      LEFT JOIN pg_index i ON i.indrelid = c.oid AND i.indisprimary
      WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace`);
    expect(tables.length).toBeGreaterThan(1);
    for (const { relname, first } of tables)
      expect([relname, first]).toEqual([relname, 'project_id']);
  });

  it('keep no statistics of project_id, which would be wrong for a project loaded since', async () => {
    await query('ANALYZE');
    const kept = await query(`
      SELECT format('ALTER TABLE %I ALTER COLUMN project_id SET STATISTICS 0', c.relname) AS missing FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
      WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace AND a.attname = 'project_id'
        AND a.attstattarget IS DISTINCT FROM 0`);
    expect(kept).toEqual([]);
  });

  it('sort every text by code point', async () => {
    const columns = await query(`
      SELECT format('%I of %I is to be text COLLATE "C"', a.attname, c.relname) AS missing FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
      JOIN pg_attribute p ON p.attrelid = c.oid AND p.attname = 'project_id'
      WHERE c.relkind = 'r' AND a.atttypid = 'text'::regtype AND a.attnum > 0 AND a.attcollation <> '"C"'::regcollation`);
    expect(columns).toEqual([]);
  });
});
