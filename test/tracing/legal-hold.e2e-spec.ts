import { projectTables } from '../../src/platform/database/project-table.js';
import { basic, useApp } from '../support/app.js';
import { ran } from '../support/background.js';
import { sendTo } from '../support/operation-rows.js';
import { OPERATIONS } from '../support/operations.js';
import { plant } from '../support/planted.js';
import { until } from '../support/until.js';

/** Operations that remove something which is no recorded data of a project. */
const FREE = [
  'POST /members/remove',
  'POST /index/delete',
  'POST /export/schedules/delete', // the files are copies
  'POST /datasets/remove_rows', // a new version without the rows; the older one stays
  'POST /objs/:object_id/aliases/remove',
  'POST /prompts/labels/remove',
  'POST /objs/:object_id/versions/:digest/tags/remove',
];
const DELETIONS = Object.keys(OPERATIONS).filter(
  (route) => /^DELETE |delete|purge|replace|remove/.test(route) && !FREE.includes(route),
);

describe('a legal hold', () => {
  const app = useApp({ RETENTION_INTERVAL_SECONDS: '1' });

  async function done(path: string, body: unknown) {
    const answer = await app.post(path, body);
    expect([answer.status, answer.text]).toEqual([200, expect.anything()]);
    return answer.body;
  }
  const holds = async (project_id: string) => (await done('/retention/read', { project_id })).holds;

  /** Stores a call that began 40 days ago. */
  async function anOldCall(project_id: string): Promise<void> {
    const started_at = new Date(Date.now() - 40 * 86_400_000).toISOString();
    const [entity, project] = project_id.split('/');
    const call = {
      project_id,
      id: 'old',
      op_name: 'chat',
      started_at,
      ended_at: started_at,
      inputs: { text: 'kept' },
    };
    await done(`/v2/${entity}/${project}/calls/complete`, { batch: [call] });
  }
  const texts = async (project_id: string) =>
    (await done('/calls/query', { project_id })).calls.map(({ inputs }: any) => inputs);

  /** The number of rows of the project in each table, and all texts of rows that a deletion only hides. */
  async function stored(project: string): Promise<unknown> {
    const tables = projectTables(app.dataSource.entityMetadatas)
      .filter(
        ({ facts, entity }) => facts.rows === 'data' && entity.tableName !== 'idempotency_keys',
      )
      .map(({ entity }) => entity.tableName);
    const counts = tables.map(
      (
        name,
      ) => `SELECT '${name}' AS name, count(*), count(t.*) FILTER (WHERE t::text ~ 'planted') AS texts
        FROM ${name} t WHERE project_id = $1`,
    );
    const hidden = `SELECT 'calls', count(*), count(*) FROM calls WHERE project_id = $1 AND deleted_at IS NOT NULL`;
    return app.query([...counts, hidden].join(' UNION ALL '), [project]);
  }

  it('refuses every deletion of its project, and nothing is missing', async () => {
    const project = 'acme/held';
    const planted = await plant(app, project);
    const requests: [string, Awaited<ReturnType<typeof build>>][] = [];
    const build = async (route: string) => {
      const sent = await OPERATIONS[route]!.build(planted, app);
      const isReplaced = route === 'POST /feedback/replace';
      const old = isReplaced && { feedback_id: 'feedback of call' };
      return old ? { ...sent, body: { ...(sent.body as object), ...old } } : sent;
    };
    for (const route of DELETIONS) requests.push([route, await build(route)]);
    await done('/retention/hold', { project_id: project, name: 'case 7' });
    const before = await stored(project);
    const answers: unknown[] = [];
    for (const [route, sent] of requests) {
      const [scheme] = OPERATIONS[route]!.schemes;
      const authorization = scheme === 'basic' ? basic(app.key) : `Bearer ${app.key}`;
      const response = await sendTo(app.url, route, sent, { authorization });
      const { code, detail } = (await response.json()) as { code: string; detail: string };
      answers.push([route, response.status, code, /"case 7"/.test(detail)]);
    }
    expect(answers).toEqual(DELETIONS.map((route) => [route, 409, 'legal_hold', true]));
    expect(await stored(project)).toEqual(before);
  });

  it('keeps retention off its project until it is released', async () => {
    const [project_id, neighbour] = ['acme/kept', 'acme/not-kept'];
    await done('/retention/hold', { project_id, name: 'case 8' });
    for (const project of [project_id, neighbour]) {
      await anOldCall(project);
      await done('/call/end', {
        end: { project_id: project, id: 'ended only', ended_at: new Date().toISOString() },
      });
      await app.query(
        `UPDATE calls SET logged_at = now() - interval '2 days' WHERE project_id = $1 AND id = 'ended only'`,
        [project],
      );
      await done('/retention/set', { project_id: project, calls_days: 30, payload_days: 7 });
    }
    await ran(app.url, 'retention');
    const count = async (project: string) =>
      (await app.query('SELECT FROM calls WHERE project_id = $1', [project])).length;
    expect([await count(project_id), await count(neighbour)]).toEqual([2, 0]);
    expect(await texts(project_id)).toEqual([{ text: 'kept' }]);
    await done('/retention/release', { project_id, name: 'case 8' });
    await until(async () => (await count(project_id)) === 0);
  });

  it('puts off an erasing that has begun', async () => {
    const project_id = 'acme/begun';
    await anOldCall(project_id);
    await done('/retention/hold', { project_id, name: 'case 9' });
    await app.query(
      `INSERT INTO erasings (project_id, id, kind, request, key_id, user_name, touched_at)
       VALUES ($1, gen_random_uuid(), 'project', '{}', gen_random_uuid(), 'ada', now() - interval '1 minute')`,
      [project_id],
    );
    const isPutOff = `SELECT FROM erasings WHERE project_id = $1 AND touched_at > now()`;
    await until(async () => (await app.query(isPutOff, [project_id])).length === 1);
    expect(await texts(project_id)).toHaveLength(1);
    await done('/retention/release', { project_id, name: 'case 9' });
    await app.query(
      `UPDATE erasings SET touched_at = now() - interval '1 minute' WHERE project_id = $1`,
      [project_id],
    );
    await until(async () => (await texts(project_id)).length === 0);
  });

  it('is one of several, and the audit has who set and released which', async () => {
    const project_id = 'acme/audited';
    for (const name of ['b', 'a', 'b']) await done('/retention/hold', { project_id, name });
    const of = { trace_id: null, thread_id: null, reason: null };
    const held = { ...of, user: 'ada', created_at: expect.stringMatching(/Z$/) };
    expect(await holds(project_id)).toEqual([
      { name: 'a', ...held },
      { name: 'b', ...held },
    ]);
    await done('/retention/release', { project_id, name: 'a' });
    const refused = await app.post('/calls/purge', { project_id, filter: {} });
    expect([refused.status, refused.body.detail]).toEqual([409, expect.stringContaining('"b"')]);
    const again = await app.post('/retention/release', { project_id, name: 'a' });
    expect(again.status).toBe(404);
    await done('/retention/release', { project_id, name: 'b' });
    await done('/calls/purge', { project_id, filter: {} });
    const { events } = await done('/audit/query', { project_id });
    expect(
      events.map(({ action, target, user }: any) => [action, target, user]).toReversed(),
    ).toEqual([
      ['retention.hold', 'b', 'ada'],
      ['retention.hold', 'a', 'ada'],
      ['retention.release', 'a', 'ada'],
      ['retention.release', 'b', 'ada'],
      ['calls.purge', null, 'ada'],
      ['erasing.end', expect.any(String), 'ada'],
    ]);
  });

  it('is one of at most 20', async () => {
    const project_id = 'acme/many';
    for (let i = 0; i < 20; i++) await done('/retention/hold', { project_id, name: `${i}` });
    const { status, body } = await app.post('/retention/hold', { project_id, name: 'more' });
    expect([status, body.detail]).toEqual([413, 'a project has at most 20 legal holds']);
  });

  it.each([[undefined], [''], ['x'.repeat(129)], [7], ['\u0000'], [['a']], [{}]])(
    'has a name, and that is not %j',
    async (name) => {
      for (const path of ['/retention/hold', '/retention/release']) {
        const { status, body } = await app.post(path, { project_id: 'acme/named', name });
        expect([status, body.errors[0].path]).toEqual([400, 'name']);
      }
      expect(await holds('acme/named')).toEqual([]);
    },
  );
});
