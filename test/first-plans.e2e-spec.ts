import pg from 'pg';
import { threadedTracesQuery } from '../src/calls/turn-roots.query.js';
import { openTestDatabase, type TestDatabase, unlessCluster } from './support/database.js';

/** So many calls there are when the plan is made. */
const BEFORE = [0, 1000, 5000];

/** A connection keeps its plans, so those that it makes first are for tables that are small or empty. */
unlessCluster('the coordinator does not see what its shards read').describe(
  'plans that are kept',
  () => {
    let database: TestDatabase;
    let client: pg.Client;
    beforeEach(async () => {
      database = await openTestDatabase();
      client = new pg.Client(database.url);
      await client.connect();
    });
    afterEach(async () => {
      await client.end();
      await database.drop();
    });

    const store = (name: string, count: number) =>
      client.query(
        `INSERT INTO calls (project_id, id, trace_id, parent_id, op_name, started_at)
         SELECT 'acme/demo', $1 || n, $1 || n, 'p', 'op', now() FROM generate_series(1, $2) n`,
        [name, count],
      );
    const allReads = async () => {
      const { rows } = await client.query(
        `SELECT seq_tup_read + idx_tup_fetch AS reads FROM pg_stat_xact_user_tables WHERE relname = 'calls'`,
      );
      return Number(rows[0].reads);
    };

    /** How many calls 100 looks read when the plan was made for `before` calls. */
    async function readsOf(
      before: number,
      look: (id: string) => Promise<unknown>,
    ): Promise<number> {
      await client.query('BEGIN');
      await store('early', before);
      for (let i = 0; i < 10; i++) await look(`early${i}`);
      await store('c', 1000);
      const reads = await allReads();
      for (let i = 1; i <= 100; i++) await look(`c${i}`);
      return (await allReads()) - reads;
    }

    it.each(BEFORE)('find the trace of a call by its id (made for %d calls)', async (before) => {
      const reads = await readsOf(before, (id) =>
        client.query(`SELECT skein_trace('acme/demo', $1)`, [id]),
      );
      expect(reads).toBe(100);
    });

    it.each(BEFORE)(
      'find the spans of a trace by the trace (made for %d calls)',
      async (before) => {
        const reads = await readsOf(before, (id) =>
          client.query(threadedTracesQuery('acme/demo', [id]).toQuery()),
        );
        expect(reads).toBe(100);
      },
    );
  },
);
