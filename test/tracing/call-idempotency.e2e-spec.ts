import { useApp } from '../support/app.js';
import { useCalls } from '../support/calls.js';
import { aStart } from '../support/factories.js';

describe('Idempotency-Key of a call', () => {
  const app = useApp();
  const calls = useCalls(app);

  const withKey = (key: string, overrides: object = {}) =>
    app.post(
      '/call/start',
      { start: aStart({ project_id: calls.project_id, ...overrides }) },
      { headers: { 'idempotency-key': key } },
    );

  it('a resend gets the first answer and writes nothing', async () => {
    const [first, second] = [await withKey('k'), await withKey('k')];
    expect(second.body).toEqual(first.body);
    expect(await calls.stream()).toHaveLength(1);
  });

  it('holds for resends that race each other', async () => {
    const answers = await Promise.all(Array.from({ length: 10 }, () => withKey('race')));
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    expect(await calls.stream()).toHaveLength(1);
  });

  it('refuses another body with the same key, and lets another credential use it', async () => {
    await withKey('mine');
    expect(await withKey('mine', { op_name: 'other' })).toMatchObject({
      status: 409,
      body: { code: 'conflict' },
    });
    const key = await app.aKey('writer');
    const other = await app.post(
      '/call/start',
      { start: aStart({ project_id: calls.project_id }) },
      { key, headers: { 'idempotency-key': 'mine' } },
    );
    expect(other.status).toBe(200);
    expect(await calls.stream()).toHaveLength(2);
  });

  it('forgets after 24 hours', async () => {
    const first = await withKey('old');
    await app.query(
      `UPDATE idempotency_keys SET created_at = now() - interval '25 hours' WHERE project_id = $1`,
      [calls.project_id],
    );
    expect((await withKey('old')).body.id).not.toBe(first.body.id);
  });

  it('does not remember a refusal', async () => {
    expect((await withKey('refused', { op_name: '' })).status).toBe(400);
    expect((await withKey('refused')).status).toBe(200);
  });

  it('costs no row when the write is an upsert by the client’s own id', async () => {
    await withKey('own', { id: 'own' });
    expect(
      await app.query('SELECT 1 FROM idempotency_keys WHERE project_id = $1', [calls.project_id]),
    ).toEqual([]);
  });

  it('lets batches with the same calls in another order wait for each other', async () => {
    const ids = Array.from({ length: 1200 }, (_, i) => `c${i}`);
    const items = (order: string[]) => [
      ...order.map((id) => ({
        mode: 'start',
        req: { start: aStart({ project_id: calls.project_id, id }) },
      })),
      { mode: 'start', req: { start: aStart({ project_id: calls.project_id }) } },
    ];
    const answers = await Promise.all(
      Array.from({ length: 6 }, (_, n) =>
        app.post(
          '/call/upsert_batch',
          { batch: items(n % 2 ? ids : ids.toReversed()) },
          { headers: { 'idempotency-key': `order-${n}` } },
        ),
      ),
    );
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 200]);
  });

  it('covers a batch whose items have no ids', async () => {
    const send = () =>
      app.post(
        '/call/upsert_batch',
        {
          batch: [
            { mode: 'start', req: { start: aStart({ project_id: calls.project_id }) } },
            { mode: 'start', req: { start: aStart({ project_id: calls.project_id }) } },
          ],
        },
        { headers: { 'idempotency-key': 'batch' } },
      );
    expect((await send()).text).toBe((await send()).text);
    expect(await calls.stream()).toHaveLength(2);
  });
});
