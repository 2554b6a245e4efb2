import { readFileSync } from 'node:fs';
import pg from 'pg';
import { Schedule } from '../../src/platform/database/schedule.js';
import { basic, startApp, type TestApp } from '../support/app.js';
import { unlessCluster } from '../support/database.js';
import { sendTo } from '../support/operation-rows.js';
import { OPERATIONS } from '../support/operations.js';
import { plant } from '../support/planted.js';
import { until } from '../support/until.js';

const OWN = 'acme/demo';
const ROLE = `skein_run_${process.pid}`;
/** The grants of docs/operate/database-roles.md. */
const GRANTS = readFileSync('docs/operate/database-roles.md', 'utf8')
  .split('```sql\n')[2]!
  .split('```')[0]!
  .replaceAll('skein_run', ROLE);

unlessCluster('the workers would need the role too').describe(
  'a service whose role may only read and write rows',
  () => {
    let app: TestApp;
    let owner: pg.Client;
    beforeAll(async () => {
      app = await startApp({ TRAINER_LEASE_SECONDS: '600' }, async (url) => {
        owner = new pg.Client(url);
        await owner.connect();
        const [{ name }] = (await owner.query('SELECT current_database() AS name')).rows;
        // each connection of the service takes the role
        await owner.query(
          `CREATE ROLE ${ROLE}; ${GRANTS}; ALTER DATABASE ${name} SET role = ${ROLE}`,
        );
      });
    });
    afterAll(async () => {
      await owner.query(`DROP OWNED BY ${ROLE}`);
      await owner.end();
      await app.close();
    });

    it('answers all operations, and does its background work', async () => {
      const tasks = app.app.get(Schedule)['works'].map(({ run }) => run);
      const planted = await plant(app, OWN);
      for (const [route, operation] of Object.entries(OPERATIONS)) {
        const isBasic = operation.schemes[0] === 'basic';
        const authorization = isBasic ? basic(app.key) : `Bearer ${app.key}`;
        const sent = await operation.build(planted, app);
        const response = await sendTo(app.url, route, sent, { authorization });
        expect([route, response.status < 300]).toEqual([route, true]);
        if (route === 'GET /events') await response.body!.cancel();
        else await response.arrayBuffer();
      }
      await until(
        async () => (await app.query('SELECT FROM erasings WHERE ended_at IS NULL')).length === 0,
      );
      await app.post('/index/create', {
        project_id: OWN,
        field: 'inputs.of_owner',
        kind: 'text',
      });
      for (const run of tasks) await run();
      const { body } = await app.post('/index/list', { project_id: OWN });
      expect(body.indexes).toMatchObject([
        { field: 'inputs.of_owner', status: 'failed', error: expect.stringContaining('42501') },
      ]);
      expect(await app.query('SELECT current_user AS name')).toEqual([{ name: ROLE }]);
    });

    it('cannot change the audit, nor the schema', async () => {
      const refused = (statement: string) =>
        expect(app.query(statement)).rejects.toMatchObject({ code: '42501' });
      const [{ count }] = await app.query('SELECT count(*)::int FROM audit_events');
      expect(count).toBeGreaterThan(0);
      await refused('DELETE FROM audit_events');
      await refused(`UPDATE audit_events SET user_name = 'nobody'`);
      await refused('TRUNCATE audit_events');
      await refused('DELETE FROM migrations');
      await refused('CREATE TABLE more (id int)');
      await refused('ALTER TABLE calls ADD COLUMN more int');
    });
  },
);
