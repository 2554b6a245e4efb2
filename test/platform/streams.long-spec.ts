import { once } from 'node:events';
import { request } from 'node:http';
import pg from 'pg';
import { basic } from '../support/app.js';
import { openTestDatabase, type TestDatabase } from '../support/database.js';
import { type Server, startServer } from '../support/server.js';
import { until } from '../support/until.js';

const MIB = 1024 * 1024;
const CALLS = 120_000;
/** One connection is reserved for short statements, and one for streams of another key. */
const POOL = 4;

describe('/calls/stream_query over 120,000 calls', () => {
  let database: TestDatabase;
  let server: Server;
  let client: pg.Client;
  beforeAll(async () => {
    database = await openTestDatabase();
    server = await startServer({ DATABASE_URL: database.url, DATABASE_POOL_SIZE: String(POOL) });
    client = new pg.Client(database.url);
    await client.connect();
    await client.query(
      `INSERT INTO calls (project_id, id, op_name, trace_id, started_at, attributes, inputs)
       SELECT 'acme/big', 'c' || n, 'op', 't', timestamptz '2026-01-01' + n * interval '1 ms', '{}',
         json_build_object('text', repeat('x', 1000)) FROM generate_series(1, $1) n`,
      [CALLS],
    );
  });
  afterAll(async () => {
    await client.end();
    await server.stop();
    await database.drop();
  });

  const open = (path: string, query: object = {}) => {
    const sent = request(server.url + path, {
      method: 'POST',
      headers: { authorization: basic(server.key), 'content-type': 'application/json' },
    });
    sent.end(JSON.stringify({ project_id: 'acme/big', ...query }));
    return sent;
  };
  const memory = async () => {
    const text = await (await fetch(`${server.url}/metrics`)).text();
    return Number(/^process_resident_memory_bytes (\d+)/m.exec(text)![1]);
  };

  /** The number of statements of the server that are running. */
  const busy = async () => {
    const { rows } = await client.query(
      `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND state <> 'idle' AND pid <> pg_backend_pid()`,
    );
    return rows.length;
  };

  it('a row longer than any read arrives whole, also behind readers who left in the middle of one', async () => {
    await client.query(
      `INSERT INTO calls (project_id, id, op_name, trace_id, started_at, attributes, inputs)
       SELECT 'acme/wide', 'c' || n, 'op', 't', timestamptz '2026-01-01' + n * interval '1 ms', '{}',
         json_build_object('text', repeat(n::text, 100000)) FROM generate_series(10, 49) n`,
    );
    for (let i = 0; i < 20; i++) {
      const [response] = await once(
        open('/calls/stream_query', { project_id: 'acme/wide' }),
        'response',
      );
      await once(response, 'data');
      response.destroy();
    }
    await until(async () => (await busy()) === 0);
    const [response] = await once(
      open('/calls/stream_query', { project_id: 'acme/wide' }),
      'response',
    );
    const chunks: Buffer[] = [];
    for await (const chunk of response) chunks.push(chunk);
    const lines = Buffer.concat(chunks).toString().trimEnd().split('\n');
    expect(lines).toHaveLength(40);
    for (const [i, line] of lines.entries())
      expect(JSON.parse(line).inputs.text).toBe(String(i + 10).repeat(100_000));
  });

  it.each(['/calls/stream_query', '/calls/query'])('%s keeps memory flat', async (path) => {
    const [response] = await once(open(path), 'response');
    let bytes = 0;
    let calls = 0;
    let base = 0;
    let peak = 0;
    for await (const chunk of response) {
      calls += chunk.toString('latin1').split('"op_name"').length - 1;
      // the first tenth fills caches that any stream needs
      if (Math.floor((bytes + chunk.length) / (16 * MIB)) > Math.floor(bytes / (16 * MIB))) {
        const now = await memory();
        if (bytes < 32 * MIB) base = now;
        peak = Math.max(peak, now);
      }
      bytes += chunk.length;
    }
    expect(bytes).toBeGreaterThan(120 * MIB);
    expect(calls).toBeGreaterThan(CALLS * 0.99); // a name may be split between two chunks
    expect(peak - base).toBeLessThan(64 * MIB);
  });

  it('a reader that leaves early gives its connection back and stops its query', async () => {
    for (let i = 0; i < 3 * POOL; i++) {
      const sent = open('/calls/stream_query');
      const [response] = await once(sent, 'response');
      await once(response, 'data');
      sent.destroy();
    }
    await until(async () => (await busy()) === 0);
  });

  it('a reader that leaves before the first row does so too', async () => {
    const never = {
      $contains: { input: { $getField: 'inputs.text' }, substr: { $literal: 'nowhere' } },
    };
    const slow = open('/calls/stream_query', {
      query: { $expr: { $or: Array.from({ length: 200 }, () => never) } },
    });
    slow.on('error', () => {});
    await until(async () => (await busy()) === 1);
    slow.destroy();
    await until(async () => (await busy()) === 0);
  });

  it('readers that dawdle leave connections to everybody else', async () => {
    const slow = Array.from({ length: 3 * POOL }, () => open('/calls/stream_query'));
    const answers = await Promise.all(
      slow.map(async (sent) => (await once(sent, 'response'))[0].statusCode),
    );
    const streaming = answers.filter((status) => status === 200).length;
    expect(streaming).toBeLessThanOrEqual(POOL - 2);
    expect(streaming).toBeGreaterThanOrEqual(POOL - 3); // a background task may hold a connection for some seconds
    expect(answers.filter((status) => status === 503)).toHaveLength(3 * POOL - streaming);
    expect((await server.post('/call/read', { project_id: 'acme/big', id: 'c1' })).status).toBe(
      200,
    );
    expect((await fetch(`${server.url}/ready`)).status).toBe(200);
    for (const sent of slow) sent.on('error', () => {}).destroy();
    await until(async () => (await busy()) === 0);
  });

  it('a stream whose database goes away is cut, and does not look complete', async () => {
    const [response] = await once(open('/calls/stream_query'), 'response');
    await once(response, 'data');
    await client.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`,
    );
    const read = async () => {
      for await (const chunk of response) void chunk;
    };
    await expect(read()).rejects.toThrow();
    expect(response.complete).toBe(false);
    // The pool may still have a connection that was ended. The request that finds it gets an error and tries again.
    const aRead = () => server.post('/call/read', { project_id: 'acme/big', id: 'c1' });
    await until(async () => (await aRead()).status === 200);
  });
});
