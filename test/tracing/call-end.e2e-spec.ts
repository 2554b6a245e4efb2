import { useApp } from '../support/app.js';
import { useCalls } from '../support/calls.js';
import { at } from '../support/factories.js';

describe('POST /call/end', () => {
  const app = useApp();
  const calls = useCalls(app);

  it('may come before its start, which then shows the whole call', async () => {
    expect(
      await calls.end({ id: 'late', output: 1, started_at: at(1), trace_id: 'early trace' }),
    ).toMatchObject({ status: 200, body: {} });
    expect(await calls.read('late')).toBeNull();
    expect(await calls.stream()).toEqual([]);
    expect((await calls.start({ id: 'late', started_at: at(3) })).body.trace_id).toBe(
      'early trace',
    );
    expect(await calls.read('late')).toMatchObject({
      output: 1,
      started_at: '2026-01-01T00:00:03.000000Z',
      ended_at: expect.any(String),
    });
  });

  it('may be repeated, the last one counts', async () => {
    await calls.start({ id: 'a' });
    await calls.end({ id: 'a', output: 'first', exception: 'boom', svc_run_step_end: 3 });
    await calls.end({ id: 'a', output: 'second' });
    expect(await calls.read('a')).toMatchObject({
      output: 'second',
      exception: null,
      svc_run_step_end: null,
    });
  });

  it.each<[string, object | null]>([
    ['running', null],
    ['success', {}],
    ['success', { summary: { status_counts: { error: 0 } } }],
    ['error', { exception: 'boom', summary: { status_counts: { error: 2 } } }],
    ['descendant_error', { summary: { status_counts: { error: 2 } } }],
  ])('makes the status %s from %j', async (status, overrides) => {
    await calls.start({ id: 'a' });
    if (overrides) await calls.end({ id: 'a', ...overrides });
    expect((await calls.read('a')).summary.svc.status).toBe(status);
    expect(
      await calls.idsOf({
        query: { $expr: { $eq: [{ $getField: 'summary.svc.status' }, { $literal: status }] } },
      }),
    ).toEqual(['a']);
  });

  it.each<[string, object]>([
    ['end.id', { id: undefined }],
    ['end.ended_at', { ended_at: undefined }],
    ['end.ended_at', { ended_at: 'yesterday' }],
    ['end.summary', { summary: 'x' }],
    ['end.exception', { exception: 'nul \0' }],
    ['end.project_id', { project_id: 'x' }],
  ])('refuses a bad %s: %j', async (path, overrides) => {
    expect(await calls.end({ id: 'a', ...overrides })).toMatchObject({
      status: 400,
      body: { errors: [{ path }] },
    });
  });
});
