import { Client } from 'pg';
import { basic, send } from '../support/app.js';
import { openTestDatabase } from '../support/database.js';
import { aStart } from '../support/factories.js';
import { type Server, startServer } from '../support/server.js';
import { until } from '../support/until.js';

const SLOW_MS = 200;
const PROJECT = 'acme/slow';

let server: Server;
let database: Awaited<ReturnType<typeof openTestDatabase>>;
let client: Client;
beforeAll(async () => {
  database = await openTestDatabase();
  client = new Client(database.url);
  await client.connect();
  const env = { DATABASE_URL: database.url, LOG_FORMAT: 'json', SLOW_QUERY_MS: String(SLOW_MS) };
  server = await startServer(env);
});
afterAll(async () => {
  await server.stop();
  await client.end();
  await database.drop();
});

const slow = (): any[] =>
  server
    .output()
    .split('\n')
    .filter((line) => line.includes('"slow statement'))
    .map((line) => JSON.parse(line));

/** Sends a request while its table is locked, until the statement counts as slow. */
async function askSlowly(table: string, path: string, body: object, id: string) {
  await client.query(`BEGIN; LOCK TABLE ${table} IN ACCESS EXCLUSIVE MODE`);
  const headers = { authorization: basic(server.key), 'x-request-id': id };
  const answer = send(server.url + path, body, headers);
  await until(async () => {
    const { rowCount } = await client.query(
      `SELECT FROM pg_locks WHERE relation = $1::regclass AND NOT granted
       AND waitstart < clock_timestamp() - $2 * interval '1 ms'`,
      [table, 2 * SLOW_MS],
    );
    return rowCount! > 0;
  });
  await client.query('COMMIT');
  expect((await answer).status).toBe(200);
}

it.each([
  ['feedback', '/feedback/query', {}, ['feedback.query:countQuery', 1]],
  ['calls', '/calls/stream_query', { limit: 7 }, ['calls.query:toCallRows', 0]],
])(
  'tells of a slow statement of %s once, with its name and never a value',
  async (table, path, more, [name, rows]) => {
    await server.post('/call/start', { start: aStart({ project_id: PROJECT }) });
    const query = { $expr: { $eq: [{ $getField: 'id' }, { $literal: 'a-secret-value' }] } };
    const body = { project_id: PROJECT, query, ...more };
    await askSlowly(table, path, body, `first-${table}`);
    await askSlowly(table, path, body, `second-${table}`);
    const lines = slow().filter((line) => line.operation === path);
    expect(lines).toEqual([
      {
        level: 40,
        time: expect.any(String),
        msg: `slow statement: ${name}`,
        statement: name,
        duration_ms: expect.any(Number),
        rows,
        request_id: `first-${table}`,
        operation: path,
        project: PROJECT,
      },
    ]);
    expect(lines[0].duration_ms).toBeGreaterThanOrEqual(SLOW_MS);
    expect(server.output()).not.toContain('a-secret-value');
  },
);
