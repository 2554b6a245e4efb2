import { KINDS } from '../../src/platform/database/changes.js';
import { administers, onlyProject, type Operation } from '../support/operation-rows.js';

export const erasingOperations: Record<string, Operation> = {
  // must be last: it leaves no data for other operations
  'POST /project/delete': administers(onlyProject, { changes: [...KINDS] }),
};
