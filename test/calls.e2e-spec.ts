import { linesOf, startApp, type TestApp } from './support/app.js';

describe('calls', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp();
  });
  afterAll(() => app.close());

  it('stores', async () => {
    const started = await app.post('/call/start', {
      start: {
        project_id: 'acme/demo',
        id: 'a',
        op_name: 'x',
        started_at: '2026-01-01',
        inputs: { a: 1 },
      },
    });
    expect(started.status).toBe(200);
    const lines = linesOf(
      await app.post('/calls/stream_query', {
        project_id: 'acme/demo',
        query: { $expr: { $eq: [{ $getField: 'inputs.a' }, { $literal: 1 }] } },
      }),
    );
    expect(lines).toHaveLength(1);
  });
});
