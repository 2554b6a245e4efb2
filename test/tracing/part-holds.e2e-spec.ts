import { useApp } from '../support/app.js';
import { ran } from '../support/background.js';
import { where } from '../support/operation-rows.js';
import { refOf } from '../support/planted.js';
import { until } from '../support/until.js';

const THREAD = 'pat (1) / a';
interface TestCall {
  id: string;
  trace_id: string;
  thread_id?: string;
  turn_id?: string;
  parent_id?: string;
}

/** A trace, a turn with a call below that names no thread, and another trace. */
const CALLS: TestCall[] = [
  { id: 'root', trace_id: 'held' },
  { id: 'below', trace_id: 'held', parent_id: 'root' },
  { id: 'turn', trace_id: 'of-thread', thread_id: THREAD, turn_id: 'turn' },
  { id: 'tool', trace_id: 'of-thread', parent_id: 'turn' },
  { id: 'free', trace_id: 'free' },
];
const HELD = ['below', 'root', 'tool', 'turn'];
const HOLDS = [
  { name: 'case 1', trace_id: 'held', reason: 'a claim' },
  { name: 'case 2', thread_id: THREAD },
];

describe('legal holds of a trace and of a thread', () => {
  const app = useApp({ RETENTION_INTERVAL_SECONDS: '1' });

  async function done(path: string, body: unknown) {
    const answer = await app.post(path, body);
    expect([answer.status, answer.text]).toEqual([200, expect.anything()]);
    return answer.body;
  }

  /** Stores calls that began 40 days ago, with feedback on each. */
  async function storeOld(project_id: string, calls: TestCall[]): Promise<void> {
    const started_at = new Date(Date.now() - 40 * 86_400_000).toISOString();
    const common = {
      project_id,
      op_name: 'chat',
      started_at,
      ended_at: started_at,
      inputs: { a: 1 },
    };
    await done(`/v2/${project_id}/calls/complete`, {
      batch: calls.map((call) => ({ ...common, ...call })),
    });
    for (const { id } of calls) await remark(project_id, `f ${id}`, `call/${id}`);
    await app.query(
      `UPDATE feedback SET created_at = now() - interval '40 days' WHERE project_id = $1`,
      [project_id],
    );
  }
  const remark = (project_id: string, id: string, item: string) =>
    done('/feedback/create', {
      ...{ project_id, id, svc_ref: refOf(project_id, item), feedback_type: 'x', payload: {} },
    });

  async function heldProject(project_id: string): Promise<void> {
    await storeOld(project_id, CALLS);
    await remark(project_id, 'f thread', 'agent_conversation/pat%20%281%29%20%2F%20a');
    await remark(project_id, 'f trace', 'agent_turn/of-thread');
    for (const hold of HOLDS) await done('/retention/hold', { project_id, ...hold });
  }
  async function releaseAll(project_id: string): Promise<void> {
    for (const { name } of HOLDS) await done('/retention/release', { project_id, name });
  }

  const idsIn = async (table: 'calls' | 'feedback', project_id: string) =>
    (
      await app.query(`SELECT id FROM ${table} WHERE project_id = $1 ORDER BY id`, [project_id])
    ).map(({ id }: any) => id);
  const payloadsIn = async (project_id: string) =>
    (
      await app.query(
        `SELECT id FROM calls WHERE project_id = $1 AND inputs::text LIKE '%1%' AND deleted_at IS NULL ORDER BY id`,
        [project_id],
      )
    ).map(({ id }: any) => id);

  it('refuse each deletion of something of them, and say which holds', async () => {
    const project_id = 'acme/parts';
    await heldProject(project_id);
    const before = [await idsIn('calls', project_id), await idsIn('feedback', project_id)];
    const ofTrace = `${project_id} has the legal hold "case 1" of the trace "held": nothing of it is deleted`;
    const ofThread = `${project_id} has the legal hold "case 2" of the thread "${THREAD}": nothing of it is deleted`;
    const remarked = { svc_ref: refOf(project_id, 'call/free'), feedback_type: 'x', payload: {} };
    const refused: [string, object, string][] = [
      ['/calls/delete', { call_ids: ['free', 'below'] }, ofTrace],
      ['/calls/delete', { call_ids: ['tool'] }, ofThread],
      ['/calls/purge', { call_ids: ['root'] }, ofTrace],
      ['/calls/purge', { call_ids: ['turn', 'free'] }, ofThread],
      ['/calls/purge', { filter: {} }, ofTrace],
      ['/calls/purge', { query: where('id', 'tool') }, ofThread],
      ['/calls/purge', { before: new Date().toISOString() }, ofTrace],
      ['/feedback/purge', { query: where('id', 'f below') }, ofTrace],
      ['/feedback/purge', { query: where('id', 'f tool') }, ofThread],
      ['/feedback/purge', { query: where('id', 'f thread') }, ofThread],
      ['/feedback/purge', { query: where('id', 'f trace') }, ofThread],
      ['/feedback/replace', { feedback_id: 'f root', ...remarked }, ofTrace],
      ['/project/delete', {}, ofTrace],
    ];
    for (const [path, body, detail] of refused) {
      const answer = await app.post(path, { project_id, ...body });
      expect([path, answer.status, answer.body.code, answer.body.detail]).toEqual(
        [path, 409, 'legal_hold', detail], // prettier-ignore
      );
    }
    expect([await idsIn('calls', project_id), await idsIn('feedback', project_id)]).toEqual(before);
    expect(await payloadsIn(project_id)).toEqual(before[0]);
  });

  it('refuse a start that takes a call out of them, or replaces what an ended call holds', async () => {
    const project_id = 'acme/moved';
    await heldProject(project_id);
    const stored = () =>
      app.query(
        `SELECT id, trace_id, thread_id, inputs::text AS inputs FROM calls WHERE project_id = $1 ORDER BY id`,
        [project_id],
      );
    const before = await stored();
    const started_at = new Date().toISOString();
    const start = { project_id, op_name: 'chat', started_at, inputs: { a: 1 } };
    const refused = [
      { ...start, id: 'root', trace_id: 'elsewhere' },
      { ...start, id: 'root', trace_id: 'held', inputs: {} },
      { ...start, id: 'turn', trace_id: 'of-thread' },
      { ...start, id: 'turn', trace_id: 'of-thread', thread_id: 'another', turn_id: 'turn' },
      { ...start, id: 'tool', trace_id: 'elsewhere', parent_id: 'turn' },
    ];
    for (const call of refused) {
      const { status, body } = await app.post('/call/start', { start: call });
      expect([status, body.code, body.detail]).toEqual([
        409,
        'legal_hold',
        expect.stringMatching(/^the legal hold "case [12]" keeps a call as it is/),
      ]);
    }
    expect(await stored()).toEqual(before);

    // the others of a batch are stored, and so is what a client sends again
    const { batch } = { batch: [refused[0]!, { ...start, id: 'new', trace_id: 'held' }] };
    await app.post('/call/upsert_batch', {
      batch: batch.map((call) => ({ mode: 'start', req: { start: call } })),
    });
    await done('/call/start', { start: { ...start, id: 'root', trace_id: 'held' } });
    await done('/call/start', {
      start: { ...start, id: 'free', trace_id: 'elsewhere', inputs: {} },
    });
    expect(await stored()).toEqual([
      before[0],
      { ...before[1], trace_id: 'elsewhere', inputs: '{}' },
      { id: 'new', trace_id: 'held', thread_id: null, inputs: '{"a":1}' },
      ...before.slice(2),
    ]);
  });

  it('allow every other deletion', async () => {
    const project_id = 'acme/others';
    await heldProject(project_id);
    await done('/feedback/replace', {
      project_id,
      feedback_id: 'f free',
      svc_ref: refOf(project_id, 'call/free'),
      ...{ feedback_type: 'y', payload: {} },
    });
    await done('/feedback/purge', { project_id, query: where('id', 'f free') });
    await done('/calls/delete', { project_id, call_ids: ['free'] });
    const before = new Date(Date.now() - 50 * 86_400_000).toISOString();
    await done('/calls/purge', { project_id, before });
    await done('/calls/purge', { project_id, call_ids: ['free'] });
    expect(await idsIn('calls', project_id)).toEqual(HELD);
    await releaseAll(project_id);
    await done('/project/delete', { project_id });
    expect(await idsIn('calls', project_id)).toEqual([]);
  });

  it('keep retention off, also from calls that come later', async () => {
    const project_id = 'acme/parts-kept';
    await heldProject(project_id);
    await storeOld(project_id, [
      { id: 'later', trace_id: 'later', thread_id: THREAD },
      { id: 'later below', trace_id: 'later', parent_id: 'later' },
      { id: 'later in trace', trace_id: 'held' },
    ]);
    const ended_at = new Date(Date.now() - 40 * 86_400_000).toISOString();
    await done('/call/end', { end: { project_id, id: 'an end', ended_at } }); // of an unknown trace
    await done('/retention/set', { project_id, payload_days: 7, feedback_days: 30 });
    const held = ['below', 'later', 'later below', 'later in trace', 'root', 'tool', 'turn'];
    await until(async () => (await payloadsIn(project_id)).length === held.length);
    expect(await payloadsIn(project_id)).toEqual(held);
    await ran(app.url, 'retention');
    const remarks = [...held.map((id) => `f ${id}`), 'f thread', 'f trace'].toSorted();
    expect(await idsIn('feedback', project_id)).toEqual(remarks);
    await done('/retention/set', { project_id, calls_days: 30 });
    await ran(app.url, 'retention');
    expect(await idsIn('calls', project_id)).toEqual(['an end', ...held]);
    expect(await idsIn('feedback', project_id)).toEqual(remarks);
    await done('/retention/release', { project_id, name: 'case 1' });
    await until(async () => (await idsIn('calls', project_id)).length === 5);
    expect(await idsIn('calls', project_id)).toEqual([
      'an end',
      'later',
      'later below',
      'tool',
      'turn',
    ]);
    await done('/retention/release', { project_id, name: 'case 2' });
    await until(async () => (await idsIn('calls', project_id)).length === 0);
  });

  it('are left out by a purge that has begun, and put off the erasing of the project', async () => {
    const [purged, erased] = ['acme/begun-purge', 'acme/begun-erasing'];
    for (const [project_id, kind, request] of [
      [purged, 'calls', '{"filter":{}}'],
      [erased, 'project', '{}'],
    ] as const) {
      await heldProject(project_id);
      await app.query(
        `INSERT INTO erasings (project_id, id, kind, request, key_id, user_name, touched_at)
         VALUES ($1, gen_random_uuid(), $2, $3, gen_random_uuid(), 'ada', now() - interval '1 minute')`,
        [project_id, kind, request],
      );
    }
    await until(async () => (await idsIn('calls', purged)).length === 4);
    expect(await idsIn('calls', purged)).toEqual(HELD);
    expect(await idsIn('feedback', purged)).toHaveLength(6);
    const putOff = `SELECT FROM erasings WHERE project_id = $1 AND touched_at > now()`;
    await until(async () => (await app.query(putOff, [erased])).length === 1);
    expect(await idsIn('calls', erased)).toHaveLength(5);
    await releaseAll(erased);
    await app.query(
      `UPDATE erasings SET touched_at = now() - interval '1 minute' WHERE project_id = $1`,
      [erased],
    );
    await until(async () => (await idsIn('calls', erased)).length === 0);
  });

  it('are listed, and the audit has what they held and why', async () => {
    const project_id = 'acme/parts-audited';
    await heldProject(project_id);
    for (const hold of HOLDS) await done('/retention/hold', { project_id, ...hold }); // as before
    const set = { user: 'ada', created_at: expect.any(String) };
    const { holds } = await done('/retention/read', { project_id });
    expect(holds).toEqual([
      { name: 'case 1', trace_id: 'held', thread_id: null, reason: 'a claim', ...set },
      { name: 'case 2', trace_id: null, thread_id: THREAD, reason: null, ...set },
    ]);
    await done('/retention/release', { project_id, name: 'case 1', reason: 'settled' });
    const { events } = await done('/audit/query', { project_id });
    expect(
      events.map(({ action, target, detail }: any) => [action, target, detail]).toReversed(),
    ).toEqual([
      ['retention.hold', 'case 1', { trace_id: 'held', reason: 'a claim' }],
      ['retention.hold', 'case 2', { thread_id: THREAD }],
      ['retention.release', 'case 1', { trace_id: 'held', reason: 'settled' }],
    ]);
  });

  it.each([
    ['trace_id', { trace_id: 'misspelled' }],
    ['trace_id', { trace_id: '' }],
    ['thread_id', { thread_id: 'misspelled' }],
    ['thread_id', { thread_id: '' }],
    ['thread_id', { trace_id: 'held', thread_id: THREAD }],
    ['name', { name: 'case 1', trace_id: 'free' }],
    ['name', { name: 'case 1' }],
    ['reason', { reason: 'x'.repeat(501) }],
  ])('refuse a bad %s: %j', async (path, hold) => {
    const project_id = 'acme/parts-refused';
    await heldProject(project_id);
    const answer = await app.post('/retention/hold', { project_id, name: 'case 3', ...hold });
    expect([answer.status, answer.body.errors[0].path]).toEqual([400, path]);
    expect((await done('/retention/read', { project_id })).holds).toHaveLength(2);
  });
});
