import { aFolder, type Server, startServer } from '../support/server.js';
import { aStart } from '../support/factories.js';

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

/** What a statement needs more than: three conditions on a call of 8 MiB, or to store one of 24 MiB. */
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
