import { Injectable } from '@nestjs/common';
import { type AuditAction, auditAction, addEvent } from '../../../platform/audit/add-event.js';
import type { Caller } from '../../../platform/auth/caller.js';
import { ApiError } from '../../../platform/errors.js';
import { lock, oneLock } from '../../../platform/database/advisory-locks.js';
import { Database } from '../../../platform/database/database.js';
import type { CallIndexDto, CallIndexStateDto } from './call-indexes.dto.js';
import { CallIndexesKeeper } from './call-indexes.keeper.js';
import {
  countsQuery,
  indexesQuery,
  indexInsert,
  type IndexCounts,
  indexDefinition,
} from './call-indexes.query.js';
import { CallIndex } from './call-index.entity.js';

/** Held while an index is added, so that the counts stay correct. */
const COUNT_LOCK = oneLock(1_670_489_068);

const INDEX_CREATE = auditAction('index.create');
const INDEX_DELETE = auditAction('index.delete');

/**
 * Limits. Each index slows the writes of its project by about a tenth. PostgreSQL also checks its condition in every
 * statement over calls (docs/adr/0016-indexes-on-fields.md).
 */
export const MAX_OF_PROJECT = 5;
export const MAX_INDEXES = 100;

/**
 * Refuses an index over the limits. The projects of one entity may together have at most as many indexes as stay free
 * for others.
 * @throws ApiError `too_large`
 */
function assertRoom({ of_project, of_entity, total }: IndexCounts): void {
  if (of_project >= MAX_OF_PROJECT)
    throw new ApiError('too_large', `a project may have ${MAX_OF_PROJECT} indexes on fields`);
  if (total >= MAX_INDEXES)
    throw new ApiError('too_large', `the service may have ${MAX_INDEXES} indexes on fields`);
  if (of_entity >= MAX_INDEXES - total)
    throw new ApiError(
      'too_large',
      `of the ${MAX_INDEXES} indexes on fields an entity may have as many as are left for others`,
    );
}

/** Stores which paths of calls are to be indexed. `CallIndexesKeeper` makes the indexes. */
@Injectable()
export class CallIndexesService {
  constructor(
    private readonly database: Database,
    private readonly keeper: CallIndexesKeeper,
  ) {}

  async create({ project_id, field, kind }: CallIndexDto, by: Caller): Promise<CallIndexStateDto> {
    const wanted = indexDefinition(project_id, field, kind ?? 'text');
    const index = await this.database.transaction({ lock: lock(COUNT_LOCK) }, async () => {
      await by.assertValid();
      const [counts] = await this.database.query(countsQuery(wanted));
      assertRoom(counts!);
      await this.database.query(indexInsert(wanted));
      await this.tell(INDEX_CREATE, wanted, by);
      const [state] = await this.database.query(indexesQuery(project_id, wanted.name));
      return state!;
    });
    this.keeper.look();
    return index;
  }

  list(projectId: string): Promise<CallIndexStateDto[]> {
    return this.database.query(indexesQuery(projectId));
  }

  /** @throws ApiError `not_found` */
  async delete({ project_id, field, kind }: CallIndexDto, by: Caller): Promise<void> {
    const wanted = indexDefinition(project_id, field, kind ?? 'text');
    await this.database.transaction(async () => {
      const key = { projectId: project_id, name: wanted.name };
      const { affected } = await this.database.repository(CallIndex).delete(key);
      if (!affected) throw new ApiError('not_found', `there is no index of this kind on ${field}`);
      await this.tell(INDEX_DELETE, wanted, by);
    });
    this.keeper.look();
  }

  private async tell(
    action: AuditAction,
    { project_id, field, kind }: ReturnType<typeof indexDefinition>,
    by: Caller,
  ): Promise<void> {
    const detail = { kind };
    await addEvent(this.database, { action, by, projectId: project_id, target: field, detail });
  }
}
