import type { Readable } from 'node:stream';
import { Injectable } from '@nestjs/common';
import { IsNull } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import { addEvent, deletionAction } from '../../platform/audit/add-event.js';
import type { Caller } from '../../platform/auth/caller.js';
import { Database } from '../../platform/database/database.js';
import { ApiError } from '../../platform/errors.js';
import { isId } from '../../platform/http/dto.js';
import { AnnotationQueue, ANNOTATION } from './annotation-queue.entity.js';
import {
  MAX_QUEUES,
  type AnnotationQueueCreatedDto,
  type AnnotationQueueCreateDto,
  type AnnotationQueuesQueryDto,
  type AnnotationQueueUpdateDto,
  type AnnotationStatsDto,
  type AnnotationStatsQueryDto,
} from './annotation.dto.js';
import {
  itemInsertLock,
  queueCount,
  queueLock,
  queueQuery,
  queuesQuery,
  statsQuery,
} from './annotation-queues.query.js';

const QUEUE_DELETE = deletionAction('annotation_queues.delete');

@Injectable()
export class AnnotationQueuesService {
  constructor(private readonly database: Database) {}

  /** @throws ApiError `too_large` */
  create(body: AnnotationQueueCreateDto, caller: Caller): Promise<AnnotationQueueCreatedDto> {
    const { project_id: projectId, name, description, scorer_refs: scorerRefs } = body;
    const create = async () => {
      await caller.assertValid();
      const [row] = await this.database.query(queueCount(projectId));
      if (row!.count >= MAX_QUEUES)
        throw new ApiError('too_large', `a project may have ${MAX_QUEUES} annotation queues`);
      const id = uuidv7();
      const createdBy = caller.userName;
      await this.database
        .repository(AnnotationQueue)
        .insert({ projectId, id, name, description: description ?? '', scorerRefs, createdBy });
      this.database.changes.note(projectId, ANNOTATION);
      return { id };
    };
    return this.database.transaction({ lock: itemInsertLock(projectId), long: 'read' }, create);
  }

  stream(query: AnnotationQueuesQueryDto): Promise<Readable> {
    return this.database.stream(queuesQuery(query));
  }

  /**
   * Reads a queue as JSON text.
   * @throws ApiError `not_found`
   */
  async read(projectId: string, id: string): Promise<string> {
    await this.assertThere(projectId, id);
    return this.json(projectId, id);
  }

  /**
   * Changes a queue, and returns it as JSON text.
   * @throws ApiError `not_found`
   */
  update(id: string, body: AnnotationQueueUpdateDto): Promise<string> {
    const { project_id: projectId, name, description, scorer_refs: scorerRefs } = body;
    return this.database.transaction(async () => {
      await this.lock(projectId, id);
      await this.database.repository(AnnotationQueue).update(
        { projectId, id },
        {
          ...(name && { name }),
          ...(typeof description === 'string' && { description }),
          ...(scorerRefs && { scorerRefs }),
          updatedAt: () => 'now()',
        },
      );
      this.database.changes.note(projectId, ANNOTATION);
      return this.json(projectId, id);
    });
  }

  /**
   * Deletes a queue, and returns it as JSON text.
   * @throws ApiError `not_found`
   */
  delete(projectId: string, id: string, caller: Caller): Promise<string> {
    return this.database.transaction(async () => {
      const { total_items } = await this.lock(projectId, id);
      await this.database
        .repository(AnnotationQueue)
        .update({ projectId, id }, { deletedAt: () => 'now()' });
      this.database.changes.note(projectId, ANNOTATION);
      await addEvent(this.database, {
        action: QUEUE_DELETE,
        by: caller,
        projectId,
        target: id,
        detail: { total_items },
      });
      return this.json(projectId, id);
    });
  }

  async stats({ project_id, queue_ids }: AnnotationStatsQueryDto): Promise<AnnotationStatsDto> {
    const rows = await this.database.query(statsQuery(project_id, queue_ids));
    const known = new Map(rows.map((row) => [row.queue_id, row]));
    const none = { total_items: 0, completed_items: 0 };
    return { stats: queue_ids.map((queue_id) => known.get(queue_id) ?? { queue_id, ...none }) };
  }

  /**
   * Locks a queue until the transaction ends.
   * @throws ApiError `not_found`
   */
  async lock(projectId: string, id: string): Promise<{ total_items: number }> {
    const [queue] = isId(id) ? await this.database.query(queueLock(projectId, id)) : [];
    if (!queue) throw noQueue(id);
    return queue;
  }

  /** @throws ApiError `not_found` */
  async assertThere(projectId: string, id: string): Promise<void> {
    const queues = this.database.repository(AnnotationQueue);
    const isThere = isId(id) && (await queues.existsBy({ projectId, id, deletedAt: IsNull() }));
    if (!isThere) throw noQueue(id);
  }

  private async json(projectId: string, id: string): Promise<string> {
    const [row] = await this.database.query(queueQuery(projectId, id));
    return `{"queue":${row!.json}}`;
  }
}

const noQueue = (id: string) =>
  new ApiError('not_found', `there is no annotation queue ${id.slice(0, 256)}`);
