import { openTestDatabase } from '../support/database.js';
import { type Server, startServer } from '../support/server.js';

describe.each(['1', '2'])('OPERATIONS_PORT with WORKERS=%s', (workers) => {
  let server: Server;
  let operations: string;
  let drop: () => Promise<void>;
  beforeAll(async () => {
    const database = await openTestDatabase();
    drop = database.drop;
    server = await startServer({
      DATABASE_URL: database.url,
      WORKERS: workers,
      OPERATIONS_PORT: '0',
      ALLOWED_HOSTS: '127.0.0.1',
      MAX_CONNECTIONS: '16',
      LOG_FORMAT: 'json',
    });
    operations = /operations are answered on (http:[^"\s]+)/.exec(server.output())![1]!;
  });
  afterAll(async () => {
    await server.stop();
    await drop();
  });

  it('has /health, /ready and /metrics there, and nothing else, for any Host', async () => {
    const statusOf = async (url: string) => (await fetch(url)).status;
    for (const [path, there, elsewhere] of [
      ['/health', 200, 200],
      ['/ready', 200, 404],
      ['/metrics', 200, 404],
      ['/docs', 404, 200],
      ['/console/', 404, 200],
    ] as const)
      expect([path, await statusOf(operations + path), await statusOf(server.url + path)]).toEqual([
        path,
        there,
        elsewhere,
      ]);
    const post = await fetch(`${operations}/call/start`, { method: 'POST', body: '{}' });
    expect(post.status).toBe(404);
    const page = await (await fetch(`${operations}/metrics`)).text();
    expect(page).toMatch(/^skein_connections \d/m);
    expect(page.includes('skein_connections_refused_total{limit="workers"} 0')).toBe(
      workers === '2',
    );
  });
});
