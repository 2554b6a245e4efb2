import { once } from 'node:events';
import { createServer } from 'node:net';
import { Metadata } from '@grpc/grpc-js';
import { lookupType } from '../../src/doors/otel/otlp.js';
import { basic } from '../support/app.js';
import { openTestDatabase } from '../support/database.js';
import { grpcClient } from '../support/grpc.js';
import { run, startServer } from '../support/server.js';
import { until } from '../support/until.js';

const project_id = 'acme/demo';
const REQUEST = lookupType('collector.trace.v1.ExportTraceServiceRequest');
const TRACE = Buffer.from('0af7651916cd43dd8448eb211c80319c', 'hex');

const exportOf = (id: string) =>
  REQUEST.encode(
    REQUEST.fromObject({
      resourceSpans: [
        {
          scopeSpans: [
            {
              spans: [
                {
                  traceId: TRACE,
                  spanId: Buffer.from(id, 'hex'),
                  name: 'work',
                  startTimeUnixNano: '1767225600123456789',
                  endTimeUnixNano: '1767225601123456789',
                },
              ],
            },
          ],
        },
      ],
    }),
  ).finish();

function metadataOf(key: string): Metadata {
  const metadata = new Metadata();
  metadata.set('authorization', basic(key));
  metadata.set('project_id', project_id);
  return metadata;
}

/**
 * Errors of requests sent while the server ends: no connection, or one that is not read any more. Exporters send them
 * again.
 */
const NOT_SENT = /refused by server|No connection established/;

const grpcOf = (output: string) => /gRPC is accepted on http:\/\/([^"\s]+)/.exec(output)![1]!;

describe.each(['1', '2'])('OTLP_GRPC_PORT with WORKERS=%s', (WORKERS) => {
  let database: Awaited<ReturnType<typeof openTestDatabase>>;
  beforeAll(async () => {
    database = await openTestDatabase();
  });
  afterAll(() => database.drop());

  it('takes spans, and a stop loses none that it has said to have, and refuses none', async () => {
    const env = { DATABASE_URL: database.url, WORKERS, LOG_FORMAT: 'json' };
    const server = await startServer({ ...env, OTLP_GRPC_PORT: '0', SHUTDOWN_DELAY_SECONDS: '1' });
    const clients = Array.from({ length: 4 }, () => grpcClient(grpcOf(server.output())));
    const metadata = metadataOf(server.key);
    const said: string[] = [];
    const failed: unknown[] = [];
    let count = 0;
    let hasStopped = false;
    let stopping: Promise<number | null> | undefined;
    await Promise.all(
      clients.map(async (client) => {
        while (!hasStopped) {
          const id = (++count).toString(16).padStart(16, '0');
          const { code, details } = await client.export('Trace', exportOf(id), metadata);
          if (code === 0) said.push(id);
          else if (/ECONNREFUSED/.test(details)) hasStopped = true;
          else if (!NOT_SENT.test(details)) failed.push({ code, details });
          if (said.length === 100)
            stopping = server.stop().then((exitCode) => {
              hasStopped = true;
              return exitCode;
            });
        }
      }),
    );
    expect(await stopping).toBe(0);
    for (const client of clients) client.close();
    expect(failed).toEqual([]);
    expect(said.length).toBeGreaterThan(100);

    const again = await startServer({ ...env, BOOTSTRAP_API_KEY: server.key });
    const { body } = await again.post('/calls/query_stats', { project_id });
    expect(body.count).toBeGreaterThanOrEqual(said.length);
    await again.stop();
  });
});

describe('OTLP_GRPC_PORT', () => {
  it('is 4317, which another program may have: the log tells, and the service starts', async () => {
    const database = await openTestDatabase();
    const other = createServer().on('error', () => {});
    other.listen(4317, '127.0.0.1').unref(); // it makes no difference if another program has the port already
    const server = await startServer({
      DATABASE_URL: database.url,
      OTLP_GRPC_PORT: '',
      LOG_FORMAT: 'json',
    });
    const lines = server.output().split('\n');
    expect(lines.filter((line) => line.includes('gRPC'))).toEqual([
      expect.stringMatching(
        /OTLP over gRPC is not accepted: port 4317 cannot be used \(EADDRINUSE\)/,
      ),
    ]);
    expect((await fetch(`${server.url}/ready`)).status).toBe(200);
    await server.stop();
    other.close();
    await database.drop();
  });

  it('that is another one and in use stops the start', async () => {
    const other = createServer().listen(0, '127.0.0.1').unref();
    await once(other, 'listening');
    const { port } = other.address() as { port: number };
    const server = run('main.js', { OTLP_GRPC_PORT: String(port) });
    expect(await server.exit).toBe(1);
    expect(server.output()).toContain(
      `skein cannot start: OTLP_GRPC_PORT ${port} cannot be used (EADDRINUSE)`,
    );
    other.close();
  });

  it('is asked by doctor', async () => {
    const database = await openTestDatabase();
    const env = { DATABASE_URL: database.url };
    const server = await startServer({ ...env, OTLP_GRPC_PORT: '0' });
    const port = grpcOf(server.output()).split(':').at(-1)!;
    const address = { ...env, PORT: new URL(server.url).port };
    const doctor = async (OTLP_GRPC_PORT: string) => {
      const asked = run('server/commands/doctor.cli.js', { ...address, OTLP_GRPC_PORT });
      await asked.exit;
      return asked.output();
    };
    expect(await doctor(port)).toContain(
      `ok    OTLP over gRPC is accepted on http://127.0.0.1:${port}`,
    );
    expect(await doctor(new URL(server.url).port)).toMatch(
      /warn  OTLP over gRPC is not accepted on /,
    );
    expect(await doctor('off')).not.toContain('gRPC');
    await server.stop();
    await until(() => server.process.exitCode !== null);
    expect(await doctor(port)).toContain('ok    the port for OTLP over gRPC');
    await database.drop();
  });
});
