import { useApp } from '../support/app.js';
import { useCalls } from '../support/calls.js';

describe('POST /call/update', () => {
  const app = useApp();
  const calls = useCalls(app);

  const update = (overrides: object) =>
    app.post('/call/update', { project_id: calls.project_id, call_id: 'a', ...overrides });

  it('sets and takes away the display name', async () => {
    await calls.start({ id: 'a', op_name: 'op' });
    expect(await update({ display_name: 'new' })).toMatchObject({ status: 200, body: {} });
    expect(await calls.read('a')).toMatchObject({
      display_name: 'new',
      summary: { svc: { trace_name: 'new' } },
    });
    await update({ display_name: null });
    expect(await calls.read('a')).toMatchObject({
      display_name: null,
      summary: { svc: { trace_name: 'op' } },
    });
  });

  it('is not lost when it overtakes the start', async () => {
    await update({ display_name: 'early' });
    expect(await calls.read('a')).toBeNull();
    await calls.start({ id: 'a' });
    expect((await calls.read('a')).display_name).toBe('early');
  });

  it.each([
    { call_id: '' },
    { display_name: 5 },
    { display_name: 'x'.repeat(1025) },
    { project_id: 'x' },
  ])('refuses %j', async (bad) => {
    expect((await update({ display_name: 'x', ...bad })).status).toBe(400);
  });
});
