import { readdirSync, readFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { ACTIONS } from '../../src/platform/audit/add-event.js';
import { join } from 'node:path';
import { FailureLog } from '../../src/platform/auth/limits/failure-log.js';
import { newSecret } from '../../src/platform/auth/keys/secret.js';
import { send, startApp, useApp } from '../support/app.js';
import { alone, buildsOf } from '../support/builds.js';
import { aStart } from '../support/factories.js';
import { aModelOf, aPrice, refOf } from '../support/planted.js';
import { aFolder, run } from '../support/server.js';
import { until } from '../support/until.js';

describe('the audit', () => {
  const app = useApp();

  let projects = 0;
  const aProject = () => `acme/a${projects++}`;

  async function done(path: string, body: unknown, options = {}) {
    const answer = await app.post(path, body, options);
    expect([answer.status, answer.text]).toEqual([200, expect.anything()]);
    return answer.body;
  }
  const events = async (query: object, key = app.key): Promise<any[]> =>
    (await done('/audit/query', query, { key })).events;
  /** The audit events of a project, oldest first, without members that differ in each run. */
  const told = async (project_id: string) =>
    (await events({ project_id, sort_by: [{ field: 'created_at', direction: 'asc' }] })).map(
      ({ action, target, detail, user }) => ({ action, target, detail, user }),
    );
  const where = (field: string, value: string) => ({
    $expr: { $eq: [{ $getField: field }, { $literal: value }] },
  });

  const aFeedback = async (project_id: string): Promise<string> =>
    (
      await done('/feedback/create', {
        project_id,
        svc_ref: refOf(project_id, 'call/c'),
        feedback_type: 'custom',
        payload: {},
      })
    ).id;

  const user = 'ada';
  it.each<[string, (project: string, key: string) => Promise<unknown[]>]>([
    [
      'calls are deleted',
      async (project_id, key) => {
        await done('/call/start', { start: aStart({ project_id, id: 'c' }) });
        await done('/calls/delete', { project_id, call_ids: ['c', 'none'] }, { key });
        const detail = { call_ids: ['c'], num_deleted: 1 };
        return [{ action: 'calls.delete', target: null, detail, user }];
      },
    ],
    [
      'calls are purged',
      async (project_id, key) => {
        await done('/call/start', { start: aStart({ project_id, id: 'c' }) });
        const { erasing_id } = await done('/calls/purge', { project_id, call_ids: ['c'] }, { key });
        const detail = { erasing_id, by: 'call_ids', call_ids: ['c'], num_calls: 1 };
        return [
          { action: 'calls.purge', target: null, detail, user },
          { action: 'erasing.end', target: erasing_id, detail: { num_erased: { calls: 1 } }, user },
        ];
      },
    ],
    [
      'versions are deleted and purged',
      async (project_id, key) => {
        await done('/obj/create', { obj: { project_id, object_id: 'o', val: 1 } });
        const body = { project_id, object_id: 'o', digests: ['v0'] };
        await done('/obj/delete', body, { key });
        const { erasing_id } = await done('/objs/purge', body, { key });
        return [
          { action: 'objs.delete', target: 'o', detail: { digests: ['v0'], num_deleted: 1 }, user },
          { action: 'objs.purge', target: 'o', detail: { erasing_id, num_versions: 1 }, user },
          {
            action: 'erasing.end',
            target: erasing_id,
            detail: { num_erased: { object_versions: 1 } },
            user,
          },
        ];
      },
    ],
    [
      'feedback is replaced and purged',
      async (project_id, key) => {
        const id = await aFeedback(project_id);
        const { id: by } = await done(
          '/feedback/replace',
          {
            project_id,
            feedback_id: id,
            svc_ref: refOf(project_id, 'call/c'),
            feedback_type: 'custom',
            payload: {},
          },
          { key },
        );
        await done('/feedback/purge', { project_id, query: where('id', by) }, { key });
        return [
          { action: 'feedback.replace', target: id, detail: { by }, user },
          { action: 'feedback.purge', target: null, detail: { num_purged: 1 }, user },
        ];
      },
    ],
    [
      'prices are purged',
      async (project_id, key) => {
        await done('/cost/create', { project_id, costs: { m: aPrice } });
        await done('/cost/purge', { project_id, query: where('llm_id', 'm') }, { key });
        return [{ action: 'cost.purge', target: null, detail: { num_purged: 1 }, user }];
      },
    ],
    [
      'a model is deleted',
      async (project_id, key) => {
        const { id } = await aModelOf(app, project_id, 'm');
        const { status } = await app.bearer(`/v1/preview/models/${id}`, undefined, {
          key,
          method: 'DELETE',
        });
        expect(status).toBe(200);
        const detail = { num_checkpoints: 1, num_batches: 0 };
        return [{ action: 'models.delete', target: id, detail, user }];
      },
    ],
    [
      'retention is set',
      async (project_id, key) => {
        await done('/retention/set', { project_id, payload_days: 3 }, { key });
        const detail = { calls_days: null, payload_days: 3, feedback_days: null };
        return [{ action: 'retention.set', target: null, detail, user }];
      },
    ],
    [
      'a project is deleted, which leaves the audit',
      async (project_id, key) => {
        await done('/retention/set', { project_id }, { key });
        const { erasing_id } = await done('/project/delete', { project_id }, { key });
        const num_erased = { retention_policies: 1 };
        return [
          {
            action: 'retention.set',
            target: null,
            detail: { calls_days: null, payload_days: null, feedback_days: null },
            user,
          },
          { action: 'project.delete', target: project_id, detail: { erasing_id }, user },
          { action: 'erasing.end', target: erasing_id, detail: { num_erased }, user },
        ];
      },
    ],
  ])('tells that %s', async (_, act) => {
    const project_id = aProject();
    const expected = await act(project_id, await app.aKey('admin'));
    expect(await told(project_id)).toEqual(expected);
  });

  it('keeps few ids of a deletion, and none that a client has made up', async () => {
    const project_id = aProject();
    const madeUp = Array.from({ length: 970 }, (_, i) => `${i}`.padEnd(200, 'x'));
    const stored = ['/calls/delete', '/calls/purge'].map((path) =>
      Array.from({ length: 30 }, (_, i) => `${path} ${i + 10}`),
    );
    for (const calls of stored) {
      const [path] = calls[0]!.split(' ');
      for (const id of calls) await done('/call/start', { start: aStart({ project_id, id }) });
      await done(path!, { project_id, call_ids: [...madeUp, ...calls] });
    }
    const found = await told(project_id);
    expect(found.map(({ action }) => action)).toEqual([
      'calls.delete',
      'calls.purge',
      'erasing.end',
    ]);
    for (const [i, calls] of stored.entries())
      expect(found[i]!.detail.call_ids).toEqual(calls.slice(0, 20));
  });

  it('tells nothing of what has deleted nothing, and of what was refused', async () => {
    const project_id = aProject();
    await done('/calls/delete', { project_id, call_ids: ['none'] });
    await done('/feedback/purge', { project_id, query: where('id', 'none') });
    await done('/cost/purge', { project_id, query: where('id', 'none') });
    expect((await app.post('/obj/delete', { project_id, object_id: 'none' })).status).toBe(404);
    expect((await app.post('/objs/purge', { project_id, object_id: 'none' })).status).toBe(404);
    expect(await told(project_id)).toEqual([]);
  });

  it('tells who made and revoked a key, and never its secret', async () => {
    const admin = await app.aKey('admin', ['keys/*'], 'grace');
    const body = { user: 'bob', role: 'reader', scopes: ['keys/one'], expires_at: '2099-01-01' };
    const { id, secret } = await done('/keys/create', body, { key: admin });
    await done('/keys/revoke', { id }, { key: admin });
    const found = await events({ filter: { targets: [id] } }, admin);
    expect(found.map(({ action, user, project_id }) => [action, user, project_id])).toEqual([
      ['keys.revoke', 'grace', null],
      ['keys.create', 'grace', null],
    ]);
    expect(found[1].detail).toEqual({ ...body, expires_at: '2099-01-01T00:00:00.000Z' });
    const all = JSON.stringify(await app.query('SELECT * FROM audit_events'));
    expect(all).not.toContain(secret);
    expect(all).not.toContain(secret.slice(4));
  });

  it('tells the first use of a key on a day, once', async () => {
    const [key, project_id] = [await app.aKey('reader', ['uses/*']), 'uses/one'];
    const [{ id }] = await app.query('SELECT id FROM api_keys WHERE hint = $1', [key.slice(0, 8)]);
    const uses = () => events({ filter: { actions: ['keys.use'], key_ids: [id] } });
    for (let i = 0; i < 3; i++) await done('/calls/query', { project_id }, { key });
    await until(async () => (await uses()).length > 0);
    const insert = `INSERT INTO audit_events (project_id, id, action, key_id, user_name, detail)
      VALUES ('', gen_random_uuid(), 'keys.use', $1, 'ada', '{}') ON CONFLICT DO NOTHING RETURNING 1`;
    expect(await app.query(insert, [id])).toEqual([]); // a second insert, as another process would send it
    expect(await uses()).toMatchObject([{ user: 'ada', target: id, project_id: null }]);
  });

  it('shows names in a terminal without what would forge rows, hide or reorder them', async () => {
    const name = 'eve\u001b[2K\r\u009b1A\u202eadmin\u200b';
    await done('/keys/create', { user: name, role: 'reader', scopes: ['cli/*'] });
    const list = run('server/commands/keys.cli.js', { DATABASE_URL: app.databaseUrl }, ['list']);
    expect(await list.exit).toBe(0);
    expect(list.output()).toContain('eve\\u{1b}[2K\\u{d}\\u{9b}1A\\u{202e}admin\\u{200b}');
    expect(list.output().replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}]/u);
  });

  it('tells what the command line does to keys, by the user of the operating system', async () => {
    const keys = async (...args: string[]) => {
      const command = run('server/commands/keys.cli.js', { DATABASE_URL: app.databaseUrl }, args);
      expect([await command.exit, command.output()]).toEqual([0, expect.anything()]);
      return command.output();
    };
    const output = await keys('create', '--user', 'eve', '--role', 'reader', '--scope', 'cli/*');
    const id = /^id\s+(\S+)/m.exec(output)![1]!;
    await keys('revoke', id);
    const found = await events({ filter: { targets: [id] } });
    const who = `command line: ${userInfo().username}`;
    expect(found.map(({ action, user, key_id }) => [action, user, key_id])).toEqual([
      ['keys.revoke', who, null],
      ['keys.create', who, null],
    ]);
  });

  it('tells of login links, of sessions of the console, and of backups', async () => {
    const command = async (program: string, ...args: string[]) => {
      const env = { DATABASE_URL: app.databaseUrl };
      const ran = run(`server/commands/${program}.cli.js`, env, args);
      expect([await ran.exit, ran.output()]).toEqual([0, expect.anything()]);
      return ran.output();
    };
    const made = await done('/keys/create', { user: 'eve', role: 'reader', scopes: ['cli/*'] });
    const link = await command('keys', 'login', made.id);
    const [, code] = /#code=(\S+)/.exec(link)!;
    const login = (authorization: string) =>
      app.post('/console/login', undefined, { headers: { authorization, 'x-skein-console': '1' } });
    expect((await login(`Code ${code}`)).status).toBe(200);
    expect((await login(`Bearer ${made.secret}`)).status).toBe(200);

    const found = await events({ filter: { targets: [made.id] } });
    const who = `command line: ${userInfo().username}`;
    expect(
      found.map(({ action, user: name, key_id, detail }) => [action, name, key_id, detail]),
    ).toEqual([
      ['console.login', 'eve', made.id, { by: 'key' }],
      ['console.login', 'eve', made.id, { by: 'code' }],
      ['console.code', who, null, { user: 'eve' }],
      ['keys.create', 'ada', expect.any(String), expect.anything()],
    ]);

    const folder = aFolder();
    await command('backup', join(folder.path, 'a.skein'));
    folder.remove();
    const [backup] = await events({ filter: { actions: ['backup.create'] } });
    expect(backup).toMatchObject({ user: who, detail: { rows: expect.any(Number) } });
    expect(JSON.stringify(backup)).not.toContain(folder.path);
  });

  it('lets no backup and no export begin of which it cannot tell', async () => {
    const { made } = buildsOf(() => app, 'untold');
    const { project, build } = await made(alone([1]), 'art');
    const folder = aFolder();
    const file = join(folder.path, 'a.skein');
    const backup = async (...args: string[]) => {
      const env = { DATABASE_URL: app.databaseUrl };
      const ran = run('server/commands/backup.cli.js', env, [...args, file]);
      return [await ran.exit, ran.output()];
    };
    await app.query(
      `ALTER TABLE audit_events ADD CONSTRAINT broken CHECK (action NOT IN ('backup.create', 'build.export')) NOT VALID`,
    );
    const body = { project_id: project, build_id: build.build_id, format: 'art', split: 'train' };
    const refused = await app.post('/build/export', body);
    expect(refused).toMatchObject({ status: 503, body: { code: 'unavailable' } });
    expect(refused.body.detail).toMatch(/^the audit event cannot be stored now/);
    expect(await backup()).toEqual([
      1,
      expect.stringMatching(/^the audit event cannot be stored now.*broken.*--without-audit/),
    ]);
    expect(readdirSync(folder.path)).toEqual([]);
    expect(await backup('--without-audit')).toEqual([0, expect.stringContaining('rows of')]);

    await app.query(`ALTER TABLE audit_events DROP CONSTRAINT broken`);
    expect((await app.post('/build/export', body)).status).toBe(200);
    folder.remove();
  });

  it('tells of refused credentials once a minute, however many there were, and of none without any', async () => {
    const other = await startApp();
    await fetch(`${other.url}/me`);
    for (let i = 0; i < 5; i++)
      await fetch(`${other.url}/me`, { headers: { authorization: 'Bearer wrong' } });
    await send(`${other.url}/console/login`, undefined, {
      authorization: `Bearer ${newSecret()}`,
      'x-skein-console': '1',
    });
    await other.app.get(FailureLog).beforeApplicationShutdown();
    await other.app.get(FailureLog).beforeApplicationShutdown();
    const { body } = await other.post('/audit/query', { filter: { actions: ['auth.fail'] } });
    expect(body.events).toEqual([
      expect.objectContaining({
        key_id: null,
        detail: { attempts: 6, addresses: { '127.0.0.1': 6 } },
      }),
    ]);
    await other.close();
  });

  it('docs/adr/0062-audit.md names every action', () => {
    const page = readFileSync('docs/adr/0062-audit.md', 'utf8');
    expect(ACTIONS.filter((action) => !page.includes(`\`${action}\``))).toEqual([]);
  });

  it('is shown as far as scopes reach', async () => {
    const mine = await app.aKey('admin', ['shown/*']);
    await done('/retention/set', { project_id: 'shown/one' });
    await done('/retention/set', { project_id: 'hidden/one' });
    await done('/keys/create', { user: 'x', role: 'reader', scopes: ['shown/one'] });
    await done('/keys/create', { user: 'y', role: 'reader', scopes: ['shown/one', 'hidden/one'] });
    const found = await events({ filter: { actions: ['retention.set', 'keys.create'] } }, mine);
    expect(found.map(({ project_id, detail }) => project_id ?? detail.user)).toEqual([
      'x',
      'shown/one',
      'ada',
    ]);
    const answer = await app.post('/audit/query', { project_id: 'hidden/one' }, { key: mine });
    expect(answer.status).toBe(403);
  });

  it('comes in pages of a total order', async () => {
    const project_id = aProject();
    for (const payload_days of [1, 2, 3, 4, 5])
      await done('/retention/set', { project_id, payload_days });
    const days = async (query: object) =>
      (await events({ project_id, ...query })).map(({ detail }) => detail.payload_days);
    expect(await days({})).toEqual([5, 4, 3, 2, 1]);
    expect(await days({ limit: 2, offset: 1 })).toEqual([4, 3]);
    expect(await days({ sort_by: [{ field: 'created_at', direction: 'asc' }], limit: 2 })).toEqual([
      1, 2,
    ]);
    const [, second] = await events({ project_id, limit: 2 });
    expect(await days({ filter: { before: second.created_at } })).toEqual([3, 2, 1]);
    expect(await days({ filter: { after: second.created_at } })).toEqual([5]);
  });

  it.each([
    [
      'a sort by another field',
      { sort_by: [{ field: 'user', direction: 'asc' }] },
      'sort_by[0].field',
    ],
    ['an unknown action', { filter: { actions: ['keys.steal'] } }, 'filter.actions[0]'],
  ])('refuses %s', async (_, query, path) => {
    const { status, body } = await app.post('/audit/query', query);
    expect([status, body.errors[0].path]).toEqual([400, path]);
  });

  it.each([
    'UPDATE audit_events SET user_name = $$x$$',
    'DELETE FROM audit_events',
    'TRUNCATE audit_events',
  ])('refuses %s in the database itself', async (statement) => {
    await expect(app.query(statement)).rejects.toThrow('audit_events is never edited');
  });

  it('is not there without what it tells of', async () => {
    const project_id = aProject();
    await app.query(
      `ALTER TABLE audit_events ADD CONSTRAINT broken CHECK (action <> 'retention.set') NOT VALID`,
    );
    expect((await app.post('/retention/set', { project_id, calls_days: 1 })).status).toBe(500);
    await app.query(`ALTER TABLE audit_events DROP CONSTRAINT broken`);
    expect((await done('/retention/read', { project_id })).calls_days).toBeNull();
  });
});
