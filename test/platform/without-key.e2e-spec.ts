import { once } from 'node:events';
import { get, type IncomingMessage, type Server } from 'node:http';
import { type ClientHttp2Session, connect as connectHttp2 } from 'node:http2';
import { connect, type Socket } from 'node:net';
import { Database } from '../../src/platform/database/database.js';
import { basic, startApp, useApp } from '../support/app.js';
import { listenForGrpc } from '../support/grpc.js';
import { until } from '../support/until.js';

const portOf = (url: string) => Number(new URL(url).port);
const HALF = 'POST /call/start HTTP/1.1\r\nhost: x\r\n';

async function metricOf(url: string, name: string): Promise<number> {
  const page = await (await fetch(`${url}/metrics`)).text();
  return Number(
    page
      .split('\n')
      .find((line) => line.startsWith(`${name} `))
      ?.split(' ')[1] ?? 0,
  );
}

/** Returns the status of a GET with another Host header or from another address; 0 when the connection fails. */
function asked(url: string, options: { host?: string; localAddress?: string }): Promise<number> {
  const { host, localAddress } = options;
  return new Promise((resolve) => {
    get(url, { localAddress, headers: { ...(host && { host }), connection: 'close' } }, (answer) =>
      resolve(answer.resume().statusCode!),
    ).on('error', () => resolve(0));
  });
}

describe('/ready and /metrics', () => {
  const app = useApp({ DATABASE_POOL_SIZE: '3' });

  it('are answered while requests hold all connections of the pool', async () => {
    const database = app.app.get(Database);
    let free = () => {};
    const freed = new Promise<void>((resolve) => (free = resolve));
    const held = [1, 2, 3].map(() => database.transaction(() => freed));
    await until(() => database.pool.idleCount === 0 && database.pool.totalCount === 3);
    try {
      const ready = await fetch(`${app.url}/ready`);
      expect([ready.status, await ready.json()]).toEqual([
        200,
        expect.objectContaining({ database: 'reachable', writes: 'taken' }),
      ]);
      expect(await metricOf(app.url, 'skein_ready{what="database"}')).toBe(1);
    } finally {
      free();
      await Promise.all(held);
    }
  });

  it('look at the database once for all who ask at a time, on one connection', async () => {
    const own = `SELECT count(*)::int AS n, count(DISTINCT pid)::int AS pids FROM pg_stat_activity WHERE datname = current_database()`;
    const [before] = await app.query(own);
    const answers = await Promise.all(
      Array.from({ length: 300 }, (_, i) => fetch(app.url + ['/ready', '/metrics'][i % 2]!)),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    const [after] = await app.query(own);
    expect(after.n).toBeLessThanOrEqual(before.n + 1);
  });
});

describe('connections of clients', () => {
  const app = useApp({ MAX_CONNECTIONS: '16', MAX_CONNECTIONS_PER_ADDRESS: '12' });
  const sockets: Socket[] = [];
  const open = async (localAddress: string, count: number) => {
    for (let i = 0; i < count; i++) {
      const socket = connect({ port: portOf(app.url), host: '127.0.0.1', localAddress });
      sockets.push(socket.on('error', () => {}));
      await once(socket, 'connect');
      socket.write(HALF);
    }
  };
  const openOf = (those: Socket[]) => those.filter((socket) => !socket.closed);
  afterEach(() => {
    for (const socket of sockets.splice(0)) socket.destroy();
  });

  it('are closed at once when they are too many of one address, and counted', async () => {
    await open('127.0.0.2', 20);
    await until(() => openOf(sockets).length === 12);
    expect(await asked(`${app.url}/health`, {})).toBe(200);
    expect(await metricOf(app.url, 'skein_connections_refused_total{limit="address"}')).toBe(8);
    expect(await metricOf(app.url, 'skein_connections')).toBeGreaterThanOrEqual(13);
  });

  it('make room for an address that has fewer when they are as many as the process may have', async () => {
    await open('127.0.0.2', 11);
    await open('127.0.0.3', 5);
    expect(await asked(`${app.url}/health`, { localAddress: '127.0.0.4' })).toBe(200);
    await until(() => openOf(sockets).length < 16);
    expect(
      await metricOf(app.url, 'skein_connections_refused_total{limit="process"}'),
    ).toBeGreaterThan(0);
    expect(openOf(sockets.slice(11))).toHaveLength(5);
  });

  describe('of gRPC', () => {
    let door: Awaited<ReturnType<typeof listenForGrpc>>;
    const sessions: ClientHttp2Session[] = [];
    beforeEach(async () => void (door = await listenForGrpc(app)));
    afterEach(async () => {
      for (const session of sessions.splice(0)) session.destroy();
      await door.close();
    });
    const headersOf = (key: string) => ({
      ':method': 'POST',
      ':path': '/opentelemetry.proto.collector.trace.v1.TraceService/Export',
      'content-type': 'application/grpc',
      authorization: basic(key),
      project_id: 'acme/demo',
    });
    /** Opens a connection and begins requests on it. */
    const begin = (count: number, key: string) => {
      const session = connectHttp2(`http://${door.address}`).on('error', () => {});
      sessions.push(session);
      return Array.from({ length: count }, () =>
        session.request(headersOf(key)).on('error', () => {}),
      );
    };

    it('make room for others of their address until they have sent a valid key', async () => {
      const strangers = begin(20, 'made-up');
      await until(() => strangers.some(({ closed }) => closed));
      expect(await asked(`${app.url}/health`, {})).toBe(200);

      const [valid] = begin(1, app.key);
      valid!.end(Buffer.alloc(5)); // an empty message
      await once(valid!, 'response');
      await open('127.0.0.1', 30);
      expect(await asked(`${app.url}/health`, {})).toBe(200);
      expect(sessions.at(-1)!.closed).toBe(false);
    });

    /** Opens a connection for frames that a test builds itself. */
    const wire = async () => {
      const socket = connect(door.port, '127.0.0.1');
      sockets.push(socket.on('error', () => {}));
      socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0');
      await once(socket, 'data');
      return socket.resume();
    };
    const frame = (kind: number, flags: number, stream: number, payload: string) =>
      Buffer.from(
        `\0\0${String.fromCharCode(payload.length, kind, flags)}\0\0\0${String.fromCharCode(stream)}${payload}`,
        'latin1',
      );

    it('end when their client has taken back over 100 requests', async () => {
      const socket = await wire();
      const headers = { ':scheme': 'http', ':authority': 'x', ...headersOf('made-up') };
      const head = Object.entries(headers)
        .map(
          ([name, value]) =>
            `\0${String.fromCharCode(name.length)}${name}${String.fromCharCode(value.length)}${value}`,
        )
        .join('');
      for (let stream = 1; stream < 255; stream += 2)
        socket.write(Buffer.concat([frame(1, 4, stream, head), frame(3, 0, stream, '\0\0\0\x08')]));
      await until(() => socket.closed);
    });

    it('end when their client has gone', async () => {
      const socket = await wire();
      socket.end();
      await until(() => socket.closed);
    });
  });
});

it('does not bound the connections of a proxy that TRUST_PROXY names by address', async () => {
  const app = await startApp({
    TRUST_PROXY: '127.0.0.2',
    MAX_CONNECTIONS: '16',
    MAX_CONNECTIONS_PER_ADDRESS: '1',
  });
  const ask = (localAddress: string) =>
    Array.from({ length: 5 }, () => connect({ port: portOf(app.url), localAddress }));
  const [proxied, direct] = [ask('127.0.0.2'), ask('127.0.0.3')];
  for (const socket of [...proxied, ...direct]) socket.on('error', () => {});
  await until(() => direct.filter(({ closed }) => closed).length === 4);
  expect(proxied.filter(({ closed }) => closed)).toHaveLength(0);
  for (const socket of [...proxied, ...direct]) socket.destroy();
  await app.close();
});

it('with ALLOWED_HOSTS answers 421 to a foreign Host, and to none', async () => {
  const app = await startApp({ ALLOWED_HOSTS: 'skein.example.com,127.0.0.1' });
  const port = portOf(app.url);
  const statuses = await Promise.all(
    [`Skein.Example.com:${port}`, 'skein.example.com', `127.0.0.1:${port}`, 'evil.example'].map(
      (host) => asked(`${app.url}/health`, { host }),
    ),
  );
  expect(statuses).toEqual([200, 200, 200, 421]);
  for (const path of ['/ready', '/docs', '/console/', '/call/start'])
    expect(await asked(app.url + path, { host: '127.0.0.1.evil.example' })).toBe(421);
  const socket = connect(port, '127.0.0.1');
  socket.end('GET /health HTTP/1.0\r\n\r\n');
  const [bytes] = (await once(socket, 'data')) as [Buffer];
  expect(String(bytes)).toMatch(/^HTTP\/1\.1 421 [^]*in ALLOWED_HOSTS","code":"misdirected"/);
  await app.close();
});

const NOTHING = 'GET /nothing HTTP/1.1\r\nhost: x\r\n\r\n';

/** Opens a connection that collects the statuses it receives. */
function listening(url: string): { socket: Socket; statuses: () => string[] } {
  let seen = '';
  const socket = connect(portOf(url), '127.0.0.1').on('error', () => {});
  socket.on('data', (bytes) => (seen += String(bytes)));
  return { socket, statuses: () => seen.match(/(?<=HTTP\/1\.1 )\d+/g) ?? [] };
}

it('lets requests without a key wait for each other by address, beyond 500 at once', async () => {
  const app = await startApp();
  const began = performance.now();
  const connections = Array.from({ length: 70 }, () => listening(app.url));
  for (const { socket } of connections) socket.write(NOTHING.repeat(10));
  await until(() => connections.every(({ statuses }) => statuses().length === 10));
  expect(performance.now() - began).toBeGreaterThan(390); // 700 requests, of which 500 pass at once and 500 each second
  for (const { socket } of connections) socket.destroy();
  await app.close();
});

describe('public pages', () => {
  const app = useApp();

  it('are cut when their client reads nothing for 60 s', async () => {
    const limits: (number | undefined)[] = [];
    const server: Server = app.app.getHttpServer();
    server.on('request', ({ socket }: IncomingMessage) => limits.push(socket.timeout));
    for (const path of ['/console/', '/docs/swagger-ui.css', '/openapi.json'])
      await (await fetch(app.url + path)).text();
    expect(limits).toEqual([60_000, 60_000, 60_000]);
  });

  it('that describe the API count as 20 requests without a key', async () => {
    const began = performance.now();
    const answers = await Promise.all(Array.from({ length: 75 }, () => fetch(`${app.url}/docs`)));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    expect(performance.now() - began).toBeGreaterThan(1900); // 1,500 requests
  });
});

describe('pipelined requests', () => {
  const app = useApp();

  it('are answered in their order, one after the other', async () => {
    const { socket, statuses } = listening(app.url);
    const health = 'GET /health HTTP/1.1\r\nhost: x\r\n\r\n';
    socket.write(`${NOTHING}${health}`.repeat(5));
    await until(() => statuses().length === 10);
    expect(statuses()).toEqual(Array(5).fill(['404', '200']).flat());
    socket.destroy();
  });

  it('are refused beyond 16 that wait, and nothing more is made of them', async () => {
    const { socket, statuses } = listening(app.url);
    const before = await metricOf(
      app.url,
      'skein_http_request_duration_seconds_count{method="GET",route="none",status="404"}',
    );
    socket.write(NOTHING.repeat(5000));
    await until(() => socket.closed);
    expect(statuses()).toEqual([...Array(17).fill('404'), '429']);
    const after = await metricOf(
      app.url,
      'skein_http_request_duration_seconds_count{method="GET",route="none",status="404"}',
    );
    expect(after - before).toBe(17);
  });
});

it('a valid key or session does not wait for thousands of requests without one', async () => {
  const app = await startApp();
  const fromConsole = { 'x-skein-console': '1' };
  const login = await fetch(`${app.url}/console/login`, {
    method: 'POST',
    headers: { ...fromConsole, authorization: `Bearer ${app.key}` },
  });
  const [cookie = ''] = login.headers.get('set-cookie')!.split(';');
  const strangers = Array.from({ length: 1000 }, () => listening(app.url));
  for (const { socket } of strangers) socket.write(NOTHING.repeat(3));
  const answered = () => strangers.reduce((sum, { statuses }) => sum + statuses().length, 0);
  await until(() => answered() > 500);
  expect((await fetch(`${app.url}/me`, { headers: { ...fromConsole, cookie } })).status).toBe(200);
  expect((await app.post('/call/read', { project_id: 'acme/demo', id: 'x' })).status).toBe(200);
  expect(answered()).toBeLessThan(2500);
  for (const { socket } of strangers) socket.destroy();
  await app.close();
});
