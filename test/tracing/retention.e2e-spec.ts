import { linesOf, useApp } from '../support/app.js';
import { ran } from '../support/background.js';
import { refOf } from '../support/planted.js';
import { refreshed } from '../support/refreshed.js';
import { until } from '../support/until.js';

const DAY_MS = 86_400_000;
const daysAgo = (days: number) => new Date(Date.now() - days * DAY_MS).toISOString();

describe('retention', () => {
  const app = useApp({ RETENTION_INTERVAL_SECONDS: '1' });

  let projects = 0;
  const aProject = () => `acme/r${projects++}`;

  async function done(path: string, body: unknown) {
    const answer = await app.post(path, body);
    expect([answer.status, answer.text]).toEqual([200, expect.anything()]);
    return answer.body;
  }
  const swept = () => ran(app.url, 'retention');

  /** Stores a call with all members that is a turn of a thread and began `days` ago. */
  async function aCall(project_id: string, days: number, fields: object = {}): Promise<void> {
    const id = `d${days}`;
    const call = {
      project_id,
      id,
      turn_id: id,
      thread_id: 'thread',
      op_name: 'chat',
      display_name: 'shown',
      started_at: daysAgo(days),
      ended_at: daysAgo(days - 0.5),
      attributes: { marker: 'm' },
      inputs: { text: 'm'.repeat(3000) },
      output: ['m'],
      otel_dump: { marker: 'm' },
      summary: {
        usage: {
          'gpt-4o': { prompt_tokens: 1000, completion_tokens: 10 },
          ours: { input_tokens: 3 },
        },
        note: 'm',
        status_counts: { error: 1 },
      },
      ...fields,
    };
    const [entity, project] = project_id.split('/');
    await done(`/v2/${entity}/${project}/calls/complete`, { batch: [call] });
  }

  const idsIn = async (project_id: string): Promise<string[]> =>
    (await done('/calls/query', { project_id })).calls.map(({ id }: { id: string }) => id);
  const callsIn = async (project_id: string): Promise<any[]> =>
    (await done('/calls/query', { project_id, include_costs: true })).calls;

  it('is for ever until it is set, and answers what was set', async () => {
    const project_id = aProject();
    const never = {
      project_id,
      calls_days: null,
      payload_days: null,
      feedback_days: null,
      holds: [],
    };
    expect(await done('/retention/read', { project_id })).toEqual({ ...never, is_default: true });
    const policy = { project_id, calls_days: 30, payload_days: 7, feedback_days: 90 };
    for (const path of ['/retention/set', '/retention/read'])
      expect(await done(path, policy)).toEqual({ ...policy, is_default: false, holds: [] });
    const own = { ...never, is_default: false };
    expect(await done('/retention/set', { project_id })).toEqual(own);
    expect(await done('/retention/read', { project_id })).toEqual(own);
  });

  it.each([
    ['calls_days', 0],
    ['calls_days', 36_501],
    ['payload_days', 1.5],
    ['payload_days', '7'],
    ['feedback_days', 0],
    ['feedback_days', [7]],
  ])('refuses a policy whose %s is %j', async (field, value) => {
    const { status, body } = await app.post('/retention/set', {
      project_id: aProject(),
      [field]: value,
    });
    expect([status, body.errors[0].path]).toEqual([400, field]);
  });

  it('erases calls that are older, with the feedback on them, and no others', async () => {
    const [project_id, neighbour] = [aProject(), aProject()];
    for (const project of [project_id, neighbour])
      for (const days of [40, 31, 29, 1]) await aCall(project, days);
    await done('/feedback/create', {
      project_id,
      svc_ref: refOf(project_id, 'call/d31'),
      feedback_type: 'x',
      payload: {},
    });
    await done('/call/end', { end: { project_id, id: 'ended only', ended_at: daysAgo(31) } });
    await done('/retention/set', { project_id, calls_days: 30 });
    await swept();
    expect(await idsIn(project_id)).toEqual(['d29', 'd1']);
    expect(await app.query('SELECT FROM calls WHERE project_id = $1', [project_id])).toHaveLength(
      2,
    );
    expect(await app.query('SELECT FROM feedback WHERE project_id = $1', [project_id])).toEqual([]);
    expect(await idsIn(neighbour)).toHaveLength(4);
  });

  it('erases feedback that is older, and leaves its call and what is younger', async () => {
    const [project_id, neighbour] = [aProject(), aProject()];
    for (const project of [project_id, neighbour]) {
      await aCall(project, 31);
      await app.query(
        `INSERT INTO feedback (project_id, id, created_at, feedback_type, ref, user_id, payload)
         SELECT $1, 'f' || n, now() - n * interval '1 hour', 'x', $2, 'ada', '{}' FROM generate_series(1, 1300) n`,
        [project, refOf(project, 'call/d31')],
      );
    }
    await done('/retention/set', { project_id, feedback_days: 1 });
    await swept();
    const count = async (project: string) =>
      (await app.query('SELECT FROM feedback WHERE project_id = $1', [project])).length;
    expect([await count(project_id), await count(neighbour)]).toEqual([23, 1300]);
    expect(await idsIn(project_id)).toEqual(['d31']);
  });

  it('takes payloads and keeps names, times, status, usage, costs and threads', async () => {
    const project_id = aProject();
    const price = {
      prompt_token_cost: 0.25,
      completion_token_cost: 1,
      effective_date: daysAgo(90),
    };
    await done('/cost/create', { project_id, costs: { ours: price } });
    await aCall(project_id, 8);
    await aCall(project_id, 10, { exception: 'it failed', inputs: { text: '\u0000 \ud800 m' } });
    await aCall(project_id, 6);
    await refreshed(app, 'threads');
    const before = await callsIn(project_id);
    const threads = linesOf(await app.post('/threads/stream_query', { project_id }));
    const [start, end] = [daysAgo(20), daysAgo(0)];
    const statistics = () =>
      done('/calls/stats', {
        ...{ project_id, start, end, granularity: 86_400 },
        call_metrics: [
          { metric: 'call_count' },
          { metric: 'error_count' },
          { metric: 'latency_ms' },
        ],
        usage_metrics: [{ metric: 'total_tokens' }, { metric: 'total_cost' }],
      });
    const found = () => {
      const text = { $convert: { input: { $getField: 'inputs' }, to: 'string' } };
      const contains = { $contains: { input: text, substr: { $literal: 'mmm' } } };
      return done('/calls/query', { project_id, query: { $expr: contains } });
    };
    const counted = await statistics();
    expect((await found()).calls).toHaveLength(2);
    await done('/retention/set', { project_id, payload_days: 7 });
    await swept();

    const after = await callsIn(project_id);
    const payload = { inputs: {}, attributes: {}, output: null };
    const kept = (call: any) => {
      const { usage, svc } = call.summary;
      return { ...call, ...payload, summary: { usage, svc } };
    };
    expect(before[0].summary.svc.costs.ours.prompt_tokens_total_cost).toBe(0.75);
    expect(after).toEqual([kept(before[0]), kept(before[1]), before[2]]);
    expect(linesOf(await app.post('/threads/stream_query', { project_id }))).toEqual(threads);
    expect(await statistics()).toEqual(counted);
    expect((await found()).calls.map(({ id }: any) => id)).toEqual(['d6']);
    expect(await app.query('SELECT FROM thread_marks')).toEqual([]);
    const old = `SELECT FROM calls c WHERE project_id = $1 AND id <> 'd6' AND strpos(c::text, 'm"') > 0`;
    expect(await app.query(old, [project_id])).toEqual([]);
  });

  it('looks again each day for payloads that came late', async () => {
    const project_id = aProject();
    await aCall(project_id, 8);
    await done('/retention/set', { project_id, payload_days: 7 });
    await swept();
    await aCall(project_id, 20);
    const hasPayload = async () =>
      (
        await app.query(`SELECT FROM calls WHERE project_id = $1 AND output IS NOT NULL`, [
          project_id,
        ])
      ).length;
    await swept();
    expect(await hasPayload()).toBe(1);
    await app.query(`UPDATE retention_policies SET walk_started_at = now() - interval '25 hours'`);
    await swept();
    expect(await hasPayload()).toBe(0);
  });

  it('is applied by one process at a time', async () => {
    const project_id = aProject();
    await aCall(project_id, 31);
    const { Client } = (await import('pg')).default;
    const other = new Client(app.databaseUrl);
    await other.connect();
    await other.query('BEGIN');
    await other.query('SELECT pg_advisory_xact_lock(125779852814702)');
    await done('/retention/set', { project_id, calls_days: 30 });
    await swept();
    expect(await idsIn(project_id)).toEqual(['d31']);
    await other.query('ROLLBACK');
    await other.end();
    await until(async () => (await idsIn(project_id)).length === 0);
  });

  it('goes over more calls than one batch holds', async () => {
    const project_id = aProject();
    await app.query(
      `INSERT INTO calls (project_id, id, op_name, trace_id, started_at, attributes, inputs, output, has_unread_usage)
       SELECT $1, 'c' || n, 'op', 't', now() - n * interval '1 hour', '{}', '{}', '1', false FROM generate_series(1, 1300) n`,
      [project_id],
    );
    await done('/retention/set', { project_id, calls_days: 50, payload_days: 1 });
    await swept();
    const [row] = await app.query(
      `SELECT count(*)::int AS calls, count(output)::int AS outputs FROM calls WHERE project_id = $1`,
      [project_id],
    );
    expect(row).toEqual({ calls: 1199, outputs: 23 });
  });
});
