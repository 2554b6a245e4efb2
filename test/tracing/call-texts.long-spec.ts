import { setTimeout as sleep } from 'node:timers/promises';
import { startApp } from '../support/app.js';
import { openTestDatabase } from '../support/database.js';
import { randomOf } from '../support/policy.js';
import { aSaidProject, randomNeedle } from '../support/said.js';
import { refreshed } from '../support/refreshed.js';
import { type Server, startServer } from '../support/server.js';
import { until } from '../support/until.js';

/** Documents in all, stored in rounds between kills. */
const ROUNDS = 5;
const DOCUMENTS = 400;
const QUERIES = 30;

it('finds exactly what 2,000 random documents say, with two servers of which one is killed while it indexes', async () => {
  const database = await openTestDatabase();
  const env = { DATABASE_URL: database.url };
  const random = randomOf(Date.now() % 1e6);
  let killed = await startServer(env);
  const other: Server = await startServer({ ...env, BOOTSTRAP_API_KEY: killed.key });
  const project = aSaidProject(other, 'acme/said', random);
  try {
    for (let round = 0; round < ROUNDS; round++) {
      await project.add(DOCUMENTS);
      await sleep(random() * 1500);
      await killed.stop('SIGKILL');
      await project.delete(20);
      for (let i = 0; i < QUERIES; i++)
        await project.check(randomNeedle(random, [...project.calls.values()]), random() < 0.5);
      killed = await startServer({ ...env, BOOTSTRAP_API_KEY: other.key });
    }
  } finally {
    await killed.stop('SIGKILL');
    await other.stop();
    await database.drop();
  }
});

/** A turn of the indexer removes erased calls for 5 s. */
const TURN_MS = 5500;

it('removes many erased calls in several turns, and indexes calls that were written meanwhile', async () => {
  const app = await startApp();
  const project_id = 'acme/erased';
  const start = (id: string, started_at: string) =>
    app.post('/call/start', {
      start: { project_id, id, trace_id: id, op_name: 'op', started_at, inputs: { text: 'zebra' } },
    });
  const found = async () => {
    const contains = { input: { $getField: 'inputs' }, substr: { $literal: 'zebra' } };
    const query = { $expr: { $contains: contains } };
    const { text } = await app.post('/calls/stream_query', { project_id, query, columns: ['id'] });
    return text.match(/(?<="id":")\w+/g)!.toSorted();
  };
  const inIndex = async () => {
    const rows = await app.query<{ ids: string[] }>(
      'SELECT ids FROM call_text_ids WHERE project_id = $1',
      [project_id],
    );
    return rows.flatMap(({ ids }) => ids).toSorted();
  };
  /** Keeps the indexer from deleting a segment until the returned function is called. */
  const lockSegment = async (segment: string) => {
    const holder = app.dataSource.createQueryRunner();
    await holder.query('BEGIN');
    await holder.query(
      'SELECT FROM call_text_segments WHERE project_id = $1 AND segment = $2 FOR UPDATE',
      [project_id, segment],
    );
    return async () => {
      await holder.query('ROLLBACK');
      await holder.release();
    };
  };
  const waits = async () => {
    const rows = await app.query(
      `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
    );
    return rows.length > 0;
  };
  try {
    // a segment for each of three years
    for (const [n, year] of ['0001', '0002', '9999'].entries()) {
      for (const name of ['erased', 'kept']) await start(`${name}${n}`, `${year}-01-01T00:00:00Z`);
      await refreshed(app, 'texts');
    }
    const segments = await app.query<{ segment: string }>(
      'SELECT segment FROM call_text_segments WHERE project_id = $1 ORDER BY first_at',
      [project_id],
    );
    const [first, second, third] = await Promise.all(
      segments.map(({ segment }) => lockSegment(segment)),
    );
    const call_ids = ['erased0', 'erased1', 'erased2'];
    await app.post('/calls/purge', { project_id, call_ids });
    const left = ['kept0', 'kept1', 'kept2'];
    expect(await found()).toEqual(left);

    await until(waits);
    await start('new', '2026-01-01T00:00:00Z');
    await sleep(TURN_MS);
    await first!();
    await until(async () => !(await inIndex()).includes('erased0'));
    expect(await inIndex()).toEqual(['erased1', 'erased2', ...left]);

    await until(waits);
    await sleep(TURN_MS);
    await second!();
    await until(async () => !(await inIndex()).includes('erased1'));
    expect(await inIndex()).toEqual(['erased2', ...left, 'new']);
    expect(await found()).toEqual([...left, 'new']);

    await third!();
    await until(async () => !(await inIndex()).includes('erased2'));
    expect(await inIndex()).toEqual([...left, 'new']);
    expect(await found()).toEqual([...left, 'new']);
  } finally {
    await app.close();
  }
});
