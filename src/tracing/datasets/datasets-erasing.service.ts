import { Injectable } from '@nestjs/common';
import { Database } from '../../platform/database/database.js';
import { DerivedDataRegistry } from '../calls/erasing/derived-data.service.js';
import { callDeletionLock, sourcesErased, sourcesOfCalls } from './datasets.query.js';

/** Marks sources of rows whose calls were deleted or erased. */
@Injectable()
export class DatasetsErasing {
  constructor(database: Database, calls: DerivedDataRegistry) {
    calls.register({
      lock: callDeletionLock,
      made: sourcesOfCalls,
      forget: async (projectId, ids) => {
        if (ids.length > 0) await database.query(sourcesErased(projectId, ids));
      },
    });
  }
}
