import { useApp } from '../support/app.js';
import { UUID_V7, useCalls } from '../support/calls.js';
import { anEnd, aStart } from '../support/factories.js';

describe('POST /call/upsert_batch', () => {
  const app = useApp();
  const calls = useCalls(app);

  const batch = async (items: unknown[]) => app.post('/call/upsert_batch', { batch: items });
  const startItem = (overrides: object) => ({
    mode: 'start',
    req: { start: aStart({ project_id: calls.project_id, ...overrides }) },
  });
  const endItem = (overrides: object) => ({
    mode: 'end',
    req: { end: anEnd({ project_id: calls.project_id, ...overrides }) },
  });

  it('takes starts and ends in any order and answers in theirs', async () => {
    const { status, body } = await batch([
      endItem({ id: 'child', output: 1 }),
      startItem({ id: 'child', trace_id: 't', parent_id: 'root' }),
      startItem({ id: 'root', trace_id: 't' }),
      endItem({ id: 'root', output: 2 }),
    ]);
    expect(status).toBe(200);
    expect(body.res).toEqual([
      {},
      { id: 'child', trace_id: 't' },
      { id: 'root', trace_id: 't' },
      {},
    ]);
    expect(await calls.read('child')).toMatchObject({ parent_id: 'root', output: 1 });
    expect(await calls.read('root')).toMatchObject({ output: 2 });
  });

  it('keeps the last of several starts of one call', async () => {
    await batch([startItem({ id: 'a', op_name: 'one' }), startItem({ id: 'a', op_name: 'two' })]);
    expect((await calls.read('a')).op_name).toBe('two');
  });

  it('gives children without a trace the trace of their parent in the batch', async () => {
    const { body } = await batch([
      startItem({ id: 'grandchild', parent_id: 'child' }),
      startItem({ id: 'child', parent_id: 'root' }),
      startItem({ id: 'root' }),
      startItem({ id: 'x', parent_id: 'y' }),
      startItem({ id: 'y', parent_id: 'x' }),
    ]);
    const [grandchild, child, root] = body.res.map((res: { trace_id: string }) => res.trace_id);
    expect([grandchild, child]).toEqual([root, root]);
  });

  it('follows 10,000 parents, and a circle of 10,000', async () => {
    for (const last of [null, '0']) {
      const batch = Array.from({ length: 10_000 }, (_, i) =>
        startItem({ id: `${i}`, parent_id: i < 9999 ? `${i + 1}` : last }),
      );
      const project = `acme/deep-${last}`;
      for (const { req } of batch) req.start.project_id = project;
      const { status, body } = await app.post('/call/upsert_batch', { batch });
      expect(status).toBe(200);
      const traces = body.res.map((res: { trace_id: string }) => res.trace_id);
      expect(new Set(traces)).toEqual(new Set([expect.stringMatching(UUID_V7)]));
    }
  });

  it('gives them the trace of a stored ancestor, or of an end that came along', async () => {
    await calls.start({ id: 'G', trace_id: 'T' });
    await calls.start({ id: 'again', trace_id: 'A' });
    const { body } = await batch([
      startItem({ id: 'C', parent_id: 'P' }),
      startItem({ id: 'P', parent_id: 'G' }),
      startItem({ id: 'P2' }),
      endItem({ id: 'P2', trace_id: 'E' }),
      startItem({ id: 'C2', parent_id: 'P2' }),
      startItem({ id: 'again' }),
      startItem({ parent_id: 'again' }),
      startItem({}),
    ]);
    const traces = body.res.map((res: { trace_id: string }) => res.trace_id);
    expect(traces).toEqual([
      'T',
      'T',
      'E',
      undefined,
      'E',
      'A',
      'A',
      expect.stringMatching(UUID_V7),
    ]);
    const stored = (await calls.stream({ columns: ['parent_id'] })).map((call) => call.trace_id);
    expect(new Set(stored)).toEqual(new Set(traces.filter(Boolean)));
  });

  it('stores names and exceptions that no column can hold as near as they can be', async () => {
    const { body } = await batch([
      startItem({
        id: 'a',
        op_name: `\0${'o'.repeat(1024)}`,
        display_name: '😀'.repeat(5000),
        svc_run_id: 'r'.repeat(1025),
      }),
      endItem({ id: 'a', exception: `\ud800\0${'é'.repeat(1_048_600)}` }),
    ]);
    expect(body.res).toEqual([{ id: 'a', trace_id: expect.any(String) }, {}]);
    const call = await calls.read('a');
    expect(call.op_name).toBe(`\ufffd${'o'.repeat(1022)}…`);
    expect(call.display_name).toBe(`${'😀'.repeat(1023)}…`);
    expect(call.svc_run_id).toBe(`${'r'.repeat(1023)}…`);
    expect(call.exception).toMatch(
      /^\ufffd\ufffdé+… \[cut by Skein: 2,097,026 of 2,097,206 bytes\]$/,
    );
  });

  it('answers each odd item in its place and stores the rest', async () => {
    const key = await app.aKey('writer', [calls.project_id]);
    const odd = [
      startItem({ id: 'good' }),
      startItem({ id: 'bad', op_name: 5 }),
      startItem({ id: 'foreign', project_id: 'other/project' }),
      { mode: 'stop', req: {} },
      { mode: 'end' },
      { mode: 'start', req: { end: {} } },
      null,
      7,
      startItem({ id: 'deep', inputs: { deep: 'DEEP' } }),
      endItem({ id: 'good', output: 'stored' }),
    ];
    const deep = `${'['.repeat(2000)}${']'.repeat(2000)}`;
    const sent = JSON.stringify({ batch: odd }).replace('"DEEP"', deep);
    const { status, body } = await app.post('/call/upsert_batch', sent, { key });
    expect(status).toBe(200);
    expect(body.res.map((res: any) => res.error?.code ?? 'stored')).toEqual([
      'stored',
      'invalid_request',
      'forbidden',
      'invalid_request',
      'invalid_request',
      'invalid_request',
      'invalid_request',
      'invalid_request',
      'invalid_request',
      'stored',
    ]);
    expect(body.res[1].error.detail).toContain('req.start.op_name');
    expect(await calls.idsOf()).toEqual(['good']);
    expect((await calls.read('good')).output).toBe('stored');
  });

  it('stores opaque and plain items side by side', async () => {
    const sent = JSON.stringify({
      batch: [
        startItem({ id: 'a', inputs: { x: 'NUL' } }),
        startItem({ id: 'b', inputs: { x: 1 } }),
      ],
    }).replace('NUL', '\\u0000');
    expect((await app.post('/call/upsert_batch', sent)).body.res).toHaveLength(2);
    expect((await calls.read('a')).inputs).toEqual({ x: '\0' });
    expect((await calls.read('b')).inputs).toEqual({ x: 1 });
    // a query into free-form JSON works despite the opaque row
    expect(
      await calls.idsOf({
        query: { $expr: { $eq: [{ $getField: 'inputs.x' }, { $literal: 1 }] } },
      }),
    ).toEqual(['b']);
  });

  it('stores 10,000 items and refuses one more', async () => {
    const items = Array.from({ length: 10_000 }, (_, i) => startItem({ id: `c${i}` }));
    expect((await batch(items)).body.res).toHaveLength(10_000);
    expect(
      (await app.post('/calls/query_stats', { project_id: calls.project_id })).body.count,
    ).toBe(10_000);
    const { status, body } = await batch([...items, startItem({})]);
    expect(status).toBe(413);
    expect(body).toMatchObject({ code: 'too_large', detail: expect.stringContaining('10000') });
  });

  it('accepts an empty batch and refuses what is none', async () => {
    expect((await batch([])).body).toEqual({ res: [] });
    expect(await app.post('/call/upsert_batch', { batch: {} })).toMatchObject({
      status: 400,
      body: { errors: [{ path: 'batch' }] },
    });
  });

  it('merges concurrent parts of the same calls without losing any', async () => {
    const ids = Array.from({ length: 40 }, (_, i) => `c${i}`);
    const requests = Array.from({ length: 20 }, (_, n) =>
      batch(
        ids
          .toSorted(() => (n % 2 ? 1 : -1))
          .map((id) => (n % 2 ? startItem({ id, op_name: `op${n}` }) : endItem({ id, output: n }))),
      ),
    );
    for (const { status } of await Promise.all(requests)) expect(status).toBe(200);
    const stored = await calls.stream();
    expect(stored).toHaveLength(40);
    for (const call of stored)
      expect([call.op_name, call.output]).toEqual([
        expect.stringMatching(/^op/),
        expect.any(Number),
      ]);
  });
});
