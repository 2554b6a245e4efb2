import { Injectable } from '@nestjs/common';
import type { Caller } from '../../../platform/auth/caller.js';
import { ApiError } from '../../../platform/errors.js';
import { Database } from '../../../platform/database/database.js';
import type { ErasingRow } from '../../../platform/erasing/erasings.query.js';
import { ErasingsService, type ErasingStep } from '../../../platform/erasing/erasings.service.js';
import { spellRefs } from '../../../platform/http/refs.js';
import { feedbackErase, MAX_FEEDBACK } from '../../feedback-erasing.query.js';
import { labelsDelete } from '../labels/labels.query.js';
import {
  allVersions,
  lastDigests,
  versionsErase,
  matchedVersions,
} from './objects-erasing.query.js';
import type { ObjectsPurgeDto } from '../objects.dto.js';
import { lockQuery, promoteQuery } from '../objects.query.js';
import { FEEDBACK } from '../../feedback/feedback.entity.js';
import { OBJECTS } from '../object-version.entity.js';
import { deletionAction } from '../../../platform/audit/add-event.js';

const OBJS_PURGE = deletionAction('objs.purge');

const KIND = 'objects';
/** Versions of one batch, since a value may be as large as a request body. */
const VERSIONS_AT_ONCE = 20;

@Injectable()
export class ObjectsErasingService {
  constructor(
    private readonly database: Database,
    private readonly erasings: ErasingsService,
  ) {
    erasings.register(KIND, (erasing) => this.step(erasing));
  }

  /**
   * Records the versions to erase, live or deleted: all named versions or none. Returns the id of the erasing.
   * @throws ApiError `not_found` when one of the versions does not exist
   */
  async begin(body: ObjectsPurgeDto, caller: Caller): Promise<string> {
    const { project_id: projectId, object_id: objectId } = body;
    return this.database.transaction(async () => {
      const targets = (await this.meant(body)).toSorted((a, b) => a - b).map(String);
      return this.erasings.begin(
        {
          projectId,
          kind: KIND,
          request: { object_id: objectId },
          targets,
          event: {
            action: OBJS_PURGE,
            target: objectId,
            detail: { num_versions: targets.length },
          },
        },
        caller,
      );
    });
  }

  private async meant({ project_id, object_id, digests }: ObjectsPurgeDto): Promise<number[]> {
    const query = digests
      ? matchedVersions(project_id, object_id, digests)
      : allVersions(project_id, object_id);
    const rows = await this.database.query(query);
    if (!digests && rows.length === 0)
      throw new ApiError('not_found', `there is no object ${object_id}`);
    const indexes = rows.map(({ word, version_index }) => {
      if (version_index === null)
        throw new ApiError('not_found', `there is no object ${object_id}:${word}`);
      return version_index;
    });
    return [...new Set(indexes)];
  }

  private async step({ project_id, request, targets, cursor }: ErasingRow): Promise<ErasingStep> {
    const { object_id } = request as { object_id: string };
    const at = (cursor as { at: number } | null)?.at ?? 0;
    const indexes = targets!.slice(at, at + VERSIONS_AT_ONCE).map(Number);
    if (indexes.length === 0) return { cursor: null, counts: {} };
    this.database.changes.note(project_id, OBJECTS);
    this.database.changes.note(project_id, FEEDBACK);
    await this.database.query(lockQuery(project_id, object_id));
    const digests = await this.database.query(lastDigests(project_id, object_id, indexes));
    const versions = digests.map(({ digest }) => `${object_id}:${digest}`);
    const refs = spellRefs(project_id, ['object', 'op'], versions);
    const feedback = (await this.database.query(feedbackErase(project_id, refs))).length;
    if (feedback === MAX_FEEDBACK) return { cursor: { at }, counts: { feedback } };
    const { length } = await this.database.query(versionsErase(project_id, object_id, indexes));
    await this.database.query(labelsDelete(project_id, object_id, indexes));
    await this.database.query(promoteQuery(project_id, object_id));
    return { cursor: { at: at + indexes.length }, counts: { object_versions: length, feedback } };
  }
}
