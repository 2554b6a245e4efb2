import { Client } from 'pg';
import { useApp } from '../support/app.js';
import { useCalls } from '../support/calls.js';
import { unlessCluster } from '../support/database.js';
import { aStart, at } from '../support/factories.js';
import { until } from '../support/until.js';
import { recordStatements, type Statement } from '../support/statements.js';

const COPY = /^COPY calls/;
const UPSERT = /^\s*INSERT INTO calls AS c/;

describe('calls that are new', () => {
  const app = useApp();
  const calls = useCalls(app);

  let statements: Map<string, Statement>;
  beforeEach(() => {
    statements = recordStatements(app);
  });
  afterEach(() => jest.restoreAllMocks());

  const asked = (form: RegExp) => [...statements.keys()].some((text) => form.test(text));
  const send = (batch: object[]) => app.post('/call/upsert_batch', { batch });
  const start = (overrides: object) => ({
    mode: 'start',
    req: { start: aStart({ project_id: calls.project_id, ...overrides }) },
  });
  const end = (overrides: object) => ({
    mode: 'end',
    req: { end: { project_id: calls.project_id, ended_at: at(1), ...overrides } },
  });
  const numbered = (count: number) =>
    Array.from({ length: count }, (_, i) => start({ id: `c${i}` }));
  const stored = (project = calls.project_id) =>
    app.query<{ row: string }>(
      `SELECT replace(c::text, project_id, '') AS row FROM calls c WHERE project_id = $1 ORDER BY id`,
      [project],
    );
  /** Repeats a start. For some time after that, all calls of the project are upserted instead of copied. */
  const repeat = async () => {
    for (const _ of [1, 2]) await send([start({ id: 'twice' })]);
  };

  const TIMES = [
    '2026-01-31',
    '2026-01-31T12:00',
    '2026-01-31T12:00:00Z',
    '2026-01-31 12:00:00.5+02:00',
    '2026-01-31t12:00:00.123456z',
    '2026-01-31T12:00:00.1234565-05:30',
    '2026-01-31T23:59:59.9999995Z',
    '2026-01-31T12:00:00.123456789+00',
    '2024-02-29T00:00:00.000001+14:00',
    '1969-12-31T23:59:59.999999Z',
    '1899-12-31T23:59:59Z',
    '9999-12-31T23:59:59.999Z',
    '0001-01-01T00:00:00Z',
  ];
  const items = () => [
    ...TIMES.flatMap((time, i) => [
      start({ id: `time${i}`, trace_id: 't', started_at: time }),
      end({ id: `time${i}`, ended_at: time }),
    ]),
    start({
      id: 'all',
      trace_id: 'trace',
      parent_id: 'parent',
      thread_id: 'thread',
      turn_id: 'all',
      display_name: 'Größe \u{1f9f6}',
      wb_run_id: 'run',
      wb_run_step: 7,
      attributes: { weave: { source: 'python-sdk', client_version: '0.53.3' }, a: 1.0 },
      inputs: { text: '€'.repeat(20_000), nul: '\0', half: '\ud800' },
      otel_dump: { span: true },
    }),
    end({
      id: 'all',
      exception: 'an error\nof two lines',
      wb_run_step_end: 8,
      summary: {
        usage: { m: { prompt_tokens: 3, completion_tokens: 2 } },
        status_counts: { error: 1 },
      },
      output: { id: 'resp_1', usage: { total_tokens: 5 } },
    }),
    start({ id: 'nulls', attributes: null, inputs: null, display_name: null, thread_id: null }),
    end({ id: 'nulls', output: null, summary: null }),
    start({ id: 'of its end' }),
    end({ id: 'of its end', trace_id: 'ends', output: [1, 'x'] }),
  ];

  it('are copied, and stored as an upsert stores them', async () => {
    const project = calls.project_id;
    const { body } = await send(items());
    expect(body.res.filter((answer: object) => 'error' in answer)).toEqual([]);
    expect(asked(COPY)).toBe(true);
    const copied = await stored();

    await app.query('DELETE FROM calls WHERE project_id = $1', [project]);
    await repeat();
    await app.query('DELETE FROM calls WHERE project_id = $1', [project]);
    statements.clear();
    await send(items());
    expect([asked(COPY), asked(UPSERT)]).toEqual([false, true]);
    const ofNoTrace = ({ row }: { row: string }) =>
      row.replace(/\b[\da-f]{8}-[\da-f]{4}-7[\da-f-]{21}\b/, 'a new trace');
    expect(copied.map(ofNoTrace)).toEqual((await stored()).map(ofNoTrace));
    expect(copied).toHaveLength(TIMES.length + 3);
  });

  it('answer the traces that they are stored with', async () => {
    const { body } = await send([start({ id: 'a' }), start({ id: 'b', trace_id: 't' })]);
    const [a, b] = body.res;
    expect([(await calls.read('a')).trace_id, b.trace_id]).toEqual([a.trace_id, 't']);
    const again = await send([start({ id: 'a' }), start({ id: 'c' })]);
    expect(again.body.res[0]).toEqual(a);
  });

  it('are stored beside one that is stored already, which keeps its end', async () => {
    await send([start({ id: 'c50', op_name: 'before' }), end({ id: 'c50', output: 'kept' })]);
    const { status, body } = await send(numbered(200));
    expect([status, body.res.length]).toEqual([200, 200]);
    expect((await calls.idsOf()).length).toBe(200);
    expect(await calls.read('c50')).toMatchObject({ op_name: 'work', output: 'kept' });
    expect([asked(COPY), asked(UPSERT)]).toEqual([true, true]);
  });

  it('are copied again after a pause', async () => {
    await repeat();
    statements.clear();
    await send([start({ id: 'soon' })]);
    expect(asked(COPY)).toBe(false);
    let sent = 0;
    await until(async () => {
      await send([start({ id: `later${sent++}` })]);
      return asked(COPY);
    });
    expect(asked(COPY)).toBe(true);
  });

  it('come from many at once, in any order, without a deadlock or a lost call', async () => {
    const batch = numbered(300);
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, i) => send(i % 2 ? batch : batch.toReversed())),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array(12).fill(200));
    expect((await calls.idsOf()).length).toBe(300);
    const [{ deadlocks }] = await app.query(
      'SELECT deadlocks::int FROM pg_stat_database WHERE datname = current_database()',
    );
    expect(deadlocks).toBe(0);
  });

  unlessCluster('the session that waits is one of a node').it(
    'are refused as a whole when their connection is cut, and can be sent again',
    async () => {
      const other = new Client(app.databaseUrl);
      await other.connect();
      try {
        await other.query('BEGIN');
        await other.query(`INSERT INTO calls (project_id, id) VALUES ($1, 'c7')`, [
          calls.project_id,
        ]);
        const waiting = send(numbered(50));
        const cut = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
          WHERE query LIKE 'COPY calls%' AND wait_event_type = 'Lock' AND datname = current_database()`;
        await until(async () => (await app.query(cut)).length > 0);
        expect((await waiting).status).toBe(503);
        await other.query('ROLLBACK');
      } finally {
        await other.end();
      }
      expect(await calls.idsOf()).toEqual([]);
      expect((await send(numbered(50))).status).toBe(200);
      expect((await calls.idsOf()).length).toBe(50);
    },
  );
});
