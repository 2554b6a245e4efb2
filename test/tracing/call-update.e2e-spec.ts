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

  it.each([null, '', undefined])(
    'takes the name away when it is %j, and sets it again',
    async (none) => {
      await calls.start({ id: 'a', op_name: 'op', display_name: 'first' });
      await update({ display_name: none });
      expect(await calls.read('a')).toMatchObject({
        display_name: null,
        summary: { svc: { trace_name: 'op' } },
      });
      await update({ display_name: 'again' });
      expect((await calls.read('a')).display_name).toBe('again');
    },
  );

  it.each([
    ['set', 'early', 'early'],
    ['taken away', '', null],
    ['taken away', null, null],
  ])('stays %s when it overtakes a start that has a name', async (_, display_name, read) => {
    await update({ display_name: 'before' });
    await update({ display_name });
    await calls.end({ id: 'a' });
    await calls.start({ id: 'a', display_name: 'of the start' });
    expect((await calls.read('a')).display_name).toBe(read);
    await update({ display_name: 'later' });
    expect((await calls.read('a')).display_name).toBe('later');
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
