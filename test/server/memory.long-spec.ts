import { readFileSync } from 'node:fs';
import { Metadata } from '@grpc/grpc-js';
import { lookupType } from '../../src/doors/otel/otlp.js';
import { basic } from '../support/app.js';
import { aStart } from '../support/factories.js';
import { grpcClient } from '../support/grpc.js';
import { aFolder, freePort, type Server, startServer } from '../support/server.js';

const PROJECT = 'acme/memory';
const MIB = 1024 * 1024;
const onLinux = process.platform === 'linux' ? describe : describe.skip;

onLinux('a write that needs more memory than its process of PostgreSQL may take', () => {
  it('is refused alone, not with the writes it shares a statement with', async () => {
    const folder = aFolder();
    const server = await startServer({
      DATA_DIR: folder.path,
      POSTGRES_PROCESS_BYTES: String(40 * MIB),
    });
    const project_id = PROJECT;
    const batch = [1, 7.5 * MIB, 1].map((length, i) => ({
      mode: 'start',
      req: { start: aStart({ project_id, id: `c${i}`, inputs: { a: 'x'.repeat(length) } }) },
    }));
    expect(await server.post('/call/upsert_batch', { batch })).toMatchObject({
      status: 503,
      body: { detail: 'the database has no memory left for this' },
    });
    const { calls } = (await server.post('/calls/query', { project_id })).body;
    expect(calls.map(({ id }: { id: string }) => id)).toEqual(['c0', 'c2']);
    await server.stop();
    folder.remove();
  });
});

/** 80 MiB are too little for three conditions on a call of 8 MiB, and for storing a call of 24 MiB. */
onLinux('a process of the embedded PostgreSQL that may take no more memory', () => {
  const folder = aFolder();
  let server: Server;
  beforeAll(async () => {
    server = await startServer({
      DATA_DIR: folder.path,
      POSTGRES_PROCESS_BYTES: String(80 * MIB),
    });
  });
  afterAll(async () => {
    await server.stop();
    folder.remove();
  });

  const start = (id: string, mib: number) =>
    server.post('/call/start', {
      start: aStart({ project_id: PROJECT, id, inputs: { a: 'x'.repeat(mib * MIB) } }),
    });
  const count = (query?: object) =>
    server.post('/calls/query_stats', { project_id: PROJECT, ...(query && { query }) });

  it('fails its statement alone, which is answered 503, and nothing of it is stored', async () => {
    expect((await start('stored', 8)).status).toBe(200);
    const refused = await start('refused', 24);
    expect(refused).toMatchObject({
      status: 503,
      body: { code: 'unavailable', detail: 'the database has no memory left for this' },
    });
    const isY = (name: string) => ({ $eq: [{ $getField: name }, { $literal: 'y' }] });
    const query = { $expr: { $or: ['inputs.b', 'inputs.c', 'inputs.d'].map(isY) } };
    expect(await count(query)).toMatchObject({ status: 503, body: { code: 'unavailable' } });

    expect(await count()).toMatchObject({ status: 200, body: { count: 1 } });
    expect((await start('next', 1)).status).toBe(200);
    expect(server.output()).not.toMatch(/terminated by signal|starts again|all server processes/);
  });
});

onLinux('spans of 30 MB that come together, by HTTP in protobuf and by gRPC', () => {
  const REQUEST = lookupType('collector.trace.v1.ExportTraceServiceRequest');
  const MOST_MIB = 600;
  /** A span with an attribute of 30 MB, or with one of 300,000 values. */
  const aSpan = (i: number) => {
    const values = Array.from({ length: 300_000 }, () => ({ stringValue: 'x'.repeat(96) }));
    const value =
      i % 2 === 0 ? { stringValue: 'x'.repeat(30_000_000) } : { arrayValue: { values } };
    const id = Buffer.alloc(8, i + 1);
    const span = {
      ...{ traceId: Buffer.alloc(16, 1), spanId: id, name: 'large' },
      ...{ startTimeUnixNano: '1767225600123456789', endTimeUnixNano: '1767225601123456789' },
      attributes: [{ key: 'input.value', value }],
    };
    const request = REQUEST.fromObject({ resourceSpans: [{ scopeSpans: [{ spans: [span] }] }] });
    return { id: id.toString('hex'), bytes: Buffer.from(REQUEST.encode(request).finish()) };
  };

  it('are all stored, and take no more memory than a body may', async () => {
    const folder = aFolder();
    const port = String(await freePort());
    const server = await startServer({ DATA_DIR: folder.path, OTLP_GRPC_PORT: port });
    const mebibytes = (name: string) => {
      const status = readFileSync(`/proc/${server.process.pid}/status`, 'utf8');
      return Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)![1]) / 1024;
    };
    const before = mebibytes('VmRSS');
    const client = grpcClient(`127.0.0.1:${port}`);
    const authorization = basic(server.key);
    const byHttp = async (bytes: Buffer): Promise<boolean> => {
      const headers = {
        ...{ authorization, project_id: PROJECT },
        'content-type': 'application/x-protobuf',
      };
      const answer = await fetch(`${server.url}/v1/traces`, {
        method: 'POST',
        headers,
        body: new Uint8Array(bytes),
      });
      await answer.arrayBuffer();
      return answer.status === 200;
    };
    const byGrpc = async (bytes: Buffer): Promise<boolean> => {
      const metadata = new Metadata();
      metadata.set('authorization', authorization);
      metadata.set('project_id', PROJECT);
      return (await client.export('Trace', bytes, metadata)).code === 0;
    };
    /** Sends again what was refused for lack of memory, as an exporter does. */
    const sent = async (bytes: Buffer, send: typeof byHttp) => {
      while (!(await send(bytes)));
    };
    const spans = [0, 1, 2, 3].map(aSpan);
    await Promise.all(spans.map(({ bytes }, i) => sent(bytes, i < 2 ? byHttp : byGrpc)));
    expect(mebibytes('VmHWM') - before).toBeLessThan(MOST_MIB);
    const { calls } = (await server.post('/calls/query', { project_id: PROJECT, columns: ['id'] }))
      .body;
    expect(calls.map(({ id }: { id: string }) => id).toSorted()).toEqual(spans.map(({ id }) => id));
    client.close();
    await server.stop();
    folder.remove();
  });
});
