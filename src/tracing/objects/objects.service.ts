import type { Readable } from 'node:stream';
import { Injectable } from '@nestjs/common';
import { addEvent, deletionAction, MAX_AUDITED } from '../../platform/audit/add-event.js';
import type { Caller } from '../../platform/auth/caller.js';
import { ApiError } from '../../platform/errors.js';
import { Database } from '../../platform/database/database.js';
import { assertExpected, objectDigest } from './digests/digest.js';
import { labelsDelete } from './labels/labels.query.js';
import { isLarge, largeDigest } from './digests/large-digest.js';
import { objectClass } from './object-class.js';
import type {
  ObjectCreateDto,
  ObjectCreatedDto,
  ObjectDeleteDto,
  ObjectReadDto,
  ObjectsDeletedDto,
  ObjectsQueryDto,
} from './objects.dto.js';
import {
  deletedAtQuery,
  deleteQuery,
  demoteQuery,
  latestIndexQuery,
  lockQuery,
  type VersionIndex,
  type NewObjectVersion,
  objectsQuery,
  promoteQuery,
  publishQuery,
  referredQuery,
  smallValueQuery,
  versionQuery,
} from './objects.query.js';
import { resolveAliases } from './labels/alias-resolution.js';
import { OBJECTS } from './object-version.entity.js';

const OBJS_DELETE = deletionAction('objs.delete');

/**
 * Versions of one batch. Sizes of values, tags and aliases differ by a factor of a million, so the previous batch does
 * not predict the next.
 */
const VALUES_AT_ONCE = 8;

/** Bytes of a value that may be read on any connection. */
const SMALL_BYTES = 256 * 1024;

@Injectable()
export class ObjectsService {
  constructor(private readonly database: Database) {}

  /** Publishes a value. `val` is its text as it was sent. */
  async create(obj: ObjectCreateDto, val: string, caller: Caller): Promise<ObjectCreatedDto> {
    const { project_id: projectId, object_id: objectId } = obj;
    const digest = isLarge(val) ? await largeDigest(val, caller.owner) : objectDigest(val);
    assertExpected('obj.expected_digest', obj.expected_digest, digest);
    const version: NewObjectVersion = {
      projectId,
      objectId,
      digest,
      objectClass: objectClass(obj.val),
      userId: caller.userName,
      val,
    };
    // clients publish the same value repeatedly: that writes nothing and waits for no lock
    const [latest] = await this.database.query(latestIndexQuery(projectId, objectId, digest));
    const { version_index } = latest ?? (await this.publish(version, caller));
    return { digest, object_id: objectId, version_index };
  }

  /** Runs `work` in a transaction, while no other transaction publishes or deletes versions of the name. */
  alone<T>(
    projectId: string,
    objectId: string,
    work: () => Promise<T>,
    long: 'read' | 'bulk' = 'read',
  ): Promise<T> {
    return this.database.transaction({ lock: lockQuery(projectId, objectId), long }, work);
  }

  private publish(version: NewObjectVersion, caller: Caller): Promise<VersionIndex> {
    return this.database.transaction(
      { lock: lockQuery(version.projectId, version.objectId) },
      async () => {
        await caller.assertValid();
        await this.database.query(demoteQuery(version.projectId, version.objectId));
        const [published] = await this.database.query(publishQuery(version));
        this.database.changes.note(version.projectId, OBJECTS);
        return published!;
      },
    );
  }

  /**
   * Reads one version as JSON text. Reading a large one is long work.
   * @throws ApiError `not_found`, with `deleted_at` when the version was deleted
   */
  async read(query: ObjectReadDto): Promise<string> {
    const { project_id, object_id, digest } = query;
    const version = async (maxBytes: number) => {
      const read = versionQuery(query, maxBytes);
      return (await this.database.query(read))[0]?.json;
    };
    const json =
      (await version(SMALL_BYTES)) ??
      (await this.database.transaction({ long: 'read' }, () => version(this.database.maxRowBytes)));
    if (json !== undefined) return json;
    const [deleted] = await this.database.query(deletedAtQuery(project_id, object_id, digest));
    if (!deleted) throw new ApiError('not_found', `there is no object ${object_id}:${digest}`);
    const { deleted_at, version_index } = deleted;
    throw new ApiError('not_found', `${object_id}:v${version_index} was deleted at ${deleted_at}`, {
      extra: { deleted_at },
    });
  }

  /**
   * Returns the value of a live version as it was sent. Undefined when it does not exist, null when it exceeds `bytes`.
   */
  async valueUpTo(version: ObjectReadDto, bytes: number): Promise<string | null | undefined> {
    const { project_id, object_id, digest } = version;
    const [row] = await this.database.query(smallValueQuery(project_id, object_id, digest, bytes));
    return row?.val;
  }

  stream(query: ObjectsQueryDto): Promise<Readable> {
    return this.database.stream(
      objectsQuery(query),
      query.metadata_only && !query.include_tags_and_aliases ? {} : { maxBatch: VALUES_AT_ONCE },
    );
  }

  /**
   * Deletes all named versions or none.
   * @throws ApiError `not_found` when one of them does not exist
   */
  delete(
    { project_id, object_id, digests }: ObjectDeleteDto,
    caller: Caller,
  ): Promise<ObjectsDeletedDto> {
    return this.database.transaction({ lock: lockQuery(project_id, object_id) }, async () => {
      await caller.assertValid();
      const meant = digests ? await this.meant(project_id, object_id, digests) : null;
      const deleted = await this.database.query(deleteQuery(project_id, object_id, meant));
      if (!digests && deleted.length === 0)
        throw new ApiError('not_found', `there is no object ${object_id}`);
      const indexes = deleted.map(({ version_index }) => version_index);
      await this.database.query(labelsDelete(project_id, object_id, indexes));
      await this.database.query(promoteQuery(project_id, object_id));
      this.database.changes.note(project_id, OBJECTS);
      const named = digests && { digests: digests.slice(0, MAX_AUDITED) };
      const detail = { ...named, num_deleted: deleted.length };
      await addEvent(this.database, {
        action: OBJS_DELETE,
        by: caller,
        projectId: project_id,
        target: object_id,
        detail,
      });
      return { num_deleted: deleted.length };
    });
  }

  private async meant(projectId: string, objectId: string, words: string[]): Promise<number[]> {
    const names = words.map(() => objectId);
    const spelled = await resolveAliases(this.database, projectId, names, words);
    const rows = await this.database.query(referredQuery(projectId, names, spelled));
    const indexes = new Map(rows.map(({ word, version_index }) => [word, version_index]));
    return words.map((word, i) => {
      const index = indexes.get(spelled[i]!);
      if (index === undefined)
        throw new ApiError('not_found', `there is no object ${objectId}:${word}`);
      return index;
    });
  }
}
