import type { Readable } from 'node:stream';
import { Injectable } from '@nestjs/common';
import { Any } from 'typeorm';
import type { Caller } from '../../../platform/auth/caller.js';
import { ApiError } from '../../../platform/errors.js';
import { Database } from '../../../platform/database/database.js';
import {
  type AliasesRemoveDto,
  type AliasesSetDto,
  type LabelsQueryDto,
  MAX_ALIASES,
  MAX_TAGS,
  type ObjectPathDto,
  type TagsDto,
  type VersionPathDto,
} from './labels.dto.js';
import {
  aliasesQuery,
  aliasesUpsert,
  tagsInsert,
  tagsQuery,
  type ObjectVersionKey,
} from './labels.query.js';
import { lockQuery, referredQuery } from '../objects.query.js';
import { ObjectAlias } from './object-alias.entity.js';
import { ObjectTag } from './object-tag.entity.js';
import { resolveAliases } from './alias-resolution.js';
import { OBJECTS, ObjectVersion } from '../object-version.entity.js';

/** Stores tags and aliases of live versions. They are deleted with their version. */
@Injectable()
export class LabelsService {
  constructor(private readonly database: Database) {}

  /** @throws ApiError `not_found`, `too_large` */
  addTags(path: VersionPathDto, { project_id, tags }: TagsDto, caller: Caller): Promise<void> {
    return this.ofVersion(project_id, path, caller, async (version) => {
      await this.database.query(tagsInsert(version, tags));
      const count = await this.database.repository(ObjectTag).countBy(version);
      assertFew(count, `a version may have ${MAX_TAGS} tags`, MAX_TAGS);
    });
  }

  /** @throws ApiError `not_found` */
  removeTags(path: VersionPathDto, { project_id, tags }: TagsDto, caller: Caller): Promise<void> {
    return this.ofVersion(project_id, path, caller, async (version) => {
      await this.database.repository(ObjectTag).delete({ ...version, tag: Any(tags) });
    });
  }

  /** @throws ApiError `not_found`, `too_large` */
  setAliases(
    { object_id }: ObjectPathDto,
    { project_id, digest, aliases }: AliasesSetDto,
    caller: Caller,
  ): Promise<void> {
    return this.ofVersion(project_id, { object_id, digest }, caller, async (version) => {
      const { projectId, objectId } = version;
      await this.database.query(aliasesUpsert(version, aliases));
      const count = await this.database.repository(ObjectAlias).countBy({ projectId, objectId });
      assertFew(count, `an object may have ${MAX_ALIASES} aliases`, MAX_ALIASES);
    });
  }

  /** @throws ApiError `not_found` when no version of the object is live */
  removeAliases(
    { object_id }: ObjectPathDto,
    { project_id, aliases }: AliasesRemoveDto,
    caller: Caller,
  ): Promise<void> {
    return this.database.transaction({ lock: lockQuery(project_id, object_id) }, async () => {
      await caller.assertValid();
      const ofObject = { projectId: project_id, objectId: object_id };
      const versions = this.database.repository(ObjectVersion);
      if (!(await versions.existsBy({ ...ofObject, isLatest: true })))
        throw new ApiError('not_found', `there is no object ${object_id}`);
      await this.database.repository(ObjectAlias).delete({ ...ofObject, alias: Any(aliases) });
      this.database.changes.note(project_id, OBJECTS);
    });
  }

  tags({ project_id }: LabelsQueryDto): Promise<Readable> {
    return this.database.stream(tagsQuery(project_id));
  }

  aliases({ project_id }: LabelsQueryDto): Promise<Readable> {
    return this.database.stream(aliasesQuery(project_id));
  }

  /** Changes labels of a live version, which cannot be deleted in the meantime. */
  private ofVersion(
    projectId: string,
    { object_id: objectId, digest }: VersionPathDto,
    caller: Caller,
    change: (version: ObjectVersionKey) => Promise<void>,
  ): Promise<void> {
    return this.database.transaction({ lock: lockQuery(projectId, objectId) }, async () => {
      await caller.assertValid();
      const word = await resolveAliases(this.database, projectId, [objectId], [digest]);
      const [meant] = await this.database.query(referredQuery(projectId, [objectId], word));
      if (!meant) throw new ApiError('not_found', `there is no object ${objectId}:${digest}`);
      await change({ projectId, objectId, versionIndex: meant.version_index });
      this.database.changes.note(projectId, OBJECTS);
    });
  }
}

function assertFew(count: number, limit: string, max: number): void {
  if (count > max) throw new ApiError('too_large', `${limit}, and would have ${count}`);
}
