import { KINDS } from '../../src/platform/database/changes.js';
import { administers, fresh, type Operation, withBody } from '../support/operation-rows.js';

export const erasingOperations: Record<string, Operation> = {
  // come after all deletions, which a hold refuses
  'POST /retention/hold': administers(withBody(() => ({ name: 'case' }))),
  'POST /retention/release': administers(async ({ project }, app) => {
    const name = fresh();
    await app.query(
      `INSERT INTO legal_holds (project_id, name, user_name) VALUES ($1, $2, 'ada')`,
      [project, name],
    );
    return { body: { project_id: project, name } };
  }),
  // must be last: it leaves no data for other operations
  'POST /project/delete': administers(
    async ({ project }, app) => {
      await app.query('DELETE FROM legal_holds WHERE project_id = $1', [project]);
      return { body: { project_id: project } };
    },
    { changes: [...KINDS] },
  ),
};
